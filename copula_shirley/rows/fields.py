"""Fields of a text with separators, piece by piece; what they mean is for others.

The rules are those of Python's ``csv`` in its strict form. A piece without quotes has no other
reading, so that Arrow splits it, many times faster; Python reads the others, and goes on to the end
of the piece in which their last record ends.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TextIO

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from copula_shirley.errors import SchemaError

#: Letters of one line of a CSV file; a single field has at most 131,072, Python's own limit.
LONGEST_LINE = 2**24
#: Letters of a CSV file that are read together, and lines that Python parses together (few, so that
#: they stay in the processor's cache).
LETTERS, LINES = 2**21, 500
#: The fields of some rows, by column: each text that differs once, and which one stands where.
Block = list[pa.DictionaryArray]


class Records:
    """The records of a text: one by one (``reader``), and those that are left in blocks."""

    def __init__(self, path: str, text: TextIO, separator: str) -> None:
        self._pieces = _pieces(path, text)
        self._separator = separator
        self._lines: list[str] = []
        self._taken = 0
        self.reader = csv.reader(self._left(), strict=True, delimiter=separator)

    @property
    def _piece_ends(self) -> bool:
        return self._taken == len(self._lines)

    def _begin(self, piece: str) -> None:
        self._lines, self._taken = io.StringIO(piece, newline="").readlines(), 0

    def _left(self) -> Iterator[str]:
        """Lines for the reader, from the next piece where a record goes on there."""
        while True:
            while self._piece_ends:
                piece = next(self._pieces, None)
                if piece is None:
                    return
                self._begin(piece)
            self._taken += 1
            yield self._lines[self._taken - 1]

    def blocks(self, width: int) -> Iterator[Block]:
        """The fields of the records that are left, each of which must have so many."""
        while True:
            if self._piece_ends:
                piece = next(self._pieces, None)
                if piece is None:
                    break
                found = _split(piece, width, self._separator)
                if found is not None:
                    yield found
                    continue
                self._begin(piece)
            yield self._read(width)
        yield [_distinct([])] * width

    def _read(self, width: int) -> Block:
        """The fields of the records that begin in this piece."""
        block: list[list[str]] = [[] for _ in range(width)]
        while lines := list(islice(self._begun(), LINES)):
            if set(map(len, lines)) - {width, 0}:
                raise pd.errors.ParserError
            lines = list(filter(None, lines))  # blank lines are none
            for fields, more in zip(block, zip(*lines, strict=True), strict=False):
                fields.extend(more)
        return list(map(_distinct, block))

    def _begun(self) -> Iterator[list[str]]:
        while not self._piece_ends:
            yield next(self.reader)


def _pieces(path: str, text: TextIO) -> Iterator[str]:
    """Whole lines, some at a time; one that is longer than any of a table ends it."""
    rest, ended = "", False
    while not ended:
        more = text.read(LETTERS)
        ended = not more
        rest += more
        # a carriage return at the end may be half of a line's end
        cut = len(rest) if ended else max(rest.rfind("\n"), rest.rfind("\r", 0, -1)) + 1
        piece, rest = rest[:cut], rest[cut:]
        lines = io.StringIO(piece, newline="") if len(piece) > LONGEST_LINE else ()
        if max(len(rest), *map(len, lines), 0) > LONGEST_LINE:
            raise SchemaError(f"{path!r}: a line must have at most {LONGEST_LINE:,} letters")
        if piece:
            yield piece


def _split(piece: str, width: int, separator: str) -> Block | None:
    """The fields of whole lines if nothing in them can be read in two ways; else None.

    Arrow drops a byte order mark at the start, and ends lines where Python's reader does.
    """
    odd = '"' in piece or "\0" in piece or piece.startswith("\ufeff")
    if odd or not separator.isascii() or piece.count("\r") != piece.count("\r\n"):
        return None
    names = [str(i) for i in range(width)]
    texts = pa.dictionary(pa.int32(), pa.string())
    try:
        data = piece.encode()
        table = pa.csv.read_csv(
            pa.BufferReader(data),
            pa.csv.ReadOptions(use_threads=False, block_size=len(data) + 1, column_names=names),
            pa.csv.ParseOptions(delimiter=separator, quote_char=False),
            pa.csv.ConvertOptions(check_utf8=False, column_types=dict.fromkeys(names, texts)),
        )
    except (pa.ArrowInvalid, UnicodeEncodeError):  # Python's reader says what is wrong
        return None
    block = [column.combine_chunks() for column in table.columns]
    longest = [pc.max(pc.binary_length(column.dictionary)).as_py() or 0 for column in block]
    return None if max(longest, default=0) > csv.field_size_limit() else block


def _distinct(texts: Sequence[str]) -> pa.DictionaryArray:
    return pa.array(texts, pa.large_string()).dictionary_encode()
