"""Texts of strangers on their way to a terminal, a page and a picture."""

from __future__ import annotations

import unicodedata
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from card_models import SCHEMA, edited, fitted
from commands import run
from hypothesis import given
from hypothesis import strategies as st

from copula_shirley import ArtefactError, Column, PrivateVine, Schema, SchemaError, load
from copula_shirley.evaluation.figures import plot_evaluation
from copula_shirley.files.plain_json import parse_json
from copula_shirley.files.texts import odd_character, one_line
from copula_shirley.rows.tables import read_table

#: What paints, hides or turns around: CSI, backspace, delete, bidi, zero width, separators.
REFUSED = {
    "U+001B": "a\x1b[2K\rproved",
    "U+202E": "a\u202eb",
    "U+200B": "a\u200bb",
    "U+2028": "a\u2028b",
    "U+D800": "half \ud800",
    "U+E0041": "tag \U000e0041",
}
#: Of many scripts, emoji with joiners, private use, signs of markup.
ALLOWED = [
    "Größe",
    "\u0645\u06cc\u200c\u062e",  # Persian, with a zero-width non-joiner
    "\u0915\u094d\u200d\u0937",  # Devanagari, with a joiner
    "👩\u200d🚀",
    "年齢",
    "a\xa0b",
    "\ue000",
    "[red]x[/]",
    "<b>",
    "$x",
    "$a$ and $b",
    "\\",
    "=1+1",
    "{x}",
    " ",
    "a|b",
    "e\u0301",
]
LINES = ["a\nb", "a\tb", "a\r\nb"]


@given(st.characters())
def test_what_is_refused_is_what_unicode_calls_control_or_format(letter: str) -> None:
    kind = unicodedata.category(letter)
    refused = kind in ("Cc", "Cf", "Cs", "Zl", "Zp") and letter not in "\u200c\u200d"
    assert (odd_character(f"a{letter}b") is not None) == refused
    spaces = letter in "\t\n\r"
    assert (odd_character(f"a{letter}b", spaces=True) is not None) == (refused and not spaces)
    shown = one_line(f"a{letter}b")
    assert odd_character(shown) is None and "\n" not in shown


@pytest.mark.parametrize(("odd", "text"), REFUSED.items(), ids=REFUSED)
def test_no_text_of_a_schema_holds_control_characters(odd: str, text: str) -> None:
    fields: list[dict[str, Any]] = [
        {"name": text, "kind": "boolean"},
        {"name": "x", "kind": "categorical", "categories": ["a", text]},
        {"name": "x", "kind": "categorical", "categories": [text], "other": text},
        {"name": "x", "kind": "datetime", "minimum": "2020", "maximum": "2021", "format": text},
    ]
    for entry in fields:
        with pytest.raises(SchemaError, match=odd.replace("+", r"\+")) as error:
            Column(**entry)
        assert odd_character(str(error.value)) is None and ascii(text)[1:-1] in str(error.value)
    with pytest.raises(SchemaError, match="person column"):
        Schema((Column("x", "boolean"),), person=text)
    table = pd.DataFrame([[True]], columns=pd.Index([text], dtype=object))
    for look in (Schema.draft, SCHEMA.validate):
        with pytest.raises(SchemaError, match="column name") as error:
            look(table)
        assert odd_character(str(error.value)) is None


def test_lines_are_refused_in_names_and_kept_in_categories() -> None:
    for text in LINES:
        with pytest.raises(SchemaError, match="column name"):
            Column(text, "boolean")
        schema = Schema((Column("x", "categorical", categories=(text, "b")),))
        assert Schema.from_yaml(schema.to_yaml()) == schema
    for text in ALLOWED:
        schema = Schema((Column(text, "categorical", categories=(text, "b")),))
        assert Schema.from_yaml(schema.to_yaml()) == schema


@pytest.mark.parametrize("dtype", ["object", "category"])
def test_a_draft_names_the_column_and_not_the_value(dtype: str) -> None:
    table = pd.DataFrame({"x": pd.Series(["secret\x1b[0m", "b"], dtype=dtype)})
    (left,) = Schema.draft(table.assign(y=[1.5, 2.5])).left_out
    assert left.name == "x" and left.reason.startswith("a value holds a control character")
    with pytest.raises(SchemaError, match="is not the category") as error:
        Schema((Column("x", "categorical", categories=("b",)),)).validate(table)
    assert "secret" not in str(error.value)


def test_a_csv_file_whose_header_steers_the_terminal_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"a\x1b[2J,b\n1,2\n")
    with pytest.raises(SchemaError, match=r"'a\\x1b\[2J'"):
        Schema.draft(read_table(tmp_path / "t.csv"))


