"""Measures of synthetic tables: functions of tables, no generator inside."""

from evaluation.statistics import kolmogorov_smirnov, spearman_drift

__all__ = ["kolmogorov_smirnov", "spearman_drift"]
