"""One protocol of noise, by scale, on whole numbers; what is known of a source is in its facts.

``SecureNoise`` draws from OpenDP's samplers: exact arithmetic, randomness of the operating system,
no seed, nothing in the low bits. It is what a release needs. ``SeededNoise`` draws from numpy and
can be repeated, so that experiments can; who knows the seed knows the noise. The thesis' noise of
floating-point numbers is ``copula_shirley.privacy.floating.DiffprivlibNoise``. Ledgers, cards and
the release ledger decide by ``NoiseFacts``; its words are for people only.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_shirley.errors import SettingError

Integers = NDArray[np.int64]
FloatArray = NDArray[np.float64]
#: How often each category occurs, by its type and value; the last entry counts missing values.
Tally = Mapping[tuple[str, Any], int]
#: Beyond, the noise is no better than its rounding and tables of it would be too large.
LARGEST_SCALE = 1e12
#: Up to this scale the seeded source draws from a table of the exact probabilities.
LARGEST_TABLE = 20_000.0


class Exactness(StrEnum):
    """How noise is drawn, from what is fit for release to what protects nobody."""

    EXACT = "exact"
    SEEDED = "seeded"
    FLOATING = "floating"
    REPLAYED = "replayed"


@dataclass(frozen=True)
class NoiseFacts:
    """What is known of the noise of a fit."""

    #: Which code draws it.
    library: str
    exactness: Exactness
    #: Whether the noise can be drawn again by whoever knows the seed.
    seeded: bool = False

    @property
    def for_release(self) -> bool:
        return self.exactness is Exactness.EXACT and not self.seeded

    def __str__(self) -> str:
        if self.exactness is Exactness.REPLAYED:
            return f"recorded or replayed noise: a test, never for release; {self.library}"
        if self.seeded:
            return f"{self.library} (seeded: for experiments, not for release)"
        if self.exactness is Exactness.EXACT:
            return f"{self.library}: exact discrete noise, operating system"
        return f"{self.library} (operating system; floating point: not for release)"


class NoiseSource(ABC):
    """Noise on whole numbers by its scale, and a choice among scores."""

    facts: NoiseFacts
    #: Where a seeded source draws from.
    bit_generator: Any = None

    @abstractmethod
    def gaussian(self, counts: Integers, scale: float) -> NDArray[Any]:
        """Add Gaussian noise: P(k) proportional to exp(-k^2 / (2 scale^2))."""

    @abstractmethod
    def laplace(self, counts: Integers, scale: float) -> NDArray[Any]:
        """Add Laplace noise: P(k) proportional to exp(-|k| / scale)."""

    @abstractmethod
    def choose(self, scores: Integers, scale: float) -> int:
        """The exponential mechanism: P(i) proportional to exp(score_i / scale)."""

    def words(self, count: int) -> NDArray[np.uint64]:
        """Uniform whole numbers below 2^64, for samplers of whole coins."""
        raise SettingError(f"noise ({self.facts}) has no random words for shares of noise")

    def discover(
        self, tallies: Sequence[Tally], scale: float, least: int, *, gaussian: bool
    ) -> list[tuple[Integers, list[Any]]]:
        """Categories whose noisy count is ``least`` or more, with the noisy counts.

        The last noisy count of each column is that of its missing values, released always. How
        many categories there are is no part of the answer.
        """
        draw = self.gaussian if gaussian else self.laplace
        released = []
        for tally in tallies:
            noisy = draw(np.array(list(tally.values()), dtype=np.int64), scale)
            shown = np.append(noisy[:-1] >= least, True)
            labels = [label for (_, label), keep in zip(tally, shown, strict=True) if keep]
            released.append((noisy[shown], labels[:-1]))
        return released


def check_scale(scale: float) -> None:
    if not 0 < scale <= LARGEST_SCALE:
        raise SettingError(f"noise scale ({scale!r}) must be in (0, {LARGEST_SCALE:g}]")


class SecureNoise(NoiseSource):
    """OpenDP's exact samplers (Canonne, Kamath, Steinke 2020), seeded by the operating system."""

    def __init__(self) -> None:
        self.facts = NoiseFacts(f"OpenDP {version('opendp')}", Exactness.EXACT)

    def gaussian(self, counts: Integers, scale: float) -> Integers:
        return self._add("gaussian", counts, scale)

    def laplace(self, counts: Integers, scale: float) -> Integers:
        return self._add("laplace", counts, scale)

    def choose(self, scores: Integers, scale: float) -> int:
        """The exponential mechanism; whole numbers below 2^53 are exact as OpenDP's floats."""
        return int(_opendp("choose", scale)(np.asarray(scores, dtype=float).tolist()))

    def words(self, count: int) -> NDArray[np.uint64]:
        return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)

    @staticmethod
    def _add(kind: str, counts: Integers, scale: float) -> Integers:
        noisy = _opendp(kind, scale)([int(count) for count in np.ravel(counts)])
        return np.array(noisy, dtype=np.int64).reshape(np.shape(counts))


