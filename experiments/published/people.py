"""Made people and functions that put them into two classes (Agrawal, Imielinski, Swami 1993)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from copula_shirley.schema.domain import FloatArray

#: Attributes that the five functions look at, and two that they do not, with their bounds.
BOUNDS = {
    "salary": (20e3, 150e3),
    "commission": (0.0, 75e3),
    "age": (20.0, 80.0),
    "education": (0.0, 4.0),
    "loan": (0.0, 5e5),
    "house": (0.0, 1.5e6),
}
FUNCTIONS = ("F1", "F2", "F3", "F4", "F5")
People = Mapping[str, FloatArray]
K = 1e3


def made_people(n: int, rng: np.random.Generator) -> People:
    salary, place = rng.uniform(20 * K, 150 * K, n), rng.integers(0, 9, n)
    return {
        "salary": salary,
        "commission": np.where(salary >= 75 * K, 0.0, rng.uniform(10 * K, 75 * K, n)),
        "age": rng.uniform(20, 80, n),
        "education": rng.integers(0, 5, n).astype(float),
        "loan": rng.uniform(0, 500 * K, n),
        "house": rng.uniform(0.5, 1.5, n) * (9 - place) * 100 * K,
    }


def group_a(people: People, function: str) -> NDArray[np.bool_]:
    """Who is in group A. The functions, but for F1, have a band for each of three ages."""
    age, salary, education, loan = (people[x] for x in ("age", "salary", "education", "loan"))
    if function == "F1":
        return (age < 40) | (age >= 60)

    def within(values: FloatArray, low: float, high: float) -> NDArray[np.bool_]:
        return (low <= values) & (values <= high)

    def salary_in(low: float, high: float) -> NDArray[np.bool_]:
        return within(salary, low * K, high * K)

    def loan_in(low: float, high: float) -> NDArray[np.bool_]:
        return within(loan, low * K, high * K)

    def either(condition: Any, then: Any, otherwise: Any) -> NDArray[np.bool_]:
        return np.asarray(np.where(condition, then, otherwise), dtype=bool)

    schooled = within(education, 0, 1), within(education, 1, 3), within(education, 2, 4)
    paid = salary_in(50, 100), salary_in(75, 125), salary_in(25, 75)
    bands = {
        "F2": paid,
        "F3": schooled,
        "F4": (
            either(schooled[0], salary_in(25, 75), salary_in(50, 100)),
            either(schooled[1], salary_in(50, 100), salary_in(75, 125)),
            either(schooled[2], salary_in(50, 100), salary_in(25, 75)),
        ),
        "F5": (
            either(paid[0], loan_in(100, 300), loan_in(200, 400)),
            either(paid[1], loan_in(200, 400), loan_in(300, 500)),
            either(paid[2], loan_in(300, 500), loan_in(100, 300)),
        ),
    }
    young, middle, old = bands[function]
    return either(age < 40, young, either(age < 60, middle, old))
