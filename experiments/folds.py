"""Cross-validation: folds in which nobody stands on both sides."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from copula_shirley.evaluation.splitting import dealt, split
from copula_shirley.experiments.datasets import Dataset
from copula_shirley.experiments.specs import Run, Unit
from copula_shirley.schema.schema import Schema


@dataclass(frozen=True, eq=False)
class Fold:
    """Training and test rows of a data set, and the schema under which they are protected."""

    dataset: Dataset
    schema: Schema
    train: pd.DataFrame
    test: pd.DataFrame

    @property
    def rows(self) -> int:
        """How many rows a generator draws: as many as there are, as in the thesis."""
        return len(self.train) + len(self.test)


def fold_of(dataset: Dataset, run: Run) -> Fold:
    """One fold of k-fold cross-validation (thesis 5.1).

    People are dealt to the folds like cards, each with all rows, so that no test row belongs to
    somebody in the training rows. The deal depends on the data set and the number of folds only.
    With ``unit="row"`` rows are dealt, and the schema forgets who is whose.
    """
    table, schema = dataset.table, dataset.schema
    if run.unit == "row":
        schema = replace(schema, person=None, max_rows=1)
        table = table[list(schema.names)]
    if run.rows is not None and run.rows < len(table):
        keep = run.rng("rows").permutation(len(table))[: run.rows]
        table = table.iloc[np.sort(keep)]
    table = table.reset_index(drop=True)
    part = dealt(table, schema.person, run.folds, run.rng("folds"))
    train, test = split(table, part, run.fold)
    return Fold(dataset, schema, train, test)


def first_fold(dataset: Dataset, unit: Unit = "person") -> Fold:
    """The first of five folds, for what needs no more than one."""
    return fold_of(dataset, Run(dataset.name, generator="", use="", unit=unit))
