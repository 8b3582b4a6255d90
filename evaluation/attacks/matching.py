"""How many columns of a row agree with those of other rows, counted for all pairs at once.

The membership attack needs, for each record, how many synthetic rows lie at each Hamming
distance. Comparing value by value costs records x rows x columns steps. Here the rows are bits:
for each column and value, a word of bits says which of 64 rows hold it; the words of a record's
values are added up bit by bit with the logic of a full adder, 64 rows at a time. Memory does not
depend on the number of pairs.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int32]
Words = NDArray[np.uint64]
Counts = NDArray[np.int64]

#: Rows compared at once: eight words, whose eight bit counts fit one word again.
WORDS = 8
BLOCK = 64 * WORDS
#: Records compared at once, so that the words stay in the processor's cache.
CHUNK = 4096
EVEN_BYTES = np.uint64(0x00FF00FF00FF00FF)


def agreement_counts(records: Codes, rows: Codes, fewest: int = 0) -> Counts:
    """For each record, the number of rows that agree with it in 0, 1, ..., d columns.

    Parameters
    ----------
    records, rows : arrays of shape (n, d)
        Whole numbers from 0; equal numbers in a column are equal values.
    fewest : int
        Agreements below it are not counted, which saves time; their counts are 0.

    Examples
    --------
    >>> records = np.array([[1, 1], [2, 2]], dtype=np.int32)
    >>> rows = np.array([[1, 1], [1, 0], [0, 0]], dtype=np.int32)
    >>> agreement_counts(records, rows).tolist()
    [[1, 1, 1], [3, 0, 0]]
    """
    d = records.shape[1]
    by_column = np.ascontiguousarray(records.T)
    sizes = np.maximum(by_column.max(axis=1, initial=0), rows.max(axis=0, initial=0)) + 1
    counts = np.zeros((d + 1, len(records)), dtype=np.int64)
    desk = [np.empty((CHUNK, WORDS), dtype=np.uint64) for _ in range(2 * d.bit_length() + 3)]
    for start in range(0, len(rows), BLOCK):
        block = rows[start : start + BLOCK]
        holders = [_holders(block[:, j], size) for j, size in enumerate(sizes)]
        for first in range(0, len(records), CHUNK):
            chunk = by_column[:, first : first + CHUNK]
            counter = _Counter(desk, chunk.shape[1])
            for (place, words), codes in zip(holders, chunk, strict=True):
                same = counter.free.pop()
                lines = codes if place is None else place.take(codes)
                # no code is out of range: "clip" only spares numpy a copy
                words.take(lines, axis=0, mode="clip", out=same)
                counter.add(same)
            for agreeing, rows_with in _histogram(counter.digits(), fewest, d):
                counts[agreeing, first : first + CHUNK] += rows_with
        if fewest == 0:  # the empty places of the last block agree with nobody
            counts[0] -= BLOCK - len(block)
    return counts.T


def _holders(block: Codes, size: int) -> tuple[NDArray[np.intp] | None, Words]:
    """For one column: a line of bits for each value, those of the rows that hold it.

    If there are many values, only those that some row holds have a line, and the line of each
    value is given too.
    """
    if size <= BLOCK:
        bits = np.zeros((size, BLOCK), dtype=bool)
        bits[block, np.arange(len(block))] = True
        return None, np.packbits(bits, axis=1).view(np.uint64)
    held, where = np.unique(block, return_inverse=True)
    bits = np.zeros((len(held) + 1, BLOCK), dtype=bool)  # the last line: held by no row
    bits[where, np.arange(len(block))] = True
    place = np.full(size, len(held), dtype=np.intp)
    place[held] = np.arange(len(held))
    words: Words = np.packbits(bits, axis=1).view(np.uint64)
    return place, words


class _Counter:
    """Counts in binary how often each bit was set; all bits of a word count at once.

    It works in the arrays of ``desk`` and in no others: memory that is taken once and stays in
    the cache is much faster.
    """

    def __init__(self, desk: list[Words], size: int) -> None:
        self.free = [array[:size] for array in desk]
        self._waiting: list[list[Words]] = [[]]  # for each binary digit, at most two

    def add(self, bits: Words, digit: int = 0) -> None:
        """Add an array of bits worth ``2**digit``, which is written over."""
        if digit == len(self._waiting):
            self._waiting.append([])
        waiting = self._waiting[digit]
        waiting.append(bits)
        if len(waiting) == 3:  # a full adder: sum a ^ b ^ c, carry (a ^ b) & c | a & b
            a, b, c = waiting
            half = self.free.pop()
            np.bitwise_xor(a, b, out=half)
            a &= b
            np.bitwise_xor(half, c, out=b)
            c &= half
            c |= a
            self._waiting[digit] = [b]
            self.free += [half, a]
            self.add(c, digit + 1)

    def digits(self) -> list[Words]:
        """The counts: element k holds the bits worth ``2**k``."""
        digit = 0
        while digit < len(self._waiting):
            if len(self._waiting[digit]) == 2:  # a half adder
                a, b = self._waiting[digit]
                carry = self.free.pop()
                np.bitwise_and(a, b, out=carry)
                b ^= a
                self._waiting[digit] = [b]
                self.free.append(a)
                self.add(carry, digit + 1)
            digit += 1
        return [bits for (bits,) in self._waiting]


def _histogram(total: list[Words], fewest: int, most: int) -> Iterator[tuple[int, Counts]]:
    """For each possible sum from ``fewest`` to ``most``: how many rows have it, per record."""
    top = len(total) - 1
    branches = [(~total[top], top, 0)]
    if total[top].any():
        branches.append((total[top], top, 1 << top))
    while branches:
        rows, bit, value = branches.pop()
        if value > most or value + (1 << bit) <= fewest:
            continue
        if bit == 0:
            yield value, _count(rows)
            continue
        with_bit = rows & total[bit - 1]
        if bit < top or with_bit.any():  # many agreements are often nobody's
            branches.append((with_bit, bit - 1, value + (1 << (bit - 1))))
        if value + (1 << (bit - 1)) > fewest:
            branches.append((rows ^ with_bit, bit - 1, value))


def _count(rows: Words) -> Counts:
    """Set bits in each line of eight words."""
    four = np.bitwise_count(rows).view(np.uint64)[:, 0]  # eight bytes of at most 64 each
    four = (four & EVEN_BYTES) + ((four >> np.uint64(8)) & EVEN_BYTES)
    four *= np.uint64(0x0001000100010001)  # the sum of the four ends up in the top 16 bits
    four >>= np.uint64(48)
    return four.view(np.int64)
