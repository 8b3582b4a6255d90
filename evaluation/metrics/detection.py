"""Whether one can tell synthetic rows from real ones.

As many test rows as synthetic ones are mixed. The AUC of a strong classifier, cross-validated,
says how well a single row gives itself away; pMSE (Woo et al. 2009, Snoke et al. 2018) says how
far a simple model's propensities stray from one half.
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from copula_shirley.evaluation.attacks.encoding import indicators, scaled
from copula_shirley.evaluation.comparison import Comparison, Rows, together, with_nan
from copula_shirley.evaluation.metrics.learning import FORESTS, forest
from copula_shirley.evaluation.result import Result

FOLDS = 5


def detection_auc(c: Comparison) -> Result:
    """Area under the ROC curve of XGBoost telling test from synthetic rows.

    Below .5 the classifier is worse than a coin, which happens when the synthetic rows are
    copies: that is .5 here, and the raw figure stands in the detail.
    """
    real, synthetic = _mixed(c)
    if len(real) < FOLDS:
        return Result(0.5, {"note": f"fewer than {FOLDS} rows to tell apart"})
    rows = with_nan(np.column_stack(list(together(real, synthetic).values())))
    labels = np.repeat([0, 1], [len(real), len(synthetic)])
    seed = int(c.rng("detection folds").integers(2**31))
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    chances = cross_val_predict(forest(c, "light"), rows, labels, cv=folds, method="predict_proba")
    raw = float(roc_auc_score(labels, chances[:, 1]))
    model = f"XGBoost {FORESTS['light']}, {FOLDS} folds"
    return Result(max(raw, 0.5), {"raw": raw, "rows of each": len(real), "model": model})


def propensity_mse(c: Comparison) -> Result:
    """Mean squared distance from 1/2 of a logistic model's chance that a row is synthetic.

    0 is best and 1/4 is worst. The model has a coefficient for each category and number, fitted
    and read on the same rows; ``ratio`` in the detail divides by what independent draws from the
    same distribution have on average, k / (8 n) with k coefficients and n rows of each. (Snoke et
    al. 2018 have half of it: they hold the real rows fixed.)
    """
    real, synthetic = _mixed(c)
    labels = np.repeat([0, 1], [len(real), len(synthetic)])
    rows = np.hstack(
        [
            indicators(numbers)[:, 1:] if c.schema[name].nominal else scaled(numbers)
            for name, numbers in together(real, synthetic).items()
        ]
    )
    if rows.shape[1] == 0:
        return Result(0.0, {"note": "all rows are equal"})
    model = LogisticRegression(C=1e4, solver="newton-cholesky", max_iter=200)
    with warnings.catch_warnings():
        # on a few rows that can be told apart the coefficients grow without end; chances do not
        warnings.simplefilter("ignore")
        chances = model.fit(rows, labels).predict_proba(rows)[:, 1]
    value = float(np.mean((chances - 0.5) ** 2))
    expected = np.linalg.matrix_rank(rows - rows.mean(axis=0)) / (8 * len(real))
    ratio = {"ratio": float(value / expected)} if expected > 0 else {}
    return Result(value, {"model": "logistic regression", "rows of each": len(real), **ratio})


def _mixed(c: Comparison) -> tuple[Rows, Rows]:
    """As many test as synthetic rows; all of the smaller table."""
    n, rng = min(len(c.test), len(c.synthetic)), c.rng("detection rows")

    def some(rows: Rows) -> Rows:
        return rows if len(rows) == n else rows.take(np.sort(rng.choice(len(rows), n, False)))

    return some(c.test), some(c.synthetic)
