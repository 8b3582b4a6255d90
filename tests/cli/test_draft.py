"""``shirley draft``: a draft that can be reviewed, is never lost, and is kept up to date."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from commands import run

from copula_shirley import Schema, SchemaError
from copula_shirley.schema.schema import LeftOut

WARDS = [f"ward {i:02}" for i in range(25)]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    rows = 1000
    pd.DataFrame(
        {
            "ward": [WARDS[i % 25] for i in range(rows)],
            "age": [f"{i % 90},5" if i % 10 else "N/A" for i in range(rows)],
            "who": [f"P{i // 5 if i < 980 else 1:03}" for i in range(rows)],
            "note": "x",
        }
    ).to_csv(tmp_path / "data.csv", index=False, sep=";")
    return tmp_path


def test_long_lists_are_folded_into_files(place: Path) -> None:
    assert run("draft data.csv -o s.yaml --drop note", folder=place).code == 0
    text = (place / "s.yaml").read_text(encoding="utf-8")
    assert "categories: {file: s.ward.txt}" in text and "ward 07" not in text
    assert (place / "s.ward.txt").read_text(encoding="utf-8").splitlines() == WARDS
    schema = Schema.read(place / "s.yaml")
    assert schema["ward"].categories == tuple(WARDS)
    assert schema.left_out[0] == LeftOut("note", schema.left_out[0].reason)
    assert "\n# ward " in text and "missing: N/A" in text
    assert (schema.file.separator, schema.file.decimal) == (";", ",")
    printed = run("draft data.csv --drop note", folder=place).out
    assert Schema.from_yaml(printed) == schema and "ward 07" in printed
    words = "synthesize data.csv --schema s.yaml -o out.csv --accept-unproved -q --epsilon 5"
    assert run(words, folder=place).code == 0
    drawn = pd.read_csv(place / "out.csv", sep=";", decimal=",")
    assert list(drawn.columns) == ["ward", "age"] and drawn["age"].dtype == float
    assert run("verify out.csv", folder=place).code == 0


def test_a_schema_is_not_overwritten_and_what_was_reviewed_is_kept(place: Path) -> None:
    assert run("draft data.csv -o s.yaml", folder=place).code == 0
    before = (place / "s.yaml").read_bytes()
    line = run("draft data.csv -o s.yaml", folder=place).refusal()
    assert "--output ('s.yaml') exists" in line and "--update keeps what was" in line
    assert (place / "s.yaml").read_bytes() == before
    Schema.from_yaml(
        """
file: {separator: ;, decimal: ",", missing: [N/A]}
left_out: {note: , who: {provenance: drafted}}
columns:
  age: {kind: continuous, minimum: 0, maximum: 120, missing: true, source: book}
  ward: {kind: boolean, provenance: drafted}
  gone: {kind: boolean}
