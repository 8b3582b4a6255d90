"""``shirley audit``: test the privacy claim of a generator, from the command line.

Exit code 1 says that the claim, or the ledger that proves it, is refuted, so that a pipeline can
stop on it; 0 that it is consistent or that the audit is inconclusive; 2 that the input is wrong.
"""

from __future__ import annotations

import hashlib
import os
import sys
from contextlib import ExitStack
from functools import partial
from inspect import getsourcefile
from json import dumps
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.table import Table

from copula_shirley.cli.options import (
    DATA,
    METHOD,
    OUTPUT,
    PRIVACY,
    Json,
    Missing,
    Neighbours,
    Quiet,
    Settings,
    option,
    settings_of,
)
from copula_shirley.cli.terminal import messages, plain, print_json, progress_told, screen
from copula_shirley.errors import SettingError
from copula_shirley.evaluation.audit.audit import DEFAULT_RUNS, Audit, Wanted, audit
from copula_shirley.evaluation.audit.estimates import FALSE_ALARM, INCONCLUSIVE
from copula_shirley.evaluation.audit.pairs import DEFAULT_PAIRS, PAIRS, read_pair
from copula_shirley.evaluation.audit.runs import SAMPLE_ROWS
from copula_shirley.files.atomic import atomic_path
from copula_shirley.generator import generators
from copula_shirley.privacy.ledger import Budget
from copula_shirley.publish.outputs import check_apart
from copula_shirley.registry import check_settings, find_class, takes

#: Faults of ledgers that are printed; the JSON has all.
MOST_FAULTS = 3


def make(use: str, settings: dict[str, Any], random_state: int | None) -> Any:
    """A fresh generator; the random state goes to whoever takes one."""
    kind = find_class(use)
    if random_state is not None:
        names = [name for name in ("random_state", "seed") if takes(kind, name)]
        settings = {**dict.fromkeys(names[:1], random_state), **settings}
    return kind(**settings)


def checked_settings(use: str, settings: dict[str, Any], offered: dict[str, Any]) -> dict[str, Any]:
    """Settings that must be known, and others that are given if they are."""
    if ":" not in use and use not in generators():
        names = ", ".join(sorted(generators()))
        raise SettingError(f"generator ({use!r}) must be module:Class or one of {names}")
    kind = find_class(use)
    check_settings(use, settings)
    return {**{k: v for k, v in offered.items() if v is not None and takes(kind, k)}, **settings}


def identity_of(use: str, settings: dict[str, Any]) -> str:
    """Name, settings and a hash of the file that the class is from."""
    try:
        source = Path(getsourcefile(find_class(use)) or "").read_bytes()
    except (OSError, TypeError):
        source = b""
    digest = hashlib.sha256(source).hexdigest()[:16]
    return f"{use} {dumps(settings, sort_keys=True, default=str)} {digest}"


