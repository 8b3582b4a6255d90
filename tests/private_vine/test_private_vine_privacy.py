"""The promise of PrivateVine: accounts, neighbours, sensitivities, noise, and what is stored."""

from __future__ import annotations

import gc
import io
import math
import struct
import types
import zipfile
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from vine_drivers import cost_of, exact, looked

from copula_shirley import Budget, BudgetError, Column, Ledger, Schema, SchemaError, load
from copula_shirley.measure.calibration import Calibration
from copula_shirley.measure.curator import Curator
from copula_shirley.measure.queries import Tables
from copula_shirley.measure.recorded_fits import recorded, replayed
from copula_shirley.privacy.ledger import NEIGHBOURS
from copula_shirley.privacy.noise import SeededNoise
from copula_shirley.privacy.zcdp import rho_of
from copula_shirley.private_vine.cell_maps import AllRows, Axis, GroupMap
from copula_shirley.private_vine.generator import PrivateVine
from copula_shirley.rows.memory import MemoryRows
from copula_shirley.rows.rows import Chunk

#: Standard errors that a normal variable passes with a chance below 2e-9.
SIX = 6.0


def town(missing: bool = True) -> Schema:
    return Schema(
        (
            Column("age", "integer", minimum=0, maximum=99, missing=missing),
            Column("job", "categorical", categories=("arts", "farm", "rare"), missing=missing),
            Column("pay", "continuous", minimum=-1e6, maximum=1e6, special=(0,), missing=missing),
            Column("flag", "boolean", missing=missing),
            Column(
                "day", "datetime", minimum="2020-01-01", maximum="2020-12-31", resolution="1D",
                missing=missing,
            ),
            Column("same", "integer", minimum=7, maximum=8),
            Column("code", "categorical", categories=(1, 2, 3), missing=missing),
            Column("y", "categorical", categories=("no", "yes", "perhaps")),
        )
    )  # fmt: skip


def townspeople(n: int = 80) -> list[dict[str, Any]]:
    rng = np.random.default_rng(5)
    rows = []
    for _ in range(n):
        rich = bool(rng.random() < 0.5)
        rows.append(
            {
                "age": int(rng.integers(20, 60) + 20 * rich),
                "job": "arts" if rich ^ (rng.random() < 0.2) else "farm",
                "pay": float(round(1000 * (1 + rich))),
                "flag": rich,
                "day": pd.Timestamp("2020-01-01") + pd.Timedelta(days=int(rng.integers(0, 300))),
                "same": 7,
                "code": 1 + rich,
                "y": "yes" if rich else "no",
            }
        )
    return rows


#: Rows that stand out: each is the only one of its kind in the table.
ODD = {
    "all missing": dict.fromkeys(["age", "job", "pay", "flag", "day", "code"], None),
    "a gap among whole numbers": {"age": None},
    "a gap among booleans": {"flag": None},
    "a gap among dates": {"day": None},
    "a gap among codes": {"code": None},
    "the only one of a category": {"job": "rare", "code": 3},
    "the only one of a class": {"y": "perhaps"},
    "an outlier": {"pay": 1e6, "age": 99},
    "the only decimal": {"pay": 0.123456789},
    "a constant column varies": {"same": 8},
    "a special value": {"pay": 0.0},
}


# -- the ledger's total is the budget ----------------------------------------------


