"""A browser that was let in, and a table to lead through the page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tables import JOBS, jobs
from web_pages import Page

from copula_shirley import Schema


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Page]:
    folder = tmp_path / "private"
    folder.mkdir()
    found = Page(folder).enter()
    yield found
    found.desk.close()


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "jobs.csv"
    jobs(300).to_csv(path, index=False)
    return path


@pytest.fixture
def schema() -> Schema:
    return JOBS
