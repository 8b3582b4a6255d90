"""Cells that follow magnitude: what they are, who uses them, and who is told to."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from copula_shirley import Column, PrivateVine, Schema, SchemaError, plan, tasks
from copula_shirley.baselines import DPHistogram, PrivBayes
from copula_shirley.schema.draft import draft_column
from copula_shirley.schema.scales import notes_on_scales

COST = Column("cost", "continuous", minimum=0, maximum=500_000, resolution=0.01)
LOG = replace(COST, scale="log")


def number(kind: str, low: Any, high: Any, **fields: Any) -> Column:
    return Column("x", kind, minimum=low, maximum=high, **{"scale": "log", **fields})


@pytest.mark.parametrize(
    ("column", "first", "last"),
    [
        (number("integer", -5, 9), [-5, -3, -1, 0, 1, 2, 4, 8], [-4, -2, -1, 0, 1, 3, 7, 9]),
        (number("integer", 5, 20), [5, 8, 16], [7, 15, 20]),
        (number("integer", 0, 9, special=(5,)), [0, 1, 2, 4, 5, 6, 8], [0, 1, 3, 4, 5, 7, 9]),
        # powers of 4, so that no more than four cells are left
        (number("integer", 0, 99, cells=4), [0, 1, 4, 16, 64], [0, 3, 15, 63, 99]),
        (
            number("continuous", 0, 0.08, resolution=0.01, missing=True),
            [-math.inf, 0, 0.005, 0.015, 0.035, 0.075],
            [-math.inf, 0.005, 0.015, 0.035, 0.075, 0.08],
        ),
        (number("duration", "0s", "9min", resolution="1min"), [0, 1, 2, 4, 8], [0, 1, 3, 7, 9]),
    ],
)
def test_cells_by_hand(column: Column, first: list[float], last: list[float]) -> None:
    cells = column.domain.cells()
    assert cells.first.tolist() == pytest.approx(first)
    assert cells.last.tolist() == pytest.approx(last)
    assert not np.signbit(cells.first[cells.first == 0]).any()


def test_without_a_grid_cells_end_at_zero_and_halve_the_way_to_it() -> None:
    cells = number("continuous", -1, 4, special=(3.0,)).domain.cells()
    assert cells.first[-5:].tolist() == pytest.approx([0.5, 1, 2, 3, 3])
    assert cells.first[:3].tolist() == pytest.approx([-1, -0.5, -0.25])
    assert 0 in cells.first and 3 in cells.first


@pytest.mark.parametrize(
    "column",
    [
        number("integer", -300, 1000, special=(7,)),
        number("integer", 17, 2**53),
        number("continuous", -3, 5, special=(2.5,)),
        number("continuous", -0.7, 12.5, resolution=0.1, missing=True, special=(0.3,)),
        number("duration", "0s", "2h", resolution="1min"),
    ],
)
def test_drawn_numbers_stay_in_their_cells(column: Column) -> None:
    cells = column.domain.cells()
    codes = np.arange(cells.size).repeat(300)
    drawn = column.domain.round(cells.spread(cells.first[codes], np.random.default_rng(0)))
    np.testing.assert_array_equal(cells.index(drawn), codes)
    low, high = column.domain.number_range
    known = drawn[np.isfinite(drawn)]
    assert known.min() >= low and known.max() <= high
    assert not np.signbit(known[known == 0]).any()


def test_in_a_cell_numbers_are_drawn_uniformly_by_their_logarithm() -> None:
    cells = number("continuous", 0, 1024).domain.cells()
    drawn = cells.spread(np.full(100_000, 600.0), np.random.default_rng(0))
    # of a density 1/x from 512 to 1024 half lies below 512 * sqrt(2), and the mean is 512 / log(2)
    assert (drawn < 512 * math.sqrt(2)).mean() == pytest.approx(0.5, abs=0.01)
    assert drawn.mean() == pytest.approx(512 / math.log(2), rel=0.005)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"kind": "integer", "minimum": 0, "maximum": 9, "scale": "cubic"}, "linear or log"),
        ({"kind": "integer", "minimum": 0, "maximum": 9, "scale": ["log"]}, "linear or log"),
        ({"kind": "boolean", "scale": "log"}, "does not apply to kind boolean"),
        (
            {"kind": "datetime", "minimum": "2020-01-01", "maximum": "2020-01-02", "scale": "log"},
            "does not apply to kind datetime",
        ),
        ({"kind": "integer", "provenance": "private", "scale": "log"}, "must be left out"),
    ],
)
def test_a_scale_that_cannot_be_is_refused(fields: dict[str, Any], said: str) -> None:
    with pytest.raises(SchemaError, match=f"column 'x': scale .*{said}"):
        Column("x", **fields)


def costs(n: int = 20_000) -> pd.DataFrame:
    rng = np.random.default_rng(19)
    cost = np.where(rng.random(n) < 0.2, 0, rng.lognormal(6, 1.4, n)).clip(0, 4e5).round(2)
    return pd.DataFrame({"cost": cost, "ward": rng.choice(["a", "b"], n)})


@pytest.mark.parametrize("kind", [DPHistogram, PrivBayes])
def test_the_mean_of_money_survives_the_noise(kind: Any) -> None:
    """In equal cells of 5,000 nearly all costs are in the first, and noise in the others."""
    table, ward = costs(), Column("ward", "categorical", categories=("a", "b"))
    real = table["cost"]

    def off(column: Column) -> tuple[float, float]:
        model = kind(epsilon=1.0, random_state=0).fit(table, Schema((column, ward)))
        drawn = model.sample(20_000, random_state=0)["cost"]
        return drawn.mean() / real.mean(), drawn.quantile(0.99) / real.quantile(0.99)

    equal, followed = off(COST), off(LOG)
    assert equal[0] > 2.5
    assert 0.8 < followed[0] < 1.3 and 2 / 3 < followed[1] < 1.5


def test_private_vine_finds_its_own_cells() -> None:
    table = costs(2000)[["cost"]]
    drawn = [
        PrivateVine(1.0, random_state=0).fit(table, Schema((c,))).sample(500, random_state=1)
        for c in (COST, LOG)
    ]
    pd.testing.assert_frame_equal(*drawn)


def test_a_draft_proposes_it_where_values_span_decades() -> None:
    rng = np.random.default_rng(0)
    money, age = pd.Series(rng.lognormal(5, 1.5, 2000).round(2)), pd.Series(rng.integers(0, 99, 99))
    for series, scale in ((money, "log"), (-money.round(), "log"), (age, None)):
        column = draft_column("x", series)
        assert isinstance(column, Column) and column.scale == scale
        assert Schema.from_yaml(Schema((column,)).to_yaml())["x"].scale == scale
    even = draft_column("x", pd.Series(rng.integers(0, 500_000, 2000)))
    assert isinstance(even, Column) and even.scale is None


def test_who_has_equal_cells_is_told_what_to_write() -> None:
    age = Column("age", "integer", minimum=0, maximum=120)
    (note,) = notes_on_scales((age, COST))
    assert "'cost'" in note and "'age'" not in note and "0 to 5,000" in note
    assert "scale: log" in note
    quiet = (LOG, replace(COST, scale="linear"), replace(COST, cells=7), age)
    assert notes_on_scales(quiet) == []
    for schema, told in ((Schema((age, COST)), 1), (Schema(quiet[:1]), 0)):
        assert len(DPHistogram().notes(schema)) == told
        assert "scale: log" not in str(plan(schema, 10_000, 1.0))  # it has no equal cells
    assert PrivateVine().notes(Schema((age, COST))) == []


def test_a_plan_names_columns_whose_tails_are_lost_in_noise() -> None:
    schema = Schema((Column("age", "integer", minimum=0, maximum=120), LOG))
    few, many = (str(plan(schema, n, 1.0)) for n in (1000, 1_000_000))
    assert "Large values of 'cost' will be seen dimly" in few and "of 1,000 rows" in few
    assert "dimly" not in many


def test_the_note_is_told_before_anything_is_spent() -> None:
    said: list[str] = []

    class ToldError(Exception):
        pass

    def tell(text: str) -> None:
        said.append(text)
        raise ToldError

    model, table = DPHistogram(1.0, random_state=0), costs(500)[["cost"]]
    with pytest.raises(ToldError):
        tasks.fitted(tasks.Order(model, table, Schema((COST,)), tell=tell), "", lambda *_: None)
    assert "scale: log" in said[0] and not hasattr(model, "ledger_")
