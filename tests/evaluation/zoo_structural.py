"""Generators that are deliberately broken, each in one way that can be seen in its structure.

``STRUCTURAL`` names for each fault a factory and the check of ``evaluation.contract`` that must
catch it. Each is one of our own generators with one stage changed, as a slip of the pen would.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from copula_shirley import BudgetError, Ledger, PrivateVine, SchemaError
from copula_shirley.baselines import DPHistogram, PrivBayes
from copula_shirley.baselines.base import Baseline
from copula_shirley.generator import Progress
from copula_shirley.measure.calibration import Calibration
from copula_shirley.measure.curator import Curator
from copula_shirley.measure.queries import Choice, Distances, Numbers, Query
from copula_shirley.measure.transcript import Answer, run
from copula_shirley.privacy.floating import DiffprivlibNoise
from copula_shirley.privacy.ledger import ALL_ROWS, Budget, Sensitivity, Total
from copula_shirley.privacy.noise import Integers, NoiseSource, SecureNoise, SeededNoise
from copula_shirley.private_vine.stages import learn
from copula_shirley.rows.memory import MemoryRows
from copula_shirley.schema import domain
from copula_shirley.schema.schema import Column, Schema

Drawn = dict[str, np.ndarray]

# -- the ledger and the noise ----------------------------------------------------------------


class ChargesAfterwards(DPHistogram):
    """Ledger written after the rows are read and the noise is drawn."""

    class curator_class(Curator):  # noqa: N801
        def _charge(self, query: Query) -> None:
            pass

        def answer(self, query: Query) -> Answer:
            answer = super().answer(query)
            super()._charge(query)
            return answer


class SwallowsRefusal(DPHistogram):
    """A charge that is refused does not stop the look."""

    class curator_class(Curator):  # noqa: N801
        def _charge(self, query: Query) -> None:
            with suppress(BudgetError):
                super()._charge(query)


class LooksOnceMore(DPHistogram):
    """One look not charged: the first column is counted again, for its size."""

    class curator_class(Curator):  # noqa: N801
        def answer(self, query: Query) -> Answer:
            answer = super().answer(query)
            if len(self.transcript.answers) == 1:
                self._answer(query)
            return answer


class SpendsTwice(DPHistogram):
    """Budget spent twice, the ledger says once: the mean of two noisy answers."""

    class curator_class(Curator):  # noqa: N801
        def answer(self, query: Query) -> Answer:
            pair = zip(super().answer(query).values, self._answer(query).values, strict=True)
            return Answer([(one + other) // 2 for one, other in pair], 0.0)


class HalvesTheTotal(DPHistogram):
    """The ledger's total is not that of its entries."""

    def open_ledger(self, schema: Schema) -> Ledger:
        class Halved(Ledger):
            @property
            def spent(self) -> Total:
                return Total(self._cost(ALL_ROWS).epsilon / 2)

        told = super().open_ledger(schema)
        return Halved(told.budget, claimed=told.claimed)


class FloatNoiseUnlabelled(DPHistogram):
    """Floating-point noise under the label of exact noise."""

    def noise_source(self, rng: np.random.Generator) -> NoiseSource:
        return DiffprivlibNoise(None if self.random_state is None else rng)

    def _fit(self, rows, ledger, rng, progress) -> None:  # type: ignore[no-untyped-def]
        super()._fit(rows, ledger, rng, progress)
        ledger.noise = SecureNoise().facts


class HomemadeNoise(DPHistogram):
    """Noise drawn past the sources, under the label of exact noise."""

    class curator_class(Curator):  # noqa: N801
        def _noisy(self, counts: Integers, scale: float) -> Integers:
            noise = np.random.default_rng().laplace(0, scale, len(counts))
            return counts + np.rint(noise).astype(np.int64)


class SeedUnstamped(DPHistogram):
    """Seeded noise without a stamp."""

    def _fit(self, rows, ledger, rng, progress) -> None:  # type: ignore[no-untyped-def]
        super()._fit(rows, ledger, rng, progress)
        ledger.noise = replace(ledger.noise, seeded=False)


