"""Rows that several processes draw, and work that they share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from job_work import doubled

from copula_shirley import PrivateVine, SettingError, tasks
from copula_shirley.baselines import Uniform
from copula_shirley.experiments.benchmarks.two_levels import SCHEMA, patients
from copula_shirley.jobs import in_order
from copula_shirley.publish.outputs import Output


def test_work_of_several_processes_comes_in_order_with_its_warnings() -> None:
    asked: list[int] = []

    def items() -> Iterator[int]:
        for number in [*range(9), 100]:
            asked.append(number)
            yield number

    found = in_order(doubled, items(), 2)
    first = [next(found), next(found)]
    assert len(asked) <= 5  # few wait, whatever is to come
    with pytest.warns(UserWarning, match="three"):
        results, processes = zip(*first, *(next(found) for _ in range(5)), strict=True)
    assert list(results) == [0, 2, 4, 6, 8, 10, 12]
    # the first is done here, so that what it remembers goes along
    assert processes[0] == os.getpid() and os.getpid() not in processes[1:]
    with pytest.raises(SettingError, match=r"jobs \(2\): a process ended"):
        list(found)


@pytest.mark.parametrize("jobs", [0, 257, 1.0, True, None])
def test_odd_numbers_of_jobs_are_refused_before_anything_is_drawn(jobs: Any) -> None:
    model = Uniform().fit(patients(50), SCHEMA)
    with pytest.raises(SettingError, match=r"jobs \(.*\) must be a whole number from 1 to 256"):
        model.sample_chunks(10, jobs=jobs)


def test_rows_are_the_same_however_many_processes_draw(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """People, identifiers and fakes go on from chunk to chunk, too; a fit with secret noise."""
    model = PrivateVine(8.0).fit(patients(300), SCHEMA)
    monkeypatch.setattr("copula_shirley.fitted.CHUNK", 100)
    told: list[str] = []
    alone, both = (
        model.sample(350, random_state=1, jobs=n, progress=lambda said, _: told.append(said))
        for n in (1, 2)
    )
    pd.testing.assert_frame_equal(alone, both)
    assert told[:4] == told[4:] and told[-1] == "350 of 350 rows"
    model.save(tmp_path / "m.shirley")
    for jobs in (1, 2):
        output = Output(tmp_path / f"{jobs}.csv", card=False)
        more = {"given": ["sex=F"], "random_state": 1, "jobs": jobs}
        tasks.sample(tmp_path / "m.shirley", output, 150, **more)
    assert (tmp_path / "1.csv").read_bytes() == (tmp_path / "2.csv").read_bytes()
