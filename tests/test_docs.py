"""The pages for people: their links lead somewhere, and the README's Python runs."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from tables import declared

from copula_shirley import PrivateVine, Schema
from copula_shirley.schema.rule_entries import KEYS

ROOT = Path(__file__).parent.parent
FOLDERS = ("", "docs", "docs/tutorials", "experiments/*")
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
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150


def test_the_python_of_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    code = readme.partition("## From Python")[2].partition("```python\n")[2].partition("```")[0]
    rng, rows = np.random.default_rng(0), 300
    table = pd.DataFrame({"age": rng.integers(18, 90, rows), "sex": "Female", "job": "law"})
    table.loc[::2, ["sex", "job"]] = "Male", "arts"
    table["salary"] = np.where(table["age"] > 50, ">50K", "<=50K")
    monkeypatch.chdir(tmp_path)
    table.to_csv("data.csv", index=False)
    declared(table).write("schema.yaml")
    said: dict[str, object] = {"print": lambda *_: None}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(code, said)
    drawn = said["synthetic"]
    assert isinstance(drawn, pd.DataFrame) and set(drawn["sex"]) == {"Female"}
    assert drawn["age"].between(30, 40).all() and Path("model.shirley").is_file()
