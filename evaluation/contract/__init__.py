"""The contract of a generator, as checks that anybody can run on their own.

>>> from copula_shirley.evaluation.contract import check_generator
>>> from copula_shirley.generator import find_generator
>>> report = check_generator(find_generator("uniform"), only=("schema", "rows"))
>>> report["rows"].status
'passed'

Every check ends as passed, failed (with a reason), not applicable (with a reason) or, where the
caller says so and why, as an expected failure; none is left out in silence. ``contract_tests``
makes a class of tests of them for pytest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

import pandas as pd

from copula_shirley.errors import SettingError
from copula_shirley.evaluation.contract import behaviour, neighbouring, promises, storage
from copula_shirley.evaluation.contract.report import (
    Broken,
    ContractError,
    NotApplicable,
    Outcome,
    Report,
    Status,
)
from copula_shirley.evaluation.contract.subject import Subject
from copula_shirley.evaluation.contract.tables import Case
from copula_shirley.schema.schema import Schema

__all__ = ["CHECKS", "ContractError", "Outcome", "Report", "check_generator", "contract_tests"]


#: Rules of good manners, and rules about privacy: each raises ``Broken`` or ``NotApplicable``, or
#: returns.
MANNERS: dict[str, Callable[[Subject], None]] = {
    "fit": behaviour.fit_changes_nothing,
    "schema": behaviour.schema_kept,
    "rows": behaviour.number_of_rows,
    "same seed": behaviour.same_seed,
    "fresh randomness": behaviour.fresh_randomness,
    "global randomness": behaviour.no_global_randomness,
    "refusals": behaviour.refusals,
    "old model kept": behaviour.refused_fit_keeps_model,
    "progress": behaviour.progress_told,
    "save and load": storage.save_and_load,
    "no pickle": storage.no_pickle,
    "messages": storage.messages_are_quiet,
}
PRIVACY: dict[str, Callable[[Subject], None]] = {
    "dtypes": behaviour.dtypes_declared,
    "sampling apart": behaviour.sampling_apart,
    "ledger": promises.ledger_adds_up,
    "person": promises.person_counted,
    "charged first": promises.charged_first,
    "seed stamped": promises.seed_stamped,
    "exact noise": promises.noise_exact,
    "replay": neighbouring.replay_alike,
    "reading": neighbouring.read_alike,
    "cost": promises.cost_charged,
    "no row in the file": storage.no_row_in_file,
    "no row in the model": storage.no_row_in_model,
}
CHECKS = {**MANNERS, **PRIVACY}


def meaning(name: str) -> str:
    """What a rule says, in a sentence."""
    return (CHECKS[name].__doc__ or "").splitlines()[0]


def check_generator(
    generator: Any,
    *,
    table: pd.DataFrame | None = None,
    schema: Schema | None = None,
    known: Mapping[str, str] | None = None,
    only: Iterable[str] | None = None,
    raise_: bool = True,
    **settings: Any,
) -> Report:
    """Try every rule of the contract on a generator.

    Parameters
    ----------
    generator : class, instance or callable
        With ``fit(table)`` or ``fit(table, schema)``, and ``sample(n)``; ``settings`` are its own.
    table, schema : DataFrame, Schema, optional
        A table of your own instead of the built-in ones; it should be public, as it is changed,
        fitted and searched for in files. Without a schema one is drafted.
    known : mapping, optional
        Checks that are expected to fail, with the reason. One that passes is then a failure.
    only : iterable of str, optional
        Names of the checks to run; all of ``CHECKS`` by default.
    raise_ : bool
        Raise ``ContractError`` if a rule is broken.
    """
    for name in [*(known or ()), *(only or ())]:
        if name not in CHECKS:
            raise SettingError(f"check ({name!r}) must be one of {', '.join(CHECKS)}")
    if not callable(generator) and not hasattr(generator, "fit"):
        raise SettingError(f"generator ({generator!r}) must be a class, a factory or a generator")
    subject = Subject(generator, settings, _case(table, schema))
    names = list(CHECKS) if only is None else list(only)
    report = Report(subject.name, tuple(_outcome(subject, name, known) for name in names))
    if raise_:
        report.raise_failures()
    return report


def _case(table: pd.DataFrame | None, schema: Schema | None) -> Case | None:
    if table is None:
        if schema is not None:
            raise ValueError("schema must come with a table that fits it")
        return None
    schema = schema or Schema.draft(table)
    table = schema.validate(schema.without_left_out(table))
    rows = [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]
    return Case(tuple(rows), schema)


def _outcome(subject: Subject, name: str, known: Mapping[str, str] | None) -> Outcome:
    why = (known or {}).get(name)
    status: Status = "passed"
    reason = ""
    try:
        CHECKS[name](subject)
    except NotApplicable as told:
        status, reason = "not applicable", str(told)
    except Exception as error:
        kind = "" if isinstance(error, Broken) else f"{type(error).__name__}: "
        status, reason = "failed", f"{kind}{error}"
    if why is not None and status == "failed":
        status, reason = "expected failure", f"{why} ({reason})"
    elif why is not None:
        status, reason = "failed", f"it was expected to fail ({why}) but is {status}"
    return Outcome(name, meaning(name), status, reason, name in PRIVACY)


def contract_tests(
    generator: Any,
    *,
    table: pd.DataFrame | None = None,
    schema: Schema | None = None,
    known: Mapping[str, str] | None = None,
    **settings: Any,
) -> type:
    """A class of tests for pytest, one for each check: ``TestMine = contract_tests(Mine)``.

    Checks that are not applicable are skipped with their reason; expected failures are xfailed.
    """
    subject = cache(lambda: Subject(generator, settings, _case(table, schema)))

    def test_of(name: str) -> Callable[[Any], None]:
        def test(_: Any) -> None:
            import pytest  # noqa: PLC0415  (only tests need it)

            outcome = _outcome(subject(), name, known)
            if outcome.status == "not applicable":
                pytest.skip(outcome.reason)
            if outcome.status == "expected failure":
                pytest.xfail(outcome.reason)
            if outcome.status == "failed":
                raise ContractError(f"{outcome.meaning} {outcome.reason}")

        test.__doc__ = meaning(name)
        return test

    members = {f"test_{name.replace(' ', '_')}": test_of(name) for name in CHECKS}
    return type("ContractTests", (), {**members, "__doc__": "The contract of a generator."})
