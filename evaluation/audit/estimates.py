"""Lower bounds on what a release shows, from events that were counted once; and the verdict."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from copula_shirley.evaluation.audit.bounds import (
    CONFIDENCE,
    ends,
    epsilon_between,
    mean_lower,
    mu_between,
    rho_between,
)
from copula_shirley.evaluation.audit.claim import LARGEST_MU, MU_SLACK, Claim, Limit
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


@dataclass(frozen=True)
class Estimate:
    """What one event, counted once, says about one quantity on one box of one pair.

    Of canaries, the event is that a guess is right.

    Attributes
    ----------
    bound : float
        Lower bound at 95 % over all pairs and boxes.
    strict_bound : float
        At the confidence that a refutation needs.
    limit : float or None
        What the claim allows.
    hits : tuple
        Of ``runs`` test runs on each table, the frequent side first; of canaries the right and the
        wrong guesses in ``runs`` runs.
    guesses : int or None
        Canaries that are guessed in one run.
    rho_bound, strict_rho_bound, rho_limit : float or None
        The same for rho, from the same counts; for quantity mu only.
    """

    pair: str
    box: str
    quantity: str
    delta: float
    event: str
    hits: tuple[int, int]
    runs: int
    bound: float
    strict_bound: float
    limit: float | None
    ceiling: float
    refuted: bool
    rho_bound: float | None = None
    strict_rho_bound: float | None = None
    rho_limit: float | None = None
    guesses: int | None = None

    @property
    def counted(self) -> str:
        """The hits, in words."""
        if self.guesses is not None:
            return f"{self.hits[0]:,} right and {self.hits[1]:,} wrong in {self.runs} runs"
        return f"{self.hits[0]} against {self.hits[1]} of {self.runs} runs"


@dataclass(frozen=True)
class Count:
    """How often an event happened, and the ends of its chances on both tables.

    The ends are at 95 %, at the confidence of a refutation, and at 95 % if the event always
    happened on one table and never on the other.
    """

    pair: str
    box: str
    event: str
    hits: tuple[int, int]
    runs: int
    chances: tuple[tuple[float, float], tuple[float, float], tuple[float, float]]

    def estimate(self, limit: Limit, claim: Claim) -> Estimate:
        """The bound on one quantity."""
        made = Estimate(
            self.pair,
            self.box,
            limit.quantity,
            limit.delta,
            self.event,
            self.hits,
            self.runs,
            *(0.0, 0.0, limit.most, 0.0, False),
        )
        if limit.quantity == "epsilon":
            bounds = [float(epsilon_between(p, q, limit.delta)) for p, q in self.chances]
            refuted = limit.most is not None and bounds[1] > limit.most
        else:
            bounds = [float(mu_between(p, q)) for p, q in self.chances]
            rhos = [float(rho_between(p, q)) for p, q in self.chances]
            # both follow from the same two ends, so they may go wrong together only
            refuted = claim.rho is not None and rhos[1] > claim.rho
            if claim.gaussian and limit.most is not None and limit.most <= LARGEST_MU:
                refuted = refuted or bounds[1] > MU_SLACK * limit.most
            made = replace(made, rho_bound=rhos[0], strict_rho_bound=rhos[1], rho_limit=claim.rho)
        low, strict, most = bounds
        return replace(made, bound=low, strict_bound=strict, ceiling=most, refuted=refuted)


def estimates_of_pair(
    first: Sequence[Observation],
    second: Sequence[Observation],
    claim: Claim,
    pair: str = "",
    box: str = "",
    tests: int = 1,
) -> list[Estimate]:
    """Learn an event on runs with an even number, count it on the others, and bound.

    Parameters
    ----------
    first, second : sequence of Observation
        Of the runs on either table, as many of one as of the other.
    claim : Claim
    tests : int
        Pairs times boxes of the whole audit, which share what may go wrong.
    """
    encoding = Encoding([*first[::2], *second[::2]])
    learning = [encoding.matrix(side[::2]) for side in (first, second)]
    testing = [encoding.matrix(side[1::2]) for side in (first, second)]
    limits, count = claim.limits(), len(testing[0])
    low, high = ends(count, (1 - CONFIDENCE) / tests)
    strict = ends(count, BOUNDS_ALARM / (tests * len(limits)))
    found = []
    for limit in limits:
        event = learn_event(learning[0], learning[1], encoding.names, limit)
        about = "nothing varies" if event is None else event.about
        a, b = (0, 0) if event is None else event.hits(testing[0], testing[1])
        chances = (
            (float(low[a]), float(high[b])),
            (float(strict[0][a]), float(strict[1][b])),
            (float(low[count]), float(high[0])),
        )
        found.append(Count(pair, box, about, (a, b), count, chances).estimate(limit, claim))
    return found


def estimates_of_guesses(
    right: Sequence[float], guesses: int, claim: Claim, pair: str = "", tests: int = 1
) -> list[Estimate]:
    """Bound by the right guesses about canaries in each run, of so many ``guesses``.

    All quantities follow from one lower end of the chance to be right, so they may go wrong
    together only and need not share what may go wrong.
    """
    shares = [number / guesses for number in right]
    alpha = (1 - CONFIDENCE) / tests
    chances = [mean_lower(shares, a) for a in (alpha, BOUNDS_ALARM / tests)]
    chances.append(mean_lower([1.0] * len(shares), alpha))
    total = sum(int(number) for number in right)
    hits = total, len(shares) * guesses - total
    about = f"guesses which of {guesses} canaries are in"
    one, two, three = ((chance, 1 - chance) for chance in chances)
    counted = Count(pair, "white", about, hits, len(shares), (one, two, three))
    return [replace(counted.estimate(limit, claim), guesses=guesses) for limit in claim.limits()]


@dataclass(frozen=True)
class Power:
    """What the same procedure sees of a mechanism whose privacy is known.

    Attributes
    ----------
    quantity : {"mu", "epsilon"}
        mu where the claim is in rho: its control is Gaussian, so its mu is known, and no audit sees
        the events of chance delta that its epsilon is about. mu goes by 1 / noise, as epsilon does
        for pure claims. Else epsilon.
    claimed, seen : float
        What is true of the control, and the lower bound on it, at 95 %. Discrete Gaussian noise of
        a sigma below 1 shows a little more than its mu (``evaluation.audit.claim.MU_SLACK``).
    ceiling : float
        What could have been seen.
    noticed, missed : tuple of int
        By how much the control's noise was divided where its claim then was refuted, and where not.
    needed : int or None
        Runs a side with which there should be power, where there is none.
    """

    quantity: str
    claimed: float
    seen: float
    ceiling: float
    noticed: tuple[int, ...]
    missed: tuple[int, ...]
    needed: int | None = None

    @property
    def enough(self) -> bool:
        """Half of the claim is seen, more than the claim could be, and some weaker noise is."""
        return bool(
            self.seen >= HALF * self.claimed and self.ceiling > self.claimed and self.noticed
        )

    def __str__(self) -> str:
        share = self.seen / self.claimed
        text = f"of the control's {self.quantity} {self.claimed:.3g} it saw {self.seen:.3g} "
        text += f"({share:.0%}); with the same claim, "
        named = [", ".join(f"noise / {k}" for k in kind) for kind in (self.noticed, self.missed)]
        text += f"{named[0] or 'no weaker noise'} in all answers that were asked here "
        text += "would have been noticed"
        return text + (f", {named[1]} not" if named[1] and named[0] else "")


def judge(
    estimates: Sequence[Estimate],
    control: Sequence[Estimate],
    power: Power,
    faults: Sequence[str] = (),
) -> tuple[str, str]:
    """The verdict, and why; ``faults`` are what is wrong in the ledgers."""
    against = [e for e in estimates if e.refuted]
    if any(e.refuted for e in control):
        return INCONCLUSIVE, "the control of known epsilon was refuted too: trust nothing here"
    if against:
        return REFUTED, _refutation(
            max(against, key=lambda e: e.strict_bound / (e.limit or math.inf))
        )
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


def _refutation(worst: Estimate) -> str:
    at = f" at delta {worst.delta:g}" if worst.quantity == "epsilon" and worst.delta else ""
    quantity, bound, limit = worst.quantity, worst.strict_bound, worst.limit
    rho, most = worst.strict_rho_bound, worst.rho_limit
    if rho is not None and most is not None and rho > most:  # says it of any noise
        quantity, bound, limit = "rho", rho, most
    return (
        f"{quantity} is at least {bound:.3g}{at} where the claim allows {limit:.3g} "
        f"(pair {worst.pair}, {worst.box} box: {worst.event}, {worst.counted})"
    )
