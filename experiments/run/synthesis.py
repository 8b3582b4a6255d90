"""What a candidate makes of a fold: a table, what it took, what was promised."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from copula_shirley.experiments.folds import Fold
from copula_shirley.experiments.specs import Run


class Skip(Exception):  # noqa: N818  (no error: a recorded reason)
    """A run that is left out on purpose; the text is the reason."""


@dataclass(frozen=True, eq=False)
class Synthesis:
    """A synthetic table and what it took: seconds and bytes of ``fit`` and ``sample``, apart.

    ``fit_cpu`` and ``sample_cpu`` are seconds of the processor, which other work on the machine
    hardly changes; memory is the peak beyond what was taken before. ``privacy`` has ``claimed``,
    ``proved`` and ``summary``, in words, and what else the ledger says.
    """

    table: pd.DataFrame
    seconds: Mapping[str, float]
    memory: Mapping[str, int]
    privacy: Mapping[str, Any]


def resolved(run: Run, fold: Fold) -> dict[str, Any]:
    """The settings of a run; ``$binary`` becomes the data set's column, or nothing."""
    settings: dict[str, Any] = {}
    for name, value in run.settings:
        if isinstance(value, str) and value.startswith("$"):
            if value[1:] in fold.dataset.tasks:
                settings[name] = fold.dataset.tasks[value[1:]]
        else:
            settings[name] = list(value) if isinstance(value, tuple) else value
    return settings


def by_its_word(run: Run, promised: bool, claim: str = "epsilon {epsilon:g}") -> dict[str, Any]:
    """What a generator that keeps no ledger promises: we know of no proof."""
    claimed = proved = why = "nothing"
    if promised and run.epsilon is not None:
        claimed, proved = f"{claim.format(epsilon=run.epsilon)}, by its own word", "not known"
        why = "not known: it keeps no ledger, and its code was not reviewed by us"
    summary = [["claimed", claimed], ["proved", why]]
    about = {"claimed": claimed, "proved": proved, "summary": summary}
    return {**about, "spends": [], "unprotected": []}
