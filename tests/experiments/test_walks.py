"""From a messy file to a published table by the README's steps, small and in this process."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import run

from copula_shirley.experiments.benchmarks import hospital_walk, messy_hospital, messy_shop
from copula_shirley.experiments.benchmarks.messy import Walk, as_texts, badly_written, leaked

ROWS = 1000
FEW = ("--metric", "validity", "--metric", "tvd1")


@dataclass
class Quick(Walk):
    """The same commands, without a process for each."""

    def shirley(self, *words: object) -> str:
        done = run(*words, folder=self.folder)
        assert done.code == 0, (words[0], done.err)
        self.said[str(words[0])] = done.out + done.err
        return done.out


@pytest.fixture
def walk(tmp_path: Path) -> Quick:
    return Quick(tmp_path)


def check(walk: Quick, found: dict[str, object], lacking: list[str]) -> None:
    assert not any(found["rows that break a rule"].values())  # type: ignore[attr-defined]
    assert not any(found["names and ids of the input"].values())  # type: ignore[attr-defined]
    assert found["columns that the published table lacks"] == lacking
    assert "Every row keeps all" in walk.said["evaluate"]
    assert {path.name for path in walk.folder.iterdir()} >= {
        *("synthetic.csv", "synthetic.csv.card.html", "report.html", "evaluation.json"),
    }


def test_the_shop(walk: Quick) -> None:
    found = messy_shop.walked(walk, ROWS, 0, 1.0, messy_shop.MOST_ROWS, FEW)
    check(walk, found, ["customer", "remark"])


def test_the_hospital(walk: Quick) -> None:
    check(walk, hospital_walk.walked(walk, ROWS, 0, 1.0, FEW), ["remark"])


def test_what_is_counted_counts(tmp_path: Path) -> None:
    """The input as if it were published: it keeps all rules, and all of its names leak."""
    path = tmp_path / "raw.csv"
    real = messy_shop.shop(200)
    badly_written(real, path, np.random.default_rng(0), messy_shop.DATES)
    raw = as_texts(path)
    assert not any(messy_shop.broken(raw).values())
    secrets = leaked(real[list(messy_shop.SECRETS)], path)
    assert secrets == {name: real[name].nunique() for name in messy_shop.SECRETS}
    raw.loc[3, "total"] = "0,01"
    raw.loc[4, "delivered"] = "01.01.2021"
    raw.loc[[5, 6], "currency"] = "JPY"
    wrong = {name: n for name, n in messy_shop.broken(raw).items() if n}
    assert wrong == {"total": 1, "delivered before the order": 1, "currency": 2}


def test_the_hospital_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "raw.csv"
    real = hospital_walk.filed(200, 0)
    badly_written(real, path, np.random.default_rng(0), hospital_walk.DATES)
    again = hospital_walk.as_frame(as_texts(path))
    for name in ("total", "admission", "death_date", "statutory", "pulse"):
        pd.testing.assert_series_equal(again[name], real[name], check_dtype=False)
    assert not any(messy_hospital.broken(again).values())