class SeedFixedInside(DPHistogram):
    """The same noise in every fit."""

    def noise_source(self, rng: np.random.Generator) -> NoiseSource:
        return SeededNoise(np.random.default_rng(20211))


class GlobalNoise(DPHistogram):
    """Noise from the global state of numpy."""

    def noise_source(self, rng: np.random.Generator) -> NoiseSource:
        return SeededNoise(np.random.default_rng(np.random.randint(2**31)))  # noqa: NPY002


class SamplesTheNoise(DPHistogram):
    """Rows are drawn from the stream of the noise."""

    def _fit(self, rows, ledger, rng, progress) -> None:  # type: ignore[no-untyped-def]
        self._seed = self.random_state
        super()._fit(rows, ledger, rng, progress)

    def _chunks(self, n, rng, given):  # type: ignore[no-untyped-def]
        same = np.random.default_rng(self._seed).spawn(2)[0]
        drawn = self._draw(n, same)
        yield pd.DataFrame(
            {k: self.schema_[k].domain.from_numbers(drawn[k], self.dtypes_[k]) for k in drawn}
        )


class UnclippedValue(DPHistogram):
    """The sum of a column, as if no value were above 1,000."""

    class Sum:
        names = ("pay",)
        reach = Sensitivity(1000.0, 1000.0)

        def numbers(self, rows: MemoryRows) -> Integers:
            pay = rows.numbers["pay"]
            return np.array([pay[pay != domain.MISSING].sum()]).astype(np.int64)

    def _learn(self, progress: Any) -> Any:
        yield Numbers("sum", [self.Sum()], 1e-3)
        return (yield from super()._learn(progress))

    def open_ledger(self, schema: Schema) -> Ledger:
        ledger = super().open_ledger(schema)  # with room for more: only the fault is found
        ledger.budget = Budget(2 * ledger.budget.epsilon)
        return ledger


class PersonAsRow(DPHistogram):
    """k rows per person ignored, in the ledger too."""

    def open_ledger(self, schema: Schema) -> Ledger:
        return super().open_ledger(Schema(schema.columns))


class PersonNoiseOfARow(DPHistogram):
    """The ledger says k rows per person, the noise is that of one."""

    def calibration(self, ledger: Ledger) -> Calibration:
        return super().calibration(Ledger(None, neighbours=ledger.neighbours))


# -- what is learnt from the rows past the noise ---------------------------------------------


class DomainFromData(DPHistogram):
    """Bounds are the least and the largest value of the rows, and nobody says so."""

    def _enter(self, table, schema, rng):  # type: ignore[no-untyped-def]
        table, schema, ledger = super()._enter(table, schema, rng)

        def seen(column: Column) -> Column:
            if column.kind != "integer":
                return column
            return replace(
                column, minimum=int(table[column.name].min()), maximum=int(table[column.name].max())
            )

        return table, replace(schema, columns=tuple(seen(c) for c in schema)), ledger


class ExactMissingRate(DPHistogram):
    """Values are blanked at the exact rate of the rows."""

    def _fit(
        self, rows: MemoryRows, ledger: Ledger, rng: np.random.Generator, progress: Any
    ) -> None:
        super()._fit(rows, ledger, rng, progress)
        self._gaps = {k: float((v == domain.MISSING).mean()) for k, v in rows.numbers.items()}

    def _draw(self, n: int, rng: np.random.Generator) -> Drawn:
        drawn = super()._draw(n, rng)
        for name in drawn:
            gap = rng.random(n) < self._gaps[name]
            drawn[name] = np.where(gap, domain.MISSING, drawn[name])
        return drawn


