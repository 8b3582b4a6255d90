"""Rows on a Dask cluster: the same whole numbers, whoever dies and whatever is done twice."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import cloudpickle
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from commands import run
from distributed import Client, LocalCluster
from tables import JOBS, jobs

from copula_shirley import PrivateVine, SchemaError, SettingError
from copula_shirley.rows import dask_rows
from copula_shirley.rows.dask_rows import DaskWorkers
from copula_shirley.rows.files import FileSource, Pool
from copula_shirley.rows.pieces import Piece, Work, once_each

TABLE = jobs(700)


def transcript(model: PrivateVine) -> list[Any]:
    return [[one.tolist() for one in answer.values] for answer in model.transcript_.answers]  # noqa: PD011


def vine() -> PrivateVine:
    return PrivateVine(8.0, random_state=5, target="rich")


@pytest.fixture(scope="module")
def expected() -> list[Any]:
    return transcript(vine().fit(TABLE, JOBS))


@pytest.fixture
def parts(tmp_path: Path) -> list[Path]:
    """The table in seven files."""
    for number in range(7):
        part = TABLE[number * 100 : number * 100 + 100]
        part.to_parquet(tmp_path / f"{number}.parquet", index=False)
    return sorted(tmp_path.iterdir())


@pytest.fixture
def client() -> Iterator[Client]:
    """Two processes; what is defined here travels as it is."""
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False) as found,
    ):
        yield found


# -- without a cluster -------------------------------------------------------------------


def test_a_frame_is_fitted_here_where_there_is_no_cluster(expected: list[Any]) -> None:
    frame = dd.from_pandas(TABLE, npartitions=5)
    assert transcript(vine().fit(frame, JOBS)) == expected


def test_a_frame_needs_a_schema() -> None:
    with pytest.raises(SettingError, match="schema \\(None\\) must be named"):
        vine().fit(dd.from_pandas(TABLE, npartitions=2))


@pytest.mark.parametrize("lost", [False, True])
def test_a_piece_that_is_done_twice_counts_once(
    parts: list[Path], expected: list[Any], lost: bool
) -> None:
    """Both results arrive, or the first is lost with its worker, which has kept its rows."""

    class Twice(Pool):
        def each(self, pieces: Sequence[Piece], work: Work[Any]) -> Iterator[tuple[int, Any]]:
            first = [*super().each(pieces, work)]
            yield from [] if lost else first
            yield from super().each(pieces, work)

    source = FileSource(parts, JOBS, JOBS.file, Twice(1))
    assert transcript(vine().fit(source, JOBS)) == expected


# -- two processes -----------------------------------------------------------------------


@dataclass(frozen=True)
class Deadly:
    """A work that kills its process at one of the pieces, the first time."""

    work: Work[Any]
    mark: Path

    def __call__(self, number: int, frames: Iterable[pd.DataFrame]) -> Any:
        if number == 3 and not self.mark.exists():
            self.mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return self.work(number, frames)


class DeadlyWorkers(DaskWorkers):
    mark: Path

    def each(self, pieces: Sequence[Piece], work: Work[Any]) -> Iterator[tuple[int, Any]]:
        for number, found in super().each(pieces, Deadly(work, self.mark)):
            for counts in getattr(found, "counts", found):  # nothing else leaves a worker
                assert isinstance(counts, np.ndarray) and counts.dtype == np.int64
            yield number, found


def check_a_worker_that_is_killed_changes_nothing(
    client: Client, parts: list[Path], expected: list[Any], tmp_path: Path
) -> None:
    workers = DeadlyWorkers(client)
    workers.mark = tmp_path / "killed"
    before = set(client.scheduler_info()["workers"])
    model = vine().fit(FileSource(parts, JOBS, JOBS.file, workers), JOBS)
    assert workers.mark.exists() and transcript(model) == expected
    client.wait_for_workers(2)
    assert set(client.scheduler_info()["workers"]) != before


def check_a_frame_is_fitted_on_the_current_cluster(client: Client, expected: list[Any]) -> None:
    with client.as_current():
        model = vine().fit(dd.from_pandas(TABLE, npartitions=3), JOBS)
    assert transcript(model) == expected


def check_rows_of_a_person_are_brought_together(client: Client) -> None:
    table = TABLE.assign(who=np.arange(len(TABLE)) % 240)
    schema = replace(JOBS, person="who", max_rows=2)
    settings = {"epsilon": 8.0, "random_state": 5, "on_unknown": "clip"}
    whole = PrivateVine(**settings).fit(table, schema)
    with client.as_current():
        model = PrivateVine(**settings).fit(dd.from_pandas(table, npartitions=4), schema)
    assert transcript(model) == transcript(whole) and model.ledger_.unit == "person"


def secret_of(_: int, frames: Iterable[pd.DataFrame]) -> Any:
    raise ValueError(f"secret4711 {[*frames]}")


def check_errors_and_logs_quote_no_value(client: Client) -> None:
    table = TABLE.assign(job=["secret4711", *TABLE["job"][1:]])
    with client.as_current():
        frame = dd.from_pandas(table, npartitions=2)
        with pytest.raises(SchemaError, match="column 'job'") as error:
            vine().fit(frame, JOBS)
        source = dask_rows.partitions_of(frame)
        with pytest.raises(SchemaError, match=r"piece \d of the rows cannot be read \(ValueError"):
            [*once_each(source, secret_of)]
    logs = str(client.get_worker_logs()) + str(client.get_scheduler_logs())
    assert "secret4711" not in str(error.value) + logs


def check_the_command_line_counts_on_a_cluster(client: Client, parts: list[Path]) -> None:
    folder = parts[0].parent
    JOBS.write(folder / "schema.yaml")
    fit = "fit '*.parquet' --schema schema.yaml --epsilon 8 --seed 1 -q"
    on_dask = f"--engine dask --cluster {client.scheduler.address} -o dask.shirley"
    assert run(f"{fit} {on_dask}", folder=folder).code == 0
    assert run(f"{fit} --engine memory -o memory.shirley", folder=folder).code == 0
    files = [(folder / name).read_bytes() for name in ("dask.shirley", "memory.shirley")]
    assert files[0] == files[1]


def test_on_a_cluster(
    client: Client, parts: list[Path], expected: list[Any], tmp_path: Path
) -> None:
    """One test, since two processes take seconds to start."""
    check_a_frame_is_fitted_on_the_current_cluster(client, expected)
    check_rows_of_a_person_are_brought_together(client)
    check_errors_and_logs_quote_no_value(client)
    check_the_command_line_counts_on_a_cluster(client, parts)
    check_a_worker_that_is_killed_changes_nothing(client, parts, expected, tmp_path)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--engine dask", "cluster (not given) must be the address of a Dask scheduler"),
        ("--engine dask --cluster here", "cluster ('here') must be the address of a Dask"),
        ("--engine spark --cluster here", "cluster ('here') must be the master of a Spark"),
        ("--engine dask --cluster tcp://127.0.0.1:1", "cluster ('tcp://127.0.0.1:1') must be"),
        ("--engine dask --cluster tcp://127.0.0.1:1 --workers 2", "workers (2) must be left out"),
        ("--engine files --cluster tcp://127.0.0.1:1", "engine dask or spark only"),
    ],
)
def test_a_cluster_that_cannot_be_is_refused(
    parts: list[Path], words: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dask_rows, "PATIENCE", 1)
    folder = parts[0].parent
    JOBS.write(folder / "schema.yaml")
    fit = f"fit '*.parquet' --schema schema.yaml -o m.shirley {words}"
    refusal = run(fit, folder=folder).refusal().replace("--", "")
    assert said in refusal
