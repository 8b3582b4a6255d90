"""Tables, schemas, grids and command lines that nobody means: one error, one line, no harm."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from commands import memory_of, run
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tables import declared

from copula_shirley import Column, Schema, ShirleyError, read_table
from copula_shirley.baselines import DPHistogram
from copula_shirley.experiments.specs import Grid
from copula_shirley.rows.writing import write_table

MANY = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None
)
#: Pieces that files are made of, so that parsers get past their first line.
CSV_PIECES = st.sampled_from(
    [
        *"ab,\n\r\x00\"\ufeff\t;'1é \u2028",
        *("-1", "0x1", "1e999", "NaN", "inf", "=1+1", "true", "2020-01-01", "007", "9" * 400),
    ]
)
YAML_PIECES = st.sampled_from(
    [
        *" \n\t{}[]|>'\"\x00\ufeff~é#",
        *("columns:", "format: 1", "a:", "- ", "kind: integer", "minimum: 0", "maximum: 1", "&x "),
        *("*x", "<<: *x", "!!python/object:os.system", "!!binary x", "? ", ": ", ".inf", "1e999"),
        *("0x" + "f" * 9000, "9" * 5000, "2020-13-45", "\\ud800", "datasets: [made]", "---", "..."),
        *(
            "generators: {uniform: }",
            "categories: [a, b]",
            "kind: categorical",
            "person: {column: p}",
        ),
    ]
)


@MANY
@given(pieces=st.lists(CSV_PIECES, max_size=60), raw=st.binary(max_size=4))
def test_any_csv_file_is_a_table_or_one_error(
    tmp_path: Path, pieces: list[str], raw: bytes
) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("".join(pieces).encode() + raw)
    for schema in (None, Schema((Column("a", "integer", minimum=0, maximum=9),))):
        try:
            table = read_table(path, schema)
        except ShirleyError:
            continue
        assert isinstance(table, pd.DataFrame)
        try:
            draft = Schema.draft(table)
            assert Schema.from_yaml(draft.to_yaml()) == draft
        except ShirleyError:
            continue


@MANY
@given(data=st.data())
def test_any_parquet_file_is_a_table_or_one_error(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "t.parquet"
    pd.DataFrame({"a": [1, 2, None], "b": ["x", "y", None]}).to_parquet(path)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, max(len(content) - 1, 0)))
        content[place : place + data.draw(st.integers(0, 9))] = data.draw(st.binary(max_size=9))
    path.write_bytes(content)
    try:
        table = read_table(path)
    except ShirleyError:
        return
    assert isinstance(table, pd.DataFrame)


@MANY
@given(pieces=st.lists(YAML_PIECES, max_size=40), raw=st.binary(max_size=3))
def test_any_yaml_file_is_a_schema_or_one_error(
    tmp_path: Path, pieces: list[str], raw: bytes
) -> None:
    path = tmp_path / "s.yaml"
    path.write_bytes("".join(pieces).encode() + raw)
    for read in (Schema.read, Grid.read):
        try:
            read(path)
        except ShirleyError as error:
            line = str(error)
            assert len(line) < 3000


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.dates(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)


@MANY
@given(data=st.data())
def test_any_value_at_any_place_of_a_schema_is_one_error_or_fits(data: st.DataObject) -> None:
    entry = json.loads(
        '{"format": 1, "person": {"column": "p", "max_rows": 2}, "columns": {'
        '"a": {"kind": "integer", "minimum": 0, "maximum": 9, "cells": 3, "special": [0]},'
        '"b": {"kind": "categorical", "categories": ["x", "y"], "other": "x"},'
        '"c": {"kind": "continuous", "minimum": 0, "maximum": 1, "resolution": 0.1},'
        '"d": {"kind": "datetime", "minimum": "2020-01-01", "maximum": "2021-01-01",'
        ' "resolution": "1D", "format": "%Y"}}}'
    )
    place: Any = entry
    while True:
        key = data.draw(st.sampled_from(sorted(place)))
        if not isinstance(place[key], dict) or data.draw(st.booleans()):
            break
        place = place[key]
    place[key] = data.draw(VALUES)
    try:
        schema = Schema.from_dict(entry)
        assert all(column.size > 0 for column in schema)
    except ShirleyError:
        return
    assert Schema.from_yaml(schema.to_yaml()) == schema


# -- sizes -----------------------------------------------------------------------------


def laughs(levels: int) -> str:
    """Each line says nine times what the one before says."""
    lines = ["a0: &a0 [x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, levels)]
    return "\n".join(lines)


HUGE_YAML = {
    "a billion laughs": laughs(12),
    "deep": "[" * 20_000,
    "a large hexadecimal": "columns: {a: {kind: integer, minimum: 0x" + "f" * 100_000 + "}}",
    "100 MB": "columns: [" + "x, " * 33_000_000 + "]",
}


@pytest.mark.parametrize("text", HUGE_YAML.values(), ids=HUGE_YAML)
def test_huge_yaml_is_refused_in_little_memory(tmp_path: Path, text: str) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(text, encoding="utf-8")
    for read in (Schema.read, Grid.read):
        megabytes, line = memory_of(lambda read=read: read(path))
        assert "Error" in line and len(line) < 3000
        assert megabytes < 150


def test_an_alias_that_says_little_is_allowed() -> None:
    text = "columns: {a: &a {kind: integer, minimum: 0, maximum: 9}, b: *a}"
    assert Schema.from_yaml(text).names == ("a", "b")


# -- the command line ------------------------------------------------------------------

NAMES = [
    *("absent.csv", ".", "folder.csv", "fifo.csv", "socket.csv", "broken.csv", "loop.csv"),
    *("/dev/zero", "/dev/null", "/dev/full", "/proc/self/mem", "/proc/1/mem", "[red]x[/].csv"),
    *("--dash.csv", "-o", "data.csv", "data.csv/x.csv", "schema.yaml", "model.shirley"),
    *("absent/x.csv", "out.csv", "out.parquet", "link.csv", "~", "*.csv", "\x1b[31m.csv"),
    *("\xe9.csv", "\udcff.csv", "", "new\nline.csv", "x" * 300 + ".csv"),
]
ODD_VALUES = [
    *("0", "-1", "1", "nan", "inf", "1e999", "none", "x=y", "age=1", "age=9..1", "[", "{a: *b}"),
    *("\n", "\udcff", "[bold]", "../x", "None", "job=arts", "=", "\xe9", "", "9" * 400),
]
OPTIONS = [
    *("-o", "--schema", "--model", "--epsilon", "--delta", "--seed", "-n", "--given", "--set"),
    *("--target", "--person", "--plot", "--json", "--save-model", "--escape-formulas"),
    *("--show-values", "--nonsense", "-q", "--domain", "truncation=--missing", "threads=--split"),
    *("encoder=--on-unknown",),
]
WORDS = st.sampled_from(NAMES) | st.sampled_from(ODD_VALUES) | st.sampled_from(OPTIONS)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a table, its schema, a model, and things that are no files."""
    table = pd.DataFrame({"age": [20, 30, 40, 50] * 5, "job": ["arts", "law"] * 10})
    table.to_csv(tmp_path / "data.csv", index=False)
    schema = declared(table)
    schema.write(tmp_path / "schema.yaml")
    DPHistogram(random_state=0).fit(table, schema).save(tmp_path / "model.shirley")
    (tmp_path / "folder.csv").mkdir()
    os.mkfifo(tmp_path / "fifo.csv")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(tmp_path / "socket.csv"))
    for link, target in (("broken", "nowhere"), ("loop", "loop"), ("link", "data")):
        (tmp_path / f"{link}.csv").symlink_to(f"{target}.csv")
    return tmp_path


