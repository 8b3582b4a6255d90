"""Lower bounds on what a release shows, from events that were counted once; and the verdict."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from copula_shirley.evaluation.audit.bounds import CONFIDENCE, ends, mean_lower
from copula_shirley.evaluation.audit.claim import Claim, Limit
from copula_shirley.evaluation.audit.distinguisher import Encoding, learn_event
from copula_shirley.evaluation.audit.noise_check import LEDGER_ALARM
from copula_shirley.evaluation.audit.observation import Observation

REFUTED = "claim refuted"
FALSE_LEDGER = "ledger refuted"
CONSISTENT = "consistent (up to what this audit can see)"
INCONCLUSIVE = "inconclusive"
NO_POWER = "inconclusive: no power"
#: The controls release numbers; none draws rows.
UNKNOWN_POWER = "drawn rows: no power is known, since there is no control for them"
#: Share of the claim that an audit with power sees of its control.
HALF = 0.5
#: The chance with which an audit refutes a true claim, or a ledger that is right, is below this.
FALSE_ALARM = 1e-3
#: The part of it that bounds have; the noise check has the rest.
BOUNDS_ALARM = FALSE_ALARM - LEDGER_ALARM
#: Ends of the chances of an event on both tables.
Chances = tuple[float, float]


@dataclass(frozen=True)
class Estimate:
    """What one event, counted once, says about one quantity on one box of one pair."""

    pair: str
    box: str
    quantity: str
    delta: float
    event: str
    #: Of ``runs`` test runs on each table, the frequent side first; of canaries the right and the
    #: wrong guesses in ``runs`` runs.
    hits: tuple[int, int]
    runs: int
    #: At 95 % over all pairs and boxes, and at the confidence of a refutation.
    bound: float
    strict_bound: float
    #: What the claim allows.
    limit: float | None
    #: The bound if the event always happened on one table and never on the other.
    ceiling: float
    refuted: bool
    #: Canaries that are guessed in one run.
    guesses: int | None = None

    @classmethod
    def of(cls, limit: Limit, chances: Sequence[Chances], **counted: Any) -> Estimate:
        """From the ends at 95 %, at the confidence of a refutation, and at the ceiling."""
        bound, strict, ceiling = (float(limit.bound(*ends)) for ends in chances)
        return cls(
            quantity=limit.quantity,
            delta=limit.delta,
            bound=bound,
            strict_bound=strict,
            limit=limit.most,
            ceiling=ceiling,
            refuted=limit.refuting is not None and strict > limit.refuting,
            **counted,
        )

    @property
    def counted(self) -> str:
        if self.guesses is not None:
            return f"{self.hits[0]:,} right and {self.hits[1]:,} wrong in {self.runs} runs"
        return f"{self.hits[0]} against {self.hits[1]} of {self.runs} runs"

    @property
    def refutation(self) -> str:
        at = f" at delta {self.delta:g}" if self.quantity == "epsilon" and self.delta else ""
        return (
            f"{self.quantity} is at least {self.strict_bound:.3g}{at} where the claim allows "
            f"{self.limit:.3g} (pair {self.pair}, {self.box} box: {self.event}, {self.counted})"
        )


def estimates_of_pair(
    first: Sequence[Observation],
    second: Sequence[Observation],
    claim: Claim,
    pair: str = "",
    box: str = "",
    tests: int = 1,
) -> list[Estimate]:
    """Learn an event on runs with an even number, count it on the others, and bound.

    There are as many runs on either table; ``tests`` pairs times boxes of the whole audit share
    what may go wrong.
    """
    encoding = Encoding([*first[::2], *second[::2]])
    learning = [encoding.matrix(side[::2]) for side in (first, second)]
    testing = [encoding.matrix(side[1::2]) for side in (first, second)]
    limits, runs = claim.limits(), len(testing[0])
    low, high = ends(runs, (1 - CONFIDENCE) / tests)
    strict = ends(runs, BOUNDS_ALARM / (tests * len(limits)))
    found = []
    for several in limits:
        event = learn_event(learning[0], learning[1], encoding.names, several[0])
        about = "nothing varies" if event is None else event.about
        a, b = (0, 0) if event is None else event.hits(testing[0], testing[1])
        all_ends = ((low[a], high[b]), (strict[0][a], strict[1][b]), (low[runs], high[0]))
        counted = {"pair": pair, "box": box, "event": about, "hits": (a, b), "runs": runs}
        # several quantities follow from the same two ends, so they may go wrong together only
        found += [Estimate.of(limit, all_ends, **counted) for limit in several]
    return found


def estimates_of_guesses(
    right: Sequence[float], guesses: int, claim: Claim, pair: str = "", tests: int = 1
) -> list[Estimate]:
    """Bound by the right guesses about canaries in each run, of so many ``guesses``.

    All quantities follow from one lower end of the chance to be right, so they may go wrong
    together only and need not share what may go wrong.
    """
    shares, alpha = [number / guesses for number in right], (1 - CONFIDENCE) / tests
    tried = ((shares, alpha), (shares, BOUNDS_ALARM / tests), ([1.0] * len(shares), alpha))
    chances = [(chance, 1 - chance) for chance in (mean_lower(*each) for each in tried)]
    total = sum(int(number) for number in right)
    counted = {
        "pair": pair,
        "box": "white",
        "event": f"guesses which of {guesses} canaries are in",
        "hits": (total, len(shares) * guesses - total),
        "runs": len(shares),
        "guesses": guesses,
    }
    return [Estimate.of(limit, chances, **counted) for limit in chain(*claim.limits())]


@dataclass(frozen=True)
class Power:
    """What the same procedure sees of a mechanism whose privacy is known, at 95 %.

    It is told in mu where the claim is in rho: its control is Gaussian, so its mu is known, and no
    audit sees the events of chance delta that its epsilon is about. mu goes by 1 / noise, as
    epsilon does for pure claims. Else it is told in epsilon.
    """

    quantity: str
    claimed: float
    seen: float
    ceiling: float
    #: By how much the control's noise was divided where its claim then was refuted, and where not.
    noticed: tuple[int, ...]
    missed: tuple[int, ...]
    #: Runs a side with which there should be power, where there is none.
    needed: int | None = None

    @property
    def enough(self) -> bool:
        """Half of the claim is seen, more than the claim could be, and some weaker noise is."""
        seen = self.seen >= HALF * self.claimed and self.ceiling > self.claimed
        return seen and bool(self.noticed)

    def __str__(self) -> str:
        named = [", ".join(f"noise / {k}" for k in kind) for kind in (self.noticed, self.missed)]
        text = (
            f"of the control's {self.quantity} {self.claimed:.3g} it saw {self.seen:.3g} "
            f"({self.seen / self.claimed:.0%}); with the same claim, "
            f"{named[0] or 'no weaker noise'} in all answers that were asked here would have been "
            "noticed"
        )
        return text + (f", {named[1]} not" if all(named) else "")


def judge(
    estimates: Sequence[Estimate],
    control: Sequence[Estimate],
    power: Power,
    faults: Sequence[str] = (),
) -> tuple[str, str]:
    """The verdict, and why; ``faults`` are what is wrong in the ledgers."""
    if any(e.refuted for e in control):
        return INCONCLUSIVE, "the control of known epsilon was refuted too: trust nothing here"
    against = [e for e in estimates if e.refuted]
    if against:
        worst = max(against, key=lambda e: e.strict_bound / (e.limit or math.inf))
        return REFUTED, worst.refutation
    if faults:
        return FALSE_LEDGER, faults[0]
    for e in estimates:
        if e.quantity == "epsilon" and e.limit is not None and e.bound > e.limit:
            return INCONCLUSIVE, (
                f"epsilon is above the claim with confidence {CONFIDENCE:.0%} (pair {e.pair}, "
                f"{e.box} box), which more runs would settle: a refutation needs "
                f"{1 - FALSE_ALARM:.1%} over all pairs and boxes"
            )
    if not power.enough:
        todo = "more runs are no way out; audit the same generator at a larger epsilon or delta"
        if power.needed is not None:
            todo = f"more runs are needed, about {power.needed:,} a side (--runs {power.needed})"
        return NO_POWER, f"{power}; that is too blunt to test this claim: {todo}"
    boxes = {e.box for e in estimates}
    if boxes == {"black"}:
        return NO_POWER, f"{UNKNOWN_POWER}, and nothing else was looked at"
    text = f"no event was more telling than the claim allows; released numbers: {power}"
    return CONSISTENT, f"{text}; {UNKNOWN_POWER}" if "black" in boxes else text
