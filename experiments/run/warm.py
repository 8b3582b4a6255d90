"""What the server from which runs are forked does first: slow imports, and what is read once.

A run then starts with all of it in memory.
"""

from __future__ import annotations

import gc
import importlib
from collections.abc import Iterable

from threadpoolctl import ThreadpoolController

import copula_shirley.experiments.run.execute
from copula_shirley.evaluation.metrics.registry import known_metrics
from copula_shirley.experiments.datasets import catalogue, keep_in_memory
from copula_shirley.experiments.generators import known_peers
from copula_shirley.experiments.run.provenance import OURS
from copula_shirley.generator import find_generator, generators

SLOW = (
    "copula_shirley.experiments.run.runner",
    "copula_shirley.thesis.vine",
    "scipy.stats",
    "xgboost",
)


def warm(datasets: Iterable[str]) -> None:
    """Import and read what runs want."""
    for name in SLOW:
        importlib.import_module(name)
    catalogue()
    known_peers()
    known_metrics()
    for name, point in generators().items():
        if point.module.split(".")[0] in OURS:  # others' modules are not for all runs to share
            find_generator(name)
    for name in datasets:
        keep_in_memory(name)
    copula_shirley.experiments.run.execute.pools = ThreadpoolController()
    gc.collect()
    gc.freeze()  # else the first collection of a run would touch, and so copy, all of the above