@settings(max_examples=50)
@given(
    st.fixed_dictionaries(
        {
            "epsilon": st.sampled_from([0.01, 1.0, 30.0, 1e3, 1e5]),
            "delta": st.sampled_from([0.0, 1e-9, 1e-3]),
            "neighbours": st.sampled_from(NEIGHBOURS),
            "truncation": st.sampled_from([1, 2, None, "auto"]),
            "reweight": st.sampled_from([True, True, False]),
            "families": st.booleans(),
            "random_state": st.integers(0, 99),
        }
    ),
    st.lists(st.sampled_from(town().names), min_size=1, max_size=5, unique=True),
    st.sampled_from([1, 7, 60, 400]),
    st.sampled_from([None, 1, 3]),
    st.booleans(),
)
def test_the_total_of_the_ledger_is_the_budget(
    setting: dict[str, Any], names: list[str], n: int, rows_each: int | None, targeted: bool
) -> None:
    schema = Schema(tuple(town()[name] for name in names))
    table = pd.DataFrame(townspeople(n))[names]
    if rows_each is not None:
        table["who"] = [f"p{i // rows_each}" for i in range(n)]
        schema = Schema(schema.columns, "who", rows_each)
    few = [name for name in names if schema[name].size <= 32]
    setting = {**setting, "target": few[0] if targeted and few else None}
    ledger = PrivateVine(**setting).fit(table, schema).ledger_
    budget = Budget(setting["epsilon"], setting["delta"])
    assert ledger.budget == budget and not ledger.unprotected
    assert ledger.proved == ledger.spent and ledger.spent.delta == budget.delta
    assert ledger.spent.epsilon == pytest.approx(budget.epsilon, rel=1e-9)
    total = math.fsum(spend.rho or spend.epsilon for spend in ledger.spends)
    whole = budget.epsilon
    if budget.delta:
        whole = rho_of(budget.epsilon, budget.delta, gdp=ledger.gdp)
        assert ledger.gdp or budget.epsilon > 8
    assert total == pytest.approx(whole, rel=1e-9)
    unit = ("row", 1) if rows_each is None else ("person", rows_each)
    assert (ledger.neighbours, ledger.unit, ledger.rows_per_unit) == (setting["neighbours"], *unit)


class Sealed:
    """Stands for rows that must not be looked at."""

    def __getattribute__(self, name: str) -> Any:
        raise AssertionError(f"a row was touched: {name}")

    def __len__(self) -> int:
        raise AssertionError("the rows were counted")


TABLES = Tables("tables", [GroupMap((Axis("a", np.arange(2)),))], 0.25)


@pytest.mark.parametrize("delta", [0.0, 1e-9])
@pytest.mark.parametrize("before", [0.0, 0.5])
def test_a_spend_beyond_the_budget_is_refused_before_a_row_is_touched(
    delta: float, before: float
) -> None:
    ledger = Ledger(Budget(1.0, delta), neighbours="add-remove", zcdp=delta > 0)
    curator = Curator(Sealed(), ledger, SeededNoise(np.random.default_rng(0)))
    total = Calibration(ledger.budget, ledger.sensitivity()).total
    if before:
        charge = ledger.charge_rho if delta else ledger.charge
        charge("earlier", "rows", "noise", before * total)
    with pytest.raises(BudgetError, match=TABLES.stage):
        curator.answer(replace(TABLES, share=1 - before + 1e-6))
    assert len(ledger.spends) == (before > 0) and not curator.transcript.answers


def test_what_is_charged_is_charged_before_the_rows_are_touched() -> None:
    ledger = Ledger(Budget(1.0, 1e-9), neighbours="add-remove", zcdp=True)
    curator = Curator(Sealed(), ledger, SeededNoise(np.random.default_rng(0)))
    with pytest.raises(AssertionError, match=r"touched|counted"):
        curator.answer(TABLES)
    assert ledger.spent.rho == pytest.approx(rho_of(1.0, 1e-9) / 4)


# -- record and replay on neighbours ------------------------------------------------

SETTINGS = {
    "rich": {"epsilon": 300.0, "target": "y"},
    "no target": {"epsilon": 300.0, "truncation": None},
    "pure": {"epsilon": 100.0, "delta": 0.0, "reweight": False},
    "poor": {"epsilon": 0.1},
}


def assert_alike(
    fit: dict[str, Any], tables: list[pd.DataFrame], schema: Schema, folder: Path
) -> PrivateVine:
    """Two fits that are told the same noisy answers ask and leave behind the same."""
    one, other = (PrivateVine(random_state=1, **fit) for _ in tables)
    with recorded(one) as first:
        one.fit(tables[0], schema)
    with replayed(other, first) as second:
        other.fit(tables[1], schema)
    assert first.questions == second.questions and len(first.questions) > 1
    assert one.n_rows_ == other.n_rows_ and one.dtypes_ == other.dtypes_
    for model, name in ((one, "one"), (other, "other")):
        model.save(folder / name)
    assert (folder / "one").read_bytes() == (folder / "other").read_bytes()
    for more in ({"random_state": 3}, {}):
        pd.testing.assert_frame_equal(*(model.sample(40, **more) for model in (one, other)))
    return one


