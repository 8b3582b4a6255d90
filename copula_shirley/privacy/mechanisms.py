"""Noise on counts and private selection: one signature, whatever the source of randomness.

Thesis 2.2 and 5.2.3. The thesis' pipeline draws from diffprivlib. Its Laplace
and Gaussian noise are floating-point numbers, whose low bits can betray the
count below them, so nothing drawn here is called fit for release; a source of
exact discrete noise joins under the same signature.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, Protocol, get_args

import numpy as np
from diffprivlib.mechanisms import GaussianAnalytic, Geometric, Laplace
from numpy.typing import NDArray

from copula_shirley.errors import SettingError
from copula_shirley.privacy.ledger import Sensitivity, check_epsilon
from copula_shirley.privacy.recording import answered
from copula_shirley.schema.domain import FloatArray

Mechanism = Literal["laplace", "geometric", "gaussian"]
MECHANISMS: tuple[str, ...] = get_args(Mechanism)
#: diffprivlib's calibration of the Gaussian overflows beyond; less is still private.
LARGEST_GAUSSIAN_EPSILON = 500.0
#: For less, rounding makes diffprivlib's analytic Gaussian too narrow (seen from 1e-10 on).
SMALLEST_DELTA = 1e-9
#: What labels say of noise whose low bits can betray the count below them.
FLOATING = "floating point: not for release"
SEEDED = "seeded: for experiments, not for release"


class NoiseSource(Protocol):
    """Something that adds calibrated noise to counts."""

    label: str
    seeded: bool
    exact: bool
    bit_generator: Any

    def add(
        self,
        counts: NDArray[np.int64],
        *,
        mechanism: str,
        epsilon: float,
        delta: float,
        sensitivity: Sensitivity,
    ) -> FloatArray:
        """Return the counts with independent noise on each."""
        ...


def check_mechanism(mechanism: str, delta: float) -> None:
    """Refuse an unknown mechanism, and a Gaussian without delta."""
    if mechanism not in MECHANISMS:
        raise SettingError(f"mechanism ({mechanism!r}) must be one of {', '.join(MECHANISMS)}")
    if not isinstance(delta, int | float) or not 0 <= delta < 1:
        raise SettingError(f"delta ({delta!r}) must be in [0, 1)")
    if mechanism == "gaussian" and delta < SMALLEST_DELTA:
        raise SettingError(
            f"delta ({delta!r}) must be at least {SMALLEST_DELTA:g} for mechanism 'gaussian'"
        )


class DiffprivlibNoise:
    """The thesis' noise: Laplace, geometric, analytic Gaussian from diffprivlib.

    Parameters
    ----------
    rng : numpy.random.Generator or None
        None draws from the operating system; a generator makes the noise
        repeatable, which is for experiments only: who knows the seed knows the
        noise.

    Examples
    --------
    >>> noise = DiffprivlibNoise(np.random.default_rng(0))
    >>> noise.add(np.array([3, 5]), mechanism="geometric", epsilon=50.0, delta=0.0,
    ...           sensitivity=Sensitivity(2.0, 1.5)).tolist()
    [3.0, 5.0]
    """

    exact = False

    def __init__(self, rng: np.random.Generator | None) -> None:
        self._state = None if rng is None else np.random.RandomState(rng.bit_generator)
        self.seeded = rng is not None
        self.bit_generator = None if rng is None else rng.bit_generator
        kind = f"operating system; {FLOATING}" if rng is None else SEEDED
        self.label = f"diffprivlib ({kind})"

    def add(
        self,
        counts: NDArray[np.int64],
        *,
        mechanism: str,
        epsilon: float,
        delta: float,
        sensitivity: Sensitivity,
    ) -> FloatArray:
        """Return the counts with independent noise on each."""
        check_epsilon(epsilon)
        check_mechanism(mechanism, delta)
        noise: Laplace | Geometric | GaussianAnalytic
        if mechanism == "laplace":
            noise = Laplace(epsilon=epsilon, sensitivity=sensitivity.l1, random_state=self._state)
            scale = sensitivity.l1 / epsilon
        elif mechanism == "geometric":
            whole = int(np.ceil(sensitivity.l1))
            noise = Geometric(epsilon=epsilon, sensitivity=whole, random_state=self._state)
            scale = whole / epsilon
        else:
            noise = GaussianAnalytic(
                epsilon=min(epsilon, LARGEST_GAUSSIAN_EPSILON),
                delta=delta,
                sensitivity=sensitivity.l2,
                random_state=self._state,
            )
            scale = float(noise._scale)
        return answered(
            self,
            "gaussian" if mechanism == "gaussian" else "laplace",
            counts,
            scale,
            lambda: np.array([noise.randomise(int(count)) for count in counts], dtype=float),
        )


class NumpyNoise:
    """The same mechanisms in one vectorised call, for tables with very many cells.

    Geometric noise is the difference of two geometric variables, exact on whole
    numbers up to the rounding of numpy's sampler; Laplace and Gaussian noise are
    floating-point numbers.

    Parameters
    ----------
    rng : numpy.random.Generator
    seeded : bool
        Whether a seed was given, which makes the noise repeatable.

    Examples
    --------
    >>> noise = NumpyNoise(np.random.default_rng(0), seeded=True)
    >>> noise.add(np.array([3, 5]), mechanism="geometric", epsilon=50.0, delta=0.0,
    ...           sensitivity=Sensitivity(2.0, 1.5)).tolist()
    [3.0, 5.0]
    """

    exact = False

    def __init__(self, rng: np.random.Generator, *, seeded: bool) -> None:
        self._rng = rng
        self.seeded = seeded
        self.bit_generator = rng.bit_generator
        kind = SEEDED if seeded else f"operating system's seed; {FLOATING}"
        self.label = f"numpy PCG64 ({kind})"

    def add(
        self,
        counts: NDArray[np.int64],
        *,
        mechanism: str,
        epsilon: float,
        delta: float,
        sensitivity: Sensitivity,
    ) -> FloatArray:
        """Return the counts with independent noise on each."""
        check_epsilon(epsilon)
        check_mechanism(mechanism, delta)
        shape = np.shape(counts)
        draw: Callable[[], NDArray[Any]]
        if mechanism == "laplace":
            scale = sensitivity.l1 / epsilon
            draw = lambda: self._rng.laplace(0.0, scale, shape)  # noqa: E731
        elif mechanism == "geometric":
            scale = sensitivity.l1 / epsilon
            stop = -np.expm1(-epsilon / sensitivity.l1)
            draw = lambda: self._rng.geometric(stop, shape) - self._rng.geometric(stop, shape)  # noqa: E731
        else:
            calibrated = GaussianAnalytic(
                epsilon=min(epsilon, LARGEST_GAUSSIAN_EPSILON),
                delta=delta,
                sensitivity=sensitivity.l2,
            )
            scale = float(calibrated._scale)
            draw = lambda: self._rng.normal(0.0, scale, shape)  # noqa: E731
        kind = "gaussian" if mechanism == "gaussian" else "laplace"
        true = np.asarray(counts)
        return answered(self, kind, true, scale, lambda: np.asarray(true + draw(), dtype=float))

    def choose(self, scores: FloatArray, *, epsilon: float, sensitivity: float) -> int:
        """The exponential mechanism: an index, likely one with a high score.

        P(i) is proportional to exp(epsilon * score_i / (2 * sensitivity)), drawn
        as the largest of the scores with Gumbel noise.
        """
        check_epsilon(epsilon)
        merits = np.asarray(scores, dtype=float)
        weighted = merits * (epsilon / (2 * sensitivity))
        return answered(
            self,
            "choose",
            merits,
            2 * sensitivity / epsilon,
            lambda: int(np.argmax(weighted + self._rng.gumbel(size=len(weighted)))),
        )
