"""Every metric by its name, and one call that computes them.

A metric is a small object: a function of a ``Comparison``, which direction is better, the bounds
of its values, and what its value means in plain words. To add one's own, put it into ``METRICS``,
pass it in ``metrics=``, or name it in the entry-point group ``copula_shirley.metrics``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib.metadata import entry_points
from math import inf
from numbers import Real
from typing import Any, Literal

import pandas as pd

from copula_shirley.errors import SettingError, ShirleyError
from copula_shirley.evaluation import verdicts
from copula_shirley.evaluation.attacks.attribute_inference import attribute_inference
from copula_shirley.evaluation.attacks.membership import membership
from copula_shirley.evaluation.attacks.singling_out import singling_out
from copula_shirley.evaluation.comparison import TASKS, Comparison, Profile
from copula_shirley.evaluation.metrics.anonymity import k_anonymity, l_diversity, t_closeness
from copula_shirley.evaluation.metrics.association import rules_confidence, rules_recall
from copula_shirley.evaluation.metrics.coverage import coverage_of_coefficients, coverage_of_means
from copula_shirley.evaluation.metrics.detection import detection_auc, propensity_mse
from copula_shirley.evaluation.metrics.learning import mcc, rmse
from copula_shirley.evaluation.metrics.marginals import tvd
from copula_shirley.evaluation.metrics.people import drift_per_person, rows_per_person
from copula_shirley.evaluation.metrics.statistics import drift, ks, validity
from copula_shirley.evaluation.result import Result
from copula_shirley.evaluation.verdicts import Verdict
from copula_shirley.fitted import RandomState
from copula_shirley.schema.schema import Schema
from copula_shirley.settings import check_one_of

Better = Literal["lower", "higher", "0.5", "none"]
Needs = Literal["binary", "multiclass", "regression", "quasi_identifiers", "sensitive", "people"]


@dataclass(frozen=True)
class Metric:
    """How one figure is computed and read.

    ``better`` is "0.5" for attacks that a coin matches and "none" for descriptions. ``verdict``
    makes a sentence in plain words of a ``Result`` and the reference value (or None). Without the
    tasks or columns that it ``needs``, the metric is left out.
    """

    measure: Callable[[Comparison], Result]
    better: Better
    bounds: tuple[float, float]
    verdict: Verdict = verdicts.plain
    needs: tuple[Needs, ...] = ()

    def lacks(self, c: Comparison) -> list[str]:
        """What the metric needs and nobody named."""
        return [n for n in self.needs if n not in c.tasks and not getattr(c, n, ())]


def _attack(distance: Any, estimator: Any, which: Any = "mean", n: int | None = 500) -> Metric:
    measure = partial(membership, distance, estimator, which, n)
    return Metric(measure, "0.5", (0, 1), verdicts.membership)


def _task(name: Needs) -> Metric:
    return Metric(partial(mcc, name), "higher", (-1, 1), verdicts.mcc, (name,))


def _described(
    measure: Callable[[Comparison], Result], least: int, most: float, text: str, *needs: Needs
) -> Metric:
    about = verdicts.description(text)
    return Metric(measure, "none", (least, most), about, ("quasi_identifiers", *needs))


_columns, _pairs, _triples = (verdicts.worst(part) for part in ("columns", "pairs", "triples"))

#: Every metric of ours; the order is that of the report.
METRICS: dict[str, Metric] = {
    # the thesis (4.3)
    "ks": Metric(ks, "lower", (0, 1), _columns),
    "spearman_drift": Metric(partial(drift, "mean"), "lower", (0, 2), _pairs),
    "spearman_drift_max": Metric(partial(drift, "maximum"), "lower", (0, 2), _pairs),
    "spearman_drift_off_diagonal": Metric(
        partial(drift, "off_diagonal_mean"), "lower", (0, 2), _pairs
    ),
    "mcc_binary": _task("binary"),
    "mcc_multiclass": _task("multiclass"),
    "rmse": Metric(rmse, "lower", (0, inf), verdicts.rmse, ("regression",)),
    "membership_hamming": _attack("hamming", "distance"),
    "membership_hamming_max": _attack("hamming", "distance", "maximum"),
    "membership_hamming_counting": _attack("hamming", "counting"),
    "membership_euclidean": _attack("euclidean", "distance"),
    "membership_euclidean_max": _attack("euclidean", "distance", "maximum"),
    "membership_euclidean_counting": _attack("euclidean", "counting"),
    # beyond it
    "membership_hamming_all": _attack("hamming", "distance", n=None),
    "attribute_inference": Metric(attribute_inference, "lower", (-1, 1), verdicts.advantage),
    "singling_out": Metric(singling_out, "lower", (-1, 1), verdicts.advantage),
    "tvd1": Metric(partial(tvd, 1), "lower", (0, 1), _columns),
    "tvd2": Metric(partial(tvd, 2), "lower", (0, 1), _pairs),
    "tvd3": Metric(partial(tvd, 3), "lower", (0, 1), _triples),
    "rules_recall": Metric(rules_recall, "higher", (0, 1), verdicts.rules_recall),
    "rules_confidence": Metric(rules_confidence, "lower", (0, 1), verdicts.worst("rules")),
    "detection_auc": Metric(detection_auc, "lower", (0.5, 1), verdicts.detection),
    "propensity_mse": Metric(propensity_mse, "lower", (0, 0.25), verdicts.propensity),
    "coverage_means": Metric(coverage_of_means, "higher", (0, 1), verdicts.coverage),
    "coverage_coefficients": Metric(
        coverage_of_coefficients, "higher", (0, 1), verdicts.coverage, ("regression",)
    ),
    "validity": Metric(validity, "higher", (0, 1), verdicts.validity),
    "rows_per_person": Metric(
        rows_per_person, "lower", (0, 1), verdicts.rows_per_person, ("people",)
    ),
    "rows_per_person_drift": Metric(drift_per_person, "lower", (0, 2), _columns, ("people",)),
    "k_anonymity": _described(
        k_anonymity, 1, inf, "rows in the smallest class of equal quasi-identifiers"
    ),
    "l_diversity": _described(
        l_diversity, 1, inf, "least number of sensitive values in a class", "sensitive"
    ),
    "t_closeness": _described(
        t_closeness, 0, 1, "farthest that a class is from all rows, of 1", "sensitive"
    ),
}


@cache
def _installed() -> dict[str, Metric]:
    """Looked up once: the files of every installed package are read for it."""
    return {point.name: point.load() for point in entry_points(group="copula_shirley.metrics")}


def known_metrics() -> dict[str, Metric]:
    """``METRICS`` and those of installed packages."""
    return {**METRICS, **_installed()}


def evaluate(
    train: pd.DataFrame,
    test: pd.DataFrame,
    synthetic: pd.DataFrame,
    schema: Schema,
    tasks: Mapping[str, str] | None = None,
    random_state: RandomState = None,
    *,
    metrics: Iterable[str] | Mapping[str, Metric] | None = None,
    quasi_identifiers: Sequence[str] = (),
    sensitive: Sequence[str] = (),
    profile: Profile = "light",
    threads: int | None = None,
    reference: bool = False,
    progress: Callable[[str, float], object] | None = None,
) -> pd.DataFrame:
    """Score a synthetic table, with a line per metric.

    Measures of use compare with the test rows, which the generator did not see; attacks tell
    training from test rows.

    Parameters
    ----------
    train, test, synthetic : DataFrame
        Training and test rows must fit the schema. Synthetic rows need its columns; what does
        not fit is scored (see ``copula_shirley.evaluation.comparison``).
    tasks : mapping, optional
        Target column of ``binary`` and ``multiclass`` classification and of ``regression``.
    metrics : names or mapping of metrics, optional
        What to compute; all that apply by default. A metric that is named but lacks a task or
        a list of columns is an error; in a mapping it is left out.
    quasi_identifiers : columns, optional
        For k-anonymity, l-diversity and t-closeness, which are left out without them.
    sensitive : columns, optional
        Secrets of these and of attribute inference; by default the targets of the tasks, or all
        columns if there are none.
    threads : int, optional
        Of XGBoost; one by default, since they crawl on a machine that is busy otherwise.
    reference : bool
        Also score the training rows as if they were synthetic: the column ``reference``.
    progress : function of (metric, share done), optional
    """
    tables = (train, test, synthetic)
    roles = (quasi_identifiers, sensitive)
    c = Comparison.of(*tables, schema, tasks, random_state, *roles, profile, threads)
    return measured(c, chosen(c, metrics), reference, progress)


def measured(
    c: Comparison,
    metrics: Mapping[str, Metric],
    reference: bool = False,
    progress: Callable[[str, float], object] | None = None,
) -> pd.DataFrame:
    """The frame of ``evaluate``, of those metrics that apply."""
    real = replace(c, synthetic=c.train, _cache={})
    applying = {name: metric for name, metric in metrics.items() if not metric.lacks(c)}
    tell, lines = progress or (lambda _, __: None), []
    for i, (name, metric) in enumerate(applying.items()):
        tell(name, i / len(applying))
        result = _measure(name, metric, c)
        line = (name, result.value, metric.better, metric.bounds, dict(result.detail))
        lines.append((*line, _measure(name, metric, real).value) if reference else line)
    tell("done", 1.0)
    columns = ["metric", "value", "better", "bounds", "detail", *(["reference"] * reference)]
    return pd.DataFrame(lines, columns=columns)


def _measure(name: str, metric: Metric, c: Comparison) -> Result:
    try:
        result = metric.measure(c)
    except ShirleyError:
        raise
    except Exception as error:
        raise SettingError(f"metric {name!r} failed: {type(error).__name__}: {error}") from error
    value = result.value if isinstance(result, Result) else result
    if not isinstance(result, Result) or not isinstance(value, Real):
        raise SettingError(f"metric {name!r} ({value!r}) must return a Result with a number")
    low, high = metric.bounds
    if not low - 1e-9 <= value <= high + 1e-9:  # which NaN is not either
        raise SettingError(f"metric {name!r} ({value}) must lie within {metric.bounds}")
    return result


def chosen(
    c: Comparison, metrics: Iterable[str] | Mapping[str, Metric] | None
) -> Mapping[str, Metric]:
    """The metrics of these names, or all; one that is named and lacks what it needs is refused."""
    known = metrics if isinstance(metrics, Mapping) else known_metrics()
    for name, metric in known.items():
        if not isinstance(metric, Metric):
            raise SettingError(f"metric {name!r} ({metric!r}) must be a Metric")
    if metrics is None or metrics is known:
        return known
    if isinstance(metrics, str):
        raise SettingError(f"metrics ({metrics!r}) must be a list of names")
    found = {}
    for name in metrics:
        check_one_of("metric", name, list(known))
        found[name] = known[name]
    for name, metric in found.items():
        for need in metric.lacks(c):
            what = f"the task {need}" if need in TASKS else f"columns for {need}"
            if need == "people":
                what = "a schema with columns per: person, and the person column in all tables"
            rule = f"needs {what}; name it or leave the metric out"
            raise SettingError(f"metric ({name!r}) {rule}")
    return found


def verdict(line: Mapping[Any, Any] | pd.Series) -> str:
    """What one line of ``evaluate`` says, in plain words."""
    metric = known_metrics().get(line["metric"])
    result = Result(line["value"], line["detail"])
    return (metric.verdict if metric else verdicts.plain)(result, line.get("reference"))
