"""One event, counted once: what the counts say, and the verdict over all of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from evaluation.bounds import CONFIDENCE, ceiling, epsilon_lower, mu_lower, rho_lower
from evaluation.claims import LARGEST_MU, MU_SLACK, Claim, Test
from evaluation.events import Encoding, learn_event
from evaluation.evidence import Evidence

REFUTED = "claim refuted"
CONSISTENT = "consistent (up to what this audit can see)"
INCONCLUSIVE = "inconclusive"
#: The chance with which an audit refutes a true claim is below this.
FALSE_ALARM = 1e-3


@dataclass(frozen=True)
class Finding:
    """One event, counted once: what it says about one quantity on one box of one pair.

    Attributes
    ----------
    bound : float
        At 95 % over all pairs and boxes.
    strict_bound : float
        At the confidence that a refutation needs.
    limit : float or None
        What the claim allows.
    hits : tuple
        Of ``runs`` test runs on each table, the frequent side first.
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


def examine(
    first: Sequence[Evidence],
    second: Sequence[Evidence],
    claim: Claim,
    pair: str = "",
    box: str = "",
    looks: int = 1,
) -> list[Finding]:
    """Learn on runs with an even number, count on the others, and bound.

    Parameters
    ----------
    first, second : sequence of Evidence
        Of the runs on either table, as many of one as of the other.
    claim : Claim
    looks : int
        Pairs times boxes of the whole audit, which share what may go wrong.
    """
    encoding = Encoding([*first[::2], *second[::2]])
    learning = [encoding.matrix(side[::2]) for side in (first, second)]
    testing = [encoding.matrix(side[1::2]) for side in (first, second)]
    tests = claim.tests()
    alpha = Confidence((1 - CONFIDENCE) / looks, FALSE_ALARM / (looks * len(tests)))
    findings = []
    for test in tests:
        event = learn_event(learning[0], learning[1], encoding.names, test.measurand)
        about = "nothing varies" if event is None else event.about
        hits = (0, 0) if event is None else event.hits(testing[0], testing[1])
        count = len(testing[0])
        findings.append(_finding((pair, box), test, claim, about, hits, count, alpha))
    return findings


@dataclass(frozen=True)
class Confidence:
    """What a bound may be wrong with: the reported one, and the one that refutes."""

    reported: float
    strict: float


def _finding(
    where: tuple[str, str],
    test: Test,
    claim: Claim,
    event: str,
    hits: tuple[int, int],
    runs: int,
    alpha: Confidence,
) -> Finding:
    both = (alpha.reported, alpha.strict)
    rhos: list[float] | None = None
    if test.quantity == "epsilon":
        bounds = [float(epsilon_lower(*hits, runs, test.delta, a)) for a in both]
        most = ceiling(runs, test.delta, alpha.reported)
        refuted = test.limit is not None and bounds[1] > test.limit
    else:
        bounds = [float(mu_lower(*hits, runs, a)) for a in both]
        rhos = [float(rho_lower(*hits, runs, a)) for a in both]
        most = float(mu_lower(runs, 0, runs, alpha.reported))
        # both follow from the same two ends, so they may go wrong together only
        refuted = claim.rho is not None and rhos[1] > claim.rho
        if claim.gaussian and test.limit is not None and test.limit <= LARGEST_MU:
            refuted = refuted or bounds[1] > MU_SLACK * test.limit
    return Finding(
        *where,
        quantity=test.quantity,
        delta=test.delta,
        event=event,
        hits=hits,
        runs=runs,
        bound=bounds[0],
        strict_bound=bounds[1],
        limit=test.limit,
        ceiling=most,
        refuted=refuted,
        rho_bound=rhos[0] if rhos else None,
        strict_rho_bound=rhos[1] if rhos else None,
        rho_limit=claim.rho if rhos else None,
    )


def judge(claim: Claim, findings: Sequence[Finding], control: Sequence[Finding]) -> tuple[str, str]:
    """The verdict, and why."""
    against = [f for f in findings if f.refuted]
    if any(f.refuted for f in control):
        return INCONCLUSIVE, "the control of known epsilon was refuted too: trust nothing here"
    if against:
        worst = max(against, key=lambda f: f.strict_bound / (f.limit or math.inf))
        at = f" at delta {worst.delta:g}" if worst.quantity == "epsilon" and worst.delta else ""
        return REFUTED, (
            f"{worst.quantity} is at least {worst.strict_bound:.3g}{at} where the claim allows "
            f"{worst.limit:.3g} (pair {worst.pair}, {worst.box} box: {worst.event}, in "
            f"{worst.hits[0]} against {worst.hits[1]} of {worst.runs} runs)"
        )
    main = next(f for f in findings if f.quantity == "epsilon")
    above = [f for f in findings if f.limit is not None and f.quantity == "epsilon"]
    above = [f for f in above if f.bound > f.limit]  # type: ignore[operator]
    if above:
        return INCONCLUSIVE, (
            f"epsilon is above the claim with confidence {CONFIDENCE:.0%} (pair {above[0].pair}, "
            f"{above[0].box} box), which more runs would settle: a refutation needs "
            f"{1 - FALSE_ALARM:.1%} over all pairs and boxes"
        )
    if main.ceiling < claim.epsilon:
        return INCONCLUSIVE, (
            f"{main.runs} test runs show at most epsilon {main.ceiling:.3g}, below the claim of "
            f"{claim.epsilon:.3g}; more runs are needed"
        )
    return CONSISTENT, (
        "no event was more telling than the claim allows; of the control's epsilon "
        f"{claim.epsilon:.3g} it saw {control[0].bound:.3g}"
    )
