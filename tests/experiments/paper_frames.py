"""Made-up results with known answers, for the tests of the paper's figures and verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from copula_shirley.experiments.paper.scores import Scores, prepared

#: Small wobble of the folds, the same for everybody, so that paired differences are exact.
WOBBLE = (0.0, 0.01, -0.01, 0.005, -0.005)
METRICS = (
    "ks", "spearman_drift", "mcc_binary", "mcc_multiclass", "rmse",
    "membership_hamming", "membership_hamming_max", "membership_hamming_all",
)  # fmt: skip


def lines(
    experiment: str,
    generator: str,
    figures: dict[str, float],
    *,
    dataset: str = "compas",
    variant: str = "",
    epsilon: float | None = 1.0,
    folds: Sequence[int] = (0, 1, 2),
    noise: float = 0.0,
    **more: Any,
) -> list[dict[str, Any]]:
    """A line per fold and metric; ``noise`` times a wobble of its own sets folds apart."""
    about = {
        "experiment": experiment, "dataset": dataset, "generator": generator, "variant": variant,
        "epsilon": epsilon, "seed": 0, "folds": 5, "rows": None, "unit": "row",
        "profile": "thesis", "use": generator.lower(), "settings": "{}", "status": "done",
        "reason": "", "claimed": "nothing" if epsilon is None else f"epsilon {epsilon:g}",
        "proved": "nothing", "commit": "abcdef0123456", "dirty": False,
        "time": "2026-11-17T20:00:00+00:00", "made_by": "Python 3.11.7, numpy 2.4.6, a processor",
    }  # fmt: skip
    found = []
    for fold in folds:
        shift = WOBBLE[fold] + noise * (-1) ** fold * (fold + 1)
        own = {**about, "fold": fold, **more}
        own["id"] = f"{experiment}-{dataset}-{generator}-{variant}-{epsilon}-{fold}"
        found += [{**own, "metric": name, "value": v + shift} for name, v in figures.items()]
    return found


def lost(experiment: str, generator: str, status: str, reason: str, **more: Any) -> dict[str, Any]:
    """A run without figures."""
    line = lines(experiment, generator, {"": 0.0}, folds=(0,), **more)[0]
    return {**line, "status": status, "reason": reason, "metric": "", "value": None}


def scores(*parts: list[dict[str, Any]]) -> Scores:
    return Scores(prepared(pd.DataFrame([line for part in parts for line in part])))


def all_metrics(base: float) -> dict[str, float]:
    return {name: base + 0.01 * i for i, name in enumerate(METRICS)}


def models(datasets: Sequence[str] = ("compas",), folds: Sequence[int] = (0, 1, 2)) -> list[Any]:
    """The experiment ``models`` with all generators at two epsilons, and ``real``."""
    names = ("COPULA-SHIRLEY", "PrivBayes", "DP-Copula", "DP-Histogram", "PrivateVine")
    bases = {(name, None): 0.1 * i for i, name in enumerate(names)} | {("real", None): 0.01}
    bases |= {(name, 0.1): 0.1 * i + 0.05 for i, name in enumerate(names)}
    return [
        line
        for dataset in datasets
        for (name, epsilon), base in bases.items()
        for line in lines(
            "models", name, all_metrics(base), dataset=dataset, epsilon=epsilon, folds=folds
        )
    ]


def ratios(values: dict[str, dict[str, float]], folds: Sequence[int] = (0, 1, 2)) -> list[Any]:
    """The experiment ``ratio``: figures by split."""
    found = lines("ratio", "real", all_metrics(0.01), epsilon=None, folds=folds)
    for split, figures in values.items():
        found += lines("ratio", "COPULA-SHIRLEY", figures, variant=f"split {split}", folds=folds)
    return found
