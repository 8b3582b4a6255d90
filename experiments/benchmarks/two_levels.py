"""Measure on patients with several stays what columns ``per: person`` bring, and what they cost.

10,000 made patients with up to 6 stays each: sex, birth date and region are the same in all stays
of a patient; the old have more stays. PrivateVine is fitted with these columns ``per: person`` and
as if they were like all others; ``real`` puts the real rows together anew, without any noise, so
what it loses is lost by putting rows together. Measured of the synthetic rows, in pandas:

- patients of whom a constant differs between stays, and rows that break a rule,
- rows per patient: total variation distance, and their rank correlation with the birth date,
- total variation of columns and of pairs of them (``tvd1``, ``tvd2``), each beside that of the real
  rows themselves, which are compared with rows of other patients, and the time of fit and draw.

    python -m copula_shirley.experiments.benchmarks.two_levels --seeds 3 --epsilon 1
"""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from copula_shirley import PrivateVine, Schema
from copula_shirley.baselines.reference import Real
from copula_shirley.evaluation import evaluate
from copula_shirley.experiments.benchmarks.messy import options

PEOPLE, MOST = 10_000, 6
SCHEMA = Schema.from_yaml(
    """
person: {column: patient, max_rows: 6}
columns:
  patient: {kind: id, pattern: "P-{n:06}"}
  sex: {kind: categorical, categories: [F, M], per: person}
  birth_date: {kind: datetime, minimum: 1915-01-01, maximum: 2023-12-31, resolution: 1D,
    per: person}
  region: {kind: categorical, categories: [north, east, south, west, abroad], per: person}
  ward: {kind: categorical, categories: [surgery, internal, maternity, paediatrics]}
  admission: {kind: datetime, minimum: 2019-01-01, maximum: 2023-12-31, resolution: 1D}
  discharge: {kind: datetime, minimum: 2019-01-01, maximum: 2024-12-31, resolution: 1D}
  emergency: {kind: boolean}
rules:
  - {order: [birth_date, admission]}
  - {order: [admission, discharge], gap: {maximum: 365}}
  - {when: {sex: M}, then: {ward: [surgery, internal, paediatrics]}}
"""
)
CONSTANTS = list(SCHEMA.constants)


def patients(people: int = PEOPLE, seed: int = 0) -> pd.DataFrame:
    """Made stays that keep all rules."""
    rng = np.random.default_rng([19, 8, seed])
    age = np.clip(rng.normal(48, 24, people), 0, 100)
    rows = np.minimum(1 + rng.poisson(age / 40), MOST)
    who = np.repeat(np.arange(people), rows)
    n = len(who)
    birth = pd.Timestamp("2020-01-01") - pd.to_timedelta((age * 365.25).astype(int), unit="D")
    sex = rng.choice(["F", "M"], people)
    region = rng.choice(
        ["north", "east", "south", "west", "abroad"], people, p=[0.4, 0.25, 0.2, 0.1, 0.05]
    )
    day = pd.Timestamp("2020-01-02") + pd.to_timedelta(rng.integers(0, 4 * 365 - 2, n), unit="D")
    old, woman = age[who], sex[who] == "F"
    stay = np.minimum(rng.gamma(1.3, 1.5 + old / 20), 364).astype(int)
    likely = np.where(region[who] == "abroad", 0.8, 0.35 - 0.2 * (region[who] == "north"))
    surgery = rng.random(n) < 0.25 + 0.3 * (region[who] == "east")
    ward = np.where(surgery, "surgery", "internal")
    ward = np.where(woman & (old > 16) & (old < 45) & (rng.random(n) < 0.5), "maternity", ward)
    ward = np.where(old < 16, "paediatrics", ward)
    return pd.DataFrame(
        {
            "patient": who,
            "sex": sex[who],
            "birth_date": birth[who],
            "region": region[who],
            "ward": ward,
            "admission": day,
            "discharge": day + pd.to_timedelta(stay, unit="D"),
            "emergency": rng.random(n) < likely,
        }
    )


def two_levels(real: pd.DataFrame, drawn: pd.DataFrame) -> dict[str, Any]:
    """What rows of one patient have in common, in words of pandas."""
    shares, ranks = [], []
    for table in (real, drawn):
        each = table.groupby("patient").agg(n=("ward", "size"), born=("birth_date", "first"))
        share = each["n"].value_counts(normalize=True)
        shares.append(share.reindex(range(1, MOST + 1), fill_value=0.0))
        ranks.append(each["n"].corr(each["born"].astype("int64"), method="spearman"))
    apart = (shares[0] - shares[1]).abs().sum() / 2
    several = drawn.groupby("patient")[CONSTANTS].nunique().max(axis=1) > 1
    wrong = (drawn["birth_date"] > drawn["admission"]) | (drawn["admission"] > drawn["discharge"])
    wrong |= (drawn["sex"] == "M") & (drawn["ward"] == "maternity")
    return {
        "patients with two values of a constant": int(several.sum()),
        "most rows of a patient": int(drawn.groupby("patient").size().max()),
        "rows that break a rule": int(wrong.sum()),
        "rows per patient, total variation": round(float(apart), 4),
        "rank correlation of rows and birth, real": round(float(ranks[0]), 3),
        "rank correlation of rows and birth, synthetic": round(float(ranks[1]), 3),
    }


def measured(seed: int, epsilon: float, people: int) -> dict[str, Any]:
    """One seed: per person, without it, and the real rows put together anew."""
    real, other = patients(people), patients(people, seed=1)
    bare = replace(SCHEMA, columns=tuple(replace(c, per=None) for c in SCHEMA))
    found: dict[str, Any] = {"seed": seed}
    for what, schema, model in (
        ("per person", SCHEMA, PrivateVine(epsilon, random_state=seed)),
        ("bare", bare, PrivateVine(epsilon, random_state=seed)),
        ("real", SCHEMA, Real(random_state=seed)),
    ):
        start = time.process_time()
        model.fit(real, schema)
        fit = time.process_time() - start
        drawn = model.sample(random_state=seed)
        draw = time.process_time() - start - fit
        scores = evaluate(
            real.drop(columns="patient"),
            other.drop(columns="patient"),
            drawn.drop(columns="patient"),
            replace(bare, person=None, left_out=(), max_rows=1),
            metrics=["tvd1", "tvd2", "validity"],
            reference=True,
        )
        figures = zip(scores["metric"], scores["value"], scores["reference"], strict=True)
        found[what] = {
            "fit, s of the processor": round(fit, 2),
            "draw, s of the processor": round(draw, 2),
            **{name: [round(value, 4), round(floor, 4)] for name, value, floor in figures},
            **(two_levels(real, drawn) if schema is SCHEMA else {}),
        }
    return found


def main() -> None:
    given = options(__doc__, people=PEOPLE)
    for seed in range(given.seeds):
        print(json.dumps(measured(seed, given.epsilon, given.people), indent=1))


if __name__ == "__main__":
    main()
