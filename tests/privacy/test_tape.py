"""Recorded and replayed noise: what is noted and given back, and that it is never a release."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from copula_shirley import Budget, BudgetError, Column, Ledger, PrivateVine, Schema, load
from copula_shirley.privacy.ledger import Sensitivity
from copula_shirley.privacy.mechanisms import DiffprivlibNoise, NumpyNoise
from copula_shirley.privacy.noise import SecureNoise, SeededNoise
from copula_shirley.privacy.recording import (
    STAMP,
    Charge,
    ReplayError,
    Request,
    recording,
    replaying,
    running,
)

ONE = Sensitivity(2.0, 2**0.5)
COUNTS, OTHERS = np.array([3, 5, 8]), np.array([4, 4, 0])


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def add(noise: NumpyNoise | DiffprivlibNoise, counts: np.ndarray, mechanism: str) -> np.ndarray:
    cost = {"epsilon": 0.5, "delta": 1e-3}
    return noise.add(counts, mechanism=mechanism, sensitivity=ONE, **cost)


SOURCES = [
    SecureNoise,
    lambda: SeededNoise(rng()),
]


@pytest.mark.parametrize("source", SOURCES)
def test_every_answer_of_release_noise_is_recorded_and_given_back(source: object) -> None:
    def draws(counts: np.ndarray) -> list[object]:
        noise = source()  # type: ignore[operator]
        answers = [noise.gaussian(counts, 7.0), noise.laplace(counts, 9.0)]
        return [*(a.tolist() for a in answers), noise.choose(counts.astype(float), 2.0)]

    with recording() as tape:
        first = draws(COUNTS)
    kinds = [(r.kind, r.shape, r.scale) for r in tape.requests]
    assert kinds == [("gaussian", (3,), 7.0), ("laplace", (3,), 9.0), ("choose", (3,), 2.0)]
    assert [r.true.tolist() for r in tape.requests] == [COUNTS.tolist()] * 3
    with replaying(tape) as again:
        assert draws(OTHERS) == first
    assert [r.true.tolist() for r in again.requests] == [OTHERS.tolist()] * 3
    assert again.departure is None and not running()


@pytest.mark.parametrize("mechanism", ["laplace", "geometric", "gaussian"])
@pytest.mark.parametrize(
    "source",
    [
        lambda: NumpyNoise(rng(), seeded=True),
        lambda: DiffprivlibNoise(rng()),
        lambda: DiffprivlibNoise(None),
    ],
)
def test_every_answer_of_other_noise_is_recorded_and_given_back(
    source: object, mechanism: str
) -> None:
    with recording() as tape:
        first = add(source(), COUNTS, mechanism)  # type: ignore[operator]
    (request,) = tape.requests
    if mechanism == "gaussian":  # more than the noise of a pure 0.5 at this delta would need
        assert request.kind == "gaussian" and 1 < request.scale < 20
    else:
        assert (request.kind, request.scale) == ("laplace", 4.0)
    with replaying(tape):
        assert np.array_equal(add(source(), OTHERS, mechanism), first)  # type: ignore[operator]


def test_the_scale_on_the_tape_is_that_of_the_noise() -> None:
    many = np.zeros(40_000, dtype=np.int64)
    for source in (NumpyNoise(rng(), seeded=True),):
        for mechanism in ("laplace", "geometric", "gaussian"):
            with recording() as tape:
                noisy = add(source, many, mechanism)
            scale = tape.requests[0].scale
            if mechanism == "gaussian":
                wanted = scale
            else:  # geometric: 2 q / (1 - q)^2 with q = exp(-1/scale)
                q = np.exp(-1 / scale)
                wanted = np.sqrt(2) * (scale if mechanism == "laplace" else np.sqrt(q) / (1 - q))
            # six standard errors of a standard deviation; the kurtosis of Laplace noise is 6
            assert noisy.std() == pytest.approx(wanted, rel=6 * np.sqrt(5 / 4 / len(many)))


def test_a_choice_by_numpy_is_recorded_with_the_scale_of_its_chances() -> None:
    with recording() as tape:
        NumpyNoise(rng(), seeded=True).choose(COUNTS.astype(float), epsilon=0.5, sensitivity=3.0)
    assert tape.requests[0].kind == "choose" and tape.requests[0].scale == 12.0


def test_replayed_noise_leaves_the_stream_where_recorded_noise_left_it() -> None:
    after = []
    with recording() as tape:
        noise = SeededNoise(rng())
        noise.laplace(COUNTS, 3.0)
        after.append(noise.gaussian(COUNTS, 5.0).tolist())
    with replaying(tape):
        noise = SeededNoise(rng())
        noise.laplace(OTHERS, 3.0)
        after.append(noise.gaussian(OTHERS, 5.0).tolist())
    assert after[0] == after[1]
    assert noise._rng.random() == pytest.approx(_third_draw())


def _third_draw() -> float:
    generator = rng()
    noise = SeededNoise(generator)
    noise.laplace(COUNTS, 3.0)
    noise.gaussian(COUNTS, 5.0)
    return float(generator.random())


@pytest.mark.parametrize(
    ("counts", "scale", "text"),
    [
        (OTHERS[:2], 3.0, r"on \(2,\), it was laplace noise of scale 3 on \(3,\)"),
        (OTHERS, 3.5, "scale 3.5"),
    ],
)
def test_other_noise_than_recorded_is_a_departure(
    counts: np.ndarray, scale: float, text: str
) -> None:
    with recording() as tape:
        SeededNoise(rng()).laplace(COUNTS, 3.0)
    with replaying(tape) as again, pytest.raises(ReplayError, match=text):
        SeededNoise(rng()).laplace(counts, scale)
    assert again.departure is not None
    with replaying(tape):
        noise = SeededNoise(rng())
        noise.laplace(COUNTS, 3.0)
        with pytest.raises(ReplayError, match="more than 1 times"):
            noise.laplace(COUNTS, 3.0)


def test_tapes_do_not_nest_and_do_not_reach_other_threads() -> None:
    seen: list[bool] = []
    with recording():
        with pytest.raises(RuntimeError, match="running already"), recording():
            pass
        thread = threading.Thread(target=lambda: seen.append(running()))
        thread.start()
        thread.join()
        assert running()
    assert seen == [False] and not running()


def test_charges_stand_before_their_noise_and_can_be_refused() -> None:
    with recording() as tape:
        ledger = Ledger(Budget(1.0))
        ledger.charge("margins", "age", "laplace", 0.5)
        SeededNoise(rng()).laplace(COUNTS, 4.0)
    assert [type(event) for event in tape.events] == [Charge, Request]
    with recording(refused=1):
        ledger = Ledger(Budget(1.0))
        ledger.charge("margins", "age", "laplace", 0.1)
        with pytest.raises(BudgetError, match="margins of job: refused by a test"):
            ledger.charge("margins", "job", "laplace", 0.1)
        assert len(ledger.spends) == 1


def test_what_was_recorded_or_replayed_can_never_pass_for_a_release(tmp_path: Path) -> None:
    schema = Schema((Column("x", "integer", minimum=0, maximum=3),))
    table = pd.DataFrame({"x": [0, 1, 1, 3] * 9})
    with recording() as tape:
        first = PrivateVine(1.0, random_state=0).fit(table, schema)
    with replaying(tape):
        second = PrivateVine(1.0, random_state=0).fit(table[:5], schema)
    second.save(tmp_path / "model")
    for model in (first, second, load(tmp_path / "model")):
        ledger = model.ledger_
        assert ledger.replayed and ledger.proved is None
        assert ledger.randomness.startswith(STAMP) and ledger.randomness.count(STAMP) == 1
        summary = dict(ledger.summary())
        assert summary["proved"] == "nothing: the noise was recorded or replayed by a test"
        assert "never for release" in str(ledger)
    # a ledger that was opened before the tape ran is marked when it is charged
    early = Ledger(Budget(1.0))
    with recording():
        early.charge("margins", "age", "laplace", 0.5)
    assert early.replayed and Ledger.from_dict(early.to_dict()).proved is None
    plain = PrivateVine(1.0, random_state=0).fit(table, schema).ledger_
    assert not plain.replayed and plain.proved == plain.spent and STAMP not in plain.randomness


def test_noise_that_is_not_exact_says_so() -> None:
    for source in (NumpyNoise(rng(), seeded=False), DiffprivlibNoise(None)):
        assert not source.exact and not source.seeded
        assert "floating point: not for release" in source.label
    assert SecureNoise().exact and "not for release" not in SecureNoise().label
    assert SeededNoise(rng()).seeded and "not for release" in SeededNoise.label


def test_bought_categories_are_one_answer() -> None:
    """A category that only one table has changes no question and no draw of noise."""
    table = pd.DataFrame({"job": ["arts", "farm"] * 200})
    other = pd.DataFrame({"job": ["arts", "farm"] * 200 + ["diver"]})
    with recording() as tape:
        one = PrivateVine(8.0, 1e-3, domain="measured", random_state=0).fit(table)
    with replaying(tape) as again:
        two = PrivateVine(8.0, 1e-3, domain="measured", random_state=0).fit(other)
    assert again.departure is None and tape.requests[0].kind == "discovery"
    assert tape.questions == again.questions
    assert one.ledger_.to_dict() == two.ledger_.to_dict() and one.schema_ == two.schema_
    pd.testing.assert_frame_equal(*(m.sample(20, random_state=1) for m in (one, two)))
