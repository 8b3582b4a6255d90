"""What a pair of neighbours costs, from the true values and the scales on two recordings.

First principles, and not the ledger's arithmetic. With d the difference of what the noise protects:
Laplace noise costs epsilon = |d|_1 / scale. A choice whose chances grow as exp(score / scale)
costs the largest change of the logarithm of a chance. Gaussian noise has mu = |d|_2 / scale.
Reports of people cost their epsilon if the cell of one of them differs, and all of them together
no more than the ledger says.
In zCDP they are worth rho = epsilon^2 / 2, w^2 / 8 with w the width of the interval in which the
changes lie, and mu^2 / 2; in a ledger of GDP mu is that of noise on whole numbers, a little more
(``copula_shirley.privacy.gdp``). Against a pair (epsilon, delta) the Gaussian parts are tested
together by their exact delta (Balle and Wang 2018). Categories that only one of two tables has are
covered by the delta of their discovery and not by noise: the chance that one of them is released is
added up.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import logsumexp as log_sum

from copula_shirley.evaluation.audit.bounds import gaussian_delta
from copula_shirley.privacy.gdp import unit_mu
from copula_shirley.privacy.recording import Charge, Recording, Request

#: Costs and charges are sums of floating-point numbers.
SLACK = 1e-6
Draws = list[tuple[Request, Request]]


def excess(record: Recording, again: Recording, ledger: Any) -> str | None:
    """Say which charge the pair costs more than, if one."""
    there = iter(again.requests)
    groups: list[tuple[list[Any], Draws]] = []  # draws after the charge that they follow
    for event in record.events:
        if isinstance(event, Charge):
            groups.append(([event.spend], []))
        elif isinstance(event, Request):
            pair = event, next(there)
            if groups:
                groups[-1][1].append(pair)
    if not all(draws for _, draws in groups):
        # charged in advance: all that was drawn so far against all that was charged so far
        for (all_spends, all_draws), (spends, draws) in pairwise(groups):
            spends[:0], draws[:0] = all_spends, all_draws
    return next(filter(None, (_too_dear(*group, ledger) for group in groups)), None) or _twice(
        [pair for _, draws in groups for pair in draws if pair[0].kind == "reports"], ledger
    )


def _twice(reports: Draws, ledger: Any) -> str | None:
    """Waves of other people cost what one of them costs: so a unit answers in one of them only."""
    cost, told = math.fsum(_epsilon(*pair) for pair in reports), ledger.spent.epsilon
    if cost > told * (1 + SLACK):
        return f"reports of one person cost epsilon {cost:.4g}, the ledger says {told:.4g}"
    return None


def _too_dear(spends: list[Any], drawn: Draws, ledger: Any) -> str | None:
    told = f"{spends[-1].stage} of {spends[-1].what}"
    rho, epsilon, delta = (
        math.fsum(getattr(spend, part) for spend in spends) for part in ("rho", "epsilon", "delta")
    )
    seen = math.fsum(_seen(*pair) for pair in drawn if pair[0].least is not None)
    if seen > delta * (1 + SLACK):
        return (
            f"{told} shows a category of one unit with a chance of {seen:.3g}, charged is "
            f"delta {delta:.3g}"
        )
    if ledger.zcdp:
        cost = math.fsum(_rho(*pair, gdp=ledger.gdp) for pair in drawn)
        too_much = cost > rho * (1 + SLACK)
        return f"{told} costs rho {cost:.4g}, charged is {rho:.4g}" if too_much else None
    pure = math.fsum(_epsilon(*pair) for pair in drawn if pair[0].kind != "gaussian")
    if pure > epsilon * (1 + SLACK):
        return f"{told} costs epsilon {pure:.4g}, charged is {epsilon:.4g}"
    mu = math.sqrt(math.fsum(_mu(*pair) ** 2 for pair in drawn if pair[0].kind == "gaussian"))
    if mu and gaussian_delta(mu, epsilon - pure) > delta * (1 + SLACK):
        return f"{told} costs more than epsilon {epsilon:.4g} at delta {delta:.3g}"
    return None


def _difference(here: Request, there: Request) -> Any:
    if here.kind != "discover":
        return here.true - there.true
    return np.array(
        [
            float(one[label] - other[label])
            for one, other in zip(here.true, there.true, strict=True)
            for label in one.keys() & other.keys()
        ]
    )


def _seen(here: Request, there: Request) -> float:
    """The chance that a category is released which only one of two tables has, at the most."""
    return math.fsum(
        _tail(here.least - one[label], here.scale)
        for tallies in ((here.true, there.true), (there.true, here.true))
        for one, other in zip(*tallies, strict=True)
        for label in one.keys() - other.keys()
    )


def _tail(least: int, scale: float) -> float:
    """The chance that discrete Gaussian noise is so large or larger.

    Examples
    --------
    >>> _tail(-100, 3.0), round(_tail(1, 1e-9), 3)  # certain, and never
    (1.0, 0.0)
    """
    reach = max(math.ceil(15 * scale), 1)  # beyond are less than 1e-48
    weights = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * scale**2))
    return float(weights[max(least + reach, 0) :].sum() / weights.sum())


def _mu(here: Request, there: Request) -> float:
    return float(np.linalg.norm(_difference(here, there))) / here.scale


def _losses(here: Request, there: Request) -> Any:
    logs = [r.true / here.scale - log_sum(r.true / here.scale) for r in (here, there)]
    return logs[0] - logs[1]


def _epsilon(here: Request, there: Request) -> float:
    if here.kind == "choose":
        return float(np.abs(_losses(here, there)).max())
    if here.kind == "reports":  # each person's costs its epsilon if her cell differs
        return here.scale * float(np.any(here.true != there.true))
    return float(np.abs(_difference(here, there)).sum()) / here.scale


def _rho(here: Request, there: Request, *, gdp: bool) -> float:
    if here.kind == "choose":
        return float(np.ptp(_losses(here, there))) ** 2 / 8
    cost = _epsilon(here, there) if here.kind == "laplace" else _mu(here, there)
    return (cost * here.scale * unit_mu(here.scale) if gdp and cost else cost) ** 2 / 2
