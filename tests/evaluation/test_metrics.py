from __future__ import annotations

from importlib.metadata import EntryPoint
from math import inf, isfinite
from typing import Any

import numpy as np
import pandas as pd
import pytest
import tables
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tables import PEOPLE

from copula_shirley import Column, Schema
from copula_shirley.errors import SettingError
from copula_shirley.evaluation import METRICS, Comparison, Metric, Result, evaluate, verdict
from copula_shirley.evaluation.attacks import singling_out
from copula_shirley.evaluation.metrics import learning
from copula_shirley.evaluation.metrics import registry as module

#: Of the shared table, and a column of a single value; gaps in active.
SCHEMA = Schema(
    (
        *(c for c in PEOPLE if c.name != "active"),
        Column("active", "boolean", missing=True),
        Column("one", "integer", minimum=5, maximum=5),
    )
)
TASKS = {"binary": "rich", "multiclass": "job", "regression": "age"}
ROLES: dict[str, Any] = {"quasi_identifiers": ["grade", "active"], "sensitive": ["job", "age"]}


def people(n: int, seed: int) -> pd.DataFrame:
    """Rows of every kind; job, rich and joined follow from the age."""
    rng = np.random.default_rng(seed)
    table = tables.people().sample(n, replace=True, random_state=seed)
    age = table["age"]
    job = np.select([age < 40, age < 65], ["arts", "farm"], "law")
    joined = pd.Timestamp("2020-01-01") + pd.to_timedelta(4 * (age - 18), unit="D")
    active = table["active"].astype("boolean").mask(rng.random(n) < 0.1)
    some = table.assign(job=job, rich=(age > 60) * 1, joined=joined, active=active, one=5)
    return some.reset_index(drop=True)


def all_metrics(train: Any, test: Any, synthetic: Any, seed: Any = 0, **more: Any) -> pd.DataFrame:
    return evaluate(train, test, synthetic, SCHEMA, TASKS, seed, **{**ROLES, **more})


def wild(n: int, seed: int) -> pd.DataFrame:
    """Rows with unknown categories, numbers out of bounds and undeclared gaps."""
    table = people(n, seed).astype({"job": object, "age": float})
    table.loc[::7, "job"] = "new"
    table.loc[3::11, "job"] = None
    table.loc[1::9, "age"] = 400
    table.loc[2::13, "age"] = np.nan
    table.loc[::10, "income"] = -5.5
    table.loc[::8, "joined"] = pd.Timestamp("2031-01-01")
    return table


# -- one frame -----------------------------------------------------------------------------


#: What every metric is for real rows: its best value, or what it describes.
BEST = {
    "mcc_binary": 1, "mcc_multiclass": 1, "rules_recall": 1,
    "coverage_means": 1, "coverage_coefficients": 1, "validity": 1, "detection_auc": 0.5,
    **{name: 0.5 for name in METRICS if name.startswith("membership")},
}  # fmt: skip


@pytest.fixture(scope="module")
def real_rows() -> pd.DataFrame:
    """Real rows against themselves."""
    rows = people(150, 1)
    return all_metrics(rows, rows, rows)


#: All but those of tables of people with several rows, which tests/rules/test_people.py tries.
OF_ROWS = {name: metric for name, metric in METRICS.items() if "people" not in metric.needs}


# Once wrong: coverage_coefficients of an exact fit, where coefficients are 0 but for rounding
@pytest.mark.parametrize("name", [n for n, metric in OF_ROWS.items() if metric.better != "none"])
def test_real_rows_have_the_best_value(name: str, real_rows: pd.DataFrame) -> None:
    best = BEST.get(name, 0)
    low, high = METRICS[name].bounds
    assert best == {"lower": max(low, 0), "higher": high, "0.5": 0.5}[METRICS[name].better]
    value = real_rows.set_index("metric").loc[name, "value"]
    # sums of shares and least squares leave some 1e-14; a coin is exact
    assert value == (best if name.startswith("membership") else pytest.approx(best, abs=1e-9))


