"""Runs: each in a process of its own, with limits, resumable."""
