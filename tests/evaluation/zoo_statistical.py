"""Generators with a planted fault in their noise: their ledger says one thing, they do another.

Each is a correct generator of this project with one thing wrong, of the kind that published code
has had. An audit must refute their claims; ``zoo_structural`` has faults that show without
statistics.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest

from copula_shirley import Column, PrivateVine, Schema
from copula_shirley.baselines import DPCopula, DPHistogram, PrivBayes
from copula_shirley.baselines import copula as dp_copula
from copula_shirley.baselines.base import Baseline
from copula_shirley.evaluation.audit.neighbours import Pair
from copula_shirley.evaluation.audit.pairs import built_in, duplicates
from copula_shirley.measure.calibration import Calibration
from copula_shirley.measure.curator import Curator
from copula_shirley.measure.queries import Best, Numbers, Query, Tables
from copula_shirley.measure.transcript import run
from copula_shirley.privacy.ledger import Ledger, Sensitivity, histogram_sensitivity
from copula_shirley.privacy.noise import Integers, NoiseSource, SeededNoise
from copula_shirley.private_vine.cell_maps import GroupKey
from copula_shirley.rows.memory import MemoryRows
from copula_shirley.schema.domain import FloatArray, Grid

# -- noise that is too small -------------------------------------------------------------


class MarginsOnly(PrivateVine):
    """PrivateVine that asks for its margins with the whole budget, and for nothing else."""

    def _fit(
        self, rows: MemoryRows, ledger: Ledger, rng: np.random.Generator, progress: Any
    ) -> None:
        sizes = Grid(rows.schema).sizes
        noise = self._noise(rows.schema)
        measure = self.curator_class(rows, ledger, self._source, noise)
        keys = [GroupKey((name,), (np.arange(size),)) for name, size in sizes.items()]
        measure.answer(Tables("margins", keys, 1.0))
        self.transcript_, self._pool_seed = measure.transcript, 0

    def _size_to_keep(self, rows: int) -> int:
        return 1


class RootTwoForgotten(MarginsOnly):
    """Noise of add/remove neighbours under a ledger of replacement: sqrt(2) too small."""

    def _noise(self, schema: Schema) -> Calibration:
        noise = super()._noise(schema)
        noise.unit = histogram_sensitivity("add-remove", self._rows_per_unit(schema))
        return noise


class AlikeNoise(Calibration):
    """Forgets that several tables share a row."""

    def scale(self, share: float, count: int, *, distances: bool = False) -> float:
        """The scale of a single table."""
        return super().scale(share, 1, distances=distances)


class RootOfColumnsForgotten(MarginsOnly):
    """Noise of one histogram on each of d: sqrt(d) too small."""

    def _noise(self, schema: Schema) -> Calibration:
        noise = super()._noise(schema)
        return AlikeNoise(noise.budget, noise.unit, noise.failure_probability)


class DividedNoise(Calibration):
    """Says truly how little noise there is, and its ledger does not know."""

    factor = 2.0

    def scale(self, share: float, count: int, *, distances: bool = False) -> float:
        """The scale, divided."""
        return super().scale(share, count, distances=distances) / self.factor


class HalfNoise(PrivateVine):
    """Half of the noise, in every answer of a whole fit."""

    factor: ClassVar[float] = 2.0

    def _noise(self, schema: Schema) -> Calibration:
        right = super()._noise(schema)
        noise = DividedNoise(right.budget, right.unit, right.failure_probability)
        noise.factor = self.factor
        return noise


class QuarterNoise(HalfNoise):
    """A quarter: epsilon 4.3 where 1 is claimed, at delta 1e-9."""

    factor = 4.0


class DividingSource(SeededNoise):
    """Draws half of the noise that it is asked for; the transcript says all of it."""

    factor = 2.0

    def gaussian(self, counts: Integers, scale: float) -> Integers:
        """Too little."""
        return super().gaussian(counts, scale / self.factor)


class HalfSource(PrivateVine):
    """The algorithm is right and its source of noise is not."""

    factor: ClassVar[float] = 2.0

    def noise_source(self, rng: np.random.Generator) -> NoiseSource:
        source = DividingSource(np.random.default_rng(self.random_state))
        source.factor = self.factor
        return source


class QuarterSource(HalfSource):
    """A quarter."""

    factor = 4.0


class PersonForgottenInVine(PrivateVine):
    """A person has up to three rows, the noise hides one."""

    def _noise(self, schema: Schema) -> Calibration:
        noise = super()._noise(schema)
        noise.unit = histogram_sensitivity(self.neighbours, 1)
        return noise


class PersonForgotten(DPHistogram):
    """A person has up to k rows, the noise hides one."""

    def calibration(self, ledger: Ledger) -> Calibration:
        return super().calibration(Ledger(None, neighbours=ledger.neighbours))


class ProbabilityScale(PrivBayes):
    """Noise for probabilities on counts: n times too small, as in DataSynthesizer before 0.1.7."""

    class curator_class(Curator):  # noqa: N801
        def _noisy(self, counts: Integers, scale: float) -> Integers:
            return super()._noisy(counts, scale / len(self._records))


class TwiceSpent(DPHistogram):
    """Every histogram is released twice and paid for once."""

    class curator_class(Curator):  # noqa: N801
        def _charge(self, query: Query) -> None:
            if query.in_words not in [spend.what for spend in self._ledger.spends]:
                super()._charge(query)

    def _ask(self, query: Query) -> Any:
        yield from super()._ask(replace(query, stage="first"))
        return (yield from super()._ask(query))


class TauB(DPCopula):
    """Kendall's tau-b with the sensitivity of tau-a."""

    class TauBPairs(dp_copula.Concordances):
        def numbers(self, rows: MemoryRows) -> Integers:
            n, found = len(rows), []
            for pair in combinations([rows.numbers[name] for name in self.names], 2):
                untied = [n * (n - 1) / 2 - dp_copula._tied_pairs(column) for column in pair]
                scale = n * (n - 1) / 2 / np.sqrt(np.prod(untied)) if min(untied) > 0 else 0.0
                found.append(round(dp_copula.concordance(*pair) * scale))
            return np.array(found, dtype=np.int64)

    def _kendall(self, *args: Any) -> Any:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(dp_copula, "Concordances", self.TauBPairs)
            return (yield from super()._kendall(*args))


