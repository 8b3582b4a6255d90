from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from tables import whole_numbers

from copula_shirley import Column, Schema, SettingError
from copula_shirley.baselines import DPHistogram
from copula_shirley.evaluation import kolmogorov_smirnov
from copula_shirley.privacy.noise import MECHANISMS

SCHEMA = Schema(
    (
        *whole_numbers("xy"),
        Column("c", "categorical", categories=("p", "q")),
        *whole_numbers("z", 999),
    )
)
TABLE = pd.DataFrame(
    {"x": np.arange(200) % 7, "y": np.arange(200) % 3, "c": ["p", "q"] * 100, "z": np.arange(200)}
)
EXACT = {
    "x": np.bincount(TABLE["x"], minlength=10),
    "y": np.bincount(TABLE["y"], minlength=10),
    "z": np.bincount(TABLE["z"], minlength=1000),
    "c": np.array([100, 100]),
}


def noise_of(name: str, fits: int = 40, **settings: object) -> np.ndarray:
    models = (DPHistogram(random_state=s, **settings).fit(TABLE, SCHEMA) for s in range(fits))  # type: ignore[arg-type]
    return np.concatenate([m.released_[f"histogram {name}"] - EXACT[name] for m in models])


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
@pytest.mark.parametrize("mechanism", ["laplace", "geometric"])
def test_noise_is_what_the_ledger_implies(neighbours: str, mechanism: str) -> None:
    """Also fails if epsilon is spent once per column without being divided."""
    noise = noise_of("z", epsilon=2.0, mechanism=mechanism, neighbours=neighbours)
    ledger = DPHistogram(2.0, neighbours=neighbours, random_state=0).fit(TABLE, SCHEMA).ledger_
    (spend,) = [s for s in ledger.spends if s.what == "z"]
    scale = ledger.sensitivity().l1 / spend.epsilon
    assert spend.epsilon == pytest.approx(2.0 / 4)
    # the mean of |noise| over 40,000 draws is known to 0.5 %; discrete noise differs by < 2 %
    assert np.abs(noise).mean() == pytest.approx(scale, rel=0.05)


def test_gaussian_noise_is_calibrated_to_its_share() -> None:
    wide = noise_of("z", epsilon=2.0, mechanism="gaussian", delta=1e-3).std()
    narrow = noise_of("z", epsilon=8.0, mechanism="gaussian", delta=1e-3).std()
    assert wide > 3 * narrow


def test_counts_belong_to_their_values_and_not_to_their_order_of_appearance() -> None:
    for table in (TABLE, TABLE[::-1].reset_index(drop=True)):
        model = DPHistogram(None).fit(table, SCHEMA)
        for name, exact in EXACT.items():
            assert model.released_[f"histogram {name}"].tolist() == exact.tolist()


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_accounting(mechanism: str) -> None:
    honest = DPHistogram(1.0, mechanism=mechanism, random_state=0).fit(TABLE, SCHEMA).ledger_
    assert honest.proved is not None and honest.proved.epsilon == pytest.approx(1.0)
    thesis = DPHistogram(1.0, mechanism=mechanism, accounting="thesis", random_state=0)
    ledger = thesis.fit(TABLE, SCHEMA).ledger_
    assert ledger.claimed is not None and ledger.claimed.epsilon == 1.0
    # four times as much; Gaussian noise adds up in zCDP, and so to less
    assert ledger.proved is not None
    most = 2.5 if mechanism == "gaussian" else 4.0
    assert 1.5 < ledger.proved.epsilon <= most * (1 + 1e-9)


def test_without_noise_margins_survive_and_dependence_does_not() -> None:
    table = pd.concat([TABLE] * 20, ignore_index=True).assign(y=lambda t: t["x"])
    synthetic = DPHistogram(None, random_state=0).fit(table, SCHEMA).sample(4000)
    assert max(kolmogorov_smirnov(table, synthetic, SCHEMA).values()) < 0.04
    assert abs(synthetic["x"].corr(synthetic["y"])) < 0.06  # 4 standard errors


def test_the_number_of_rows_is_exact_only_where_it_is_public() -> None:
    assert DPHistogram(1.0, random_state=0).fit(TABLE, SCHEMA).n_rows_ == 200
    models = (DPHistogram(1.0, neighbours="add-remove", random_state=s) for s in range(10))
    assert len({model.fit(TABLE, SCHEMA).n_rows_ for model in models}) > 5


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("epsilon", 0),
        ("mechanism", "magic"),
        ("accounting", "none"),
        ("neighbours", "swap"),
        ("delta", 2.0),
    ],
)
def test_bad_settings(setting: str, value: object) -> None:
    settings = {"mechanism": "gaussian", setting: value}
    with pytest.raises(SettingError, match=setting):
        DPHistogram(**settings).fit(TABLE, SCHEMA)  # type: ignore[arg-type]