@pytest.mark.parametrize("relation", NEIGHBOURS)
@pytest.mark.parametrize("odd", ODD)
def test_neighbours_differ_in_nothing_but_noisy_answers(
    odd: str, relation: str, tmp_path: Path
) -> None:
    rows = townspeople()
    neighbour = [*rows, {**rows[0], **ODD[odd]}]
    # tables are made anew from the rows, so that pandas chooses the dtypes of each
    tables = [pd.DataFrame(rows), pd.DataFrame(neighbour)]
    if relation == "replace-one":  # the answers may as well be about the odd table
        tables = [pd.DataFrame(neighbour[1:]), pd.DataFrame(rows)]
    setting = list(SETTINGS.values())[list(ODD).index(odd) % len(SETTINGS)]
    assert_alike({"neighbours": relation, **setting}, tables, town(), tmp_path)


@pytest.mark.parametrize("setting", SETTINGS)
def test_a_tiny_table_and_its_neighbour_differ_in_nothing_but_noisy_answers(
    setting: str, tmp_path: Path
) -> None:
    rows = townspeople(2)
    odd = pd.DataFrame([{**rows[0], **ODD["all missing"]}])
    assert_alike(SETTINGS[setting], [pd.DataFrame(rows), odd], town(), tmp_path)


@pytest.mark.parametrize("relation", NEIGHBOURS)
def test_neighbours_by_a_person_differ_in_nothing_but_noisy_answers(
    relation: str, tmp_path: Path
) -> None:
    rows = [{**row, "who": f"p{i // 3}"} for i, row in enumerate(townspeople(60))]
    odd = [{**rows[0], **ODD[name], "who": "p0"} for name in list(ODD)[:3]]
    neighbour = [*rows[3:], *(odd if relation == "replace-one" else [])]
    tables = [pd.DataFrame(rows), pd.DataFrame(neighbour)]
    fit = {"neighbours": relation, **SETTINGS["rich"]}
    model = assert_alike(fit, tables, Schema(town().columns, "who", 3), tmp_path)
    assert model.ledger_.unit == "person" and "who" not in model.sample(5)


DAY = {"minimum": "2020-01-01", "maximum": "2020-02-01", "resolution": "1D"}
STORED = [
    Column("x", "integer", minimum=0, maximum=9, missing=True),
    Column("x", "continuous", minimum=0, maximum=9, missing=True),
    Column("x", "continuous", minimum=0, maximum=9),
    Column("x", "boolean", missing=True),
    Column("x", "datetime", **DAY, missing=True),
    Column("x", "datetime", **DAY, format="%Y-%m-%d", missing=True),
    *(
        Column("x", "categorical", categories=pair, missing=missing)
        for pair in (("a", "b"), (1, 2), (1, 2.5), (1.5, 2.5), (1, "a"), (True, False), (True, "b"))
        for missing in (True, False)
    ),
]


@pytest.mark.parametrize("column", STORED)
def test_every_value_fits_the_dtype_of_its_column(column: Column) -> None:
    """It follows from the column alone; and every value that could be drawn can be stored in it."""
    names = column.domain.cells().first
    drawn = column.domain.from_numbers(names, column.domain.private_storage)
    Schema((column,)).validate(pd.DataFrame({"x": drawn}))
    assert np.array_equal(column.domain.to_numbers(drawn), names)


# -- a transcript is the model ------------------------------------------------------


@pytest.mark.parametrize("setting", [*SETTINGS.values(), {"epsilon": None, "target": "y"}])
def test_a_saved_transcript_gives_the_same_model_bit_for_bit(
    setting: dict[str, Any], tmp_path: Path
) -> None:
    model = PrivateVine(random_state=2, **setting)
    model.fit(pd.DataFrame(townspeople()), town()).save(tmp_path / "model")
    again = load(tmp_path / "model")
    for given_ in (None, {"job": "farm", "age": (20, 60)}):
        drawn = [m.sample(50, random_state=4, given=given_) for m in (model, again)]
        pd.testing.assert_frame_equal(*drawn)
    again.save(tmp_path / "again")
    assert (tmp_path / "model").read_bytes() == (tmp_path / "again").read_bytes()


# -- sensitivities by brute force ----------------------------------------------------

