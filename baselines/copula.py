"""DP-Copula (Li, Xiong, Jiang, EDBT 2014): noisy margins and a noisy Gaussian copula.

Both variants spend ``margin_share`` of epsilon on one histogram per column and
the rest on the m(m-1)/2 correlations. The sensitivities are argued beside the
functions that use them.
"""

from __future__ import annotations

from itertools import combinations
from typing import Any, ClassVar, Literal

import numpy as np
import pyvinecopulib as pv
from numpy.typing import NDArray
from scipy.fft import dct, idct
from scipy.special import ndtr, ndtri

from copula_shirley.baselines.base import SIZE_SHARE, Baseline
from copula_shirley.errors import ArtefactError, SettingError
from copula_shirley.generator import Progress, RandomState
from copula_shirley.privacy.ledger import Budget, Ledger, Sensitivity, check_epsilon
from copula_shirley.privacy.mechanisms import NumpyNoise
from copula_shirley.restoring import floats, restored_margin
from copula_shirley.rows.memory import MemoryRows
from copula_shirley.schema.domain import FloatArray, Grid
from copula_shirley.schema.schema import OnUnknown, Schema
from copula_shirley.thesis.histograms import count_cells, to_mass
from copula_shirley.thesis.margins import TRIM, Margin

#: Eigenvalues of a repaired correlation matrix are at least this.
SMALLEST_EIGENVALUE = 1e-6
#: Rounds of Higham's projections; the distance hardly falls after these.
HIGHAM_ROUNDS = 100
#: Fewest rows that a block of the MLE variant should have.
BLOCK_ROWS = 20
#: Columns with fewer cells are too short to smooth.
SHORTEST_EFPA = 8


