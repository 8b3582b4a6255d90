from __future__ import annotations

import warnings
from typing import get_args

import category_encoders as ce
import msgspec
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from copula_shirley import Column, SettingError
from copula_shirley.thesis.encoders import (
    Codes,
    Coding,
    EncoderName,
    Identity,
    OneHot,
    check_encoder,
    fit_codings,
)

COLOUR = Column(
    "colour", "categorical", categories=("blue", "red", "yellow", "green"), missing=True
)
TARGET = Column("target", "integer", minimum=0, maximum=1)
SCORE = Column("target", "continuous", minimum=0, maximum=100)
THREE = Column("target", "categorical", categories=("p", "q", "r"))
WIDE = Column("wide", "categorical", categories=tuple(f"c{i}" for i in range(600)))
# thesis table 4.2: blue is always 1, yellow never, red half of the time; green never occurs
BLUE, RED, YELLOW, GREEN = 0.0, 1.0, 2.0, 3.0
ALL = np.array([BLUE, RED, YELLOW, GREEN, -np.inf])
ROWS = {
    "colour": np.array([BLUE, RED, YELLOW, RED, YELLOW, BLUE]),
    "target": np.array([1.0, 1.0, 0.0, 0.0, 0.0, 1.0]),
}


def coding(encoder: str, rows: dict[str, np.ndarray] = ROWS, target: Column = TARGET) -> Coding:
    return fit_codings(encoder, (COLOUR, target), "target", rows)["colour"]


def codes(encoder: str, rows: dict[str, np.ndarray] = ROWS, target: Column = TARGET) -> np.ndarray:
    return coding(encoder, rows, target).encode(ALL)[:, 0]


def test_ordinal_is_alphabetical_with_missing_values_first() -> None:
    # blue 1, green 2, red 3, yellow 4 (thesis table 4.1), missing 0
    assert codes("ordinal").tolist() == [1, 3, 4, 2, 0]


def test_one_hot_by_hand() -> None:
    encoded = coding("onehot").encode(np.array([RED, -np.inf]))
    assert encoded.tolist() == [[0, 1, 0, 0, 0], [0, 0, 0, 0, 1]]
    margins = OneHot(3).margins(np.array([0.0, 2.0]), np.array([0.25, 0.75]))
    assert [m.mass.tolist() for m in margins] == [[0.75, 0.25], [1.0, 0.0], [0.25, 0.75]]
    # the last dummy wins, and without one it is not decided
    decoded = OneHot(3).decode(np.array([[1, 1, 0], [0, 0, 0], [0, 0, 1.0]]))
    assert decoded.tolist() == pytest.approx([1, np.nan, 2], nan_ok=True)


def test_weight_of_evidence_by_hand() -> None:
    """log(((pos + 1) / (P + 2)) / ((neg + 1) / (N + 2))) with P = N = 3."""
    # red, and the categories that the rows do not show, all have code 0
    assert codes("woe") == pytest.approx([np.log(3), 0, -np.log(3), 0, 0])


def test_codes_of_glmm_are_repeatable_and_zero_for_categories_not_seen() -> None:
    found = codes("glmm")
    assert found[3:] == pytest.approx([0, 0]) and found.tolist() == codes("glmm").tolist()


def test_glmm_on_a_numeric_target() -> None:
    rows = {
        "colour": np.tile([BLUE, RED, YELLOW], 20),
        "target": np.tile([90.0, 50.0, 10.0], 20) + np.linspace(-1, 1, 60),
    }
    # random effects around the mean 50, hardly shrunk: 20 rows each and little noise
    assert codes("glmm", rows, SCORE)[:3] == pytest.approx([40, 0, -40], abs=1)
    # without any effect categories are still told apart
    rows = {"colour": np.tile([BLUE, RED], 30), "target": np.repeat([0.0, 1.0], 30)}
    assert len(set(codes("glmm", rows, SCORE))) == 5


