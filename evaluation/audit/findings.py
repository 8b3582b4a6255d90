"""One event, counted once: what the counts say, and the verdict over all of them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from copula_shirley.evaluation.audit.answers import LEDGER_ALARM
from copula_shirley.evaluation.audit.bounds import (
    CONFIDENCE,
    ends,
    epsilon_between,
    mean_lower,
    mu_between,
    rho_between,
)
from copula_shirley.evaluation.audit.claims import LARGEST_MU, MU_SLACK, Claim, Test
from copula_shirley.evaluation.audit.events import Encoding, learn_event
from copula_shirley.evaluation.audit.evidence import Evidence

REFUTED = "claim refuted"
FALSE_LEDGER = "ledger refuted"
CONSISTENT = "consistent (up to what this audit can see)"
INCONCLUSIVE = "inconclusive"
NO_POWER = "inconclusive: no power"
#: The controls release numbers; none draws rows.
UNKNOWN_POWER = "drawn rows: no power is known, since there is no control for them"
#: Of the claim, which an audit with power sees of its control.
HALF = 0.5
#: The chance with which an audit refutes a true claim, or a ledger that is right, is below this.
FALSE_ALARM = 1e-3
#: Of that, what bounds have; the rest is for the noise of answers (``evaluation.audit.answers``).
BOUNDS_ALARM = FALSE_ALARM - LEDGER_ALARM


@dataclass(frozen=True)
class Finding:
    """One event, counted once: what it says about one quantity on one box of one pair.

    Of canaries, the event is that a guess is right.

    Attributes
    ----------
    bound : float
        At 95 % over all pairs and boxes.
    strict_bound : float
        At the confidence that a refutation needs.
    limit : float or None
        What the claim allows.
    hits : tuple
        Of ``runs`` test runs on each table, the frequent side first; of canaries the right and the
        wrong guesses in ``runs`` runs.
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
    #: Of one run, where canaries were guessed.
    guesses: int | None = None

    @property
    def counted(self) -> str:
        """The hits, in words."""
        if self.guesses is not None:
            return f"{self.hits[0]:,} right and {self.hits[1]:,} wrong in {self.runs} runs"
        return f"{self.hits[0]} against {self.hits[1]} of {self.runs} runs"


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
    tests, count = claim.tests(), len(testing[0])
    findings = []
    for test in tests:
        event = learn_event(learning[0], learning[1], encoding.names, test.measurand)
        about = "nothing varies" if event is None else event.about
        hits = (0, 0) if event is None else event.hits(testing[0], testing[1])
        low, high = ends(count, (1 - CONFIDENCE) / looks)
        strict = ends(count, BOUNDS_ALARM / (looks * len(tests)))
        shown = Shown(
            reported=(float(low[hits[0]]), float(high[hits[1]])),
            strict=(float(strict[0][hits[0]]), float(strict[1][hits[1]])),
            most=(float(low[count]), float(high[0])),
        )
        findings.append(_finding((pair, box), test, claim, about, hits, count, shown))
    return findings


def examine_guesses(
    right: Sequence[float], guesses: int, claim: Claim, pair: str = "", looks: int = 1
) -> list[Finding]:
    """Bound by the right guesses about canaries in each run, of so many ``guesses``.

    All quantities follow from one lower end of the chance to be right, so they may go wrong
    together only and need not share what may go wrong.
    """
    shares = [number / guesses for number in right]
    alphas = ((1 - CONFIDENCE) / looks, BOUNDS_ALARM / looks)
    chances = [mean_lower(shares, alpha) for alpha in alphas]
    chances.append(mean_lower([1.0] * len(shares), alphas[0]))
    shown = Shown(*((chance, 1 - chance) for chance in chances))
    total = sum(int(number) for number in right)
    hits = total, len(shares) * guesses - total
    about = f"guesses which of {guesses} canaries are in"
    found = [
        _finding((pair, "white"), test, claim, about, hits, len(shares), shown)
        for test in claim.tests()
    ]
    return [replace(finding, guesses=guesses) for finding in found]


@dataclass(frozen=True)
class Shown:
    """Ends of the chances of an event on both tables: reported, strict, and at best."""

    reported: tuple[float, float]
    strict: tuple[float, float]
    most: tuple[float, float]


def _finding(
    where: tuple[str, str],
    test: Test,
    claim: Claim,
    event: str,
    hits: tuple[int, int],
    runs: int,
    shown: Shown,
) -> Finding:
    each = (shown.reported, shown.strict, shown.most)
    rhos: list[float] | None = None
    if test.quantity == "epsilon":
        bounds = [float(epsilon_between(p, q, test.delta)) for p, q in each]
        refuted = test.limit is not None and bounds[1] > test.limit
    else:
        bounds = [float(mu_between(p, q)) for p, q in each]
        rhos = [float(rho_between(p, q)) for p, q in each]
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
        ceiling=bounds[2],
        refuted=refuted,
        rho_bound=rhos[0] if rhos else None,
        strict_rho_bound=rhos[1] if rhos else None,
        rho_limit=claim.rho if rhos else None,
    )


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
        a sigma below 1 shows a little more than its mu (``evaluation.audit.claims.MU_SLACK``).
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
    findings: Sequence[Finding],
    control: Sequence[Finding],
    power: Power,
    faults: Sequence[str] = (),
) -> tuple[str, str]:
    """The verdict, and why; ``faults`` are what is wrong in the ledgers."""
    against = [f for f in findings if f.refuted]
    if any(f.refuted for f in control):
        return INCONCLUSIVE, "the control of known epsilon was refuted too: trust nothing here"
    if against:
        return REFUTED, _refutation(max(against, key=_excess))
    if faults:
        return FALSE_LEDGER, faults[0]
    above = [f for f in findings if f.limit is not None and f.quantity == "epsilon"]
    above = [f for f in above if f.bound > f.limit]  # type: ignore[operator]
    if above:
        return INCONCLUSIVE, (
            f"epsilon is above the claim with confidence {CONFIDENCE:.0%} (pair {above[0].pair}, "
            f"{above[0].box} box), which more runs would settle: a refutation needs "
            f"{1 - FALSE_ALARM:.1%} over all pairs and boxes"
        )
    if not power.enough:
        if power.needed is None:
            todo = "more runs are no way out; audit the same generator at a larger epsilon or delta"
        else:
            todo = f"more runs are needed, about {power.needed:,} a side (--runs {power.needed})"
        return NO_POWER, f"{power}; that is too blunt to test this claim: {todo}"
    boxes = {f.box for f in findings}
    if boxes == {"black"}:
        return NO_POWER, f"{UNKNOWN_POWER}, and nothing else was looked at"
    text = f"no event was more telling than the claim allows; released numbers: {power}"
    return CONSISTENT, f"{text}; {UNKNOWN_POWER}" if "black" in boxes else text


def _excess(finding: Finding) -> float:
    return finding.strict_bound / (finding.limit or math.inf)


def _refutation(worst: Finding) -> str:
    at = f" at delta {worst.delta:g}" if worst.quantity == "epsilon" and worst.delta else ""
    quantity, bound, limit = worst.quantity, worst.strict_bound, worst.limit
    rho, most = worst.strict_rho_bound, worst.rho_limit
    if rho is not None and most is not None and rho > most:  # says it of any noise
        quantity, bound, limit = "rho", rho, most
    return (
        f"{quantity} is at least {bound:.3g}{at} where the claim allows {limit:.3g} "
        f"(pair {worst.pair}, {worst.box} box: {worst.event}, {worst.counted})"
    )
