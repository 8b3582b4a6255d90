"""Baseline generators behind the same contract as CopulaShirley."""