# -- a choice and a sum, each with nothing around it ------------------------------------------


@dataclass(frozen=True)
class Figure:
    """A statistic of one column."""

    name: str
    of: Callable[[MemoryRows], Integers]
    reach: Sensitivity

    @property
    def names(self) -> tuple[str, ...]:
        """The column."""
        return (self.name,)

    def numbers(self, rows: MemoryRows) -> Integers:
        """The numbers."""
        return self.of(rows)


class Favourite(Baseline):
    """Releases the most frequent category of its column, by the exponential mechanism."""

    name = "favourite"
    factor = 1.0

    def __init__(self, epsilon: float = 1.0, random_state: Any = None) -> None:
        self.epsilon = epsilon
        self.random_state = random_state
        self.mechanism, self.neighbours, self.on_unknown = "laplace", "replace-one", "refuse"

    def _fit(
        self, rows: MemoryRows, ledger: Ledger, rng: np.random.Generator, progress: Any
    ) -> None:
        (self._name,) = rows.schema.names
        self._grid, self._public_rows = Grid(rows.schema), len(rows)
        self.normal_choices = run(self._learn(), self._curator(rows, ledger, rng))

    def _learn(self) -> Any:
        # replacing a row lowers one count by one and raises another by one: each changes by one
        query = Best("choice", [Figure(self._name, self._counted, Sensitivity(1.0, 1.0))], 1.0)
        (chosen,) = yield from self._ask(query)
        return int(chosen)

    def _counted(self, rows: MemoryRows) -> Integers:
        counts = np.bincount(rows.codes[self._name], minlength=self._grid.sizes[self._name])
        return (counts * self.factor).astype(np.int64)

    def _draw(self, n: int, rng: np.random.Generator) -> dict[str, FloatArray]:
        return {self._name: np.full(n, float(self.normal_choices))}

    def _state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        return {"chosen": int(self.normal_choices)}, {}

    def _restore(self, state: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        self.normal_choices = state["chosen"]


class FactorTwoForgotten(Favourite):
    """exp(epsilon score) where exp(epsilon score / 2) is right."""

    factor = 2.0


class Total(Favourite):
    """Releases the sum of its column, with values brought between 0 and 1."""

    name = "total"
    most = 1.0

    def _learn(self) -> Any:
        query = Numbers("sum", [Figure(self._name, self._summed, Sensitivity(1.0, 1.0))], 1.0)
        (total,) = yield from self._ask(query)
        return float(total)

    def _summed(self, rows: MemoryRows) -> Integers:
        return np.array([np.clip(rows.numbers[self._name], 0.0, self.most).sum()]).astype(np.int64)

    def _state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        return {"sum": float(self.normal_choices)}, {}


class NotClipped(Total):
    """A value outside of the bounds goes into the sum as it is."""

    most = np.inf


# -- what is not noisy at all -----------------------------------------------------------------


class DomainFromData(DPHistogram):
    """Categories are those that occur; the ledger does not know."""

    def _enter(
        self, table: pd.DataFrame, schema: Schema, rng: np.random.Generator
    ) -> tuple[pd.DataFrame, Schema, Ledger]:
        columns = tuple(
            Column(c.name, c.kind, categories=tuple(sorted(table[c.name].unique())))
            if c.kind == "categorical"
            else c
            for c in schema
        )
        return super()._enter(table, Schema(columns), rng)


class ExactSize(DPHistogram):
    """Keeps the number of rows, where a row may be there or not."""

    def _size_to_keep(self, rows: int) -> int:
        return rows


class SeedFixed(DPHistogram):
    """The same noise for everybody."""

    def noise_source(self, rng: np.random.Generator) -> NoiseSource:
        return SeededNoise(np.random.default_rng(42))


class MissingExact(DPHistogram):
    """Missing values are counted without noise."""

    class curator_class(Curator):  # noqa: N801
        def _noisy(self, counts: Integers, scale: float) -> Integers:
            noisy = super()._noisy(counts, scale)
            noisy[0] = counts[0]  # a missing value sorts below all others
            return noisy


# -- pairs that show them best ------------------------------------------------------------------


def tied() -> Pair:
    """All rows alike but one, which decides the sign of tau-b."""
    common = pd.DataFrame({"x": [1] * 60, "y": [1] * 60})
    schema = Schema(tuple(Column(name, "integer", minimum=0, maximum=2) for name in "xy"))
    rows = [pd.DataFrame({"x": [2], "y": [y]}) for y in (2, 0)]
    first, second = (pd.concat([common, row], ignore_index=True) for row in rows)
    return Pair("tied", first, second, schema, "replace-one")


def rare_choice() -> Pair:
    """Eleven rows of a and twelve of b, against ten and thirteen."""
    schema = Schema((Column("x", "categorical", categories=("a", "b")),))
    first, second = (pd.DataFrame({"x": ["a"] * a + ["b"] * (23 - a)}) for a in (11, 10))
    return Pair("rare choice", first, second, schema, "replace-one")


def far_value() -> Pair:
    """One value far beyond what a sum takes."""
    schema = Schema((Column("x", "integer", minimum=0, maximum=100),))
    first, second = (pd.DataFrame({"x": [0, 1] * 30 + [last]}) for last in (100, 0))
    return Pair("far value", first, second, schema, "replace-one")


# -- the zoo ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Animal:
    """A faulty generator, the correct one beside it, and where to look."""

    faulty: type
    correct: type
    pair: Pair
    settings: dict[str, Any] = field(default_factory=dict)
    #: Of the faulty one alone.
    fault: dict[str, Any] = field(default_factory=dict)
    runs: int = 400

    def bad(self, random_state: int) -> Any:
        """The faulty one."""
        return self.faulty(**self.settings, **self.fault, random_state=random_state)

    def good(self, random_state: int) -> Any:
        """The correct one."""
        return self.correct(**self.settings, random_state=random_state)


#: With this epsilon mu = sqrt(2 rho) is .93, near the largest that is judged.
MARGINS = {"epsilon": 6.0, "neighbours": "replace-one"}
ADD = {"neighbours": "add-remove"}
one_column = partial(duplicates, columns=1)

STATISTICAL: dict[str, Animal] = {
    "half of the noise in a whole fit": Animal(
        HalfNoise, PrivateVine, built_in("canaries", "add-remove")
    ),
    "a quarter of the noise in a whole fit": Animal(
        QuarterNoise,
        PrivateVine,
        built_in("canaries", "replace-one"),
        {"neighbours": "replace-one"},
    ),
    "a source with half of the noise": Animal(
        HalfSource, PrivateVine, built_in("canaries", "replace-one"), {"neighbours": "replace-one"}
    ),
    "a source with a quarter of the noise": Animal(
        QuarterSource, PrivateVine, built_in("canaries", "add-remove")
    ),
    "k rows of a person forgotten in a vine": Animal(
        PersonForgottenInVine, PrivateVine, built_in("canary-people", "add-remove"), runs=200
    ),
    "sqrt(2) of replacement forgotten": Animal(
        RootTwoForgotten, MarginsOnly, one_column("replace-one"), MARGINS, runs=4000
    ),
    "sqrt(d) of d columns forgotten": Animal(
        RootOfColumnsForgotten, MarginsOnly, built_in("duplicates", "replace-one"), MARGINS
    ),
    "k rows of a person forgotten": Animal(
        PersonForgotten, DPHistogram, built_in("person", "replace-one"), {"epsilon": 2.0}, runs=800
    ),
    "noise n times too small": Animal(
        ProbabilityScale, PrivBayes, built_in("duplicates", "replace-one"), {"degree": 1}
    ),
    "spent twice, charged once": Animal(
        TwiceSpent, DPHistogram, one_column("replace-one"), {"epsilon": 2.0}, runs=2400
    ),
    "epsilon on each column": Animal(
        DPHistogram, DPHistogram, duplicates("replace-one", columns=8), {}, {"accounting": "thesis"}
    ),
    "tau-b with the sensitivity of tau-a": Animal(TauB, DPCopula, tied()),
    "factor 2 of the exponential mechanism forgotten": Animal(
        FactorTwoForgotten, Favourite, rare_choice(), runs=1600
    ),
    "value not clipped": Animal(NotClipped, Total, far_value()),
    "domain from the data": Animal(
        DomainFromData, DPHistogram, built_in("category", "replace-one")
    ),
    "true number of rows": Animal(ExactSize, DPHistogram, built_in("outlier", "add-remove"), ADD),
    "seed fixed": Animal(SeedFixed, DPHistogram, built_in("outlier", "replace-one")),
    "missing values counted exactly": Animal(
        MissingExact, DPHistogram, built_in("missing", "replace-one")
    ),
}
