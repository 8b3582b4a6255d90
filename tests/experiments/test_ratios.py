"""Ratios by hand: over the seeds that both have, above 1 where ours is better."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from copula_shirley.experiments.benchmarks import ratios


def test_ratios_by_hand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    metrics = ["fit_seconds", "ks", "mcc_binary"]
    lines = [
        (who, seed, epsilon, metric, value)
        for who, seed, epsilon, values in (
            ("Ours", 0, 1.0, (1, 0.1, 0.6)),
            ("Ours", 1, 1.0, (1, 0.3, 0.6)),
            ("Theirs", 0, 1.0, (100, 0.2, 0.3)),
            ("Real", 0, None, (0, 0.0, 0.7)),
        )
        for metric, value in zip(metrics, values, strict=True)
    ]
    frame = pd.DataFrame(lines, columns=["generator", "seed", "epsilon", "metric", "value"])
    file = tmp_path / "results.csv"
    frame.assign(dataset="adult", variant="", fold=0, status="done").to_csv(file, index=False)
    figures = ratios.wide(pd.read_csv(file))
    found = ratios.ratios(figures, metrics, "Ours")
    assert list(found["who"]) == ["Theirs"]  # real has no epsilon that ours has
    assert list(found["runs"]) == [1]
    np.testing.assert_allclose(found[metrics], [[100, 2, 2]])
    means = ratios.means(figures, metrics).set_index("who")
    assert means.loc["Ours", "ks"] == pytest.approx(0.2)
    assert means.loc["Real", "runs"] == 1
    monkeypatch.setattr("sys.argv", ["ratios", str(file), "--ours", "Ours"])
    ratios.main()
    said = capsys.readouterr().out
    for words in ("means over folds and seeds", "above 1 where Ours is better", "mean of sets"):
        assert words in said