#: Few values, so that all rows that could be are few too.
SMALL = Schema(
    (
        Column("a", "categorical", categories=("p", "q")),
        Column("b", "integer", minimum=0, maximum=1),
        Column("c", "boolean"),
        Column("y", "categorical", categories=("n", "m")),
    )
)
WIDE = Schema(
    (
        Column("a", "integer", minimum=0, maximum=5),
        Column("b", "continuous", minimum=0, maximum=9000, special=(0,)),
        Column("c", "categorical", categories=("p",), missing=True),
    )
)


def rows_that_could_be(schema: Schema) -> list[dict[str, Any]]:
    values = {
        "a": ["p", "q"] if schema is SMALL else [0, 3, 5],
        "b": [0, 1] if schema is SMALL else [0.0, 1.5, 9000.0],
        "c": [False, True] if schema is SMALL else ["p", None],
        "y": ["n", "m"],
    }
    names = list(schema.names)
    return [dict(zip(names, row, strict=True)) for row in product(*(values[n] for n in names))]


def numbered(schema: Schema, rows: list[tuple[int, dict[str, Any]]]) -> MemoryRows:
    """Rows as a fit sees them."""
    return MemoryRows.of(pd.DataFrame([row for _, row in rows]), schema)


def neighbours_of(
    rows: list[tuple[int, dict[str, Any]]], possible: list[dict[str, Any]], relation: str, k: int
) -> list[list[tuple[int, dict[str, Any]]]]:
    """All tables in which the k rows of one unit are gone, came, or are others."""
    units = [rows[i : i + k] for i in range(0, len(rows), k)]
    without = [[r for r in rows if r not in unit] for unit in units]
    if relation == "replace-one":
        return [
            rest + [(n, row) for (n, _), row in zip(unit, new, strict=True)]
            for unit, rest in zip(units, without, strict=True)
            for new in product(possible, repeat=k)
        ]
    free = [len(rows) + i for i in range(k)]
    return [rest for rest in without if rest] + [
        rows + list(zip(free, new, strict=True)) for new in product(possible, repeat=k)
    ]


CASES = [
    ("add-remove", 1e-9, 1, SMALL, "y"),
    ("add-remove", 0.0, 1, WIDE, None),
    ("add-remove", 1e-9, 2, Schema(SMALL.columns[:3]), None),
    ("replace-one", 1e-9, 1, SMALL, None),
    ("replace-one", 0.0, 1, SMALL, "y"),
    ("replace-one", 1e-9, 1, WIDE, None),
    ("replace-one", 0.0, 2, Schema(SMALL.columns[:3]), None),
    ("replace-one", 1e-9, 2, Schema(SMALL.columns[:3]), None),
]


class Unasked(Ledger):
    """A ledger that takes no notes, which is quicker."""

    def charge(self, *_: Any) -> None: ...

    def charge_rho(self, *_: Any) -> None: ...


@pytest.mark.parametrize(("relation", "delta", "k", "schema", "target"), CASES)
def test_no_neighbour_costs_more_than_what_was_charged(
    relation: str, delta: float, k: int, schema: Schema, target: str | None
) -> None:
    seed = CASES.index((relation, delta, k, schema, target))
    rng = np.random.default_rng(seed)
    possible = rows_that_could_be(WIDE if schema is WIDE else SMALL)
    possible = [{n: row[n] for n in schema.names} for row in possible]
    possible = [row for i, row in enumerate(possible) if row not in possible[:i]]
    rows = [(i, possible[rng.integers(len(possible))]) for i in range(150)]
    if k > 1:
        person = Schema(schema.columns, "who", k)
        table = pd.DataFrame([{**row, "who": f"p{i // k}"} for i, row in rows])
    else:
        person, table = schema, pd.DataFrame([row for _, row in rows])
    model = PrivateVine(1e4, delta, neighbours=relation, target=target, random_state=seed)
    with recorded(model) as recording:
        model.fit(table, person)
    queries, told = [asked.query for asked in recording.questions], model.ledger_
    assert {type(query) for query in queries} == {Tables} and len(queries) >= 5
    used = {type(cell_map) for query in queries for cell_map in query.cell_maps}
    assert used == {AllRows, GroupMap}
    here = numbered(schema, rows)
    others = [numbered(schema, near) for near in neighbours_of(rows, possible, relation, k)]
    unit = {"neighbours": told.neighbours, "rows_per_unit": told.rows_per_unit, "zcdp": told.zcdp}
    unasked = Unasked(Budget(1e4, delta), **unit)
    for query, spend in zip(queries, told.spends, strict=True):
        charged = spend.rho if delta else spend.epsilon
        one = looked(here, query, unasked)
        costs = [cost_of(one, looked(near, query, unasked), zcdp=delta > 0) for near in others]
        assert max(costs) <= charged * (1 + 1e-9), (query.stage, max(costs), charged)
        # the table of each cell map changes by the rows of one unit only
        counts = exact(here, query).values  # noqa: PD011
        for near in others:
            for ours, theirs in zip(counts, exact(near, query).values, strict=True):
                change = np.abs(ours - theirs).sum()
                assert change <= k * (2 if relation == "replace-one" else 1), query.stage
        if relation == "add-remove":
            # nor is more noise drawn than is paid for: all rows of a unit may be alike
            assert max(costs) >= charged * (1 - 1e-9), query.stage


