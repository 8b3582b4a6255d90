"""The thesis' noise, from diffprivlib: Laplace, geometric and Gaussian (thesis 2.2 and 5.2.3).

Its Laplace and Gaussian noise are floating-point numbers, whose low bits can betray the count below
them (Mironov 2012). So nothing drawn here is fit for release, and ``facts`` say so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from copula_shirley.lazy import LazyModule
from copula_shirley.privacy.noise import (
    Exactness,
    FloatArray,
    Integers,
    NoiseFacts,
    NoiseSource,
    check_scale,
)

if TYPE_CHECKING:
    from diffprivlib import mechanisms
else:  # of the extra ``thesis``; the baselines check their noise here, and may lack it
    mechanisms = LazyModule("diffprivlib.mechanisms")

#: diffprivlib's calibration of the Gaussian overflows beyond; less is still private.
LARGEST_GAUSSIAN_EPSILON = 500.0


def analytic_scale(epsilon: float, delta: float, sensitivity: float) -> float:
    """Standard deviation of Gaussian noise for (epsilon, delta) (Balle and Wang 2018)."""
    epsilon = min(epsilon, LARGEST_GAUSSIAN_EPSILON)
    found = mechanisms.GaussianAnalytic(epsilon=epsilon, delta=delta, sensitivity=sensitivity)
    return float(found._scale)


class DiffprivlibNoise(NoiseSource):
    """Laplace, geometric and Gaussian noise of diffprivlib.

    Without a generator it is drawn from the operating system. With ``geometric`` Laplace noise is
    the discrete one, of the geometric mechanism.

    Examples
    --------
    >>> noise = DiffprivlibNoise(np.random.default_rng(0), geometric=True)
    >>> noise.laplace(np.array([3, 5]), 0.02).tolist()
    [3.0, 5.0]
    """

    def __init__(self, rng: np.random.Generator | None, *, geometric: bool = False) -> None:
        self._state = None if rng is None else np.random.RandomState(rng.bit_generator)
        self._geometric = geometric
        self.bit_generator = None if rng is None else rng.bit_generator
        self.facts = NoiseFacts("diffprivlib", Exactness.FLOATING, seeded=rng is not None)

    def laplace(self, counts: Integers, scale: float) -> FloatArray:
        check_scale(scale)
        if self._geometric:
            mechanism = mechanisms.Geometric(epsilon=1 / scale, random_state=self._state)
        else:
            mechanism = mechanisms.Laplace(epsilon=1.0, sensitivity=scale, random_state=self._state)
        return self._each(mechanism, counts)

    def gaussian(self, counts: Integers, scale: float) -> FloatArray:
        check_scale(scale)
        mechanism = mechanisms.GaussianAnalytic(
            epsilon=1.0, delta=0.5, sensitivity=1.0, random_state=self._state
        )
        mechanism._scale = scale  # which was calibrated before
        return self._each(mechanism, counts)

    def choose(self, scores: Integers, scale: float) -> int:
        """The thesis chooses nothing by noise."""
        raise NotImplementedError("the thesis' noise has no exponential mechanism")

    @staticmethod
    def _each(mechanism: Any, counts: NDArray[Any]) -> FloatArray:
        noisy = [mechanism.randomise(int(count)) for count in np.ravel(counts)]
        return np.array(noisy, dtype=float).reshape(np.shape(counts))
