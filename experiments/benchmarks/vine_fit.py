"""Our vine fit against a plain ``pyvinecopulib.Vinecop.from_data``, same controls, same data.

Run it with ``python -m copula_shirley.experiments.benchmarks.vine_fit [--rows N] [--threads N]``.
The data are
the pseudo-observations of Adult's copula rows, as CopulaShirley makes them at epsilon 1 with WOE.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
import pyvinecopulib as pv

from copula_shirley import CopulaShirley, PrivacyWarning
from copula_shirley.experiments import load_dataset
from copula_shirley.rows.memory import MemoryRows
from copula_shirley.schema.domain import FloatArray
from copula_shirley.thesis.margins import pseudo_observations
from copula_shirley.thesis.vine import VineSettings, fit_vine


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
    return pseudo_observations(encoded, model._all_margins())


def main() -> None:
    """Time both fits and compare their log-likelihoods."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=13_000)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    u = np.asfortranarray(adult_pseudo_observations(options.rows))
    print(f"{u.shape[0]} x {u.shape[1]} pseudo-observations, {options.threads} threads")

    start = time.perf_counter()
    ours = fit_vine(u, VineSettings(truncation=2, threads=options.threads))
    our_time = time.perf_counter() - start

    controls = pv.FitControlsVinecop(
        selection_criterion="aic",
        tree_criterion="rho",
        trunc_lvl=2,
        num_threads=options.threads,
    )
    start = time.perf_counter()
    plain = pv.Vinecop.from_data(u, controls)
    plain_time = time.perf_counter() - start

    our_loglik, plain_loglik = ours.loglik(u), plain.loglik(u)
    print(f"ours   {our_time:8.2f} s   log-likelihood {our_loglik:.1f}")
    print(f"plain  {plain_time:8.2f} s   log-likelihood {plain_loglik:.1f}")
    gap = (our_loglik - plain_loglik) / abs(plain_loglik)
    print(f"{plain_time / our_time:.1f} times faster, log-likelihood differs by {gap:+.4%}")


if __name__ == "__main__":
    main()
