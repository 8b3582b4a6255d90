"""The ``shirley`` command, as its user meets it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from copula_shirley import CopulaShirley, load
from copula_shirley.cli import main as cli
from copula_shirley.errors import PrivacyWarning
from copula_shirley.files.model_file import HEADER
from copula_shirley.schema.schema import Column, Schema

SCHEMA = Schema(
    (
        Column("age", "integer", minimum=18, maximum=90),
        Column("job", "categorical", categories=("arts", "farm", "law")),
        Column("code", "categorical", categories=("007", "NA")),
        Column("pay", "continuous", minimum=0, maximum=999.9, resolution=0.1, missing=True),
        Column("rich", "boolean"),
        Column(
            "day",
            "datetime",
            minimum="2020-01-01",
            maximum="2020-12-31",
            resolution="1D",
            format="%Y-%m-%d",
        ),
    )
)
#: The model that has encoders and the like; test_cli_private_vine.py is about the default one.
THESIS = ("--model", "copula-shirley", "--accept-unproved")
#: What makes a fit quick and needs no target.
QUICK = (*THESIS, "--set", "encoder=ordinal", "--set", "families=gaussian", "--set", "threads=1")


def two_hundred_rows() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    n = 200
    age = rng.integers(18, 91, n)
    pay = np.round(age * 9 + rng.normal(0, 20, n).clip(-100, 100), 1).clip(0, 999.9)
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 366, n), unit="D")
    return pd.DataFrame(
        {
            "age": age,
            "job": rng.choice(["arts", "farm", "law"], n),
            "code": rng.choice(["007", "NA"], n),
            "pay": np.where(rng.random(n) < 0.1, np.nan, pay),
            "rich": age > 50,
            "day": days.strftime("%Y-%m-%d"),
        }
    )


@dataclass(frozen=True)
class Place:
    """A folder with a table and its schema, as a user has them."""

    folder: Path

    @property
    def data(self) -> Path:
        return self.folder / "data.csv"

    @property
    def schema(self) -> Path:
        return self.folder / "schema.yaml"

    def listing(self) -> dict[str, bytes | None]:
        """Every file below the folder, hidden ones too, with its content."""
        return {
            str(path.relative_to(self.folder)): path.read_bytes() if path.is_file() else None
            for path in sorted(self.folder.rglob("*"))
        }

    def write(self, table: pd.DataFrame) -> None:
        table.to_csv(self.data, index=False)

    def spoil(self, column: str, value: Any) -> None:
        """Put one private value into the fourth row."""
        table = two_hundred_rows().astype({column: object})
        table.loc[3, column] = value
        self.write(table)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    here = Place(tmp_path)
    here.write(two_hundred_rows())
    here.schema.write_text(SCHEMA.to_yaml(), encoding="utf-8")
    return here


@pytest.fixture(scope="session")
def model_bytes(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A saved model, fitted without the command line."""
    path = tmp_path_factory.mktemp("model") / "model.shirley"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        generator = CopulaShirley(encoder="ordinal", families="gaussian", threads=1, random_state=0)
        generator.fit(two_hundred_rows(), SCHEMA).save(path)
    return path.read_bytes()


@pytest.fixture
def model(place: Place, model_bytes: bytes) -> Path:
    path = place.folder / "model.shirley"
    path.write_bytes(model_bytes)
    return path


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    def refusal(self) -> str:
        """The one line of an error that is the input's fault."""
        lines = [line for line in self.err.splitlines() if line.strip()]
        assert self.code == 2, self.err
        assert len(lines) == 1, self.err
        assert lines[0].startswith("error: ")
        assert "Traceback" not in self.err + self.out
        assert "internal error" not in self.err
        return lines[0]


