"""Many units at once: who is in the table is guessed from the whole transcript of noisy answers.

One pair of neighbouring tables gives one look at a small difference for each fit. Here each of some
hundred units, the canaries (after Steinke, Nasr and Jagielski 2023), is in the table or not by a
coin of its own (with replace-one: is one row or another), and an attacker who knows all other coins
guesses each of them from what one fit released. So a fit is worth hundreds of looks, and hundreds
of fits show what ten thousands on one pair do not. Nothing is learnt, so all fits count.

The guess is by likelihood. The attacker knows all rows but the canary's, so he knows what every
table would hold with it and without it, and guesses what makes the noisy answers likelier, by the
noise that the ledger implies. Which tables were asked is public: it follows from the answers. Of
the transcript he reads the counts. A guess is a function of what was released and of the other
units, so ``evaluation.audit.bounds`` holds for it whatever the noise really is.

The tables (``evaluation.audit.pairs.canaries``) are plain: two columns without an order, twenty
categories each, every combination five times, and one canary for each. So PrivateVine asks for the
number of rows, the margins and the table of the pair, and all its noise is Gaussian (or all
Laplace).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from copula_shirley.evaluation.audit.bounds import FloatArray
from copula_shirley.evaluation.audit.neighbours import Canaries
from copula_shirley.measure.queries import Tables
from copula_shirley.measure.transcript import Answer
from copula_shirley.rows.memory import MemoryRows

#: Noise that a ledger implies to be less, or none, is taken for this.
LEAST_SIGMA = 1e-3


def likelihoods(
    tested: Canaries,
    inside: NDArray[np.bool_],
    queries: list[Any],
    answers: list[Answer],
    gaussian: bool,
) -> FloatArray:
    """Of each canary the log likelihood of the answers if it is in, less that if it is not."""
    count, each = tested.count, tested.rows_each
    tables, coins = [tested.first], [inside]
    if tested.relation == "replace-one":
        tables.append(tested.second.iloc[tested.common :])
        coins.append(~inside)
    rows = MemoryRows.of(pd.concat(tables, ignore_index=True), tested.schema).chunk()
    weights = np.concatenate([np.ones(tested.common), *(np.repeat(c, each) for c in coins)])
    starts = tested.common + each * np.arange(len(coins) * count).reshape(-1, count)
    total: FloatArray = np.zeros(count)
    for query, answer in zip(queries, answers, strict=True):
        if not isinstance(query, Tables):
            continue
        sigma = max(answer.sigma, LEAST_SIGMA)
        for cells, table in zip(query.cell_maps, answer.values, strict=True):
            places, seen = cells.cells(rows), table.astype(float).ravel()
            counts = np.bincount(places, weights, math.prod(cells.shape)).astype(float)
            homes = places[starts]
            # a replaced canary that stays in its cell changes nothing
            moving = np.ones(count) if len(homes) == 1 else homes[0] != homes[1]
            for home, sign in zip(homes, (1.0, -1.0), strict=False):
                step = sign * each * moving
                present = counts[home] + step * ~inside
                total += _log(seen[home] - present, sigma, gaussian)
                total -= _log(seen[home] - (present - step), sigma, gaussian)
    return np.round(total, 9)


def _log(noise: FloatArray, sigma: float, gaussian: bool) -> FloatArray:
    """The log likelihood of noise of a standard deviation, but for a constant."""
    if gaussian:
        return np.asarray(-(noise**2) / (2 * sigma**2))
    return np.asarray(-np.abs(noise) * math.sqrt(2) / sigma)