# -- the noise is what the ledger says ------------------------------------------------


@pytest.mark.parametrize("delta", [0.0, 1e-9])
@pytest.mark.parametrize(
    ("relation", "k", "epsilon"),
    [
        ("add-remove", 1, 20.0),
        ("add-remove", 1, 8.0),
        ("replace-one", 1, 20.0),
        ("replace-one", 3, 60.0),
        ("replace-one", 3, 20.0),
    ],
)
def test_the_noise_has_the_scale_that_the_ledger_implies(
    relation: str, k: int, epsilon: float, delta: float
) -> None:
    size, width = 400, 5
    listed = tuple(f"c{i}" for i in range(size))
    schema = Schema(tuple(Column(f"x{j}", "categorical", categories=listed) for j in range(width)))
    rng = np.random.default_rng(11)
    table = pd.DataFrame({f"x{j}": np.array(listed)[rng.integers(0, 4, 900)] for j in range(width)})
    if k > 1:
        table["who"] = np.arange(900) // k
        schema = Schema(schema.columns, "who", k)
    model = PrivateVine(epsilon, delta, neighbours=relation, random_state=11)
    with recorded(model) as recording:
        model.fit(table, schema)
    queries, rows = [q.query for q in recording.questions], recording.questions[-1].rows
    apart = 2 if relation == "replace-one" else 1
    seen = 0
    answers = model.transcript_.answers
    for query, answer, spend in zip(queries, answers, model.ledger_.spends, strict=True):
        noise = np.concatenate(
            [
                (noisy - true).ravel()
                for noisy, true in zip(answer.values, exact(rows, query).values, strict=True)
            ]
        ).astype(float)
        many = len(query.cell_maps)
        if delta:
            sigma = math.sqrt(apart) * k * math.sqrt(many / (2 * spend.rho))
            assert model.ledger_.gdp == (epsilon in (8.0, 20.0 * (k > 1)))
            if model.ledger_.gdp:  # 1/sigma^2 is mu^2 (1 - mu^2 / 12) for a count that changes by 1
                sigma /= math.sqrt(1 - 1 / (12 * sigma**2))
            error = math.sqrt(2 / len(noise))  # relative, of the variance of normal variables
        else:
            stay = math.exp(-spend.epsilon / (apart * k * many))
            sigma = math.sqrt(2 * stay) / (1 - stay)
            error = math.sqrt(5 / len(noise))  # the fourth moment of Laplace noise is 6
        assert answer.sigma == pytest.approx(sigma, rel=1e-9)
        seen += len(noise)
        if len(noise) > 500:
            assert noise.var() / sigma**2 == pytest.approx(1.0, abs=SIX * error)
            assert abs(noise.mean()) < SIX * sigma / math.sqrt(len(noise))
        else:
            assert np.abs(noise).max() < 20 * sigma  # Laplace: 500 exp(-28) < 1e-9
    assert seen > 2000


# -- nothing of the rows is stored -----------------------------------------------------

N = 997
CANARY = 424242.4217


