"""What a page that starts later finds again, and what is deleted meanwhile."""

from __future__ import annotations

import json
import os
import webbrowser
from pathlib import Path
from typing import Any

import pytest
from commands import run as command
from web_pages import Page, finish

from copula_shirley import ReleaseLedger, Schema
from copula_shirley.cli import page as cli
from copula_shirley.errors import SettingError
from copula_shirley.web.work import Desk


def restarted(page: Page) -> Page:
    page.desk.close()
    return Page(page.desk.folder).enter()


def test_tables_and_releases_are_found_again(page: Page, table: Path, schema: Schema) -> None:
    path = page.begun(table, schema)
    run = page.run(path)
    shown = page.get(f"{path}/runs/1")
    later = restarted(page)
    assert f'href="{path}/schema"' in later.get("/") and f'href="{path}/runs/1"' in later.get("/")
    work = later.work()
    assert work.schema == schema and work.settings == run.job.settings and work.runs[0].number == 1
    token = page.session.form, later.session.form
    assert later.get(f"{path}/runs/1").replace(token[1], token[0]) == shown
    packed = later.client.get(f"{path}/runs/1/files/release.zip")
    assert packed.status_code == 200 and len(packed.content) > 1000
    later.post(f"{path}/runs", key=work.key, epsilon="2", rows="300")  # a form of before
    assert later.at == f"{path}/runs/1" and len(work.runs) == 1
    assert "not for publication" in later.post(f"{path}/runs/1/compare")
    for place in (later.desk.folder, work.folder, work.runs[0].folder):
        assert place.stat().st_mode & 0o077 == 0
    later.post(f"{path}/end")
    assert not work.folder.exists() and not restarted(later).desk.works
    assert len(ReleaseLedger.open(table.with_name("ledger.json")).releases) == 1


def test_copies_are_deleted_when_the_page_stops_and_can_be_uploaded_again(
    page: Page, table: Path
) -> None:
    files = {"file": ("jobs.csv", table.read_bytes())}
    page.post("/tables", files=files, path="")
    page.post(f"/t/{page.work().id}/people", how="names", person="", max_rows="1")
    copy = page.work().data
    later = restarted(page)
    work = later.work()
    assert not copy.exists() and work.gone and "the file is gone" in later.get("/")
    assert "Take it again" in later.get(f"/t/{work.id}/schema")
    other = {"file": ("jobs.csv", b"a,b\n1,2\n")}
    refused = later.post("/tables", 422, files=other, path="", work=work.id)
    assert "must have the columns age, job, rich" in refused
    later.post("/tables", files=files, path="", work=work.id)
    assert later.at == f"/t/{work.id}/schema" and len(later.desk.works) == 1
    assert work.data.read_bytes() == table.read_bytes() and not work.gone


def test_copies_that_a_crash_left_are_deleted_at_the_next_start(page: Page, table: Path) -> None:
    page.post("/tables", files={"file": ("jobs.csv", table.read_bytes())}, path="")
    copy = page.work().data
    page.desk._lock.release()  # as if the process had been killed
    assert copy.exists()
    later = Page(page.desk.folder)
    assert not copy.exists() and later.work().gone
    later.desk.close()


def test_a_run_that_a_crash_ended_has_failed_and_counts(
    page: Page, table: Path, schema: Schema
) -> None:
    path = page.begun(table, schema)
    page.run(path)
    (page.work().runs[0].folder / "ended.json").unlink()
    later = restarted(page)
    shown = later.get(f"{path}/runs/1")
    assert "the page was stopped while this run was at work" in shown
    assert "The release ledger counts epsilon 2" in shown
    assert later.work().next_run is later.work().runs[0]


@pytest.mark.slow
def test_the_evaluation_report_is_made_once_and_deleted(
    page: Page, table: Path, schema: Schema
) -> None:
    pytest.importorskip("xgboost")
    path = page.begun(table, schema)
    run = page.run(path)
    page.get(f"{path}/runs/1/report", 404)
    shown = page.post(f"{path}/runs/1/report")
    first = run.report
    assert first is not None and f'data-status="{path}/runs/1/report/status"' in shown
    page.post(f"{path}/runs/1/report")  # a double click
    assert run.report is first
    finish(lambda: not first.is_busy)
    assert first.state == "done", first.error
    assert "for publication" in page.get(f"{path}/runs/1/compare")
    answer = page.client.get(f"{path}/runs/1/report")
    assert "membership" in answer.text and "jobs.csv" in answer.text
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'") and "sandbox allow-scripts" in policy
    assert "report.html" not in run.files and first.path.exists()
    assert len(ReleaseLedger.open(table.with_name("ledger.json")).releases) == 1
    restarted(page)
    assert not first.path.exists()


@pytest.mark.slow
def test_a_report_that_cannot_be_made_is_one_error(page: Page, table: Path, schema: Schema) -> None:
    pytest.importorskip("xgboost")
    path = page.begun(table, schema)
    run = page.run(path)
    table.unlink()
    page.post(f"{path}/runs/1/report")
    finish(lambda: not run.report.is_busy)
    shown = page.get(f"{path}/runs/1/compare")
    assert run.report.state == "failed" and "does not exist" in shown
    assert "does not exist" in page.post(f"{path}/runs/1/compare", 422)
    again = run.report
    page.post(f"{path}/runs/1/report")
    assert run.report is not again
    page.post(f"{path}/runs/1/report", then="stop")
    finish(lambda: not run.report.is_busy)


def test_a_damaged_table_is_told_and_the_others_are_there(page: Page, table: Path) -> None:
    for _ in range(2):
        page.post("/tables", path=str(table))
    bad = page.work().folder
    (bad / "table.json").write_text(json.dumps({"data": 1}))
    later = restarted(page)
    assert len(later.desk.works) == 1 and bad.name in later.get("/")


def test_a_folder_is_used_by_one_page_and_by_nothing_else(page: Page, tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="used by another page"):
        Desk(page.desk.folder)
    (tmp_path / "photos" / "upload").mkdir(parents=True)
    with pytest.raises(SettingError, match="must be empty"):
        Desk(tmp_path)
    assert (tmp_path / "photos" / "upload").exists()
    (tmp_path / "file").touch()
    refused = command("page", "--folder", str(tmp_path / "file"))
    assert refused.code == 2 and "cannot be used" in refused.said


def test_no_process_is_told_the_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everybody on the machine can read the arguments of a browser's process."""
    told: list[str] = []

    def serve(app: Any, _: Any) -> None:
        entry_file = Path(told[0].removeprefix("file://"))
        token = entry_file.read_text().partition("token=")[2].partition('"')[0]
        assert entry_file.stat().st_mode & 0o777 == 0o600 and token not in told[0]
        client = Page.browser(app)
        assert client.get(f"/?token={token}").status_code == 200 and not entry_file.exists()
        assert client.get("/").status_code == 200

    monkeypatch.setattr(webbrowser, "open", told.append)
    monkeypatch.setattr(cli, "_serve", serve)
    done = command("page", "--browser", "--folder", str(tmp_path / "page"))
    assert done.code == 0 and told[0].startswith("file://")
    assert os.listdir(tmp_path / "page") == [".shirley-page.lock"]
