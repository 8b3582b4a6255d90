"""The privacy card: what was promised for a fitted model, and what that means for a person.

A card is made from a fitted model alone and never from rows: from its ledger, its schema, its
settings and the versions of what made it. So it tells nothing that the model does not tell. It is
plain JSON, stands in the model file, and is shown as a page (``copula_shirley.publish.card_page``).
``copula_shirley.publish.verify`` checks it against the model.
"""

from __future__ import annotations

import hashlib
import json
import math
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, cast

from copula_shirley.errors import ArtefactError
from copula_shirley.privacy.ledger import Ledger, Unprotected
from copula_shirley.privacy.meaning import FALSE_POSITIVES, most_true_positives

if TYPE_CHECKING:
    from copula_shirley.generator import Generator
    from copula_shirley.schema.schema import Schema

FORMAT = 2
PACKAGES = ("copula-shirley", "numpy", "opendp", "pyvinecopulib")
#: What is said of each kind of randomness.
RANDOMNESS = {
    "secure": "exact discrete noise from the operating system's randomness, fit for release",
    "seeded": "seeded, for experiments and not for release: who knows the seed can take the "
    "noise away",
    "float": "noise of a general-purpose generator, mostly floating-point, for comparisons and "
    "not for release: its low bits can betray what is below it",
    "none": "no noise was drawn",
}
#: Rows for each category of a nominal column below which its card warns.
ROWS_PER_CATEGORY = 10
#: Bounds are rounded up to so many decimals.
DECIMALS = 6


def card_of(model: Generator) -> dict[str, Any]:
    """The card of a fitted model, as plain JSON values.

    Parameters
    ----------
    model : Generator
        Fitted, or loaded from a file.
    """
    model._check_fitted()
    ledger, schema = model.ledger_, model.schema_
    facts = {
        "format": FORMAT,
        "generator": model.name,
        "ledger": ledger.to_dict(),
        "columns": [
            {
                "name": c.name,
                "kind": c.kind,
                "domain": c.provenance,
                "cells": c.size,
                "source": c.source,
                "as_drafted": c.provenance == "declared" and c.draft is not None,
            }
            for c in schema
        ],
        "person": None
        if schema.person is None
        else {
            "max_rows": schema.max_rows,
            "domain": schema.person_provenance,
            "source": schema.person_source,
            "as_drafted": schema.person_provenance == "declared"
            and schema.person_draft is not None,
        },
        "left_out": [vars(left) for left in schema.left_out],
        "domain_warnings": domain_warnings(schema, model.n_rows_),
        "randomness": randomness_of(ledger),
        "meaning": meaning(ledger),
        "versions": dict(getattr(model, "_made_with", None) or versions()),
        "settings_sha256": sha256_of(model.settings_),
        "schema_sha256": sha256_of(schema.to_dict()),
    }
    card = {**facts, "words": words(ledger, model.name)}
    return cast(dict[str, Any], json.loads(canonical(card)))  # as a file will give it back


def domain_warnings(schema: Schema, rows: int) -> list[str]:
    """Columns with too many categories to be public knowledge, or too few to be of use.

    ``rows`` is the number that the model keeps: noisy, or public.
    """
    long = [
        f"Column {c.name!r} has {len(c.categories):,} categories, more than a tenth of the number "
        "of rows: a list that long may hold values of single rows."
        for c in schema
        if c.nominal and c.provenance != "private" and ROWS_PER_CATEGORY * len(c.categories) > rows
    ]
    return long + [
        f"Column {c.name!r} is {c.categories[0]!r} in every row: no category rose above the noise. "
        "Declare its categories, or spend a larger epsilon."
        for c in schema
        if c.provenance == "private" and len(c.categories) == 1
    ]


def versions() -> dict[str, str]:
    """Versions of what a fit depends on."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def canonical(value: Any) -> bytes:
    """JSON with sorted names and without spaces: equal values give equal bytes."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.encode("ascii")


def sha256_of(value: Any) -> str:
    """The digest of a value's canonical JSON.

    Examples
    --------
    >>> sha256_of({"b": (1, 2), "a": 0.5}) == sha256_of({"a": 0.5, "b": [1, 2]})
    True
    """
    return hashlib.sha256(canonical(value)).hexdigest()


def randomness_of(ledger: Ledger) -> str:
    """The kind of randomness of a fit, a key of ``RANDOMNESS``."""
    if not ledger.spends:
        return "none"
    if ledger.seeded or "seeded:" in ledger.randomness:
        return "seeded"
    return "secure" if ledger.randomness.startswith("OpenDP ") else "float"


def for_release(ledger: Ledger) -> bool:
    """Whether something is proved and the noise holds what the proof needs."""
    return ledger.proved is not None and randomness_of(ledger) in ("secure", "none")


def meaning(ledger: Ledger) -> list[dict[str, float]] | None:
    """The most true positives of any attacker at some false-positive rates; None if no bound."""
    proved = ledger.proved
    if proved is None:
        return None
    failing = ledger.failure_probability
    bounds = []
    for rate in FALSE_POSITIVES:
        most = most_true_positives(
            rate, proved.epsilon, proved.delta, rho=proved.rho, failing=failing
        )
        up = min(1.0, math.ceil(round(most * 10**DECIMALS, 3)) / 10**DECIMALS)
        bounds.append({"false_positives": rate, "most_true_positives": up})
    return bounds


# -- in words ----------------------------------------------------------------------


def words(ledger: Ledger, name: str) -> dict[str, Any]:
    """What a reader should know before anything else."""
    return {
        "verdict": _verdict(ledger),
        "headline": _headline(ledger),
        "warnings": _warnings(ledger, name),
        "person": _person(ledger),
    }