class MissingPattern(ExactMissingRate):
    """Rows are blanked by patterns of missing values that occur in the rows."""

    def _fit(
        self, rows: MemoryRows, ledger: Ledger, rng: np.random.Generator, progress: Any
    ) -> None:
        super()._fit(rows, ledger, rng, progress)
        self._gaps = dict.fromkeys(rows.numbers, 0.0)
        holes = np.column_stack([v == domain.MISSING for v in rows.numbers.values()])
        names = np.array(rows.schema.names)
        self._patterns = [frozenset(names[hole].tolist()) for hole in np.unique(holes, axis=0)]

    def _draw(self, n: int, rng: np.random.Generator) -> Drawn:
        drawn = super()._draw(n, rng)
        which = rng.integers(0, len(self._patterns), n)
        for name in drawn:
            hit = np.array([name in self._patterns[i] for i in which], dtype=bool)
            drawn[name] = np.where(hit, domain.MISSING, drawn[name])
        return drawn


class TrueSize(DPHistogram):
    """The true number of rows, although rows may be added or removed."""

    def _size_to_keep(self, rows: int) -> int:
        return rows


class OrderFromLabels(DPHistogram):
    """Categories in the order in which the rows name them."""

    def _fit(
        self, rows: MemoryRows, ledger: Ledger, rng: np.random.Generator, progress: Any
    ) -> None:
        super()._fit(rows, ledger, rng, progress)
        codes = self._grid.codes(rows.numbers)
        self.order_ = {k: pd.unique(codes[k]).tolist() for k in codes if self.nominal(k)}

    def nominal(self, name: str) -> bool:
        return self._grid.columns[name].nominal

    def _state(self):  # type: ignore[no-untyped-def]
        state, arrays = super()._state()
        return {**state, "order": self.order_}, arrays


class TiesOnRawCounts(DPHistogram):
    """Cells are ranked by noisy counts, tens of them, and ties are broken by the true ones."""

    def _fit(
        self, rows: MemoryRows, ledger: Ledger, rng: np.random.Generator, progress: Any
    ) -> None:
        super()._fit(rows, ledger, rng, progress)
        self.ranks_ = {}
        for name, codes in self._grid.codes(rows.numbers).items():
            counts = np.bincount(codes, minlength=self._grid.sizes[name])
            noisy = self.released_[f"histogram {name}"]
            self.ranks_[name] = np.lexsort((counts, np.round(noisy, -1)))


class EncoderOutside(DPHistogram):
    """Categories are coded by the exact mean of another column, as supervised encoders do."""

    def _fit(
        self, rows: MemoryRows, ledger: Ledger, rng: np.random.Generator, progress: Any
    ) -> None:
        super()._fit(rows, ledger, rng, progress)
        codes = pd.Series(self._grid.codes(rows.numbers)["job"])
        self._codes = pd.Series(rows.numbers["rich"]).groupby(codes).mean().to_dict()

    def _state(self):  # type: ignore[no-untyped-def]
        state, arrays = super()._state()
        return {**state, "codes": {str(k): v for k, v in self._codes.items()}}, arrays


class SettingFromRows(PrivBayes):
    """The degree of the network is chosen by the true number of rows."""

    def _fit(
        self, rows: MemoryRows, ledger: Ledger, rng: np.random.Generator, progress: Any
    ) -> None:
        asked = self.degree
        self.degree = 1 if len(rows) < 200 else 2
        super()._fit(rows, ledger, rng, progress)
        self.degree = asked


class RawMargins(PrivateVine):
    """Candidates are scored against independence of the *true* margins."""

    def _fit(
        self, rows: MemoryRows, ledger: Ledger, rng: np.random.Generator, progress: Progress
    ) -> None:
        _, pool = rng.spawn(2)
        noise = self._noise(rows.schema)
        curator = self.curator_class(rows, ledger, self._source, noise, self._written)
        self._pool_seed = int(pool.integers(2**63))
        right = learn(self.problem(rows.schema, self._pool_seed), progress)
        self._model = run(self._peeking(right, rows), curator)
        self.transcript_ = curator.transcript

    def _peeking(self, right: Any, rows: MemoryRows) -> Any:
        try:
            query = next(right)
            while True:
                if isinstance(query, Distances | Choice):
                    guesses = [self._product(key, rows) for key in query.cell_maps]
                    query = replace(query, guesses=guesses)
                query = right.send((yield query))
        except StopIteration as end:
            return end.value

    @staticmethod
    def _product(key: Any, rows: MemoryRows) -> np.ndarray:
        table = rows.count(key).astype(float)
        expected = np.full(table.shape, table.sum())
        for axis in range(table.ndim):
            others = tuple(k for k in range(table.ndim) if k != axis)
            share = table.sum(axis=others) / max(table.sum(), 1)
            expected = expected * np.expand_dims(share, others)
        return np.rint(expected).astype(np.int64)


