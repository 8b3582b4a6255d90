"""DP-Copula (Li, Xiong, Jiang, EDBT 2014): noisy margins and a noisy Gaussian copula.

Both variants spend ``margin_share`` of epsilon on one histogram per column and the rest on the
m(m-1)/2 correlations. The sensitivities are argued beside the functions that use them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
import pyvinecopulib as pv
from numpy.typing import NDArray
from scipy.fft import idct
from scipy.special import ndtr, ndtri

from copula_shirley.baselines.base import MarginBaseline
from copula_shirley.errors import ArtefactError, SettingError
from copula_shirley.fitted import Progress
from copula_shirley.measure.queries import Best, Numbers, Queries
from copula_shirley.privacy.ledger import Ledger, Sensitivity, check_epsilon
from copula_shirley.privacy.noise import Integers
from copula_shirley.restoring import floats
from copula_shirley.rows.memory import MemoryRows
from copula_shirley.schema.domain import FloatArray, Grid
from copula_shirley.schema.schema import Schema
from copula_shirley.settings import check_positive_whole, check_share
from copula_shirley.thesis.margins import TRIM, Margin

#: Eigenvalues of a repaired correlation matrix are at least this.
SMALLEST_EIGENVALUE = 1e-6
#: Rounds of Higham's projections; the distance hardly falls after these.
HIGHAM_ROUNDS = 100
#: Fewest rows that a block of the MLE variant should have.
BLOCK_ROWS = 20
#: Columns with fewer cells are too short to smooth.
SHORTEST_EFPA = 8
#: Correlations and coefficients are whole multiples of 1 / UNIT.
UNIT = 2**20
#: Entries of the matrix of a cosine transform (8 bytes each).
MOST_ENTRIES = 2**22
#: Most rows of which vinecopulib's tau-b, a double, gives back the whole number of pairs: these are
#: fewer than 5e13, and the double is off by a few parts in 1e16 of them, far less than a half.
MOST_CONCORDANT = 10_000_000


@dataclass(kw_only=True, eq=False, repr=False)
class DPCopula(MarginBaseline):
    """Gaussian copula with noisy margins and noisy correlations."""

    name: ClassVar[str] = "dp-copula"

    mechanism: Literal["laplace", "geometric"] = "laplace"
    #: "kendall": Kendall's tau-a of every pair, with noise. "mle": correlations of disjoint blocks
    #: of rows, averaged, with noise.
    variant: Literal["kendall", "mle"] = "kendall"
    #: Share of epsilon for the margins.
    margin_share: float = 0.5
    #: Noisy counts, or counts smoothed by EFPA (Acs et al. 2012).
    margins: Literal["plain", "efpa"] = "plain"
    #: Number of blocks of the MLE variant; the default is the paper's, with 20 rows or more each.
    blocks: int | None = None

    def _check_settings(self, schema: Schema) -> None:
        super()._check_settings(schema)
        check_share("margin_share", self.margin_share)
        if self.blocks is not None:
            check_positive_whole("blocks", self.blocks)
        if self.epsilon is not None:  # the smallest share that anything gets
            share = min(self.margin_share, 1 - self.margin_share)
            check_epsilon(self.epsilon * share / len(schema) ** 2)

    # -- fit -----------------------------------------------------------------------

    def _fit(
        self, rows: MemoryRows, ledger: Ledger, rng: np.random.Generator, progress: Progress
    ) -> None:
        noise_rng, block_rng = rng.spawn(2)
        self._grid = Grid(rows.schema)
        learning = self._learn(ledger, block_rng, progress)
        pairs = self._run(learning, rows, ledger, noise_rng)
        matrix = np.eye(len(rows.schema))
        matrix[np.triu_indices(len(matrix), 1)] = pairs
        self._correlation = nearest_correlation(matrix + np.triu(matrix, 1).T)

    def _learn(
        self, ledger: Ledger, rng: np.random.Generator, progress: Progress
    ) -> Queries[FloatArray]:
        """The number of rows, the margins, and the correlations of all pairs."""
        left = yield from self._ask_size()
        progress("margins", 0.1)
        self._margins, sizes = {}, self._grid.sizes
        each = left * self.margin_share / len(sizes)
        for name, size in sizes.items():
            asked: Queries[Any] = self._ask_cells("histogram", (name,), each)
            smooth = self.margins == "efpa" and self.epsilon and size >= SHORTEST_EFPA
            if smooth and not self._grid.columns[name].nominal:
                asked = self._ask_smooth(name, each, ledger)
            self._margins[name] = self._margin((yield from asked))
        progress("correlations", 0.4)
        if len(sizes) < 2:
            return np.empty(0)
        share = left * (1 - self.margin_share)
        if self.variant == "kendall":
            return (yield from self._kendall(share, ledger, rng))
        return (yield from self._blocks_mle(share, rng))

    def _ask_smooth(self, name: str, share: float, ledger: Ledger) -> Queries[FloatArray]:
        """Noisy counts of one column by EFPA."""
        epsilon = (self.epsilon or 1.0) * share / 2
        spectrum = Spectrum((name,), self._grid.sizes[name], ledger.sensitivity())
        lengths = Lengths((name,), spectrum, epsilon)
        (best,) = yield from self._ask(Best("efpa", [lengths], share / 2, what=f"length, {name}"))
        query = Numbers("efpa", [replace(spectrum, kept=int(best) + 1)], share / 2, what=name)
        return spectrum.inverse((yield from self._ask(query)))

    def _kendall(
        self, share: float, ledger: Ledger, rng: np.random.Generator
    ) -> Queries[FloatArray]:
        """Noisy tau-a of every pair, as correlations sin(pi/2 tau)."""
        n = self._public_rows
        if n > MOST_CONCORDANT:
            raise SettingError(
                f"variant ('kendall') must be 'mle' for {n:,} rows, more than "
                f"{MOST_CONCORDANT:,}: their concordance is not exact in floating point"
            )
        counts = Concordances(tuple(self._grid.sizes), n, ledger.rows_per_unit, rng)
        what = f"tau of {math.comb(len(counts.names), 2)} pairs"
        noisy = yield from self._ask(Numbers("copula", [counts], share, what=what))
        return np.asarray(np.sin(np.pi / 2 * np.clip(noisy / (n * (n - 1) / 2), -1, 1)))

    def _blocks_mle(self, share: float, rng: np.random.Generator) -> Queries[FloatArray]:
        """Noisy correlations of normal scores, averaged over disjoint blocks of units."""
        pairs = math.comb(len(self._grid.sizes), 2)
        blocks = self._number_of_blocks(pairs, share)
        sums = BlockCorrelations(tuple(self._margins), self._margins, blocks, rng)
        what = f"correlation of {pairs} pairs"
        noisy = yield from self._ask(Numbers("copula", [sums], share, what=what))
        return np.clip(noisy / (UNIT * blocks), -1, 1)

    def _number_of_blocks(self, pairs: int, share: float) -> int:
        """The paper's l > C(m, 2) / (0.025 epsilon), as far as the rows last."""
        if self.blocks is not None:
            return self.blocks
        if self.epsilon is None:
            return 1
        wanted = int(np.ceil(pairs / (0.025 * self.epsilon * share)))
        return max(1, min(wanted, self._public_rows // BLOCK_ROWS))

    # -- sample and save -------------------------------------------------------------

    def _draw(self, n: int, rng: np.random.Generator) -> dict[str, FloatArray]:
        root = np.linalg.cholesky(self._correlation)
        return self._numbers_at(ndtr(rng.standard_normal((n, len(root))) @ root.T).T, rng)

    def _state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        state, arrays = super()._state()
        return state, {**arrays, "correlation": self._correlation}

    def _restore(self, state: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        super()._restore(state, arrays)
        self._correlation = floats(arrays["correlation"], (len(self._margins),) * 2)
        if not np.allclose(np.diag(self._correlation), 1.0):
            raise ArtefactError("its correlations must be 1 on the diagonal")


# -- what is asked about the rows ------------------------------------------------------


def _of_pairs(names: tuple[str, ...], each: float) -> Sensitivity:
    """How much one unit can change numbers of all pairs of columns, each by so much."""
    pairs = math.comb(len(names), 2)
    return Sensitivity(float(pairs * each), math.sqrt(pairs) * each)


@dataclass(frozen=True)
class Concordances:
    """Concordant less discordant pairs of rows.

    Sensitivity: a row is in n - 1 pairs, each worth -1, 0 or 1, so replacing a unit of k rows
    changes each number by at most 2k(n - 1). Where the number of rows is private, the public size n
    takes its place: rows beyond it are left out (a row added then replaces at most one), and a row
    added or removed is a replacement at worst.
    """

    names: tuple[str, ...]
    n: int
    rows_per_unit: int
    #: Says which rows are left out.
    rng: np.random.Generator = field(compare=False)

    @property
    def reach(self) -> Sensitivity:
        return _of_pairs(self.names, 2.0 * self.rows_per_unit * (self.n - 1))

    def numbers(self, rows: MemoryRows) -> Integers:
        keep = np.arange(len(rows))
        if len(rows) > self.n:
            keep = np.sort(np.argsort(self.rng.random(len(rows)), kind="stable")[: self.n])
        columns = [rows.numbers[name][keep] for name in self.names]
        return np.array([concordance(a, b) for a, b in combinations(columns, 2)], dtype=np.int64)


@dataclass(frozen=True)
class BlockCorrelations:
    """Sums over disjoint blocks of units of correlations of normal scores, in units of 1 / UNIT.

    Sensitivity: a unit is in one block, dealt by a draw of its own. A correlation lies in [-1, 1]
    and is rounded to a multiple of 1 / UNIT *within its block*, so whatever floating point made of
    it, the whole number lies in [-UNIT, UNIT]: it changes by at most 2 UNIT in that block, and not
    at all in the others. The normal scores use the noisy margins, which are public by then.
    """

    names: tuple[str, ...]
    margins: dict[str, Margin] = field(compare=False)
    blocks: int
    #: Deals the units to blocks.
    rng: np.random.Generator = field(compare=False)

    @property
    def reach(self) -> Sensitivity:
        return _of_pairs(self.names, 2.0 * UNIT)

    def numbers(self, rows: MemoryRows) -> Integers:
        dealt = self.rng.integers(0, self.blocks, int(rows.units.max()) + 1)[rows.units]
        scores = pd.DataFrame(
            {name: _normal_scores(rows.codes[name], self.margins[name]) for name in self.names}
        )
        upper = np.triu_indices(len(self.names), 1)
        total = np.zeros(len(upper[0]), dtype=np.int64)
        for _, block in scores.groupby(dealt):
            found = np.nan_to_num(block.corr().to_numpy()[upper])  # NaN: one does not vary
            total += np.rint(UNIT * np.clip(found, -1, 1)).astype(np.int64)
        return total


@dataclass(frozen=True)
class Spectrum:
    """The first coefficients of a cosine transform of one histogram, as whole numbers.

    EFPA (Acs et al. 2012) keeps the first k of them, with noise. Departs from the paper: a cosine
    transform in place of Fourier's, which is real and does not join the two ends of the domain; and
    of a long histogram at most ``MOST_ENTRIES`` / size coefficients are thought of.

    The transform is a *public matrix of whole numbers*: A = round(UNIT * D), with D the orthonormal
    cosine transform. So coefficients of whole counts are whole, without any rounding of private
    numbers. Sensitivity of the first k: a row that comes or goes adds or takes a column of A, whose
    L1 norm is known; a unit is up to ``unit.l1`` such rows. And with E = A - UNIT * D, whose
    entries are below 1, a change v of the counts gives |A v|_2 <= UNIT |v|_2 + |v|_1 sqrt(K), K the
    number of rows of A, and in L1 at most sqrt(k) times that. The smaller bound counts.
    """

    names: tuple[str]
    size: int
    unit: Sensitivity
    #: How many coefficients are asked for; all that are thought of by default.
    kept: int | None = None

    @cached_property
    def matrix(self) -> Integers:
        """The transform, in units of 1 / ``UNIT``."""
        most = min(self.size, max(SHORTEST_EFPA, MOST_ENTRIES // self.size))
        angles = np.pi / self.size * np.outer(np.arange(most), np.arange(self.size) + 0.5)
        matrix = np.sqrt(2 / self.size) * np.cos(angles)
        matrix[0] = np.sqrt(1 / self.size)
        return np.asarray(np.rint(UNIT * matrix), dtype=np.int64)

    @property
    def in_norm(self) -> float:
        """How much one unit can change all coefficients in the L2 norm."""
        return UNIT * self.unit.l2 + self.unit.l1 * math.sqrt(len(self.matrix))

    @property
    def reaches(self) -> FloatArray:
        """How much one unit can change the first 1, 2, ... coefficients in the L1 norm."""
        by_entry = np.cumsum(np.abs(self.matrix), axis=0).max(axis=1) * self.unit.l1
        by_norm = np.sqrt(np.arange(1, len(self.matrix) + 1)) * self.in_norm
        return np.asarray(np.minimum(by_entry, by_norm))

    @property
    def reach(self) -> Sensitivity:
        return Sensitivity(float(self.reaches[: self.kept][-1]), self.in_norm)

    def numbers(self, rows: MemoryRows) -> Integers:
        counts = np.bincount(rows.codes[self.names[0]], minlength=self.size).astype(np.int64)
        return np.asarray(self.matrix[: self.kept] @ counts)

    def inverse(self, coefficients: Integers) -> FloatArray:
        """The counts that have these coefficients, and zeros for the others."""
        padded = np.zeros(self.size)
        padded[: len(coefficients)] = coefficients / UNIT
        return np.asarray(idct(padded, norm="ortho"))


@dataclass(frozen=True)
class Lengths:
    """Scores of 1, 2, ... coefficients: the expected error, with a minus, as whole numbers.

    The error is the norm of the coefficients that are cut, rounded down, plus that of the noise,
    which is public. The norm changes by at most ``Spectrum.in_norm``, rounded down by less than one
    more.
    """

    names: tuple[str]
    spectrum: Spectrum
    epsilon: float

    @property
    def reach(self) -> Sensitivity:
        most = self.spectrum.in_norm + 1
        return Sensitivity(most, most)

    def numbers(self, rows: MemoryRows) -> Integers:
        squares = [int(c) ** 2 for c in self.spectrum.numbers(rows)]
        kept = np.arange(1, len(squares) + 1)
        noises = np.sqrt(2 * kept) * self.spectrum.reaches / self.epsilon
        scores, tail = [], 0
        for square, noise in zip(reversed(squares), reversed(noises), strict=True):
            scores.append(-math.isqrt(tail) - math.ceil(noise))
            tail += square
        return np.array(scores[::-1], dtype=np.int64)


# -- parts ---------------------------------------------------------------------------


def concordance(first: FloatArray, second: FloatArray) -> int:
    """Concordant less discordant pairs of rows, in O(n log n); ties count 0.

    This over C(n, 2) is Kendall's tau-a, whose sensitivity is known. vinecopulib's tau is tau-b,
    S / sqrt((n0 - n1)(n0 - n2)) with n1, n2 the tied pairs, from which the whole number S is
    recovered.
    """
    n, ranks, untied = len(first), [], []
    for column in (first, second):
        _, inverse, counts = np.unique(column, return_inverse=True, return_counts=True)
        ranks.append(inverse.astype(float))
        untied.append(n * (n - 1) / 2 - float((counts * (counts - 1.0) / 2).sum()))
    if min(untied) <= 0:
        return 0
    tau_b = pv.utils.wdm(ranks[0], ranks[1], "tau")
    return round(float(tau_b) * math.sqrt(untied[0]) * math.sqrt(untied[1]))


def nearest_correlation(matrix: FloatArray) -> FloatArray:
    """The nearest correlation matrix to a noisy one, made positive definite.

    Higham (2002): alternate between positive semidefinite matrices and those with a unit diagonal,
    with Dykstra's correction. A last repair lifts eigenvalues off zero, so that the matrix has a
    Cholesky root.
    """
    nearest = (matrix + matrix.T) / 2
    correction = np.zeros_like(nearest)
    for _ in range(HIGHAM_ROUNDS):
        if np.linalg.eigvalsh(nearest).min() >= SMALLEST_EIGENVALUE:
            return nearest
        shifted = nearest - correction
        nearest = _lift(shifted, 0.0)
        correction = nearest - shifted
        np.fill_diagonal(nearest, 1.0)
    lifted = _lift(nearest, SMALLEST_EIGENVALUE)
    scale = np.sqrt(np.diag(lifted))
    return np.asarray(lifted / np.outer(scale, scale))


def _lift(matrix: FloatArray, least: float) -> FloatArray:
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.maximum(values, least)) @ vectors.T)


def _normal_scores(codes: NDArray[Any], margin: Margin) -> FloatArray:
    """Normal quantile of the middle of each cell's interval of the noisy CDF."""
    middle = margin.cumulative - margin.mass / 2
    return np.asarray(ndtri(np.clip(middle, TRIM, 1 - TRIM))[codes])
