"""Generators of others, each in an environment of its own.

A peer is an adapter file and a file of pins. It runs in a process of its own with a Python of its
own; tables go back and forth as Parquet. ``peers.yaml`` lists those that ship with the project.

The adapter has a class ``Generator``::

    class Generator:
        def __init__(self, epsilon, delta, seed, domain, **settings): ...
        def fit(self, table): ...          # a pandas DataFrame
        def sample(self, n): ...           # a DataFrame with n rows and the same columns

With ``takes: values`` the table has the values themselves and ``domain`` gives for each column its
``kind``, ``missing``, and ``categories`` or ``minimum`` and ``maximum``. With ``takes: cells`` the
table has whole numbers, the cells of the declared domain, and ``domain`` gives the number of cells
of each column; what comes back is turned into values inside the cells. ``takes: quantiles`` is the
same with cells of equal mass, which are read off the rows without noise and given away. ``epsilon``
is None only for an adapter whose entry says ``private: false``. Its pins must have pandas and
pyarrow.
"""

from __future__ import annotations

from copula_shirley.experiments.peers.environments import PeerError
from copula_shirley.experiments.peers.peer import Peer, find_peer, known_peers

__all__ = ["Peer", "PeerError", "find_peer", "known_peers"]
