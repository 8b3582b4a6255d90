"""Singling out: find a description that fits exactly one person.

A predicate is a conjunction over some columns, such as "age >= 87 and job = farm". The attacker
takes a synthetic row, adds conditions in random order until no other synthetic row fits, and
claims that the predicate fits exactly one person. Rare values do so by chance, so three rates
stand side by side:

- ``train``: synthetic predicates, tried on people of the training table;
- ``control``: the same predicates on as many people whom the generator never saw;
- ``baseline``: predicates that fit one control row, tried on the people of the training table:
  an attacker without any access to the training rows.

The advantage is ``train`` less ``control``. What the control has too is no leak. Predicates are
no independent tries, as several of them describe the same person: the interval is as wide as the
advantage varies when the people of both tables are dealt out again at random.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from copula_shirley.evaluation.comparison import Comparison, Rows
from copula_shirley.evaluation.result import Result, advantage_interval, rates
from copula_shirley.schema.domain import FloatArray

ATTEMPTS = 1000
#: How often people are dealt out again.
DEALS = 200
#: Out of more people than these, exactly one in a half of them is next to impossible.
MOST_FITTING = 20
#: Conditions (column, relation, number) that all must hold.
Predicate = tuple[tuple[str, str, float], ...]


def fitting(predicate: Predicate, rows: Rows) -> NDArray[np.intp]:
    """Which rows fit a predicate."""
    which = np.arange(len(rows))
    for name, relation, value in predicate:
        which = which[_holds(rows.numbers[name][which], relation, value)]
    return which


def _holds(numbers: FloatArray, relation: str, value: float) -> NDArray[np.bool_]:
    if relation == "<=":  # a missing value is below no bound
        return np.asarray((numbers <= value) & (numbers != -np.inf))
    return np.asarray(numbers == value if relation == "=" else numbers >= value)


def singling_out(c: Comparison) -> Result:
    """Advantage of synthetic predicates on training over control rows; 0 is best."""
    rng = c.rng("singling out")
    size = min(len(c.train), len(c.test))
    people, strangers = (rows.take(rng.permutation(len(rows))[:size]) for rows in (c.train, c.test))
    predicates, own = (isolating(c, rows, rng) for rows in (c.synthetic, c.test))
    if not predicates:
        note = f"none of {ATTEMPTS} synthetic rows can be told from all others"
        return Result(0.0, {"note": note})
    hits = {
        "train": _hits(predicates, people),
        "control": _hits(predicates, strangers),
        "baseline": _hits(own, people),
    }
    spread = _spread_by_chance(predicates, people, strangers, rng)
    gain, interval = advantage_interval(hits["train"], hits["control"], spread)
    detail = {"interval": interval, "predicates": len(predicates), **rates(hits)}
    return Result(gain, {**detail, **c.note_on_people})


def isolating(c: Comparison, rows: Rows, rng: np.random.Generator) -> list[Predicate]:
    """Distinct predicates that fit exactly one row; rows that have a twin give none."""
    known = {name: numbers[np.isfinite(numbers)] for name, numbers in rows.numbers.items()}
    middles = {name: np.median(x) if len(x) else 0.0 for name, x in known.items()}
    found: dict[Predicate, None] = {}
    for row in rng.integers(len(rows), size=ATTEMPTS):
        left = np.arange(len(rows))
        conditions = []
        for name in rng.permutation(c.schema.names):
            value = float(rows.numbers[name][row])
            relation = ">=" if value > middles[name] else "<="
            if not c.schema[name].is_ordered or value == -np.inf:
                relation = "="
            conditions.append((str(name), relation, value))
            left = left[_holds(rows.numbers[name][left], relation, value)]
            if len(left) == 1:
                found[tuple(sorted(conditions))] = None
                break
    return list(found)


def _hits(predicates: list[Predicate], rows: Rows) -> NDArray[np.bool_]:
    """Which predicates fit one row; or one person, if the rows say whose they are."""
    people = np.arange(len(rows)) if rows.people is None else rows.people
    return np.array([len(set(people[fitting(p, rows)])) == 1 for p in predicates], dtype=bool)


def _spread_by_chance(
    predicates: list[Predicate], people: Rows, strangers: Rows, rng: np.random.Generator
) -> float:
    """Standard deviation of the advantage if a coin had chosen who was in the training table."""
    whose = np.arange(len(people) + len(strangers))
    if people.people is not None and strangers.people is not None:
        names = np.concatenate([people.people, strangers.people])
        whose = np.unique(names, return_inverse=True)[1]
    fits = []
    for predicate in predicates:
        among = fitting(predicate, people), len(people) + fitting(predicate, strangers)
        some = np.unique(whose[np.concatenate(among)])
        fits.append(some if len(some) <= MOST_FITTING else some[:0])
    ends = np.cumsum([0, *map(len, fits)])
    table = csr_array(
        (np.ones(ends[-1], dtype=np.int32), np.concatenate(fits), ends),
        shape=(len(predicates), whose.max() + 1),
    )
    half = np.arange(whose.max() + 1) % 2
    dealt = rng.permuted(np.tile(half, (DEALS, 1)), axis=1).T.astype(np.int32)
    first, second = (np.mean((table @ side) == 1, axis=0) for side in (dealt, 1 - dealt))
    return float(np.std(first - second))
