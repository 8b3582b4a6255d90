"""Imported by the server from which runs are forked: slow imports and what is read once.

A run then starts with all of it in memory.
"""

from __future__ import annotations

import gc
import importlib
import os
import warnings

from threadpoolctl import ThreadpoolController

import experiments.execute
import experiments.runner
from copula_shirley.api import find_generator, generators
from evaluation.metrics import known_metrics
from experiments import forks, kin
from experiments.datasets import catalogue, keep_in_memory
from experiments.peers import known_peers
from experiments.provenance import OURS

for name in ("copula_shirley.vine", "scipy.stats", "xgboost"):
    importlib.import_module(name)
catalogue()
known_peers()
known_metrics()
for name, point in generators().items():
    if point.module.split(".")[0] in OURS:  # the state of others' modules is not for all to share
        find_generator(name)
for name in filter(None, os.environ.pop(forks.DATASETS, "").split(",")):
    keep_in_memory(name)
experiments.execute.pools = ThreadpoolController()
forks.adopts = kin.adopt_orphans()
# what multiprocessing says when somebody whom we adopted ends
warnings.filterwarnings("ignore", message="forkserver: waitpid returned unexpected pid")
gc.collect()
gc.freeze()  # else the first collection of a run would touch, and so copy, all of the above
