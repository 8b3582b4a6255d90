"""What every generator has in common: settings, a missing schema, cards, files, progress."""

from __future__ import annotations

import inspect
import warnings
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from card_models import edited
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from tables import JOBS, QUICK, fitted, jobs, whole_numbers

from copula_shirley import (
    ArtefactError,
    Generator,
    PrivacyWarning,
    PrivateVine,
    Schema,
    SettingError,
    load,
    synthesize,
)
from copula_shirley.generator import find_generator, generators


def test_an_old_name_is_taken_and_told() -> None:
    with pytest.warns(DeprecationWarning, match="tilt is now called reweight"):
        model = PrivateVine(2.0, tilt=False)  # type: ignore[call-arg]
    assert model.get_params()["reweight"] is False
    with pytest.warns(DeprecationWarning, match="tilt is now called reweight"):
        assert model.tilt is False
    with pytest.warns(DeprecationWarning, match="domain='private' is now called domain='measured'"):
        assert model.set_params(domain="private").domain == "measured"
    with pytest.warns(DeprecationWarning, match="failing is now failure_probability"):
        assert fitted("private-vine").ledger_.failing == 0
    with pytest.raises(AttributeError, match="no attribute 'slant'"):
        model.slant  # noqa: B018


def test_settings_follow_scikit_learn() -> None:
    model = PrivateVine(2.0, families=False, random_state=3)
    assert repr(model) == "PrivateVine(epsilon=2.0, families=False, random_state=3)"
    assert repr(clone(model)) == repr(model) and clone(model) is not model
    assert "reweight" in inspect.signature(PrivateVine).parameters
    with pytest.raises(SettingError, match="slant is no setting of PrivateVine; it has epsilon"):
        model.set_params(slant=1)
    with pytest.raises(NotFittedError):
        model.sample(3)


def test_a_saved_model_with_old_names_still_loads(tmp_path: Path) -> None:
    """Its card has the digest of its settings, so they are kept as they stand in the file."""
    model = PrivateVine(2.0, random_state=1).fit(jobs()[["age"]], whole_numbers(["age"], 99))
    model.save(tmp_path / "new.shirley")

    def older(header: dict[str, dict[str, object]], _: object) -> None:
        header["settings"]["tilt"] = header["settings"].pop("reweight")

    edited(tmp_path / "new.shirley", tmp_path / "old.shirley", older)
    old = load(tmp_path / "old.shirley")
    assert isinstance(old, PrivateVine) and old.reweight and old.settings_["tilt"] is True
    assert old.sample(9, random_state=0).equals(model.sample(9, random_state=0))


@pytest.mark.parametrize("name", sorted(generators()))
def test_without_a_schema_one_is_drafted_and_nothing_is_proved(name: str) -> None:
    kind = find_generator(name)
    with pytest.warns(PrivacyWarning, match="without a schema"):
        model = kind(**QUICK.get(name, {}), random_state=1).fit(jobs())
    drafted = fitted(name, schema=Schema.draft(jobs()), random_state=1)
    assert model.schema_ == drafted.schema_ and model.ledger_.proved is None
    assert model.ledger_.unprotected == drafted.ledger_.unprotected


def test_a_model_in_a_notebook_and_out_of_a_file(tmp_path: Path) -> None:
    model = fitted("dp-histogram", random_state=1)
    assert "DPHistogram(" in PrivateVine()._repr_html_() + model._repr_html_()
    assert "<iframe" in model._repr_html_() and "<table" in model.ledger_._repr_html_()
    assert "<table" in model.schema_._repr_html_() and "<html" in model.card().to_html()
    page = PrivateVine().plan(model.schema_, 500)._repr_html_()
    assert "<table" in page and "The fit takes about" in page
    model.save(tmp_path / "m.shirley")
    for kind in (Generator, type(model)):
        assert kind.load(tmp_path / "m.shirley").card() == model.card()
    with pytest.raises(ArtefactError, match="the model is a dp-histogram, not a private-vine"):
        PrivateVine.load(tmp_path / "m.shirley")


def test_a_sample_is_its_chunks_and_tells_its_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("copula_shirley.fitted.CHUNK", 40)
    told: list[tuple[str, float]] = []
    model = fitted("uniform")
    whole = model.sample(100, random_state=1, progress=lambda *step: told.append(step))
    assert told == [("40 of 100 rows", 0.4), ("80 of 100 rows", 0.8), ("100 of 100 rows", 1.0)]
    chunks = list(model.sample_chunks(100, random_state=1))
    assert [len(chunk) for chunk in chunks] == [40, 40, 20]
    pd.testing.assert_frame_equal(pd.concat(chunks, ignore_index=True), whole)


def test_a_table_in_one_line() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(synthesize(jobs(), JOBS, epsilon=9)) == list(JOBS.names)
    with pytest.raises(SettingError, match="nothing would be proved"):
        synthesize(jobs())


@pytest.mark.parametrize(
    ("schema", "settings", "said"),
    [
        (JOBS, {"random_state": 0, "epsilon": 9}, "who knows the seed can take the noise away"),
        (JOBS, {"accounting": "thesis", "model": "dp-histogram"}, "alone cost epsilon 3"),
        (None, {"model": "uniform", "accept_unproved": True}, "drafted from the data"),
    ],
)
def test_a_table_that_leaves_without_its_card_warns_once(
    schema: Schema | None, settings: dict[str, Any], said: str
) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert len(synthesize(jobs(), schema, rows=3, **settings)) == 3
    assert [w.category for w in caught] == [PrivacyWarning] and said in str(caught[0].message)
