"""How many columns of a row agree with those of other rows, counted for all pairs at once.

The membership attack needs, for each record, how many synthetic rows lie at each Hamming
distance. Comparing value by value costs records x rows x columns steps. Here the rows are bits:
for each column and value, a word of bits says which of 64 rows hold it; the words of a record's
values are added up in binary, 64 rows at a time. Memory does not depend on the number of pairs.
"""

from __future__ import annotations

from functools import reduce

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int32]

#: Rows compared at once: eight words of bits for each value.
BLOCK = 512
#: Records compared at once, so that the words stay in the processor's cache.
CHUNK = 1024
#: Adds up eight small counts, faster than a sum does.
ONES = np.ones(BLOCK // 64, dtype=np.uint16)


def agreement_counts(records: Codes, rows: Codes) -> NDArray[np.int64]:
    """For each record, the number of rows that agree with it in 0, 1, ..., d columns.

    ``records`` and ``rows`` hold a whole number from 0 for each of d columns; equal numbers in a
    column are equal values.

    Examples
    --------
    >>> records = np.array([[1, 1], [2, 2]], dtype=np.int32)
    >>> rows = np.array([[1, 1], [1, 0], [0, 0]], dtype=np.int32)
    >>> agreement_counts(records, rows).tolist()
    [[1, 1, 1], [3, 0, 0]]
    """
    d = records.shape[1]
    sizes = np.maximum(records.max(axis=0), rows.max(axis=0)) + 1
    counts = np.zeros((len(records), d + 1), dtype=np.int64)
    for start in range(0, len(rows), BLOCK):
        block = rows[start : start + BLOCK].T
        holders = [_holders(codes, size) for codes, size in zip(block, sizes, strict=True)]
        for first in range(0, len(records), CHUNK):
            chunk = records[first : first + CHUNK]
            # element i holds the bits worth 2**i of how often each row agreed
            digits = np.zeros((d.bit_length(), len(chunk), BLOCK // 64), dtype=np.uint64)
            for j, (places, words) in enumerate(holders):
                carry = words[places[chunk[:, j]]]
                for i in range((j + 1).bit_length()):
                    both = digits[i] & carry
                    digits[i] ^= carry
                    carry = both
            for k in range(d + 1):
                bits = [digit if k >> i & 1 else ~digit for i, digit in enumerate(digits)]
                agreeing = np.bitwise_count(reduce(np.bitwise_and, bits)) @ ONES
                counts[first : first + CHUNK, k] += agreeing
        counts[:, 0] -= BLOCK - block.shape[1]  # empty places of the last block agree with nobody
    return counts


def _holders(codes: Codes, size: int) -> tuple[NDArray[np.intp], NDArray[np.uint64]]:
    """For one column: the line of each value, and in each line the bits of the rows that hold it.

    The last line is for values that no row holds.
    """
    held, where = np.unique(codes, return_inverse=True)
    bits = np.zeros((len(held) + 1, BLOCK), dtype=bool)
    bits[where, np.arange(len(codes))] = True
    places = np.full(size, len(held))
    places[held] = np.arange(len(held))
    return places, np.packbits(bits, axis=1).view(np.uint64)
