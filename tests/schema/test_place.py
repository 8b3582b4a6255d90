from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from copula_shirley import Column, PrivateVine, Schema
from copula_shirley.errors import SchemaError
from copula_shirley.generator import find_generator
from copula_shirley.local.generator import LocalVine
from copula_shirley.schema.place import point_of

#: Two cells to the north and four to the east: a degree is 111.32 km, and half of it at 60 north.
HOME = Column("home", "place", minimum="59, 10", maximum="61, 18", resolution="112km")
OTHER = Column("rich", "boolean")


def numbers(column: Column, *values: Any) -> list[float]:
    return column.domain.to_numbers(pd.Series(values, dtype=object)).tolist()


def test_cells_are_counted_row_by_row_from_the_south_west() -> None:
    assert HOME.domain.grid == (2, 4) and HOME.size == 8
    assert numbers(HOME, "59, 10", "59.99, 17.9", "60, 10", (61, 18), "60.5;14.0") == [
        0,
        3,
        4,
        7,
        6,
    ]
    assert numbers(HOME, None, "nowhere", "61.1, 10") == [-np.inf] * 3
    assert HOME.domain.categories[:2] == ("59.500000, 11.000000", "59.500000, 13.000000")
    # the middle of the first cell: a quarter of 222.6 km north, an eighth of 445.3 km east
    assert HOME.domain.middles[0] == pytest.approx([55.66e3, 55.66e3], rel=1e-3)


def test_a_column_without_a_resolution_has_twenty_cells_along_its_longer_side() -> None:
    assert Column("x", "place", minimum="59, 10", maximum="61, 18").domain.grid == (10, 20)


def test_drawn_points_lie_all_over_their_cell() -> None:
    rng = np.random.default_rng(0)
    cells = HOME.domain.cells()
    drawn = cells.spread(np.full(4000, 6.0), rng)
    points = HOME.domain.from_numbers(drawn)
    assert numbers(HOME, *points) == [6.0] * 4000
    where = np.array([point_of(text) for text in points])
    assert np.allclose(where.mean(axis=0), [60.5, 15.0], atol=0.05)
    assert np.allclose(where.std(axis=0), [1 / 12**0.5, 2 / 12**0.5], rtol=0.05)
    # a number without a fraction is the middle
    assert HOME.domain.from_numbers(np.array([0.0, -np.inf])).tolist() == [
        "59.500000, 11.000000",
        None,
    ]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"minimum": "59"}, r"minimum \('59'\) must be latitude and longitude"),
        ({"minimum": "95, 0"}, "must be latitude and longitude"),
        ({"maximum": "58, 18"}, "must lie north and east of minimum"),
        ({"resolution": "112"}, r"resolution \('112'\) must be a length such as 500m or 2km"),
        ({"resolution": "0m"}, "must be a length"),
        ({"categories": ("a",)}, "categories"),
        ({"cells": 5}, r"cells \(5\) does not apply to kind place"),
    ],
)
def test_columns_that_cannot_be_are_refused(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(SchemaError, match=words):
        Column("home", "place", **{"minimum": "59, 10", "maximum": "61, 18", **fields})


def test_too_fine_a_grid_is_refused_before_it_is_made() -> None:
    with pytest.raises(SchemaError, match=r"resolution \('1m'\) makes .* cells; take a larger one"):
        Schema((Column("home", "place", minimum="0, 0", maximum="50, 50", resolution="1m"),))


def test_values_are_checked_and_clipped() -> None:
    schema = Schema((HOME,))
    good = pd.DataFrame({"home": ["59.5, 11"]})
    assert schema.validate(good)["home"].tolist() == ["59.5, 11"]
    for value, words in (
        ("Lyon", "a value is not a place"),
        ("62, 11", "outside the box from 59.000000, 10.000000 to 61.000000, 18.000000"),
        (None, "a value is missing"),
    ):
        with pytest.raises(SchemaError, match=words) as caught:
            schema.validate(pd.DataFrame({"home": [value]}))
        assert "Lyon" not in str(caught.value)
    clipped = schema.validate(pd.DataFrame({"home": ["62, 9"]}), on_unknown="clip")
    assert clipped["home"].tolist() == ["61.000000, 10.000000"]


def test_a_draft_does_not_guess_places() -> None:
    table = pd.DataFrame({"home": ["59.5, 11", "60.5, 12"] * 50})
    assert Schema.draft(table)["home"].kind == "categorical"


def test_a_schema_file_keeps_it() -> None:
    schema = Schema((HOME, OTHER))
    assert Schema.from_yaml(schema.to_yaml()) == schema


def people(n: int = 3000) -> pd.DataFrame:
    """Whoever is rich lives in the north, in the third column of cells."""
    rng = np.random.default_rng(0)
    rich = rng.random(n) < 0.3
    points = np.where(rich, "60.5, 15.0", "59.5, 10.5")
    return pd.DataFrame({"home": points, "rich": rich})


@pytest.mark.parametrize("name", ["private-vine", "dp-histogram", "dp-copula", "privbayes"])
def test_generators_learn_places(name: str) -> None:
    schema = Schema((HOME, OTHER))
    model = find_generator(name)(epsilon=10.0, random_state=0).fit(people(), schema)
    drawn = model.sample(1000, random_state=1)
    cells = HOME.domain.to_numbers(drawn["home"])
    assert np.isin(cells, [0.0, 6.0]).mean() > 0.9
    assert abs((cells == 6).mean() - 0.3) < 0.1
    assert drawn["home"].nunique() > 500  # points, not middles
    if name in ("private-vine", "privbayes"):
        assert (cells[drawn["rich"]] == 6).mean() > 0.9


def test_conditions_and_local_reports() -> None:
    schema = Schema((HOME, OTHER))
    model = LocalVine(6.0, target="rich", random_state=0).fit(people(), schema)
    drawn = model.sample(500, random_state=1, given={"home": "60.1, 14.2"})
    assert set(HOME.domain.to_numbers(drawn["home"])) == {6.0}
    assert drawn["rich"].mean() > 0.8


def test_a_box_is_never_measured() -> None:
    schema = Schema.of_kinds({"home": "place", "rich": "boolean"})
    with pytest.raises(SchemaError, match="column 'home': the box of places cannot be measured"):
        PrivateVine(1.0, domain="measured").check_settings(schema)
