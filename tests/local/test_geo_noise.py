from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from copula_shirley import Column, Schema
from copula_shirley.errors import ReportError
from copula_shirley.local.coins import ONE
from copula_shirley.local.generator import LocalVine
from copula_shirley.local.oracles import Coins
from copula_shirley.local.places import GeoChannel

#: Four by four cells of about 5 km.
HOME = Column("home", "place", minimum="0, 0", maximum="0.18, 0.18", resolution="5.1km")


@pytest.mark.parametrize("per_km", [0.01, 0.3, 1.0])
def test_both_promises_hold_for_every_report_and_pair_of_cells(per_km: float) -> None:
    channel = GeoChannel.of(HOME, per_km)
    chances, distances = channel.chances, channel.distances
    assert chances.shape == (16, 16) and np.all(chances.sum(axis=0) == ONE)
    promised = channel.epsilon_per_km
    assert promised <= per_km
    worst = Fraction(0)
    for report in range(16):
        for a in range(16):
            for b in range(16):
                ratio = Fraction(int(chances[report, a]), int(chances[report, b]))
                worst = max(worst, ratio)
                assert math.log(ratio) <= promised * distances[a, b] + 1e-15
    assert 0.999 * math.exp(channel.epsilon) < worst <= math.exp(channel.epsilon)


def test_logarithms_of_chances_that_nearly_agree_are_rounded_up() -> None:
    less, distances = 3 * 2**29, np.array([[0.0, 1.0], [1.0, 0.0]])
    for k in range(1, 60):
        chances = np.array([[less + k, less - k], [less - k, less + k]])
        exact = (Decimal(less + k) / Decimal(less - k)).ln()
        assert GeoChannel(chances, distances).epsilon_per_km >= exact


def test_distances_are_kilometres() -> None:
    channel = GeoChannel.of(HOME, 0.3)
    # .18 degrees are 20.04 km, in four cells: 5.01 km to the next, 15.03 to the last one
    assert channel.distances[0, 1] == pytest.approx(5.01, abs=0.01)
    assert channel.distances[0, 12] == pytest.approx(15.03, abs=0.02)
    assert channel.distances[0, 5] == pytest.approx(5.01 * math.sqrt(2), abs=0.01)


def test_reports_are_drawn_with_these_chances_and_the_map_comes_back() -> None:
    channel, rng = GeoChannel.of(HOME, 0.6), np.random.default_rng(0)
    said = np.bincount([channel.draw(5) for _ in range(3000)], minlength=16)
    expected = 3000 * channel.chances[:, 5] / ONE
    assert ((said - expected) ** 2 / expected).sum() < 70  # 15 degrees of freedom
    true = np.array([0.5, 0.0, 0.0, 0.1] + [0.0] * 8 + [0.0, 0.0, 0.3, 0.1])
    tally = channel.simulated(rng.choice(16, 100_000, p=true), Coins(rng))
    assert tally.sum() == 100_000
    off = 0.5 * np.abs(channel.decoded(tally) - true).sum()
    assert off < 0.1 < 0.5 * np.abs(tally / 100_000 - true).sum()


def test_both_epsilons_are_said() -> None:
    channel = GeoChannel.of(HOME, 0.3)
    geo, local = channel.words
    assert f"epsilon {channel.epsilon_per_km:.3g} for each km" in geo
    assert f"epsilon {channel.epsilon:.3g} between any two places" in local
    schema = Schema((HOME, Column("rich", "boolean")))
    rng = np.random.default_rng(0)
    cells = HOME.domain.from_numbers(rng.integers(0, 16, 2000).astype(float))
    table = cells.to_frame("home").assign(rich=rng.random(2000) < 0.5)
    words = LocalVine(4.0, random_state=0).fit(table, schema).card()["trust"]["words"]
    # epsilon 4 between neighbours 5.01 km apart
    assert "Place 'home'" in words[-1] and "0.798 for each km" in words[-1]


@pytest.mark.parametrize(
    ("column", "per_km", "words"),
    [
        (Column("age", "integer", minimum=0, maximum=9), 1.0, "must be of kind place"),
        (HOME, 0.0, r"epsilon_per_km \(0.0\) must be a positive number"),
        (HOME, 1e-11, "too small for this grid"),
        (
            Column("h", "place", minimum="0, 0", maximum="1, 1", resolution="1km"),
            1.0,
            "1,024 cells",
        ),
    ],
)
def test_what_cannot_be_is_refused(column: Column, per_km: float, words: str) -> None:
    with pytest.raises(ReportError, match=words):
        GeoChannel.of(column, per_km)
