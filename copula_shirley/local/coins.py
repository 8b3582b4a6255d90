"""Randomisers of one answer with exact coins. Standard library only, so that apps can carry it.

A randomiser is a channel: it takes the cell in which a person's record lies and says something of
it. All its chances are a / 2^32 with whole a, or even shares of such a number, drawn from the
operating system (``secrets``). So the ratio of the chances of one report under two records is a
ratio of whole numbers, and epsilon is its logarithm, rounded up: no floating-point number stands
between the promise and the draw.

- ``Wave``: a cell near the true one with a large chance, any other with a small one. With ``half``
  0 only the true cell is near: k-ary randomised response (k-RR). With more it is the square wave
  of Li et al. (2020), for ordered cells.
- ``Unary``: a bit for each cell; the true one is 1 with a chance of 1/2, each other with a small
  one (optimised unary encoding, OUE; Wang et al. 2017). Two records differ in two bits.
- ``Hadamard``: one entry, of a random row, of the true cell's column of a Hadamard matrix; its sign
  is turned with a small chance.
"""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from copula_shirley.errors import ReportError

#: Chances are whole numbers of this; half of it is the chance of a fair coin.
ONE, HALF = 2**32, 2**31
#: Values of epsilon for one report: chances of less or more are too near to others in 32 bits.
LEAST_EPSILON, MOST_EPSILON = 1e-3, 16.0
#: Cells of a table that one report is about.
MOST_CELLS = 2**16
#: Relative slack above the error of a division and a logarithm in floating point.
SLACK = 2.0**-50


def coin(chance: int) -> bool:
    """Heads with the chance ``chance`` / 2^32, exactly."""
    return secrets.randbits(32) < chance


def epsilon_of(ratio: Fraction) -> float:
    """The logarithm of a ratio of chances, rounded up.

    Examples
    --------
    >>> epsilon_of(Fraction(3)) >= math.log(3), epsilon_of(Fraction(3)) - math.log(3) < 1e-14
    (True, True)
    """
    exponent = math.log(ratio.numerator / ratio.denominator)
    return exponent + SLACK * (1 + abs(exponent))


def check_epsilon(epsilon: Any) -> float:
    known = isinstance(epsilon, int | float) and not isinstance(epsilon, bool)
    if not known or not LEAST_EPSILON <= epsilon <= MOST_EPSILON:
        raise ReportError(
            f"epsilon ({epsilon!r}) of one report must be from {LEAST_EPSILON:g} to "
            f"{MOST_EPSILON:g}"
        )
    return float(epsilon)


def check_whole(what: str, value: Any, least: int, most: int) -> int:
    if type(value) is not int or not least <= value <= most:
        raise ReportError(f"{what} ({value!r}) must be a whole number from {least:,} to {most:,}")
    return value


@dataclass(frozen=True)
class Randomiser:
    """What all have: a number of cells, and chances out of whole numbers."""

    cells: int
    #: The whole number that sets the chances.
    chance: int

    def __post_init__(self) -> None:
        check_whole("cells", self.cells, 2, MOST_CELLS)
        check_whole("chance", self.chance, 1, ONE - 1)

    @property
    def ratio(self) -> Fraction:
        """The largest ratio of the chances of one report under two records."""
        raise NotImplementedError

    @property
    def epsilon(self) -> float:
        return epsilon_of(max(self.ratio, 1 / self.ratio))

    @property
    def true(self) -> Fraction:
        """The chance that a report speaks for the true cell."""
        raise NotImplementedError

    @property
    def other(self) -> Fraction:
        """The chance that a report speaks for a cell that is not the true one."""
        raise NotImplementedError

    @property
    def outputs(self) -> int:
        """Numbers in which reports are added up: of cells, of bits, or of signs by row."""
        return self.cells

    @property
    def length(self) -> int:
        """Bits of a report."""
        return self.cells

    def probability(self, report: Any, cell: int) -> Fraction:
        """The chance of a report of somebody in this cell."""
        raise NotImplementedError

    def draw(self, cell: int) -> Any:
        """A report of somebody in this cell, drawn by exact coins."""
        raise NotImplementedError

    def check(self, report: Any) -> None:
        """Refuse what this randomiser cannot say."""
        raise NotImplementedError

    def _within(self, epsilon: float, step: int) -> Randomiser:
        """The one whose whole number, moved by steps, costs at most epsilon."""
        found = self
        while found.epsilon > epsilon:
            found = type(self)(**{**vars(found), "chance": found.chance + step})
        if found.ratio < 1:
            raise ReportError(f"epsilon ({epsilon:g}) is too small for {self.cells:,} cells")
        return found


