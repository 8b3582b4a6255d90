"""Generators from outside, good and bad, for the tests of the runner."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from works import eat

from copula_shirley.privacy.ledger import Budget, Ledger


class Copies:
    """The least that can be scored: fit(table) and sample(n)."""

    def fit(self, table: pd.DataFrame) -> None:
        self.table = table.copy()

    def sample(self, n: int) -> Any:
        return self.table.sample(n, replace=True, random_state=0).reset_index(drop=True)


class Asks(Copies):
    """Takes everything that a constructor may ask for, and the schema."""

    def __init__(self, epsilon: float, seed: int, mood: str = "calm") -> None:
        self.asked = (epsilon, seed, mood)

    def fit(self, table: pd.DataFrame, schema: Any = None) -> None:
        assert schema is not None
        assert self.asked[2] == "wild"
        super().fit(table)


class Raises(Copies):
    def fit(self, table: pd.DataFrame) -> None:
        raise RuntimeError("no such luck")


class Hangs(Copies):
    def __init__(self, pid_file: str) -> None:
        self.pid_file = pid_file

    def fit(self, table: pd.DataFrame) -> None:
        Path(self.pid_file).write_text(str(os.getpid()), encoding="ascii")
        time.sleep(600)


class Eats(Copies):
    def fit(self, table: pd.DataFrame) -> None:
        eat()


class Dies(Copies):
    def fit(self, table: pd.DataFrame) -> None:
        print("these were my last words", flush=True)
        os._exit(7)


class WrongColumns(Copies):
    def sample(self, n: int) -> Any:
        return super().sample(n).rename(columns={"A": "X"})


class TooFew(Copies):
    def sample(self, n: int) -> Any:
        return super().sample(n - 1)


class NoTable(Copies):
    def sample(self, n: int) -> Any:
        return list(range(n))


class Gaps(Copies):
    def sample(self, n: int) -> Any:
        return super().sample(n).assign(A=lambda drawn: drawn["A"].where(drawn.index > 4))


class Overwrites(Copies):
    """Encodes its table in place, as careless code does."""

    def fit(self, table: pd.DataFrame) -> None:
        super().fit(table)
        table["A"] = 0.0


class Proves(Copies):
    """Brings a ledger of its own that says that all is well."""

    def __init__(self, epsilon: float) -> None:
        self.ledger_ = Ledger(Budget(epsilon), neighbours="add-remove")
        self.ledger_.charge("trust", "me", "none", epsilon)


class Dice(Copies):
    """Draws from the global state of numpy."""

    def sample(self, n: int) -> Any:
        return super().sample(n).assign(A=np.random.uniform(-1, 1, n))  # noqa: NPY002