Run = Callable[..., Outcome]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command inside this process, which saves the start of another one."""

    def command(*words: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["shirley", *map(str, words)])
        capsys.readouterr()
        code: Any = 0
        try:
            cli.main()
        except SystemExit as exit_:
            code = exit_.code
        captured = capsys.readouterr()
        return Outcome(int(code or 0), captured.out, captured.err)

    return command


def shirley(*words: object, folder: Path) -> Outcome:
    """Run the installed command, as a user does."""
    program = shutil.which("shirley", path=os.path.dirname(sys.executable))
    assert program is not None, "the package is not installed beside this Python"
    environment = {key: value for key, value in os.environ.items() if key != "SHIRLEY_DEBUG"}
    done = subprocess.run(
        [program, *map(str, words)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def assert_nothing_written(place: Place, before: dict[str, bytes | None]) -> None:
    assert place.listing() == before


# -- the installed command, start to end -----------------------------------------------


def test_schema_is_printed_or_written(run: Run, place: Place) -> None:
    printed = run("draft", place.data)
    assert (printed.code, printed.err) == (0, "")
    draft = Schema.from_yaml(printed.out)
    assert draft.names == SCHEMA.names
    assert draft.drafted == SCHEMA.names
    written = shirley("draft", "data.csv", "-o", "draft.yaml", folder=place.folder)
    assert (written.code, written.out) == (0, "")
    assert (place.folder / "draft.yaml").read_text(encoding="utf-8") == printed.out


def test_fit_sample_and_inspect(place: Place) -> None:
    where = {"folder": place.folder}
    fitted = shirley(
        "fit", "data.csv", "--schema", "schema.yaml", "-o", "m.shirley", *QUICK, **where
    )
    assert fitted.code == 0, fitted.err
    assert "warning:" in fitted.err and "Privacy label" in fitted.err
    assert fitted.out == ""
    card = "m.shirley.card.html"
    assert sorted(place.listing()) == ["data.csv", "m.shirley", card, "schema.yaml"]

    words = ["sample", "m.shirley", "--accept-unproved"]
    drawn = shirley(*words, "-o", "out.csv", "-n", "50", "--seed", "1", **where)
    assert drawn.code == 0, drawn.err
    table = pd.read_csv(
        place.folder / "out.csv", dtype={"code": str}, keep_default_na=False, na_values=[""]
    )
    assert len(table) == 50
    assert list(table.columns) == list(SCHEMA.names)
    SCHEMA.validate(table)

    drawn = shirley(*words, "-o", "out.parquet", "--quiet", **where)
    assert (drawn.code, drawn.out) == (0, "") and drawn.err.startswith("NOT PROTECTED: ")
    table = pd.read_parquet(place.folder / "out.parquet")
    assert len(table) == 200
    assert [str(dtype) for dtype in table.dtypes] == [c.domain.private_storage for c in SCHEMA]
    SCHEMA.validate(table)

    shown = shirley("inspect", "m.shirley", **where)
    assert shown.code == 0, shown.err
    for word in ("Privacy label", "Spends", "Unprotected uses of rows", "Vine", "pay", "gaussian"):
        assert word in shown.out, word

    as_json = shirley("inspect", "m.shirley", "--json", **where)
    assert (as_json.code, as_json.err) == (0, "")
    ledger = json.loads(as_json.out)
    assert ledger["claimed"]["epsilon"] == 1
    assert ledger["unprotected"]

    plotted = shirley("inspect", "m.shirley", "--plot", "tree.png", **where)
    assert plotted.code == 0, plotted.err
    assert (place.folder / "tree.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


def test_synthesize_to_csv_with_the_model_kept(place: Place) -> None:
    words = ["synthesize", "data.csv", "--schema", "schema.yaml", "-o", "out.csv", *QUICK]
    done = shirley(*words, "--save-model", "m.shirley", "--rows", "30", folder=place.folder)
    assert done.code == 0, done.err
    assert len(pd.read_csv(place.folder / "out.csv")) == 30
    names = ["m.shirley", "m.shirley.card.html", "out.csv", "out.csv.card.html"]
    assert sorted(place.listing()) == ["data.csv", *names, "schema.yaml"]
    assert load(place.folder / "m.shirley").n_rows_ == 200


def test_synthesize_from_parquet_to_parquet(place: Place) -> None:
    table = two_hundred_rows().assign(
        rich=lambda t: t["rich"].astype("boolean"), job=lambda t: t["job"].astype("category")
    )
    table.to_parquet(place.folder / "data.parquet")
    words = ["data.parquet", "--schema", "schema.yaml", "-o", "out.parquet", "--quiet", *QUICK]
    done = shirley("synthesize", *words, folder=place.folder)
    assert (done.code, done.out) == (0, "") and done.err.startswith("NOT PROTECTED: ")
    synthetic = pd.read_parquet(place.folder / "out.parquet")
    # whole numbers of a file are read as nullable ones, whether or not one is missing
    read = [str(dtype).replace("int64", "Int64") for dtype in table.dtypes]
    assert [str(dtype) for dtype in synthetic.dtypes] == read
    SCHEMA.validate(synthetic)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("fit", "data.csv", "--schema", "schema.yaml", "-o", "m", "--epsilon", "0"),
            "epsilon (0.0) must be a positive",
        ),
        (("sample", "absent.shirley", "-o", "out.csv"), "'absent.shirley' does not exist"),
    ],
)
def test_an_error_of_the_installed_command(
    place: Place, words: tuple[str, ...], message: str
) -> None:
    before = place.listing()
    assert message in shirley(*words, folder=place.folder).refusal()
    assert_nothing_written(place, before)


# -- happy paths that need no process of their own -------------------------------------


def test_the_help_names_every_command(run: Run) -> None:
    done = run("--help")
    assert (done.code, done.err) == (0, "")
    for word in ("schema", "fit", "sample", "synthesize", "inspect"):
        assert word in done.out


def test_no_words_at_all_show_the_help(run: Run) -> None:
    done = run()
    assert "Usage: shirley" in done.out
    assert "error" not in done.err


def test_a_fit_without_a_schema_says_that_the_domain_is_drafted(run: Run, place: Place) -> None:
    done = run("fit", place.data, "-o", place.folder / "m", *QUICK)
    assert done.code == 0, done.err
    ledger = json.loads(run("inspect", place.folder / "m", "--json").out)
    assert set(ledger["domains"].values()) == {"drafted"}


def test_woe_with_its_target(run: Run, place: Place) -> None:
    words = ("--schema", place.schema, *THESIS, "--set", "encoder=woe", "--target", "rich")
    done = run(
        "fit", place.data, "-o", place.folder / "m", *words, "--set", "families=gaussian", "--quiet"
    )
    assert (done.code, done.out) == (0, "") and done.err.startswith("NOT PROTECTED: ")


@pytest.mark.parametrize("families", ["gaussian", "gaussian,clayton", "indep, frank"])
def test_names_of_families(run: Run, place: Place, families: str) -> None:
    done = run(
        "synthesize", place.data, "--schema", place.schema, "-o", place.folder / "out.csv",
        *THESIS, "--set", "encoder=ordinal", "--set", f"families=[{families}]", "-n", "5",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert len(pd.read_csv(place.folder / "out.csv")) == 5


def test_no_noise_is_asked_for_by_its_name(run: Run, place: Place) -> None:
    words = ("--schema", place.schema, "--epsilon", "off", "--set", "truncation=none", *QUICK)
    done = run("fit", place.data, "-o", place.folder / "m", *words)
    assert done.code == 0, done.err
    assert "nothing is protected" in done.err


def test_the_same_seed_gives_the_same_bytes(run: Run, model: Path, place: Place) -> None:
    outputs = []
    for name, seed in [("a.csv", 1), ("b.csv", 1), ("c.csv", 2)]:
        words = ("-o", place.folder / name, "--seed", seed, "--accept-unproved")
        assert run("sample", model, *words).code == 0
        outputs.append((place.folder / name).read_bytes())
    assert outputs[0] == outputs[1] != outputs[2]


def test_no_rows_are_a_table_too(run: Run, model: Path, place: Place) -> None:
    words = ("-o", place.folder / "none.csv", "-n", "0", "--accept-unproved")
    assert run("sample", model, *words).code == 0
    text = (place.folder / "none.csv").read_text(encoding="utf-8")
    assert text == ",".join(SCHEMA.names) + "\n"


def test_values_off_the_schema_are_clipped_on_request(run: Run, place: Place) -> None:
    place.spoil("age", 4711)
    words = ("--schema", place.schema, "--on-unknown", "clip", *QUICK)
    done = run("synthesize", place.data, "-o", place.folder / "out.csv", *words)
    assert done.code == 0, done.err
    assert pd.read_csv(place.folder / "out.csv")["age"].between(18, 90).all()


def test_a_text_that_stands_for_missing(run: Run, place: Place) -> None:
    place.spoil("pay", "?")
    words = ("--schema", place.schema, "-o", place.folder / "out.csv", *QUICK)
    assert "column 'pay'" in run("synthesize", place.data, *words).refusal()
    done = run("synthesize", place.data, *words, "--missing", "?", "--missing", "??")
    assert done.code == 0, done.err


def test_people_with_several_rows(run: Run, place: Place) -> None:
    place.write(two_hundred_rows().assign(id=[i // 2 for i in range(200)]))
    draft = Schema.from_yaml(run("draft", place.data, "--person", "id").out)
    assert (draft.person, draft.max_rows) == ("id", 2)
    (place.folder / "draft.yaml").write_text(draft.to_yaml(), encoding="utf-8")
    words = ("--schema", place.folder / "draft.yaml", "-o", place.folder / "out.csv", *QUICK)
    done = run("synthesize", place.data, *words, "--set", "accounting=honest")
    assert done.code == 0, done.err
    assert "id" not in pd.read_csv(place.folder / "out.csv").columns


def test_a_plot_beside_the_json_is_drawn_or_refused(run: Run, model: Path, place: Place) -> None:
    done = run("inspect", model, "--json", "--plot", place.folder / "tree.svg")
    drawn = (place.folder / "tree.svg").is_file()
    assert done.code == (0 if drawn else 2)


def test_brackets_in_a_file_name_are_shown(run: Run, place: Place) -> None:
    path = place.folder / "draft[new].yaml"
    done = run("draft", place.data, "-o", path)
    assert done.code == 0, done.err
    assert path.is_file()
    assert "draft[new].yaml" in "".join(done.err.split())


# -- settings that cannot be -----------------------------------------------------------

SETTINGS = {
    "--epsilon 0": "epsilon (0.0) must be a positive",
    "--epsilon nan": "epsilon (nan) must be a positive",
    "--epsilon much": "epsilon ('much') must be a positive number or 'off'",
    "--set epsilon=2": "must be given as --epsilon",
    "--set encoder": "--set ('encoder') must be name=value",
    "--set encoder=hash": "encoder ('hash')",
    "--set colour=1": "colour is no setting of 'copula-shirley'; it has epsilon",
    "--set reweight=true": "reweight is one of 'private-vine'",
    "--set encoder=woe": "target (None)",
    "--set encoder=woe --target job": "two declared values",
    "--target sex": "target ('sex')",
    "--delta 2": "delta (2.0)",
    "--neighbours x": "'x' is not one of 'add-remove', 'replace-one'",
    "--on-unknown x": "'x' is not one of 'refuse', 'clip'",
    "--domain x": "'x' is not one of 'declared', 'measured'",
    "--set encoder=ordinal --seed -1": "--seed (-1)",
    "--model gan": "--model ('gan') must be one of copula-shirley",
    "--model real": "holds the rows themselves",
    "--epsilonn 1": "--epsilonn",
}


@pytest.mark.parametrize(("words", "message"), SETTINGS.items())
def test_a_setting_that_cannot_be(run: Run, place: Place, words: str, message: str) -> None:
    before = place.listing()
    asked = ("--schema", place.schema, "-o", place.folder / "m", *THESIS, *words.split())
    assert message in run("fit", place.data, *asked).refusal()  # the last model counts
    assert_nothing_written(place, before)


@pytest.mark.parametrize("command", [("frobnicate",), ("fit",), ("sample", "m", "out.csv")])
def test_wrong_words(run: Run, command: tuple[str, ...]) -> None:
    run(*command).refusal()


def test_an_output_must_be_named(run: Run, place: Place) -> None:
    assert "Missing option '--output'" in run("synthesize", place.data).refusal()


def test_negative_rows_are_refused(run: Run, model: Path, place: Place) -> None:
    before = place.listing()
    words = ("-o", place.folder / "out.csv", "-n", "-1", "--accept-unproved")
    line = run("sample", model, *words).refusal()
    assert "(-1)" in line and "0 or more" in line
    words = ("--schema", place.schema, *QUICK, "-n", "-1")
    line = run("synthesize", place.data, "-o", place.folder / "out.csv", *words).refusal()
    assert "rows (-1)" in line
    assert_nothing_written(place, before)


# -- tables that do not fit ------------------------------------------------------------

VALUES: dict[str, tuple[str, Any, str]] = {
    "category outside the schema": ("job", "quarry4711", "'arts', 'farm', 'law'"),
    "number out of bounds": ("age", 4711, "[18, 90]"),
    "number out of bounds (continuous)": ("pay", 4711.5, "[0, 999.9]"),
    "text in a number column": ("age", "quarry4711", "numbers in [18, 90]"),
    "fraction": ("age", 47.11, "whole number"),
    "infinite": ("pay", np.inf, "[0, 999.9]"),
    "text in a boolean column": ("rich", "quarry4711", "False, True"),
    "date off the format": ("day", "4711/01/01", "'%Y-%m-%d'"),
    "date out of bounds": ("day", "1947-11-01", "[2020-01-01 00:00:00, 2020-12-31"),
}


@pytest.mark.parametrize(("column", "value", "allowed"), VALUES.values(), ids=VALUES)
def test_a_value_off_the_schema_is_quoted_on_request_only(
    run: Run, place: Place, column: str, value: Any, allowed: str
) -> None:
    place.spoil(column, value)
    words = (place.data, "--schema", place.schema, "-o", place.folder / "out.csv", *QUICK)
    before = place.listing()
    hidden = run("synthesize", *words).refusal()
    assert f"column {column!r}: " in hidden
    assert allowed in hidden
    assert str(value) not in hidden
    shown = run("synthesize", *words, "--show-values").refusal()
    assert allowed in shown
    assert str(value) in shown
    assert_nothing_written(place, before)


def test_a_missing_value_that_is_not_declared(run: Run, place: Place) -> None:
    place.spoil("job", None)
    before = place.listing()
    words = ("--schema", place.schema, "-o", place.folder / "m", *QUICK)
    line = run("fit", place.data, *words).refusal()
    assert "column 'job': a value is missing" in line
    assert_nothing_written(place, before)


SHAPES: dict[str, tuple[Callable[[pd.DataFrame], pd.DataFrame], str]] = {
    "empty table": (lambda t: t.iloc[:0], "no rows"),
    "schema column absent": (lambda t: t.drop(columns="pay"), "'pay' is in the schema but not in"),
    "table column absent": (lambda t: t.assign(x=1), "'x' is in the table but not in the schema"),
}


@pytest.mark.parametrize(("change", "message"), SHAPES.values(), ids=SHAPES)
def test_a_table_of_the_wrong_shape(
    run: Run, place: Place, change: Callable[[pd.DataFrame], pd.DataFrame], message: str
) -> None:
    place.write(change(two_hundred_rows()))
    before = place.listing()
    words = ("--schema", place.schema, "-o", place.folder / "m", *QUICK)
    assert message in run("fit", place.data, *words).refusal()
    assert_nothing_written(place, before)


FILES: dict[str, tuple[bytes, str]] = {
    "duplicate columns": (b"age,job,age\n20,law,quarry4711\n", "column 'age' stands twice"),
    "empty file": (b"", "it is empty"),
    "binary": (b"\x89PNG\r\n\x1a\n\x00quarry4711", "not UTF-8"),
    "ragged": (b"age,job\n20,law\n30,law,quarry4711\n", "different numbers of fields"),
    "columns shifted": (b"age,job\n20,law,quarry4711\n", "different numbers of fields"),
}


@pytest.mark.parametrize(("content", "message"), FILES.values(), ids=FILES)
@pytest.mark.parametrize("command", ["draft", "fit", "synthesize"])
def test_an_unreadable_table(
    run: Run, place: Place, command: str, content: bytes, message: str
) -> None:
    place.data.write_bytes(content)
    before = place.listing()
    words = [command, place.data, "-o", place.folder / "out.csv"]
    line = run(*words, *(() if command == "draft" else QUICK)).refusal()
    assert message in line
    assert "4711" not in line
    assert_nothing_written(place, before)


@pytest.mark.parametrize("name", ["absent.csv", "absent.parquet", "data.xlsx", "."])
def test_a_table_that_is_not_there(run: Run, place: Place, name: str) -> None:
    before = place.listing()
    run("draft", place.folder / name).refusal()
    run("fit", place.folder / name, "-o", place.folder / "m", *QUICK).refusal()
    assert_nothing_written(place, before)


def test_a_table_with_lists_is_refused(run: Run, place: Place) -> None:
    """Parquet can hold what no schema can describe."""
    path = place.folder / "lists.parquet"
    pd.DataFrame({"x": [["quarry4711"], ["b"]]}).to_parquet(path)
    line = run("fit", path, "-o", place.folder / "m", *QUICK).refusal()
    assert "column 'x'" in line and "4711" not in line


SCHEMAS: dict[str, tuple[bytes, str]] = {
    "not YAML": (b"columns: [\n  a: b", "not readable as YAML"),
    "not a schema": (b"just text", "must be a mapping"),
    "not text": (b"\xff\xfe\x00\x00", "not UTF-8"),
    "a key twice": (b"columns:\n  a: {kind: boolean}\n  a: {kind: boolean}\n", "'a' stands twice"),
    "unknown kind": (b"columns: {a: {kind: colour}}", "kind ('colour') must be one of"),
    "unknown field": (b"columns: {a: {kind: boolean, colour: 1}}", "unknown field ('colour')"),
    "a table by mistake": (b"age,job\n20,quarry4711\n", "must be a mapping"),
}


@pytest.mark.parametrize(("content", "message"), SCHEMAS.values(), ids=SCHEMAS)
def test_a_schema_that_cannot_be(run: Run, place: Place, content: bytes, message: str) -> None:
    place.schema.write_bytes(content)
    before = place.listing()
    words = ("--schema", place.schema, "-o", place.folder / "m", *QUICK)
    line = run("fit", place.data, *words).refusal()
    assert message in line
    assert "4711" not in line
    assert_nothing_written(place, before)


@pytest.mark.parametrize("name", ["absent.yaml", "."])
def test_a_schema_that_is_not_there(run: Run, place: Place, name: str) -> None:
    words = ("--schema", place.folder / name, "-o", place.folder / "m", *QUICK)
    assert str(place.folder) in run("fit", place.data, *words).refusal()


def test_the_person_column_of_a_draft_must_be_there(run: Run, place: Place) -> None:
    assert "person column 'id'" in run("draft", place.data, "--person", "id").refusal()


# -- outputs that cannot be written ----------------------------------------------------


def writing(place: Place, model: Path, output: Path) -> dict[str, tuple[object, ...]]:
    shared = ("--schema", place.schema, *QUICK)
    return {
        "schema": ("draft", place.data, "-o", output),
        "fit": ("fit", place.data, "-o", output, *shared),
        "sample": ("sample", model, "-o", output, "--accept-unproved"),
        "synthesize": ("synthesize", place.data, "-o", output, *shared),
        "save-model": (
            "synthesize", place.data, "-o", place.folder / "out.csv", "--save-model", output,
            *shared,
        ),
        "plot": ("inspect", model, "--plot", output),
    }  # fmt: skip


COMMANDS = ["schema", "fit", "sample", "synthesize", "save-model", "plot"]


@pytest.mark.parametrize("command", COMMANDS)
def test_an_output_in_an_absent_folder(run: Run, place: Place, model: Path, command: str) -> None:
    output = place.folder / "absent" / ("out.png" if command == "plot" else "out.csv")
    before = place.listing()
    line = run(*writing(place, model, output)[command]).refusal()
    assert repr(str(output)) in line and "cannot be written" in line
    assert_nothing_written(place, before)


@pytest.mark.parametrize("command", COMMANDS)
def test_an_output_that_is_a_folder(run: Run, place: Place, model: Path, command: str) -> None:
    output = place.folder / ("folder.png" if command == "plot" else "folder.csv")
    output.mkdir()
    before = place.listing()
    line = run(*writing(place, model, output)[command]).refusal()
    assert repr(str(output)) in line and "it is a folder" in line
    assert_nothing_written(place, before)


@pytest.mark.parametrize("command", ["sample", "synthesize", "plot"])
def test_an_output_of_an_unknown_kind(run: Run, place: Place, model: Path, command: str) -> None:
    before = place.listing()
    line = run(*writing(place, model, place.folder / "out.txt")[command]).refusal()
    assert "out.txt" in line and "must end in" in line
    assert_nothing_written(place, before)


@pytest.mark.parametrize("command", ["fit", "synthesize", "save-model"])
def test_an_existing_output_survives_a_table_that_does_not_fit(
    run: Run, place: Place, model: Path, command: str
) -> None:
    place.spoil("age", 4711)
    output = place.folder / "precious.csv"
    output.write_bytes(b"precious")
    before = place.listing()
    run(*writing(place, model, output)[command]).refusal()
    assert_nothing_written(place, before)


def test_an_existing_output_survives_a_failed_sample(run: Run, place: Place, model: Path) -> None:
    output = place.folder / "precious.csv"
    output.write_bytes(b"precious")
    before = place.listing()
    words = ("sample", model, "-o", output, "--accept-unproved")
    run(*words, "-n", "-1").refusal()  # fails after the file is opened
    run(*words, "--seed", "-1").refusal()
    run("sample", place.data, "-o", output).refusal()
    assert_nothing_written(place, before)


def test_an_existing_output_survives_a_fit_that_fails_late(run: Run, place: Place) -> None:
    """Six rows pass the schema, but leave the encoder's share with one class of the target."""
    place.write(two_hundred_rows().iloc[:6].assign(rich=True))
    output = place.folder / "precious.csv"
    output.write_bytes(b"precious")
    before = place.listing()
    words = (
        "--schema",
        place.schema,
        *THESIS,
        "--set",
        "encoder=woe",
        "--target",
        "rich",
        "-o",
        output,
    )
    assert "target ('rich')" in run("synthesize", place.data, *words).refusal()
    assert_nothing_written(place, before)


