"""The pages for people: their links lead somewhere, and what the README shows runs."""

from __future__ import annotations

import os
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import run
from tables import declared

from copula_shirley import PrivateVine, Schema
from copula_shirley.schema.rule_entries import KEYS

ROOT = Path(__file__).parent.parent
FOLDERS = ("", "docs", "docs/tutorials", "experiments/*")
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = [page for folder in FOLDERS for page in sorted(ROOT.glob(f"{folder}/*.md".lstrip("/")))]


def anchors(page: Path) -> set[str]:
    """What GitHub calls the headings of a page."""
    heads = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if "://" not in link:
            path, _, anchor = link.partition("#")
            target = page.parent / path if path else page
            assert target.exists(), link
            assert not anchor or anchor in anchors(target), link


def test_the_rules_of_the_page_are_a_schema() -> None:
    page = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
    schema = Schema.from_yaml(page.partition("```yaml\n")[2].partition("```")[0])
    PrivateVine().check_settings(schema)
    known = {key for rule in schema.rules for key in rule.entry()}
    assert {*KEYS, "gap", "share", "at_most"} - {"forbidden"} <= known
    assert PrivateVine().plan(schema, 10_000).stages["stage"].iloc[0] == "functions"


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) <= 150


def write_table(folder: Path, rows: int) -> Schema:
    """The data.csv of the README; its schema, as it is after a review."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.integers(18, 90, rows), "sex": "Female", "job": "law"})
    table.loc[::2, ["sex", "job"]] = "Male", "arts"
    table["salary"] = np.where(table["age"] > 50, ">50K", "<=50K")
    table.to_csv(folder / "data.csv", index=False)
    return declared(table)


def test_the_commands_of_the_readme_run(tmp_path: Path) -> None:
    reviewed = write_table(tmp_path, 4_000)
    lines = re.findall(r"^shirley ([^#\n]+)", README, flags=re.MULTILINE)
    assert [line.split()[0] for line in lines] == [
        *("demo", "draft", "plan", "synthesize", "verify"),
        *("fit", "sample", "inspect", "evaluate"),
    ]
    for line in lines[1:]:  # the demo has a test of its own
        done = run(line, folder=tmp_path)
        assert done.code == 0, (line, done.err)
        reviewed.write(tmp_path / "schema.yaml")  # as who reads the draft does
    women = pd.read_csv(tmp_path / "women.csv")
    assert len(women) == 1000 and set(women["sex"]) == {"Female"} and women["age"].min() >= 30
    assert {"synthetic.csv.card.html", "trees.png", "report.html"} <= set(os.listdir(tmp_path))


def test_the_python_of_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = README.partition("## From Python")[2].partition("```python\n")[2].partition("```")[0]
    write_table(tmp_path, 300).write(tmp_path / "schema.yaml")
    monkeypatch.chdir(tmp_path)
    said: dict[str, object] = {"print": lambda *_: None}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(code, said)
    drawn = said["synthetic"]
    assert isinstance(drawn, pd.DataFrame) and set(drawn["sex"]) == {"Female"}
    assert drawn["age"].between(30, 40).all() and Path("model.shirley").is_file()
