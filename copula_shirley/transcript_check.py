"""Does a transcript fit the ledger of its model? The evidence that ``shirley verify`` looks at.

A saved PrivateVine is its transcript: every noisy answer, with the noise that it carries. So one
who writes another epsilon into the ledger has to explain the answers. Checked are

- each query against its spend: same stage, mechanism, number of tables; share times the total of
  the budget is the cost; sigma is what cost and sensitivity imply;
- each query against the algorithm, driven again by the answers: what it asks for at which share;
- the noise that can be seen: every table counts all rows, so the totals of tables differ by noise
  alone. Totals that agree better than the stated noise allows (or worse) were not made with it. By
  Gaussian approximation a true model is suspected with a chance of about 1e-9.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from scipy.stats import chi2

from copula_shirley.measure import (
    Choice,
    Discovery,
    Distances,
    Noise,
    Query,
    Rounds,
    Tables,
    Transcript,
    replay,
)
from copula_shirley.privacy import Spend
from copula_shirley.private_domain import learn_domain
from copula_shirley.rounds import learn

if TYPE_CHECKING:
    from copula_shirley.private_vine import PrivateVine

T = TypeVar("T")
#: Relative slack of costs and noise, for machines that round otherwise.
SLACK = 1e-9
#: Stages whose tables count every row once.
WHOLE = (
    "size",
    "ranges of cells",
    "margins",
    "margins again",
    "target",
    "tree 1",
    "tables beyond the vine",
)
#: Totals with less noise than this are whole numbers rather than bell-shaped.
LEAST_SPREAD = 5.0
#: Chance of suspecting a true model, for each tail.
SUSPICION = 5e-10


def contradictions(model: PrivateVine) -> list[str]:
    """What ledger and transcript of a loaded model say differently."""
    transcript = model.transcript_
    noise = model._noise(model.schema_)
    asked = _asked(model, transcript)
    if len(asked) != len(transcript.queries):
        return [f"the transcript has {len(transcript.queries)} answers, {len(asked)} are asked for"]
    found = []
    for i, (query, about) in enumerate(zip(asked, transcript.queries, strict=True)):
        values = transcript.answers[i].values
        wrong = _against_query(query, about, values) or _against_noise(query, about, noise)
        if wrong:
            found.append(f"answer {i + 1} of the transcript ({query.stage}): {wrong}")
    return found + _against_spends(model, asked, noise) + _against_totals(transcript, noise)


def _asked(model: PrivateVine, transcript: Transcript) -> list[Query]:
    """The queries of the algorithm when it is driven by the answers."""
    seen: list[Query] = []
    start = 0
    if model._stored:
        domain = learn_domain(model._stored, model.target, model._noise(model.schema_))
        _, start = replay(_watched(domain, seen), transcript)
    problem = model.problem(model.schema_, model._pool_seed)
    replay(_watched(learn(problem, lambda *_: None), seen), transcript, start)
    return seen


def _watched(rounds: Rounds[T], seen: list[Query]) -> Rounds[T]:
    """The same rounds, each query written down."""
    try:
        query = next(rounds)
        while True:
            seen.append(query)
            query = rounds.send((yield query))
    except StopIteration as end:
        result: T = end.value
        return result


def _count(query: Query) -> int:
    """How many tables or distances share the query's budget."""
    return query.count if isinstance(query, Choice) else len(query.keys)


def _against_query(query: Query, about: dict[str, Any], values: Sequence[Any]) -> str | None:
    if not math.isclose(about["share"], query.share, rel_tol=SLACK):
        return f"its share ({about['share']:.6g}) is not the {query.share:.6g} of the algorithm"
    if about["what"] != [list(key.names) for key in query.keys]:
        return "it is about other columns than the algorithm asks for"
    if isinstance(query, Tables):
        shapes = [tuple(key.shape) for key in query.keys]
    elif isinstance(query, Distances):
        shapes = [(len(query.keys),)]
    elif isinstance(query, Choice):
        shapes = [(query.count,)]
    else:
        shapes = [(len(labels) + 1,) for labels in about["labels"]]
    if [np.shape(array) for array in values] != shapes:
        return "its tables have another shape than the algorithm asks for"
    if any(array.dtype != np.int64 for array in values):
        return "its answers are not whole numbers"
    return None


