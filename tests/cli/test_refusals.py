"""What is refused: one line that names the option, exit code 2, and every file as it was."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from commands import run
from place import QUICK, THESIS

#: The options of a fit that is refused, and words of the refusal.
SETTINGS = {
    "--epsilon 0": "--epsilon ('0') must be a positive",
    "--epsilon nan": "--epsilon ('nan') must be a positive",
    "--epsilon much": "--epsilon ('much') must be a positive number from 1e-09 to 1e+15, or 'off'",
    "--set epsilon=2": "must be given as --epsilon",
    "--set encoder": "--set ('encoder') must be name=value",
    "--set encoder=hash": "--set encoder ('hash')",
    "--set colour=1": "colour is no setting of 'copula-shirley'; it has epsilon",
    "--set reweight=true": "reweight is one of 'private-vine'",
    "--set encoder=woe": "--target (not given)",
    "--set mechanism=none": "--set mechanism (none) must be one of",
    "--set encoder=woe --set encoder=glmm": "--set ('encoder=glmm') must be the only one",
    "--delta 1e-6 --set delta=1e-7": "--set delta (1e-07) must be left out: --delta is given",
    "--set families=[joe": "--set ('families=[joe') must be JSON or YAML",
    "--model private-vine --set truncation=0": "a positive whole number, 'auto' or none",
    "--set encoder=woe --target grade": "two declared values",
    "--target sex": "--target ('sex')",
    "--delta 2": "--delta (2.0)",
    "--neighbours x": "('x') must be one of add-remove, replace-one",
    "--on-unknown x": "('x') must be one of refuse, clip",
    "--domain x": "('x') must be one of declared, measured",
    "--seed -1": "--seed (-1) must be 0 or more",
    "--seed x": "--seed ('x') must be a whole number",
    "--model gan": "--model ('gan') must be one of copula-shirley",
    "--model real": "holds the rows themselves",
    "--model private-vine --domain measured --delta 1": "--delta (1.0)",
    "--epsilonn 1": "--epsilonn",
}
#: Whole commands that are refused.
COMMANDS = {
    "frobnicate": "No such command",
    "fit": "Missing argument",
    "sample m out.csv": "Missing option",
    "synthesize data.csv": "Missing option '--output'",
    "plan schema.yaml -n 0": "--rows (0)",
    "plan schema.yaml -n abc": "--rows ('abc') must be a whole number",
    "plan schema.yaml -n 9 --delta x": "--delta ('x') must be a number",
    "plan broken.yaml -n 9": "schema file 'broken.yaml': not readable as YAML near line 2",
    "plan schema.yaml -n 10 --target shoe": "--target ('shoe')",
    "plan absent.yaml -n 10": "absent.yaml",
    "plan schema.yaml -n 10 --model uniform": "--model ('uniform') cannot be planned",
    "fit data.csv -o m": "without a schema",
    "fit data.csv -o m.csv": "--output ('m.csv') must be the name of a model, such as",
    "synthesize data.csv -o o.csv --save-model m.csv": "--save-model ('m.csv') must be the name of",
    "fit data.csv --schema schema.yaml -o m --epsilon off": "epsilon off draws no noise",
    "fit data.csv --schema schema.yaml -o m --model copula-shirley": "proves nothing at any",
    "fit data.csv --domain measured -o m": "without a schema",
    "fit data.csv --schema data.csv -o m": "must be a mapping",
    "fit data.csv --releases r.json -o m --accept-unproved": "--schema (not given) must be named",
    "fit absent.parquet -o m --accept-unproved": "does not exist",
    "draft data.ods": "must end in one of",
    "fit absent --schema schema.yaml -o m": "('absent') must name a table, but nothing is there",
    "draft .": "cannot be read: it is a folder; name a file",
    "evaluate . --schema schema.yaml": "is a folder; name one of its files",
    "fit data.csv --schema schema.yaml -o absent/m": "folder 'absent' does not exist",
    "draft data.csv --person id": "--person ('id') must be",
    "inspect model.shirley --json --plot tree.png": "cannot be asked for at once",
    "sample model.shirley -o out.csv -n -1 --accept-unproved": "--rows (-1)",
    f"synthesize data.csv -o out.csv -n -1 {QUICK}": "--rows (-1)",
    "synthesize data.csv --schema schema.yaml -o out.csv --given job=priest": "--given 'job'",
    "synthesize data.csv --schema schema.yaml -o out.csv --given age=300": "--given 'age' (300)",
    "synthesize data.csv --schema schema.yaml -o out.csv --given age=40..30": "'age' (40..30) must",
    "synthesize data.csv --schema schema.yaml -o out.csv --given shoe=3": "--given ('shoe')",
    "synthesize data.csv --schema schema.yaml -o out.csv --given age": "name=value",
    "synthesize data.csv --schema schema.yaml -o out.csv --given job=law --given job=farm": "both",
    # what is read is never written over, nor one result by the other
    "draft data.csv -o data.csv": "must be another file",
    f"fit data.csv {QUICK} -o data.csv": "must be another file",
    f"fit data.csv {QUICK} -o schema.yaml": "must be another file",
    f"synthesize data.csv {QUICK} -o ./data.csv": "must be another file",
    f"synthesize data.csv {QUICK} -o out.csv --save-model out.csv": "--save-model ('out.csv')",
    "sample data.csv -o out.csv": "not a whole model file",
    "inspect absent.shirley": "'absent.shirley' does not exist",
    "sample model.shirley -o out.doc --accept-unproved": "--output ('out.doc') must end in",
    "inspect model.shirley --plot out.txt": "--plot ('out.txt') must end in",
    "inspect model.shirley --plot model.shirley": "--plot ('model.shirley') must be another",
    "inspect model.shirley -o card.csv": "--output ('card.csv') must end in .html",
    "convert schema.yaml --resource x": "--resource ('x') must be left out: 'schema.yaml' is a",
    "convert schema.yaml --declared --source x": "--source ('x') must be left out",
    "inspect model.shirley -o model.shirley": "--output ('model.shirley') must be another",
    "verify model.shirley --from model.shirley": "--from ('model.shirley') goes with a table",
    "releases new r.json --epsilon off": "--epsilon ('off') must be a number",
    "releases new data.csv --epsilon 1": "never replaced",
}
#: Commands that write a file called OUT.
WRITING = {
    "draft": "draft data.csv -o OUT",
    "fit": f"fit data.csv -o OUT {QUICK}",
    "sample": "sample model.shirley -o OUT --accept-unproved",
    "synthesize": f"synthesize data.csv -o OUT {QUICK}",
    "save-model": f"synthesize data.csv -o out.csv --save-model OUT {QUICK}",
    "plot": "inspect model.shirley --plot OUT",
    "card": "inspect model.shirley -o OUT",
}
ENDINGS = {
    **{"plot": "png", "card": "html", "draft": "yaml"},
    **{"fit": "shirley", "save-model": "shirley"},
}


def listing(folder: Path) -> dict[str, bytes | None]:
    """Every file below the folder, hidden ones too, with its content."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


