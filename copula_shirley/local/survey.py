"""A survey of real people: the side that asks, in waves, and learns from the reports.

A folder holds ``survey.json``: schema, settings, and what was made of the closed waves. Each wave
is one query of the vine as a question file, whose devices' reports (``local.device``) are added up
when it is closed. What is asked next follows from the answers so far; who is asked is a matter of a
draw, or of who comes, that must not look at anybody's record.

Nothing here is private: whoever reads the folder reads perturbed reports.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from copula_shirley.errors import ArtefactError, ReportError, SchemaError, SettingError
from copula_shirley.files.atomic import atomic_path
from copula_shirley.fitted import silent
from copula_shirley.local.calibration import asks_nobody
from copula_shirley.local.coins import Randomiser, check_whole, described
from copula_shirley.local.curator import answer_of, randomisers_of
from copula_shirley.local.device import QUESTION, REPORT
from copula_shirley.local.generator import LocalVine
from copula_shirley.local.oracles import tallied
from copula_shirley.measure.queries import Query
from copula_shirley.measure.transcript import Answer, Transcript
from copula_shirley.private_vine.cell_maps import Axis, GroupMap
from copula_shirley.rules.coordinates import Coordinates
from copula_shirley.schema.schema import Schema

FORMAT, FILE = "shirley survey 1", "survey.json"
#: Letters of a line of a report file.
LONGEST_LINE = 2**22


class _State(msgspec.Struct, forbid_unknown_fields=True):
    """What ``survey.json`` says."""

    format: str
    survey: str
    schema: dict[str, Any]
    settings: dict[str, Any]
    people: int
    pool_seed: int
    #: Of each closed query: its counts by table, and how many people answered each.
    counts: list[list[list[int]]] = []
    told: list[list[int]] = []


@dataclass
class Survey:
    """One survey, from its first question to the model."""

    folder: Path
    state: _State
    _queries: list[Query] = field(default_factory=list)

    # -- folders -----------------------------------------------------------------------

    @classmethod
    def create(cls, folder: Path, schema: Schema, model: LocalVine, people: int) -> Survey:
        """A new survey of about so many people, in a folder that has none yet."""
        model.check_settings(schema)
        check_whole("people", people, 100, 2**40)
        coordinates = model.coordinates(schema)
        if coordinates.modelled != schema or coordinates.rejecting() is not None:
            raise SchemaError(
                "rules must be left out of the schema of a survey: devices look at columns as "
                "they are"
            )
        if (folder / FILE).exists():
            raise SettingError(f"folder ({str(folder)!r}) has a survey already; take another one")
        settings = {k: v for k, v in model.get_params().items() if k != "random_state"}
        state = _State(
            FORMAT, secrets.token_hex(16), schema.to_dict(), settings, people, secrets.randbits(63)
        )
        folder.mkdir(parents=True, exist_ok=True)
        found = cls(folder, state)
        found._advance()
        return found

    @classmethod
    def open(cls, folder: Path) -> Survey:
        try:
            state = msgspec.json.decode((folder / FILE).read_bytes(), type=_State)
        except FileNotFoundError:
            raise SettingError(f"folder ({str(folder)!r}) must hold a survey ({FILE})") from None
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise ArtefactError(f"{str(folder / FILE)!r} is damaged: {error}") from None
        if state.format != FORMAT or len(state.counts) != len(state.told):
            raise ArtefactError(f"{str(folder / FILE)!r} must have format {FORMAT!r}")
        return cls(folder, state)

    # -- waves -------------------------------------------------------------------------

    @property
    def schema(self) -> Schema:
        return Schema.from_dict(self.state.schema)

    @property
    def _coordinates(self) -> Coordinates:
        return Coordinates.under(self.schema, {})

    def model(self) -> LocalVine:
        """The unfitted model, which counts with these people."""
        model = LocalVine(**self.state.settings)
        model.count(self.state.people, self.state.told)
        return model

    def next_query(self) -> Query | None:
        """What is asked next, by the answers so far; None if nothing is."""
        model = self.model()
        problem = model.problem(self._coordinates, self.state.pool_seed)
        asking = model.learning(problem, silent)
        self._queries = []
        try:
            self._queries.append(next(asking))
            for i in range(len(self.state.counts)):
                self._queries.append(asking.send(self._answer(i)))
        except StopIteration:
            return None
        return self._queries[-1]

    def _answer(self, i: int) -> Answer:
        query, noise = self._queries[i], self.model().noise()
        if asks_nobody(query):
            return Answer([np.full(one.shape, noise.people) for one in query.cell_maps], 0.0)
        found = randomisers_of(query, noise.epsilon)
        tallies = [np.array(counts) for counts in self.state.counts[i]]
        sizes = [one.outputs if one else 1 for one in found]
        if [len(tally) for tally in tallies] != sizes or len(self.state.told[i]) != len(sizes):
            raise ArtefactError(f"{FILE} is damaged: its counts are not those of {query.stage}")
        return answer_of(query, noise, found, tallies, self.state.told[i])

    @property
    def wave(self) -> int:
        """The number of the wave that is open."""
        return sum(sum(told) > 0 for told in self.state.told) + 1

    @property
    def question_path(self) -> Path:
        return self.folder / f"wave-{self.wave}.question.json"

    def question(self, query: Query) -> dict[str, Any]:
        """A query as devices are asked it."""
        axes: list[dict[str, Any]] = []
        places: dict[int, int] = {}
        tables = []
        epsilon = float(self.state.settings["epsilon"])
        for one, randomiser in zip(query.cell_maps, randomisers_of(query, epsilon), strict=True):
            if randomiser is None or not isinstance(one, GroupMap):
                continue
            for axis in one.parts:
                if id(axis) not in places:
                    places[id(axis)] = len(axes)
                    axes.append(_axis(axis, self.schema))
            own = [places[id(axis)] for axis in one.parts]
            tables.append({"axes": own, "randomiser": described(randomiser)})
        return {
            "format": QUESTION,
            "survey": self.state.survey,
            "wave": self.wave,
            "epsilon": epsilon,
            "tables": tables,
            "axes": axes,
        }

    def _advance(self) -> Query | None:
        """Answer what needs nobody, save, and write the next question; None at the end."""
        query = self.next_query()
        while query is not None and asks_nobody(query):
            self.state.counts.append([[0] for _ in query.cell_maps])
            self.state.told.append([0 for _ in query.cell_maps])
            query = self.next_query()
        with atomic_path(self.folder / FILE) as path:
            path.write_bytes(msgspec.json.encode(self.state))
        if query is not None:
            with atomic_path(self.question_path) as path:
                path.write_text(json.dumps(self.question(query)), encoding="utf-8")
        return query

    def wanted(self, query: Query) -> int:
        """About how many people the open question is for."""
        return round(query.share * self.state.people)

    def close(self, files: Iterable[Path]) -> tuple[int, Query | None]:
        """Add up the reports of the open wave: how many there were, and the next query."""
        query = self.next_query()
        if query is None:
            raise SettingError("survey: all questions are answered; finish it")
        own = [one for one in randomisers_of(query, float(self.state.settings["epsilon"])) if one]
        said = _reports(files, self.state.survey, self.wave, own)
        lacking = [i for i, reports in enumerate(said) if not reports]
        if lacking:
            raise SettingError(
                f"reports: {len(lacking):,} of {len(own):,} tables have none yet (table "
                f"{lacking[0]} first); wait for more people before the wave is closed"
            )
        tallies = [tallied(one, reports) for one, reports in zip(own, said, strict=True)]
        counts, told = [], []
        waiting = iter(tallies)
        for randomiser in randomisers_of(query, float(self.state.settings["epsilon"])):
            tally, n = next(waiting) if randomiser else (np.zeros(1, dtype=int), 0)
            counts.append(tally.tolist())
            told.append(n)
        self.state.counts.append(counts)
        self.state.told.append(told)
        return sum(told), self._advance()

    def finish(self) -> LocalVine:
        """The model, after the last wave."""
        if self.next_query() is not None:
            raise SettingError(f"survey: wave {self.wave} is open; close it first")
        transcript = Transcript()
        for i, query in enumerate(self._queries):
            transcript.add(query, self._answer(i))
        model = LocalVine(**self.state.settings)
        told = self.state.told
        known = (self.state.people, self.state.pool_seed, transcript, told)
        return model.fit_survey(self.schema, *known)


def _axis(axis: Axis, schema: Schema) -> dict[str, Any]:
    """An axis as a device reads it."""
    column, groups = schema[axis.name], [int(group) for group in axis.groups]
    about = {"column": axis.name, "groups": groups, "missing": column.missing}
    if axis.intervals is None:
        near = {"nearest": True} if column.domain.nearest_metres else {}  # the cells of a grid
        return {**about, "categories": list(column.domain.categories), **near}
    found = {**about, "low": axis.intervals.low.tolist(), "step": column.domain.step_size}
    start, step = column.domain.amounts(np.array([0.0, 1.0]))
    if column.domain.quantity and not column.is_number:  # microseconds
        found |= {"since": start / 1e6, "seconds": (step - start) / 1e6}
    return found


def _reports(
    files: Iterable[Path], survey: str, wave: int, own: list[Randomiser]
) -> list[list[Any]]:
    """What was said of each table; a report that came twice counts once. Values are not quoted."""
    said: list[list[Any]] = [[] for _ in own]
    seen: set[str] = set()
    for path, number, report in _lines(files):
        where = f"{str(path)!r}, line {number}"
        if not isinstance(report, dict) or report.get("format") != REPORT:
            raise ReportError(f"{where}: must be a report of format {REPORT!r}")
        if (report.get("survey"), report.get("wave")) != (survey, wave):
            raise ReportError(f"{where}: the report is not of wave {wave} of this survey")
        name = report.get("id")
        if not isinstance(name, str) or not name:
            raise ReportError(f"{where}: the report must have an id")
        try:
            table = check_whole("table", report.get("table"), 0, len(own) - 1)
            own[table].check(report.get("said"))
        except ReportError as error:
            raise ReportError(f"{where}: {error}") from None
        if name not in seen:
            seen.add(name)
            said[table].append(report["said"])
    return said


def _lines(files: Iterable[Path]) -> Iterator[tuple[Path, int, Any]]:
    """The reports of files, one a line."""
    for path in files:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = iter(lambda: file.readline(LONGEST_LINE + 1), "")
            for number, line in enumerate(lines, start=1):
                if not line.strip():
                    continue
                try:
                    report = json.loads(line) if len(line) <= LONGEST_LINE else None
                except (ValueError, RecursionError):
                    report = None
                yield path, number, report
