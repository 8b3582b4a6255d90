"""Who is refused: other names, other sites, forms without token, what is too large or elsewhere."""

from __future__ import annotations

import socket
import sys
from pathlib import Path
from typing import Any

import pytest
from commands import run
from web_pages import ADDRESS, OWN, Page

from copula_shirley import Schema
from copula_shirley.cli import page as cli
from copula_shirley.web.guard import HEADERS


def test_the_printed_address_works_once(tmp_path: Path) -> None:
    page = Page(tmp_path)
    token = page.session.token
    page.get("/", 403)
    page.get("/?token=wrong", 403)
    first = page.client.get(f"/?token={token}", follow_redirects=False)
    cookie = first.headers["set-cookie"]
    assert first.status_code == 200 and 'content="0;url=/"' in first.text
    assert "HttpOnly" in cookie and "SameSite=strict" in cookie
    page.get("/")
    assert str(page.client.get(f"/?token={token}").url) == f"{ADDRESS}/"  # a reload of it
    page.client.cookies.clear()
    page.get(f"/?token={token}", 403)
    page.get("/static/page.css", 403)


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8000", "127.0.0.1.evil.example"])
def test_another_name_of_this_machine_is_refused(page: Page, host: str) -> None:
    """DNS rebinding: the name of a foreign site that leads to 127.0.0.1."""
    assert page.client.get("/", headers={"Host": host}).status_code == 400
    rebound = {"Host": host, "Origin": f"http://{host}", "Sec-Fetch-Site": "same-origin"}
    form = {"form_token": page.session.form, "path": "x.csv"}
    assert page.client.post("/tables", data=form, headers=rebound).status_code == 400


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {**OWN, "Origin": "http://evil.example"},
        {**OWN, "Origin": "null"},
        {**OWN, "Origin": "http://127.0.0.1:9999"},
        {**OWN, "Sec-Fetch-Site": "cross-site"},
        {**OWN, "Sec-Fetch-Site": "same-site"},
        {"Origin": ADDRESS},
        {"Sec-Fetch-Site": "same-origin"},
    ],
    ids=str,
)
def test_a_form_of_another_site_is_refused(page: Page, table: Path, headers: Any) -> None:
    form = {"form_token": page.session.form, "path": str(table)}
    assert page.client.post("/tables", data=form, headers=headers).status_code == 403
    assert not page.desk.works


def test_a_form_needs_its_token(page: Page, table: Path, schema: Schema) -> None:
    path = page.begun(table, schema)
    for target in ("/tables", f"{path}/runs", f"{path}/people", f"{path}/schema", f"{path}/end"):
        for token in ({}, {"form_token": "x"}):
            form = {**token, "key": page.work().key, "path": str(table)}
            assert page.client.post(target, data=form, headers=OWN).status_code == 403
    assert len(page.desk.works) == 1 and not page.work().runs


def test_what_is_too_large_is_refused_before_it_is_read(page: Page) -> None:
    files = {"file": ("big.csv", b"a\n" + b"1\n" * 2**20)}
    form = {"form_token": page.session.form}
    answer = page.client.post("/tables", data=form, files=files, headers=OWN)
    assert answer.status_code == 413 and "by its path" in answer.text
    unknown = page.client.post("/tables", content=iter([b"a"]), headers=OWN)
    assert unknown.status_code == 411
    assert not list(page.desk.folder.glob("*/"))


def test_no_path_leads_out_of_a_release(page: Page, table: Path, schema: Schema) -> None:
    path = page.begun(table, schema)
    page.run(path, epsilon="9")  # refused, but its folder is there
    page.work().runs[0].result = {"files": ["schema.yaml"], "card": ""}
    assert page.client.get(f"{path}/runs/1/files/schema.yaml").status_code == 200
    for name in ("job.json", "../draft.yaml", "..%2f..%2f..%2fledger.json", "%2fetc%2fpasswd"):
        assert page.client.get(f"{path}/runs/1/files/{name}").status_code == 404
        assert page.client.get(f"/static/{name}").status_code == 404


def test_a_schema_names_no_file_of_this_machine(page: Page, table: Path, schema: Schema) -> None:
    path = page.begun(table, schema)
    text = "columns:\n  age: {kind: categorical, categories: {file: /etc/passwd}}\n"
    shown = page.post(f"{path}/rules", 422, yaml=text, then="stay")
    assert "root" not in shown and "line 2" in shown


def test_every_answer_has_its_headers(page: Page) -> None:
    for path in ("/", "/static/page.js", "/nothing", "/t/none/people"):
        answer = page.client.get(path)
        assert {name: answer.headers[name] for name in HEADERS} == HEADERS, path
        assert "access-control-allow-origin" not in answer.headers
        if "html" in answer.headers["content-type"]:
            assert " style=" not in answer.text and "<style" not in answer.text
            assert "<script>" not in answer.text and "http:" not in answer.text.replace(ADDRESS, "")


def test_other_methods_are_refused(page: Page) -> None:
    assert page.client.put("/tables").status_code == 405
    assert page.client.delete("/").status_code == 405


def test_a_missing_extra_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "copula_shirley.cli.page", raising=False)
    for package in ("uvicorn", "python_multipart"):
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, package, None)
            refused = run("page")
        assert refused.code == 2 and "pip install 'copula-shirley[page]' adds it" in refused.said


def test_odd_paths_are_one_error(page: Page, table: Path, schema: Schema) -> None:
    for path in (
        "a\0.csv",
        f"{'x' * 5000}.csv",
        "/dev/null",
        "/proc/self/mem.csv",
        "~nobody/x.csv",
        "~.csv",
    ):
        assert "That does not fit" in page.post("/tables", 422, path=path)
    assert not page.desk.works
    path = page.begun(table, schema)
    for odd in ("~.", "a\0.", "/proc/self/mem."):
        page.post(f"{path}/import", 422, import_path=f"{odd}yaml")
        page.post(f"{path}/ledger", 422, ledger=f"{odd}json")


def test_an_address_that_others_reach_needs_an_option() -> None:
    for host in ("0.0.0.0", "192.168.0.1", "example.org", "::"):
        refused = run("page", "--host", host)
        assert refused.code == 2 and "--allow-remote" in refused.said


@pytest.mark.parametrize("host", ["localhost", "::1"])
def test_every_loopback_address_can_be_opened(
    host: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if host == "::1" and not socket.has_ipv6:
        pytest.skip("there is no IPv6")
    apps: list[Any] = []
    monkeypatch.setattr(cli, "_serve", lambda app, _: apps.append(app))
    done = run("page", "--host", host, "--folder", str(tmp_path / "page"))
    address = done.said.partition("http://")[2].split()[0]
    where = address.partition("/")[0]
    client = Page.browser(apps[0])
    assert client.get("/", headers={"Host": where}).status_code == 403
    token = address.partition("?")[2]
    assert client.get(f"/?{token}", headers={"Host": where}).status_code == 200
