"""Rows come by standard input and leave by standard output, alone on it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest
from commands import Command, Ended, run

from copula_shirley import Column, Schema, read_table

AGES = Schema((Column("age", "integer", minimum=0, maximum=99), Column("ok", "boolean")))
SYNTHESIZE = ("synthesize", "-", "--schema", "s.yaml", "--model", "uniform", "--seed", "1")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    table = pd.DataFrame({"age": [30, 40, 50] * 40, "ok": [True, False] * 60})
    table.to_csv(tmp_path / "t.csv", index=False)
    AGES.write(tmp_path / "s.yaml")
    return tmp_path


def piped(folder: Path, words: Sequence[str], out: int | None = None) -> Ended:
    """A command that reads the table from its standard input."""

    def feed() -> None:
        sys.stdin = open(folder / "t.csv", encoding="utf-8")  # noqa: SIM115

    return Command(folder, words, first=feed, out=out).ended()


def test_rows_go_through_a_pipe(place: Path) -> None:
    done = piped(place, [*SYNTHESIZE, "-n", "9", "-o", "-", "--save-model", "m"])
    assert done.code == 0, done.err
    (place / "o.csv").write_bytes(done.out)
    table = AGES.validate(read_table(place / "o.csv", AGES))  # nothing else is on it
    assert len(table) == 9
    assert b"Synthetic rows written to standard output" in done.err
    assert {p.name for p in place.iterdir()} == {
        "t.csv", "s.yaml", "o.csv", "m", "m.card.html"
    }  # fmt: skip
    words = ["sample", "m", "-n", "9", "--seed", "4", "-o"]
    streamed = Command(place, [*words, "-", "-q"]).ended()
    assert run(*words, "f.csv", folder=place).code == 0
    assert streamed.out == (place / "f.csv").read_bytes() and streamed.err == b""


def test_files_are_those_that_standard_input_gives(place: Path) -> None:
    words = ["fit", "--schema", "s.yaml", "--model", "dp-histogram", "--seed", "1"]
    assert piped(place, [*words, "-", "-o", "a"]).code == 0
    assert Command(place, [*words, "t.csv", "-o", "b"]).ended().code == 0
    assert (place / "a").read_bytes() == (place / "b").read_bytes()
    assert piped(place, ["check", "-", "--schema", "s.yaml"]).code == 0


def test_nobody_reads_on(place: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    done = piped(place, [*SYNTHESIZE, "-n", "50000", "-o", "-", "-q"], out=write)
    os.close(write)
    assert done.code == 1 and b"Traceback" not in done.err and b"error" not in done.err
    assert {p.name for p in place.iterdir()} == {"t.csv", "s.yaml"}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("draft -", "standard input is read once"),
        ("fit - --model uniform -o m --accept-unproved", "standard input is read once"),
        ("fit t.csv --schema s.yaml --model uniform -o -", "--output ('-') must be a file"),
        (
            "synthesize t.csv --schema s.yaml --model uniform -o - --sign k",
            "beside standard output",
        ),
    ],
)
def test_what_no_stream_can_do_is_one_error(place: Path, words: str, said: str) -> None:
    assert said in run(words, folder=place).refusal()
    assert {p.name for p in place.iterdir()} == {"t.csv", "s.yaml"}