class DtypeOfARow(DPHistogram):
    """Columns are stored as pandas stored the rows: one gap makes floats of whole numbers."""

    def _dtype_to_keep(self, column: Column, series: pd.Series) -> str:
        return column.domain.storage(series)


class TypesAWholeColumn(DPHistogram):
    """Columns are read as the type that all their rows have together, as pandas infers it."""

    def _enter(self, table, schema, rng):  # type: ignore[no-untyped-def]
        if table["age"].infer_objects().dtype == object:
            table = table.assign(age=schema["age"].minimum)
        return super()._enter(table, schema, rng)


# -- what stays behind -----------------------------------------------------------------------


class KeepsTheFrame(DPHistogram):
    """The table itself is kept in the model."""

    def _enter(self, table, schema, rng):  # type: ignore[no-untyped-def]
        self._debug = {"input": table}
        return super()._enter(table, schema, rng)


class KeepsTheFrameInAClosure(DPHistogram):
    """The table hides in a function that the model holds."""

    def _enter(self, table, schema, rng):  # type: ignore[no-untyped-def]
        self._describe: Callable[[], Any] = lambda: len(table)
        return super()._enter(table, schema, rng)


class SavesAValue(DPHistogram):
    """The largest values of a column go into the file."""

    def _fit(
        self, rows: MemoryRows, ledger: Ledger, rng: np.random.Generator, progress: Any
    ) -> None:
        super()._fit(rows, ledger, rng, progress)
        self._top = np.sort(rows.numbers["pay"])[-5:].astype(np.float32)

    def _state(self):  # type: ignore[no-untyped-def]
        state, arrays = super()._state()
        return state, {**arrays, "top": self._top}


class SavesAPickle(DPHistogram):
    """The file is a pickle."""

    def save(self, path: str | Path) -> None:
        Path(path).write_bytes(pickle.dumps(self.get_params()))


class QuotesAValue(DPHistogram):
    """The error names the value that does not fit."""

    def _enter(self, table, schema, rng):  # type: ignore[no-untyped-def]
        schema.validate(table, show_values=True)
        return super()._enter(table, schema, rng)


class QuotesAValueInItsCause(DPHistogram):
    """The error is clean, the error behind it is not; a traceback prints both."""

    def _enter(self, table, schema, rng):  # type: ignore[no-untyped-def]
        try:
            schema.validate(table, show_values=True)
        except SchemaError as error:
            try:
                schema.validate(table)
            except SchemaError as clean:
                raise SchemaError(str(clean)) from error
        return super()._enter(table, schema, rng)


# -- manners ---------------------------------------------------------------------------------


class SortsTheTable(DPHistogram):
    """The user's own table is sorted."""

    def _enter(self, table, schema, rng):  # type: ignore[no-untyped-def]
        table.sort_values("pay", inplace=True)  # noqa: PD002
        return super()._enter(table, schema, rng)


class ChangesASetting(DPHistogram):
    """A setting is another after the fit."""

    def _fit(self, rows, ledger, rng, progress) -> None:  # type: ignore[no-untyped-def]
        super()._fit(rows, ledger, rng, progress)
        self.mechanism = "geometric"


class IgnoresTheSeed(DPHistogram):
    """A seed does not make the fit repeatable."""

    def noise_source(self, rng: np.random.Generator) -> NoiseSource:
        return SeededNoise(np.random.default_rng())


class LosesTheOldModel(DPHistogram):
    """A fit that is refused takes the model that was there with it."""

    def fit(self, *args: Any, **rest: Any) -> Any:
        self._forget()
        return super().fit(*args, **rest)


