"""Frequencies from perturbed reports: which randomiser, and what reports say together.

A report *speaks for* cells (``Randomiser.true`` and ``other`` are the chances that it speaks for
the true cell, and for any other). So of n people, of whom m are in a cell, on average
m true + (n - m) other speak for it, and solving for m gives an unbiased count (Wang, Blocki, Li and
Jha 2017). Its variance is that of the coins:

    m true (1 - true) + (n - m) other (1 - other), divided by (true - other)^2.

Simulated people toss the same coins as real ones: whole 32-bit numbers against a chance, from the
operating system, or from a seed in experiments.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_shirley.errors import ReportError
from copula_shirley.local.coins import HALF, ONE, Hadamard, Randomiser, Unary, Wave
from copula_shirley.privacy.noise import Exactness, NoiseFacts
from copula_shirley.schema.domain import FloatArray

Integers = NDArray[np.int64]
#: Coins that are tossed at a time, which bounds the memory of a simulation.
AT_ONCE = 2**22


class Coins:
    """Exact coins in bulk: of the operating system, or seeded for experiments.

    Examples
    --------
    >>> bool(Coins().heads(ONE // 2, 1000).any())
    True
    """

    def __init__(self, rng: np.random.Generator | None = None) -> None:
        self._rng = rng
        self.bit_generator = None if rng is None else rng.bit_generator
        self.facts = (
            NoiseFacts("secrets", Exactness.EXACT)
            if rng is None
            else NoiseFacts("numpy PCG64", Exactness.SEEDED, seeded=True)
        )

    def order(self, n: int) -> NDArray[np.intp]:
        """The people in the order in which they are asked."""
        return (np.random.default_rng() if self._rng is None else self._rng).permutation(n)

    def reports(
        self, cells: NDArray[np.integer[Any]], epsilon: float, *, randomiser: Randomiser
    ) -> Integers:
        """The tally of what people in these cells say, each with this epsilon at the most."""
        if randomiser.epsilon > epsilon:
            raise ReportError(f"epsilon ({epsilon:g}) must be at least {randomiser.epsilon:g}")
        return simulated(randomiser, cells, self)

    def words(self, n: int) -> NDArray[np.uint32]:
        """Whole numbers below 2^32."""
        if self._rng is None:
            return np.frombuffer(secrets.token_bytes(4 * n), dtype=np.uint32)
        return self._rng.integers(0, ONE, n, dtype=np.uint32)

    def heads(self, chance: int, n: int) -> NDArray[np.bool_]:
        """Coins with the chance ``chance`` / 2^32."""
        return self.words(n) < chance

    def below(self, most: int, n: int) -> Integers:
        """Whole numbers below ``most``, each with the same chance: others are drawn again."""
        found = self.words(n).astype(np.int64)
        odd = np.flatnonzero(found >= ONE - ONE % most)
        while len(odd):
            found[odd] = self.words(len(odd))
            odd = odd[found[odd] >= ONE - ONE % most]
        return found % most


# -- which one ---------------------------------------------------------------------


def variance(one: Randomiser, frequency: float = 0.0) -> float:
    """Variance of the estimated frequency of a cell, times the number of people.

    Examples
    --------
    >>> from math import log
    >>> round(variance(Unary.of(10, log(3))), 6)  # 4 e / (e - 1)^2 of 3
    3.0
    """
    true, other = float(one.true), float(one.other)
    mixed = frequency * true * (1 - true) + (1 - frequency) * other * (1 - other)
    return mixed / (true - other) ** 2


def best(cells: int, epsilon: float, most_bits: int | None = None) -> Randomiser:
    """The randomiser that tells most about a rare cell, among reports of so many bits.

    Examples
    --------
    >>> [type(best(k, 1.0)).__name__ for k in (2, 10, 11)]
    ['Wave', 'Wave', 'Unary']
    >>> type(best(1000, 1.0, most_bits=64)).__name__
    'Hadamard'
    """
    known: list[Randomiser] = [kind.of(cells, epsilon) for kind in (Wave, Unary, Hadamard)]
    short = [one for one in known if most_bits is None or one.length <= most_bits]
    if not short:
        raise ReportError(f"most_bits ({most_bits}) must be at least {known[0].length}")
    return min(short, key=variance)


# -- what reports say together -----------------------------------------------------


def tallied(one: Randomiser, reports: Iterable[Any]) -> tuple[Integers, int]:
    """What people said, added up, and how many they were."""
    tally, count = np.zeros(one.outputs, dtype=np.int64), 0
    for report in reports:
        one.check(report)
        count += 1
        if isinstance(one, Hadamard):
            tally[report[0]] += 1 - 2 * report[1]
        else:
            tally[report] += 1
    return tally, count


def simulated(one: Randomiser, cells: NDArray[np.integer[Any]], coins: Coins) -> Integers:
    """The tally of what people in these cells say, each by coins of her own."""
    toss: Any = {Wave: _wave, Unary: _unary, Hadamard: _hadamard}[type(one)]
    step = max(AT_ONCE // (one.cells if isinstance(one, Unary) else 1), 1)
    tally = np.zeros(one.outputs, dtype=np.int64)
    for start in range(0, len(cells), step):
        tally += toss(one, np.asarray(cells[start : start + step], dtype=np.int64), coins)
    return tally


def _wave(one: Wave, cells: Integers, coins: Coins) -> Integers:
    n, width = len(cells), 2 * one.half + 1
    other = coins.below(one.cells - 1, n)
    other += np.where(other < cells, 0, width)
    near = cells + coins.below(width, n)
    said = np.where(coins.heads(one.chance, n), near, other)
    return np.bincount(said, minlength=one.outputs)


def _unary(one: Unary, cells: Integers, coins: Coins) -> Integers:
    n = len(cells)
    words = coins.words(n * one.cells).reshape(n, one.cells)
    ones = (words < one.chance).sum(axis=0)
    own = words[np.arange(n), cells]
    ones -= np.bincount(cells[own < one.chance], minlength=one.cells)
    found: Integers = ones + np.bincount(cells[own < HALF], minlength=one.cells)
    return found


def _hadamard(one: Hadamard, cells: Integers, coins: Coins) -> Integers:
    n = len(cells)
    rows = coins.below(one.outputs, n)
    sign = np.bitwise_count(rows & cells) % 2
    turned = sign ^ ~coins.heads(one.chance, n)
    plus, minus = (np.bincount(rows[turned == s], minlength=one.outputs) for s in (0, 1))
    return plus - minus


def estimated(one: Randomiser, tally: NDArray[Any], people: int) -> FloatArray:
    """Unbiased counts of the cells among the people who reported."""
    if isinstance(one, Wave) and one.half:
        raise ReportError("half must be 0: reports of a square wave are decoded by square_wave.em")
    speaking = np.asarray(tally, dtype=float)
    if isinstance(one, Hadamard):  # of n people (n + sum of signs) / 2 speak for a cell
        speaking = (people + _transformed(speaking)[: one.cells]) / 2
    true, other = float(one.true), float(one.other)
    return (speaking - people * other) / (true - other)


def _transformed(values: FloatArray) -> FloatArray:
    """The Walsh-Hadamard transform."""
    found, width = values.copy(), 1
    while width < len(found):
        pairs = found.reshape(-1, 2, width)
        found = np.stack([pairs.sum(axis=1), pairs[:, 0] - pairs[:, 1]], axis=1).ravel()
        width *= 2
    return found
