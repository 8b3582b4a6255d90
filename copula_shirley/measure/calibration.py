"""How much noise a share of the budget allows: public arithmetic, no rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

import scipy

from copula_shirley.errors import SettingError
from copula_shirley.measure.queries import Best, Discovery, Query
from copula_shirley.privacy.gdp import DISCRETE_GAUSSIAN, discrete_scale
from copula_shirley.privacy.ledger import ALL_ROWS, Budget, Ledger, Reason, Sensitivity
from copula_shirley.privacy.zcdp import rho_of

#: Chance that noise alone is taken for rows anywhere in a stage.
FALSE_DETECTION = 1e-3


@dataclass(frozen=True)
class Price:
    """What a query costs, in the currency of its ledger (epsilon, or rho)."""

    mechanism: str
    cost: float
    delta: float = 0.0


class Calibration:
    """How much noise a share of the budget allows, for this sensitivity of one histogram.

    Without a budget there is no noise; with a delta costs are in rho, else in epsilon. It is for
    ledgers of this currency and unit alone. ``failure_probability`` is the part of delta that is
    set aside for discoveries. With ``gdp`` a cost of rho buys the noise that is sqrt(2 rho)-GDP.
    """

    def __init__(
        self,
        budget: Budget | None,
        unit: Sensitivity,
        failure_probability: float = 0.0,
        *,
        gdp: bool = False,
    ) -> None:
        self.budget = budget
        self.unit = unit
        self.failure_probability = failure_probability
        self.gdp = gdp
        self.total = 0.0 if budget is None else budget.epsilon
        if budget is not None and self.zcdp:
            self.total = rho_of(budget.epsilon, budget.delta - failure_probability, gdp=gdp)

    @classmethod
    def of(cls, ledger: Ledger, failure_probability: float = 0.0) -> Self:
        """The noise that the budget of a ledger allows."""
        return cls(ledger.budget, ledger.sensitivity(), failure_probability, gdp=ledger.gdp)

    @property
    def zcdp(self) -> bool:
        """Whether costs are in rho."""
        return self.budget is not None and self.budget.delta > 0

    @property
    def gaussian(self) -> bool:
        """Whether noise has the shape of a bell."""
        return self.zcdp

    def check_ledger(self, ledger: Ledger) -> None:
        """Refuse a ledger in which these costs would mean something else."""
        if self.budget is None:
            return
        if (self.zcdp, self.gdp) != (ledger.zcdp, ledger.gdp):
            names = {(False, False): "epsilon", (True, False): "rho", (True, True): "rho of GDP"}
            mine, its = (names[one.zcdp, one.gdp] for one in (self, ledger))
            raise SettingError(f"calibration: its costs are in {mine}, its ledger counts {its}")
        if self.unit != ledger.sensitivity():
            raise SettingError(
                f"calibration: noise for a unit that changes counts by {self.unit.l1:g} does not "
                f"protect the ledger's {ledger.unit}, which changes them by "
                f"{ledger.sensitivity().l1:g} ({ledger.neighbours})"
            )

    def price(self, query: Query) -> Price:
        mechanism = DISCRETE_GAUSSIAN if self.gaussian else "discrete laplace"
        if isinstance(query, Best):
            mechanism = "exponential"
        failing = self.failure_probability if isinstance(query, Discovery) else 0.0
        return Price(mechanism, query.share * self.total, failing)

    def charge(self, ledger: Ledger, query: Query, part: str = ALL_ROWS) -> None:
        """Charge a query to a ledger, or record it as unprotected where there is no noise."""
        if self.budget is None:
            ledger.record_unprotected(query.stage, query.in_words, Reason.NOISE_OFF, part)
            return
        price = self.price(query)
        charge = ledger.charge_rho if self.zcdp else ledger.charge
        charge(query.stage, query.in_words, price.mechanism, price.cost, price.delta, part)

    def scale(self, share: float, count: int) -> float:
        """Parameter of the noise when ``count`` tables cost ``share`` together."""
        return self.scale_of(share, self.unit, count)

    def scale_of(self, share: float, reach: Sensitivity, count: int = 1) -> float:
        """Parameter of the noise on ``count`` answers if one unit changes each by ``reach``."""
        if self.budget is None:
            return 0.0
        cost = share * self.total
        if self.gdp:  # the mu of a count that changes by 1
            return discrete_scale(math.sqrt(2 * cost / count) / reach.l2)
        return reach.l2 * math.sqrt(count / (2 * cost)) if self.zcdp else reach.l1 * count / cost

    def sigma(self, share: float, count: int) -> float:
        return self.deviation(self.scale(share, count))

    def deviation(self, scale: float) -> float:
        """Standard deviation of discrete noise of a scale."""
        if self.gaussian or scale == 0:
            return scale
        # discrete Laplace: 2 q / (1 - q)^2 with q = exp(-1/scale)
        return math.sqrt(2 * math.exp(-1 / scale)) / -math.expm1(-1 / scale)

    def largest(self, many: int) -> float:
        """How many standard deviations the largest of ``many`` noises may well be."""
        rarity = math.log(max(many, 2))
        bell = self.gaussian or self.budget is None
        return math.sqrt(2 * rarity) if bell else rarity / math.sqrt(2)

    def detection_threshold(self, share: float, count: int, many: int) -> float:
        """Count that ``many`` empty cells pass with a chance of at most ``FALSE_DETECTION``.

        ``count`` tables share ``share``. Tails are at most exp(-t^2 / (2 sigma^2)) for discrete
        Gaussian noise, which is subgaussian (Canonne, Kamath and Steinke 2020), and exp(-t / scale)
        for discrete Laplace noise.
        """
        rarity = math.log(many / FALSE_DETECTION)
        return self.scale(share, count) * (math.sqrt(2 * rarity) if self.gaussian else rarity)

    def threshold(self, share: float, count: int, rows: int) -> int:
        """Noisy count from which a category is released, a unit having up to ``rows`` rows.

        P(discrete Gaussian >= t) <= P(Gaussian >= t - 1) for whole t (Canonne, Kamath, Steinke
        2020, proposition 25). A unit has up to ``rows`` categories of its own in each column; two
        units count, for replacement.
        """
        if self.budget is None:
            return 1
        chance = self.failure_probability / (2 * count * rows)
        return rows + 1 + math.ceil(self.scale(share, count) * -float(scipy.special.ndtri(chance)))

    def choice_scale(self, share: float, reach: float) -> float:
        """Parameter of an exponential mechanism: chances go by exp(score / scale).

        One unit changes each score by ``reach`` at the most.
        """
        cost = share * self.total
        return 2 * reach / (math.sqrt(8 * cost) if self.zcdp else cost)
