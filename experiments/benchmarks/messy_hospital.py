"""Measure on the stays of a hospital whether rules are kept, and what they cost.

30,000 made rows: stays, bills, body measures, insurance, deaths, with the rules that such a table
has. PrivateVine is fitted with the rules and without them. Measured of the synthetic rows:

- rows that break a rule, counted in pandas and not by the package,
- length of stay: Kolmogorov-Smirnov distance, and its rank correlation with age,
- mean and 99th percentile of the costs, against the real ones,
- what rules cost columns without rules: total variation of pairs of them, and the time of the fit.

    python -m copula_shirley.experiments.benchmarks.messy_hospital --seeds 3 --epsilon 1
"""

from __future__ import annotations

import json
import time
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from copula_shirley import PrivateVine, Schema
from copula_shirley.evaluation import evaluate
from copula_shirley.experiments.benchmarks.messy import options
from copula_shirley.schema.domain import Grid

ROWS = 30_000
SCHEMA = Schema.from_yaml(
    """
columns:
  age: {kind: integer, minimum: 0, maximum: 110}
  sex: {kind: categorical, categories: [F, M]}
  pregnant: {kind: categorical, categories: [no, yes]}
  ward: {kind: categorical, categories: [cardiology, surgery, internal, maternity, paediatrics]}
  diagnosis: {kind: categorical, categories: [I21, I50, S72, K35, J18, E11, O80, J20]}
  admission: {kind: datetime, minimum: 2018-01-01, maximum: 2023-12-31, resolution: 1D}
  discharge: {kind: datetime, minimum: 2018-01-01, maximum: 2024-12-31, resolution: 1D}
  height: {kind: continuous, minimum: 40, maximum: 220, resolution: 1}
  weight: {kind: continuous, minimum: 2, maximum: 250, resolution: 0.1}
  bmi: {kind: continuous, minimum: 0, maximum: 150, resolution: 0.1}
  country: {kind: categorical, categories: [DE, FR, AT, CH, US]}
  currency: {kind: categorical, categories: [EUR, CHF, USD]}
  medication: {kind: continuous, minimum: 0, maximum: 500000, resolution: 0.01}
  nursing: {kind: continuous, minimum: 0, maximum: 500000, resolution: 0.01}
  total: {kind: continuous, minimum: 0, maximum: 1000000, resolution: 0.01}
  statutory: {kind: boolean}
  private: {kind: boolean}
  self_payer: {kind: boolean}
  died: {kind: categorical, categories: [no, yes]}
  death_date: {kind: datetime, minimum: 2018-01-01, maximum: 2024-12-31, resolution: 1D,
    missing: true}
  smoker: {kind: categorical, categories: [never, former, current], missing: true}
  referral: {kind: categorical, categories: [doctor, emergency, transfer]}
  pulse: {kind: integer, minimum: 30, maximum: 200, missing: true}
rules:
  - {order: [admission, discharge], gap: {maximum: 365}}
  - {computed: bmi, as: "round(weight / (height / 100) ** 2, 1)"}
  - {computed: total, as: medication + nursing}
  - {function: currency, of: country, table: {DE: EUR, FR: EUR, AT: EUR, CH: CHF, US: USD}}
  - {one_hot: [statutory, private, self_payer], exactly: 1}
  - allowed:
      columns: [diagnosis, ward]
      rows: [[I21, cardiology], [I50, cardiology], [I50, internal], [S72, surgery], [K35, surgery],
        [J18, internal], [J18, paediatrics], [E11, internal], [O80, maternity], [J20, paediatrics]]
  - {when: {sex: M}, then: {pregnant: no}}
  - {when: {age: 50..}, then: {pregnant: no}}
  - {when: {died: no}, then: {death_date: missing}}
  - {when: {died: yes}, then: {death_date: present}}
  - {order: [admission, death_date]}
"""
)
#: Columns that no rule is about.
FREE = ("smoker", "referral", "pulse")
MONEY = {"DE": "EUR", "FR": "EUR", "AT": "EUR", "CH": "CHF", "US": "USD"}
WARDS = {
    "I21": ("cardiology",),
    "I50": ("cardiology", "internal"),
    "S72": ("surgery",),
    "K35": ("surgery",),
    "J18": ("internal", "paediatrics"),
    "E11": ("internal",),
    "O80": ("maternity",),
    "J20": ("paediatrics",),
}


