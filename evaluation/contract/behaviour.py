"""Rules about what a generator does: tables in, tables out, seeds, refusals."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from copula_shirley.errors import SchemaError
from copula_shirley.evaluation.audit.runs import prepared
from copula_shirley.evaluation.contract.report import Broken, NotApplicable
from copula_shirley.evaluation.contract.subject import Attempt, Subject, excuse, takes
from copula_shirley.evaluation.contract.tables import neighbours
from copula_shirley.privacy.recording import Recording
from copula_shirley.schema.schema import Schema

#: Values that no budget can be.
BAD_EPSILONS = (0, -1.0, float("nan"), float("inf"), "much", True)


def fit_changes_nothing(subject: Subject) -> None:
    """Fit returns the generator; table and settings are as they were."""
    model, table = subject.make(), subject.case.table
    before = repr(model.get_params()) if hasattr(model, "get_params") else None
    if subject.fit(model, table, subject.case.schema) is not model:
        raise Broken("fit does not return the generator itself")
    if not table.equals(subject.case.table) or table.attrs:
        raise Broken("fit changes the table that it is given")
    if before is not None and repr(model.get_params()) != before:
        raise Broken("fit changes settings of the generator")
    if before is not None and repr(clone(model).get_params()) != before:
        raise Broken("a clone has other settings")


def schema_kept(subject: Subject) -> None:
    """Samples have the columns, order, kinds and domain of the schema; made-up people, or none."""
    schema = subject.case.schema
    wanted = schema.synthetic_names(subject.case.table.columns)
    drawn = subject.sample(subject.fitted())
    if [str(name) for name in drawn.columns] != wanted:
        raise Broken(f"columns are {list(drawn.columns)}, they should be {wanted}")
    if drawn.index.tolist() != list(range(len(drawn))):
        raise Broken("rows are not numbered from 0")
    if not subject.takes_schema:
        raise NotApplicable("fit takes no schema; the columns and their order are right")
    for seed in (0, 1):
        try:
            rows = subject.sample(subject.fitted(seed), 200)
            if schema.per_person:
                schema.validate(rows)
            else:
                Schema(schema.columns).validate(rows)
        except SchemaError as error:
            raise Broken(f"a sample is off the schema: {error}") from None
    for column in schema:
        dtype = drawn[column.name].dtype
        if not isinstance(dtype, pd.CategoricalDtype) and not column.domain.stores(dtype):
            raise Broken(f"{column.kind} column {column.name!r} is {dtype}")


def number_of_rows(subject: Subject) -> None:
    """As many rows are drawn as were asked for, 0 among them; -1 is refused."""
    model = subject.fitted()
    some, none = subject.sample(model, 7), subject.sample(model, 0)
    if (len(some), len(none)) != (7, 0):
        raise Broken(f"asked for 7 and 0 rows, got {len(some)} and {len(none)}")
    if not none.dtypes.equals(some.dtypes):
        raise Broken("a sample of 0 rows has other columns or dtypes")
    try:
        model.sample(-1)
    except ValueError:
        return
    raise Broken("n = -1 is not refused with a ValueError")


def dtypes_declared(subject: Subject) -> None:
    """Dtypes of samples follow from the declaration; no single row sets one."""
    subject.need("schema")
    model = subject.fitted()
    ledger, here = subject.ledger(model), subject.sample(model, 5).dtypes
    for what, case in neighbours(subject.case, "add-remove").items():
        there = subject.sample(subject.fitted(0, case, again=what), 5).dtypes
        for name in here.index:
            if here[name] != there[name]:
                excuse(ledger, f"column {name!r} is {here[name]}, but {there[name]} when {what}")


def same_seed(subject: Subject) -> None:
    """The same seed gives the same rows."""
    subject.need("seed")
    here, there = (subject.sample(subject.fitted(3, again=i)) for i in (0, 1))
    if not here.equals(there):
        raise Broken("two fits with random_state=3 draw different rows")
    subject.need("seeded samples")
    here, there = (subject.sample(subject.fitted(3), seed=5) for _ in range(2))
    if not here.equals(there):
        raise Broken("two samples with random_state=5 differ")


def fresh_randomness(subject: Subject) -> None:
    """Other seeds, or none, give other rows and other noise: no seed is fixed inside."""
    pairs: list[tuple[str, int | None, int | None]] = [("without a seed", None, None)]
    if subject.has_setting("random_state"):
        pairs.append(("with seeds 0 and 1", 0, 1))
    for what, first, second in pairs:
        one, here = subject.recorded(first)
        other, there = subject.recorded(second, what="fresh other")
        if subject.sample(one).equals(subject.sample(other)):
            raise Broken(f"two fits {what} draw the same rows")
        if _streams(here) & _streams(there):
            raise Broken(f"two fits {what} draw noise from the same stream")
        if np.any(_noise(here)) and np.array_equal(_noise(here), _noise(there)):
            raise Broken(f"two fits {what} draw the same noise")


def _noise(record: Recording) -> Any:
    noises = [
        # what people report adds up to tallies of reports, not of their cells
        np.ravel(request.answer - (0 if request.kind == "reports" else request.true))
        for request in record.requests
        if isinstance(request.true, np.ndarray) and isinstance(request.answer, np.ndarray)
    ]
    return np.concatenate([np.zeros(0), *noises])


def sampling_apart(subject: Subject) -> None:
    """Rows drawn with the seed of the fit do not repeat the noise of the fit."""
    subject.need("seed", "seeded samples")
    model, record = subject.recorded()
    noisy = _streams(record)
    if not noisy:
        raise NotApplicable("no seeded noise was drawn through a source of this project")
    if not hasattr(model, "_draw"):
        raise NotApplicable("the stream of sampling cannot be seen: there is no method _draw")
    used: set[Any] = set()
    inner = model._draw

    def watched(n: int, rng: np.random.Generator, *rest: Any) -> Any:
        used.add(_stream(rng.bit_generator))
        return inner(n, rng, *rest)

    model._draw = watched
    try:
        for seed in (0, None):
            subject.sample(model, 3, seed=seed)
    finally:
        del model._draw
    if used & noisy:
        raise Broken("sampling draws from the stream of the noise: it shows the noise of the fit")


def _streams(record: Recording) -> set[Any]:
    """Of the noise of a fit; exact noise has none."""
    sources = [request.source for request in record.requests]
    several = [getattr(s, "bit_generators", None) or (s.bit_generator,) for s in sources]
    return {_stream(own) for some in several for own in some} - {None}


def _stream(bit_generator: Any) -> Any:
    """What sets a PCG64 stream apart from others, wherever it stands."""
    state = getattr(bit_generator, "state", {}).get("state", {})
    return state.get("inc") if isinstance(state, dict) else None


def no_global_randomness(subject: Subject) -> None:
    """The global states of numpy and random are neither used nor changed."""
    drawn = []
    for global_seed in (1, 2):
        with prepared(global_seed):
            before = _global_state()
            drawn.append(subject.sample(subject.fitted(4, again=global_seed), 10))
            if _global_state() != before:
                raise Broken("fit or sample changes the global random state")
    if subject.has_setting("random_state") and not drawn[0].equals(drawn[1]):
        raise Broken("rows depend on the global random state")


def _global_state() -> str:
    return repr((np.random.get_state(), random.getstate()))  # noqa: NPY002


def refusals(subject: Subject) -> None:
    """Bad tables and settings are refused by one clear error, before anything is spent."""
    for bad, attempt in subject.bad_attempts():
        if subject.takes_schema or bad.what == "no rows":
            _check_refused(attempt, bad.what, bad.column or "")
    for epsilon in BAD_EPSILONS if subject.has_setting("epsilon") else ():
        try:
            model = subject.make(epsilon=epsilon)
        except ValueError:
            continue
        _check_refused(subject.attempt(model), f"epsilon {epsilon!r}", "epsilon")


def _check_refused(attempt: Attempt, what: str, named: str) -> None:
    if attempt.error is None:
        raise Broken(f"{what} is not refused")
    if not isinstance(attempt.error, ValueError):
        raise Broken(f"{what}: {type(attempt.error).__name__} and not a ValueError")
    if attempt.record.charges or attempt.record.requests:
        raise Broken(f"{what} is refused after budget was spent")
    if not str(attempt.error):
        raise Broken(f"{what} is refused without a word")
    if named not in str(attempt.error):
        raise Broken(f"{what}: the error does not name {named!r}")


def refused_fit_keeps_model(subject: Subject) -> None:
    """A fit that is refused leaves the model that was there."""
    model = subject.make()
    subject.fit_case(model)
    seed = 1 if takes(model.sample, "random_state") else None
    before = subject.sample(model, seed=seed)
    if subject.attempt(model, subject.case.table.iloc[:0]).error is None:
        raise NotApplicable("a table without rows is not refused; see refusals")
    try:
        after = subject.sample(model, seed=seed)
    except Exception as error:
        told = f"after a refused fit the old model is gone ({type(error).__name__})"
        raise Broken(told) from None
    if seed is not None and not before.equals(after):
        raise Broken("after a refused fit the old model draws other rows")


def progress_told(subject: Subject) -> None:
    """Progress is told from 0 to 1 and never runs back."""
    model, told = subject.make(), list[tuple[str, float]]()
    if not takes(model.fit, "progress"):
        raise NotApplicable("fit takes no progress")
    case = subject.case
    subject.fit(model, case.table, case.schema, progress=lambda *step: told.append(step))
    shares = [float(share) for _, share in told]
    if not shares or shares != sorted(shares) or shares[0] < 0 or shares[-1] != 1.0:
        raise Broken(f"shares of the work were told as {shares}")
