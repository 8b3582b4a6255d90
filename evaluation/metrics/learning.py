"""Models trained on synthetic rows and judged on real ones (thesis 4.3.2).

Categories are coded ordinally, by their place in the declared list, as in the thesis.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import matthews_corrcoef

from copula_shirley.evaluation.comparison import Comparison, Rows, with_nan
from copula_shirley.evaluation.result import Result
from copula_shirley.schema.domain import FloatArray
from copula_shirley.schema.schema import Column

#: The thesis' scripts use 512 trees of depth 64; the lighter profile is enough to compare.
FORESTS: dict[str, dict[str, Any]] = {
    "light": {"n_estimators": 100, "max_depth": 6, "learning_rate": 0.3},
    "thesis": {"n_estimators": 512, "max_depth": 64, "learning_rate": 0.3},
}


def forest(c: Comparison, profile: str) -> Any:
    """An unfitted XGBoost classifier."""
    from xgboost import XGBClassifier  # noqa: PLC0415  (slow to import)

    return XGBClassifier(
        **FORESTS[profile], tree_method="hist", random_state=c.seed % 2**31, n_jobs=c.threads
    )


def mcc(task: str, c: Comparison) -> Result:
    """Matthews coefficient on the test rows of XGBoost trained on the synthetic ones.

    A missing target is a class of its own. A class that the synthetic rows lack is never
    predicted; if they have one class only, that is the prediction for all, worth 0.
    """
    target = c.target(task)
    truth, known = c.test.numbers[target.name], c.synthetic.numbers[target.name]
    classes, codes = np.unique(known, return_inverse=True)
    detail: dict[str, Any] = {"target": target.name, "model": f"XGBoost {FORESTS[c.profile]}"}
    if len(classes) == 1:
        predicted = np.full(len(truth), classes[0])
    else:
        model = forest(c, c.profile).fit(_features(c.synthetic, target), codes)
        predicted = classes[model.predict(_features(c.test, target))]
    rates = {
        value: float(np.mean(predicted[truth == value] == value)) for value in np.unique(truth)
    }
    detail["classes"] = {_label(target, value): share for value, share in rates.items()}
    lost = [_label(target, value) for value in rates if value not in classes]
    if lost:
        detail["note"] = f"never predicted, absent from the synthetic rows: {', '.join(lost)}"
    both = np.unique([truth, predicted], return_inverse=True)[1].reshape(2, -1)
    if both.max() == 0:
        return Result(0.0, {**detail, "note": "one class everywhere: nothing to predict"})
    return Result(float(matthews_corrcoef(*both)), detail)


def _features(rows: Rows, target: Column) -> FloatArray:
    """All other columns as numbers; missing values are NaN, which XGBoost understands."""
    others = [values for name, values in rows.numbers.items() if name != target.name]
    return with_nan(np.column_stack(others))


def _label(column: Column, value: float) -> str:
    if np.isneginf(value):
        return "missing"
    return str(column.domain.categories[int(value)]) if column.is_listed else f"{value:g}"


def rmse(c: Comparison) -> Result:
    """Root mean square error on the test rows of a linear regression on the synthetic ones.

    In units of the target (steps of the declared resolution for dates). Rows whose target is
    missing are left out; a missing feature takes its mean and raises a flag. Beside it stands
    the error of always guessing the mean of the training rows.
    """
    target = c.target("regression")
    train, test, synthetic = (known_target(x, target) for x in (c.train, c.test, c.synthetic))
    detail: dict[str, Any] = {"target": target.name, "model": "linear regression"}
    if len(test) == 0:
        return Result(0.0, {**detail, "note": "the target is missing in every test row"})
    truth = test.numbers[target.name]
    if len(synthetic) == 0:
        detail["note"] = "the target is missing in every synthetic row: 0 is predicted"
        predicted: FloatArray = np.zeros(len(truth))
    else:
        matrix = design(synthetic, synthetic, target)[1]
        weights = np.linalg.lstsq(matrix, synthetic.numbers[target.name], rcond=None)[0]
        predicted = design(test, synthetic, target)[1] @ weights
    guess = train.numbers[target.name].mean() if len(train) else 0.0
    detail["guessing the mean"] = float(np.sqrt(np.mean((truth - guess) ** 2)))
    return Result(float(np.sqrt(np.mean((truth - predicted) ** 2))), detail)


def known_target(rows: Rows, target: Column) -> Rows:
    """The rows whose target is not missing."""
    return rows.take(np.isfinite(rows.numbers[target.name]))


def design(rows: Rows, by: Rows, target: Column) -> tuple[list[str], FloatArray]:
    """Names and columns of a linear model: a constant, all other columns, flags of missing values.

    Columns are centred and scaled as those of the rows ``by``, so that the fit is stable; a column
    that misses values there has a flag.
    """
    names, parts = ["constant"], [np.ones(len(rows))]
    for name, values in by.numbers.items():
        if name == target.name:
            continue
        known = values[np.isfinite(values)]
        centre, spread = (known.mean(), known.std()) if len(known) else (0.0, 0.0)
        gap = np.isneginf(rows.numbers[name])
        names.append(name)
        parts.append((np.where(gap, centre, rows.numbers[name]) - centre) / (spread or 1.0))
        if len(known) < len(values):
            names.append(f"{name} missing")
            parts.append(gap.astype(float))
    return names, np.column_stack(parts)
