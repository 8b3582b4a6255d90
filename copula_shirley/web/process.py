"""What is done in processes of their own, which tell how far they are: runs and reports."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from copula_shirley.errors import ArtefactError
from copula_shirley.generator import Generator
from copula_shirley.publish.releases import ReleaseLedger
from copula_shirley.registry import make_generator
from copula_shirley.schema.schema import Schema
from copula_shirley.tasks import DEFAULT_MODEL

#: Files in the folder of a run: what to do, with which schema, and how it ended.
JOB, SCHEMA, ENDED = "job.json", "schema.yaml", "ended.json"
#: A report on the real rows, which is deleted when the page stops.
REPORT = "report.html"
#: Seconds that a stopped run has to give back what it did not spend.
PATIENCE = 5


@dataclass(frozen=True)
class Settings:
    """What a run is asked to do."""

    epsilon: float = 1.0
    delta: float = 1e-9
    #: About how many rows the table has, as far as that is public; 0 until it is said.
    rows: int = 0
    on_unknown: str = "refuse"
    accept_poor: bool = False

    def generator(self, schema: Schema) -> Generator:
        """The generator, not yet fitted; what the schema keeps private it measures."""
        private = any(column.provenance == "private" for column in schema)
        own = {name: getattr(self, name) for name in ("epsilon", "delta", "on_unknown")}
        return make_generator(
            DEFAULT_MODEL, {**own, "domain": "measured" if private else "declared"}
        )


class Job(msgspec.Struct, forbid_unknown_fields=True):
    """What a run shall do, as its process reads it."""

    key: str
    name: str
    data: str
    stem: str
    ledger: str
    settings: Settings

    @classmethod
    def read(cls, folder: Path) -> Job:
        return msgspec.json.decode((folder / JOB).read_bytes(), type=cls)

    def write(self, folder: Path) -> None:
        (folder / JOB).write_bytes(msgspec.json.encode(self))


class Ended(msgspec.Struct, forbid_unknown_fields=True):
    """How a process ended."""

    state: str
    error: str
    result: dict[str, Any]


class Child:
    """A process that does what ``child.py`` calls so, in a folder, and what it tells."""

    does: ClassVar[str]

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state, self.stage, self.share = "running", "start", 0.0
        self.error = ""
        self.result: dict[str, Any] = {}
        self._process: subprocess.Popen[str] | None = None
        self._follower: threading.Thread | None = None

    def begin(self) -> None:
        module = ("-P", "-m", "copula_shirley.web.child")
        self._process = subprocess.Popen(
            [sys.executable, *module, self.does, str(self.folder)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # a traceback could quote rows
            text=True,
            encoding="utf-8",
        )
        self._follower = threading.Thread(target=self._follow, daemon=True)
        self._follower.start()

    def _follow(self) -> None:
        """Take what the process tells until it ends."""
        process = self._process
        if process is None or process.stdout is None:
            return
        said: dict[str, Any] = {}
        with process:  # waits for its end
            for line in process.stdout:
                try:
                    said = json.loads(line)
                except ValueError:
                    continue
                self.stage = said.get("stage", self.stage)
                self.share = said.get("share", self.share)
        early = f"the run ended early (exit code {process.returncode})"
        told = Ended("failed", said.get("error", early), {})
        if "result" in said:
            told = Ended("done", "", said["result"])
        elif self.state == "stopping":
            told = Ended("stopped", "", {})
        self.end(told)

    def end(self, told: Ended) -> None:
        """Take how it ended; the state comes last, for who waits for it."""
        self.error, self.result = told.error, told.result
        self.state = told.state

    def stop(self) -> None:
        """End the process; what was spent by then stays spent."""
        process = self._process
        if process is None or self.state != "running":
            return
        self.state = "stopping"
        process.terminate()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
        if self._follower is not None:
            self._follower.join(PATIENCE)

    @property
    def is_busy(self) -> bool:
        return self.state in ("running", "stopping")


class Report(Child):
    """The evaluation report on a table with the settings of a run; private, as the rows are."""

    does = "report"

    @property
    def path(self) -> Path:
        return self.folder / REPORT


class Run(Child):
    """One fit, its tables and their card."""

    does = "release"

    def __init__(self, folder: Path, job: Job, schema: Schema) -> None:
        super().__init__(folder)
        self.job, self.schema = job, schema
        self.number = int(folder.name.rpartition("-")[2])
        self.comparison: list[dict[str, Any]] | None = None
        self.report: Report | None = None

    @classmethod
    def found(cls, folder: Path) -> Run:
        """A run of an earlier page; one that had not ended then has failed."""
        run = cls(folder, Job.read(folder), Schema.read(folder / SCHEMA))
        told = Ended("failed", "the page was stopped while this run was at work", {})
        if (folder / ENDED).exists():
            told = msgspec.json.decode((folder / ENDED).read_bytes(), type=Ended)
        Child.end(run, told)
        return run

    def begin(self) -> None:
        self.folder.mkdir(mode=0o700, exist_ok=True)
        self.schema.write(self.folder / SCHEMA)
        self.job.write(self.folder)
        super().begin()

    def end(self, told: Ended) -> None:
        with suppress(OSError):  # nobody needs it of a table that was forgotten meanwhile
            (self.folder / ENDED).write_bytes(msgspec.json.encode(told))
        super().end(told)

    def stop(self) -> None:
        super().stop()
        if self.report is not None:
            self.report.stop()

    @property
    def spent(self) -> str:
        """What the release ledger says of this run."""
        try:
            ledger = ReleaseLedger.open(self.job.ledger)
        except ArtefactError as error:
            return str(error)
        found = [r for r in ledger.releases if r.what == self.job.name]
        if not found:
            return "Nothing was reserved, and nothing was spent."
        last = found[-1]
        if last.state == "given back":
            return "What was reserved was given back: nothing was spent."
        read = " in full, since it had begun to ask the rows" if last.state == "begun" else ""
        return f"The release ledger counts {last.cost} for it{read}."

    @property
    def files(self) -> dict[str, Path]:
        """What can be downloaded, by name."""
        return {name: self.folder / name for name in self.result.get("files", [])}
