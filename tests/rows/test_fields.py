"""Fields of texts: whoever splits a piece, they are those of Python's reader."""

from __future__ import annotations

import csv
import io

import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from copula_shirley.rows import fields
from copula_shirley.rows.fields import Records

SIGNS = [
    "a",
    "1",
    ",",
    ",",
    "\n",
    "\n",
    "\r",
    "\r\n",
    '"',
    '""',
    " ",
    "\t",
    "\\",
    "é",
    "\ufeff",
    "\0",
]


def by_python(text: str) -> list[list[str]] | str:
    """Records without blank lines, or what is wrong."""
    try:
        rows = [*filter(None, csv.reader(io.StringIO(text, newline=""), strict=True))]
    except csv.Error:
        return "error"
    return "error" if len({*map(len, rows)}) > 1 else rows


def by_blocks(text: str) -> list[list[str]] | str:
    try:
        records = Records("t.csv", io.StringIO(text, newline=""), ",")
        first = next(filter(None, records.reader), None)
        if first is None:
            return []
        rows = [first]
        for block in records.blocks(len(first)):
            rows += map(list, zip(*(column.to_pylist() for column in block), strict=True))
    except (csv.Error, pd.errors.ParserError):
        return "error"
    return rows


@settings(max_examples=500)
@given(
    st.lists(st.sampled_from(SIGNS), max_size=40).map("".join),
    st.sampled_from([1, 2, 5, 2**21]),
)
@example("a,b\n1,2\n\n \n3,4\r\n", 2**21)
@example('a,b\n1,2\n"x\ny",2\n3,4\n', 4)
@example("a\n\n\n1\n", 2**21)
@example("a\n\ufeff1\n", 2)
def test_blocks_hold_what_python_reads(text: str, letters: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fields, "LETTERS", letters)
        assert by_blocks(text) == by_python(text)


def test_plain_pieces_are_split_by_arrow_and_long_fields_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    split, whole = fields._split, []

    def watched(piece: str, width: int, separator: str) -> fields.Block | None:
        whole.append(split(piece, width, separator))
        return whole[-1]

    monkeypatch.setattr(fields, "LETTERS", 4000)
    monkeypatch.setattr(fields, "_split", watched)
    rows = by_blocks("a,b\n" + "x,1\n" * 3000 + '"x",1\n' + "x,1\n" * 3000)
    assert len(rows) == 6002 and rows[1:] == [["x", "1"]] * 6001
    # all but the first piece, which has the names, and that with a quote
    assert [found is None for found in whole] == [False, False, True, False, False, False]
    assert by_blocks("a\n" + "x" * 131_073 + "\n") == "error"
    assert len(by_blocks("a\n" + "x" * 131_072 + "\n")) == 2