@pytest.mark.usefixtures("model")
@pytest.mark.parametrize(
    ("words", "message"),
    [(f"fit data.csv -o m {THESIS} {words}", said) for words, said in SETTINGS.items()]
    + list(COMMANDS.items()),
)
def test_a_command_is_refused(place: Path, words: str, message: str) -> None:
    (place / "broken.yaml").write_text("columns: [", encoding="utf-8")
    before = listing(place)
    assert message in run(words, folder=place).refusal()  # the last model that is named counts
    assert listing(place) == before


def test_a_wrong_condition_is_refused_before_the_fit(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("copula_shirley.tasks.fitted", None)  # cannot be called
    for words in [words for words in COMMANDS if "--given" in words]:
        run(words, folder=place).refusal()


@pytest.mark.parametrize(
    ("column", "value", "allowed"),
    [
        ("job", "quarry4711", "'arts', 'farm', 'law', 'none'"),
        ("age", 4711, "[18, 90]"),
        ("age", "quarry4711", "numbers in [18, 90]"),
        ("age", 47.11, "whole number"),
        ("income", float("inf"), "[0, 100000]"),
        ("active", "quarry4711", "False, True"),
        ("joined", "4711/01/01", "'%Y-%m-%d'"),
        ("joined", "1947-11-01", "[2020-01-01 00:00:00, 2020-12-31"),
    ],
)
def test_a_value_off_the_schema_is_quoted_on_request_only(
    place: Path, spoil: Callable[[str, object], None], column: str, value: Any, allowed: str
) -> None:
    spoil(column, value)
    (place / "precious.csv").write_bytes(b"precious")
    before = listing(place)
    words = f"synthesize data.csv -o precious.csv {QUICK}"
    hidden = run(words, folder=place).refusal()
    assert f"column {column!r}: " in hidden and allowed in hidden and str(value) not in hidden
    shown = run(f"{words} --show-values", folder=place).refusal()
    assert allowed in shown and str(value) in shown
    assert listing(place) == before


@pytest.mark.usefixtures("model")
@pytest.mark.parametrize("name", WRITING)
def test_an_output_that_cannot_be_written(place: Path, name: str) -> None:
    ending = ENDINGS.get(name, "csv")
    (place / f"folder.{ending}").mkdir()
    before = listing(place)
    for output, why in (
        (f"absent/o.{ending}", "cannot be written"),
        (f"folder.{ending}", "folder"),
    ):
        line = run(WRITING[name].replace("OUT", output), folder=place).refusal()
        assert repr(output) in line and why in line
    assert listing(place) == before


@pytest.mark.usefixtures("model")
def test_an_existing_output_survives_a_run_that_fails_late(place: Path) -> None:
    """Six rows pass the schema, but leave the encoder's share with one class of the target."""
    (place / "precious.csv").write_bytes(b"precious")
    read = pd.read_csv(place / "data.csv", dtype=str, keep_default_na=False)
    table = read.iloc[:6].assign(rich=1)
    table.to_csv(place / "data.csv", index=False)
    before = listing(place)
    words = f"synthesize data.csv -o precious.csv {THESIS} --set encoder=woe --target rich"
    assert "target ('rich')" in run(words, folder=place).refusal()
    sampled = "sample model.shirley -o precious.csv --accept-unproved"
    run(f"{sampled} --seed -1", folder=place).refusal()  # fails after the file is opened
    assert listing(place) == before
    assert run(f"{sampled} -n 2", folder=place).code == 0
    assert len(pd.read_csv(place / "precious.csv")) == 2
    assert not list(place.glob("*.partial")) + list(place.glob(".*"))


# -- faults that are not the input's ---------------------------------------------------


def test_the_text_of_an_unforeseen_error_is_not_shown(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may quote a row, so that only its type is told."""
    monkeypatch.delenv("SHIRLEY_DEBUG", raising=False)

    def explode(*_: Any, **__: Any) -> None:
        raise RuntimeError("quarry4711")

    monkeypatch.setattr(pd, "read_csv", explode)  # not ours: what pandas might do
    done = run("draft data.csv", folder=place)
    assert done.code == 3 and done.err.count("\n") == 1
    assert "RuntimeError" in done.err and "quarry4711" not in done.err + done.out
    monkeypatch.setenv("SHIRLEY_DEBUG", "1")
    with pytest.raises(RuntimeError, match="quarry4711"):
        run("draft data.csv", folder=place)


def test_an_interrupt_leaves_nothing_behind(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(pd, "read_csv", interrupt)
    before = listing(place)
    done = run(f"fit data.csv -o m {QUICK}".replace("--schema schema.yaml", ""), folder=place)
    assert done.code == 130 and "nothing was written" in done.err
    assert listing(place) == before
