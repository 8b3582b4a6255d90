"""Benchmarks: ratios within one run against a named rival or limit."""
