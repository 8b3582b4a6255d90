"""Attribute inference: guess a secret value of a person from her other values.

The attacker knows all columns of a person but the secret one, looks for the nearest synthetic
row and takes its value. Much of that works for people who were never in the training table,
because age tells something about income. So three rates stand side by side:

- ``train``: the attack on people of the training table;
- ``control``: the same attack on people whom the generator never saw;
- ``baseline``: the attack on people of the training table with control rows in place of the
  synthetic ones, that is without any access to the training rows.

The advantage is ``train`` less ``control``. What the control has too is no leak.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_shirley.evaluation.comparison import Comparison, Rows, declared_range
from copula_shirley.evaluation.result import Result, advantage_interval, rates
from copula_shirley.schema.domain import FloatArray
from copula_shirley.schema.schema import Column

TARGETS = 500
#: A guessed number is right if it is off by at most this share of the declared range.
TOLERANCE = 0.05
PAIRS_AT_ONCE = 1 << 18


def attribute_inference(c: Comparison) -> Result:
    """Mean advantage of the attack over the sensitive columns; 0 is best.

    Distances are Gower's: a column of categories adds 0 or 1, any other the difference as a
    share of the declared range, a missing value 1 to any other. Among several nearest rows one
    is taken at random.
    """
    secrets = c.sensitive or c.schema.names
    if len(c.schema) < 2:
        return Result(0.0, {"note": "one column: nothing is known to guess it from"})
    rng = c.rng("attribute inference")
    synthetic, reference = (_shuffled(rows, rng) for rows in (c.synthetic, c.test))
    people, strangers = (_targets(rows, rng) for rows in (c.train, c.test))
    right = {
        "train": _successes(c, people, synthetic, secrets),
        "control": _successes(c, strangers, synthetic, secrets),
        "baseline": _successes(c, people, reference, secrets),
    }
    columns: dict[str, Any] = {}
    for i, secret in enumerate(secrets):
        hits = {who: found[:, i] for who, found in right.items()}
        gain, interval = advantage_interval(hits["train"], hits["control"])
        columns[secret] = {**rates(hits), "advantage": gain, "interval": interval}
    overall = {who: hits.mean(axis=1) for who, hits in right.items()}
    gain, interval = advantage_interval(overall["train"], overall["control"])
    means = {who: float(hits.mean()) for who, hits in overall.items()}
    return Result(gain, {"interval": interval, **means, "columns": columns, **c.note_on_people})


def _targets(rows: Rows, rng: np.random.Generator) -> Rows:
    """Some rows at random, one of each person: the intervals take them for independent."""
    rows = _shuffled(rows, rng)
    if rows.people is not None:
        rows = rows.take(np.sort(np.unique(rows.people, return_index=True)[1]))
    return rows.take(np.arange(min(len(rows), TARGETS)))


def _shuffled(rows: Rows, rng: np.random.Generator) -> Rows:
    """The first of several nearest rows is then a random one."""
    return rows.take(rng.permutation(len(rows)))


def _successes(
    c: Comparison, targets: Rows, known: Rows, secrets: tuple[str, ...]
) -> NDArray[np.bool_]:
    """Whether each secret (column) of each target (line) is guessed right."""
    right = np.empty((len(targets), len(secrets)), dtype=bool)
    size = max(PAIRS_AT_ONCE // len(known), 1)
    for start in range(0, len(targets), size):
        some = slice(start, start + size)

        def apart(column: Column, some: slice = some) -> NDArray[np.float32]:
            return _gower(column, targets.numbers[column.name][some], known.numbers[column.name])

        total = sum(map(apart, c.schema))
        for i, column in enumerate(c.schema[secret] for secret in secrets):
            # rounding may tell equal distances apart; a grid of 2**-12 makes them equal again
            nearest = np.rint((total - apart(column)) * 4096).argmin(axis=1)
            guess = known.numbers[column.name][nearest]
            right[some, i] = _is_right(column, targets.numbers[column.name][some], guess)
    return right


def _gower(column: Column, a: FloatArray, b: FloatArray) -> NDArray[np.float32]:
    """Differences of all pairs: 0 or 1 for categories, else the share of the range, at most 1."""
    if not column.is_ordered:
        return np.asarray(a[:, None] != b, dtype=np.float32)
    first, second = (_on_unit_range(column, numbers) for numbers in (a, b))
    return np.asarray(np.abs(first[:, None] - second).clip(max=1), dtype=np.float32)


def _on_unit_range(column: Column, numbers: FloatArray) -> NDArray[np.float32]:
    """Numbers as shares of the declared range; a missing value is 1 away from all."""
    low = column.domain.number_range[0]
    share = (np.where(np.isneginf(numbers), low, numbers) - low) / declared_range(column)
    return np.where(np.isneginf(numbers), -2, share.clip(0, 1)).astype(np.float32)


def _is_right(column: Column, truth: FloatArray, guess: FloatArray) -> NDArray[np.bool_]:
    right = np.asarray(truth == guess)
    if not column.is_listed:
        with np.errstate(invalid="ignore"):
            right |= np.abs(truth - guess) <= TOLERANCE * declared_range(column)
    return right
