"""CopulaShirley against two statements of the thesis: table 5.2 and the KS distance on Adult.

Run it with ``python -m copula_shirley.experiments.benchmarks.against_thesis``; it takes about a
minute.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from copula_shirley import CopulaShirley, PrivacyWarning
from copula_shirley.evaluation import kolmogorov_smirnov, spearman_drift
from copula_shirley.experiments import load_dataset
from copula_shirley.experiments.folds import first_fold
from copula_shirley.experiments.paper.coefficients import PAIRS, coefficients
from copula_shirley.experiments.paper.printed import COEFFICIENTS, REFERENCE, SHIRLEY

ADULT_VARIANTS: dict[str, dict[str, Any]] = {
    "thesis": {},
    "discrete vine": {"discrete": True},
    "honest margins": {"accounting": "honest"},
}


def main() -> None:
    """Print both comparisons."""
    warnings.simplefilter("ignore", PrivacyWarning)
    made = load_dataset("made")
    fits = (
        CopulaShirley(None, random_state=seed).fit(made.table, made.schema) for seed in range(3)
    )
    ours = np.mean([coefficients(fit.sample(5000)) for fit in fits], axis=0)
    print(f"Table 5.2, noise off, mean of 3 seeds: {'; '.join(PAIRS)}")
    thesis = COEFFICIENTS[SHIRLEY]
    for name, row in (("reference", REFERENCE), ("thesis", thesis), ("ours", ours)):
        print(f"  {name:<10}", "  ".join(f"{value:+.3f}" for value in row))

    adult = load_dataset("adult")
    fold = first_fold(adult)
    train, test = fold.train, fold.test
    print("Adult, epsilon 1, WOE, truncation 2, against the test fold")
    for name, settings in ADULT_VARIANTS.items():
        model = CopulaShirley(1.0, target="salary", random_state=0, **settings)
        synthetic = model.fit(train, adult.schema).sample(len(adult.table))
        ks = np.mean(list(kolmogorov_smirnov(test, synthetic, adult.schema).values()))
        drift = spearman_drift(test, synthetic, adult.schema)["mean"]
        print(f"  {name:<15} KS {ks:.4f}   Spearman drift {drift:.4f}")


if __name__ == "__main__":
    main()
