"""Measures of synthetic tables: functions of tables, no generator inside."""

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
