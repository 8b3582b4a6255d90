"""What editors are told of schema files is what ``Schema.read`` takes; schemas as pictures."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path
from typing import Any

import jsonschema
import pandas as pd
import pytest
import yaml
from tables import PEOPLE, STAYS, people

from copula_shirley import Column, Schema, SchemaError
from copula_shirley.files.strict_yaml import load_yaml
from copula_shirley.schema.column import KINDS

ROOT = Path(__file__).parents[2]
PAGES = "".join((ROOT / page).read_text("utf-8") for page in ("README.md", "docs/schema.md"))
VALIDATOR = jsonschema.Draft202012Validator(Schema.json_schema())


def plain(text: str) -> Any:
    """A schema file as an editor sees it: dates are texts."""
    return json.loads(json.dumps(load_yaml(text), default=str))


def test_pages_and_drafts_and_every_kind_are_valid() -> None:
    VALIDATOR.check_schema(Schema.json_schema())
    examples = [b for b in re.findall(r"```yaml\n(.*?)```", PAGES, re.S) if "columns:" in b]
    assert len(examples) == 2
    table = people().assign(who=range(400), email=[f"x{i}@example.org" for i in range(400)])
    kinds = Schema(tuple(Column(k, k, **v.least) for k, v in KINDS.items()))
    drafts = (Schema.draft(table), Schema.draft(table, person="who"), PEOPLE, kinds, STAYS)
    texts = [schema.to_yaml() for schema in (*drafts, Schema.of_kinds({k: k for k in KINDS}))]
    for text in (*examples, *texts):
        Schema.from_yaml(text)
        VALIDATOR.validate(plain(text))


FIT = "columns: {x: {kind: boolean}}"


@pytest.mark.parametrize(
    "text",
    [
        "columns: {}",
        *(
            f"columns: {{x: {{kind: {fields}}}}}"
            for fields in (
                *("text", "integer", "integer, minimum: a, maximum: 9", "boolean, ordered: true"),
                *("duration, minimum: 0, maximum: 9", "boolean, provenance: guessed"),
            )
        ),
        *(f"{FIT}\n{more}" for more in ("left_out: {y: {replace: fake}}", "person: {}", "rows: 3")),
        *(
            f"{FIT}\nrules: [{rule}]"
            for rule in (
                *("{order: []}", "{order: [x, y], gaps: 1}", "{computed: x}", "{when: {x: 1}}"),
                *(
                    "{one_hot: [x, y], exactly: 2}",
                    "{constant: [x]}",
                    "{forbidden: {columns: [x]}}",
                ),
            )
        ),
        f"{FIT}\non_broken: mend",
    ],
)
def test_editors_refuse_what_we_refuse(text: str) -> None:
    assert not VALIDATOR.is_valid(plain(text))
    with pytest.raises(SchemaError):
        Schema.from_yaml(text)


def test_a_user_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_module("copula_shirley.schema", run_name="__main__")
    assert json.loads(capsys.readouterr().out) == Schema.json_schema()


def test_a_schema_is_written_whole(tmp_path: Path) -> None:
    PEOPLE.write(tmp_path / "schema.yaml")
    assert Schema.read(tmp_path / "schema.yaml") == PEOPLE
    assert yaml.safe_load((tmp_path / "schema.yaml").read_text("utf-8")) == PEOPLE.to_dict()
    assert [path.name for path in tmp_path.iterdir()] == ["schema.yaml"]


def test_a_schema_as_a_table() -> None:
    frame = Schema((*PEOPLE, Column("x", "integer", provenance="private"))).to_frame()
    assert list(frame.index) == [*PEOPLE.names, "x"]
    assert frame.loc["age"].tolist() == ["integer", "18 to 90", False, 73, "declared", None]
    assert frame.loc["job", "domain"] == "'arts', 'farm', 'law', 'none'"
    assert frame.loc["x", "domain"] == "to be measured" and pd.isna(frame.loc["x", "cells"])
    wild = Schema((Column("<b>", "categorical", categories=("<script>",)),))
    page = wild._repr_html_()
    assert page.startswith("<table") and "<b>" not in page and "<script>" not in page
