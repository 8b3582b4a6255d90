"""Rows on Spark, with the Java of a wheel: a task that fails and is tried again counts once."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from tables import JOBS, jobs

from copula_shirley import PrivateVine, SchemaError
from copula_shirley.rows.engines import source_of
from copula_shirley.rows.files import FileSource
from copula_shirley.rows.pieces import Piece, Work, once_each
from copula_shirley.rows.spark_rows import SparkWorkers, started

cloudpickle = pytest.importorskip("pyspark.cloudpickle")
TABLE = jobs(400)


def transcript(model: PrivateVine) -> list[Any]:
    return [[one.tolist() for one in answer.values] for answer in model.transcript_.answers]  # noqa: PD011


def vine() -> PrivateVine:
    return PrivateVine(8.0, random_state=5, truncation=1, reweight=False)


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    """Two threads; a task may fail twice."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("JAVA_HOME", raising=False)
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        # a Java that starts fast
        patch.setenv("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        cloudpickle.register_pickle_by_value(sys.modules[__name__])
        found = started("local[2,3]")
        yield found
        found.stop()


@dataclass(frozen=True)
class Deadly:
    """A work that kills its process at one of the pieces, the first time."""

    work: Work[Any]
    mark: Path

    def __call__(self, number: int, frames: Iterable[pd.DataFrame]) -> Any:
        if number == 1 and not self.mark.exists():
            self.mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return self.work(number, frames)


class DeadlyWorkers(SparkWorkers):
    mark: Path

    def each(self, pieces: Sequence[Piece], work: Work[Any]) -> Iterator[tuple[int, Any]]:
        return super().each(pieces, Deadly(work, self.mark))


def test_a_task_that_dies_and_is_tried_again_changes_nothing(session: Any, tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.csv" for number in range(3)]
    for number, path in enumerate(paths):
        TABLE[number * 150 : number * 150 + 150].to_csv(path, index=False)
    workers = DeadlyWorkers(session)
    workers.mark = tmp_path / "killed"
    model = vine().fit(FileSource(paths, JOBS, JOBS.file, workers), JOBS)
    assert workers.mark.exists()
    assert transcript(model) == transcript(vine().fit(TABLE, JOBS))


@pytest.mark.parametrize(
    ("on_unknown", "on_broken", "fits"),
    [("refuse", "refuse", True), ("clip", "refuse", False), ("refuse", "drop", False)],
)
def test_no_row_of_a_person_comes_first_without_an_order(
    tmp_path: Path, on_unknown: Any, on_broken: Any, fits: bool
) -> None:
    """Which of her rows is the first could follow from rows of others."""
    table = TABLE.assign(who=np.arange(len(TABLE)) % 200)
    table.to_csv(tmp_path / "table.csv", index=False)
    schema = replace(JOBS, person="who", max_rows=2, on_broken=on_broken)
    source = FileSource([tmp_path / "table.csv"], schema, schema.file)
    source.ordered = False
    model = PrivateVine(8.0, on_unknown=on_unknown)
    if fits:
        assert model.fit(source, schema).ledger_.unit == "person"
    else:
        with pytest.raises(SchemaError, match="person column 'who': these rows have no order"):
            model.fit(source, schema)


def rows_of(_: int, frames: Iterable[pd.DataFrame]) -> tuple[int, int, int]:
    """Rows, and sums of two columns."""
    parts = [(len(f), int(f["age"].sum()), int(f["rich"].sum())) for f in frames]
    return tuple(map(sum, zip(*parts, strict=True)))  # type: ignore[return-value]


def secret_of(_: int, frames: Iterable[pd.DataFrame]) -> Any:
    raise ValueError(f"secret4711 {[*frames]}")


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_partitions_of_a_frame_are_counted_once_each(session: Any, tmp_path: Path) -> None:
    """A partition of the frame itself fails first, and is tried again."""
    mark = tmp_path / "failed"
    TABLE.to_parquet(tmp_path / "table.parquet", index=False)
    whole = session.read.parquet(str(tmp_path / "table.parquet")).repartition(3)

    def failing(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if not mark.exists():
                mark.touch()
                raise OSError("a disk fails")
            yield batch

    source = source_of(whole.mapInArrow(failing, whole.schema))
    assert list(source.names) == list(TABLE.columns) and source.may_keep
    found = dict(once_each(source, rows_of))
    assert mark.exists() and set(found) <= {0, 1, 2}
    sums = tuple(map(sum, zip(*found.values(), strict=True)))
    assert sums == (len(TABLE), TABLE["age"].sum(), TABLE["rich"].sum())
    with pytest.raises(SchemaError, match=r"piece \d of the rows cannot be read \(ValueError\)"):
        [*once_each(source, secret_of)]
