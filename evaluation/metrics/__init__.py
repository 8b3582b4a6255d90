"""Measures of how near a synthetic table is to the real one."""