def audit_generator(
    generator: Annotated[str, typer.Argument(help="Installed generator, or module:Class.")],
    epsilon: Annotated[
        float, option(PRIVACY, "Its epsilon; the claim, where it keeps no ledger.")
    ] = 1.0,
    delta: Annotated[float | None, option(PRIVACY, "Its delta; the same.")] = None,
    settings: Settings = None,
    pair: Annotated[
        list[str] | None, option(DATA, f"Neighbouring tables: {', '.join(PAIRS)}; repeatable.")
    ] = None,
    tables: Annotated[
        tuple[Path, Path] | None, option(DATA, "Your own pair of neighbouring tables.")
    ] = None,
    schema: Annotated[Path | None, option(DATA, "Their declared domain (YAML).")] = None,
    neighbours: Neighbours = None,
    missing: Missing = None,
    runs: Annotated[
        int, option(METHOD, "Fits on each table, 40 or more; a small epsilon needs thousands.")
    ] = DEFAULT_RUNS,
    box: Annotated[
        Literal["white", "black", "both"],
        option(METHOD, "white: released numbers, black: drawn rows."),
    ] = "both",
    rows: Annotated[int, option(METHOD, "Rows drawn from each fit.", min=1)] = SAMPLE_ROWS,
    jobs: Annotated[
        int | None, option(METHOD, "Processes; one per core by default.", "--jobs", "-j", min=1)
    ] = None,
    seed: Annotated[int, option(METHOD, "Of the audit; each fit has one of its own.", min=0)] = 0,
    secure: Annotated[
        bool, option(METHOD, "Fit without seeds, as for a release.", "--secure")
    ] = False,
    results: Annotated[
        Path | None, option(OUTPUT, "Keep the runs there, and go on with those that are.")
    ] = None,
    output: Annotated[
        Path | None, option(OUTPUT, "JSON with all figures.", "--output", "-o")
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Test a generator's privacy claim on neighbouring tables; exit code 1 if it is refuted."""
    sys.path.insert(0, str(Path.cwd()))  # where the user's module is
    check_apart([*(tables or ()), schema], ("output", output))
    Budget(epsilon, delta or 0.0)  # refuses what is no claim
    offered = {"epsilon": epsilon, "delta": delta, "neighbours": neighbours, "threads": 1}
    chosen = checked_settings(generator, settings_of(settings), offered)
    wanted: list[Wanted] = list(pair or (() if tables else DEFAULT_PAIRS))
    if (tables is None) != (schema is None):
        lone, other = ("--tables", "--schema") if schema is None else ("--schema", "--tables")
        raise SettingError(f"{lone} needs {other}: two neighbouring tables and their domain")
    if tables and schema:
        first, second = tables
        wanted.append(lambda relation: read_pair(first, second, schema, missing or (), relation))
    with ExitStack() as open_files:
        written = open_files.enter_context(atomic_path(output)) if output else None
        told = open_files.enter_context(progress_told(quiet))
        result = audit(
            partial(make, generator, chosen),
            wanted,
            otherwise=(epsilon, delta or 0.0),
            relation=neighbours,
            runs=runs,
            boxes=("white", "black") if box == "both" else (box,),
            seed=seed,
            jobs=(os.cpu_count() or 1) if jobs is None else jobs,
            secure=secure,
            rows=rows,
            folder=results,
            name=generator,
            identity=identity_of(generator, chosen),
            progress=lambda stage, share: told(f"audit {generator}: {stage}", share),
        )
        result.about["settings"] = chosen
        if written:
            text = dumps(result.to_dict(), indent=2, allow_nan=False)
            written.write_text(text + "\n", encoding="utf-8")
    if json:
        print_json(result.to_dict())
    elif not quiet:
        show(result)
        if output:
            messages.print(f"Figures written to {plain(output)}", soft_wrap=True)
    if result.refuted:
        raise typer.Exit(1)


def show(result: Audit) -> None:
    claim = result.claim
    table = Table("pair", "box", "what", "lower bound", "claim allows", "best event")
    for one in [*result.estimates, *result.control.estimates]:
        what = one.quantity
        if what == "epsilon" and one.delta != claim.delta:
            what += f" at delta {one.delta:g}"
        limit = "-" if one.limit is None else f"{one.limit:.3g}"
        event = plain(f"{one.event} ({one.counted})")
        style = "red" if one.refuted else None
        table.add_row(one.pair, one.box, what, f"{one.bound:.3g}", limit, event, style=style)
    screen.print(table)
    who = "its ledger" if claim.source == "ledger" else "as given"
    bounds = f"epsilon {result.lower_bound:.3g}"
    if result.lower_bound_mu is not None:
        bounds += f"; mu {result.lower_bound_mu:.3g} (sqrt(2 rho) of the claim is {claim.mu:.3g})"
    rate = f"a true claim is refuted in less than 1 of {1 / FALSE_ALARM:,.0f} audits"
    left = "; ".join(result.not_exercised) or "nothing that this generator may ask"
    asked = ", ".join(result.asked) or "not known: no ledger names what was asked"
    open_ = result.verdict.startswith(INCONCLUSIVE)
    style = "red" if result.refuted else "yellow" if open_ else "green"
    lines = [
        ("claim", plain(f"{claim} ({who}); proved: {claim.proved or 'nothing'}")),
        ("lower bound", f"{bounds} with confidence 95 %"),
        ("ceiling", f"epsilon {result.ceiling:.3g}: what {result.runs} runs a table can show"),
        ("power", plain(f"released numbers: {result.power}")),
        ("false alarms", rate),
        ("asked", plain(asked)),
        *(("note", plain(text)) for text in result.notes),
        *(("ledger", plain(text)) for text in result.faults[:MOST_FAULTS]),
        ("verdict", f"[bold {style}]{result.verdict}[/]: {plain(result.reason)}"),
        ("not exercised", plain(left)),
    ]
    for heading, text in lines:
        screen.print(f"{heading:>12}: {text}", soft_wrap=True, highlight=False)