def with_canaries() -> tuple[pd.DataFrame, Schema]:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "pay": rng.uniform(0, 1e6, N).round(4),
            "stamp": 7_654_321 + rng.integers(0, 9, N),
            "job": rng.choice(["arts", "farm"], N),
            "day": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 9e6, N), unit="s"),
            "who": [f"soul-{i * 7919}" for i in range(N)],
        }
    )
    table.loc[0, "pay"] = CANARY
    table.loc[1, "job"] = "pearl diver"
    schema = Schema(
        (
            Column("pay", "continuous", minimum=0, maximum=1e6),
            Column("stamp", "integer", minimum=0, maximum=9_000_000),
            Column("job", "categorical", categories=("arts", "farm", "else"), other="else"),
            Column("day", "datetime", minimum="2020-01-01", maximum="2021-01-01"),
        ),
        "who",
        1,
    )
    return table, schema


@pytest.mark.parametrize("epsilon", [1.0, 200.0, None])
def test_no_row_is_in_the_saved_file(epsilon: float | None, tmp_path: Path) -> None:
    table, schema = with_canaries()
    model = PrivateVine(epsilon, on_unknown="clip", random_state=0).fit(table, schema)
    model.save(tmp_path / "model")
    with zipfile.ZipFile(tmp_path / "model") as file:
        members = {name: file.read(name) for name in file.namelist()}
    content = b"\0".join(members.values()) + repr(model.transcript_).encode()
    hidden = [b"424242", b"pearl", b"soul", b"765432", struct.pack("<d", CANARY)]
    hidden += [struct.pack("<f", CANARY), struct.pack("<q", 7_654_321)]
    if epsilon == 1.0:  # with less noise the noisy number is the true one by chance
        hidden.append(f'"rows": {N},'.encode())
    hidden += [str(moment).encode() for moment in table["day"][:20]]
    for part in hidden:
        assert part not in content, part
    for name, member in members.items():
        if name.endswith(".npy"):
            array = np.load(io.BytesIO(member))
            assert array.dtype == np.int64
            assert N not in array.shape and array.size % N, name


def reachable(root: Any) -> list[Any]:
    """Every object that an object holds on to, modules and classes aside."""
    seen, todo = {}, [root]
    while todo:
        one = todo.pop()
        if id(one) in seen or isinstance(one, type | types.ModuleType | types.FunctionType):
            continue
        seen[id(one)] = one
        todo += gc.get_referents(one)
    return list(seen.values())


def test_a_fitted_model_holds_no_array_of_rows() -> None:
    table, schema = with_canaries()
    model = PrivateVine(50.0, on_unknown="clip", random_state=0).fit(table, schema)
    held = reachable(vars(model))
    assert not [
        one for one in held if isinstance(one, pd.DataFrame | pd.Series | MemoryRows | Chunk)
    ]
    arrays = [one for one in held if isinstance(one, np.ndarray)]
    assert len(arrays) > 10 and not [a.shape for a in arrays if N in a.shape]


def test_the_number_of_rows_is_noisy() -> None:
    table = pd.DataFrame(townspeople())
    sizes = [PrivateVine(0.5, random_state=i).fit(table, town()).n_rows_ for i in range(6)]
    assert len(set(sizes)) > 3 and sum(size == len(table) for size in sizes) < 3
    model = PrivateVine(0.5, random_state=0).fit(table, town())
    assert len(model.sample()) == model.n_rows_


# -- rows that are not there -------------------------------------------------------------


def test_no_rows_at_all() -> None:
    # a table without rows is refused at the door; the stages themselves do not mind
    table = pd.DataFrame(townspeople())
    with pytest.raises(SchemaError, match="no rows"):
        PrivateVine(random_state=0).fit(table.iloc[:0], town())

    def emptied(rows: MemoryRows, *rest: Any) -> Curator:
        return Curator(MemoryRows(rows.schema, rows.take(np.arange(0))), *rest)

    for setting in (*SETTINGS.values(), {"epsilon": None}):
        model = PrivateVine(random_state=0, **setting)
        model.curator_class = emptied
        town().validate(model.fit(table, town()).sample(30))


def test_without_a_seed_the_noise_is_exact_and_said_to_be() -> None:
    table = pd.DataFrame(townspeople())
    models = [PrivateVine(5.0, target="y").fit(table, town()) for _ in range(2)]
    for model in models:
        assert "OpenDP" in model.ledger_.randomness and "seed" not in str(model.ledger_)
        assert dict(model.ledger_.summary())["proved"].endswith("for the whole release")
    margins = [model.transcript_.answers[1].values for model in models]  # noqa: PD011
    assert not all(map(np.array_equal, *margins))