class RepairsInSilence(DPHistogram):
    """What is off the schema is clipped although the setting says refuse."""

    def _enter(self, table, schema, rng):  # type: ignore[no-untyped-def]
        for column in schema:
            if column.is_number:
                table = table.assign(**{column.name: column.domain.clip(table[column.name])})
        return super()._enter(table, schema, rng)


class DrawsOutside(DPHistogram):
    """Values beyond the declared bounds are drawn."""

    def _draw(self, n: int, rng: np.random.Generator) -> Drawn:
        drawn = super()._draw(n, rng)
        return {**drawn, "pay": drawn["pay"] * 1.5}


class RestoresAnother(DPHistogram):
    """The model that is read back is not the one that was saved."""

    def _restore(self, state: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        even = {k: np.linspace(0, 1, len(v) + 1)[1:] for k, v in arrays.items()}
        super()._restore(state, even)


def on(kind: type[Baseline], **settings: Any) -> Callable[[], Any]:
    """A factory with settings."""
    return lambda: kind(**settings)


#: Fault -> (factory, the check that must catch it).
STRUCTURAL: dict[str, tuple[Any, str]] = {
    "ledger written after the rows are read": (ChargesAfterwards, "charged first"),
    "refused charge swallowed": (SwallowsRefusal, "charged first"),
    "one look not charged": (LooksOnceMore, "cost"),
    "budget spent twice": (SpendsTwice, "cost"),
    "total of the ledger is not that of its entries": (HalvesTheTotal, "ledger"),
    "float noise unlabelled": (FloatNoiseUnlabelled, "exact noise"),
    "homemade float noise": (HomemadeNoise, "exact noise"),
    "seeded noise without a stamp": (SeedUnstamped, "seed stamped"),
    "seed fixed inside": (SeedFixedInside, "fresh randomness"),
    "global randomness": (GlobalNoise, "global randomness"),
    "sampling repeats the noise": (SamplesTheNoise, "sampling apart"),
    "unclipped value": (UnclippedValue, "cost"),
    "k rows per person ignored": (PersonAsRow, "person"),
    "k rows per person ignored by the noise": (PersonNoiseOfARow, "cost"),
    "domain from data": (DomainFromData, "replay"),
    "exact rate of missing values": (ExactMissingRate, "replay"),
    "missing-value pattern leaked": (MissingPattern, "replay"),
    "true n under add/remove": (on(TrueSize, neighbours="add-remove"), "replay"),
    "category order from raw labels": (OrderFromLabels, "replay"),
    "ties broken on raw counts": (TiesOnRawCounts, "replay"),
    "encoder outside the ledger": (EncoderOutside, "replay"),
    "setting chosen on raw data": (on(SettingFromRows, neighbours="add-remove"), "replay"),
    "score computed with raw margins": (RawMargins, "replay"),
    "one row types a whole column": (TypesAWholeColumn, "reading"),
    "dtype that betrays a row": (DtypeOfARow, "dtypes"),
    "raw frame kept in the model": (KeepsTheFrame, "no row in the model"),
    "raw frame kept in a closure": (KeepsTheFrameInAClosure, "no row in the model"),
    "value of a row in the file": (SavesAValue, "no row in the file"),
    "file is a pickle": (SavesAPickle, "no pickle"),
    "table changed by the fit": (SortsTheTable, "fit"),
    "setting changed by the fit": (ChangesASetting, "fit"),
    "seed ignored": (IgnoresTheSeed, "same seed"),
    "old model lost by a refused fit": (LosesTheOldModel, "old model kept"),
    "bad values repaired in silence": (RepairsInSilence, "refusals"),
    "values drawn outside the domain": (DrawsOutside, "schema"),
    "another model is read back": (RestoresAnother, "save and load"),
    "exception quoting a private value": (QuotesAValue, "messages"),
    "exception whose cause quotes a private value": (QuotesAValueInItsCause, "messages"),
}
