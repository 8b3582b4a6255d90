"""Exact discrete noise and private selection, for what is released.

Two sources with one signature. ``SecureNoise`` draws from OpenDP's samplers: exact arithmetic on
whole numbers, randomness of the operating system, no seed, nothing in the low bits. It is what
a release needs. ``SeededNoise`` draws from numpy and can be repeated, so that experiments can; who
knows the seed knows the noise, and ledger, model and command line say so.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from copula_shirley.errors import SettingError
from copula_shirley.privacy.recording import answered
from copula_shirley.schema.domain import FloatArray

Integers = NDArray[np.int64]
#: Beyond, the noise is no better than its rounding and tables of it would be too large.
LARGEST_SCALE = 1e12
#: Up to this scale the seeded source draws from a table of the exact probabilities.
LARGEST_TABLE = 20_000.0


class ReleaseNoise(Protocol):
    """Noise on whole numbers, and a choice among scores."""

    label: str
    seeded: bool
    #: Whether the noise is drawn without rounding, so that its low bits tell nothing.
    exact: bool
    #: Where a seeded source draws from.
    bit_generator: Any

    def gaussian(self, counts: Integers, sigma: float) -> Integers:
        """Add discrete Gaussian noise: P(k) proportional to exp(-k^2 / (2 sigma^2))."""
        ...

    def laplace(self, counts: Integers, scale: float) -> Integers:
        """Add discrete Laplace noise: P(k) proportional to exp(-|k| / scale)."""
        ...

    def choose(self, scores: FloatArray, scale: float) -> int:
        """The exponential mechanism: P(i) proportional to exp(score_i / scale)."""
        ...


def noise_of(rng: np.random.Generator | None) -> ReleaseNoise:
    """The secure source, or a seeded one where a generator is given."""
    return SecureNoise() if rng is None else SeededNoise(rng)


def _check(scale: float) -> None:
    if not 0 < scale <= LARGEST_SCALE:
        raise SettingError(f"noise scale ({scale!r}) must be in (0, {LARGEST_SCALE:g}]")


class SecureNoise:
    """OpenDP's exact samplers (Canonne, Kamath, Steinke 2020), seeded by the operating system."""

    seeded = False
    exact = True
    bit_generator = None

    def __init__(self) -> None:
        from importlib.metadata import version  # noqa: PLC0415

        self.label = f"OpenDP {version('opendp')}: exact discrete noise, operating system"

    def gaussian(self, counts: Integers, sigma: float) -> Integers:
        """Add discrete Gaussian noise."""
        _check(sigma)
        return answered(
            self, "gaussian", counts, sigma, lambda: self._add(_secure_gaussian(sigma), counts)
        )

    def laplace(self, counts: Integers, scale: float) -> Integers:
        """Add discrete Laplace noise."""
        _check(scale)
        return answered(
            self, "laplace", counts, scale, lambda: self._add(_secure_laplace(scale), counts)
        )

    def choose(self, scores: FloatArray, scale: float) -> int:
        """The exponential mechanism."""
        _check(scale)
        merits = np.asarray(scores, dtype=float)
        return answered(
            self, "choose", merits, scale, lambda: int(_secure_choice(scale)(merits.tolist()))
        )

    @staticmethod
    def _add(mechanism: Any, counts: Integers) -> Integers:
        flat = [int(count) for count in np.ravel(counts)]
        return np.array(mechanism(flat), dtype=np.int64).reshape(np.shape(counts))


def _opendp() -> Any:
    import opendp.prelude as dp  # noqa: PLC0415  (slow to import, and only releases need it)

    dp.enable_features("contrib")
    return dp


@lru_cache(64)
def _secure_gaussian(sigma: float) -> Any:
    dp = _opendp()
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T=float)
    return dp.m.make_gaussian(*space, scale=sigma)


@lru_cache(64)
def _secure_laplace(scale: float) -> Any:
    dp = _opendp()
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    return dp.m.make_laplace(*space, scale=scale)


@lru_cache(64)
def _secure_choice(scale: float) -> Any:
    dp = _opendp()
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.linf_distance(T=float)
    # under zCDP this is Gumbel noise and so the exponential mechanism
    return dp.m.make_noisy_max(*space, dp.zero_concentrated_divergence(), scale=scale)


class SeededNoise:
    """The same distributions from numpy: repeatable, for experiments and not for release.

    Examples
    --------
    >>> noise = SeededNoise(np.random.default_rng(0))
    >>> noise.gaussian(np.array([3, 5]), sigma=0.01).tolist()
    [3, 5]
    """

    seeded = True
    exact = False
    label = "numpy PCG64 (seeded: for experiments, not for release)"

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self.bit_generator = rng.bit_generator

    def gaussian(self, counts: Integers, sigma: float) -> Integers:
        """Add discrete Gaussian noise, from the table of its probabilities."""
        _check(sigma)
        return answered(self, "gaussian", counts, sigma, lambda: self._gaussian(counts, sigma))

    def _gaussian(self, counts: Integers, sigma: float) -> Integers:
        shape = np.shape(counts)
        if sigma > LARGEST_TABLE:  # the table is then as good as the bell curve, rounded
            noise = np.rint(self._rng.normal(0.0, sigma, shape))
        else:
            reach = int(np.ceil(12 * sigma)) + 2
            noise = np.searchsorted(_gaussian_cdf(sigma), self._rng.random(shape)) - reach
        return np.asarray(counts + noise.astype(np.int64))

    def laplace(self, counts: Integers, scale: float) -> Integers:
        """Add discrete Laplace noise: the difference of two geometric variables."""
        _check(scale)
        return answered(self, "laplace", counts, scale, lambda: self._laplace(counts, scale))

    def _laplace(self, counts: Integers, scale: float) -> Integers:
        stop = -np.expm1(-1.0 / scale)
        shape = np.shape(counts)
        return np.asarray(
            counts + self._rng.geometric(stop, shape) - self._rng.geometric(stop, shape)
        )

    def choose(self, scores: FloatArray, scale: float) -> int:
        """The exponential mechanism, as the largest score with Gumbel noise."""
        _check(scale)
        merits = np.asarray(scores, dtype=float)
        return answered(self, "choose", merits, scale, lambda: self._choose(merits, scale))

    def _choose(self, scores: FloatArray, scale: float) -> int:
        return int(np.argmax(scores / scale + self._rng.gumbel(size=len(scores))))


@lru_cache(64)
def _gaussian_cdf(sigma: float) -> FloatArray:
    reach = int(np.ceil(12 * sigma)) + 2
    values = np.arange(-reach, reach + 1)
    mass = np.exp(-(values**2) / (2.0 * sigma**2))
    return np.asarray(np.cumsum(mass) / mass.sum())
