from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import chain, combinations
from typing import Any

import numpy as np
import opendp.prelude as dp
import pytest

from copula_shirley.errors import ReportError
from copula_shirley.local.coins import (
    ONE,
    Hadamard,
    Randomiser,
    Unary,
    Wave,
    described,
    epsilon_of,
    randomiser_of,
)


def outputs(one: Randomiser) -> list[Any]:
    """Everything that a randomiser can say."""
    match one:
        case Wave():
            return list(range(one.outputs))
        case Hadamard():
            return [[row, sign] for row in range(2**one.bits) for sign in (0, 1)]
    cells = range(one.cells)
    return [list(c) for c in chain(*(combinations(cells, r) for r in range(one.cells + 1)))]


EVERY = [
    *(
        Wave.of(cells, eps, half)
        for cells in (2, 5, 9)
        for eps in (0.1, 1.0, 4.0)
        for half in (0, 1, 3)
    ),
    *(Unary.of(cells, eps) for cells in (2, 5) for eps in (0.1, 1.0, 4.0)),
    *(Hadamard.of(cells, eps) for cells in (2, 3, 8) for eps in (0.1, 1.0, 4.0)),
]


@pytest.mark.parametrize("one", EVERY, ids=str)
def test_no_report_is_more_than_e_to_the_epsilon_likelier_for_another_record(
    one: Randomiser,
) -> None:
    chances = [[one.probability(report, c) for c in range(one.cells)] for report in outputs(one)]
    assert all(sum(column) == 1 for column in zip(*chances, strict=True))
    worst = max(max(line) / min(line) for line in chances)
    assert worst == one.ratio  # tight, and of whole numbers
    assert float(worst) <= math.exp(one.epsilon)


@pytest.mark.parametrize("one", EVERY, ids=str)
def test_a_report_speaks_for_a_cell_with_the_stated_chances(one: Randomiser) -> None:
    if isinstance(one, Wave) and one.half:
        return
    supports = {Wave: lambda r, c: r == c, Unary: lambda r, c: c in r}
    speaks = supports.get(type(one), lambda r, c: r[1] == Hadamard.sign(r[0], c))
    for cell, other in ((0, 1), (one.cells - 1, 0)):
        found = [
            sum(one.probability(r, cell) for r in outputs(one) if speaks(r, about))
            for about in (cell, other)
        ]
        assert found == [one.true, one.other]


@pytest.mark.parametrize(
    "one", [Wave.of(4, 1.0), Wave.of(4, 1.0, 1), Unary.of(3, 1.0), Hadamard.of(3, 1.0)], ids=str
)
def test_reports_are_drawn_with_these_chances(one: Randomiser) -> None:
    cell, n = 2, 4000
    seen = Counter(str(one.draw(cell)) for _ in range(n))
    assert set(seen) <= {str(report) for report in outputs(one)}
    squares = sum(
        (seen[str(report)] - n * p) ** 2 / (n * p)
        for report in outputs(one)
        for p in [float(one.probability(report, cell))]
    )
    # the secure coins have no seed: a true one fails once in 1e9
    assert squares < len(outputs(one)) + 9 * math.sqrt(2 * len(outputs(one))) + 40


@pytest.mark.parametrize("epsilon", [0.001, 0.05, 1.0, 5.5, 16.0])
@pytest.mark.parametrize("cells", [2, 100, 5000])
def test_epsilon_is_nearly_spent_and_never_exceeded(cells: int, epsilon: float) -> None:
    for one in (
        Wave.of(cells, epsilon),
        Wave.of(cells, epsilon, cells // 4),
        Unary.of(cells, epsilon),
        Hadamard.of(cells, epsilon),
    ):
        assert 0.99 * epsilon < one.epsilon <= epsilon


def test_the_logarithm_is_rounded_up() -> None:
    for ratio in (Fraction(3), Fraction(10**9, 7), Fraction(ONE - 1, ONE), Fraction(2719, 1000)):
        found = epsilon_of(ratio)
        assert Fraction(np.nextafter(math.exp(found), 0)).limit_denominator(10**15) >= ratio or (
            found > math.log(ratio)
        )


def test_opendp_charges_the_same_for_randomised_response() -> None:
    dp.enable_features("contrib")
    for cells, epsilon in ((2, 1.0), (3, 0.5), (7, 2.0)):
        one = Wave.of(cells, epsilon)
        theirs = dp.m.make_randomized_response(list(range(cells)), prob=float(one.true))
        assert theirs.map(1) == pytest.approx(one.epsilon, rel=1e-9)
    sign = Hadamard.of(8, 1.0)
    assert dp.m.make_randomized_response_bool(prob=float(sign.true)).map(1) == pytest.approx(
        sign.epsilon
    )


def test_a_randomiser_goes_through_a_file() -> None:
    for one in EVERY:
        assert randomiser_of(described(one)) == one
    with pytest.raises(ReportError, match="wave, unary, hadamard"):
        randomiser_of({"randomiser": "none"})
    with pytest.raises(ReportError, match=r"chance .4294967296. must be a whole number from 1"):
        randomiser_of({"randomiser": "unary", "cells": 3, "chance": ONE})
    with pytest.raises(ReportError, match="other entries: cells"):
        randomiser_of({"randomiser": "hadamard", "cells": 3})


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Wave.of(1, 1.0), r"cells \(1\) must be a whole number from 2"),
        (lambda: Unary.of(3, 0.0), r"epsilon \(0.0\) of one report must be from 0.001 to 16"),
        (lambda: Hadamard.of(3, float("nan")), r"epsilon \(nan\)"),
        (lambda: Wave.of(3, True), r"epsilon \(True\)"),
        (lambda: Wave.of(3, 1.0).check(3), r"report \(3\) must be a whole number from 0 to 2"),
        (lambda: Unary.of(3, 1.0).check([1, 1]), "different cells from 0 to 2 in order"),
        (lambda: Unary.of(3, 1.0).check([-1]), "different cells"),
        (lambda: Hadamard.of(3, 1.0).check([4, 0]), r"row \(4\)"),
        (lambda: Hadamard.of(3, 1.0).check(5), "a row and a sign"),
    ],
)
def test_what_cannot_be_is_refused(make: Any, words: str) -> None:
    with pytest.raises(ReportError, match=words):
        make()