def test_an_existing_output_is_replaced_by_a_run_that_succeeds(
    run: Run, place: Place, model: Path
) -> None:
    output = place.folder / "old.csv"
    output.write_bytes(b"old")
    assert run("sample", model, "-o", output, "-n", "2", "--accept-unproved").code == 0
    assert len(pd.read_csv(output)) == 2
    assert not list(place.folder.glob("*.partial")) + list(place.folder.glob(".*"))


# -- models that cannot be read --------------------------------------------------------


def reading(model: Path, output: Path) -> list[tuple[object, ...]]:
    return [("sample", model, "-o", output), ("inspect", model), ("inspect", model, "--json")]


def with_header(source: Path, **changes: Any) -> None:
    """Write the model again with other entries in its header."""
    with zipfile.ZipFile(source) as file:
        members = {name: file.read(name) for name in file.namelist()}
    members[HEADER] = json.dumps({**json.loads(members[HEADER]), **changes}).encode()
    with zipfile.ZipFile(source, "w") as file:
        for name, content in members.items():
            file.writestr(name, content)


def foreign_zip(source: Path) -> None:
    with zipfile.ZipFile(source, "w") as file:
        file.writestr("word/document.xml", "<xml/>")


def cut(share: float) -> Callable[[Path], None]:
    return lambda path: (
        path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)]) and None
    )


