"""Least squares from noisy sums of products: coefficients, and what the noise does to them.

The sums are measured once (``copula_shirley.measure.products``); all else is made of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd

from copula_shirley.drafted import advice, uses_of_drafts
from copula_shirley.errors import SchemaError, SettingError
from copula_shirley.fitted import RandomState, generator_of
from copula_shirley.measure.curator import Curator
from copula_shirley.measure.products import STEPS, Products, matrix_of
from copula_shirley.measure.queries import Numbers
from copula_shirley.privacy.ledger import Budget, Ledger
from copula_shirley.privacy.noise import SecureNoise, SeededNoise
from copula_shirley.rows.memory import MemoryRows
from copula_shirley.schema.domain import FloatArray
from copula_shirley.schema.frames import as_frame
from copula_shirley.schema.schema import Column, Schema, check_schema
from copula_shirley.settings import check_one_of

#: Columns of a regression, the one that is explained among them.
MOST_COLUMNS = 10
EXACT = (
    "these sums are exact: whoever knows all rows but one has that row, and of m holders who add "
    "up their sums any m - 1 together have those of the last one"
)
DROWNED = (
    "the noise is as large as what the columns tell of each other: coefficients mean nothing; "
    "spend more epsilon, or name fewer columns"
)


@dataclass(frozen=True, eq=False)
class Regression:
    """A linear model of one column by others, from sums alone.

    ``coefficients`` has a line for each term: its coefficient in the units of the columns, the
    standard error that comes of the noise, and the one of sampling (NaN where the sums are too
    noisy to tell). ``rows`` is the noisy number of rows without missing values, ``spread`` the
    standard deviation of the residuals, ``sums`` the matrix of sums in parts of each column's range
    and ``sigma`` the standard deviation of the noise on each of them.
    """

    on: str
    coefficients: pd.DataFrame
    rows: float
    spread: float
    sums: pd.DataFrame
    sigma: float
    ledger: Ledger
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """All of it as plain lists and mappings; what is not known is None."""
        frame = self.coefficients.astype(object).where(self.coefficients.notna(), None)
        return {
            "on": self.on,
            "coefficients": frame.to_dict("records"),
            "rows": self.rows,
            "spread": None if np.isnan(self.spread) else self.spread,
            "sums": self.sums.to_dict("split"),
            "sigma": self.sigma,
            "notes": list(self.notes),
            "ledger": self.ledger.to_dict(),
        }


def regression(
    table: pd.DataFrame,
    schema: Schema,
    columns: Sequence[str],
    on: str,
    *,
    epsilon: float | None = 1.0,
    delta: float = 1e-9,
    on_unknown: Literal["refuse", "clip"] = "refuse",
    random_state: RandomState = None,
) -> Regression:
    """Explain a column by others with least squares, from one noisy vector of sums.

    Parameters
    ----------
    columns : names
        Numbers, dates, or columns of two categories, of which the second counts as 1; with the
        explained one at most ten. Rows in which one of them is missing are left out.
    on : name
        The column that is explained.
    epsilon, delta
        The budget, all of which is spent; add-remove neighbours. With epsilon None the sums are
        exact, and nothing is proved about privacy.
    random_state
        For experiments: the noise can then be drawn again.

    Examples
    --------
    >>> x = np.arange(1000) % 10
    >>> schema = Schema((Column("x", "integer", minimum=0, maximum=9),
    ...                  Column("y", "integer", minimum=0, maximum=30)))
    >>> found = regression(pd.DataFrame({"x": x, "y": 3 * x + 2}), schema, ["x"], "y", epsilon=None)
    >>> found.coefficients[["term", "coefficient"]].round(4).to_dict("list")
    {'term': ['constant', 'x'], 'coefficient': [2.0, 3.0]}
    """
    part = chosen(schema, columns, on)
    budget = None if epsilon is None else Budget(epsilon, delta)
    ledger = Ledger.of(part, budget, "add-remove", gaussian=True)
    ledger.domains = {column.name: column.provenance for column in part}
    for what, reason in uses_of_drafts(part, ()):
        ledger.record_unprotected("domain", what, reason)
    source = None
    if budget is not None:
        exact = random_state is None
        source = SecureNoise() if exact else SeededNoise(generator_of(random_state))
    found = schema.validate(as_frame(table), on_unknown=on_unknown, names=part.names)
    ranges = {column.name: column.domain.number_range for column in part}
    products = Products(ranges, ledger.rows_per_unit)
    curator = Curator(MemoryRows.of(found, part), ledger, source)
    question = Numbers("sums", [products], 1.0, what=f"{products.size} sums of products")
    answer = curator.answer(question)
    noisy = np.concatenate(answer.values)
    return _solved(part, on, noisy / STEPS, answer.sigma / STEPS, ledger)


def unproved(schema: Schema, columns: Sequence[str], on: str, epsilon: float | None) -> list[str]:
    """Why nothing would be proved of a regression; empty if something would."""
    found = ["epsilon off draws no noise"] if epsilon is None else []
    return found + advice(chosen(schema, columns, on), ())


def chosen(schema: Schema, columns: Sequence[str], on: str) -> Schema:
    """The schema of the columns of a regression, the explained one last, or one error."""
    check_schema(schema)
    if isinstance(columns, str) or not 0 < len(columns) < MOST_COLUMNS:
        raise SettingError(
            f"columns ({columns!r}) must name 1 to {MOST_COLUMNS - 1} columns beside 'on'"
        )
    names = [*columns, on]
    for role, name in zip([*["columns"] * len(columns), "on"], names, strict=True):
        check_one_of(role, name, list(schema.names))
        if names.count(name) > 1:
            raise SettingError(f"{role} ({name!r}) must name each column once")
        _check_column(schema[name])
    parts = tuple(schema[name] for name in names)
    return replace(schema, columns=parts, rules=(), left_out=())


def _check_column(column: Column) -> None:
    """Refuse a column that has no range of numbers."""
    if column.is_listed and len(column.domain.categories) != 2:
        many = f"{len(column.domain.categories):,} categories"
        raise SchemaError(
            f"column {column.name!r} ({many}) must be a number, a date, or have two categories"
        )
    if not column.is_listed and column.minimum is None:
        raise SchemaError(
            f"column {column.name!r}: its bounds must be declared (minimum, maximum) for sums"
        )
    low, high = column.domain.number_range
    if not low < high:
        raise SchemaError(f"column {column.name!r} must have two values or more for sums")


def _solved(schema: Schema, on: str, sums: FloatArray, sigma: float, ledger: Ledger) -> Regression:
    """Coefficients of noisy sums.

    With the noise N of the sums b = A^-1 c moves by A^-1 (n_c - N_A b), to first order. Every sum
    has noise of its own with variance sigma^2, those of the matrix A stand in it twice, so n_c -
    N_A b has the covariance sigma^2 (I + |b|^2 I + b b' - diag(b^2)).
    """
    names = [column.name for column in schema]
    size, matrix = len(names) + 1, matrix_of(sums)
    left, right = matrix[:-1, :-1], matrix[:-1, -1]
    notes = [EXACT] if ledger.budget is None else []
    scaled, *_ = np.linalg.lstsq(left, right, rcond=None)
    inverse = np.linalg.pinv(left)
    moved = (1 + scaled @ scaled) * np.eye(size - 1) + np.outer(scaled, scaled)
    noise = sigma**2 * inverse @ (moved - np.diag(scaled**2)) @ inverse
    residual = (matrix[-1, -1] - right @ scaled) / max(matrix[0, 0] - size + 1, 1)
    sampling = residual * inverse
    # eigenvalues of a symmetric matrix of noise reach up to 2 sigma sqrt(size)
    if sigma and np.linalg.eigvalsh(left)[0] <= 2 * sigma * np.sqrt(size - 1):
        notes.append(DROWNED)
        noise[:] = sampling[:] = np.nan
    units, start = _units(schema)
    low, high = schema[on].domain.number_range
    errors = [
        np.sqrt(np.diag(units @ each @ units.T)) if np.diag(each).min() >= 0 else np.nan
        for each in (noise, sampling)
    ]
    coefficients = pd.DataFrame(
        {
            "term": ["constant", *map(_term, list(schema)[:-1])],
            "coefficient": units @ scaled + start,
            "noise_error": errors[0],
            "sampling_error": errors[1],
        }
    )
    labels = ["rows", *names]
    return Regression(
        on,
        coefficients,
        float(matrix[0, 0]),
        float(np.sqrt(residual) * (high - low)) if residual >= 0 else float("nan"),
        pd.DataFrame(matrix, labels, labels),
        sigma,
        ledger,
        tuple(notes),
    )


def _units(schema: Schema) -> tuple[FloatArray, FloatArray]:
    """The matrix and the vector that bring coefficients of shares of ranges into units."""
    ranges = [column.domain.number_range for column in schema]
    *given, (low, high) = ranges
    units = np.diag([high - low, *((high - low) / (last - first) for first, last in given)])
    units[0, 1:] = [-first * units[i, i] for i, (first, _) in enumerate(given, 1)]
    return units, np.array([low, *np.zeros(len(given))])


def _term(column: Column) -> str:
    """The name of a column's coefficient; of two categories the second counts as 1."""
    if column.is_listed:
        return f"{column.name} = {column.domain.categories[1]}"
    return column.name
