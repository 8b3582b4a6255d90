"""Errors of a schema file name the line that is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from copula_shirley import Schema, SchemaError

GOOD = """\
# a comment
format: 1
person: {column: who, max_rows: 3}
columns:
  age: {kind: integer, minimum: 0, maximum: 120}
  "a: b":
    kind: categorical
    categories: [x, y]
  come: {kind: datetime, minimum: 2020-01-01, maximum: 2020-12-31, resolution: 1D}
  gone: {kind: datetime, minimum: 2020-01-01, maximum: 2020-12-31,
    resolution: 1D}
left_out:
  name: drop
rules:
- {order: [come, gone]}
- when: {age: ..17}
  then: {"a: b": x}
"""


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("maximum: 120", "maximum: -1", 5),
        ("kind: integer", "kind: number", 5),
        ("minimum: 0,", "minimum: 0, shoe: 3,", 5),
        ("    kind: categorical", "    kind: categoric", 7),
        ("[x, y]", "[x, x]", 8),
        ("[x, y]", "7", 8),
        ("    resolution: 1D", "    resolution: often", 11),
        ("max_rows: 3", "max_rows: 0", 3),
        ("name: drop", "name: {replace: sell}", 13),
        ("name: drop", "age: drop", 13),
        ("[come, gone]", "[come, went]", 15),
        ("[come, gone]", "come", 15),
        ("- when: {age: ..17}", "- wenn: {age: ..17}", 16),
        ("format: 1", "format: 9", 2),
        ("format: 1", "formats: 1", 2),
        ("column: who", "column: age", 3),
    ],
)
def test_what_is_wrong_has_a_line(tmp_path: Path, old: str, new: str, line: int) -> None:
    path = tmp_path / "schema.yaml"
    assert GOOD.count(old) == 1
    path.write_text(GOOD, encoding="utf-8")
    assert len(Schema.read(path)) == 4
    path.write_text(GOOD.replace(old, new), encoding="utf-8")
    with pytest.raises(SchemaError) as error:
        Schema.read(path)
    assert str(error.value).startswith(f"schema file '{path}', line {line}: "), error.value


def test_yaml_that_cannot_be_read_has_a_line_too(tmp_path: Path) -> None:
    path = tmp_path / "schema.yaml"
    for text, said in (
        (GOOD + "  - [", "near line 18"),
        (
            GOOD.replace("format: 1", "columns: {}"),
            "'columns' stands twice in one mapping, again in line 4",
        ),
    ):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(SchemaError, match=said):
            Schema.read(path)
