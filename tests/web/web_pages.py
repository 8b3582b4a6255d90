"""A browser of the page, without a window; see conftest.py for the fixtures."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="the extra 'page' is not installed")
from starlette.testclient import TestClient

from copula_shirley import Schema
from copula_shirley.web.app import page_app
from copula_shirley.web.guard import Session, guarded
from copula_shirley.web.process import Run
from copula_shirley.web.work import Desk

ADDRESS = "http://127.0.0.1:8000"
OWN = {"Origin": ADDRESS, "Sec-Fetch-Site": "same-origin"}


class Page:
    """The page, and a browser that holds its cookie."""

    def __init__(self, folder: Path, largest_upload: int = 2**20) -> None:
        self.session, self.desk = Session(), Desk(folder)
        app = guarded(
            page_app(self.desk, self.session), self.session, largest_upload=largest_upload
        )
        self.client = self.browser(app)

    @staticmethod
    def browser(app: Any) -> TestClient:
        return TestClient(app, ADDRESS, raise_server_exceptions=False)

    def enter(self) -> Page:
        self.client.get(f"/?token={self.session.token}")
        return self

    def get(self, path: str, code: int = 200, **more: Any) -> str:
        answer = self.client.get(path, **more)
        assert answer.status_code == code, answer.text
        return answer.text

    def post(self, path: str, code: int = 200, /, files: Any = None, **form: Any) -> str:
        """Send a form as the page itself does; the page that it leads to."""
        form = {"form_token": self.session.form, **form}
        answer = self.client.post(path, data=form, files=files, headers=OWN)
        assert answer.status_code == code, answer.text
        self.at = answer.url.path
        return answer.text

    def work(self) -> Any:
        return list(self.desk.works.values())[-1]

    def begun(self, table: Path, schema: Schema) -> str:
        """Lead a table with a declared schema to its budget; the path of the table."""
        self.post("/tables", path=str(table))
        path = f"/t/{self.work().id}"
        described = {"import_files": ("schema.yaml", schema.to_yaml())}
        self.post(f"{path}/people", files=described, how="file", person="", max_rows="1")
        ledger = str(table.with_name("ledger.json"))
        self.post(f"{path}/ledger", ledger=ledger, cap_epsilon="3", cap_delta="1e-8")
        return path

    def run(self, path: str, **settings: str) -> Run:
        """Start the next run of a table and wait for its end."""
        about = {"epsilon": "2", "delta": "1e-9", "rows": "300", "on_unknown": "refuse"}
        own = {"key": self.work().key, "planned": self.work().planned}
        self.post(f"{path}/runs", **own | about | settings)
        run: Run = self.work().runs[-1]
        finish(lambda: not run.is_busy)
        return run


def finish(ended: Callable[[], bool]) -> None:
    """Wait for what another process does."""
    end = time.monotonic() + 120
    while not ended():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.05)


def field(page: str, name: str) -> str:
    """What a hidden field of a page holds."""
    found = re.search(rf'name="{name}" value="([^"]*)"', page)
    assert found is not None, page
    return found[1]