@lru_cache(256)
def _opendp(kind: str, scale: float) -> Any:
    import opendp.prelude as dp  # noqa: PLC0415  (slow to import, and only releases need it)

    check_scale(scale)
    dp.enable_features("contrib")
    if kind == "choose":
        numbers = dp.vector_domain(dp.atom_domain(T=float, nan=False))
        # under zCDP this is Gumbel noise and so the exponential mechanism
        return dp.m.make_noisy_max(
            numbers, dp.linf_distance(T=float), dp.zero_concentrated_divergence(), scale=scale
        )
    whole = dp.vector_domain(dp.atom_domain(T="i64"))
    if kind == "gaussian":
        return dp.m.make_gaussian(whole, dp.l2_distance(T=float), scale=scale)
    return dp.m.make_laplace(whole, dp.l1_distance(T="i64"), scale=scale)


class SeededNoise(NoiseSource):
    """The same distributions from numpy: repeatable, for experiments and not for release.

    Examples
    --------
    >>> noise = SeededNoise(np.random.default_rng(0))
    >>> noise.gaussian(np.array([3, 5]), 0.01).tolist()
    [3, 5]
    """

    facts = NoiseFacts("numpy PCG64", Exactness.SEEDED, seeded=True)

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self.bit_generator = rng.bit_generator

    def gaussian(self, counts: Integers, scale: float) -> Integers:
        check_scale(scale)
        shape = np.shape(counts)
        if scale > LARGEST_TABLE:  # the table is then as good as the bell curve, rounded
            noise = np.rint(self._rng.normal(0.0, scale, shape))
        else:
            reach = int(np.ceil(12 * scale)) + 2
            noise = np.searchsorted(_gaussian_cdf(scale), self._rng.random(shape)) - reach
        return np.asarray(counts + noise.astype(np.int64))

    def laplace(self, counts: Integers, scale: float) -> Integers:
        check_scale(scale)  # discrete Laplace noise is a difference of two geometric variables
        stop, shape = -np.expm1(-1.0 / scale), np.shape(counts)
        return np.asarray(
            counts + self._rng.geometric(stop, shape) - self._rng.geometric(stop, shape)
        )

    def choose(self, scores: Integers, scale: float) -> int:
        check_scale(scale)  # the largest score with Gumbel noise
        merits = np.asarray(scores, dtype=float)
        return int(np.argmax(merits / scale + self._rng.gumbel(size=len(merits))))

    def words(self, count: int) -> NDArray[np.uint64]:
        return self._rng.integers(0, 2**64, count, dtype=np.uint64)


@lru_cache(64)
def _gaussian_cdf(sigma: float) -> FloatArray:
    reach = int(np.ceil(12 * sigma)) + 2
    values = np.arange(-reach, reach + 1)
    mass = np.exp(-(values**2) / (2.0 * sigma**2))
    return np.asarray(np.cumsum(mass) / mass.sum())
