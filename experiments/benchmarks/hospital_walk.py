"""Walk with the stays of a hospital from a messy file to a published table, and measure it.

The 30,000 stays of ``messy_hospital`` with what real files have beside them: numbers of patients,
names, insurance numbers, remarks; badly written (see ``messy``). A stay is protected, as each
patient has one. Measured of the published rows: those that break a rule, names and ids of the
input, length of stay and money beside the real ones, and the seconds of each command.

    python -m copula_shirley.experiments.benchmarks.hospital_walk --seeds 3 --epsilon 1
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from copula_shirley.experiments.benchmarks.messy import (
    Review,
    Walk,
    as_days,
    as_numbers,
    badly_written,
    leaked,
    names,
    options,
)
from copula_shirley.experiments.benchmarks.messy_hospital import (
    ROWS,
    SCHEMA,
    broken,
    compared,
    hospital,
)

DATES = dict.fromkeys(("admission", "discharge", "death_date"), "%d.%m.%Y")
SECRETS = ("patient", "name", "insurance_no", "remark")
FLAGS = ("statutory", "private", "self_payer")
REPLACED = {
    "patient": {"kind": "id", "pattern": "P-{n:06}"},
    "name": {"kind": "fake", "fake": "name"},
    "insurance_no": {"kind": "id"},
    "remark": "drop",
}


def filed(rows: int, seed: int) -> pd.DataFrame:
    """The stays as they leave the hospital's system, with names and numbers."""
    rng = np.random.default_rng([19, 8, seed])
    table = hospital(rows, seed)
    words = rng.choice(
        ["stable", "mobile", "allergy", "penicillin", "fasting", "relative"], (rows, 6)
    )
    beside = {
        "patient": [f"H{700_000 + i}" for i in rng.permutation(rows)],
        "name": names(rows, rng),
        "insurance_no": [f"V{i:09}" for i in rng.choice(10**9, rows, replace=False)],
    }
    table = pd.concat([pd.DataFrame(beside), table], axis=1)
    return table.assign(remark=[f"{' '.join(w)} {i}" for i, w in enumerate(words)])


def review() -> Review:
    """What the curator declares: the public domain of ``messy_hospital``, and its rules."""
    entry = SCHEMA.to_dict()
    flag = {"kind": "categorical", "categories": ["no", "yes"]}
    return Review(entry["columns"] | dict.fromkeys(FLAGS, flag), REPLACED, entry["rules"])


def as_frame(drawn: pd.DataFrame) -> pd.DataFrame:
    """The published texts as values."""
    found, days = drawn.copy(), as_days(drawn, DATES)
    for column in SCHEMA:
        texts = drawn[column.name]
        if column.name in DATES:
            found[column.name] = days[column.name]
        elif column.name in FLAGS:
            found[column.name] = texts == "yes"
        elif not column.is_listed:
            found[column.name] = as_numbers(texts)
    return found


def walked(
    walk: Walk, rows: int, seed: int, epsilon: float, evaluate: Sequence[str] = ()
) -> dict[str, Any]:
    """One walk, and what came of it."""
    real = filed(rows, seed)
    badly_written(real, walk.folder / "raw.csv", np.random.default_rng(seed), DATES)
    drawn = walk.go(review(), rows, epsilon, evaluate)
    frame = as_frame(drawn)
    return {
        "seed": seed,
        "rows": len(drawn),
        "seconds": walk.seconds,
        "columns that the published table lacks": sorted({*real} - {*drawn}),
        "rows that break a rule": broken(frame),
        "names and ids of the input": leaked(real[list(SECRETS)], walk.folder / "synthetic.csv"),
        **{name: round(value, 4) for name, value in compared(real, frame).items()},
    }


def main() -> None:
    given = options(__doc__, rows=ROWS)
    for seed in range(given.seeds):
        with tempfile.TemporaryDirectory() as folder:
            found = walked(Walk(Path(folder)), given.rows, seed, given.epsilon)
        print(json.dumps(found, indent=1), flush=True)


if __name__ == "__main__":
    main()
