"""Imported by the server from which runs are forked: slow imports and what is read once.

A run then starts with all of it in memory.
"""

from __future__ import annotations

import importlib

import experiments.execute  # noqa: F401
from experiments.datasets import catalogue
from experiments.peers import known_peers

for name in ("copula_shirley.vine", "scipy.stats", "xgboost"):
    importlib.import_module(name)
catalogue()
known_peers()
