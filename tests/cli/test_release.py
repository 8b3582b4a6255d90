"""From a table to a release, as its user meets it: what is written, told and promised."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import run
from place import QUICK, SCHEMA, THESIS
from tables import people

from copula_shirley import Schema, load
from copula_shirley.publish.outputs import card_path
from copula_shirley.publish.pages import read_page
from copula_shirley.publish.verify import verify_file

FIT = "synthesize data.csv --schema schema.yaml --target rich --epsilon 4 -q -o rows.csv"
PROVED = "--schema schema.yaml --epsilon 4"


# -- one command after the other -------------------------------------------------------


def test_the_installed_command_drafts(place: Path) -> None:
    """In a process of its own, as a user calls it."""
    program = Path(sys.executable).with_name("shirley")
    done = subprocess.run(
        [program, "draft", "data.csv"], cwd=place, capture_output=True, check=True
    )
    assert done.stderr == b"" and Schema.from_yaml(done.stdout.decode()).drafted == SCHEMA.names
    path = place / "draft[new].yaml"
    written = run("draft data.csv -o", path, folder=place)
    assert (written.code, written.out) == (0, "") and path.read_bytes() == done.stdout
    assert "draft[new].yaml" in "".join(written.err.split())


def test_a_draft_points_at_what_to_look_at_without_a_value(tmp_path: Path) -> None:
    lines = [f"secret{i // 3},{i % 149 or 'gone'},{i % 2}" for i in range(150)]
    (tmp_path / "data.csv").write_text("\n".join(["id,age,y", *lines]), encoding="ascii")
    notes = run("draft data.csv", folder=tmp_path).said
    assert "'id'" in notes and "--person id" in notes and "secret" not in notes
    assert "'age'" in notes and "--missing" in notes


def test_fit_sample_and_inspect(place: Path) -> None:
    fitted = run(f"fit data.csv -o m.shirley {QUICK}", folder=place)
    assert (fitted.code, fitted.out) == (0, "")
    assert "warning:" in fitted.err and "Privacy label" in fitted.err
    files = ["data.csv", "m.shirley", "m.shirley.card.html", "schema.yaml"]
    assert sorted(os.listdir(place)) == files

    sample = "sample m.shirley --accept-unproved"
    outputs = []
    for name, seed in [("a.csv", 1), ("b.csv", 1), ("c.csv", 2)]:
        assert run(f"{sample} -o {name} -n 50 --seed {seed}", folder=place).code == 0
        outputs.append((place / name).read_bytes())
    assert outputs[0] == outputs[1] != outputs[2]
    table = pd.read_csv(place / "a.csv", keep_default_na=False, na_values=[""])
    assert len(table) == 50 and tuple(table.columns) == SCHEMA.names
    SCHEMA.validate(table)
    drawn = run(f"{sample} -o out.parquet --quiet", folder=place)
    assert (drawn.code, drawn.out) == (0, "") and drawn.err.startswith("NOT PROTECTED: ")
    table = pd.read_parquet(place / "out.parquet")
    assert [str(dtype) for dtype in table.dtypes] == [c.domain.private_storage for c in SCHEMA]
    assert len(table) == 400
    SCHEMA.validate(table)
    assert run(f"{sample} -o none.csv -n 0", folder=place).code == 0
    assert (place / "none.csv").read_text(encoding="utf-8") == ",".join(SCHEMA.names) + "\n"

    shown = run("inspect m.shirley", folder=place).out
    for word in (
        "Privacy label",
        "Spends",
        "Unprotected uses of rows",
        "Vine",
        "income",
        "gaussian",
    ):
        assert word in shown, word
    ledger = json.loads(run("inspect m.shirley --json", folder=place).out)
    assert ledger["claimed"]["epsilon"] == 1 and ledger["unprotected"]
    assert run("inspect m.shirley --plot tree.png -o card.html", folder=place).code == 0
    assert (place / "tree.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")
    assert read_page(place / "card.html")


@pytest.mark.parametrize(
    "words",
    [
        f"{THESIS} --set encoder=woe --target rich --set families=gaussian",
        f"{THESIS} --set encoder=ordinal --set 'families=[indep, frank]'",
        f"{QUICK} --set truncation=none --epsilon off",
        f"{PROVED} --model dp-copula --neighbours replace-one",
        f"{PROVED} --model privbayes --set degree=1 --seed 1",
        f"{PROVED} --model dp-histogram",
        f"{PROVED} --model uniform",
    ],
)
def test_methods_and_their_settings(place: Path, words: str) -> None:
    done = run(f"synthesize data.csv -n 7 -q -o out.csv {words}", folder=place)
    told = "--accept-unproved" in words or "--seed" in words
    assert done.code == 0 and bool(done.err) == told, done.err
    assert len(pd.read_csv(place / "out.csv")) == 7


def test_what_is_off_the_schema_is_clipped_and_named_as_missing(
    place: Path, spoil: Callable[[str, object], None]
) -> None:
    words = f"synthesize data.csv -o out.csv -q {PROVED} --model uniform"
    spoil("age", 4711)
    assert run(f"{words} --on-unknown clip", folder=place).code == 0
    assert pd.read_csv(place / "out.csv")["age"].between(18, 90).all()
    spoil("income", "?")
    assert "column 'income'" in run(words, folder=place).refusal()
    assert run(f"{words} --missing ? --missing ??", folder=place).code == 0


def test_people_with_several_rows(place: Path) -> None:
    table = people().assign(id=[i // 2 for i in range(400)])
    table.to_csv(place / "data.csv", index=False)
    draft = Schema.from_yaml(run("draft data.csv --person id", folder=place).out)
    assert (draft.person, draft.max_rows) == ("id", 2)
    draft.write(place / "schema.yaml")
    words = f"synthesize data.csv -o out.csv {QUICK} --set accounting=honest --save-model m.shirley"
    assert run(words, folder=place).code == 0
    assert "id" not in pd.read_csv(place / "out.csv").columns
    names = ("m.shirley", "m.shirley.card.html", "out.csv", "out.csv.card.html")
    assert set(names) <= set(os.listdir(place)) and load(place / "m.shirley").n_rows_ == 400


# -- private-vine, the default ---------------------------------------------------------


def test_the_default_model_keeps_its_promise(place: Path) -> None:
    assert run(f"{FIT} -n 50 --save-model model.shirley", folder=place).code == 0
    assert len(pd.read_csv(place / "rows.csv")) == 50
    ledger = json.loads(run("inspect model.shirley --json", folder=place).out)
    assert ledger["proved"]["epsilon"] == pytest.approx(4)
    assert not ledger["seeded"] and "OpenDP" in ledger["randomness"]
    shown = run("inspect model.shirley --plot vine.png", folder=place).out
    assert "share of the budget" in shown.replace("\n", " ")
    assert (place / "vine.png").stat().st_size > 1000
    told = run(f"{FIT.replace(' -q', '')} --seed 1", folder=place)
    assert "not for release" in told.said


def test_conditions_stand_on_the_card(place: Path) -> None:
    words = f"{FIT} -n 40 --given job=law --given age=30..40 --save-model m.shirley"
    assert run(words, folder=place).code == 0
    rows = pd.read_csv(place / "rows.csv")
    assert set(rows["job"]) == {"law"} and rows["age"].between(30, 40).all() and len(rows) == 40
    page, text = read_page(card_path(place / "rows.csv"))
    assert page.file is not None and page.file.given == "job=law, age=30..40"
    assert b"drawn under the condition job=law, age=30..40" in text
    assert "condition" not in card_path(place / "m.shirley").read_text(encoding="utf-8")
    assert verify_file(place / "rows.csv").fits
    assert run(f"{FIT} -n 40", folder=place).code == 0
    assert "condition" not in card_path(place / "rows.csv").read_text(encoding="utf-8")


def test_lists_and_comparisons_are_verified_from_the_card(place: Path) -> None:
    words = (
        f"{FIT} -n 40 --given job=law,arts --given age>=30 --given age<50 --save-model m.shirley"
    )
    assert run(words, folder=place).code == 0
    rows = pd.read_csv(place / "rows.csv")
    assert set(rows["job"]) == {"law", "arts"} and rows["age"].between(30, 49).all()
    text = card_path(place / "rows.csv").read_text(encoding="utf-8")
    assert "drawn under the condition job=law,arts, age&gt;=30, age&lt;50" in text
    assert run("verify rows.csv --from m.shirley", folder=place).code == 0
    rows.loc[3, "age"] = 50
    rows.to_csv(place / "rows.csv", index=False)
    found = run("verify rows.csv --from m.shirley", folder=place)
    assert found.code == 1 and "1 rows do not fulfil the condition" in " ".join(found.out.split())


def test_a_plan_reads_no_row(place: Path) -> None:
    (place / "data.csv").unlink()
    words = "plan schema.yaml -n 30000 --epsilon 1 --target rich"
    assert "tree 1" in run(words, folder=place).out
    plan = json.loads(run(f"{words} --json", folder=place).out)
    assert sum(stage["share"] for stage in plan["stages"]) == pytest.approx(1, abs=1e-9)


def test_what_a_draft_leaves_open_is_measured(place: Path) -> None:
    """One odd text in a column of numbers is one missing value and changes no other row."""
    draft = run("draft data.csv", folder=place).out
    known = draft.replace("provenance: drafted", "provenance: private")
    (place / "draft.yaml").write_text(known, encoding="utf-8")
    with (place / "data.csv").open("a", encoding="utf-8") as file:
        file.write("x,law,12.5,True,2020-05-05,low,1\n")
    fit = "fit data.csv --schema draft.yaml -q -o model.shirley"
    assert "'age': provenance (private) means" in run(fit, folder=place).refusal()
    assert run(f"{fit} --domain measured --epsilon 50", folder=place).code == 0
    ledger = json.loads(run("inspect model.shirley --json", folder=place).out)
    assert set(ledger["domains"].values()) == {"private"} and not ledger["unprotected"]
    assert ledger["proved"]["epsilon"] == pytest.approx(50)
    assert run("sample model.shirley -n 50 -q -o rows.csv", folder=place).code == 0
    assert pd.read_csv(place / "rows.csv")["age"].between(16, 127).all()


# -- protected, or refused, or red -----------------------------------------------------


@pytest.fixture
def patients(tmp_path: Path) -> Path:
    """A folder with a table of people, some of them with several rows, and its draft."""
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
    done = run("draft data.csv", folder=tmp_path)
    assert done.code == 0 and "ecret" not in done.out and "70000" not in done.out
    assert "consider --person email" in done.err and "secret" not in done.err
    (tmp_path / "schema.yaml").write_text(done.out, encoding="utf-8")
    return tmp_path


def know_the_kinds(folder: Path) -> None:
    text = (folder / "schema.yaml").read_text(encoding="utf-8")
    head, columns = text.split("\ncolumns:")
    left = head.replace("provenance: drafted", "provenance: declared")
    known = columns.replace("provenance: drafted", "provenance: private")
    (folder / "schema.yaml").write_text(f"{left}\ncolumns:{known}", encoding="utf-8")


RELEASE = "synthesize data.csv --schema schema.yaml -o out.csv"


def test_the_commands_of_the_readme_publish_no_name(patients: Path) -> None:
    assert run("plan schema.yaml -n 500", folder=patients).code == 0
    before = sorted(patients.iterdir())
    for words in ("", "-q", "--epsilon 0.1", "--model dp-histogram", "--model uniform"):
        for command in (RELEASE, RELEASE.replace("synthesize", "fit").replace("out.csv", "m")):
            line = run(f"{command} {words}", folder=patients).refusal()
            assert "--accept-unproved" in line and "drafted from the rows" in line
    assert sorted(patients.iterdir()) == before


def test_a_draft_that_was_only_marked_as_declared_is_refused(patients: Path) -> None:
    text = (patients / "schema.yaml").read_text(encoding="utf-8")
    for flipped in (
        text.replace("drafted", "declared"),
        "\n".join(line.replace("drafted", "declared", 1) for line in text.split("\n")),
    ):
        (patients / "schema.yaml").write_text(flipped, encoding="utf-8")
        line = run(RELEASE, folder=patients).refusal()
        assert "column 'ward': provenance (declared) does not fit" in line
    assert not (patients / "out.csv").exists()


def test_measured_domains_need_no_flag_where_kinds_are_known(patients: Path) -> None:
    words = f"{RELEASE} --domain measured --epsilon 9"
    assert "provenance: private where you know the kind" in run(words, folder=patients).refusal()
    know_the_kinds(patients)
    done = run(words, folder=patients)
    assert list(pd.read_csv(patients / "out.csv").columns) == ["ward", "age"]
    said = " ".join(done.err.replace("│", " ").split())
    assert "cells ward " in said and "left out email: by its name it holds e-mail" in said
    assert (done.code, run(f"{words} -q", folder=patients).err) == (0, "")


def test_what_is_accepted_is_red_also_when_quiet(patients: Path) -> None:
    done = run(f"{RELEASE} --accept-unproved -q", folder=patients)
    assert (done.code, done.out) == (0, "")
    assert done.err.startswith("NOT PROTECTED: nothing is proved about the privacy of out.csv")
    assert "'ward', 'age'" in done.err and "--domain measured" in done.err
    assert "ecret" not in (patients / "out.csv").read_text(encoding="utf-8")
    card = read_page(patients / "out.csv.card.html")[0].card
    assert card["words"]["verdict"] == "nothing proved"
    # the saved model needs the flag again
    fit = "fit data.csv --schema schema.yaml -o m.shirley -q --accept-unproved"
    assert run(fit, folder=patients).code == 0
    sample = "sample m.shirley -q -o more.csv"
    assert "--accept-unproved" in run(sample, folder=patients).refusal()
    assert not (patients / "more.csv").exists()
    done = run(f"{sample} --accept-unproved", folder=patients)
    assert done.code == 0 and done.err.startswith("NOT PROTECTED: ")


def test_drafted_rows_of_a_person_need_the_flag(patients: Path) -> None:
    text = run("draft data.csv --person patient_no", folder=patients).out
    known = text.replace("provenance: drafted", "provenance: declared, source: codebook", 1)
    assert Schema.from_yaml(known).person_source == "codebook"
    most = Schema.from_yaml(text).max_rows
    columns = "columns: {ward: {kind: categorical, categories: [surgery, internal]}}\n"
    person = f"person: {{column: patient_no, max_rows: {most}, provenance: drafted}}\n"
    left = "left_out: {name: , email: , age: }\n"
    (patients / "schema.yaml").write_text(person + left + columns, encoding="utf-8")
    line = run("fit data.csv --schema schema.yaml -o m.shirley", folder=patients).refusal()
    assert "'max_rows of patient_no' was counted in the rows" in line


# -- before anything is spent ----------------------------------------------------------


def test_a_useless_fit_is_asked_about_on_a_terminal(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = "fit data.csv --schema schema.yaml --epsilon 0.01 -o m.shirley"
    assert "nothing useful can come out" in run(words, folder=place).refusal()
    monkeypatch.setattr("copula_shirley.cli.options.asks", lambda: True)
    for answer, code in (("", 2), ("n\n", 2), ("y\n", 0)):
        monkeypatch.setattr("sys.stdin", io.StringIO(answer))
        found = run(words, folder=place)
        assert found.code == code and "Continue? [y/N]" in found.said
        assert (place / "m.shirley").exists() == (code == 0)
        assert ("stopped before anything was spent" in found.said) == (code == 2)
    monkeypatch.setattr("copula_shirley.cli.options.asks", lambda: False)
    accepted = run(f"{words} --accept-poor", folder=place)
    assert accepted.code == 0 and "note: Nothing useful can come out" in accepted.said
    assert "--rows-about" not in run(f"{words} --rows-about 9000000 -q", folder=place).err
