"""Measures of synthetic tables: functions of tables, no generator inside."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evaluation.comparison import Comparison
    from evaluation.marginals import Binning, total_variation
    from evaluation.membership import Membership, membership_inference
    from evaluation.metrics import METRICS, Metric, evaluate, verdict
    from evaluation.result import Result
    from evaluation.statistics import kolmogorov_smirnov, spearman_drift

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

# Imported when they are asked for: pytest loads evaluation.pytest_plugin at every start, and must
# not wait for classifiers.
_HOMES = {
    "comparison": ("Comparison",),
    "marginals": ("Binning", "total_variation"),
    "membership": ("Membership", "membership_inference"),
    "metrics": ("METRICS", "Metric", "evaluate", "verdict"),
    "result": ("Result",),
    "statistics": ("kolmogorov_smirnov", "spearman_drift"),
}


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"evaluation.{module}"), name)
    raise AttributeError(f"module 'evaluation' has no attribute {name!r}")