def test_the_order_of_the_rows_never_matters() -> None:
    three = [people(130, 1), people(110, 2), wild(510, 3)]
    copies = [table.copy() for table in three]
    expected = all_metrics(*three).to_dict("records")
    for table, copy in zip(three, copies, strict=True):
        pd.testing.assert_frame_equal(table, copy)  # the inputs are left alone
    turned = [table.sample(frac=1, random_state=5) for table in three]
    for line, other in zip(expected, all_metrics(*turned).to_dict("records"), strict=True):
        assert line == other


DRAWING = ["attribute_inference", "membership_hamming", "singling_out"]


def test_the_same_seed_gives_the_same_figures_whatever_else_is_asked_for() -> None:
    three = people(40, 1), people(30, 2), wild(510, 3)

    def values(seed: Any, names: list[str]) -> dict[str, float]:
        frame = all_metrics(*three, seed=seed, metrics=names)
        return dict(zip(frame["metric"], frame["value"], strict=True))

    found = values(7, DRAWING)
    assert found == values(np.random.default_rng(7), DRAWING[::-1]) != values(8, DRAWING)
    assert found.items() >= values(7, DRAWING[-1:]).items()


def test_the_reference_is_the_score_of_the_training_rows() -> None:
    train, test, synthetic = people(30, 1), people(25, 2), people(35, 3)
    names = ["ks", "singling_out", "coverage_means"]
    frame = all_metrics(train, test, synthetic, reference=True, metrics=names)
    expected, alone = (all_metrics(train, test, t, metrics=names) for t in (train, synthetic))
    assert list(frame.columns) == [*alone.columns, "reference"]
    assert frame["reference"].tolist() == expected["value"].tolist()
    assert frame["value"].tolist() == alone["value"].tolist()


# -- which metrics -------------------------------------------------------------------------

ROWS = people(30, 0)


def chosen(**more: Any) -> list[str]:
    return list(evaluate(ROWS, ROWS, ROWS, SCHEMA, **{"random_state": 0, **more})["metric"])


def test_metrics_without_their_task_are_left_out() -> None:
    assert chosen(metrics=["tvd1", "ks"]) == ["tvd1", "ks"]
    assert chosen(metrics=(name for name in ["ks"])) == ["ks"]
    assert chosen(metrics=[]) == []
    needy = {"mcc_binary", "mcc_multiclass", "rmse", "coverage_coefficients"}
    anonymity = {"k_anonymity", "l_diversity", "t_closeness"}
    assert set(chosen()) == set(OF_ROWS) - needy - anonymity
    some = {name: METRICS[name] for name in ("ks", *needy, *anonymity)}
    assert chosen(metrics=some) == ["ks"]
    assert "mcc_binary" in chosen(metrics=some, tasks={"binary": "rich"})
    only = chosen(metrics=some, tasks={"regression": "age"})
    assert set(only) == {"ks", "rmse", "coverage_coefficients"}
    # the target is the only sensitive column, and was named a quasi-identifier
    roles = {"tasks": {"binary": "rich"}, "quasi_identifiers": ["rich"]}
    assert chosen(metrics=some, **roles) == ["ks", "mcc_binary", "k_anonymity"]


# Once wrong: an empty frame
@pytest.mark.parametrize(
    ("name", "lacking"),
    [
        ("mcc_binary", "the task binary"),
        ("coverage_coefficients", "the task regression"),
        ("k_anonymity", "columns for quasi_identifiers"),
        ("t_closeness", "columns for quasi_identifiers"),
    ],
)
def test_a_metric_that_was_named_needs_its_task(name: str, lacking: str) -> None:
    with pytest.raises(SettingError, match=rf"metric \('{name}'\) needs {lacking}; name it or"):
        chosen(metrics=["ks", name])


