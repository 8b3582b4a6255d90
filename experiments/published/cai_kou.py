"""Cai and Kou (2017): sums over several parties that mask them, and least squares from such sums.

Party i sends S_i = g_i + sum_j (R_ij - R_ji) mod M, with R_ij drawn uniformly by i for j; the sum
of all S_i mod M is that of all g_i. The paper has real numbers and M = m, the number of parties;
with whole numbers and M = 2^64 nothing is rounded, and a sum of m ones is not 0.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import chisquare

from copula_shirley.experiments.datasets import load_dataset
from copula_shirley.experiments.published.claims import Found
from copula_shirley.experiments.specs import Size
from copula_shirley.least_squares import chosen, regression
from copula_shirley.measure.products import STEPS, Products, matrix_of
from copula_shirley.rows.memory import MemoryRows
from copula_shirley.schema.domain import FloatArray
from copula_shirley.schema.schema import Schema

PARTIES = 5
EPSILONS = (0.1, 0.5, 1.0, 4.0)
#: Repetitions with noise.
DRAWS: dict[Size, int] = {"quick": 50, "full": 200}
WORDS = 2**64 - 1
Masked = list[NDArray[np.uint64]]


@dataclass(frozen=True)
class Model:
    """What is regressed on what."""

    table: pd.DataFrame
    schema: Schema
    columns: Sequence[str]
    on: str


def reproduced(size: Size) -> Found:
    """Figures and tables on Adult."""
    adult = load_dataset("adult")
    columns = ["age", "education-num", "hours-per-week", "sex"]
    return found_on(Model(adult.table, adult.schema, columns, "salary"), DRAWS[size])


def found_on(model: Model, draws: int) -> Found:
    """The same on any table, its rows dealt to the parties at random."""
    rng = np.random.default_rng(0)
    part = chosen(model.schema, model.columns, model.on)
    products = Products({column.name: column.domain.number_range for column in part})
    table = model.schema.validate(model.table, names=part.names)
    dealt = rng.integers(0, PARTIES, len(table))
    own = [products.numbers(MemoryRows.of(table[dealt == i], part)) for i in range(PARTIES)]
    exact = np.sum(own, axis=0)
    sent = masked(own, rng)
    total = np.sum(sent, axis=0).view(np.int64)
    numbers = MemoryRows.of(table, part).numbers
    noisy, errors = _noisy(model, draws, _coefficients(matrix_of(total / STEPS)))
    figures = {
        "sums that differ": float((total != exact).sum()),
        "error on reals": _on_reals(own, rng),
        "sum of ones": float(np.sum(masked_reals([np.ones(1)] * PARTIES, rng)) % PARTIES),
        "random numbers": float(PARTIES * (PARTIES - 1) * products.size),
        "uniform": _uniform(own, rng),
        "known to the others": float(_colluders(own, rng)),
        **_against_rows(
            matrix_of(total / STEPS), numbers, [column.domain.number_range for column in part]
        ),
        **errors,
    }
    return Found(figures, {"Noise on the sums: the largest error of a coefficient": noisy})


def masked(values: Sequence[NDArray[np.int64]], rng: np.random.Generator) -> Masked:
    """What each party sends."""
    m, size = len(values), len(values[0])
    drawn = rng.integers(0, WORDS, (m, m, size), dtype=np.uint64, endpoint=True)
    drawn[np.arange(m), np.arange(m)] = 0
    sides = zip(values, drawn.sum(axis=1), drawn.sum(axis=0), strict=True)
    return [own.astype(np.uint64) + mine - theirs for own, mine, theirs in sides]


def masked_reals(values: Sequence[FloatArray], rng: np.random.Generator) -> list[FloatArray]:
    """What each party sends by the letter of the paper: real numbers mod m."""
    m, size = len(values), len(values[0])
    drawn = rng.uniform(0, m, (m, m, size))
    drawn[np.arange(m), np.arange(m)] = 0
    sides = zip(values, drawn.sum(axis=1), drawn.sum(axis=0), strict=True)
    return [(own + mine - theirs) % m for own, mine, theirs in sides]


def _on_reals(own: Sequence[NDArray[np.int64]], rng: np.random.Generator) -> float:
    """The largest error of a sum of numbers in [0, 1) that are masked as the paper has it."""
    shares = [values / (np.max(own) * 1.001) for values in own]
    sent = np.sum(masked_reals(shares, rng), axis=0) % PARTIES
    return float(np.abs(sent - np.sum(shares, axis=0)).max())


def _uniform(own: Sequence[NDArray[np.int64]], rng: np.random.Generator) -> float:
    """P-value of a chi-squared test that the bytes of what a party sends are uniform."""
    sent = np.array([masked(own, rng)[0] for _ in range(200)])
    counts = np.bincount(sent.view(np.uint8).ravel(), minlength=256)
    return float(chisquare(counts).pvalue)


def _colluders(own: Sequence[NDArray[np.int64]], rng: np.random.Generator) -> int:
    """How many sums of the last party all others know who subtract theirs from the result."""
    total = np.sum(masked(own, rng), axis=0).view(np.int64)
    return int((total - np.sum(own[:-1], axis=0) == own[-1]).sum())


def _coefficients(matrix: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.solve(matrix[:-1, :-1], matrix[:-1, -1]))


def _against_rows(
    matrix: FloatArray, numbers: Mapping[str, FloatArray], ranges: list[tuple[float, float]]
) -> dict[str, float]:
    """Coefficients and residual variance of the sums, against least squares on all rows."""
    shares = [
        (values - low) / (high - low)
        for values, (low, high) in zip(numbers.values(), ranges, strict=True)
    ]
    rows = np.column_stack([np.ones(len(shares[0])), *shares])
    left, right = rows[:, :-1], rows[:, -1]
    known = np.linalg.lstsq(left, right, rcond=None)[0]
    found = _coefficients(matrix)
    free = len(rows) - left.shape[1]
    residual = right - left @ known
    variance = float(matrix[-1, -1] - matrix[:-1, -1] @ found) / free
    return {
        "coefficients": float(np.abs(found - known).max()),
        "residual variance": abs(variance - float(residual @ residual) / free),
    }


def _noisy(model: Model, draws: int, exact: FloatArray) -> tuple[pd.DataFrame, dict[str, float]]:
    """The same sums with discrete Gaussian noise on them, as ``shirley sums`` draws it."""
    lines, figures = [], {}
    for epsilon in EPSILONS:
        errors, inside = [], []
        for seed in range(draws):
            found = regression(
                model.table, model.schema, model.columns, model.on,
                epsilon=epsilon, random_state=seed,
            )  # fmt: skip
            errors.append(np.abs(_coefficients(found.sums.to_numpy()) - exact).max())
            inside.append(not found.notes)
        figures[f"error at {epsilon:g}"] = float(np.median(errors))
        lines.append({
            "epsilon": f"{epsilon:g}",
            "standard deviation of a sum": f"{found.sigma:.1f}",
            "median largest error": f"{np.median(errors):.3f}",
            "runs whose coefficients can be trusted": f"{np.mean(inside):.0%}",
        })  # fmt: skip
    return pd.DataFrame(lines), figures
