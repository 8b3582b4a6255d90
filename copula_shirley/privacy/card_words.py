"""What a privacy card says in words, all of it from the ledger and the generator's name."""

from __future__ import annotations

import math

from msgspec import Struct

from copula_shirley.privacy.ledger import Ledger, Reason
from copula_shirley.privacy.meaning import FALSE_POSITIVES, most_true_positives

#: What is said of each kind of randomness.
RANDOMNESS = {
    "secure": "exact discrete noise from the operating system's randomness, fit for release",
    "seeded": "seeded, for experiments and not for release: who knows the seed can take the "
    "noise away",
    "float": "noise of a general-purpose generator, mostly floating-point, for comparisons and "
    "not for release: its low bits can betray what is below it",
    "none": "no noise was drawn",
}
NOT_FOR_RELEASE = ("seeded", "float")
#: Above this epsilon a promise is told with a caution: e^10 is 22,000.
WEAK = 10.0
#: Bounds are rounded up to so many decimals.
DECIMALS = 6


class Bound(Struct, frozen=True, forbid_unknown_fields=True):
    """The most true positives of any attacker at one rate of false positives."""

    false_positives: float
    most_true_positives: float


class Words(Struct, frozen=True, forbid_unknown_fields=True):
    """What a reader should know before anything else."""

    verdict: str
    headline: str
    warnings: list[str]
    person: str

    @property
    def caution(self) -> str:
        """What is proved and what to beware of, where there is no card to look at."""
        return " ".join([self.headline, *self.warnings])


def words_of(ledger: Ledger, name: str) -> Words:
    return Words(_verdict(ledger), _headline(ledger), _warnings(ledger, name), _person(ledger))


def randomness_of(ledger: Ledger) -> str:
    """The kind of randomness of a fit, a key of ``RANDOMNESS``."""
    if not ledger.spends:
        return "none"
    if ledger.seeded:
        return "seeded"
    return "secure" if ledger.noise is not None and ledger.noise.for_release else "float"


def meaning_of(ledger: Ledger) -> list[Bound] | None:
    """The most true positives of any attacker at some false-positive rates; None if no bound."""
    proved = ledger.proved
    if proved is None:
        return None
    bounds = []
    for rate in FALSE_POSITIVES:
        most = most_true_positives(
            rate,
            proved.epsilon,
            proved.delta,
            rho=proved.rho,
            failing=ledger.failure_probability,
            gdp=ledger.gdp,
        )
        up = min(1.0, math.ceil(round(most * 10**DECIMALS, 3)) / 10**DECIMALS)
        bounds.append(Bound(rate, up))
    return bounds


def unit_in_words(ledger: Ledger) -> str:
    """The protected unit, such as "person with up to 3 rows"."""
    if ledger.unit == "row" and ledger.rows_per_unit == 1:
        return "row"
    return f"{ledger.unit} with up to {ledger.rows_per_unit} rows"


def percent(value: float) -> str:
    """A percentage, rounded up to one decimal."""
    return f"{math.ceil(round(value * 10, 6)) / 10:g}"


def _verdict(ledger: Ledger) -> str:
    if ledger.proved is None:
        return "nothing proved"
    kind = randomness_of(ledger)
    if kind in NOT_FOR_RELEASE:
        return "proved, but not for release"
    return "proved, but weak" if is_weak(ledger.proved.epsilon) else "proved"


def is_weak(epsilon: float) -> bool:
    """Whether a promise of this epsilon, though it holds, says next to nothing."""
    return epsilon > WEAK * (1 + 1e-9)


def _headline(ledger: Ledger) -> str:
    if ledger.proved is None:
        off = any(use.reason is Reason.NOISE_OFF for use in ledger.unprotected)
        return f"Nothing is proved{': the noise is switched off' if off else ''}."
    if not ledger.spends:
        return "Nothing was learnt from the rows: epsilon 0."
    seeded = ", if nobody knows the seed: the noise was seeded" if ledger.seeded else ""
    return f"Proved: {ledger.proved}, for every {unit_in_words(ledger)}{seeded}."


def _warnings(ledger: Ledger, name: str) -> list[str]:
    found = []
    claimed, spent = ledger.claimed, ledger.spent
    if ledger.proved is None and claimed is not None:
        found.append(f"The claim of {claimed} does not hold for this release.")
    if name == "copula-shirley":
        found.append(
            "COPULA-SHIRLEY fits its vine to raw records. For this alone nothing is proved of it "
            "at any epsilon, whatever its authors claim."
        )
    for why in dict.fromkeys(use.why for use in ledger.unprotected):
        uses = [use for use in ledger.unprotected if use.why == why]
        where = ", ".join(dict.fromkeys(use.stage for use in uses))
        where += f", {uses[0].what}" if len(uses) == 1 else ""
        found.append(f"Not protected ({where}): {why}.")
    if claimed is not None and spent.epsilon > claimed.epsilon * (1 + 1e-6):
        found.append(
            f"The claim is {claimed}, but the noisy answers alone cost {spent}: they are about the "
            "same rows, so their costs add up."
        )
    bounds, proved = meaning_of(ledger), ledger.proved
    if proved is not None and bounds is not None and is_weak(proved.epsilon):
        first = bounds[0]
        found.append(
            f"Epsilon {proved.epsilon:g} is above {WEAK:g}: the promise holds and says next to "
            f"nothing. Whoever raises a false alarm about {100 * first.false_positives:g} of 100 "
            f"people may find up to {percent(100 * first.most_true_positives)} of 100."
        )
    kind = randomness_of(ledger)
    if kind in NOT_FOR_RELEASE:
        found.append(f"Randomness: {RANDOMNESS[kind]}.")
    return found


def _person(ledger: Ledger) -> str:
    """What an attacker can do, in one paragraph."""
    bounds = meaning_of(ledger)
    if bounds is None:
        return (
            "No bound can be given on what somebody can find out about a person from this release. "
            "Treat it as you would treat the rows themselves."
        )
    what = "a row is the true one or was replaced by another"
    if ledger.unit != "row":
        what = f"the rows of a {ledger.unit} are the true ones or were replaced by others"
    if ledger.neighbours == "add-remove":
        what = "a row was" if ledger.unit == "row" else f"the rows of a {ledger.unit} were"
        what += " in the data"
    caught, guessed = 100 * bounds[1].most_true_positives, 100 * bounds[1].false_positives
    found = (
        f"if they say yes in {guessed:g} of 100 cases in which it is not so, they say yes in at "
        f"most {percent(caught)} of 100 cases in which it is. A blind guess gets {guessed:g}"
    )
    if caught <= guessed:
        found = "they can do no better than guess"
    return (
        f"Suppose that somebody knows this method, all settings and everything about all others, "
        f"and wants to tell from this release whether {what}. Whatever they compute, {found}."
    )
