"""How many columns of a row agree with those of other rows, counted for all pairs at once.

The membership attack needs, for each record, how many synthetic rows lie at each Hamming
distance. Comparing value by value costs records x rows x columns steps. Here the rows are bits:
for each column and value, a word of bits says which of 64 rows hold it; the words of a record's
values are added up bit by bit with the logic of a full adder, 64 rows at a time. Memory does not
depend on the number of pairs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int32]
Words = NDArray[np.uint64]
Counts = NDArray[np.int64]

#: Rows compared at once: eight words, whose eight bit counts fit one word again.
BLOCK = 512
#: Records compared at once, so that the words stay in the processor's cache.
CHUNK = 2048
EVEN_BYTES = np.uint64(0x00FF00FF00FF00FF)


def agreement_counts(records: Codes, rows: Codes, fewest: int = 0) -> Counts:
    """For each record, the number of rows that agree with it in 0, 1, ..., d columns.

    ``records`` and ``rows`` hold a whole number from 0 for each of d columns; equal numbers in a
    column are equal values. Fewer agreements than ``fewest`` are not counted, which saves time.

    Examples
    --------
    >>> records = np.array([[1, 1], [2, 2]], dtype=np.int32)
    >>> rows = np.array([[1, 1], [1, 0], [0, 0]], dtype=np.int32)
    >>> agreement_counts(records, rows).tolist()
    [[1, 1, 1], [3, 0, 0]]
    """
    d = records.shape[1]
    columns = np.ascontiguousarray(records.T)
    sizes = np.maximum(columns.max(axis=1), rows.max(axis=0)) + 1
    counts = np.zeros((d + 1, len(records)), dtype=np.int64)
    for start in range(0, len(rows), BLOCK):
        block = rows[start : start + BLOCK].T
        holders = [_holders(codes, size) for codes, size in zip(block, sizes, strict=True)]
        for first in range(0, len(records), CHUNK):
            chunk = slice(first, first + CHUNK)
            digits: list[list[Words]] = [[]]
            for (places, words), codes in zip(holders, columns[:, chunk], strict=True):
                _add(digits, words.take(places.take(codes), axis=0), 0)
            _carry(digits)
            for agreeing, held in _by_sum([bits for (bits,) in digits], fewest, d):
                counts[agreeing, chunk] += _count(held)
        if fewest == 0:  # the empty places of the last block agree with nobody
            counts[0] -= BLOCK - block.shape[1]
    return counts.T


def _holders(codes: Codes, size: int) -> tuple[NDArray[np.intp], Words]:
    """For one column: the line of each value, and in each line the bits of the rows that hold it.

    The last line is for values that no row holds.
    """
    held, where = np.unique(codes, return_inverse=True)
    bits = np.zeros((len(held) + 1, BLOCK), dtype=bool)
    bits[where, np.arange(len(codes))] = True
    places = np.full(size, len(held))
    places[held] = np.arange(len(held))
    return places, np.packbits(bits, axis=1).view(np.uint64)


def _add(digits: list[list[Words]], bits: Words, i: int) -> None:
    """Add bits worth ``2**i`` to sums of which each binary digit waits for at most two more."""
    if i == len(digits):
        digits.append([])
    digits[i].append(bits)
    if len(digits[i]) == 3:  # a full adder: sum a ^ b ^ c, carry (a ^ b) & c | a & b
        a, b, c = digits[i]
        half = a ^ b
        digits[i] = [half ^ c]
        _add(digits, half & c | a & b, i + 1)


def _carry(digits: list[list[Words]]) -> None:
    for i, waiting in enumerate(digits):  # which grows on the way
        if len(waiting) == 2:  # a half adder
            a, b = waiting
            digits[i] = [a ^ b]
            _add(digits, a & b, i + 1)


def _by_sum(digits: list[Words], fewest: int, most: int) -> list[tuple[int, Words]]:
    """For each possible sum from ``fewest`` to ``most``: the bits of the rows that have it."""
    found = [(0, ~np.zeros_like(digits[0]))]
    for i, bits in reversed(list(enumerate(digits))):
        sides = (0, ~bits), (1 << i, bits)
        found = [
            (value + worth, held & side)
            for value, held in found
            for worth, side in sides
            if fewest < value + worth + (1 << i) and value + worth <= most
        ]
    return found


def _count(held: Words) -> Counts:
    """Set bits in each line of eight words."""
    pairs = np.bitwise_count(held).view(np.uint64)[:, 0]  # eight bytes of at most 64 each
    pairs = (pairs & EVEN_BYTES) + (pairs >> np.uint64(8) & EVEN_BYTES)
    # the sum of the four pairs ends up in the top 16 bits
    return (pairs * np.uint64(0x0001000100010001) >> np.uint64(48)).view(np.int64)
