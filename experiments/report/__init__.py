"""The report of a benchmark: one HTML file that needs no network."""

from copula_shirley.experiments.report.page import render, write_report

__all__ = ["render", "write_report"]