SPOILT: dict[str, tuple[Callable[[Path], Any], str]] = {
    "empty": (cut(0), "truncated"),
    "truncated": (cut(0.5), "truncated"),
    "truncated at the end": (cut(0.99), "truncated"),
    "foreign": (lambda path: path.write_text("age,job\n20,law\n"), "not a whole model file"),
    "foreign zip": (foreign_zip, "not a model of this project"),
    "newer format": (lambda path: with_header(path, format=999), "format 999, newer than"),
    "format that is none": (lambda path: with_header(path, format="one"), "not a model of this"),
    "unknown generator": (lambda path: with_header(path, generator="gan"), "gan"),
    "damaged header": (lambda path: with_header(path, schema={}), "is damaged"),
    "absent": (lambda path: path.unlink(), "does not exist"),
    "a folder": (lambda path: (path.unlink(), path.mkdir()), "cannot be read"),
}


@pytest.mark.parametrize(("spoil", "message"), SPOILT.values(), ids=SPOILT)
def test_a_model_that_cannot_be_read(
    run: Run, place: Place, model: Path, spoil: Callable[[Path], Any], message: str
) -> None:
    spoil(model)
    output = place.folder / "out.csv"
    output.write_bytes(b"precious")
    before = place.listing()
    for words in reading(model, output):
        line = run(*words).refusal()
        assert message in line
        assert repr(str(model)) in line
    assert_nothing_written(place, before)