def test_glmm_is_the_model_of_category_encoders() -> None:
    rng = np.random.default_rng(0)
    colour = rng.integers(0, 4, 400).astype(float)
    target = (rng.random(400) < 0.3 + 0.15 * colour).astype(float)
    ours = coding("glmm", {"colour": colour, "target": target})
    labels = pd.DataFrame({"category": colour.astype(int).astype(str)}, dtype=object)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        encoder = ce.GLMMEncoder(cols=["category"], binomial_target=True)
        theirs = encoder.fit(labels, pd.Series(target)).transform(labels)["category"]
    # both stop where the optimiser sees no more gain
    assert ours.encode(colour)[:, 0] == pytest.approx(theirs.to_numpy(), abs=2e-3)


@pytest.mark.parametrize("encoder", get_args(EncoderName))
def test_decode_after_encode_is_the_identity(encoder: str) -> None:
    fitted = coding(encoder)
    restored: Coding = msgspec.convert(msgspec.to_builtins(fitted), Coding)
    assert restored == fitted
    assert restored.decode(fitted.encode(ALL)).tolist() == ALL.tolist()


@given(
    st.lists(st.sampled_from([-1.0, 0.0, 0.5, 1e300, 1e-300]), min_size=1, max_size=30),
    st.booleans(),
)
def test_shared_codes_decode_exactly(shared: list[float], missing: bool) -> None:
    """The thesis' decoder lost all but the last of the categories that share a code."""
    fitted = Codes(shared, missing)
    numbers = np.arange(len(shared), dtype=float)
    if missing:
        numbers[-1] = -np.inf
    assert fitted.decode(fitted.encode(numbers)).tolist() == numbers.tolist()
    assert fitted.codes == pytest.approx(shared)


def test_a_shared_code_is_split_by_the_noisy_shares() -> None:
    fitted = Codes([0.0, 5.0, 0.0])
    (margin,) = fitted.margins(np.array([0.0, 1.0, 2.0]), np.array([0.2, 0.5, 0.3]))
    u = (np.arange(1000) + 0.5) / 1000
    numbers = fitted.decode(margin.quantile(u)[:, None])
    assert [np.mean(numbers == k) for k in range(3)] == pytest.approx([0.2, 0.5, 0.3])


def test_only_nominal_columns_are_encoded() -> None:
    columns = (
        Column("grade", "categorical", categories=("low", "high"), ordered=True),
        Column("yes", "boolean"),
        Column("age", "integer", minimum=0, maximum=9),
    )
    for encoder in get_args(EncoderName):
        codings = fit_codings(encoder, columns, "yes", {c.name: np.arange(2.0) for c in columns})
        assert all(codings[c.name] == Identity() for c in columns)
    check_encoder("woe", None, columns)  # no target is needed


@pytest.mark.parametrize(
    ("encoder", "target", "other", "words"),
    [
        ("woe", None, TARGET, r"target \(None\)"),
        ("glmm", None, TARGET, r"target \(None\)"),
        ("woe", "size", TARGET, r"target \('size'\)"),
        ("woe", "target", Column("target", "integer", minimum=0, maximum=9), "exactly two"),
        ("woe", "target", SCORE, "exactly two .* with more than two values$"),
        ("onehot", None, WIDE, "'wide' alone has 600 categories"),
        ("woe", "colour", Column("b", "categorical", categories=("p",)), "missing"),
        ("glmm", "target", THREE, "binary, ordered or numeric .* 3 values"),
    ],
)
def test_bad_settings_name_the_setting(
    encoder: str, target: str | None, other: Column, words: str
) -> None:
    with pytest.raises(SettingError, match=words):
        check_encoder(encoder, target, (COLOUR, other))


def test_a_target_of_one_class_is_refused_without_its_value() -> None:
    with pytest.raises(SettingError, match="at least two values"):
        coding("woe", {**ROWS, "target": np.ones(6)})
