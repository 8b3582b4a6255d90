"""Our vine fit against a plain ``pyvinecopulib.Vinecop.from_data``, same controls, same data.

Run it with ``python -m copula_shirley.experiments.benchmarks.vine_fit [ROWS]`` (13,000). The data
are the pseudo-observations of Adult's copula rows, as CopulaShirley makes them at epsilon 1 with
WOE; both take two threads.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pyvinecopulib as pv

from copula_shirley import CopulaShirley, PrivacyWarning
from copula_shirley.experiments import load_dataset
from copula_shirley.rows.memory import MemoryRows
from copula_shirley.schema.domain import FloatArray
from copula_shirley.thesis.margins import pseudo_observations
from copula_shirley.thesis.vine import VineSettings, fit_vine

THREADS = 2


def adult_pseudo_observations(rows: int) -> FloatArray:
    """Pseudo-observations of Adult rows under margins of CopulaShirley at epsilon 1."""
    adult = load_dataset("adult")
    model = CopulaShirley(
        1.0, target="salary", families=["indep", "gaussian"], truncation=1, random_state=0
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        model.fit(adult.table, adult.schema)
    order = np.random.default_rng(1).permutation(len(adult.table))[:rows]
    numbers = MemoryRows.of(adult.table, adult.schema).take(order)
    encoded = np.hstack([model._codings[n].encode(numbers[n]) for n in adult.schema.names])
    return np.asfortranarray(pseudo_observations(encoded, model._all_margins()))


def main(rows: int = 13_000) -> None:
    """Time both fits and compare their log-likelihoods."""
    u = adult_pseudo_observations(rows)
    controls = pv.FitControlsVinecop(
        selection_criterion="aic", tree_criterion="rho", trunc_lvl=2, num_threads=THREADS
    )
    fits: dict[str, Callable[[], Any]] = {
        "ours": lambda: fit_vine(u, VineSettings(truncation=2, threads=THREADS)),
        "plain": lambda: pv.Vinecop.from_data(u, controls),
    }
    print(f"{u.shape[0]} x {u.shape[1]} pseudo-observations, {THREADS} threads")
    seconds, logliks = {}, {}
    for name, fit in fits.items():
        start = time.perf_counter()
        vine = fit()
        seconds[name], logliks[name] = time.perf_counter() - start, vine.loglik(u)
        print(f"{name:<6} {seconds[name]:8.2f} s   log-likelihood {logliks[name]:.1f}")
    gap = (logliks["ours"] - logliks["plain"]) / abs(logliks["plain"])
    print(f"{seconds['plain'] / seconds['ours']:.1f} times faster, log-likelihood by {gap:+.4%}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
