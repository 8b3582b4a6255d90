"""One run: a fit in a process of its own, which tells how far it is; files say how it ended."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from copula_shirley.errors import ArtefactError
from copula_shirley.generator import Generator
from copula_shirley.publish.releases import ReleaseLedger
from copula_shirley.registry import make_generator
from copula_shirley.schema.schema import Schema
from copula_shirley.tasks import DEFAULT_MODEL

#: Files in the folder of a run: what to do, with which schema, and how it ended.
JOB, SCHEMA, ENDED = "job.json", "schema.yaml", "ended.json"
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


class _Ended(msgspec.Struct, forbid_unknown_fields=True):
    """How a run ended."""

    state: str
    error: str
    result: dict[str, Any]


class Run:
    """One fit in a process of its own, and what it tells."""

    def __init__(self, folder: Path, job: Job, schema: Schema) -> None:
        self.folder, self.job, self.schema = folder, job, schema
        self.number = int(folder.name.rpartition("-")[2])
        self.state, self.stage, self.share = "running", "start", 0.0
        self.error = ""
        self.result: dict[str, Any] = {}
        self.comparison: list[dict[str, Any]] | None = None
        self._process: subprocess.Popen[str] | None = None
        self._follower: threading.Thread | None = None

    @classmethod
    def found(cls, folder: Path) -> Run:
        """A run of an earlier page; one that had not ended then has failed."""
        run = cls(folder, Job.read(folder), Schema.read(folder / SCHEMA))
        ended = folder / ENDED
        if ended.exists():
            told = msgspec.json.decode(ended.read_bytes(), type=_Ended)
            run.state, run.error, run.result = told.state, told.error, told.result
        else:
            run.state, run.error = "failed", "the page was stopped while this run was at work"
        return run

    def begin(self) -> None:
        self.folder.mkdir(mode=0o700, exist_ok=True)
        self.schema.write(self.folder / SCHEMA)
        self.job.write(self.folder)
        command = [sys.executable, "-P", "-m", "copula_shirley.web.child", str(self.folder)]
        self._process = subprocess.Popen(
            command,
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
        told = _Ended("failed", said.get("error", early), {})
        if "result" in said:
            told = _Ended("done", "", said["result"])
        elif self.state == "stopping":
            told = _Ended("stopped", "", {})
        with suppress(OSError):  # nobody needs it of a table that was forgotten meanwhile
            (self.folder / ENDED).write_bytes(msgspec.json.encode(told))
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
        return f"The release ledger counts {last.cost} for it ({last.state})."

    @property
    def files(self) -> dict[str, Path]:
        """What can be downloaded, by name."""
        return {name: self.folder / name for name in self.result.get("files", [])}
