"""What the page remembers until it is stopped: tables that are worked on, and their runs.

A run spends. Each table has a key for its next run, which every form of that table carries: the
first form that arrives with it starts the run, any other one is led to the run that there is. A
new key is made only by the button that asks for another release. So neither a double click nor a
reload, the back button or a second tab spends twice.
"""

from __future__ import annotations

import json
import secrets
import shutil
import subprocess
import sys
import threading
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from copula_shirley.errors import ArtefactError, SettingError
from copula_shirley.generator import Generator
from copula_shirley.publish.releases import ReleaseLedger
from copula_shirley.registry import make_generator
from copula_shirley.schema.file_format import PLAIN, FileFormat
from copula_shirley.schema.schema import Schema
from copula_shirley.tasks import DEFAULT_MODEL

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


class Run:
    """One fit in a process of its own, and what it tells."""

    def __init__(self, work: Work, schema: Schema, ledger: Path, settings: Settings) -> None:
        self.key, self.number, self.settings = work.key, len(work.runs) + 1, settings
        self.schema, self.data, self.stem, self.ledger = schema, work.data, work.stem, ledger
        self.folder = work.folder / f"run-{self.number}"
        self.state, self.stage, self.share = "running", "start", 0.0
        self.error = ""
        self.result: dict[str, Any] = {}
        self.comparison: list[dict[str, Any]] | None = None
        self._name = f"{work.stem} ({work.id}, run {self.number})"
        self._process: subprocess.Popen[str] | None = None
        self._follower: threading.Thread | None = None

    def begin(self) -> None:
        self.folder.mkdir(exist_ok=True)
        self.schema.write(self.folder / "schema.yaml")
        job: dict[str, Any] = {"data": str(self.data), "ledger": str(self.ledger)}
        job |= {"name": self._name, "stem": self.stem, "settings": asdict(self.settings)}
        (self.folder / "job.json").write_text(json.dumps(job), encoding="utf-8")
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
        if "result" in said:
            self.result, self.state = said["result"], "done"
        elif self.state == "stopping":
            self.state = "stopped"
        else:
            ended = f"the run ended early (exit code {process.returncode})"
            self.error, self.state = said.get("error", ended), "failed"

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
            ledger = ReleaseLedger.open(self.ledger)
        except ArtefactError as error:
            return str(error)
        found = [r for r in ledger.releases if r.what == self._name]
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


@dataclass
class Work:
    """One table on its way to a release."""

    folder: Path
    data: Path
    names: list[str]
    #: How the file is written, as far as its first line tells.
    file: FileFormat = PLAIN
    uploaded: bool = False
    person: str | None = None
    max_rows: int = 1
    schema: Schema | None = None
    #: What the draft said of the rows.
    notes: list[str] = field(default_factory=list)
    settings: Settings = field(default_factory=Settings)
    ledger: Path | None = None
    runs: list[Run] = field(default_factory=list)
    #: Of the next run.
    key: str = field(default_factory=lambda: secrets.token_urlsafe(12))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def id(self) -> str:
        return self.folder.name

    @property
    def stem(self) -> str:
        return self.data.name.partition(".")[0] or "table"

    @property
    def source(self) -> Path:
        """A place beside which files of the curator may lie."""
        return Path.cwd() / self.data.name if self.uploaded else self.data

    @property
    def next_run(self) -> Run | None:
        """The run that was started with the key of the next one, if it was."""
        return next((run for run in self.runs if run.key == self.key), None)

    def start(self, key: str, settings: Settings) -> Run:
        """Start the run of a key, or give the one that was started with it."""
        with self._lock:
            for run in self.runs:
                if run.key == key:
                    return run
            if key != self.key:
                raise SettingError("this form is old: reload the page and look at it again")
            if self.schema is None or self.ledger is None or not settings.rows:
                raise SettingError("a run needs a schema, a number of rows and a release ledger")
            run = Run(self, self.schema, self.ledger, settings)
            self.settings = settings
            run.begin()
            self.runs.append(run)
            return run

    def another(self, key: str) -> None:
        """Make a key for another run, once for each that was used."""
        with self._lock:
            if key == self.key and any(run.key == key for run in self.runs):
                self.key = secrets.token_urlsafe(12)


class Desk:
    """All tables that are worked on, in a private folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.works: dict[str, Work] = {}

    def new_folder(self) -> Path:
        folder = self.folder / secrets.token_hex(6)
        folder.mkdir(mode=0o700)
        return folder

    def add(self, work: Work) -> Work:
        self.works[work.id] = work
        return work

    def end(self, work: Work) -> None:
        """Forget a table and delete what was copied or made of it."""
        for run in work.runs:
            run.stop()
        self.works.pop(work.id, None)
        shutil.rmtree(work.folder, ignore_errors=True)

    def stop(self) -> None:
        for work in [*self.works.values()]:
            self.end(work)
