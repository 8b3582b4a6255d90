"""A process of the page, which tells its parent how far it is, a JSON line at a time.

``python -m copula_shirley.web.child release FOLDER`` finds there what to do (``job.json``), fits
and draws; with ``report`` it judges what such a fit is worth.
"""

from __future__ import annotations

import json
import secrets
import signal
import sys
import zipfile
from importlib import import_module
from pathlib import Path
from typing import Any

from copula_shirley import tasks
from copula_shirley.errors import ShirleyError
from copula_shirley.files.atomic import atomic_path
from copula_shirley.fitted import Progress
from copula_shirley.generator import load
from copula_shirley.lazy import needed
from copula_shirley.publish.outputs import Output, card_path
from copula_shirley.rows.tables import read_table
from copula_shirley.schema.schema import Schema
from copula_shirley.web.bars import bars_of
from copula_shirley.web.process import REPORT, SCHEMA, Job

#: Endings of the synthetic table.
ENDINGS = (".csv", ".parquet")


def release(folder: Path, tell: Progress) -> dict[str, Any]:
    """Fit, draw, and write all files of a release; what there is to say about it."""
    job, schema = Job.read(folder), Schema.read(folder / SCHEMA)
    settings = job.settings
    order = tasks.Order(
        settings.generator(schema),
        Path(job.data),
        schema,
        releases=Path(job.ledger),
        accept_poor=settings.accept_poor,
        rows_about=settings.rows,
    )
    model = folder / f"{job.stem}.shirley"
    done = tasks.fitted(order, job.name, lambda stage, share: tell(stage, 0.7 * share))
    card = done.generator.card()
    with Output(model).written(order.inputs) as files:
        done.generator.save(files.at[model], card)
        files.add_cards(card)
    seed = secrets.randbits(63)  # the same rows in both formats; whoever draws again has his own
    tables = [folder / f"{job.stem}-synthetic{ending}" for ending in ENDINGS]
    for number, table in enumerate(tables):
        tell(f"draw: {table.suffix.lstrip('.')}", 0.7 + 0.1 * number)
        tasks.sample(model, Output(table), random_state=seed)
    tell("pictures", 0.9)
    known = load(model).table_schema_
    known.write(folder / SCHEMA, longest_list=10**9)
    made = [folder / SCHEMA, model, *tables, *map(card_path, [model, *tables])]
    with zipfile.ZipFile(folder / "release.zip", "w", zipfile.ZIP_DEFLATED) as packed:
        for path in made:
            packed.write(path, path.name)
    return {
        "files": [path.name for path in (*made, folder / "release.zip")],
        "notes": [*done.notes, *done.warnings],
        "card": card_path(tables[0]).name,
        "table": tables[1].name,
        "words": {"verdict": card.words.verdict, "headline": card.words.headline}
        | {"person": card.words.person, "warnings": list(card.words.warnings)},
        "bars": bars_of(read_table(tables[1], known), known),
    }


def report(folder: Path, tell: Progress) -> dict[str, Any]:
    """Judge the table as ``shirley evaluate`` does: by a trial fit to four fifths of its rows."""
    job, schema = Job.read(folder), Schema.read(folder / SCHEMA)
    needed("xgboost", "evaluate", "the evaluation report")
    judging = import_module("copula_shirley.evaluation.judging")  # no room below knows it
    tell("read", 0.0)
    table, generator = read_table(Path(job.data), schema), job.settings.generator(schema)
    judged = judging.judge(table, schema, generator, title=Path(job.data).name, progress=tell)
    with atomic_path(folder / REPORT) as partial:
        partial.write_text(judged.to_html(), encoding="utf-8", errors="replace")
    return {}


def main(does: str, folder: Path) -> None:
    """Run, and tell every fault in one line; the text of an unforeseen one may quote rows."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that a reservation is given back
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C is for the parent, which then ends this
    out, sys.stdout = sys.stdout, sys.stderr

    def say(**said: Any) -> None:
        out.write(json.dumps(said) + "\n")
        out.flush()

    try:
        task = {"release": release, "report": report}[does]
        result = task(folder, lambda stage, share: say(stage=stage, share=share))
        say(stage="done", share=1.0, result=result)
    except ShirleyError as error:
        say(error=str(error))
    except MemoryError:
        say(error="the memory does not suffice: fewer rows, columns or cells need less")
    except Exception as error:
        say(error=f"internal error ({type(error).__name__})")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
