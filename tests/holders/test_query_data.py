"""Queries as data: what a holder counts is what was asked, and every number of it is hashed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import tables
from place import SCHEMA

from copula_shirley import ArtefactError, PrivateVine
from copula_shirley.holders.query_data import digest_of, from_data, to_data
from copula_shirley.measure.queries import Tables
from copula_shirley.measure.recorded_fits import recorded
from copula_shirley.privacy.recording import Question
from copula_shirley.private_vine.cell_maps import Axis, GroupMap
from copula_shirley.rows.memory import MemoryRows
from copula_shirley.rules.coordinates import Coordinates


def asked() -> tuple[list[Tables], Coordinates, pd.DataFrame]:
    """All questions of a fit to columns of every kind."""
    vine, table = PrivateVine(8.0, random_state=0), tables.people(400)
    with recorded(vine) as recording:
        vine.fit(table, SCHEMA)
    found = [event.query for event in recording.events if isinstance(event, Question)]
    return found, vine.coordinates(SCHEMA), table


def test_a_question_that_went_by_file_is_the_same_question() -> None:
    questions, coordinates, table = asked()
    rows = MemoryRows.of(SCHEMA.validate(table), SCHEMA)
    assert len(questions) > 4
    for question in questions:
        again = from_data(*to_data(question), coordinates)
        assert (again.stage, again.share) == (question.stage, question.share)
        pairs = zip(rows.count(question.cell_maps), rows.count(again.cell_maps), strict=True)
        assert all(np.array_equal(one, other) for one, other in pairs)
        assert digest_of(again) == digest_of(question)
    assert len({digest_of(question) for question in questions}) == len(questions)


def test_every_number_of_a_cell_map_is_hashed() -> None:
    questions, coordinates, _ = asked()
    question = next(q for q in questions if any(_cut(one) for one in q.cell_maps))
    said, arrays = to_data(question)
    before = digest_of(question)
    for name, array in arrays.items():
        bent = array.copy()
        bent[-1] = bent[-2]
        if not np.array_equal(bent, array):
            other = from_data(said, {**arrays, name: bent}, coordinates)
            assert digest_of(other) != before, name
    assert digest_of(Tables("other", question.cell_maps, question.share)) != before
    assert digest_of(Tables(question.stage, question.cell_maps, question.share / 2)) != before


def _cut(one: Any) -> bool:
    return isinstance(one, GroupMap) and any(axis.intervals is not None for axis in one.parts)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"share": 2.0}, "share"),
        ({"share": 0.0}, "share"),
        ({"tables": [[9]]}, "axes that it does not hold"),
        ({"tables": [[0] * 5]}, "axes that it does not hold"),
        ({"axes": [{"name": "nobody", "cells": 5}]}, "not readable"),
        ({"axes": [{"name": "sex", "cells": 10**9}]}, "not readable"),
        ({"extra": 1}, "unknown field"),
    ],
)
def test_what_is_no_question_is_refused(change: dict[str, Any], match: str) -> None:
    coordinates = PrivateVine().coordinates(SCHEMA)
    name = next(iter(coordinates.modelled)).name
    size = coordinates.modelled[name].size
    said, arrays = to_data(Tables("margins", [GroupMap((Axis(name, np.arange(size)),))], 0.1))
    from_data(said, arrays, coordinates)
    with pytest.raises(ArtefactError, match=match):
        from_data({**said, **change}, arrays, coordinates)
