"""Chapter V of the thesis again: its figures, its tables, and a verdict on each of its claims.

Everything here is a pure function of the tidy frame of ``experiments.run.store.tidy`` with one more
column, ``experiment``, and of the rows drawn from the made set.
"""
