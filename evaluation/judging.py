"""One table, judged: a part is held back, a trial model learns from the others and is scored."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone

from copula_shirley import tasks as jobs
from copula_shirley.evaluation.comparison import Comparison, Profile
from copula_shirley.evaluation.metrics.registry import Metric, chosen, measured, verdict
from copula_shirley.evaluation.result import jsonable
from copula_shirley.evaluation.splitting import dealt, split
from copula_shirley.fitted import Progress, RandomState, generator_of, silent
from copula_shirley.generator import Generator
from copula_shirley.schema.column import Column
from copula_shirley.schema.schema import Schema

#: Of so many parts of the table, one is held back to judge by.
PARTS = 5
#: Classes beyond which a column is no good target.
MOST_CLASSES = 12
#: What must be said beside figures of real rows.
EXACT = "They are computed from the real rows without noise, and no label covers them"


@dataclass(frozen=True)
class Trial:
    """The fit that was made to judge a table: which model, and what was spent."""

    model: str
    claimed: str
    proved: str
    #: Lines of the ledger: what, and how much.
    summary: list[tuple[str, str]]
    #: Why nothing is proved; empty if something is.
    unproved: list[str]


@dataclass(frozen=True)
class Judged:
    """Figures of a synthetic table beside real rows, and what they were computed from.

    ``frame`` is that of ``evaluate``. No figure of it is private: all are computed from the real
    rows without noise.
    """

    comparison: Comparison
    frame: pd.DataFrame
    title: str
    #: Whether the tasks were chosen here, since nobody named one.
    chosen_tasks: bool = False
    #: What made the synthetic rows, if that was done here.
    trial: Trial | None = None
    about: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def lines(self) -> dict[str, dict[str, Any]]:
        """The line of each metric."""
        found = self.frame.to_dict("records")
        return {str(line["metric"]): {str(key): x for key, x in line.items()} for line in found}

    @property
    def rows(self) -> dict[str, int]:
        """How many rows there are of each table."""
        c = self.comparison
        return {"train": len(c.train), "test": len(c.test), "synthetic": len(c.synthetic)}

    def to_json(self) -> str:
        """The figures with their details and verdicts, and what made them."""
        lines = [{**line, "verdict": verdict(line)} for line in self.lines.values()]
        own = {"note": EXACT, "rows": self.rows, "tasks": self.comparison.tasks, **self.about}
        own |= {} if self.trial is None else {"trial": jsonable(self.trial)}
        whole = {**own, **made_by(), "metrics": jsonable(lines)}
        return json.dumps(whole, indent=2, allow_nan=False)

    def to_html(self) -> str:
        """The report as one page that needs no network."""
        from copula_shirley.evaluation.report.page import render  # noqa: PLC0415  (templates)

        return render(self)


def made_by() -> dict[str, str]:
    """The versions that figures depend on."""
    return {
        "version": version("copula-shirley"),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "xgboost": version("xgboost-cpu"),
    }


def judge(
    table: pd.DataFrame,
    schema: Schema,
    generator: Generator,
    tasks: Mapping[str, str] | None = None,
    random_state: RandomState = None,
    *,
    progress: Progress = silent,
    **how: Any,
) -> Judged:
    """Say what a synthetic table of a generator would be worth: for who may see the rows.

    A fifth of the rows is held back, all rows of a person together. A copy of the generator learns
    from the others and draws as many rows as it learned from. Neither the model nor the rows are
    kept: the generator itself is left as it was.

    Parameters
    ----------
    table, schema
        The table and its domain; with the generator's ``on_unknown="clip"`` values off the schema
        go to the nearest bound before anything is compared.
    generator : Generator
        Its settings say the budget.
    tasks : mapping, optional
        As in ``evaluate``; without them some are chosen by ``sensible_tasks``.
    how
        What else ``judge_tables`` takes.
    """
    rng, generator = generator_of(random_state), clone(generator)
    train, test = split(table, dealt(table, schema.person, PARTS, rng), 0)
    order = jobs.Order(generator, train, schema, accept_unproved=True, accept_poor=True)

    def told(share: float, of: float) -> Callable[[str, float], None]:
        return lambda stage, done: progress(stage, share + of * done)

    done = jobs.fitted(order, "", told(0.0, 0.3))
    progress("draw", 0.3)
    drawn = generator.sample(len(train), random_state=rng)
    known = generator.table_schema_
    own = [c.name for c in schema if c.provenance == "private"]
    if getattr(generator, "on_unknown", "refuse") == "clip":
        own = list(schema.names)
    train, test = known.clipped(train, own), known.clipped(test, own)
    wanted = tasks or sensible_tasks(train, known, getattr(generator, "target", None))
    three = (train, test, drawn)
    judged = judge_tables(*three, known, wanted, rng, progress=told(0.35, 0.65), **how)
    ledger = generator.ledger_
    claimed, proved = (str(x or "nothing") for x in (ledger.claimed, ledger.proved))
    trial = Trial(type(generator).__name__, claimed, proved, ledger.summary(), done.unproved)
    return replace(judged, chosen_tasks=not tasks, trial=trial)


def judge_tables(
    train: pd.DataFrame,
    test: pd.DataFrame,
    synthetic: pd.DataFrame,
    schema: Schema,
    tasks: Mapping[str, str] | None = None,
    random_state: RandomState = None,
    *,
    title: str = "",
    metrics: Iterable[str] | Mapping[str, Metric] | None = None,
    profile: Profile = "light",
    reference: bool = True,
    progress: Progress = silent,
    **roles: Any,
) -> Judged:
    """The figures of ``evaluate``, with what a report on them needs; the same parameters."""
    tables = (train, test, synthetic)
    c = Comparison.of(*tables, schema, tasks, random_state, profile=profile, **roles)
    return Judged(c, measured(c, chosen(c, metrics), reference, progress), title)


def sensible_tasks(
    table: pd.DataFrame, schema: Schema, target: str | None = None
) -> dict[str, str]:
    """What a model could be asked to predict: the target, and a column of each sort.

    Of two, of several and of very many values the one is taken that has the most even shares, as
    predicting it says most. Columns that a rule binds give each other away, and not every method
    predicts missing values: such columns are taken only if there are no others.
    """
    if len(schema) < 2:
        return {}
    known = {name for rule in schema.rules for name in rule.names}
    found: dict[str, str] = {}
    for task, fits in SORTS.items():
        own = [column for column in schema if fits(column)]
        free = [column for column in own if column.name not in known] or own
        free = [column for column in free if not column.missing] or free
        if any(column.name == target for column in own):
            found[task] = str(target)
        elif own:
            found[task] = max(free, key=lambda column: _evenness(table[column.name])).name
    return found


def _classes(column: Column) -> int:
    return len(column.domain.categories) if column.is_listed else 0


#: Which columns a task may have for its target.
SORTS: dict[str, Callable[[Column], bool]] = {
    "binary": lambda column: _classes(column) == 2,
    "multiclass": lambda column: 2 < _classes(column) <= MOST_CLASSES,
    "regression": lambda column: not column.is_listed,
}


def _evenness(values: pd.Series) -> float:
    """The entropy of the shares of the values."""
    shares = values.astype(str).value_counts(normalize=True).to_numpy()
    return float(-(shares * np.log(shares)).sum())
