"""COPULA-SHIRLEY, the thesis' generator."""
