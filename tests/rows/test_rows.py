"""Counts of public cell maps: the same however rows are cut into chunks, and nothing else kept."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kstest
from tables import PEOPLE, people

from copula_shirley.measure.queries import Query
from copula_shirley.measure.watched import recorded
from copula_shirley.private_vine import domain as private_domain
from copula_shirley.private_vine.generator import PrivateVine
from copula_shirley.rows import memory
from copula_shirley.rows.memory import MemoryRows
from copula_shirley.rows.rows import CellMap, Chunk, LabelMap

N = 120
SIZES = [1, 7, N - 1]


@pytest.fixture(scope="module")
def fitted() -> tuple[list[Query], MemoryRows]:
    """Every question of a fit with three trees and cut margins, and the rows it was about."""
    model = PrivateVine(1e3, target="rich", truncation=3, on_unknown="clip", random_state=0)
    with recorded(model) as recording:
        model.fit(people(N), PEOPLE)
    return [asked.query for asked in recording.questions], recording.questions[-1].rows


def cell_maps(queries: list[Query]) -> list[CellMap]:
    found = [cell_map for query in queries for cell_map in query.cell_maps]
    kinds = {type(cell_map).__name__ for cell_map in found}
    assert kinds == {"AllRows", "GroupKey", "LeafKey", "InnovationKey"}
    return found


def test_counts_of_chunks_add_up(fitted: tuple[list[Query], MemoryRows]) -> None:
    """However the table is cut, whatever a chunk knows of the others; maps travel as bytes."""
    queries, rows = fitted
    rng = np.random.default_rng(0)
    some = sorted(rng.choice(np.arange(1, N), 5, replace=False))
    maps = cell_maps(queries)
    travelled: list[CellMap] = pickle.loads(pickle.dumps(maps))
    whole = [rows.count(one) for one in maps]
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
    again.seed = rows.seed
    assert all(np.array_equal(again.count(one), rows.count(one)) for one in cell_maps(queries))


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
    tables, tally = [whole.count(one) for one in maps], whole.tally(labels)
    assert tally.total() == N
    monkeypatch.setattr(memory, "CHUNK", size)
    cut = private_domain.raw_rows(table, stored, schema)
    assert all(np.array_equal(cut.count(a), b) for a, b in zip(maps, tables, strict=True))
    assert cut.tally(labels) == tally


def chunk(first: int, size: int, seed: int = 1) -> Chunk:
    return Chunk({}, {}, np.arange(first, first + size, dtype=np.uint64), seed)


def test_jitter_goes_by_seed_column_and_row_number_alone() -> None:
    whole = chunk(0, 1000).jitter("a")
    assert np.array_equal(
        np.concatenate([chunk(0, 3).jitter("a"), chunk(3, 997).jitter("a")]), whole
    )
    shuffled = np.random.default_rng(0).permutation(1000)
    some = Chunk({}, {}, shuffled.astype(np.uint64), 1)
    assert np.array_equal(some.jitter("a"), whole[shuffled])
    for other in (chunk(0, 1000).jitter("b"), chunk(0, 1000, seed=2).jitter("a")):
        assert not (other == whole).any()
    # by hand, with Python's whole numbers: splitmix64 from eight bytes of sha256("1:a"), row 2
    assert whole[2] == 7801686 / 2**24


def test_jitter_is_uniform_and_independent() -> None:
    """Six tests at 1 in 100,000 each; the seeds are fixed."""
    draws = [
        chunk(10**9, 50_000, seed).jitter(name) for seed, name in ((1, "a"), (1, "b"), (2, "a"))
    ]
    for one in draws:
        assert one.dtype == np.float32 and one.min() >= 0 and one.max() < 1
        assert kstest(one, "uniform").pvalue > 1e-5
        assert abs(np.corrcoef(one[1:], one[:-1])[0, 1]) < 4.5 / np.sqrt(len(one))
    assert np.abs(np.corrcoef(draws) - np.eye(3)).max() < 4.5 / np.sqrt(50_000)


def test_a_seed_of_the_jitter_is_nowhere_unless_the_fit_has_one() -> None:
    table = pd.DataFrame({"rich": [True, False]})
    schema = private_domain.undeclared(table)
    seeds = {MemoryRows.of(table, schema).seed for _ in range(4)}
    assert len(seeds) == 4 and max(seeds) > 2**64


def test_public_objects_hold_nothing_of_the_rows(fitted: tuple[list[Query], MemoryRows]) -> None:
    """What a fit asked, as bytes, does not grow when it has been answered about more rows."""
    queries, rows = fitted
    before = len(pickle.dumps(queries))
    double = MemoryRows(rows.schema, rows.take(np.tile(np.arange(N), 2)))
    for one in cell_maps(queries):
        double.count(one, again=True)
    assert len(pickle.dumps(queries)) == before


def test_a_table_that_is_asked_again_is_counted_once() -> None:
    rows = MemoryRows.of(people(N), PEOPLE)
    looked = []

    class Counted:
        names, shape = ("rows",), (1,)

        def cells(self, chunk: Chunk) -> np.ndarray:
            looked.append(len(chunk))
            return np.zeros(len(chunk), dtype=np.intp)

    one, other = Counted(), Counted()
    assert [rows.count(one, again=True).tolist() for _ in range(3)] == [[N]] * 3
    assert [rows.count(other).tolist() for _ in range(2)] == [[N]] * 2
    assert looked == [N] * 3