def listing(folder: Path) -> dict[str, bytes | str]:
    return {
        path.name: path.read_bytes() if path.is_file() and not path.is_symlink() else "special"
        for path in folder.iterdir()
    }


#: What each command needs, put in front of odd words so that these get further.
NEEDED = {
    "schema": "data.csv",
    "fit": "data.csv --model uniform -o m",
    "sample": "model.shirley -n 3 -o out.csv",
    "synthesize": "data.csv --model uniform -n 3 -o out.csv",
    "inspect": "model.shirley",
    "plan": "schema.yaml -n 10",
    "evaluate": "data.csv",
    "convert": "schema.yaml",
}


@settings(MANY, max_examples=60)
@given(
    command=st.sampled_from(sorted(NEEDED)), words=st.lists(WORDS, max_size=5), whole=st.booleans()
)
def test_any_command_line_is_done_or_one_error(
    place: Path, command: str, words: list[str], whole: bool
) -> None:
    line = [*(NEEDED[command].split() if whole else []), *words]
    before = listing(place)
    done = run(command, *line, folder=place)
    assert done.code in (0, 1, 2), (line, done.err)
    assert "Traceback" not in done.err and "internal error" not in done.err, (line, done.err)
    after = listing(place)
    if done.code == 2:
        errors = [text for text in done.err.splitlines() if text.startswith("error: ")]
        assert len(errors) == 1 or "Usage" in done.err or not done.err, (line, done.err)
        assert after == before, (line, done.err)
    for name in set(after) - set(before):
        assert not name.endswith(".partial"), line
        (place / name).unlink()
    for name, content in before.items():
        if name in ("data.csv", "schema.yaml", "model.shirley") and after[name] != content:
            assert name in line, "an input was changed that nobody named"
            (place / name).write_bytes(content)  # type: ignore[arg-type]
        if content == "special" and after.get(name) != "special":
            (place / name).unlink()
            (place / name).symlink_to("nowhere.csv")


# -- formulas --------------------------------------------------------------------------


def test_formulas_are_quoted_on_request(tmp_path: Path) -> None:
    table = pd.DataFrame({"=x": ["=1+1", "-5 to 0", "plain", None], "n": [-1, 2, -3, 4]})
    table["t"] = ["\ta", "\rb", "@c", "+d"]
    for escape, mark in ((True, "'"), (False, "")):
        path = tmp_path / f"{escape}.csv"
        write_table(path, [table], "csv", escape_formulas=escape)
        again = pd.read_csv(path, keep_default_na=False)
        assert list(again) == [f"{mark}=x", "n", "t"] and again["n"].tolist() == [-1, 2, -3, 4]
        assert again[f"{mark}=x"].tolist() == [f"{mark}=1+1", f"{mark}-5 to 0", "plain", ""]
        assert again["t"].tolist() == [mark + text for text in ("\ta", "\rb", "@c", "+d")]


def test_the_command_escapes_formulas_or_says_so(tmp_path: Path) -> None:
    schema = Schema((Column("sum", "categorical", categories=("=1+1", "@x")),))
    table = pd.DataFrame({"sum": ["=1+1", "@x"] * 5})
    DPHistogram(random_state=0).fit(table, schema).save(tmp_path / "f.shirley")
    for option, values in (("", {"=1+1", "@x"}), ("--escape-formulas", {"'=1+1", "'@x"})):
        done = run(f"sample f.shirley -n 20 -o out.csv {option}", folder=tmp_path)
        assert done.code == 0 and done.err.count("--escape-formulas") == (not option)
        assert set(pd.read_csv(tmp_path / "out.csv")["sum"]) == values
