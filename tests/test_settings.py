"""Settings by scikit-learn's manners; old names are taken for one version."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest
from card_models import edited
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from tables import jobs, whole_numbers

from copula_shirley import PrivateVine, SettingError, load


def test_an_old_name_is_taken_and_told() -> None:
    with pytest.warns(DeprecationWarning, match="tilt is now called reweight"):
        model = PrivateVine(2.0, tilt=False)  # type: ignore[call-arg]
    assert model.get_params()["reweight"] is False
    with pytest.warns(DeprecationWarning, match="tilt is now called reweight"):
        assert model.tilt is False
    with pytest.warns(DeprecationWarning, match="domain='private' is now called domain='measured'"):
        assert model.set_params(domain="private").domain == "measured"
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