"""
    ).write(place / "s.yaml")
    done = run("draft data.csv -o s.yaml --update --person who", folder=place)
    assert done.code == 0 and "column 'gone' is kept from the schema" in done.err
    schema = Schema.read(place / "s.yaml")
    assert (schema["age"].maximum, schema["age"].source) == (120, "book")
    assert schema.names == ("ward", "age", "gone") and schema["ward"].kind == "categorical"
    assert [left.name for left in schema.left_out] == ["note"] and schema.person == "who"
    assert run("draft data.csv -o s.yaml --force", folder=place).code == 0
    assert Schema.read(place / "s.yaml")["age"].provenance == "drafted"


def test_what_is_said_of_reviewed_columns_is_marked_as_seen_in_the_rows(place: Path) -> None:
    """Gaps are counted anew, and no entry is a draft any more."""
    assert run("draft data.csv -o s.yaml --person who", folder=place).code == 0
    drafted = Schema.read(place / "s.yaml").to_dict()
    for entry in (*drafted["columns"].values(), drafted["person"], drafted["file"]):
        entry |= {"provenance": "declared", "source": "book"}
        entry.pop("draft", None)
    drafted["file"].pop("source")
    for entry in drafted.get("left_out", {}).values():
        entry["provenance"] = "declared"
    Schema.from_dict(drafted).write(place / "s.yaml")
    assert run("draft data.csv -o s.yaml --update", folder=place).code == 0
    text = (place / "s.yaml").read_text()
    assert "% missing" in text and "provenance: drafted" not in text
    assert text.startswith("# Seen in the rows, not for release")


def test_the_rows_of_a_person_are_a_quantile_and_the_note_says_what_it_saves(place: Path) -> None:
    done = run("draft data.csv --person who", folder=place)
    assert Schema.from_yaml(done.out).max_rows == 5
    assert "one person has 25 rows, 99% have at most 5. With max_rows 5" in done.said
    assert "the noise is 5 times smaller than with 25, and 2.00% of the rows" in done.said


WRONG = {
    "draft data.csv --drop gone": "--drop ('gone') must be a column of the table",
    "draft data.csv -o gone.yaml --update": "'gone.yaml' does not exist",
    "draft data.csv --person gone": "--person ('gone') must be a column",
    "draft data.csv -o data.csv --force": "must be another file",
    "draft data.csv -o copy.csv": "--output ('copy.csv') must end in .yaml or .yml",
    "draft data.csv --update": "--output (not given) must name the schema to update",
}


@pytest.mark.parametrize("words", WRONG)
def test_a_wrong_word_is_one_line(place: Path, words: str) -> None:
    assert WRONG[words] in run(words, folder=place).refusal()


LISTS = {
    "{file: /etc/passwd}": "must name a file beside the schema",
    "{file: ../wards.txt}": "must name a file beside the schema",
    "{file: gone.txt}": "does not exist",
    "{file: blank.txt}": "must hold a category in each line, and line 2 is empty",
    "{file: no.yaml}": "must name a list",
    "{file: [a]}": "must be a list, or name one",
    "{files: a.txt}": "must be a list, or name one",
    "{}": "must be a list, or name one",
}


@pytest.mark.parametrize("named", LISTS)
def test_a_list_that_cannot_be_read_is_one_error(place: Path, named: str) -> None:
    (place / "blank.txt").write_text("a\n\nb\n")
    (place / "no.yaml").write_text("a: b")
    (place / "s.yaml").write_text(f"columns: {{x: {{kind: categorical, categories: {named}}}}}")
    with pytest.raises(SchemaError, match="column 'x'") as caught:
        Schema.read(place / "s.yaml")
    assert LISTS[named] in str(caught.value)


def test_lists_of_numbers_and_without_a_file(place: Path) -> None:
    (place / "codes.yaml").write_text("[1, '02', 3.5]")
    text = "columns: {x: {kind: categorical, categories: {file: codes.yaml}}}"
    (place / "s.yaml").write_text(text)
    assert Schema.read(place / "s.yaml")["x"].categories == (1, "02", 3.5)
    with pytest.raises(SchemaError, match="must be read from a schema file"):
        Schema.from_yaml(text)


def test_codes_times_and_numbers_of_other_signs_are_recognised(tmp_path: Path) -> None:
    rows = range(600)
    pd.DataFrame(
        {
            "PLZ": [[10115, 20095, 80331][i % 3] if i % 9 else None for i in rows],
            "zip_code": [10_000 + 97 * i for i in rows],
            "store": [[101, 205, 307][i % 3] for i in rows],
            "grade": [1 + i % 3 for i in rows],
            "time": [f"{i % 24:02}:{i % 60:02}" for i in rows],
            "cost": [f"{1.5 ** (i % 30):.2f}" for i in rows],
            "part": [f"{i % 100},{i % 10}" for i in rows],
            "share": [f"0.{i % 97:02}" for i in rows],
        }
    ).astype({"PLZ": "Int64"}).to_csv(tmp_path / "codes.csv", index=False, sep=";")
    assert run("draft codes.csv -o s.yaml", folder=tmp_path).code == 0
    schema = Schema.read(tmp_path / "s.yaml")
    assert schema["PLZ"].categories == (10115, 20095, 80331) and schema["PLZ"].missing
    assert [left.name for left in schema.left_out] == ["zip_code", "part"]
    assert schema["time"].format == "%H:%M" and schema["time"].resolution == "1min"
    assert schema["cost"].scale == "log" and schema["share"].scale is None
    text = (tmp_path / "s.yaml").read_text(encoding="utf-8")
    said = {line.split()[1]: line for line in text.splitlines() if line.startswith("# ")}
    assert "codes of digits" in said["PLZ"]
    assert "3 different values: labels?" in said["store"] and "labels?" not in said["grade"]
    assert "another way than those of other columns" in said["part"]
    assert "another way" not in said["cost"] + said["zip_code"]
    words = "synthesize codes.csv --schema s.yaml -o out.csv --accept-unproved -q --epsilon 9"
    assert run(words, folder=tmp_path).code == 0
    drawn = pd.read_csv(tmp_path / "out.csv", sep=";")
    assert drawn["time"].str.fullmatch(r"\d\d:\d\d").all()
    assert set(drawn["PLZ"].dropna()) <= {10115, 20095, 80331}
