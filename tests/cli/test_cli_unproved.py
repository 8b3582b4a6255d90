"""What is published from the command line: protected, or refused, or red and loud."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from copula_shirley import Schema
from copula_shirley.cli import main as cli
from copula_shirley.publish.pages import read_page

Shirley = Callable[[str], tuple[int, str, str]]


@pytest.fixture
def shirley(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Shirley:
    """The command in a folder with a table of people, some of them with several rows."""
    rng = np.random.default_rng(2)
    who = rng.integers(0, 200, 500)
    pd.DataFrame(
        {
            "name": [f"Secret{w % 40} Person" for w in who],
            "email": [f"secret{w}@example.org" for w in who],
            "patient_no": 70000 + who,
            "ward": rng.choice(["surgery", "internal"], 500),
            "age": rng.integers(18, 90, 500),
        }
    ).to_csv(tmp_path / "data.csv", index=False)
    monkeypatch.chdir(tmp_path)

    def run(words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["shirley", *words.split()])
        capsys.readouterr()
        code: object = 0
        try:
            cli.main()
        except SystemExit as end:
            code = end.code
        captured = capsys.readouterr()
        return int(str(code or 0)), captured.out, captured.err

    return run


def drafted(shirley: Shirley) -> str:
    code, text, errors = shirley("draft data.csv")
    assert code == 0 and "--person patient_no" not in text
    assert "consider --person email" in errors and "email" in errors and "secret" not in errors
    Path("schema.yaml").write_text(text, encoding="utf-8")
    return text


def test_the_commands_of_the_readme_publish_no_name(shirley: Shirley) -> None:
    text = drafted(shirley)
    assert "ecret" not in text and "70000" not in text
    assert shirley("plan schema.yaml -n 500")[0] == 0
    before = sorted(Path().iterdir())
    for words in ("", "-q", "--epsilon 0.1", "--model dp-histogram", "--model uniform"):
        for command in ("synthesize", "fit"):
            line = f"{command} data.csv --schema schema.yaml -o out.csv {words}"
            code, _, errors = shirley(line)
            assert code == 2 and errors.count("\n") == 1, errors
            assert "--accept-unproved" in errors and "drafted from the rows" in errors
    assert sorted(Path().iterdir()) == before


def test_a_draft_that_was_only_marked_as_declared_is_refused(shirley: Shirley) -> None:
    text = drafted(shirley)
    for flipped in (
        text.replace("drafted", "declared"),
        "\n".join(line.replace("drafted", "declared", 1) for line in text.split("\n")),
    ):
        Path("schema.yaml").write_text(flipped, encoding="utf-8")
        code, _, errors = shirley("synthesize data.csv --schema schema.yaml -o out.csv")
        assert code == 2 and "column 'ward': provenance (declared) does not fit" in errors
    assert not Path("out.csv").exists()


def know_the_kinds() -> None:
    text = Path("schema.yaml").read_text(encoding="utf-8")
    head, columns = text.split("\ncolumns:")
    left = head.replace("provenance: drafted", "provenance: declared")
    known = columns.replace("provenance: drafted", "provenance: private")
    Path("schema.yaml").write_text(f"{left}\ncolumns:{known}", encoding="utf-8")


def test_bought_domains_need_no_flag_where_kinds_are_known(shirley: Shirley) -> None:
    drafted(shirley)
    words = "synthesize data.csv --schema schema.yaml --domain measured --epsilon 9 -q -o out.csv"
    code, _, errors = shirley(words)
    assert code == 2 and "provenance: private where you know the kind" in errors
    know_the_kinds()
    assert shirley(words) == (0, "", "")
    assert list(pd.read_csv("out.csv").columns) == ["ward", "age"]


def test_what_is_accepted_is_red_also_when_quiet(shirley: Shirley) -> None:
    drafted(shirley)
    accepted = "--schema schema.yaml --accept-unproved -q"
    code, out, errors = shirley(f"synthesize data.csv {accepted} -o out.csv")
    assert (code, out) == (0, "")
    assert errors.startswith("NOT PROTECTED: nothing is proved about the privacy of out.csv")
    assert "'ward', 'age'" in errors and "--domain measured" in errors
    assert "ecret" not in Path("out.csv").read_text(encoding="utf-8")
    assert read_page(Path("out.csv.card.html"))[0].card["words"]["verdict"] == "nothing proved"
    # the saved model needs the flag again
    assert shirley(f"fit data.csv {accepted} -o m.shirley")[0] == 0
    code, _, errors = shirley("sample m.shirley -q -o more.csv")
    assert code == 2 and "--accept-unproved" in errors and not Path("more.csv").exists()
    code, _, errors = shirley("sample m.shirley -q --accept-unproved -o more.csv")
    assert code == 0 and errors.startswith("NOT PROTECTED: ") and Path("more.csv").exists()


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("--epsilon off", "epsilon none draws no noise"),
        (
            "--model copula-shirley --set encoder=ordinal --epsilon 0.1",
            "proves nothing at",
        ),
        ("--model copula-shirley --set accounting=honest --set encoder=ordinal", "at any epsilon"),
    ],
)
def test_methods_that_prove_nothing_need_the_flag(shirley: Shirley, words: str, why: str) -> None:
    schema = Schema.from_dict(
        {
            "left_out": {"name": None, "email": None, "patient_no": None},
            "columns": {
                "ward": {"kind": "categorical", "categories": ["surgery", "internal"]},
                "age": {"kind": "integer", "minimum": 0, "maximum": 120},
            },
        }
    )
    Path("schema.yaml").write_text(schema.to_yaml(), encoding="utf-8")
    code, _, errors = shirley(f"synthesize data.csv --schema schema.yaml -o out.csv {words}")
    assert code == 2 and why in errors and not Path("out.csv").exists()
    # floating-point noise and seeds are another matter, which the label tells
    for more in ("", "--seed 1", "--model dp-histogram", "--model uniform"):
        words = f"synthesize data.csv --schema schema.yaml -q -o out.csv {more}"
        assert shirley(words) == (0, "", ""), more


def test_drafted_rows_of_a_person_need_the_flag(shirley: Shirley) -> None:
    text = shirley("draft data.csv --person patient_no")[1]
    known = text.replace("provenance: drafted", "provenance: declared, source: codebook", 1)
    assert Schema.from_yaml(known).person_source == "codebook"
    draft = Schema.from_yaml(text)
    columns = "columns: {ward: {kind: categorical, categories: [surgery, internal]}}\n"
    person = f"person: {{column: patient_no, max_rows: {draft.max_rows}, provenance: drafted}}\n"
    left = "left_out: {name: , email: , age: }\n"
    Path("schema.yaml").write_text(person + left + columns, encoding="utf-8")
    code, _, errors = shirley("fit data.csv --schema schema.yaml -o m.shirley")
    assert code == 2 and "the most rows of one person ('patient_no') were counted" in errors


def test_the_label_tells_cells_and_what_was_left_out(shirley: Shirley) -> None:
    drafted(shirley)
    know_the_kinds()
    words = "synthesize data.csv --schema schema.yaml --domain measured --epsilon 9 -o out.csv"
    errors = " ".join(shirley(words)[2].replace("│", " ").split())
    assert "cells ward " in errors and "left out email: by its name it holds e-mail" in errors
