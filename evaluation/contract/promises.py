"""Rules about the ledger: what is promised, what was spent, where the noise came from."""

from __future__ import annotations

import json
import math
from typing import Any

from copula_shirley.errors import BudgetError
from copula_shirley.evaluation.contract.cost import excess
from copula_shirley.evaluation.contract.neighbouring import pairs
from copula_shirley.evaluation.contract.report import Broken, NotApplicable
from copula_shirley.evaluation.contract.subject import HINT, Subject
from copula_shirley.privacy.ledger import ALL_ROWS, ROUNDING
from copula_shirley.privacy.recording import Charge, Question, Request
from copula_shirley.privacy.zcdp import epsilon_of


def ledger_adds_up(subject: Subject) -> None:
    """The ledger is there, its total is that of its entries and within the budget."""
    entry = json.loads(json.dumps(subject.ledger(subject.fitted()).to_dict()))
    budget, claimed, spent = entry["budget"], entry["claimed"], entry["spent"]
    for part, value in recomputed(entry).items():
        if not math.isclose(spent[part], value, rel_tol=1e-9, abs_tol=1e-15):
            raise Broken(f"the entries add up to {part} {value:g}, the ledger says {spent[part]:g}")
    if budget is None and entry["spends"]:
        raise Broken("something was spent without a budget")
    for part in ("epsilon", "delta") if budget else ():
        if spent[part] > budget[part] * (1 + ROUNDING):
            raise Broken(f"{part} {spent[part]:g} was spent of a budget of {budget[part]:g}")
        if claimed and claimed[part] > budget[part] * (1 + ROUNDING):
            raise Broken(f"{part} {claimed[part]:g} is claimed, the budget is {budget[part]:g}")
    if entry["unprotected"] and entry["proved"] is not None:
        raise Broken("there are unprotected uses of rows, but something is called proved")
    if not entry["unprotected"] and entry["proved"] != spent:
        raise Broken("nothing was used unprotected, but what is proved is not what was spent")
    told = claimed["epsilon"] if claimed else None
    if subject.has_setting("epsilon") and getattr(subject.make(), "epsilon", None) != told:
        raise Broken(f"the claim of the ledger, epsilon {told}, is not the setting epsilon")


def recomputed(entry: dict[str, Any]) -> dict[str, float]:
    """Epsilon and delta of a ledger from its entries, by nothing but the rules of composition."""

    def cost(rows: str, part: str) -> float:
        here = math.fsum(s[part] for s in entry["spends"] if s["rows"] == rows)
        for split in (p for p in entry["partitions"] if p["whole"] == rows):
            parts = sorted((cost(name, part) for name in split["parts"]), reverse=True)
            touched = entry["rows_per_unit"] * (1 + (entry["neighbours"] == "replace-one"))
            here += math.fsum(parts[: touched if split["by_value"] else 1])
        return here

    total = {part: cost(ALL_ROWS, part) for part in ("epsilon", "delta", "rho")}
    if entry.get("zcdp") and entry["spends"]:
        left = entry["budget"]["delta"] - total["delta"]
        total["epsilon"] = math.inf
        if left > 0:
            total["epsilon"] = epsilon_of(total["rho"], left, gdp=entry.get("gdp", False))
        total["delta"] = max(entry["budget"]["delta"], total["delta"])
    return total


def person_counted(subject: Subject) -> None:
    """Where people have several rows, the ledger protects a person and not a row."""
    subject.ledger(subject.fitted())
    case = subject.people
    model = subject.fitted(0, case, again="people")
    ledger = subject.ledger(model)
    drawn = subject.sample(model, 200)
    if str(case.schema.person) in drawn.columns:
        if case.schema.person not in case.schema.replaced:
            raise Broken("samples have the person column")
        names = {name for name in case.table[case.schema.person] if isinstance(name, str)}
        if names & set(drawn[case.schema.person]):
            raise Broken("samples have names of people of the table")
    if not ledger.spends and not ledger.unprotected:
        raise NotApplicable("no row was used")
    if (ledger.unit, ledger.rows_per_unit) == ("person", case.schema.max_rows):
        return
    if ledger.unprotected and ledger.proved is None:
        raise NotApplicable("a row is protected and not a person; nothing is proved")
    raise Broken(
        f"the schema says up to {case.schema.max_rows} rows a person, the ledger protects a "
        f"{ledger.unit} with {ledger.rows_per_unit}"
    )