class DPCopula(Baseline):
    """Gaussian copula with noisy margins and noisy correlations.

    Parameters
    ----------
    epsilon : float or None
    variant : {"kendall", "mle"}
        "kendall": Kendall's tau-a of every pair, with noise. "mle": correlations
        of disjoint blocks of rows, averaged, with noise.
    margin_share : float
        Share of epsilon for the margins.
    margins : {"plain", "efpa"}
        Noisy counts, or counts smoothed by EFPA (Acs et al. 2012).
    mechanism : {"laplace", "geometric"}
        Of the margins; correlations always get Laplace noise.
    blocks : int, optional
        Number of blocks of the MLE variant; by default as many as the paper
        asks for, but with at least 20 rows each.
    neighbours, on_unknown, random_state
        As for every generator.
    """

    name: ClassVar[str] = "dp-copula"

    def __init__(
        self,
        epsilon: float | None = 1.0,
        *,
        variant: Literal["kendall", "mle"] = "kendall",
        margin_share: float = 0.5,
        margins: Literal["plain", "efpa"] = "plain",
        mechanism: str = "laplace",
        blocks: int | None = None,
        neighbours: str = "replace-one",
        on_unknown: OnUnknown = "refuse",
        random_state: RandomState = None,
    ) -> None:
        self.epsilon = epsilon
        self.variant = variant
        self.margin_share = margin_share
        self.margins = margins
        self.mechanism = mechanism
        self.blocks = blocks
        self.neighbours = neighbours
        self.on_unknown = on_unknown
        self.random_state = random_state

    def _check_settings(self, schema: Schema) -> None:
        super()._check_settings(schema)
        for setting, allowed in (
            ("variant", ("kendall", "mle")),
            ("margins", ("plain", "efpa")),
            ("mechanism", ("laplace", "geometric")),
        ):
            value = getattr(self, setting)
            if value not in allowed:
                raise SettingError(f"{setting} ({value!r}) must be one of {', '.join(allowed)}")
        if not isinstance(self.margin_share, int | float) or not 0 < self.margin_share < 1:
            raise SettingError(f"margin_share ({self.margin_share!r}) must be in (0, 1)")
        if self.blocks is not None and (not isinstance(self.blocks, int) or self.blocks < 1):
            raise SettingError(f"blocks ({self.blocks!r}) must be a positive whole number")
        if self.epsilon is not None:  # the smallest share that anything gets
            check_epsilon(
                self.epsilon * min(self.margin_share, 1 - self.margin_share) / len(schema) ** 2
            )

    # -- fit -----------------------------------------------------------------------

    def _fit(
        self, rows: MemoryRows, ledger: Ledger, rng: np.random.Generator, progress: Progress
    ) -> None:
        noise_rng, block_rng = rng.spawn(2)
        noise = self._noise(ledger, noise_rng)
        self._grid = Grid(rows.schema)
        left = self.epsilon
        size_cost = None
        if left is not None and not self._size_is_public(rows.schema):
            size_cost, left = left * SIZE_SHARE, left * (1 - SIZE_SHARE)
        self._public_rows = self._public_size(len(rows), noise, ledger, size_cost)
        progress("margins", 0.1)
        share = None if left is None else left * self.margin_share
        self._margins = self._fit_margins(rows, noise, ledger, share)
        progress("correlations", 0.4)
        share = None if left is None else left * (1 - self.margin_share)
        estimate = self._kendall if self.variant == "kendall" else self._blocks_mle
        matrix = np.eye(len(rows.schema))
        matrix[np.triu_indices(len(matrix), 1)] = estimate(rows, noise, ledger, share, block_rng)
        self._correlation = nearest_correlation(matrix + np.triu(matrix, 1).T)

    def _fit_margins(
        self, rows: MemoryRows, noise: NumpyNoise, ledger: Ledger, epsilon: float | None
    ) -> dict[str, Margin]:
        """One histogram per column, epsilon / m each."""
        cost = None if epsilon is None else Budget(epsilon / len(rows.schema))
        codes = self._grid.codes(rows.numbers)
        margins = {}
        for name, size in self._grid.sizes.items():
            counts = count_cells(codes[name], size)
            nominal = self._grid.columns[name].nominal
            if self.margins == "efpa" and cost and size >= SHORTEST_EFPA and not nominal:
                ledger.charge("efpa", name, "exponential, laplace", cost.epsilon)
                noisy = efpa(counts, cost.epsilon, ledger.sensitivity(), noise)
                self.released_[f"efpa {name}"] = noisy
            else:
                noisy = self._release("histogram", name, counts, cost, noise, ledger)
            margins[name] = Margin.of(np.arange(size, dtype=float), to_mass(noisy))
        return margins

    def _kendall(
        self,
        rows: MemoryRows,
        noise: NumpyNoise,
        ledger: Ledger,
        epsilon: float | None,
        rng: np.random.Generator,
    ) -> FloatArray:
        """Noisy tau-a of every pair, as correlations sin(pi/2 tau).

        Sensitivity: let S be the number of concordant less discordant pairs of
        rows. A row is in n - 1 pairs, each worth -1, 0 or 1, so replacing a unit
        of k rows changes S by at most 2k(n - 1), and tau-a = S / C(n, 2) by at
        most 4k/n. Where n is private, the public size takes its place: rows
        beyond it are left out (a row added then replaces at most one), and a row
        added or removed is a replacement at worst. The m(m-1)/2 values share
        epsilon equally (the L1 norm of all of them is at most their number times
        this).
        """
        n = self._public_rows
        keep = np.arange(len(rows))
        if len(rows) > n:
            keep = np.sort(np.argsort(rng.random(len(rows)), kind="stable")[:n])
        numbers = [rows.numbers[name][keep] for name in self._grid.sizes]
        exact = np.array([concordance(a, b) for a, b in combinations(numbers, 2)])
        tau = exact / (n * (n - 1) / 2)
        sensitivity = 4 * ledger.rows_per_unit / n
        return np.sin(
            np.pi / 2 * self._noisy_pairs("tau", tau, sensitivity, noise, ledger, epsilon)
        )

    def _blocks_mle(
        self,
        rows: MemoryRows,
        noise: NumpyNoise,
        ledger: Ledger,
        epsilon: float | None,
        rng: np.random.Generator,
    ) -> FloatArray:
        """Correlations of normal scores, averaged over disjoint blocks of units.

        Sensitivity: a unit is in one block, dealt by a draw of its own. A
        coefficient is in [-1, 1], so it changes by at most 2 in that block and by
        2/l in the mean over l blocks. The normal scores use the noisy margins,
        which are public by then.
        """
        pairs = len(self._grid.sizes) * (len(self._grid.sizes) - 1) // 2
        blocks = self._number_of_blocks(pairs, epsilon)
        dealt = rng.integers(0, blocks, int(rows.units.max()) + 1)[rows.units]
        codes = self._grid.codes(rows.numbers)
        scores = np.column_stack([_normal_scores(codes[n], m) for n, m in self._margins.items()])
        total = np.zeros(pairs)
        for block in range(blocks):
            total += _correlations(scores[dealt == block])
        mean = total / blocks
        return self._noisy_pairs("correlation", mean, 2 / blocks, noise, ledger, epsilon)

    def _number_of_blocks(self, pairs: int, epsilon: float | None) -> int:
        """The paper's l > C(m, 2) / (0.025 epsilon), as far as the rows last."""
        if self.blocks is not None:
            return self.blocks
        if epsilon is None:
            return 1
        return max(1, min(int(np.ceil(pairs / (0.025 * epsilon))), self._public_rows // BLOCK_ROWS))

    def _noisy_pairs(
        self,
        what: str,
        values: FloatArray,
        sensitivity: float,
        noise: NumpyNoise,
        ledger: Ledger,
        epsilon: float | None,
    ) -> FloatArray:
        if not len(values):
            return values
        if epsilon is None:
            ledger.record_unprotected("copula", f"{what} of all pairs", "noise is off")
            return np.clip(values, -1, 1)
        ledger.charge("copula", f"{what} of {len(values)} pairs", "laplace", epsilon)
        noisy = noise.add(
            values,  # type: ignore[arg-type]
            mechanism="laplace",
            epsilon=epsilon / len(values),
            delta=0.0,
            sensitivity=Sensitivity(sensitivity, sensitivity),
        )
        self.released_[what] = noisy
        return np.clip(noisy, -1, 1)

    # -- sample and save -------------------------------------------------------------

    def _draw(self, n: int, rng: np.random.Generator) -> dict[str, FloatArray]:
        root = np.linalg.cholesky(self._correlation)
        uniforms = ndtr(rng.standard_normal((n, len(root))) @ root.T)
        codes = {
            name: margin.quantile(uniforms[:, j]).astype(np.intp)
            for j, (name, margin) in enumerate(self._margins.items())
        }
        return self._grid.numbers(codes, rng)

    def _state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        arrays = {f"cumulative_{i}": m.cumulative for i, m in enumerate(self._margins.values())}
        return {}, {**arrays, "correlation": self._correlation}

    def _restore(self, state: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        self._grid = Grid(self.schema_)
        self._margins = {
            name: restored_margin(np.arange(size, dtype=float), arrays[f"cumulative_{i}"])
            for i, (name, size) in enumerate(self._grid.sizes.items())
        }
        self._correlation = floats(arrays["correlation"], (len(self._margins),) * 2)
        if not np.allclose(np.diag(self._correlation), 1.0):
            raise ArtefactError("its correlations must be 1 on the diagonal")


# -- parts ---------------------------------------------------------------------------


def concordance(first: FloatArray, second: FloatArray) -> int:
    """Concordant less discordant pairs of rows, in O(n log n); ties count 0.

    This over C(n, 2) is Kendall's tau-a, whose sensitivity is known. vinecopulib's
    tau is tau-b, S / sqrt((n0 - n1)(n0 - n2)) with n1, n2 the tied pairs, from
    which the whole number S is recovered.

    Examples
    --------
    >>> concordance(np.array([1.0, 2.0, 3.0, 3.0]), np.array([1.0, 3.0, 2.0, 2.0]))
    1
    """
    n = len(first)
    untied = [n * (n - 1) / 2 - _tied_pairs(column) for column in (first, second)]
    if min(untied) <= 0:
        return 0
    ranks = [np.unique(column, return_inverse=True)[1].astype(float) for column in (first, second)]
    tau_b = float(pv.utils.wdm(ranks[0], ranks[1], "tau"))
    return round(tau_b * float(np.sqrt(untied[0]) * np.sqrt(untied[1])))


def _tied_pairs(column: FloatArray) -> float:
    counts = np.unique(column, return_counts=True)[1].astype(float)
    return float((counts * (counts - 1) / 2).sum())


def nearest_correlation(matrix: FloatArray) -> FloatArray:
    """The nearest correlation matrix to a noisy one, made positive definite.

    Higham (2002): alternate between positive semidefinite matrices and those
    with a unit diagonal, with Dykstra's correction. A last repair lifts
    eigenvalues off zero, so that the matrix has a Cholesky root.

    Examples
    --------
    >>> nearest_correlation(np.array([[1.0, 0.3], [0.3, 1.0]])).tolist()
    [[1.0, 0.3], [0.3, 1.0]]
    """
    nearest = (matrix + matrix.T) / 2
    correction = np.zeros_like(nearest)
    for _ in range(HIGHAM_ROUNDS):
        if np.linalg.eigvalsh(nearest).min() >= SMALLEST_EIGENVALUE:
            return nearest
        shifted = nearest - correction
        projected = _lift(shifted, 0.0)
        correction = projected - shifted
        nearest = projected.copy()
        np.fill_diagonal(nearest, 1.0)
    lifted = _lift(nearest, SMALLEST_EIGENVALUE)
    scale = np.sqrt(np.diag(lifted))
    return np.asarray(lifted / np.outer(scale, scale))


def _lift(matrix: FloatArray, least: float) -> FloatArray:
    """Raise the eigenvalues of a symmetric matrix to at least so much."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray((vectors * np.maximum(values, least)) @ vectors.T)


def efpa(
    counts: NDArray[np.int64], epsilon: float, sensitivity: Sensitivity, noise: NumpyNoise
) -> FloatArray:
    """Noisy counts by the enhanced Fourier perturbation algorithm (Acs et al. 2012).

    Keep the first k coefficients of an orthonormal transform, with noise. Half
    of epsilon chooses k by the expected error, the norm of what is cut plus that
    of the noise: the transform keeps distances, so the first part changes by at
    most the L2 sensitivity of the counts and the second by nothing. The other
    half pays for the noise: in the L1 norm k coefficients change by at most
    sqrt(k) times the L2 sensitivity of the counts; and each changes by at most
    sqrt(2/m), the largest entry of the transform, times their L1 sensitivity. The
    smaller of the two bounds counts.

    Departs from the paper: a cosine transform in place of Fourier's, which is
    real and does not join the two ends of the domain; and the second bound.
    """
    spectrum = dct(counts.astype(float), norm="ortho")
    kept = np.arange(1, len(counts) + 1)
    cut = np.sqrt(np.append(np.cumsum(spectrum[:0:-1] ** 2)[::-1], 0.0))
    by_entry = kept * np.sqrt(2 / len(counts)) * sensitivity.l1
    reaches = np.minimum(np.sqrt(kept) * sensitivity.l2, by_entry)
    score = -(cut + np.sqrt(2 * kept) * reaches / (epsilon / 2))
    k = 1 + noise.choose(score, epsilon=epsilon / 2, sensitivity=sensitivity.l2)
    reach = float(reaches[k - 1])
    noisy = np.zeros(len(counts))
    noisy[:k] = noise.add(
        spectrum[:k],
        mechanism="laplace",
        epsilon=epsilon / 2,
        delta=0.0,
        sensitivity=Sensitivity(reach, reach),
    )
    return np.asarray(idct(noisy, norm="ortho"))


def _normal_scores(codes: NDArray[np.intp], margin: Margin) -> FloatArray:
    """Normal quantile of the middle of each cell's interval of the noisy CDF."""
    middle = margin.cumulative - margin.mass / 2
    return np.asarray(ndtri(np.clip(middle, TRIM, 1 - TRIM)))[codes]


def _correlations(scores: FloatArray) -> FloatArray:
    """Pearson correlations of all pairs of columns; 0 where one does not vary."""
    upper = np.triu_indices(scores.shape[1], 1)
    if len(scores) < 2:
        return np.zeros(len(upper[0]))
    centred = scores - scores.mean(axis=0)
    spread = np.sqrt((centred**2).sum(axis=0))
    scaled = centred / np.where(spread > 1e-12, spread, 1.0)
    return np.asarray(np.clip((scaled.T @ scaled)[upper], -1, 1))
