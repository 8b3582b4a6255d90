"""The generator under test: how it is made, fitted, drawn from and saved."""

from __future__ import annotations

import copy
import inspect
import tempfile
import warnings
from collections.abc import Callable, Hashable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

import pandas as pd
from sklearn.base import clone

from copula_shirley.evaluation.contract.report import Broken, NotApplicable
from copula_shirley.evaluation.contract.tables import Bad, Case, bad_tables, town
from copula_shirley.measure.recorded_fits import recorded, replayed
from copula_shirley.privacy.recording import Recording
from copula_shirley.schema.schema import Schema

T = TypeVar("T")
HINT = (
    "ask about the rows through copula_shirley.Generator.curator_class, which charges a "
    "copula_shirley.Ledger in ledger_"
)
#: Rows that are drawn to be compared.
DRAWN = 40


def takes(function: Any, name: str) -> bool:
    """Whether a function can be called with an argument of this name."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
    return name in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


@dataclass(frozen=True)
class Attempt:
    """A fit that may be refused."""

    error: Exception | None
    record: Recording
    #: All that a traceback would print, and the warnings.
    texts: list[str]


class Subject:
    """A generator and the tables with which it is tried; fits that checks share are made once.

    A class is called with the settings; an instance is cloned and given them; anything else is
    called without arguments and its result is given them. The case is by default the built-in one.
    """

    def __init__(self, generator: Any, settings: dict[str, Any], case: Case | None = None) -> None:
        self._generator = generator
        self._settings = settings
        self.case = case or town()
        self._own_case = case is not None
        self._made: dict[Hashable, Any] = {}
        #: Texts of all warnings that fits raised.
        self.warned: list[str] = []

    @property
    def name(self) -> str:
        made = self._generator
        return str(getattr(made, "__qualname__", type(made).__qualname__))

    @property
    def people(self) -> Case:
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

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        if key not in self._made:
            self._made[key] = make()
        found: T = self._made[key]
        return found

    def make(self, **overrides: Any) -> Any:
        wanted = {**self._settings, **overrides}
        if isinstance(self._generator, type):
            return self._generator(**wanted)
        if hasattr(self._generator, "fit"):
            copied = clone if hasattr(self._generator, "get_params") else copy.deepcopy
            model = copied(self._generator)
        else:
            model = self._generator()
        if wanted and hasattr(model, "set_params"):
            return model.set_params(**wanted)
        for name, value in wanted.items():
            setattr(model, name, value)
        return model

    def seeded(self, seed: int | None) -> Any:
        """A generator that is not fitted, with a seed where it takes one."""
        return self.make(**({"random_state": seed} if self.has_setting("random_state") else {}))

    def has_setting(self, name: str) -> bool:
        model = self.make()
        if hasattr(model, "get_params"):
            return name in model.get_params()
        own = isinstance(self._generator, type) and takes(self._generator, name)
        return own or hasattr(model, name)

    @property
    def takes_schema(self) -> bool:
        return takes(self.make().fit, "schema")

    def need(self, *parts: Literal["schema", "seed", "seeded samples"]) -> None:
        """Leave a check that needs a declared domain, repeatable fits or repeatable samples."""
        if "schema" in parts and not self.takes_schema:
            raise NotApplicable("fit takes no schema, so no domain is declared")
        if "seed" in parts and not self.has_setting("random_state"):
            raise NotApplicable("the generator has no setting random_state")
        if "seeded samples" in parts and not takes(self.make().sample, "random_state"):
            raise NotApplicable("sample takes no random_state")

    def fit(self, model: Any, table: pd.DataFrame, schema: Schema, **options: Any) -> Any:
        """Fit, with warnings kept aside."""
        arguments = (table, schema) if takes(model.fit, "schema") else (table,)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                return model.fit(*arguments, **options)
            finally:
                self.warned += [str(w.message) for w in caught]

    def fit_case(self, model: Any, case: Case | None = None) -> Any:
        case = case or self.case
        return self.fit(model, case.table, case.schema) or model

    def fitted(self, seed: int | None = 0, case: Case | None = None, again: Hashable = 0) -> Any:
        """A fitted generator, the same whenever it is asked for with the same seed and name."""
        return self.once((seed, again), lambda: self.fit_case(self.seeded(seed), case))

    def recorded(
        self, seed: int | None = 0, case: Case | None = None, what: str = "fresh one"
    ) -> tuple[Any, Recording]:
        """A fitted generator and the recording of its fit; made once for each seed and name."""

        def fit() -> tuple[Any, Recording]:
            model = self.seeded(seed)
            with recorded(model) as record:
                return self.fit_case(model, case), record

        return self.once((seed, "recorded", what), fit)

    def replayed(self, seed: int | None, case: Case, record: Recording) -> tuple[Any, Recording]:
        """A generator that was fitted to other rows and told the answers of a recording."""
        model = self.seeded(seed)
        with replayed(model, record) as again:
            return self.fit_case(model, case), again

    def attempt(
        self, model: Any, table: pd.DataFrame | None = None, refused: int | None = None
    ) -> Attempt:
        """A recorded fit to a table, by default that of the case; a spend may be refused."""
        known, error = len(self.warned), None
        with recorded(model, refused=refused) as record:
            try:
                self.fit(model, self.case.table if table is None else table, self.case.schema)
            except Exception as caught:
                error = caught
        return Attempt(error, record, [*_told(error), *self.warned[known:]])

    def bad_attempts(self) -> list[tuple[Bad, Attempt]]:
        """Fits to tables that do not fit the schema; made once."""
        strict = {"on_unknown": "refuse"} if self.has_setting("on_unknown") else {}
        tables = bad_tables(self.case)
        return self.once(
            "bad", lambda: [(bad, self.attempt(self.make(**strict), bad.table)) for bad in tables]
        )

    def sample(self, model: Any, n: int = DRAWN, seed: int | None = None) -> pd.DataFrame:
        drawn = model.sample(n, **({} if seed is None else {"random_state": seed}))
        if not isinstance(drawn, pd.DataFrame):
            raise Broken(f"sample gave a {type(drawn).__name__}, not a DataFrame")
        return drawn

    def ledger(self, model: Any) -> Any:
        ledger = getattr(model, "ledger_", None)
        if ledger is None or not hasattr(ledger, "to_dict"):
            raise NotApplicable(f"no ledger, so nothing is promised that could be checked; {HINT}")
        return ledger

    def spending(self, seed: int | None = 0) -> Any:
        ledger = self.ledger(self.fitted(seed))
        if not ledger.spends:
            raise NotApplicable("nothing was spent")
        return ledger

    def drawing(self) -> Recording:
        """The recording of a fit; where it spends, noise must come from our sources."""
        ledger = self.ledger(self.fitted())
        _, record = self.recorded()
        if record.unseen:
            raise NotApplicable(record.unseen)
        if ledger.spends and not record.requests:
            raise NotApplicable(f"noise does not come from a source of this project; {HINT}")
        return record

    @staticmethod
    def saves(model: Any) -> bool:
        return hasattr(model, "save") and bool(getattr(model, "publishable", True))

    def saved(self, model: Any, *, refusing: bool = True) -> bytes:
        """The file of a model; leaves the check where a generator may refuse and does."""
        if not hasattr(model, "save"):
            raise NotApplicable("the generator has no method save")
        if refusing and not self.saves(model):
            raise NotApplicable("the generator refuses to be saved")
        with tempfile.TemporaryDirectory() as folder:
            model.save(Path(folder) / "model")
            return (Path(folder) / "model").read_bytes()

    def loaded(self, model: Any, content: bytes) -> Any:
        load = getattr(type(model), "load", None)
        if load is None:
            raise NotApplicable("the generator has no class method load")
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model"
            path.write_bytes(content)
            return load(path)


def _told(error: BaseException | None) -> list[str]:
    chain: list[BaseException] = []
    while error is not None and error not in chain:
        chain.append(error)
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return [f"{e} {e.args!r} {getattr(e, '__notes__', '')}" for e in chain]


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
