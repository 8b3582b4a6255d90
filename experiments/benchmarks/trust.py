"""What each trust model costs: noise, rows or people for the same, and how near drawn rows are.

Run it with ``python -m copula_shirley.experiments.benchmarks.trust [--rows 26048] [--epsilon 1]
[--measure] [--seeds 3]``. Without ``--measure`` it is arithmetic: the noise of each model, how many
rows (of people: reports) give counts that are as precise, as a share of all, as a curator's of
``--rows``, and what epsilon becomes if one holder more colludes than was planned. With it, one
fold of Adult is fitted under each model with the target salary, as many rows are drawn, and scored
on the fold's test rows; means over seeds. People are drawn from the training rows with replacement.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from copula_shirley import PrivateVine
from copula_shirley.errors import PoorTableWarning
from copula_shirley.experiments.benchmarks.local import METRICS, people, scores
from copula_shirley.experiments.datasets import load_dataset
from copula_shirley.experiments.folds import Fold, first_fold
from copula_shirley.holders.simulation import dealt, simulate
from copula_shirley.local.calibration import people_needed
from copula_shirley.local.generator import LocalVine
from copula_shirley.measure.trust import epsilon_with
from copula_shirley.privacy.gdp import DISCRETE_GAUSSIAN
from copula_shirley.privacy.ledger import Ledger
from copula_shirley.privacy.shares import Shares

DELTA = 1e-9
HOLDERS = ((5, 0), (5, 1), (5, 4), (50, 1), (50, 25), (50, 49))
#: Epsilons of people's reports of which the people are counted, and what is measured.
REPORTS = (1.0, 2.0, 4.0)
Draw = Callable[[int], pd.DataFrame]
PEOPLE = ((100_000, 4.0), (1_000_000, 1.0), (1_000_000, 4.0))


def arithmetic(rows: int, epsilon: float) -> pd.DataFrame:
    """Noise, rows, and epsilon with one colluder more; no row is read."""
    schema = load_dataset("adult").schema
    model = PrivateVine(epsilon, DELTA)
    ledger = model.open_ledger(schema)
    rho = model.problem(model.coordinates(schema), 0).noise.total
    # all of the budget in one spend, so that the ledger says what it proves
    ledger.charge_rho("all", "answers", DISCRETE_GAUSSIAN, rho)
    lines = [{"who": "curator", "noise": "1.00", "rows": f"{rows:,}", "one more colludes": ""}]
    for holders, colluding in HOLDERS:
        shares = Shares(holders, colluding)
        lines.append({
            "who": f"{holders} holders, {colluding} colluding",
            "noise": f"{shares.wider:.2f}",
            "rows": f"{math.ceil(rows * shares.wider):,}",
            "one more colludes": _epsilon(ledger, shares),
        })  # fmt: skip
    for own in REPORTS:
        needed = f"{people_needed(rho, rows, own):,.0f}"
        who = f"people, epsilon {own:g} each"
        lines.append({"who": who, "noise": "", "rows": needed, "one more colludes": ""})
    return pd.DataFrame(lines)


def _epsilon(ledger: Ledger, shares: Shares) -> str:
    found = epsilon_with(ledger, shares, shares.colluding + 1)
    return f"epsilon {found:.2f}" if math.isfinite(found) else "no promise"


def measured(epsilon: float, seeds: int) -> pd.DataFrame:
    """How near the rows that each model draws are; beside it real rows, and columns apart."""
    fold = first_fold(load_dataset("adult"))
    target = fold.dataset.tasks["binary"]

    def vine(seed: int) -> PrivateVine:
        return PrivateVine(epsilon, DELTA, target=target, random_state=seed)

    def shared(holders: int, colluding: int) -> Draw:
        def draw(seed: int) -> pd.DataFrame:
            parts = dealt(fold.train, holders, np.random.default_rng(seed))
            model = simulate(parts, fold.schema, vine(seed), colluding=colluding)
            return model.sample(fold.rows)

        return draw

    def reported(many: int, own: float) -> Draw:
        def draw(seed: int) -> pd.DataFrame:
            model = LocalVine(own, target=target, random_state=seed)
            return model.fit(people(fold, many, seed), fold.schema).sample(fold.rows)

        return draw

    def apart(seed: int) -> pd.DataFrame:
        rng = np.random.default_rng(seed)
        return fold.train.apply(lambda column: rng.permutation(column.to_numpy()))

    draws: dict[str, Draw] = {
        "real rows": lambda _: fold.train,
        "real columns, shuffled apart": apart,
        "curator": lambda seed: vine(seed).fit(fold.train, fold.schema).sample(fold.rows),
    }
    draws |= {f"{m} holders, {t} colluding": shared(m, t) for m, t in HOLDERS}
    draws |= {f"{n:,} people, epsilon {own:g} each": reported(n, own) for n, own in PEOPLE}
    return pd.DataFrame([_scored(name, draw, fold, seeds) for name, draw in draws.items()])


def _scored(name: str, draw: Draw, fold: Fold, seeds: int) -> dict[str, str]:
    start = time.process_time()
    found = [scores(fold, draw(seed)) for seed in range(seeds)]
    seconds = (time.process_time() - start) / seeds
    figures = zip(METRICS, np.mean(found, axis=0), strict=True)
    line = {"who": name, **{metric: f"{figure:.4f}" for metric, figure in figures}}
    return {**line, "seconds": f"{seconds:.1f}"}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=26_048)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--measure", action="store_true")
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    threadpool_limits(1)
    warnings.simplefilter("ignore", PoorTableWarning)
    print(arithmetic(given.rows, given.epsilon).to_string(index=False))
    if given.measure:
        print(measured(given.epsilon, given.seeds).to_string(index=False))


if __name__ == "__main__":
    main()
