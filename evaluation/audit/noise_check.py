"""Is the noise of the answers the noise that the ledger states? For generators with a transcript.

The attacker of an audit knows the rows, so he can recount what each query was about and see the
noise itself. Cost and sensitivity in the ledger imply its scale; with it, each noise becomes a
standard normal number: the randomised probability integral transform, exact for discrete Gaussian
and discrete Laplace noise. If the ledger is right, all these numbers are independent, so over all
fits

- for each stage their sum is normal and the sum of their squares a chi-square;
- a table's numbers, projected on the direction of those of an earlier answer of the same fit, are
  one standard normal number each, whatever the direction is: their sum is normal, too.

All of that together fails with a chance of at most ``LEDGER_ALARM`` where the ledger is right
(Bonferroni). What fails refutes the ledger and so the proof; it is no bound on epsilon.

What was counted is taken from the queries: a generator that lies in them is not found out here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import chi2, norm

from copula_shirley.evaluation.audit.bounds import FloatArray
from copula_shirley.measure.calibration import Calibration
from copula_shirley.measure.queries import Tables
from copula_shirley.measure.trust import STAGE as SHARES
from copula_shirley.rows.memory import MemoryRows
from copula_shirley.schema.schema import Schema

#: The chance with which the noise of a right ledger is called wrong; a part of the audit's whole.
LEDGER_ALARM = 1e-4
#: Relative slack of a stated sigma, for machines that round otherwise.
SLACK = 1e-9
#: From this scale on, the sums of discrete Gaussian noise are those of the continuous one.
SMOOTH = 50.0


@dataclass
class NoiseSums:
    """Sums over the standardised noise of one fit, and what its transcript states wrongly."""

    #: Number, sum and sum of squares by stage; number and sum of projections by two stages.
    stages: dict[str, list[float]] = field(default_factory=dict)
    pairs: dict[str, list[float]] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def add(self, scores: Iterable[tuple[str, FloatArray]]) -> None:
        """Add the noise of answers, in order, as standard normal numbers."""
        earlier: dict[str, FloatArray] = {}
        for stage, own in scores:
            _add(self.stages, stage, (len(own), own.sum(), (own**2).sum()))
            for other, direction in earlier.items():
                size = min(len(direction), len(own))
                length = float(np.linalg.norm(direction[:size]))
                along = float(own[:size] @ direction[:size]) / length
                _add(self.pairs, " and ".join(sorted((other, stage))), (1, along))
            before = earlier.get(stage, np.zeros(0))
            earlier[stage] = np.pad(before, (0, max(len(own) - len(before), 0)))
            earlier[stage][: len(own)] += own


def _add(sums: dict[str, list[float]], name: str, more: Sequence[float]) -> None:
    own = sums.setdefault(name, [0.0] * len(more))
    own[:] = [a + float(b) for a, b in zip(own, more, strict=True)]


def scales(generator: Any, queries: Sequence[Any]) -> list[tuple[float, float]] | None:
    """Scale and standard deviation of each answer's noise, as its spend implies them.

    With several holders it is the noise of all of them. None where the ledger has not one spend for
    each query, or no noise at all.
    """
    ledger, trust = generator.ledger_, getattr(generator, "trust_", None)
    spends = [spend for spend in ledger.spends if spend.stage != SHARES]
    if ledger.budget is None or len(spends) != len(queries):
        return None
    calibration = Calibration.of(ledger) if trust is None else trust.calibration(ledger)
    found = []
    for query, spend in zip(queries, spends, strict=True):
        share = (spend.rho if ledger.zcdp else spend.epsilon) / calibration.total
        scale = calibration.scale(share, len(query.cell_maps))
        found.append((scale, calibration.deviation(scale)))
    return found


def noise_of(
    generator: Any, questions: Sequence[Any], table: pd.DataFrame, schema: Schema, seed: int | None
) -> NoiseSums:
    """What the noise in the transcript of one fit adds up to."""
    queries = [question.query for question in questions]
    answers, ledger, sums = generator.transcript_.answers, generator.ledger_, NoiseSums()
    if ledger.budget is None:
        return sums
    implied = scales(generator, queries)
    if implied is None or len(answers) != len(queries):
        sums.faults.append("the ledger has not one spend for each question and answer")
        return sums
    rng = np.random.default_rng(None if seed is None else [0x5C07E5, seed])
    rows = MemoryRows.of(table, schema)
    found: list[tuple[str, FloatArray]] = []
    for query, answer, (scale, sigma) in zip(queries, answers, implied, strict=True):
        if not math.isclose(answer.sigma, sigma, rel_tol=SLACK):
            sums.faults.append(
                f"the transcript states noise of sigma {answer.sigma:.6g} for answers of stage "
                f"{query.stage!r}, whose cost implies {sigma:.6g}"
            )
        if generator.schema_ != schema or not isinstance(query, Tables):
            continue  # cells of a domain that was measured, or no counts: its noise is not seen
        with suppress(Exception):
            exact = rows.count(query.cell_maps)
            for counts, seen in zip(exact, answer.values, strict=True):
                noise = (seen - counts).ravel()
                found.append((query.stage, normal_noise(noise, scale, rng, gaussian=ledger.zcdp)))
    sums.add(found)
    return sums


def normal_noise(noise: NDArray[np.int64], scale: float, rng: Any, *, gaussian: bool) -> FloatArray:
    """Discrete noise as standard normal numbers; positive noise by symmetry."""
    k, part = -np.abs(noise), rng.random(noise.shape)
    if not gaussian:
        q = math.exp(-1 / scale)
        level = q**-k * (q + part * (1 - q)) / (1 + q)
    elif scale >= SMOOTH:
        below, up_to = (norm.cdf((k + end) / scale) for end in (-0.5, 0.5))
        level = below + part * (up_to - below)
    else:
        most = math.ceil(36 * scale) + 1
        chance = np.exp(-(np.arange(-most, 1) ** 2) / (2 * scale**2))
        chance /= 2 * chance.sum() - 1
        k = np.maximum(k, -most) + most
        level = np.cumsum(chance)[k] - (1 - part) * chance[k]
    score = norm.ppf(np.clip(level, 1e-300, 1 - 1e-16))
    return np.asarray(np.where(noise > 0, -score, score))


def check_noise(fits: Sequence[NoiseSums]) -> tuple[list[str], set[str]]:
    """What is wrong in the ledgers, the surest first, and the stages whose noise was seen."""
    whole = NoiseSums()
    for fit in fits:
        for name, more in fit.stages.items():
            _add(whole.stages, name, more)
        for name, more in fit.pairs.items():
            _add(whole.pairs, name, more)
    tests: list[tuple[float, str]] = []  # two-sided chances where the ledger is right
    for stage, (count, total, squares) in whole.stages.items():
        about = f"of {count:,.0f} standardised noises in stage {stage!r}"
        spread, mean = math.sqrt(squares / count), total / count
        tail = float(min(chi2.cdf(squares, count), chi2.sf(squares, count)))
        tests.append((2 * tail, f"the standard deviation {about} is {spread:.3g} and should be 1"))
        tail = float(norm.sf(abs(total) / math.sqrt(count)))
        tests.append((2 * tail, f"the mean {about} is {mean:.3g} and should be 0"))
    for pair, (count, total) in whole.pairs.items():
        score = total / math.sqrt(count)
        text = (
            f"the noises of answers in stages {pair} depend on each other (a score of {score:.1f} "
            f"that should be standard normal, of {count:,.0f})"
        )
        tests.append((2 * float(norm.sf(abs(score))), text))
    limit = LEDGER_ALARM / max(len(tests), 1)
    what = "the noise of answers is not the independent noise that the ledger states: "
    stated = dict.fromkeys(text for fit in fits for text in fit.faults)
    found = [what + text for chance, text in sorted(tests) if chance < limit]
    return [*stated, *found], set(whole.stages)
