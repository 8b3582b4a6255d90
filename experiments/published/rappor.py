"""RAPPOR (Erlingsson, Pihur, Korolova 2014): its epsilons, its two experiments, and the theory.

What can be found follows from the noise. The share of a rare text has a standard error: that of
``share_error`` if it shares no bit with another candidate, and a little more if it does, since the
decoder has to tell them apart (``errors``). A one-sided test at .05 over M candidates finds what is
estimated above the limit of z standard errors, where z is the quantile of 1 - .05 / M. So a text of
share s is found with the chance Phi((s - limit) / error), and a false one in at most .05 of all
experiments.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import pandas as pd
from scipy.stats import binom, norm

from copula_shirley.experiments.published.claims import Found, written
from copula_shirley.experiments.specs import Size
from copula_shirley.local.memo import Scheme
from copula_shirley.local.rappor import (
    Correction,
    decoded,
    design,
    share_error,
    simulated,
)
from copula_shirley.local.rappor import Found as Text
from copula_shirley.schema.domain import FloatArray

LEVEL = 0.05
PEOPLE = 1_000_000
#: Texts that occur, and as many that do not; the paper names neither number nor decay.
PRESENT, CANDIDATES, DECAYS = 100, 200, (10, 20, 40)
#: The decay of the authors' own simulator: a rate of 5 over the range.
OWN_DECAY = 20
NORMAL = Scheme(bits=100, hashes=1, cohorts=1, f=0.0)
EXPONENTIAL = Scheme(bits=128, hashes=2, cohorts=16, f=0.5)
#: Repetitions of the experiment itself, and of its variants.
RUNS: dict[Size, tuple[int, int]] = {"quick": (10, 2), "full": (40, 10)}


def reproduced(size: Size) -> Found:
    """Figures and tables of both experiments."""
    runs, variants = RUNS[size]
    normal, normal_figures = _normal(np.random.default_rng(0))
    found = [_run(OWN_DECAY, seed) for seed in range(runs)]
    figures = {**_epsilons(), **normal_figures, **_judged(found), **_in_the_wild()}
    return Found(
        figures,
        {
            "Normal distribution: the error of a bar": normal,
            "Exponential distribution: texts found and false ones": _variants(variants),
            "The theory": _theory_table(figures, runs),
        },
    )


def _epsilons() -> dict[str, float]:
    once = Scheme(hashes=1, f=0.0)
    return {
        "eps_1, f .5": EXPONENTIAL.eps_one,
        "eps_1, f .75": Scheme(f=0.75).eps_one,
        "eps_1, one-time": once.eps_one,
        "eps_inf, f .5": EXPONENTIAL.eps_inf,
    }


# -- the normal distribution -----------------------------------------------------------


def _normal(rng: np.random.Generator) -> tuple[pd.DataFrame, dict[str, float]]:
    """Whole numbers from 0 to 99, a bit for each, one report without a memo.

    The error of a bar is the root of the mean squared error, as a part of the highest bar: from a
    third on a bar that is twice another cannot be told from it.
    """
    lines, figures = [], {}
    p, q = map(float, NORMAL.stars)
    for people in (10_000, 100_000, 1_000_000):
        values = np.rint(rng.normal(50, 10, people)).clip(0, 99).astype(int)
        true = np.bincount(values, minlength=100)
        ones = rng.binomial(true, q) + rng.binomial(people - true, p)
        found = (ones - p * people) / (q - p)
        error = float(np.sqrt(np.mean((found - true) ** 2)) / true.max())
        figures[f"normal {people}"] = error
        correlation = np.corrcoef(found, true)[0, 1]
        lines.append({"reports": f"{people:,}", "error, of the highest bar": f"{error:.2f}",
                      "correlation with the truth": f"{correlation:.2f}"})  # fmt: skip
    return pd.DataFrame(lines), figures


# -- the exponential distribution ------------------------------------------------------


@dataclass(frozen=True)
class Run:
    """One experiment: the shares that the present texts have, and what was found."""

    shares: FloatArray
    found: list[Text]

    @property
    def places(self) -> list[int]:
        """Numbers of the texts that were found; those from ``PRESENT`` on are false."""
        return [int(one.text) for one in self.found]

    @property
    def false(self) -> int:
        return sum(place >= PRESENT for place in self.places)

    def of_large(self, limit: float) -> float:
        """The share of the texts above a limit that were found."""
        large = np.flatnonzero(self.shares > limit)
        return float(np.isin(large, self.places).mean())

    def p_value(self, many: int) -> float:
        """The largest p-value of the commonest texts; 1 if one of them was not found."""
        known = {int(one.text): one.p_value for one in self.found}
        common = np.argsort(-self.shares, kind="stable")[:many]
        return max(known.get(int(place), 1.0) for place in common)


def _run(decay: int, seed: int, correction: Correction = "bonferroni", level: float = LEVEL) -> Run:
    rng = np.random.default_rng([decay, seed])
    law = np.exp(-np.arange(PRESENT) / decay)
    counts = rng.multinomial(PEOPLE, law / law.sum())
    candidates = [str(place) for place in range(CANDIDATES)]
    values = np.repeat(np.arange(PRESENT), counts)
    reports = simulated(EXPONENTIAL, values, candidates, rng)
    return Run(counts / PEOPLE, decoded(reports, candidates, level=level, correction=correction))


def errors() -> FloatArray:
    """The standard error of the share of each candidate that hardly anybody has.

    The bits of a cohort tell shares with the noise of one bit; least squares on the bits that
    candidates set tells theirs.
    """
    alone = share_error(EXPONENTIAL, PEOPLE)
    bit = alone * math.sqrt(EXPONENTIAL.cohorts * EXPONENTIAL.hashes)
    chances = design(EXPONENTIAL, [str(place) for place in range(CANDIDATES)])
    return np.asarray(bit * np.sqrt(np.diag(np.linalg.inv(chances.T @ chances))))


def _judged(runs: list[Run]) -> dict[str, float]:
    z, apart = NormalDist().inv_cdf(1 - LEVEL / CANDIDATES), share_error(EXPONENTIAL, PEOPLE)
    shares, together = runs[0].shares, errors()[:PRESENT]
    alone, sharing = (_chances(shares, each, z) for each in (apart, together))
    any_false = sum(run.false > 0 for run in runs)
    found = [len(run.found) - run.false for run in runs]
    # texts are found independently of each other, nearly
    spread = math.sqrt(float((sharing * (1 - sharing)).sum()) / len(runs))
    return {
        "found": float(np.mean([len(run.found) for run in runs])),
        "false": float(np.mean([run.false for run in runs])),
        "above 1 %": float(np.mean([run.of_large(0.01) for run in runs])),
        "p top 10": float(np.median([run.p_value(10) for run in runs])),
        "p top 20": float(np.median([run.p_value(20) for run in runs])),
        "limit, alone": z * apart,
        "limit": z * float(together.mean()),
        "found by theory, alone": float(alone.sum()),
        "found by theory": float(sharing.sum()),
        "found against theory": (float(np.mean(found)) - float(sharing.sum())) / spread,
        "runs with a false text": any_false / len(runs),
        "chance of so many": float(binom.sf(any_false - 1, len(runs), LEVEL)),
    }


def _chances(shares: FloatArray, error: FloatArray | float, z: float) -> FloatArray:
    """The chance that each text is found."""
    return np.asarray(norm.cdf(shares / error - z))


def _variants(runs: int) -> pd.DataFrame:
    """Found and false ones by decay and test."""
    tests: dict[str, tuple[Correction, float]] = {
        "Bonferroni, .05": ("bonferroni", LEVEL),
        "Benjamini-Hochberg, .05": ("benjamini-hochberg", LEVEL),
        "Bonferroni, .2": ("bonferroni", 4 * LEVEL),
    }
    lines = []
    for decay in DECAYS:
        line = {"decay": str(decay)}
        for name, (correction, level) in tests.items():
            made = [_run(decay, seed, correction, level) for seed in range(runs)]
            false = np.mean([run.false for run in made])
            true = np.mean([len(run.found) for run in made]) - false
            line[name] = f"{true:.1f} and {false:.1f}"
        lines.append(line)
    return pd.DataFrame(lines)


def _theory_table(figures: dict[str, float], runs: int) -> pd.DataFrame:
    names = {
        "limit above which texts are found, if none shares a bit": "limit, alone",
        "limit with the bits that the candidates share": "limit",
        "texts found by theory, if none shares a bit": "found by theory, alone",
        "texts found by theory, with the bits that they share": "found by theory",
        "texts found, false ones included": "found",
        f"runs with a false text, of {runs}": "runs with a false text",
    }
    lines = [{"": words, "figure": written(figures[name])} for words, name in names.items()]
    return pd.DataFrame(lines)


# -- what was collected from real people --------------------------------------------------


def _in_the_wild() -> dict[str, float]:
    """What the theory lets one find in the paper's two collections; the rows are not public.

    Of many reports of one person the noise of the instantaneous response averages out and that of
    the memo stays: at best each person tells her B', a true bit of which is 1 with 1 - f/2.
    """
    z = NormalDist().inv_cdf(1 - LEVEL)
    processes = Scheme(cohorts=8, f=0.5)
    pages = 12_000_000
    alone = Scheme(cohorts=32, f=0.75)
    at_best = Scheme(cohorts=32, f=0.75, p=0.0, q=1.0)
    return {
        "processes": share_error(processes, 186_792) * z,
        "pages, one report": share_error(alone, pages) * z * pages,
        "pages, many reports": share_error(at_best, pages) * z * pages,
    }
