"""What was learnt, and what one does with it: draw rows, show its card, save it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from html import escape
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from copula_shirley.errors import ArtefactError, SettingError
from copula_shirley.files import model_file as artefact
from copula_shirley.jobs import check_jobs, in_order
from copula_shirley.privacy.card import Card, TrustFacts
from copula_shirley.privacy.ledger import Ledger
from copula_shirley.rows.made_up import made_up
from copula_shirley.rules.coordinates import Coordinates
from copula_shirley.rules.drawing import check_given, drawn
from copula_shirley.rules.people import drawn_people
from copula_shirley.schema.domain import FloatArray
from copula_shirley.schema.schema import Schema
from copula_shirley.settings import Settings

#: Told the name of the stage and the share of the work that is done.
Progress = Callable[[str, float], None]
RandomState = int | np.random.Generator | None
#: Rows drawn at a time; it bounds the memory of ``sample_chunks``.
CHUNK = 50_000
#: Rows of one sample, which is written in chunks.
MOST_DRAWN = 2**40
#: Sets the seeds of sampling apart from those of fitting.
SAMPLING = 0x5A3B1E


def silent(stage: str, share: float) -> None:
    """Tell no progress."""


class Fitted(Settings, ABC):
    """The half of a generator that looks at no row of the table."""

    #: Name on the command line and in saved files.
    name: ClassVar[str]
    #: Whether rows drawn from it may be published at all.
    publishable: ClassVar[bool] = True
    #: The ledger says what the fit spent and which uses of rows nothing protected.
    ledger_: Ledger
    #: The domain on which the model draws rows; with rules, in other coordinates than the table's.
    schema_: Schema
    #: How rows leave the model for the table.
    coordinates_: Coordinates
    #: Number of rows of the training table, the default size of a sample.
    n_rows_: int
    #: Names and dtypes of the columns, and the settings but for the seed.
    columns_: list[str]
    dtypes_: dict[str, str]
    settings_: dict[str, Any]
    _sampling_rng: np.random.Generator
    #: The card as it was read from a file.
    _card: Card | None = None

    @abstractmethod
    def _draw(self, n: int, rng: np.random.Generator) -> dict[str, FloatArray]:
        """Draw n rows, as numbers per column."""

    @abstractmethod
    def _state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """What was learnt, as plain JSON values and as arrays."""

    def _draw_given(
        self, n: int, rng: np.random.Generator, given: Mapping[str, Any]
    ) -> dict[str, FloatArray]:
        """Draw n rows that fulfil conditions on some columns."""
        raise SettingError(f"given ({', '.join(given)}): a {self.name} model cannot be conditioned")

    def tables(self) -> dict[str, pd.DataFrame]:
        """What was learnt, as tables for people; none by default."""
        self._check_fitted()
        return {}

    def plot(self, path: str | Path) -> None:
        """Draw what was learnt."""
        raise SettingError(f"plot ({str(path)!r}): a {self.name} model has nothing to draw")

    def sample(
        self,
        n: int | None = None,
        *,
        random_state: RandomState = None,
        given: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
        jobs: int = 1,
    ) -> pd.DataFrame:
        """Draw synthetic rows; those of a person stand side by side, and the last may lack some.

        Parameters
        ----------
        n : int, optional
            Number of rows; by default as many as the training table had.
        random_state : int or Generator, optional
            By default every call goes on where the last one stopped, from the
            generator's own ``random_state``.
        given : mapping, optional
            Conditions on columns, where the generator can: a value, a pair (low, high) of an
            ordered column, both ends included, or a list of such, of which one is met.
        progress : callable, optional
            Told how many rows are drawn, in words, and their share.
        jobs : int
            Processes that draw; they pay from some 100,000 rows on. The rows are the same, however
            many there are.
        """
        chunks = self.sample_chunks(
            n, random_state=random_state, given=given, progress=progress, jobs=jobs
        )
        return pd.concat(chunks, ignore_index=True)

    def sample_chunks(
        self,
        n: int | None = None,
        *,
        random_state: RandomState = None,
        given: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
        jobs: int = 1,
    ) -> Iterator[pd.DataFrame]:
        """Draw the rows of ``sample`` in tables of bounded size."""
        self._check_fitted()
        if given and self._ruled is not None:
            check_given(self._ruled, given)
        n = self.n_rows_ if n is None else n
        if not isinstance(n, int | np.integer) or isinstance(n, bool) or n < 0:
            raise SettingError(f"n ({n!r}) must be a whole number of rows, 0 or more")
        if n > MOST_DRAWN:
            raise SettingError(f"n ({n!r:.30}) must be at most {MOST_DRAWN}")
        check_jobs(jobs)
        rng = self._sampling_rng if random_state is None else sampling_rng(random_state)
        return self._chunks(int(n), rng, given, progress or silent, jobs)

    def _chunks(
        self,
        n: int,
        rng: np.random.Generator,
        given: Mapping[str, Any] | None = None,
        report: Progress = silent,
        jobs: int = 1,
        *,
        learnt_only: bool = False,
    ) -> Iterator[pd.DataFrame]:
        schema = self.table_schema_
        beside = {} if learnt_only else schema.replaced
        sizes = (min(CHUNK, n - start) for start in range(0, max(n, 1), CHUNK))
        # each chunk has a generator of its own, so that rows do not depend on who draws them
        items = ((size, rng.spawn(1)[0]) for size in sizes)
        end = people = 0
        for columns, own, chunk_rng in in_order(partial(self._chunk, given or {}), items, jobs):
            rows = np.arange(end + 1, end + 1 + len(own))
            end += len(own)
            whose = own + people + 1 if schema.per_person else rows
            people = int(whose.max(initial=people))
            made = {
                name: made_up(left, whose if name in schema.once else rows, chunk_rng)
                for name, left in beside.items()
            }
            both = columns | made
            yield pd.DataFrame({name: both[name] for name in self.columns_ if name in both})
            report(f"{end:,} of {n:,} rows", end / n if n else 1.0)

    def _chunk(
        self, given: Mapping[str, Any], item: tuple[int, np.random.Generator]
    ) -> tuple[dict[str, pd.Series], NDArray[np.int64], np.random.Generator]:
        """Columns of so many rows that the model draws, whose each row is, and the generator."""
        size, rng = item
        numbers, schema = self._table_numbers(size, rng, given), self.table_schema_
        whose = np.arange(size)
        if schema.per_person:
            whose = numbers.pop(str(schema.person)).astype(np.int64)
        columns = {
            name: schema[name].domain.from_numbers(numbers[name], self.dtypes_[name])
            for name in self.columns_
            if name in numbers
        }
        return columns, whose, rng

    def _table_numbers(
        self, n: int, rng: np.random.Generator, given: Mapping[str, Any]
    ) -> dict[str, FloatArray]:
        """Draw n rows of the table, as numbers per column, under conditions on some of them.

        Where rows are those of people, a column says whose each is.
        """
        ruled = self._ruled
        if ruled is None:
            return self._draw_given(n, rng, given) if given else self._draw(n, rng)
        if given and type(self)._draw_given is Fitted._draw_given:
            self._draw_given(n, rng, given)  # says that it cannot
        known = ruled.schema.constants if ruled.schema.per_person else ruled.modelled.names
        own = {k: v for k, v in given.items() if k in known and k in ruled.modelled.names}

        def draw(size: int) -> dict[str, FloatArray]:
            return self._draw_given(size, rng, own) if own else self._draw(size, rng)

        rest = {name: value for name, value in given.items() if name not in own}
        if ruled.schema.per_person:
            return drawn_people(ruled, draw, n, rest, rng)
        return drawn(ruled, draw, n, rest)

    @property
    def table_schema_(self) -> Schema:
        """The domain of the rows that are drawn, with its rules."""
        coordinates = getattr(self, "coordinates_", None)
        return self.schema_ if coordinates is None else coordinates.schema

    @property
    def _ruled(self) -> Coordinates | None:
        """The coordinates of a model of a table with rules, or of people."""
        found = getattr(self, "coordinates_", None)
        special = found is not None and (found.checks or found.schema.per_person)
        return found if special else None

    def _check_fitted(self) -> None:
        if not hasattr(self, "ledger_"):
            from sklearn.exceptions import NotFittedError  # noqa: PLC0415  (a second, and rare)

            raise NotFittedError(f"{type(self).__name__} is not fitted yet; call fit first")

    def save(self, path: str | Path, card: Card | None = None) -> None:
        """Write the fitted model to one file (JSON and arrays, no row, no pickle).

        ``card`` is what ``card()`` gave, if it is known already.
        """
        self._check_fitted()
        if not self.publishable:
            raise SettingError(f"a {self.name} model holds the rows themselves; it is never saved")
        artefact.write(path, *self.contents((card or self.card()).to_dict()))

    def contents(self, card: dict[str, Any]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Header, with this card, and arrays of the file of this model."""
        state, arrays = self._state()
        learned = self._ruled.learned if self._ruled else []
        arrays = arrays | {f"function_{i}": check.found for i, check in enumerate(learned)}
        header = {
            "generator": self.name,
            "settings": self.settings_,
            "schema": self.table_schema_.to_dict(),
            "columns": self.columns_,
            "dtypes": self.dtypes_,
            "rows": self.n_rows_,
            "ledger": self.ledger_.to_dict(),
            "card": card,
            "model": state,
        }
        return header, arrays

    def card(self) -> Card:
        """The privacy card: what was promised, and what it means for a person.

        That of a model out of a file is the one that came with it, which must say what the model
        says; else ``ArtefactError``.
        """
        own = self.new_card()
        if self._card is None:
            return own
        if wrong := self._card.differences(own):
            raise ArtefactError(f"the model's card does not belong to it: {wrong[0]}; see verify")
        return self._card

    def new_card(self) -> Card:
        """The card made of what the model says, by this version."""
        self._check_fitted()
        own = (self.name, self.ledger_, self.table_schema_, self.settings_, self.n_rows_)
        return Card.of(*own, self._trust_facts())

    def _trust_facts(self) -> TrustFacts | None:
        """Whom people have to trust; None for one curator who has all rows."""
        return None

    def _repr_html_(self) -> str:
        """In notebooks: the settings, and the card of a fitted model."""
        card = self.card()._repr_html_() if hasattr(self, "ledger_") else ""
        return f"<pre>{escape(repr(self))}</pre>{card}"


def generator_of(random_state: RandomState) -> np.random.Generator:
    """A numpy generator from None, a seed or a generator."""
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise SettingError(
            f"random_state ({random_state!r}) must be None, a whole number or a numpy Generator"
        ) from None


def sampling_rng(random_state: RandomState) -> np.random.Generator:
    """A generator for drawing rows that shares nothing with that of a fit.

    With one stream for both, rows drawn with the seed of the fit would show the
    noise that the fit added.
    """
    rng = generator_of(random_state)
    if isinstance(random_state, np.random.Generator):
        return rng
    return np.random.default_rng([SAMPLING, int(rng.integers(2**63))])
