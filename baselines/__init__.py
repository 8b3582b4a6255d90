"""Baseline generators behind the same contract as CopulaShirley."""

from copula_shirley.baselines.bayes import PrivBayes
from copula_shirley.baselines.copula import DPCopula
from copula_shirley.baselines.histogram import DPHistogram
from copula_shirley.baselines.reference import Real, Uniform

if __name__ != "copula_shirley.baselines":  # else its modules would be loaded twice
    raise ImportError("import copula_shirley.baselines, not baselines")

__all__ = ["DPCopula", "DPHistogram", "PrivBayes", "Real", "Uniform"]
