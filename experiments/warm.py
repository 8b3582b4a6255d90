"""What the server from which runs are forked does first: slow imports, and what is read once.

A run then starts with all of it in memory.
"""

from __future__ import annotations

import gc
import importlib
from collections.abc import Iterable

from threadpoolctl import ThreadpoolController

import experiments.execute
from copula_shirley.api import find_generator, generators
from evaluation.metrics import known_metrics
from experiments.datasets import catalogue, keep_in_memory
from experiments.peers import known_peers
from experiments.provenance import OURS

SLOW = ("experiments.runner", "copula_shirley.vine", "scipy.stats", "xgboost")


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
    experiments.execute.pools = ThreadpoolController()
    gc.collect()
    gc.freeze()  # else the first collection of a run would touch, and so copy, all of the above