def test_a_model_with_a_broken_byte(run: Run, place: Place, model: Path) -> None:
    content = bytearray(model.read_bytes())
    middle = content.find(b"model.json") + 200  # inside the compressed header
    content[middle : middle + 20] = b"\x00" * 20
    model.write_bytes(bytes(content))
    line = run("sample", model, "-o", place.folder / "out.csv").refusal()
    assert repr(str(model)) in line


# -- faults that are not the input's ---------------------------------------------------


def test_the_text_of_an_unforeseen_error_is_not_shown(
    run: Run, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An unforeseen error may quote a row, so that only its type is told."""
    monkeypatch.delenv("SHIRLEY_DEBUG", raising=False)

    def explode(*_: Any, **__: Any) -> None:
        raise RuntimeError("quarry4711")

    monkeypatch.setattr(pd, "read_csv", explode)  # not ours: what pandas might do
    done = run("draft", place.data)
    assert done.code == 3
    assert done.err.count("\n") == 1
    assert "RuntimeError" in done.err and "quarry4711" not in done.err + done.out
    monkeypatch.setenv("SHIRLEY_DEBUG", "1")
    with pytest.raises(RuntimeError, match="quarry4711"):
        run("draft", place.data)


def test_an_interrupt_leaves_nothing_behind(
    run: Run, place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(pd, "read_csv", interrupt)
    before = place.listing()
    done = run("fit", place.data, "-o", place.folder / "m", *QUICK)
    assert done.code == 130
    assert "nothing was written" in done.err
    assert_nothing_written(place, before)
