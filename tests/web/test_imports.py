"""Schemas and codebooks out of files: uploaded with their lists, or named by a path."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from web_pages import Page

from copula_shirley import Schema

CODEBOOK = {
    "fields": [
        {"name": "age", "type": "integer", "constraints": {"minimum": 18, "maximum": 99}},
        {"name": "job", "type": "string", "constraints": {"enum": ["arts", "farm", "law"]}},
    ],
    "missingValues": ["", "-9"],
}
LISTED = "columns:\n  job: {kind: categorical, categories: {file: jobs.txt}}\n"


@pytest.fixture
def begun(page: Page, table: Path) -> str:
    """The path of a table whose schema is its names alone."""
    page.post("/tables", path=str(table))
    path = f"/t/{page.work().id}"
    page.post(f"{path}/people", how="names", person="", max_rows="1")
    return path


def files(**named: str) -> list[Any]:
    return [("import_files", (name.replace("_", "."), text)) for name, text in named.items()]


def test_a_codebook_describes_its_columns_and_leaves_the_others(page: Page, begun: str) -> None:
    before = page.work().schema
    sent = files(codebook_json=json.dumps(CODEBOOK))
    page.post(f"{begun}/import", files=sent, known_from="codebook 2019")
    found = page.work().schema
    assert (found["age"].minimum, found["age"].maximum, found["age"].kind) == (18, 99, "integer")
    assert found["job"].categories == ("arts", "farm", "law")
    assert found["age"].provenance == "declared" and found["age"].source == "codebook 2019"
    assert found["rich"] == before["rich"] and found.names == before.names
    assert found.file.missing == ("-9",)
    page.post(f"{begun}/import", files=sent)  # without a source it is a draft
    assert page.work().schema["age"].provenance == "drafted"


def test_a_schema_comes_with_its_lists(page: Page, begun: str, tmp_path: Path) -> None:
    page.post(f"{begun}/import", files=files(schema_yaml=LISTED, jobs_txt="law\nart\n"))
    assert page.work().schema["job"].categories == ("law", "art")
    (tmp_path / "own.yaml").write_text(LISTED)
    (tmp_path / "jobs.txt").write_text("a\nb\n")
    page.post(f"{begun}/import", import_path=str(tmp_path / "own.yaml"))
    assert page.work().schema["job"].categories == ("a", "b")
    listed = LISTED.replace("jobs.txt", "jobs.yaml")
    page.post(f"{begun}/import", files=files(schema_yaml=listed, jobs_yaml="[x, y]"))
    assert page.work().schema["job"].categories == ("x", "y")


def test_a_data_package_names_its_table(page: Page, begun: str) -> None:
    resources = [{"name": name, "path": f"{name}.csv", "schema": CODEBOOK} for name in ("a", "b")]
    sent = files(datapackage_json=json.dumps({"resources": resources}))
    assert "resource" in page.post(f"{begun}/import", 422, files=sent)
    page.post(f"{begun}/import", files=sent, resource="b", known_from="archive")
    assert page.work().schema["age"].maximum == 99


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({}, "one of the two"),
        ({"schema_yaml": LISTED}, "jobs.txt"),
        ({"schema_yaml": "columns: ["}, "schema.yaml"),
        ({"codebook_json": "{"}, "not readable as JSON"),
        ({"a_txt": "x"}, "must be one schema"),
        ({"a_yaml": LISTED, "b_yaml": LISTED}, "must be one schema"),
        ({"a_yaml": "columns: {shoe: {kind: boolean}}"}, "&#39;shoe&#39; of the file is not in"),
        ({"a_json": '{"@context": 1}'}, "written only"),
        ({"a_yaml": "columns: {job: {kind: shoe}}"}, "shoe"),
        ({"_yaml": LISTED}, "ordinary one"),
    ],
    ids=str,
)
def test_what_is_no_schema_is_one_error(
    page: Page, begun: str, sent: dict[str, str], said: str
) -> None:
    before = page.work().schema
    shown = page.post(f"{begun}/import", 422, files=files(**sent) or None)
    assert said in shown and shown.count('role="alert"') == 1
    assert "/tmp" not in shown.partition('role="alert"')[2].partition("</div>")[0]
    assert page.work().schema is before


def test_a_path_is_a_schema_file(page: Page, begun: str, tmp_path: Path) -> None:
    for path in (tmp_path / "no.yaml", tmp_path / "x.csv", tmp_path, "/dev/null", "/etc/passwd"):
        shown = page.post(f"{begun}/import", 422, import_path=str(path))
        assert "That does not fit" in shown and "root:" not in shown


def test_a_table_can_begin_with_a_codebook(page: Page, table: Path) -> None:
    page.post("/tables", path=str(table))
    path = f"/t/{page.work().id}"
    form = {"how": "file", "person": "", "max_rows": "1", "known_from": "codebook"}
    page.post(f"{path}/people", files=files(c_json=json.dumps(CODEBOOK)), **form)
    found: Schema = page.work().schema
    assert found.names == ("age", "job") and [left.name for left in found.left_out] == ["rich"]
    assert "does not describe it" in page.get(f"{path}/schema")
    page.post(
        f"{path}/people", files=files(c_json=json.dumps(CODEBOOK)), **form | {"person": "job"}
    )
    assert page.work().schema.person == "job" and page.work().schema.names == ("age",)


def test_value_labels_of_a_file_can_be_a_codebook(page: Page, table: Path, tmp_path: Path) -> None:
    pytest.importorskip("pyreadstat")
    page.post("/tables", path=str(table))
    assert "value labels" not in page.get(f"/t/{page.work().id}/people")
    rows = pd.read_csv(table)
    rows["job"] = rows["job"].astype("category")
    rows.to_stata(tmp_path / "jobs.dta", write_index=False)
    page.post("/tables", path=str(tmp_path / "jobs.dta"))
    path = f"/t/{page.work().id}"
    assert "value labels" in page.get(f"{path}/people")
    for declared, provenance in (("", "drafted"), ("yes", "declared")):
        form = {"how": "draft", "person": "", "max_rows": "1", "declare_labels": declared}
        page.post(f"{path}/people", **form)
        assert page.work().schema["job"].provenance == provenance