@dataclass(frozen=True)
class Wave(Randomiser):
    """A cell at most ``half`` from the true one with the chance ``chance``, else any other.

    The report is the place of a cell among ``cells`` + 2 ``half``, of which the first and the last
    ``half`` stand beyond the ends. With half 0 it is k-ary randomised response.

    Examples
    --------
    >>> fair = Wave.of(2, math.log(3))
    >>> round(float(fair.true), 6), round(fair.epsilon, 7)
    (0.75, 1.0986123)
    """

    half: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_whole("half", self.half, 0, MOST_CELLS)

    @classmethod
    def of(cls, cells: int, epsilon: float, half: int = 0) -> Wave:
        """The one that costs epsilon at the most."""
        check_whole("cells", cells, 2, MOST_CELLS)
        near = (2 * half + 1) * math.exp(check_epsilon(epsilon))
        start = min(math.floor(ONE * near / (near + cells - 1)) + 1, ONE - 1)
        return cls(cells, start, half)._within(epsilon, -1)  # type: ignore[return-value]

    @property
    def outputs(self) -> int:
        return self.cells + 2 * self.half

    @property
    def length(self) -> int:
        return (self.outputs - 1).bit_length()

    @property
    def ratio(self) -> Fraction:
        return self.true / self.other

    @property
    def true(self) -> Fraction:
        return Fraction(self.chance, ONE * (2 * self.half + 1))

    @property
    def other(self) -> Fraction:
        return Fraction(ONE - self.chance, ONE * (self.cells - 1))

    def probability(self, report: Any, cell: int) -> Fraction:
        return self.true if cell <= report <= cell + 2 * self.half else self.other

    def draw(self, cell: int) -> int:
        width = 2 * self.half + 1
        if coin(self.chance):
            return cell + secrets.randbelow(width)
        other = secrets.randbelow(self.cells - 1)
        return other if other < cell else other + width

    def check(self, report: Any) -> None:
        check_whole("report", report, 0, self.outputs - 1)


@dataclass(frozen=True)
class Unary(Randomiser):
    """The cells whose bits are 1: the true one with 1/2, each other with the chance ``chance``."""

    @classmethod
    def of(cls, cells: int, epsilon: float) -> Unary:
        start = math.ceil(ONE / (math.exp(check_epsilon(epsilon)) + 1))
        return cls(cells, max(start - 1, 1))._within(epsilon, 1)  # type: ignore[return-value]

    @property
    def ratio(self) -> Fraction:
        # of two bits: 1/2 (1 - q) against q 1/2
        return (1 - self.other) / self.other

    @property
    def true(self) -> Fraction:
        return Fraction(1, 2)

    @property
    def other(self) -> Fraction:
        return Fraction(self.chance, ONE)

    def probability(self, report: Any, cell: int) -> Fraction:
        ones = len(report) - (cell in report)
        chance: Fraction = Fraction(1, 2) * self.other**ones
        return chance * (1 - self.other) ** (self.cells - 1 - ones)

    def draw(self, cell: int) -> list[int]:
        chances = (HALF if i == cell else self.chance for i in range(self.cells))
        return [i for i, chance in enumerate(chances) if coin(chance)]

    def check(self, report: Any) -> None:
        whole = isinstance(report, list) and all(type(one) is int for one in report)
        inside = whole and report == sorted(set(report)) and len(report) <= self.cells
        if not inside or (report and not 0 <= report[0] <= report[-1] < self.cells):
            raise ReportError(
                f"report must list different cells from 0 to {self.cells - 1:,} in order"
            )


@dataclass(frozen=True)
class Hadamard(Randomiser):
    """A row and a sign: that of the true cell with the chance ``chance``, else the other one."""

    @classmethod
    def of(cls, cells: int, epsilon: float) -> Hadamard:
        keep = math.exp(check_epsilon(epsilon))
        start = min(math.floor(ONE * keep / (keep + 1)) + 1, ONE - 1)
        return cls(cells, start)._within(epsilon, -1)  # type: ignore[return-value]

    @property
    def bits(self) -> int:
        """Of the number of a row."""
        return (self.cells - 1).bit_length()

    @property
    def outputs(self) -> int:
        return 1 << self.bits

    @property
    def length(self) -> int:
        return self.bits + 1

    @property
    def ratio(self) -> Fraction:
        return self.true / (1 - self.true)

    @property
    def true(self) -> Fraction:
        return Fraction(self.chance, ONE)

    @property
    def other(self) -> Fraction:
        return Fraction(1, 2)  # columns differ in half of the rows

    @staticmethod
    def sign(row: int, cell: int) -> int:
        """The entry of a Hadamard matrix, as 0 for 1 and 1 for -1."""
        return (row & cell).bit_count() % 2

    def probability(self, report: Any, cell: int) -> Fraction:
        row, sign = report
        kept = self.true if sign == self.sign(row, cell) else 1 - self.true
        return kept / self.outputs

    def draw(self, cell: int) -> list[int]:
        row = secrets.randbits(self.bits)
        return [row, self.sign(row, cell) ^ (not coin(self.chance))]

    def check(self, report: Any) -> None:
        if not isinstance(report, list) or len(report) != 2:
            raise ReportError("report must be a row and a sign")
        check_whole("row", report[0], 0, self.outputs - 1)
        check_whole("sign", report[1], 0, 1)


#: By the names that stand in question files.
RANDOMISERS: dict[str, type[Randomiser]] = {"wave": Wave, "unary": Unary, "hadamard": Hadamard}


def described(randomiser: Randomiser) -> dict[str, Any]:
    """A randomiser as plain JSON values."""
    name = next(name for name, kind in RANDOMISERS.items() if type(randomiser) is kind)
    return {"randomiser": name, **vars(randomiser)}


def randomiser_of(entry: Any) -> Randomiser:
    """The randomiser that ``described`` wrote."""
    if not isinstance(entry, dict) or entry.get("randomiser") not in RANDOMISERS:
        raise ReportError(f"randomiser must be one of {', '.join(RANDOMISERS)}")
    kind, rest = RANDOMISERS[entry["randomiser"]], {**entry}
    del rest["randomiser"]
    if set(rest) != {"cells", "chance", *(["half"] if kind is Wave else [])}:
        raise ReportError(
            f"randomiser {entry['randomiser']!r} has other entries: {', '.join(rest)}"
        )
    return kind(**rest)