def hospital(n: int = ROWS, seed: int = 0) -> pd.DataFrame:
    """Made stays that keep all rules."""
    rng = np.random.default_rng([19, seed])
    age = np.clip(np.where(rng.random(n) < 0.15, rng.gamma(2, 4, n), rng.normal(58, 20, n)), 0, 109)
    age = age.astype(int)
    sex = rng.choice(["F", "M"], n, p=[0.54, 0.46])
    fertile = (sex == "F") & (age >= 16) & (age < 46)
    pregnant = fertile & (rng.random(n) < 0.35)
    old = rng.choice(
        ["I21", "I50", "S72", "K35", "J18", "E11"], n, p=[0.2, 0.25, 0.2, 0.1, 0.15, 0.1]
    )
    young = rng.choice(["J20", "J18", "K35"], n, p=[0.6, 0.25, 0.15])
    diagnosis = np.where(age < 16, young, old)
    diagnosis = np.where(pregnant & (rng.random(n) < 0.8), "O80", diagnosis)
    ward = np.array([WARDS[d][0] if len(WARDS[d]) == 1 else "" for d in diagnosis], dtype=object)
    ward[diagnosis == "I50"] = rng.choice(WARDS["I50"], n)[diagnosis == "I50"]
    ward[diagnosis == "J18"] = np.where(age < 16, "paediatrics", "internal")[diagnosis == "J18"]
    day = rng.integers(0, 6 * 365, n)
    admission = pd.Timestamp("2018-01-01") + pd.to_timedelta(day, unit="D")
    longer = np.where(diagnosis == "O80", 0.6, 1 + (diagnosis == "S72"))
    stay = np.minimum(rng.gamma(1.3, 1.5 + age / 22) * longer, 364).astype(int)
    discharge = pd.Series(admission + pd.to_timedelta(stay, unit="D"))
    grown = np.clip(age / 17, 0, 1)
    tall = 55 + 115 * grown**0.6 + 11 * (sex == "M") * grown + rng.normal(0, 4 + 3 * grown, n)
    height = np.clip(tall, 45, 215).round()
    weight = np.clip((height / 100) ** 2 * rng.gamma(35, 0.74, n), 2.2, 240).round(1)
    country = rng.choice([*MONEY], n, p=[0.78, 0.07, 0.07, 0.06, 0.02])
    medication = np.where(
        rng.random(n) < 0.2, 0, rng.lognormal(4.5, 1.4, n) * (1 + stay / 4)
    ).round(2)
    nursing = ((stay + 1) * rng.lognormal(5.4, 0.4, n)).round(2)
    medication, nursing = np.minimum(medication, 4e5).round(2), np.minimum(nursing, 4e5).round(2)
    insured = rng.choice(3, n, p=[0.86, 0.11, 0.03])
    died = rng.random(n) < 0.001 * np.exp(age / 24)
    smoker = rng.choice(["never", "former", "current"], n)
    pulse = rng.normal(82, 13, n) + 30 * (age < 10)
    return pd.DataFrame(
        {
            "age": age,
            "sex": sex,
            "pregnant": np.where(pregnant, "yes", "no"),
            "ward": ward,
            "diagnosis": diagnosis,
            "admission": admission,
            "discharge": discharge,
            "height": height,
            "weight": weight,
            "bmi": np.round(weight / (height / 100) ** 2, 1),
            "country": country,
            "currency": pd.Series(country).map(MONEY),
            "medication": medication,
            "nursing": nursing,
            "total": (medication + nursing).round(2),
            "statutory": insured == 0,
            "private": insured == 1,
            "self_payer": insured == 2,
            "died": np.where(died, "yes", "no"),
            "death_date": discharge.where(died),
            "smoker": pd.Series(smoker).mask(rng.random(n) < 0.1),
            "referral": rng.choice(["doctor", "emergency", "transfer"], n, p=[0.5, 0.4, 0.1]),
            "pulse": pd.Series(np.clip(pulse, 35, 195).round()).mask(rng.random(n) < 0.2),
        }
    )