# -- files of strangers ---------------------------------------------------------------


def put(header: dict[str, Any], path: tuple[Any, ...], text: str) -> None:
    for key in path[:-1]:
        header = header[key]
    header[path[-1]] = text


#: Texts of a model that are printed or drawn, and some that are not.
PLACES: list[tuple[Any, ...]] = [
    ("ledger", "unit"),
    ("ledger", "spends", 0, "what"),
    ("card", "words", "headline"),
    ("schema", "columns", "job", "categories", 0),
    ("model", "queries", 0, "stage"),
    ("generator",),
    ("copula-shirley",),
]


@pytest.fixture(scope="module")
def vine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("vine") / "vine.shirley"
    fitted("private-vine", random_state=0).save(path)
    return path


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_a_model_does_not_paint_its_own_label(
    place: tuple[Any, ...], vine: Path, tmp_path: Path
) -> None:
    text = "\x1b[2K\rpro\u202eved"
    forged = edited(vine, tmp_path / "m", lambda header, _: put(header, place, text))
    with pytest.raises(ArtefactError, match=r"must not hold U\+") as error:
        load(forged)
    assert odd_character(str(error.value)) is None
    with pytest.raises(ArtefactError, match=r"U\+001B"):
        parse_json(b'{"a": [{"b\\u001b": 1}]}')
    assert parse_json('{"a": "ü\u200d\\n"}'.encode()) == {"a": "ü\u200d\n"}


def test_markup_of_a_card_is_shown_as_it_is(vine: Path, tmp_path: Path) -> None:
    """A headline in green that is none of ours is refused in plain text."""

    def change(header: dict[str, Any], _: Any) -> None:
        header["card"]["words"]["headline"] = "[green]Proved[/green]: all\nof it"

    edited(vine, tmp_path / "m.shirley", change)
    done = run("inspect m.shirley", folder=tmp_path)
    assert done.code == 2 and "words" in done.err and "\x1b" not in done.err


@pytest.mark.slow
def test_every_command_prints_what_is_allowed_in_lines_of_its_own(tmp_path: Path) -> None:
    """Names and categories of the zoo through draft, plan, fit, inspect, verify and a picture."""
    rng = np.random.default_rng(0)
    names = ["[red]x[/]", "$x", "👩\u200d🚀", "\\"]
    listed = np.array([*ALLOWED[:10], *LINES], dtype=object)
    table = pd.DataFrame({name: rng.choice(listed, 200) for name in names[:2]})
    table = table.assign(**{name: rng.integers(0, 5, 200) for name in names[2:]})
    table.to_parquet(tmp_path / "t.parquet")
    declared = Schema.draft(table).to_yaml().replace("drafted", "declared")
    (tmp_path / "s.yaml").write_text(declared, encoding="utf-8")
    fit = "fit t.parquet --schema s.yaml -q --epsilon 50 --seed 0 -o"
    for words in (
        "draft t.parquet",
        "plan s.yaml -n 200",
        f"{fit} m.shirley",
        "inspect m.shirley --plot m.png",
        "verify m.shirley",
        f"{fit} one.shirley --model copula-shirley --set encoder=onehot --set families=gaussian",
        "inspect one.shirley --plot one.png",
        f"{fit} bayes.shirley --model privbayes --set degree=1",
        "inspect bayes.shirley --plot bayes.png",
    ):
        done = run(words, folder=tmp_path)
        assert done.code == 0, (words, done.err)
        assert all(odd_character(line) is None for line in (done.out + done.err).split("\n")), words


def test_names_are_no_formulas_in_a_picture(tmp_path: Path) -> None:
    names = ["$", "$x", "$\\frac$", "a $b$ c"]
    detail = {"columns": dict.fromkeys(names, 0.5)}
    frame = pd.DataFrame({"metric": ["ks"], "detail": [detail]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        plot_evaluation(frame, tmp_path / "e.png")
        table = pd.DataFrame({name: [0, 1] * 50 for name in names})
        PrivateVine(50.0, random_state=0).fit(table, Schema.draft(table)).plot(tmp_path / "v.svg")
    text = (tmp_path / "v.svg").read_text(encoding="utf-8")
    assert all(f"<!-- {name}" in text for name in names)


def test_blank_letters_and_long_names_push_no_label_off() -> None:
    for blank in "\u2800\u3164\u115f\u034f":
        with pytest.raises(SchemaError, match=f"not U\\+{ord(blank):04X}"):
            Column("age" + blank, "boolean")
    with pytest.raises(SchemaError, match="at most 200 letters"):
        Column("a" * 201, "boolean")
