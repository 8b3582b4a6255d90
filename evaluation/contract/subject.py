"""The generator under test: how it is made, fitted and drawn from."""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn.base import clone

from copula_shirley.evaluation.contract.report import Broken, NotApplicable
from copula_shirley.evaluation.contract.tables import Case, town
from copula_shirley.generator import Generator, load
from copula_shirley.measure.watched import recorded, replayed
from copula_shirley.privacy.recording import Recording
from copula_shirley.schema.schema import Schema

HINT = (
    "ask about the rows through copula_shirley.Generator.curator_class, which charges a "
    "copula_shirley.Ledger in ledger_"
)
#: Rows that are drawn to be compared.
DRAWN = 40


def takes(function: Any, name: str) -> bool:
    """Whether a function has a parameter of this name."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
    return name in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


class Subject:
    """A generator and the tables with which it is tried; fits that checks share are kept.

    Parameters
    ----------
    generator : class, instance or callable
        A class is called with the settings; an instance is cloned and given them; anything else
        is called without arguments and its result is given them.
    settings : dict
    case : Case, optional
        The user's own table; by default the built-in ones.
    """

    def __init__(
        self, generator: Any, settings: dict[str, Any] | None = None, case: Case | None = None
    ) -> None:
        self._generator = generator
        self._settings = settings or {}
        self.case = case or town()
        self._own_case = case is not None
        self._fits: dict[Any, Any] = {}
        self._tapes: dict[Any, tuple[Any, Recording]] = {}
        #: Texts of all warnings that fits raised.
        self.warned: list[str] = []

    @property
    def name(self) -> str:
        """What the generator is called in a report."""
        made = self._generator
        if isinstance(made, type) or inspect.isroutine(made):
            return str(getattr(made, "__qualname__", made))
        return type(made).__qualname__

    @property
    def people(self) -> Case:
        """Rows of people with several rows each."""
        if self._own_case:
            if self.case.schema.person is not None:
                return self.case
            raise NotApplicable("the table given has no person column")
        if not self.takes_schema:
            raise NotApplicable("fit takes no schema, so nobody can say whose a row is")
        return town(people=True)

    def cases(self) -> Iterator[tuple[str, Case]]:
        """The table, and where it names no person one that does; each with a label."""
        yield "", self.case
        if self.case.schema.person is None:
            with suppress(NotApplicable):
                yield " (people with several rows)", self.people

    # -- making and fitting --------------------------------------------------------------

    def make(self, **overrides: Any) -> Any:
        """A generator that is not fitted."""
        wanted = {**self._settings, **overrides}
        if isinstance(self._generator, type):
            return self._generator(**wanted)
        if hasattr(self._generator, "fit"):
            fresh = hasattr(self._generator, "get_params")
            model = clone(self._generator) if fresh else copy.deepcopy(self._generator)
        else:
            model = self._generator()
        if wanted and hasattr(model, "set_params"):
            return model.set_params(**wanted)
        for name, value in wanted.items():
            setattr(model, name, value)
        return model

    def has_setting(self, name: str) -> bool:
        """Whether the generator has a setting of this name."""
        model = self.make()
        if hasattr(model, "get_params"):
            return name in model.get_params()
        return hasattr(model, name) or (
            isinstance(self._generator, type) and takes(self._generator, name)
        )

    @property
    def takes_schema(self) -> bool:
        """Whether ``fit`` is told the public domain."""
        return takes(self.make().fit, "schema")

    def need_schema(self) -> None:
        """Leave a check that is about the declared domain."""
        if not self.takes_schema:
            raise NotApplicable("fit takes no schema, so no domain is declared")

    def need_seed(self) -> None:
        """Leave a check that needs repeatable fits."""
        if not self.has_setting("random_state"):
            raise NotApplicable("the generator has no setting random_state")

    def fit(self, model: Any, table: pd.DataFrame, schema: Schema, **options: Any) -> Any:
        """Fit, with warnings kept aside."""
        arguments = (table, schema) if takes(model.fit, "schema") else (table,)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                return model.fit(*arguments, **options)
            finally:
                self.warned += [str(w.message) for w in caught]

    def fitted(self, seed: int | None = 0, case: Case | None = None, again: Any = 0) -> Any:
        """A fitted generator, the same whenever it is asked for with the same seed and name."""
        case = case or self.case
        key = (seed, again)
        if key not in self._fits:
            model = self.make(**self._seed(seed))
            self._fits[key] = self.fit(model, case.table, case.schema) or model
        return self._fits[key]

    def taped(self, seed: int | None, case: Case, what: str) -> tuple[Any, Recording]:
        """A generator that was fitted while a tape was running, and the tape."""
        key = (seed, what)
        if key not in self._tapes:
            model = self.make(**self._seed(seed))
            with recorded(model) as record:
                self._tapes[key] = self.fit(model, case.table, case.schema) or model, record
        return self._tapes[key]

    def replayed(self, seed: int | None, case: Case, record: Recording) -> tuple[Any, Recording]:
        """A generator that was fitted to other rows and told the answers of a tape."""
        model = self.make(**self._seed(seed))
        with replayed(model, record) as again:
            return self.fit(model, case.table, case.schema) or model, again

    def _seed(self, seed: int | None) -> dict[str, Any]:
        return {"random_state": seed} if self.has_setting("random_state") else {}

    # -- what is fitted --------------------------------------------------------------------

    def sample(self, model: Any, n: int | None = DRAWN, seed: int | None = None) -> pd.DataFrame:
        """Draw rows; with a seed where ``sample`` takes one."""
        options = {} if seed is None else {"random_state": seed}
        drawn = model.sample(n, **options) if n is not None else model.sample(**options)
        if not isinstance(drawn, pd.DataFrame):
            raise Broken(f"sample gave a {type(drawn).__name__}, not a DataFrame")
        return drawn

    def need_seeded_samples(self) -> None:
        """Leave a check that needs repeatable samples."""
        if not takes(self.make().sample, "random_state"):
            raise NotApplicable("sample takes no random_state")

    def ledger(self, model: Any) -> Any:
        """The ledger of a fit."""
        ledger = getattr(model, "ledger_", None)
        if ledger is None or not hasattr(ledger, "to_dict"):
            raise NotApplicable(f"no ledger, so nothing is promised that could be checked; {HINT}")
        return ledger

    def save(self, model: Any, path: Path) -> bytes:
        """What a saved model holds."""
        if not hasattr(model, "save"):
            raise NotApplicable("the generator has no method save")
        model.save(path)
        return path.read_bytes()

    def load(self, model: Any, path: Path) -> Any:
        """A model read back."""
        own: Callable[[Path], Any] | None = getattr(type(model), "load", None)
        if own is not None:
            return own(path)
        if isinstance(model, Generator):
            return load(path, type(model))
        raise NotApplicable("the generator has no class method load")


def excuse(ledger: Any, found: str) -> None:
    """Tell a leak that the ledger confesses from one that it hides.

    A use of rows that is recorded as unprotected may leak; then nothing may be proved. Which use
    it was cannot be told, so one that is recorded excuses all: beside it others stay unseen.
    """
    if not ledger.unprotected:
        raise Broken(f"{found}; no unprotected use in the ledger covers it")
    if ledger.proved is not None:
        raise Broken(f"{found}; the ledger records unprotected uses but calls something proved")
    uses = ", ".join(sorted({use.stage for use in ledger.unprotected}))
    raise NotApplicable(f"{found}; the ledger says so (unprotected: {uses}) and proves nothing")
