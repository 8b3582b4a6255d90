"""What is wrong with a table: ``shirley check``."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from copula_shirley import tasks
from copula_shirley.cli.options import DATA, Json, Missing, Sheet, option, source, takes
from copula_shirley.cli.terminal import messages, print_json, print_table
from copula_shirley.rows.databases import Query
from copula_shirley.rows.files import files_at, is_several
from copula_shirley.rows.findings import NOTICE
from copula_shirley.rows.formats import check_format


@takes(source)
def check(
    data: Path | Query,
    schema_file: Annotated[Path, option(DATA, "Declared domain and rules (YAML).", "--schema")],
    missing: Missing = None,
    sheet: Sheet = None,
    show_values: Annotated[
        bool, option(DATA, "Quote some of the values, which are private.", "--show-values")
    ] = False,
    json: Json = False,
) -> int:
    """Show all that breaks the schema, by column and rule, with counts and lines.

    For who may see the rows: what is shown is about them and not for release. Exit code 0 if
    nothing breaks the schema, 1 if something does.
    """
    found = tasks.check(data, schema_file, missing or (), sheet)
    if json:
        entries = [asdict(finding if show_values else finding.quiet) for finding in found]
        print_json({"notice": NOTICE, "findings": entries})
        return int(bool(found))
    if not found:
        messages.print("Every row fits the schema and keeps its rules.")
        return 0
    one = files_at(data)[0] if isinstance(data, Path) and is_several(data) else data
    places = "lines" if check_format(one).is_text else "row numbers"
    head = ("where", "problem", "rows", places, *(["values"] if show_values else []))
    lines = [(f.where, f.problem, f.rows or "", f.at, ", ".join(f.values)) for f in found]
    print_table(NOTICE, head, [line[: len(head)] for line in lines])
    return 1
