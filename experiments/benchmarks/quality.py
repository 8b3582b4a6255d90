"""Table 5.2 of the thesis by its model and by PrivateVine, and the thesis' model on Adult.

Run it with ``python -m copula_shirley.experiments.benchmarks.quality``; it takes about a minute.
The quality of PrivateVine beside its peers comes from ``experiments/grids/peers.yaml``.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from copula_shirley import CopulaShirley, Generator, PrivacyWarning, PrivateVine
from copula_shirley.evaluation import kolmogorov_smirnov, spearman_drift
from copula_shirley.experiments import load_dataset
from copula_shirley.experiments.folds import first_fold
from copula_shirley.experiments.paper.chapter import COEFFICIENTS, REFERENCE, SHIRLEY
from copula_shirley.experiments.paper.coefficients import PAIRS, coefficients

ADULT_VARIANTS: dict[str, dict[str, Any]] = {
    "thesis": {},
    "discrete vine": {"discrete": True},
    "honest margins": {"accounting": "honest"},
}


def main() -> None:
    """Print both comparisons."""
    warnings.simplefilter("ignore", PrivacyWarning)
    made = load_dataset("made")
    real = coefficients(made.table)
    table = Table("table 5.2", *PAIRS, "mean abs. error", "over five seeds")
    for name, row in (("reference", REFERENCE), ("thesis", COEFFICIENTS[SHIRLEY]), ("real", real)):
        table.add_row(name, *(f"{value:.3f}" for value in row))
    models: dict[str, list[Generator]] = {
        "CopulaShirley, noise off": [CopulaShirley(None, random_state=seed) for seed in range(5)]
    }
    for epsilon in (1.0, 8.0):
        models[f"PrivateVine, epsilon {epsilon:g}"] = [
            PrivateVine(epsilon, 1e-9, random_state=seed) for seed in range(5)
        ]
    for name, seeds in models.items():
        fits = (model.fit(made.table, made.schema) for model in seeds)
        found = np.array([coefficients(fit.sample(len(made.table))) for fit in fits])
        errors = np.abs(found - real).mean(axis=1)
        cells = [f"{value:.3f}" for value in found.mean(axis=0)]
        spread = f"{errors.min():.3f} to {errors.max():.3f}"
        table.add_row(name, *cells, f"{errors.mean():.4f}", spread)
    Console(width=160).print(table)

    adult = load_dataset("adult")
    fold = first_fold(adult)
    print("Adult, epsilon 1, WOE, truncation 2, against the test fold")
    for name, settings in ADULT_VARIANTS.items():
        model = CopulaShirley(1.0, target="salary", random_state=0, **settings)
        synthetic = model.fit(fold.train, adult.schema).sample(len(adult.table))
        ks = np.mean(list(kolmogorov_smirnov(fold.test, synthetic, adult.schema).values()))
        drift = spearman_drift(fold.test, synthetic, adult.schema)["mean"]
        print(f"  {name:<15} KS {ks:.4f}   Spearman drift {drift:.4f}")


if __name__ == "__main__":
    main()
