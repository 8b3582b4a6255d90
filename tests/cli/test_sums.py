"""``shirley sums``, as its user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import run
from tables import PEOPLE, people

WORDS = "sums data.csv --schema schema.yaml --columns age --on income"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    people().to_csv(tmp_path / "data.csv", index=False)
    PEOPLE.write(tmp_path / "schema.yaml")
    return tmp_path


def test_coefficients_with_their_errors_and_the_ledger(folder: Path) -> None:
    done = run(f"{WORDS} --epsilon 4", folder=folder)
    assert done.code == 0, done.err
    for text in ("income explained by age", "error of the noise", "6 sums of products",
                 "proved     epsilon 4, delta 1e-09 for the whole release"):  # fmt: skip
        assert text in done.out
    found = json.loads(run(f"{WORDS} --epsilon 4 --seed 1 --json", folder=folder).out)
    assert [line["term"] for line in found["coefficients"]] == ["constant", "age"]
    assert found["ledger"]["spent"]["epsilon"] == pytest.approx(4)
    again = json.loads(run(f"{WORDS} --epsilon 4 --seed 1 --json", folder=folder).out)
    assert found == again


def test_exact_sums_ask_for_consent_and_say_whom_they_protect(folder: Path) -> None:
    refused = run(f"{WORDS} --epsilon off", folder=folder)
    assert refused.code == 2 and "--accept-unproved" in refused.err
    done = run(f"{WORDS} --epsilon off --accept-unproved", folder=folder)
    assert done.code == 0 and "noise is off" in done.out and "any m - 1" in done.err


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ("--columns shoe", "--columns ('shoe') must be one of"),
        ("--on shoe", "--on ('shoe') must be one of"),
        ("--epsilon -1", "--epsilon ('-1') must be"),
        ("--delta 2", "--delta (2.0) must be"),
        ("--columns ,", "--columns ([]) must name 1 to 9 columns"),
    ],
)
def test_refused(more: str, text: str, folder: Path) -> None:
    done = run(f"{WORDS} {more}", folder=folder)
    assert done.code == 2 and text in done.err and len(done.err.splitlines()) == 1
