"""Measures of synthetic tables: functions of tables, no generator inside."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from copula_shirley.evaluation.attacks.membership import Membership, membership_inference
    from copula_shirley.evaluation.comparison import Comparison
    from copula_shirley.evaluation.metrics.marginals import Binning, total_variation
    from copula_shirley.evaluation.metrics.registry import METRICS, Metric, evaluate, verdict
    from copula_shirley.evaluation.metrics.statistics import kolmogorov_smirnov, spearman_drift
    from copula_shirley.evaluation.result import Result

if __name__ != "copula_shirley.evaluation":  # else its modules would be loaded twice
    raise ImportError("import copula_shirley.evaluation, not evaluation")

__all__ = [
    "evaluate",
    "METRICS",
    "Metric",
    "Result",
    "Comparison",
    "verdict",
    "membership_inference",
    "Membership",
    "kolmogorov_smirnov",
    "spearman_drift",
    "total_variation",
    "Binning",
]

# Imported when they are asked for: the classifiers take seconds.
_HOMES = {
    "comparison": ("Comparison",),
    "metrics.marginals": ("Binning", "total_variation"),
    "attacks.membership": ("Membership", "membership_inference"),
    "metrics.registry": ("METRICS", "Metric", "evaluate", "verdict"),
    "result": ("Result",),
    "metrics.statistics": ("kolmogorov_smirnov", "spearman_drift"),
}


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
