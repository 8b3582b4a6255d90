"""The report on one synthetic table, and what it shares with that of a benchmark."""

from copula_shirley.evaluation.report.page import render, write_report

__all__ = ["render", "write_report"]