def fail(_: Comparison) -> Result:
    raise ZeroDivisionError("by zero")


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        (["ks", "dcr"], r"metric \('dcr'\) must be one of ks, spearman_drift"),
        ("ks", r"metrics \('ks'\) must be a list of names"),
        ({"bad": 0.5}, r"metric 'bad' \(0.5\) must be a Metric"),
        ({"bad": Metric(fail, "lower", (0, 1))}, "metric 'bad' failed: ZeroDivisionError: by zero"),
        # Once wrong: AttributeError
        *(
            ({"bad": Metric(lambda _, said=said: said, "lower", (0, 1))}, "must return a Result")
            for said in (0.5, None, Result("a"))
        ),
        *(
            (
                {"bad": Metric(lambda _, value=value: Result(value), "lower", (0, 1))},
                r"metric 'bad' \(.*\) must lie within \(0, 1\)",
            )
            for value in (float("nan"), -0.1, 1.1, inf)
        ),
    ],
)
def test_metrics_that_are_refused(metrics: Any, message: str) -> None:
    with pytest.raises(SettingError, match=message):
        evaluate(ROWS, ROWS, ROWS, SCHEMA, metrics=metrics)


def rows_of_each(c: Comparison) -> Result:
    return Result(float(len(c.synthetic)), {"note": f"{len(c.train)} and {len(c.test)}"})


OWN = Metric(rows_of_each, "higher", (0, inf), lambda result, _: f"{result.value:g} rows")


