"""Measures of synthetic tables: functions of tables, no generator inside."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from copula_shirley.evaluation.attacks.membership import Membership as Membership
    from copula_shirley.evaluation.attacks.membership import (
        membership_inference as membership_inference,
    )
    from copula_shirley.evaluation.comparison import Comparison as Comparison
    from copula_shirley.evaluation.metrics.marginals import Binning as Binning
    from copula_shirley.evaluation.metrics.marginals import total_variation as total_variation
    from copula_shirley.evaluation.metrics.registry import METRICS as METRICS
    from copula_shirley.evaluation.metrics.registry import Metric as Metric
    from copula_shirley.evaluation.metrics.registry import evaluate as evaluate
    from copula_shirley.evaluation.metrics.registry import verdict as verdict
    from copula_shirley.evaluation.metrics.statistics import (
        kolmogorov_smirnov as kolmogorov_smirnov,
    )
    from copula_shirley.evaluation.metrics.statistics import spearman_drift as spearman_drift
    from copula_shirley.evaluation.result import Result as Result

if __name__ != "copula_shirley.evaluation":  # else its modules would be loaded twice
    raise ImportError("import copula_shirley.evaluation, not evaluation")

# Imported when they are asked for: the classifiers take seconds.
_NAMES = {
    "metrics.registry": "evaluate METRICS Metric verdict",
    "result": "Result",
    "comparison": "Comparison",
    "attacks.membership": "membership_inference Membership",
    "metrics.statistics": "kolmogorov_smirnov spearman_drift",
    "metrics.marginals": "total_variation Binning",
}
_PLACES = {name: module for module, names in _NAMES.items() for name in names.split()}
__all__ = [*_PLACES]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
