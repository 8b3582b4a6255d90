"""One person's device as something to audit: in people's own reports the promise is about it alone.

An audit of a ``LocalVine`` sees what thousands of reports say together, in which one report
drowns: no device that tosses false coins would be found there. ``OneReport`` is fitted to a table,
takes its last row as the record of one person, in which the tables of a pair differ, and lets the
device answer the first question of a survey (``copula_shirley.local.device``). What others say is
drawn without her. Then it puts a second question of the same survey to her device, which must
refuse: whatever report leaves is part of what is seen, and the claim is what her ledger says.
"""

from __future__ import annotations

import json
import tempfile
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from copula_shirley.errors import ReportError, SettingError
from copula_shirley.evaluation.audit.bounds import FloatArray
from copula_shirley.local import device
from copula_shirley.local.calibration import MECHANISM, NEIGHBOURS
from copula_shirley.local.coins import randomiser_of
from copula_shirley.local.generator import LEAST_PEOPLE, LocalVine
from copula_shirley.local.survey import Survey
from copula_shirley.privacy.budget import Budget
from copula_shirley.privacy.ledger import Ledger
from copula_shirley.schema.schema import Schema


class OneReport:
    """What leaves the device of the person of the last row; her coins are the system's, no seed's.

    Examples
    --------
    >>> from copula_shirley import Column
    >>> schema = Schema((Column("a", "integer", minimum=0, maximum=3),))
    >>> asked = OneReport(epsilon=2.0).fit(pd.DataFrame({"a": [0, 3]}), schema)
    >>> len(asked.ledger_.spends), 1.999 < asked.ledger_.spent.epsilon <= 2
    (1, True)
    """

    def __init__(self, epsilon: float = 1.0) -> None:
        self.epsilon = epsilon

    def fit(self, table: pd.DataFrame, schema: Schema) -> OneReport:
        """Ask the person of the last row twice."""
        last = table.iloc[-1]
        record = {c.name: None if pd.isna(last[c.name]) else last[c.name] for c in schema}
        question = json.loads(_question(json.dumps(schema.to_dict()), self.epsilon))
        self._said: dict[str, FloatArray] = {}
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "ledger.json"
            for number, wave in enumerate((1, 2)):
                with suppress(ReportError):
                    report = device.answer({**question, "wave": wave}, record, path, self.epsilon)
                    self._said[f"report {number}"] = spoken(question, report)
            entries = json.loads(path.read_text())["surveys"].values()
        budget = Budget(self.epsilon)
        self.ledger_ = Ledger(budget, claimed=budget, neighbours=NEIGHBOURS)
        for entry in entries:
            self.ledger_.charge("report", "one table", MECHANISM, entry["epsilon"])
        return self

    def _state(self) -> tuple[dict[str, Any], dict[str, FloatArray]]:
        return {}, self._said

    def sample(self, n: int) -> pd.DataFrame:
        """There is nothing to draw."""
        raise SettingError(f"rows ({n}) cannot be drawn from one report: audit it with --box white")


def spoken(question: dict[str, Any], report: dict[str, Any]) -> FloatArray:
    """For which cells of which table a report speaks: all cells of all tables in one line."""
    parts = [np.zeros(randomiser_of(one["randomiser"]).cells) for one in question["tables"]]
    place, said = report["table"], report["said"]
    randomiser = randomiser_of(question["tables"][place]["randomiser"])
    chances = [randomiser.probability(said, cell) for cell in range(randomiser.cells)]
    parts[place] = np.array([chance > min(chances) for chance in chances], dtype=float)
    return np.concatenate(parts)


@lru_cache(8)
def _question(schema: str, epsilon: float) -> str:
    """The first question of a survey, as its file has it."""
    with tempfile.TemporaryDirectory() as folder:
        known = Schema.from_dict(json.loads(schema))
        people = 20 * LEAST_PEOPLE
        survey = Survey.create(Path(folder) / "survey", known, LocalVine(epsilon), people)
        return survey.question_path.read_text(encoding="utf-8")
