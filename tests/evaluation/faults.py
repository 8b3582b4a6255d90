"""Faults that can be planted in any generator of ours: in its curator, its source, another stage.

``planted(fault, kind)`` is the generator with one thing wrong, of the kind that published code has
had. A fault is a set of functions that stand in the place of methods; each is given the right
method, already bound, and then what the method is given. ``BY_RULE`` names the rule of the contract
that must catch each of them; the audit is tried on those about noise (``test_faults_audit``).
"""
# ruff: noqa: ARG001, ARG005  (they take what the methods take)

from __future__ import annotations

import pickle
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import combinations
from math import comb
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau

from copula_shirley import BudgetError, Ledger, SchemaError
from copula_shirley.baselines import copula as dp_copula
from copula_shirley.measure.calibration import Calibration
from copula_shirley.measure.queries import Tables
from copula_shirley.measure.transcript import Answer
from copula_shirley.privacy.floating import DiffprivlibNoise
from copula_shirley.privacy.ledger import Total, histogram_sensitivity
from copula_shirley.privacy.noise import SecureNoise, SeededNoise
from copula_shirley.private_vine import generator as vine
from copula_shirley.rows.memory import MemoryRows
from copula_shirley.schema.domain import MISSING
from copula_shirley.schema.schema import Schema


@dataclass(frozen=True)
class Fault:
    """Functions in the place of methods of a generator, and of its curator."""

    methods: dict[str, Callable[..., Any]] = field(default_factory=dict)
    of_curator: dict[str, Callable[..., Any]] = field(default_factory=dict)


def planted(fault: Fault, kind: Any) -> Any:
    """The generator with a fault."""
    members = {"curator_class": _with(kind.curator_class, fault.of_curator)}
    return type("Faulty", (_with(kind, fault.methods),), members)


def _with(base: Any, wrong: dict[str, Callable[..., Any]]) -> Any:
    return type("Faulty", (base,), {k: _method(getattr(base, k), v) for k, v in wrong.items()})


def _method(right: Any, wrong: Any) -> Any:
    return lambda self, *given, **named: wrong(partial(right, self), self, *given, **named)


def generator(**methods: Any) -> Fault:
    return Fault(methods)


def curator(**methods: Any) -> Fault:
    return Fault(of_curator=methods)


# -- what is charged ------------------------------------------------------------------------------


def charge_afterwards(right, self, query):
    charge, self._charge = self._charge, lambda _: None
    answer = right(query)
    self._charge = charge
    charge(query)
    return answer


def swallow_refusal(right, self, query):
    with suppress(BudgetError):
        right(query)


def look_once_more(right, self, query):
    answer = right(query)
    if len(self.transcript.answers) == 1:
        self._answer(query)
    return answer