def charged_first(subject: Subject) -> None:
    """Noise is drawn only after it was charged; a refused charge ends the fit."""
    subject.spending()
    record = subject.drawing()
    kinds = [type(event) for event in record.events if not isinstance(event, Question)]
    charges, draws = len(record.charges), len(record.requests)
    if kinds[0] is not Charge:
        raise Broken("noise is drawn before anything is charged")
    if draws < charges:
        raise Broken(
            f"{charges} spends are in the ledger, but noise was asked for only {draws} times"
        )
    for number in sorted({0, charges // 2, charges - 1}):
        before = record.events[: record.events.index(record.charges[number])]
        _refuse(subject, number, sum(isinstance(event, Request) for event in before))


def _refuse(subject: Subject, number: int, drawn: int) -> None:
    """A spend is refused; before it so many draws were made."""
    model, told = subject.seeded(0), f"spend {number + 1} was refused"
    attempt = subject.attempt(model, refused=number)
    if attempt.error is None:
        raise Broken(f"{told} and the fit went on")
    if not isinstance(attempt.error, BudgetError):
        raise attempt.error
    if len(attempt.record.requests) != drawn:
        raise Broken(f"{told}, but its noise was drawn before")
    try:
        model.sample(1)
    except Exception:  # whatever it says, there is no model
        return
    raise Broken(f"{told}, but rows can be drawn")


def seed_stamped(subject: Subject) -> None:
    """Noise that a seed repeats is called so, in the ledger and in the file."""
    subject.spending()
    seeds: list[int | None] = [None, *([0] if subject.has_setting("random_state") else [])]
    for seed in seeds:
        said = subject.fitted(seed).ledger_.seeded
        drawn = subject.recorded(seed)[1].requests
        repeatable = seed is not None or any(r.source.facts.seeded for r in drawn)
        when = "without a seed" if seed is None else "with a seed"
        if repeatable and not said:
            raise Broken(f"{when} the noise is repeatable, and the ledger does not call it seeded")
        if not repeatable and said:
            raise Broken(f"{when} the ledger calls the noise seeded")
    model = subject.fitted()
    if len(seeds) > 1 and subject.saves(model):
        again = subject.loaded(model, subject.saved(model))
        if not again.ledger_.seeded:
            raise Broken("the saved file does not say that its noise is seeded")


def noise_exact(subject: Subject) -> None:
    """Noise of a release is exact; other noise is called so in the ledger."""
    ledger = subject.spending(None)
    drawn = {request.source.facts for request in subject.recorded(None)[1].requests}
    if not ledger.noise:
        raise Broken("the ledger does not say where its noise comes from")
    for facts in drawn - {ledger.noise}:
        raise Broken(f"noise comes from {str(facts)!r}, the ledger says {ledger.randomness!r}")
    if not ledger.noise.for_release:
        raise NotApplicable(f"the ledger says that its noise is not exact: {ledger.randomness}")
    if not drawn:
        raise Broken(f"no source of this project drew noise, and the ledger calls it exact; {HINT}")


def cost_charged(subject: Subject) -> None:
    """No neighbour costs more than what was charged: the scale of the noise is right."""
    subject.spending()
    near = [pair for pair in pairs(subject) if not pair.far and not pair.again.departure]
    for pair in near:
        too_much = excess(pair.record, pair.again, pair.one.ledger_)
        if too_much:
            raise Broken(f"when {pair.what}: {too_much}")
    if not near:
        raise NotApplicable("no pair of neighbours asks for the same noise; see replay")
