"""Recorded and replayed noise: what is noted and given back, and that it is never a release."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from copula_shirley import (
    Budget,
    BudgetError,
    Column,
    CopulaShirley,
    Ledger,
    PrivateVine,
    Schema,
    load,
)
from copula_shirley.baselines import DPCopula, DPHistogram, PrivBayes
from copula_shirley.measure.recorded_fits import recorded, replayed
from copula_shirley.privacy.floating import DiffprivlibNoise
from copula_shirley.privacy.noise import Exactness, NoiseSource, SecureNoise, SeededNoise
from copula_shirley.privacy.recording import (
    Charge,
    Player,
    Recorder,
    Recording,
    ReplayError,
    Request,
)

COUNTS, OTHERS = np.array([3, 5, 8]), np.array([4, 4, 0])
TALLY = {("str", "a"): 9, ("str", "b"): 1, ("missing", None): 2}
SCHEMA = Schema(tuple(Column(name, "integer", minimum=0, maximum=3) for name in "xy"))
TABLE = pd.DataFrame({"x": [0, 1, 1, 3] * 9, "y": [0, 1, 2, 3] * 9})


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def seeded() -> SeededNoise:
    return SeededNoise(rng())


@pytest.mark.parametrize(
    "source", [SecureNoise, seeded, lambda: DiffprivlibNoise(rng(), geometric=True)]
)
def test_every_answer_is_recorded_and_given_back(source: Callable[[], NoiseSource]) -> None:
    able = source is not SecureNoise and not isinstance(source(), DiffprivlibNoise)

    def draws(noise: NoiseSource, counts: np.ndarray, tally: Any) -> list[object]:
        answers: list[Any] = [noise.gaussian(counts, 7.0), noise.laplace(counts, 9.0)]
        found = noise.discover([tally], 2.0, 4, gaussian=False)
        chosen = noise.choose(counts, 2.0) if able else 0
        return [*(a.tolist() for a in answers), chosen, [(v.tolist(), x) for v, x in found]]

    recording, again = Recording(), Recording()
    ledger = Ledger(Budget(1.0))
    first = draws(Recorder(source(), recording, ledger), COUNTS, TALLY)
    asked = [(r.kind, r.shape, r.scale, r.least) for r in recording.requests]
    assert asked[:2] == [("gaussian", (3,), 7.0, None), ("laplace", (3,), 9.0, None)]
    assert asked[2] == ("discover", 1, 2.0, 4)
    assert recording.requests[0].true.tolist() == COUNTS.tolist()
    # the categories of a tally are no part of the question
    other = {("str", "c"): 7, **TALLY}
    assert draws(Player(source(), again, ledger, recording), OTHERS, other) == first
    assert again.requests[0].true.tolist() == OTHERS.tolist() and again.departure is None
    ends = []  # a replay leaves the stream where the recording left it
    for wrapped in (Recorder, partial(Player, played=recording)):
        generator = rng()
        wrapped(SeededNoise(generator), Recording(), ledger).gaussian(COUNTS, 7.0)
        ends.append(generator.random())
    assert ends[0] == ends[1]


@pytest.mark.parametrize(
    ("counts", "scale", "text"),
    [
        (OTHERS[:2], 3.0, r"on \(2,\), it was laplace noise of scale 3 on \(3,\)"),
        (OTHERS, 3.5, "scale 3.5"),
        (COUNTS, 3.0, "more than 1 times"),
    ],
)
def test_other_noise_than_recorded_is_a_departure(
    counts: np.ndarray, scale: float, text: str
) -> None:
    recording, again, ledger = Recording(), Recording(), Ledger(Budget(1.0))
    Recorder(seeded(), recording, ledger).laplace(COUNTS, 3.0)
    player = Player(seeded(), again, ledger, recording)
    with pytest.raises(ReplayError, match=text):
        [player.laplace(counts, scale) for _ in range(2)]
    assert again.departure is not None


GENERATORS: list[tuple[type, dict[str, Any]]] = [
    (PrivateVine, {}),
    (DPHistogram, {}),
    (PrivBayes, {"degree": 1}),
    (DPCopula, {}),
    (DPCopula, {"variant": "mle", "margins": "efpa"}),
    (CopulaShirley, {"encoder": "ordinal", "families": ["gaussian"]}),
]


@pytest.mark.filterwarnings("ignore::copula_shirley.PrivacyWarning")
@pytest.mark.parametrize(("kind", "settings"), GENERATORS)
def test_every_generator_is_recorded_and_told_the_same(kind: Any, settings: Any) -> None:
    one, other = (kind(1.0, random_state=0, **settings) for _ in range(2))
    with recorded(one) as recording:
        one.fit(TABLE, SCHEMA)
    assert [charge.spend for charge in recording.charges] == list(one.ledger_.spends)
    kinds = [type(event) for event in recording.events if not isinstance(event, Charge | Request)]
    assert len(kinds) == len(recording.questions) == len(one.ledger_.spends)
    with replayed(other, recording) as again:
        other.fit(TABLE[::-1].reset_index(drop=True), SCHEMA)
    assert again.departure is None and recording.questions == again.questions
    for model in (one, other):
        assert model.ledger_.replayed and model.ledger_.proved is None
    assert one.ledger_.to_dict() == other.ledger_.to_dict()
    assert "curator_class" not in vars(one)


def test_charges_stand_before_their_noise_and_can_be_refused() -> None:
    model = DPHistogram(1.0, random_state=0)
    with recorded(model) as recording:
        model.fit(TABLE, SCHEMA)
    order = [type(event) for event in recording.events if isinstance(event, Charge | Request)]
    assert order == [Charge, Request] * 2
    with recorded(model, refused=1) as recording, pytest.raises(BudgetError, match="of y: refused"):
        model.fit(TABLE, SCHEMA)
    assert len(recording.charges) == len(recording.requests) == 1


def test_what_was_recorded_or_replayed_can_never_pass_for_a_release(tmp_path: Path) -> None:
    first, second = (PrivateVine(1.0, random_state=0) for _ in range(2))
    with recorded(first) as recording:
        first.fit(TABLE, SCHEMA)
    with replayed(second, recording):
        second.fit(TABLE[:5], SCHEMA)
    second.save(tmp_path / "model")
    for model in (first, second, load(tmp_path / "model")):
        ledger = model.ledger_
        assert ledger.replayed and ledger.proved is None
        summary = dict(ledger.summary())
        assert summary["proved"] == "nothing: the noise was recorded or replayed by a test"
        assert "never for release" in str(ledger)
    # nothing that is stated later takes the mark away
    first.ledger_.drawn_by(SecureNoise().facts)
    assert first.ledger_.noise.exactness is Exactness.REPLAYED
    plain = PrivateVine(1.0, random_state=0).fit(TABLE, SCHEMA).ledger_
    assert not plain.replayed and plain.proved == plain.spent


def test_measured_categories_are_one_answer() -> None:
    """A category that only one table has changes no question and no draw of noise."""
    table = pd.DataFrame({"job": ["arts", "farm"] * 200})
    other = pd.DataFrame({"job": ["arts", "farm"] * 200 + ["diver"]})
    one, two = (PrivateVine(8.0, 1e-3, domain="measured", random_state=0) for _ in range(2))
    with recorded(one) as recording:
        one.fit(table)
    with replayed(two, recording) as again:
        two.fit(other)
    assert again.departure is None and recording.requests[0].kind == "discover"
    assert recording.questions == again.questions
    assert one.ledger_.to_dict() == two.ledger_.to_dict() and one.schema_ == two.schema_
    pd.testing.assert_frame_equal(*(m.sample(20, random_state=1) for m in (one, two)))