def _against_noise(query: Query, about: dict[str, Any], noise: Noise) -> str | None:
    implied = 0.0
    if not isinstance(query, Choice):
        distances = isinstance(query, Distances)
        implied = noise.sigma(query.share, len(query.keys), distances=distances)
    if not math.isclose(about["sigma"], implied, rel_tol=SLACK):
        return f"its noise ({about['sigma']:.6g}) is not the {implied:.6g} that its cost implies"
    return None


def _against_spends(model: PrivateVine, asked: Sequence[Query], noise: Noise) -> list[str]:
    """Each query has its spend, or without noise its unprotected use."""
    ledger = model.ledger_
    if noise.budget is None:
        uses = [use for use in ledger.unprotected if use.why.startswith("noise is off")]
        if ledger.spends or [use.stage for use in uses] != [query.stage for query in asked]:
            return ["noise is off, but the ledger does not call every answer unprotected"]
        return []
    if len(ledger.spends) != len(asked):
        return [f"the ledger has {len(ledger.spends)} spends for {len(asked)} answers"]
    found = []
    for i, (query, spend) in enumerate(zip(asked, ledger.spends, strict=True)):
        wrong = _against_spend(query, spend, noise)
        if wrong:
            found.append(f"spend {i + 1} of the ledger ({spend.stage}): {wrong}")
    return found


def _against_spend(query: Query, spend: Spend, noise: Noise) -> str | None:
    mechanism = "discrete gaussian" if noise.zcdp else "discrete laplace"
    if isinstance(query, Choice):
        mechanism = "exponential"
    if (spend.stage, spend.mechanism) != (query.stage, mechanism):
        return f"the answer is one of {query.stage!r} by {mechanism}"
    cost, paid = query.share * noise.total, spend.rho if noise.zcdp else spend.epsilon
    if not math.isclose(paid, cost, rel_tol=SLACK):
        return f"its cost ({paid:.6g}) is not the {cost:.6g} of its share"
    failing = noise.failing if isinstance(query, Discovery) else 0.0
    if not math.isclose(spend.delta, failing, rel_tol=SLACK):
        return f"its delta ({spend.delta:.3g}) is not the {failing:.3g} of its kind"
    if spend.rows != "all rows":
        return f"it is charged to {spend.rows!r}, but all rows were counted"
    return None


def _against_totals(transcript: Transcript, noise: Noise) -> list[str]:
    """Whether the totals of the tables differ as much as their noise says."""
    totals, spreads = [], []
    for about, answer in zip(transcript.queries, transcript.answers, strict=True):
        if about["kind"] == "Tables" and about["stage"] in WHOLE:
            totals += [float(table.sum()) for table in answer.values]
            spreads += [answer.sigma * math.sqrt(table.size) for table in answer.values]
    chosen = [i for i, spread in enumerate(spreads) if spread >= LEAST_SPREAD]
    if noise.budget is None or len(chosen) < 3:
        return []
    seen, spread = np.array(totals)[chosen], np.array(spreads)[chosen]
    middle = np.average(seen, weights=1 / spread**2)
    free = len(chosen) - 1
    far, near = chi2.isf(SUSPICION, free), chi2.ppf(SUSPICION, free)
    # one count of slack either way, for whole numbers; Laplace noise has heavier tails
    least = float((np.maximum(np.abs(seen - middle) - 1, 0) ** 2 / spread**2).sum())
    most = float(((np.abs(seen - middle) + 1) ** 2 / spread**2).sum())
    if most < near or (noise.zcdp and least > far):
        ratio = math.sqrt(most / free)
        return [f"the answers carry about {ratio:.2g} times the noise that the transcript states"]
    return []