@pytest.mark.parametrize("metrics", [["rows", "ks"], {"rows": OWN, "ks": METRICS["ks"]}])
def test_a_metric_of_ones_own(metrics: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    if isinstance(metrics, list):
        monkeypatch.setitem(METRICS, "rows", OWN)
    frame = evaluate(ROWS, ROWS[:7], ROWS[:5], SCHEMA, metrics=metrics)
    assert frame["metric"].tolist() == ["rows", "ks"] and frame["value"][0] == 5
    assert frame["detail"][0] == {"note": "30 and 7"}
    # of a metric that is only in the mapping nobody knows the sentence any more, but the note
    assert verdict(frame.iloc[0]) == ("5 rows" if isinstance(metrics, list) else "30 and 7")


def test_a_metric_of_an_installed_package(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("rows", f"{__name__}:OWN", "copula_shirley.metrics")
    found = {point.group: [point]}
    monkeypatch.setattr(module, "entry_points", lambda group: found[group])
    monkeypatch.setattr(module, "_installed", module._installed.__wrapped__)
    frame = evaluate(ROWS, ROWS, ROWS[:5], SCHEMA, metrics=["rows"])
    assert frame["value"].tolist() == [5] and verdict(frame.iloc[0]) == "5 rows"


def test_progress_is_told() -> None:
    told: list[tuple[str, float]] = []
    evaluate(ROWS, ROWS, ROWS, SCHEMA, metrics=["ks", "tvd1"], progress=lambda *x: told.append(x))
    assert told == [("ks", 0.0), ("tvd1", 0.5), ("done", 1.0)]


# -- bounds, whatever the tables -------------------------------------------------------------


# Once wrong: coverage_coefficients is NaN where real rows determine nothing; propensity_mse
# warns of its line search; mcc warns where truth and prediction are one and the same single class
@pytest.mark.parametrize("examples", [10, pytest.param(300, marks=pytest.mark.slow)])
def test_bounds_hold_for_any_tables(examples: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # small forests and few attempts are enough
    monkeypatch.setitem(learning.FORESTS, "light", {"n_estimators": 3, "max_depth": 2})
    monkeypatch.setattr(singling_out, "ATTEMPTS", 30)
    tasks = {"binary": "active", "multiclass": "job", "regression": "income"}

    @settings(max_examples=examples, phases=(Phase.explicit, Phase.generate))  # no time to shrink
    @given(st.integers(0, 2**30), *[st.integers(1, 9)] * 3)
    def check(seed: int, n: int, m: int, k: int) -> None:
        three = people(n, seed), people(m, seed + 1), wild(k, seed + 2)
        frame = evaluate(*three, SCHEMA, tasks, 0, quasi_identifiers=["grade", "rich"])
        assert frame["metric"].tolist() == list(OF_ROWS)
        for line in frame.to_dict("records"):
            low, high = line["bounds"]
            assert isfinite(line["value"]) and low <= line["value"] <= high, line
            assert isinstance(verdict(line), str)

    check()


# -- verdicts ------------------------------------------------------------------------------

RATES = {"train": 0.9, "control": 0.5, "baseline": {"rate": 0.4}}
LEAK = "LEAK: the attack works better on training rows than on rows never seen (train 90.0%, "
VERDICTS: list[tuple[str, float, dict[str, Any], str]] = [
    ("ks", 0.2, {"columns": {"age": 0.1, "job": 0.25}}, "worst: job (0.250)"),
    ("spearman_drift", 0.1, {"pairs": {}, "note": "constant: c"}, "constant: c"),
    ("tvd3", 0.1, {"triples": {"a | b | c": 0.1, "a | b | d": 0}}, "worst: a | b | c (0.100)"),
    ("rmse", 1.0, {"target": "age", "guessing the mean": 2.0}, "age, better than guessing the"),
    ("rmse", 3.0, {"target": "age", "guessing the mean": 2.0}, "no better than guessing the"),
    ("membership_hamming", 0.5, {"interval": (0.45, 0.55), "mean": 0.5},
     "no better than a coin (.5); stronger attacks may exist [95 % 0.450 to 0.550]"),
    ("membership_hamming", 0.75, {"interval": (0.7, 0.8), "mean": 0.75},
     "LEAK: beats a coin by 50.0% more right calls than wrong ones [95 % 0.700 to 0.800]"),
    ("membership_hamming", 0.3, {"interval": (0.2, 0.4), "mean": 0.3, "note": "only 5 rows"},
     "below a coin: this attack is misled here, and proves nothing [95 % 0.200 to 0.400]; only 5"),
    ("singling_out", 0.4, {**RATES, "interval": (0.3, 0.5)},
     f"{LEAK}control 50.0%, baseline 40.0%) [95 % 0.300 to 0.500]"),
    ("singling_out", 0.0, {**RATES, "interval": (-0.1, 0.1)},
     "no leak seen: the attack works as well on rows never seen"),
    ("singling_out", 0.0, {"note": "nothing to attack"}, "0 is no leak; nothing to attack"),
    ("detection_auc", 0.5, {}, "hardly told from real rows: .5 is a coin, 1 is always"),
    ("detection_auc", 0.6, {}, "sometimes told from real rows"),
    ("detection_auc", 0.9, {}, "easily told from real rows"),
    ("propensity_mse", 0.1, {"ratio": 12.34}, "12.3 times that of perfect rows"),
    ("propensity_mse", 0.0, {"note": "all rows are equal"}, "all rows are equal"),
    ("coverage_means", 0.5, {"columns": {"a": 0.0, "b": 1.0}, "perfect rows": 0.834},
     "50% of 95 % intervals hold the real value; perfect rows: 83%; missed: a"),
    ("coverage_means", 0.0, {"columns": dict.fromkeys("abcde", 0.0)}, "missed: a, b, c, d, ..."),
    ("validity", 1.0, {"columns": {"a": 1.0}}, "every row fits the schema"),
    ("validity", 0.9, {"columns": {"a": 0.9, "b": 1.0}}, "values outside the schema in: a"),
    ("k_anonymity", 1.0, {}, "equal quasi-identifiers (a description, no proof of privacy)"),
    ("l_diversity", 1.0, {}, "least number of sensitive values in a class (a description"),
    ("t_closeness", 0.1, {}, "farthest that a class is from all rows, of 1 (a description"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value", "detail", "text"), VERDICTS)
def test_verdicts(name: str, value: float, detail: dict[str, Any], text: str) -> None:
    assert text in verdict({"metric": name, "value": value, "detail": detail})


@pytest.mark.parametrize(
    ("value", "reference", "text"),
    [
        (0.4, None, "how well job of real rows is predicted; 0 is guessing"),
        (0.4, 0.8, "0 is guessing; 50% of what real rows teach"),
        (-0.2, 0.8, "0 is guessing; 0% of what real rows teach"),
        (0.4, 0.0, "0 is guessing; real rows teach no more than guessing"),
    ],
)
def test_verdicts_beside_real_rows(value: float, reference: float | None, text: str) -> None:
    line = {"metric": "mcc_multiclass", "value": value, "detail": {"target": "job"}}
    assert verdict({**line, "reference": reference}).endswith(text)