def broken(table: pd.DataFrame) -> dict[str, int]:
    """Rows that break each rule, in words of pandas."""
    stay = (table["discharge"] - table["admission"]).dt.days
    bmi = np.round(table["weight"] / (table["height"] / 100) ** 2, 1)
    pregnant, dead = table["pregnant"] == "yes", table["died"] == "yes"
    wards = [w in WARDS[d] for w, d in zip(table["ward"], table["diagnosis"], strict=True)]
    insured = table[["statutory", "private", "self_payer"]].sum(axis=1)
    wrong: dict[str, Any] = {
        "discharge before admission, or a year after it": ~stay.between(0, 365),
        "BMI": (table["bmi"] - bmi).abs() > 0.0501,
        "total": (table["total"] - table["medication"] - table["nursing"]).abs() > 0.00501,
        "currency": table["country"].map(MONEY) != table["currency"],
        "not one insurance": insured != 1,
        "diagnosis in a wrong ward": ~np.array(wards),
        "pregnant man": pregnant & (table["sex"] == "M"),
        "pregnant at 50 or more": pregnant & (table["age"] >= 50),
        "death date of the living": ~dead & table["death_date"].notna(),
        "dead without a date": dead & table["death_date"].isna(),
        "death before admission": table["death_date"] < table["admission"],
    }
    return {name: int(np.sum(rows)) for name, rows in wrong.items()}


def compared(real: pd.DataFrame, drawn: pd.DataFrame) -> dict[str, float]:
    """What the issue asks of synthetic rows."""
    stays = [(t["discharge"] - t["admission"]).dt.days for t in (real, drawn)]
    values = np.unique(np.concatenate(stays))
    steps = [np.searchsorted(np.sort(s), values, side="right") / len(s) for s in stays]
    ranks = [t["age"].corr(s, method="spearman") for t, s in zip((real, drawn), stays, strict=True)]
    totals = [table["total"].astype(float) for table in (real, drawn)]
    q99 = [total.quantile(0.99) for total in totals]
    return {
        "KS of stay": float(np.abs(steps[0] - steps[1]).max()),
        "rank correlation age, stay: real": float(ranks[0]),
        "rank correlation age, stay: off by": float(ranks[1] - ranks[0]),
        "mean of total, synthetic by real": float(totals[1].mean() / totals[0].mean()),
        "q99 of total, synthetic by real": float(q99[1] / q99[0]),
    }


def tvd2_free(real: pd.DataFrame, drawn: pd.DataFrame) -> float:
    """Mean total variation of pairs of columns that no rule is about."""
    grid = Grid([SCHEMA[name] for name in FREE])
    codes = [
        grid.codes({n: SCHEMA[n].domain.to_numbers(table[n]) for n in FREE})
        for table in (real, drawn)
    ]
    found = []
    for a, b in combinations(FREE, 2):
        shape = grid.sizes[a], grid.sizes[b]
        cells = [np.ravel_multi_index((c[a], c[b]), shape) for c in codes]
        shares = [np.bincount(x, minlength=shape[0] * shape[1]) / len(x) for x in cells]
        found.append(0.5 * np.abs(shares[0] - shares[1]).sum())
    return float(np.mean(found))


def measured(seed: int, epsilon: float, rows: int) -> dict[str, Any]:
    """One seed, with the rules and without them."""
    real = hospital(rows)
    found: dict[str, Any] = {"seed": seed}
    for what, schema in (("rules", SCHEMA), ("bare", replace(SCHEMA, rules=()))):
        start = time.process_time()
        model = PrivateVine(epsilon, random_state=seed).fit(real, schema)
        fit = time.process_time() - start
        drawn = model.sample(rows, random_state=seed)
        lost = broken(drawn)
        scores = evaluate(real, hospital(5000, seed=1), drawn, SCHEMA, metrics=["validity"])
        found[what] = {
            "fit, s of the processor": round(fit, 2),
            "draw, s of the processor": round(time.process_time() - start - fit, 2),
            "rows that break a rule": sum(lost.values()),
            "by rule": {name: n for name, n in lost.items() if n},
            "validity": float(scores["value"].iloc[0]),
            "tvd2 without rules": round(tvd2_free(real, drawn), 4),
            **{k: round(v, 4) for k, v in compared(real, drawn).items()},
        }
    return found


def main() -> None:
    given = options(__doc__, rows=ROWS)
    for seed in range(given.seeds):
        print(json.dumps(measured(seed, given.epsilon, given.rows), indent=1))


if __name__ == "__main__":
    main()
