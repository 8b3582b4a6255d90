"""A curator charges a ledger in its own currency, for its own unit, or not at all."""

from __future__ import annotations

import numpy as np
import pytest

from copula_shirley import Budget, Ledger, SettingError
from copula_shirley.measure.calibration import Calibration
from copula_shirley.measure.curator import Curator
from copula_shirley.privacy.budget import histogram_sensitivity
from copula_shirley.privacy.noise import SeededNoise
from copula_shirley.thesis.histograms import ThesisCalibration

PURE, ZCDP = Budget(1.0), Budget(1.0, 1e-6)
ROW = histogram_sensitivity("replace-one")


@pytest.mark.parametrize(
    ("calibration", "ledger", "said"),
    [
        (Calibration(ZCDP, ROW), Ledger(PURE), "costs are in rho, its ledger counts epsilon"),
        (Calibration(PURE, ROW), Ledger(ZCDP, zcdp=True), "in epsilon, its ledger counts rho"),
        (ThesisCalibration(ZCDP, ROW, "gaussian"), Ledger(ZCDP, zcdp=True), "counts rho"),
        (Calibration(PURE, ROW), Ledger(PURE, unit="person", rows_per_unit=3), "by 6"),
        (ThesisCalibration(PURE, ROW, "laplace"), Ledger(PURE, neighbours="add-remove"), "by 1"),
        (ThesisCalibration(ZCDP, ROW, "gaussian"), Ledger(ZCDP), None),
        (Calibration(ZCDP, ROW), Ledger(ZCDP, zcdp=True), None),
        (Calibration(None, ROW), Ledger(None, neighbours="add-remove"), None),
    ],
)
def test_a_calibration_is_for_its_ledger(
    calibration: Calibration, ledger: Ledger, said: str | None
) -> None:
    source = SeededNoise(np.random.default_rng(0))
    if said is None:
        assert Curator(None, ledger, source, calibration).calibration is calibration
        return
    with pytest.raises(SettingError, match=said):
        Curator(None, ledger, source, calibration)