def _verdict(ledger: Ledger) -> str:
    if ledger.proved is None:
        return "nothing proved"
    return "proved" if for_release(ledger) else "proved, but not for release"


def unit_in_words(ledger: Ledger) -> str:
    """Whose data is protected, such as "person with up to 3 rows"."""
    if ledger.unit == "row" and ledger.rows_per_unit == 1:
        return "row"
    return f"{ledger.unit} with up to {ledger.rows_per_unit} rows"


def _headline(ledger: Ledger) -> str:
    if ledger.proved is None:
        if any(use.why.startswith("noise is off") for use in ledger.unprotected):
            return "Nothing is proved: the noise is switched off."
        return "Nothing is proved."
    if not ledger.spends:
        return "Nothing was learnt from the rows: epsilon 0."
    return f"Proved: {ledger.proved}, for every {unit_in_words(ledger)}."


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
    reasons: dict[str, list[Unprotected]] = {}
    for use in ledger.unprotected:
        reasons.setdefault(use.why, []).append(use)
    for why, uses in reasons.items():
        where = ", ".join(dict.fromkeys(use.stage for use in uses))
        if len(uses) == 1:
            where += f", {uses[0].what}"
        found.append(f"Not protected ({where}): {why}.")
    if claimed is not None and spent.epsilon > claimed.epsilon * (1 + 1e-6):
        found.append(
            f"The claim is {claimed}, but the noisy answers alone cost {spent}: they are about the "
            "same rows, so their costs add up."
        )
    kind = randomness_of(ledger)
    if kind in ("seeded", "float"):
        found.append(f"Randomness: {RANDOMNESS[kind]}.")
    return found


def _person(ledger: Ledger) -> str:
    """What an attacker can do, in one paragraph."""
    if ledger.proved is None:
        return (
            "No bound can be given on what somebody can find out about a person from this release. "
            "Treat it as you would treat the rows themselves."
        )
    if ledger.neighbours == "replace-one":
        what = "a row is the true one or was replaced by another"
        if ledger.unit != "row":
            what = f"the rows of a {ledger.unit} are the true ones or were replaced by others"
    else:
        what = "a row was in the data"
        if ledger.unit != "row":
            what = f"the rows of a {ledger.unit} were in the data"
    line = (meaning(ledger) or [])[1]
    caught, guessed = 100 * line["most_true_positives"], 100 * line["false_positives"]
    if caught <= guessed:
        found = "they can do no better than guess"
    else:
        found = (
            f"if they say yes in {guessed:g} of 100 cases in which it is not so, they say yes in "
            f"at most {percent(caught)} of 100 cases in which it is. A blind guess gets "
            f"{guessed:g}"
        )
    return (
        f"Suppose that somebody knows this method, all settings and everything about all others, "
        f"and wants to tell from this release whether {what}. Whatever they compute, {found}."
    )


def percent(value: float) -> str:
    """A percentage, rounded up to one decimal."""
    return f"{math.ceil(round(value * 10, 6)) / 10:g}"


# -- of a model, and against one ------------------------------------------------------


def differences(card: Any, rebuilt: dict[str, Any]) -> list[str]:
    """What a card says otherwise than the model does.

    Versions are those of the fit, which nothing else records, and another version may have found
    other words: of these it is only asked that they can be read.
    """
    if not isinstance(card, dict):
        return ["the card is not readable"]
    if card.get("format") != FORMAT:
        return [f"the card has format {card.get('format')!r}, this version knows {FORMAT}"]
    found = [f"the card has no entry {key!r}" for key in rebuilt if key not in card]
    found += [f"the card has an unknown entry {key!r}" for key in card if key not in rebuilt]
    for key, value in rebuilt.items():
        if key not in card:
            continue
        if key in ("words", "versions"):
            same = _readable(card[key], value if key == "words" else None)
        elif key == "ledger":
            same = isinstance(card[key], dict) and ledgers_agree(card[key], value)
        elif key == "meaning":
            same = _close(card[key], value)
        else:
            same = card[key] == value
        if not same:
            found.append(f"the card's entry {key!r} is not that of the model")
    return found


def _readable(entry: Any, like: dict[str, Any] | None) -> bool:
    """Whether an entry holds texts, or lists of them, under the same names as another."""
    if not isinstance(entry, dict) or (like is not None and entry.keys() != like.keys()):
        return False
    return all(
        isinstance(value, list) == isinstance((like or {}).get(name), list)
        and all(isinstance(text, str) for text in (value if isinstance(value, list) else [value]))
        for name, value in entry.items()
    )


def ledgers_agree(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two ledgers say the same; totals up to the rounding of another machine."""
    totals = ("spent", "proved")
    rest_one, rest_other = ({k: v for k, v in d.items() if k not in totals} for d in (one, other))
    return rest_one == rest_other and all(_close(one.get(t), other.get(t)) for t in totals)


def _close(one: Any, other: Any) -> bool:
    """Equal, but for the last digits of numbers."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_close(one[k], other[k]) for k in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_close, one, other))
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in (one, other))
    if numbers:
        return math.isclose(one, other, rel_tol=1e-6, abs_tol=0.0)
    return type(one) is type(other) and bool(one == other)


def checked_card(model: Generator) -> dict[str, Any]:
    """The card of a model; one that came with its file must say what the model says."""
    card = model.card()
    wrong = differences(card, card_of(model))
    if wrong:
        raise ArtefactError(f"the model's card does not belong to it: {wrong[0]}; see verify")
    return card
