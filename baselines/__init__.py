"""Baseline generators behind the same contract as CopulaShirley."""

from baselines.dp_copula import DPCopula
from baselines.dp_histogram import DPHistogram
from baselines.privbayes import PrivBayes
from baselines.reference import Real, Uniform

__all__ = ["DPCopula", "DPHistogram", "PrivBayes", "Real", "Uniform"]
