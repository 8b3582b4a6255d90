"""What the baselines share: budgets, scales of noise, settings; and the histograms alone."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from tables import whole_numbers

from copula_shirley import Column, Schema, SettingError
from copula_shirley.baselines import DPCopula, DPHistogram, PrivBayes
from copula_shirley.evaluation import kolmogorov_smirnov
from copula_shirley.measure.queries import Best, Tables
from copula_shirley.measure.recorded_fits import recorded

MECHANISMS = ("laplace", "geometric", "gaussian")
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


@pytest.mark.parametrize("neighbours", ["replace-one", "add-remove"])
@pytest.mark.parametrize(
    ("model", "shares"),
    [
        *((DPHistogram(2.0, mechanism=m), {"histogram": 1.0}) for m in MECHANISMS),
        (DPCopula(6.0), {"histogram": 0.5, "copula": 0.5}),
        (DPCopula(6.0, variant="mle", blocks=9), {"histogram": 0.5, "copula": 0.5}),
        (DPCopula(6.0, margins="efpa"), {"copula": 0.5}),
        (PrivBayes(1.0, degree=1), {"network": 0.3, "table": 0.7}),
        (PrivBayes(1.0, degree=None), {"network": 0.3, "table": 0.7}),
    ],
)
def test_noise_has_the_scale_of_its_charge(
    model: Any, shares: dict[str, float], neighbours: str
) -> None:
    """A published port of PrivBayes used the scale for probabilities on counts: far too small."""
    model = clone(model).set_params(neighbours=neighbours, random_state=0)
    with recorded(model) as record:
        ledger = model.fit(TABLE, SCHEMA).ledger_
    assert not ledger.unprotected and ledger.spent.epsilon == pytest.approx(model.epsilon)
    left = 0.98 if any(spend.stage == "size" for spend in ledger.spends) else 1.0
    for stage, share in shares.items() if not ledger.zcdp else ():
        spent = [spend.epsilon for spend in ledger.spends if spend.stage == stage]
        assert sum(spent) == pytest.approx(share * left * model.epsilon)
        assert max(spent) == pytest.approx(min(spent))
    events = zip(ledger.spends, record.questions, record.requests, strict=True)
    for (spend, question, request), noisy in zip(events, model.released_.values(), strict=True):
        query: Any = question.query
        reach = ledger.sensitivity() if isinstance(query, Tables) else query.cell_maps[0].reach
        scale = reach.l1 / (spend.epsilon or 1.0)
        if ledger.zcdp:
            scale = reach.l2 / math.sqrt(2 * spend.rho)
        assert request.scale == pytest.approx(scale * (2 if isinstance(query, Best) else 1))
        assert np.array_equal(np.ravel(request.answer), np.ravel(noisy))


BAD: list[tuple[type, str, Any]] = [
    *((DPHistogram, *pair) for pair in (("epsilon", 0), ("mechanism", "magic"))),
    *((DPHistogram, *pair) for pair in (("accounting", "none"), ("delta", 2.0))),
    *((DPHistogram, *pair) for pair in (("neighbours", "swap"), ("on_unknown", "guess"))),
    *((DPCopula, *pair) for pair in (("variant", "spearman"), ("margins", "wavelet"))),
    *((DPCopula, *pair) for pair in (("margin_share", 1), ("mechanism", "gaussian"))),
    *((DPCopula, *pair) for pair in (("blocks", 0), ("epsilon", -1), ("epsilon", 1e-8))),
    *((PrivBayes, *pair) for pair in (("degree", 0), ("degree", 1.5), ("theta", -1))),
    *((PrivBayes, *pair) for pair in (("network_share", 0), ("bins", 0), ("score", "F"))),
    (PrivBayes, "score", "mutual-information"),  # it needs a public number of rows
    *((PrivBayes, *pair) for pair in (("mechanism", "gaussian"), ("epsilon", math.nan))),
]


@pytest.mark.parametrize(("kind", "setting", "value"), BAD)
def test_bad_settings(kind: type, setting: str, value: Any) -> None:
    more = {"mechanism": "gaussian"} if setting == "delta" else {}
    with pytest.raises(SettingError, match=setting):
        kind(**{"neighbours": "add-remove", **more, setting: value}).fit(TABLE, SCHEMA)


# -- histograms alone ------------------------------------------------------------------


def test_counts_belong_to_their_values_and_not_to_their_order_of_appearance() -> None:
    for table in (TABLE, TABLE[::-1].reset_index(drop=True)):
        released = DPHistogram(None).fit(table, SCHEMA).released_
        assert released["histogram c"].tolist() == [100, 100]
        for name in "xyz":
            counts = np.bincount(TABLE[name], minlength=SCHEMA[name].size)
            assert released[f"histogram {name}"].tolist() == counts.tolist()


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_thesis_accounting_costs_epsilon_for_each_column(mechanism: Any) -> None:
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
