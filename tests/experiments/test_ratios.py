"""Ratios by hand: over the seeds that both have, above 1 where ours is better."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from copula_shirley.experiments.benchmarks import ratios
from copula_shirley.experiments.run.store import tidy
from copula_shirley.experiments.specs import Run


def row(generator: str, seed: int, epsilon: float | None, **figures: float) -> dict[str, object]:
    run = Run("adult", generator, "private-vine", epsilon=epsilon, seed=seed)
    seconds = {"fit": figures.pop("fit")}
    named = {name: {"value": value} for name, value in figures.items()}
    return {
        "run": run.to_dict(),
        "id": run.id,
        "status": "done",
        "figures": named,
        "seconds": seconds,
        "memory": {},
    }


ROWS = [
    row("Ours", 0, 1.0, ks=0.1, mcc_binary=0.6, fit=1),
    row("Ours", 1, 1.0, ks=0.3, mcc_binary=0.6, fit=1),
    row("Theirs", 0, 1.0, ks=0.2, mcc_binary=0.3, fit=100),
    row("Real", 0, None, ks=0.0, mcc_binary=0.7, fit=0),
]
METRICS = ["fit_seconds", "ks", "mcc_binary"]


@pytest.fixture
def results(tmp_path: Path) -> Path:
    file = tmp_path / "results.csv"
    tidy(ROWS).to_csv(file, index=False)
    return file


def test_ratios_by_hand(results: Path) -> None:
    figures = ratios.wide(pd.read_csv(results))
    found = ratios.ratios(figures, METRICS, "Ours")
    assert list(found["who"]) == ["Theirs"]  # real has no epsilon that ours has
    assert list(found["runs"]) == [1]
    np.testing.assert_allclose(found[METRICS], [[100, 2, 2]])
    means = ratios.means(figures, METRICS).set_index("who")
    assert means.loc["Ours", "ks"] == pytest.approx(0.2)
    assert means.loc["Real", "runs"] == 1


def test_the_command_prints_both_tables(
    results: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["ratios", str(results), "--ours", "Ours"])
    ratios.main()
    said = capsys.readouterr().out
    assert "means over folds and seeds" in said
    assert "above 1 where Ours is better" in said
    assert "mean of sets" in said
    assert "off" in said
