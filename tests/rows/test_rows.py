"""Counts of public cell maps: the same however rows are cut into chunks, and nothing else kept."""

from __future__ import annotations

import gc
import pickle
import weakref
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from tables import PEOPLE, people

from copula_shirley import Schema, SchemaError
from copula_shirley.measure.queries import Declared, Query
from copula_shirley.measure.recorded_fits import recorded
from copula_shirley.private_vine import domain as private_domain
from copula_shirley.private_vine.generator import PrivateVine
from copula_shirley.rows import memory
from copula_shirley.rows.memory import MemoryRows
from copula_shirley.rows.pieces import PiecedRows, T, Work
from copula_shirley.rows.rows import CellMap, LabelMap

N = 120
SIZES = [1, 7, N - 1]


@pytest.fixture(scope="module")
def fitted() -> tuple[list[Query], MemoryRows]:
    """Every question of a fit with cut cells, and the rows it was about."""
    model = PrivateVine(1e3, target="rich", truncation=3, on_unknown="clip", random_state=0)
    with recorded(model) as recording:
        model.fit(people(N), PEOPLE)
    return [asked.query for asked in recording.questions], recording.questions[-1].rows


def cell_maps(queries: list[Query]) -> list[CellMap]:
    found = [cell_map for query in queries for cell_map in query.cell_maps]
    kinds = {type(cell_map).__name__ for cell_map in found}
    assert kinds == {"AllRows", "GroupMap"}
    return found


def test_counts_of_chunks_add_up(fitted: tuple[list[Query], MemoryRows]) -> None:
    """However the table is cut, whatever a chunk knows of the others; maps travel as bytes."""
    queries, rows = fitted
    rng = np.random.default_rng(0)
    some = sorted(rng.choice(np.arange(1, N), 5, replace=False))
    maps = cell_maps(queries)
    travelled: list[CellMap] = pickle.loads(pickle.dumps(maps))
    whole = rows.count(maps)
    assert all(table.dtype == np.int64 and table.sum() == N for table in whole)
    for starts in [[0, *some], *(list(range(0, N, size)) for size in SIZES)]:
        pieces = [rows.chunk(a, b) for a, b in zip(starts, [*starts[1:], N], strict=True)]
        order = rng.permutation(len(pieces))  # engines answer in any order
        for one, expected in zip(travelled, whole, strict=True):
            counts = sum(np.bincount(one.cells(pieces[i]), minlength=expected.size) for i in order)
            assert np.array_equal(counts, expected.ravel()), one.names


@pytest.mark.parametrize("size", SIZES)
def test_the_holder_counts_in_chunks(
    fitted: tuple[list[Query], MemoryRows], monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    queries, rows = fitted
    monkeypatch.setattr(memory, "CHUNK", size)
    again = MemoryRows(rows.schema, rows.numbers, rows.units)
    maps = cell_maps(queries)
    pairs = zip(again.count(maps), rows.count(maps), strict=True)
    assert all(np.array_equal(here, there) for here, there in pairs)


@pytest.mark.parametrize("size", SIZES)
def test_a_domain_is_measured_in_chunks(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    table = people(N)
    schema = private_domain.undeclared(table)
    stored = {c.name: c.domain.stored for c in schema}
    number = next(n for n, how in stored.items() if how == "number")
    word = next(n for n, how in stored.items() if how == "category")
    maps: list[CellMap] = [
        private_domain.MagnitudeKey(number),
        private_domain.GrainKey(number, schema[number].domain.grains),
        private_domain.RestKey(word, ("x",)),
    ]
    labels: LabelMap = private_domain.LabelKey(word)
    whole = private_domain.raw_rows(table, stored, schema)
    tables, (tally,) = whole.count(maps), whole.tally([labels])
    assert tally.total() == N
    monkeypatch.setattr(memory, "CHUNK", size)
    cut = private_domain.raw_rows(table, stored, schema)
    assert all(map(np.array_equal, cut.count(maps), tables))
    assert cut.tally([labels]) == [tally]


def test_public_objects_hold_nothing_of_the_rows(fitted: tuple[list[Query], MemoryRows]) -> None:
    """What a fit asked, as bytes, does not grow when it has been answered about more rows."""
    queries, rows = fitted
    before = len(pickle.dumps(queries))
    double = MemoryRows(rows.schema, rows.take(np.tile(np.arange(N), 2)))
    double.count(cell_maps(queries))
    assert len(pickle.dumps(queries)) == before


@dataclass
class Pieces:
    """A source of slices of a frame, in any order, one of which is lost once and comes again."""

    table: pd.DataFrame
    starts: list[int]
    order: np.ndarray
    names: tuple[str, ...] = ()
    may_keep: bool = False

    def close(self) -> None: ...

    def each(self, work: Work[T]) -> Iterator[tuple[int, T]]:
        travelled = pickle.loads(pickle.dumps(work))
        slices = zip(self.starts, [*self.starts[1:], None], strict=True)
        pieces = [self.table.iloc[start:stop] for start, stop in slices]
        for number in [*self.order, self.order[0]]:
            piece = pieces[number]
            yield int(number), travelled(int(number), [piece.iloc[:2], piece.iloc[2:]])


@dataclass(frozen=True)
class View:
    """The rows of a frame that fits a schema."""

    schema: Schema

    def __call__(self, frame: pd.DataFrame) -> MemoryRows:
        return MemoryRows.of(frame, self.schema)


def test_a_piece_that_comes_twice_counts_once(fitted: tuple[list[Query], MemoryRows]) -> None:
    """Sums are those of the table in one piece, however it is cut and in whatever order."""
    queries, _ = fitted
    table, maps, rng = people(N), cell_maps(queries), np.random.default_rng(0)
    table = PEOPLE.validate(table, on_unknown="clip")
    whole = MemoryRows.of(table, PEOPLE).count(maps)
    for starts in ([0], [0, 50, 51], list(range(0, N, 7))):
        rows = PiecedRows(
            Pieces(table, starts, rng.permutation(len(starts))), View(PEOPLE), len(table)
        )
        assert all(map(np.array_equal, rows.count(maps), whole)) and rows.passes == 1
    lost = PiecedRows(Pieces(table, [0], np.array([0])), View(PEOPLE), len(table) + 1)
    with pytest.raises(SchemaError, match="have changed"):
        lost.count(maps)


class Failing(View):
    def __call__(self, frame: pd.DataFrame) -> MemoryRows:
        raise ValueError(f"secret {frame.iloc[0, 0]}")


def test_an_error_of_a_worker_quotes_no_value() -> None:
    rows = PiecedRows(Pieces(people(N), [0], np.array([0])), Failing(PEOPLE), N)
    with pytest.raises(
        SchemaError, match=r"^piece 1 of the rows cannot be read \(ValueError\)$"
    ) as e:
        rows.tally([])
    assert e.value.__context__ is None


def test_rows_that_were_counted_leave_memory_at_once() -> None:
    """No cycle keeps them until Python looks for cycles, which it does the less the longer."""
    rows = MemoryRows.of(people(N), PEOPLE)
    gc.disable()
    try:
        rows.count([Declared(("age",), (73,))])
        left = [weakref.ref(rows), weakref.ref(rows.chunks[0])]
        del rows
        assert [one() for one in left] == [None, None]
    finally:
        gc.enable()
