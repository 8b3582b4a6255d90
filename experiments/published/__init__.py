"""Experiments of other papers, done again: their printed numbers beside ours, with a verdict each.

``agrawal_srikant`` (distorted values, reconstruction, decision trees), ``cai_kou`` (secure sums,
regression) and ``rappor``; ``claims.yaml`` has what they print, ``claims`` judges it, ``document``
writes it.
"""
