"""What every installed generator promises: the contract kit, tried on each of them."""

from __future__ import annotations

from typing import Any

import pytest

from copula_shirley.evaluation.contract import CHECKS, check_generator
from copula_shirley.generator import find_generator, generators

#: Settings that make a generator fit the kit's tables, and quickly.
SETTINGS: dict[str, dict[str, Any]] = {
    "copula-shirley": {"target": "rich", "families": ["indep", "gaussian"]},
    "privbayes": {"degree": 2},
}
#: Rules that a generator breaks on purpose.
KNOWN = {"real": {"save and load": "it holds the rows themselves and refuses to be saved"}}
FLOATS = {"exact noise": "floating point: not for release"}
NOTHING_SPENT = dict.fromkeys(
    ("charged first", "seed stamped", "exact noise", "cost"), "nothing was spent"
)
#: Rules that say nothing about a generator, and a part of the reason; all others must pass.
NOT_APPLICABLE: dict[str, dict[str, str]] = {
    "private-vine": {},
    "dp-histogram": {},
    "dp-copula": {},
    "privbayes": {},
    "copula-shirley": {
        **FLOATS,
        "dtypes": "unprotected: bins, encoder, output, vine",
        "person": "nothing is proved",
        "replay": "unprotected: bins, encoder, output, vine",
        "reading": "unprotected: bins, encoder, output, vine",
        "no row in the file": "unprotected: bins, encoder, output, vine",
    },
    "uniform": {
        **NOTHING_SPENT,
        "sampling apart": "no seeded noise",
        "person": "no row was used",
    },
    "real": {
        **NOTHING_SPENT,
        "sampling apart": "no seeded noise",
        "person": "nothing is proved",
        "no pickle": "refuses to be saved",
        "no row in the file": "refuses to be saved",
        "dtypes": "unprotected: rows",
        "replay": "unprotected: rows",
        "reading": "unprotected: rows",
        "no row in the model": "unprotected: rows",
    },
}


def test_every_installed_generator_is_tried() -> None:
    assert set(generators()) == set(NOT_APPLICABLE)


@pytest.mark.parametrize("name", sorted(generators()))
def test_installed_generators_keep_the_contract(name: str) -> None:
    report = check_generator(
        find_generator(name), known=KNOWN.get(name), raise_=False, **SETTINGS.get(name, {})
    )
    assert [outcome.name for outcome in report.outcomes] == list(CHECKS)
    assert not report.failures, report
    skipped = {o.name: o.reason for o in report.outcomes if o.status == "not applicable"}
    assert skipped.keys() == NOT_APPLICABLE[name].keys(), report
    for check, reason in NOT_APPLICABLE[name].items():
        assert reason in skipped[check], report[check]
    failing = {o.name for o in report.outcomes if o.status == "expected failure"}
    assert failing == set(KNOWN.get(name, {}))