def mean_of_two(right, self, query):
    one = right(query)
    if not isinstance(query, Tables):
        return one
    pairs = zip(one.values, right(query).values, strict=True)
    return Answer([(a + b) // 2 for a, b in pairs], one.sigma)


def halve_share_of_many_rows(right, self, query):
    return right(replace(query, share=query.share * (0.5 if len(self._rows) > 200 else 1.0)))


def charge_first_release_only(right, self, query):
    if query.in_words not in [spend.what for spend in self._ledger.spends]:
        right(query)


def release_twice(right, self, query):
    yield from right(replace(query, stage="first"))
    return (yield from right(query))


# -- how much noise there is ----------------------------------------------------------------------


def calibrated(change: Callable[[Calibration, Ledger], Calibration]) -> Fault:
    """The curator knows truly how little noise there is, and its ledger does not."""

    def made(right, self, *given, **named):
        right(*given, **named)
        self.calibration = change(self.calibration, self._ledger)

    return curator(__init__=made)


def of_unit(known: Calibration, neighbours: str, rows: int) -> Calibration:
    unit = histogram_sensitivity(neighbours, rows)
    return Calibration(known.budget, unit, known.failure_probability, gdp=known.gdp)


def divided(factor: float) -> Fault:
    """A part of the noise, in every answer of a whole fit."""

    class Divided(Calibration):
        def scale_of(self, *about: Any) -> float:
            return super().scale_of(*about) / factor

    return calibrated(
        lambda known, _: Divided(known.budget, known.unit, known.failure_probability, gdp=known.gdp)
    )


class Alike(Calibration):
    """Forgets that several tables share a row."""

    def scale(self, share: float, count: int) -> float:
        return super().scale(share, 1)


class DividingSource(SeededNoise):
    """Draws a part of the noise that it is asked for; the transcript says all of it."""

    def __init__(self, rng: np.random.Generator, factor: float) -> None:
        super().__init__(rng)
        self._factor = factor

    def gaussian(self, counts: Any, scale: float) -> Any:
        return super().gaussian(counts, scale / self._factor)


def add_unclipped_sum(right, self, counts, scale):
    """The sum of a column is added to each first cell, as if no value were above 1."""
    values = next(iter(self._rows.numbers.values()))
    first = np.arange(counts.size).reshape(counts.shape) == 0
    return right(counts + first * int(values[values != MISSING].sum()), scale)


def keep_missing_exact(right, self, counts, scale):
    noisy = right(counts, scale)
    noisy[0] = counts[0]  # missing values sort below all others
    return noisy


def own_noise(right, self, counts, scale):
    return counts + np.rint(np.random.default_rng().laplace(0, scale, counts.shape)).astype(int)


def own_choice(right, self, merits, share, reach):
    noisy = own_noise(right, self, merits, self.calibration.choice_scale(share, reach))
    return Answer([np.array([np.argmax(noisy)])], 0.0)


# -- where the noise comes from -------------------------------------------------------------------


def seeded(seed: int | None) -> SeededNoise:
    return SeededNoise(np.random.default_rng(seed))


def source(make: Callable[[np.random.Generator], Any]) -> Fault:
    return generator(noise_source=lambda right, self, rng: make(rng))


def other_source(choose: Callable[[Any, Any], Any]) -> Fault:
    """Some queries are answered with noise from another source; exactly without one."""

    def answer(right, self, query):
        before, self._source = self._source, choose(self, query)
        try:
            return right(query)
        finally:
            self._source = before

    return curator(answer=answer)


def relabel(facts: Callable[[Any], Any]) -> Callable[..., None]:
    def fit(right, self, rows, ledger, *rest):
        right(rows, ledger, *rest)
        ledger.noise = facts(ledger.noise)

    return fit


def remember_source(right, self, rng):
    self._noise_of_fit = right(rng)
    return self._noise_of_fit


def draw_from_noise(right, self, n, rng, *rest):
    same = np.random.Generator(self._noise_of_fit.bit_generator)
    return right(n, SimpleNamespace(spawn=lambda _: [same]), *rest)


def halve_total(right, self, schema):
    class Halved(Ledger):
        @property
        def spent(self) -> Total:
            return Total(super().spent.epsilon / 2, super().spent.delta)

    ledger: Ledger = right(schema)
    ledger.__class__ = Halved
    return ledger


def blind(right, self, query):
    """An eighth of the noise in tree 1, where the transcript states a huge one."""
    if query.stage != "tree 1":
        return right(query)
    before, rng = self._source, np.random.default_rng(id(self._rows) % 2**32)
    self._source = DividingSource(rng, 8.0)
    answer = right(query)
    self._source = before
    self.transcript.answers[-1] = replace(answer, sigma=1e6)
    self.transcript.queries[-1] = {**self.transcript.queries[-1], "sigma": 1e6}
    return answer


# -- what is learnt from the rows past the noise --------------------------------------------------


def learns(learn: Callable[[Any], Any], **more: Any) -> Fault:
    """The model remembers a function of the rows."""

    def fit(right, self, rows, *rest):
        right(rows, *rest)
        self.leak_ = learn(rows)

    return generator(_fit=fit, **more)


def by_column(learn: Callable[[Any], Any], cells: bool = False) -> Fault:
    return learns(
        lambda rows: {k: learn(v) for k, v in (rows.codes if cells else rows.numbers).items()}
    )


def ranks(codes: Any) -> Any:
    """Cells in the order of their counts, to tens, with ties broken by the counts themselves."""
    counts = np.bincount(codes)
    return np.lexsort((counts, np.round(counts, -1)))


def domain_of_rows(right, self, held, coordinates, rng):
    _, schema, ledger = right(held, coordinates, rng)
    table = held.table

    def seen(column: Any) -> Any:
        values = table[column.name].dropna()
        if column.kind == "integer":
            return replace(column, minimum=int(values.min()), maximum=int(values.max()))
        if column.kind == "categorical":
            return replace(column, categories=tuple(sorted(values.unique())))
        return column

    schema = replace(schema, columns=tuple(map(seen, schema)))
    return MemoryRows.of(table, schema), schema, ledger


def type_whole_column(right, self, held, coordinates, rng):
    if held.table["age"].infer_objects().dtype == object:
        table = held.table.assign(age=coordinates.modelled["age"].minimum)
        held = replace(held, _table=table)
    return right(held, coordinates, rng)


def order_by_true_counts(right, self, rows, *rest):
    """Tables are asked for in an order that follows from the rows."""

    def asking(queries: Any) -> Any:
        answer = None
        while True:
            try:
                query = queries.send(answer)
            except StopIteration as end:
                return end.value
            tops = [int(counts.max()) for counts in rows.count(query.cell_maps)]
            order = sorted(range(len(tops)), key=tops.__getitem__)
            answer = yield replace(query, cell_maps=[query.cell_maps[i] for i in order])
            values = dict(zip(order, answer.values, strict=True))
            answer = replace(answer, values=[values[i] for i in range(len(order))])

    with pytest.MonkeyPatch.context() as patch:
        learn = vine.learn
        patch.setattr(vine, "learn", lambda *given: asking(learn(*given)))
        right(rows, *rest)


def tau_b(right, self, *given):
    """Of DPCopula: Kendall's tau-b with the sensitivity of tau-a."""

    class Pairs(dp_copula.Concordances):
        def numbers(self, rows: Any) -> Any:
            columns = [rows.numbers[name] for name in self.names]
            taus = [kendalltau(*pair).statistic for pair in combinations(columns, 2)]
            return np.rint(np.nan_to_num(taus) * comb(len(rows), 2)).astype(np.int64)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dp_copula, "Concordances", Pairs)
        return (yield from right(*given))


# -- what stays behind, and manners ---------------------------------------------------------------


def entering(before: Callable[..., Any]) -> Fault:
    """Something is done with the table first; another table may be given back."""

    def admit(right, self, table, schema, **more):
        changed = before(self, table, schema)
        return right(table if changed is None else changed, schema, **more)

    return generator(admit=admit)


def hide_in_closure(self, table, schema):
    self._describe = lambda: len(table)


def quote_in_cause(self, table, schema):
    try:
        schema.validate(table, show_values=True)
    except SchemaError as error:
        with pytest.raises(SchemaError) as clean:
            schema.validate(table)
        raise SchemaError(str(clean.value)) from error


def clipped(self, table, schema):
    numbers = [column for column in schema if column.is_number]
    return table.assign(**{c.name: c.domain.clip(table[c.name]) for c in numbers})


def save_top(right, self):
    state, arrays = right()
    return state, {**arrays, "top": self.leak_}


def restore_another(right, self, *state):
    right(*state)
    draw = self._draw
    self._draw = lambda *given: {name: values[::-1] for name, values in draw(*given).items()}


def draw_outside(right, self, *given):
    drawn = right(*given)
    return {**drawn, "pay": drawn["pay"] * 1.5}


def forget_first(right, self, *given, **named):
    self._forget()
    return right(*given, **named)


def save_pickle(right, self, path):
    Path(path).write_bytes(pickle.dumps(self.get_params()))


def set_clip(right, self, *given):
    right(*given)
    self.on_unknown = "clip"


HALF_NOISE, QUARTER_NOISE = divided(2.0), divided(4.0)
HALF_SOURCE, QUARTER_SOURCE = (source(partial(DividingSource, factor=f)) for f in (2.0, 4.0))
PERSON_FORGOTTEN = calibrated(lambda known, ledger: of_unit(known, ledger.neighbours, 1))
ROOT_OF_TWO_FORGOTTEN = calibrated(
    lambda known, ledger: of_unit(known, "add-remove", ledger.rows_per_unit)
)
ROOT_OF_COLUMNS_FORGOTTEN = calibrated(
    lambda known, _: Alike(known.budget, known.unit, known.failure_probability)
)
UNCLIPPED = curator(_noisy=add_unclipped_sum)
TWICE_RELEASED = Fault({"_ask": release_twice}, {"_charge": charge_first_release_only})
MISSING_EXACT = curator(_noisy=keep_missing_exact)
N_TIMES_TOO_SMALL = curator(_noisy=lambda right, c, x, scale: right(x, scale / len(c._rows)))
SEED_FIXED = source(lambda _: seeded(20211))
DOMAIN_FROM_DATA = generator(_enter=domain_of_rows)
TRUE_SIZE = generator(_size_to_keep=lambda right, self, rows: rows)
RAW_ORDER = generator(_fit=order_by_true_counts)
TAU_B = generator(_kendall=tau_b)
FLOATS = generator(
    noise_source=lambda right, self, rng: DiffprivlibNoise(None),
    _fit=relabel(lambda _: SecureNoise().facts),
)
#: Noise that is not the one that the ledger states, which no bound on epsilon shows.
EXACT_PAIRS = other_source(lambda c, q: None if q.stage == "coarse pairs" else c._source)
SAME_NOISE = other_source(lambda c, _: seeded(id(c._rows) % 2**32))
BLINDING = curator(answer=blind)
ROWS_ONLY = generator(open_ledger=lambda right, self, schema: right(Schema(schema.columns)))

#: Faults by the rule of the contract that must catch them, and by what is wrong.
BY_RULE: dict[str, dict[str, Fault]] = {
    "charged first": {
        "ledger written after the rows are read": curator(answer=charge_afterwards),
        "refused charge swallowed": curator(_charge=swallow_refusal),
    },
    "cost": {
        "one look not charged": curator(answer=look_once_more),
        "budget spent twice": curator(_answer=mean_of_two),
        "half of the noise": HALF_NOISE,
        "unclipped value": UNCLIPPED,
        "k rows per person ignored by the noise": PERSON_FORGOTTEN,
    },
    "ledger": {
        "total of the ledger is not that of its entries": generator(open_ledger=halve_total)
    },
    "exact noise": {
        "float noise unlabelled": FLOATS,
        "homemade float noise": curator(_noisy=own_noise, _chosen=own_choice),
    },
    "seed stamped": {
        "seeded noise without a stamp": generator(_fit=relabel(lambda f: replace(f, seeded=False)))
    },
    "fresh randomness": {"seed fixed inside": SEED_FIXED},
    "global randomness": {
        "global randomness": source(lambda _: seeded(np.random.randint(2**31)))  # noqa: NPY002
    },
    "sampling apart": {
        "sampling repeats the noise": generator(
            noise_source=remember_source, _chunks=draw_from_noise
        )
    },
    "person": {
        "k rows per person ignored": ROWS_ONLY,
    },
    "replay": {
        "domain from data": DOMAIN_FROM_DATA,
        "exact rate of missing values": by_column(lambda v: float((v == MISSING).mean())),
        "missing-value pattern leaked": learns(
            lambda rows: np.unique([v == MISSING for v in rows.numbers.values()], axis=1)
        ),
        "true n under add/remove": TRUE_SIZE,
        "category order from raw labels": by_column(lambda v: pd.unique(v).tolist(), cells=True),
        "ties broken on raw counts": by_column(ranks, cells=True),
        "encoder outside the ledger": learns(
            lambda r: pd.Series(r.numbers["rich"]).groupby(r.codes["job"]).mean().to_dict()
        ),
        "an exact number is shown": learns(
            lambda rows: SimpleNamespace(n=len(rows)),  # which a plain comparison leaves aside
            tables=lambda right, self: {"n": pd.DataFrame({"n": [self.leak_.n]})},
        ),
        "setting chosen on raw data": curator(answer=halve_share_of_many_rows),
        "order of tables by their true counts": RAW_ORDER,
    },
    "reading": {"one row types a whole column": generator(_enter=type_whole_column)},
    "dtypes": {
        "dtype that betrays a row": generator(
            _dtype_to_keep=lambda right, self, column, s: column.domain.storage(s)
        )
    },
    "no row in the model": {
        "raw frame kept in the model": entering(
            lambda self, table, _: setattr(self, "_debug", {"input": table})
        ),
        "raw frame kept in a closure": entering(hide_in_closure),
    },
    "no row in the file": {
        "value of a row in the file": learns(
            lambda r: np.sort(r.numbers["pay"])[-5:].astype(np.float32), _state=save_top
        )
    },
    "no pickle": {"file is a pickle": generator(save=save_pickle)},
    "fit": {
        "table changed by the fit": entering(
            lambda _, table, __: table.sort_values("pay", inplace=True)  # noqa: PD002
        ),
        "setting changed by the fit": generator(_fit=set_clip),
    },
    "same seed": {"seed ignored": source(lambda _: seeded(None))},
    "old model kept": {"old model lost by a refused fit": generator(fit=forget_first)},
    "refusals": {"bad values repaired in silence": entering(clipped)},
    "schema": {"values drawn outside the domain": generator(_draw=draw_outside)},
    "save and load": {"another model is read back": generator(_restore=restore_another)},
    "messages": {
        "exception quoting a private value": entering(
            lambda _, table, schema: schema.validate(table, show_values=True) and None
        ),
        "exception whose cause quotes a private value": entering(quote_in_cause),
    },
    "progress": {
        "progress told to nobody": generator(
            fit=lambda right, self, *given, progress=None: right(*given)
        )
    },
}
RULES = {name: (fault, rule) for rule, own in BY_RULE.items() for name, fault in own.items()}
