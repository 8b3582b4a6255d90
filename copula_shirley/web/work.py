"""What the page remembers: tables that are worked on, and their runs, in a private folder.

A run spends. Each table has a key for its next run, which every form of that table carries: the
first form that arrives with it starts the run, any other one is led to the run that there is. A
new key is made only by the button that asks for another release. So neither a double click nor a
reload, the back button or a second tab spends twice.

The folder outlives the page, since a release that was paid for must not be lost. Copies of
uploaded tables do not: they are deleted when the page stops, or when it starts after a crash.
"""

from __future__ import annotations

import secrets
import shutil
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from filelock import FileLock, Timeout

from copula_shirley.errors import SettingError, ShirleyError
from copula_shirley.files.atomic import atomic_path
from copula_shirley.files.plain_json import sha256_of
from copula_shirley.rows.findings import Finding
from copula_shirley.schema.file_format import PLAIN, FileFormat
from copula_shirley.schema.schema import Schema
from copula_shirley.web.process import REPORT, SCHEMA, Job, Report, Run, Settings

#: In the folder of a table: what is known of it, and the folder of its uploaded copy.
ABOUT, UPLOAD = "table.json", "upload"
#: States after which one may try again.
FAILED = ("failed", "stopped")
#: In the folder of all tables: held by the page that uses them.
LOCK = ".shirley-page.lock"


class _About(msgspec.Struct, forbid_unknown_fields=True):
    """What is kept of a table, beside its schema and its runs."""

    data: str
    names: list[str]
    file: dict[str, Any]
    uploaded: bool
    person: str | None
    max_rows: int
    notes: list[str]
    imported: list[str]
    settings: Settings
    ledger: str | None
    key: str


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
    #: What an imported file says that a schema does not keep.
    imported: list[str] = field(default_factory=list)
    #: What a check found that the schema forbids; not kept.
    findings: list[Finding] | None = None
    settings: Settings = field(default_factory=Settings)
    ledger: Path | None = None
    runs: list[Run] = field(default_factory=list)
    #: Of the next run.
    key: str = field(default_factory=lambda: secrets.token_urlsafe(12))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def found(cls, folder: Path) -> Work:
        """A table of an earlier page."""
        about = msgspec.json.decode((folder / ABOUT).read_bytes(), type=_About)
        own = msgspec.structs.asdict(about)
        own |= {"data": Path(about.data), "file": FileFormat.from_dict(about.file)}
        own["ledger"] = None if about.ledger is None else Path(about.ledger)
        if (folder / SCHEMA).exists():
            own["schema"] = Schema.read(folder / SCHEMA)
        runs = sorted(folder.glob("run-*"), key=lambda path: int(path.name.rpartition("-")[2]))
        return cls(folder, **own, runs=[Run.found(run) for run in runs])

    def keep(self) -> None:
        """Write what a page that starts later needs to know."""
        if self.schema is not None:
            self.schema.write(self.folder / SCHEMA)
        ledger = None if self.ledger is None else str(self.ledger)
        texts = {"data": str(self.data), "file": self.file.to_dict(), "ledger": ledger}
        own = {name: texts.get(name, getattr(self, name)) for name in _About.__struct_fields__}
        with atomic_path(self.folder / ABOUT) as partial:
            partial.write_bytes(msgspec.json.encode(_About(**own)))

    @property
    def gone(self) -> bool:
        """Whether the table is no longer where it was."""
        return not self.data.exists()

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
        return next((run for run in self.runs if run.job.key == self.key), None)

    @property
    def planned(self) -> str:
        """A digest of the schema and the ledger for which a plan is shown."""
        about = None if self.schema is None else self.schema.to_dict()
        return sha256_of([about, str(self.ledger)])

    def start(self, key: str, planned: str, settings: Settings) -> Run:
        """Start the run of a key, or give the one that was started with it."""
        with self._lock:
            for run in self.runs:
                if run.job.key == key:
                    return run
            if key != self.key:
                raise SettingError("this form is old: reload the page and look at it again")
            if planned != self.planned:
                rule = "were changed since this plan was shown: look at the new one"
                raise SettingError(f"schema or ledger {rule}")
            if self.schema is None or self.ledger is None or not settings.rows:
                raise SettingError("a run needs a schema, a number of rows and a release ledger")
            folder = self.folder / f"run-{len(self.runs) + 1}"
            name = f"{self.stem} ({self.id}, {folder.name.replace('-', ' ')})"
            own = (str(self.data), self.stem, str(self.ledger), settings)
            run = Run(folder, Job(key, name, *own), self.schema)
            self.settings = settings
            run.begin()
            self.runs.append(run)
            return run

    def judge(self, run: Run) -> None:
        """Begin the evaluation report of a run that is done, unless one is made or there."""
        with self._lock:
            if run.state == "done" and (run.report is None or run.report.state in FAILED):
                run.report = Report(run.folder)
                run.report.begin()

    def another(self, key: str) -> None:
        """Make a key for another run, once for each that was used."""
        with self._lock:
            if key == self.key and any(run.job.key == key for run in self.runs):
                self.key = secrets.token_urlsafe(12)


class Desk:
    """All tables that are worked on, in a private folder that one page at a time uses."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if any(folder.iterdir()) and not (folder / LOCK).exists():  # copies in it are deleted
            raise SettingError(
                f"folder ({str(folder)!r}) must be empty, or that of an earlier page"
            )
        folder.chmod(0o700)
        self.folder, self.works = folder, dict[str, Work]()
        #: Folders of tables that cannot be read any more.
        self.damaged: list[Path] = []
        self._lock = FileLock(folder / LOCK, timeout=0)
        try:
            self._lock.acquire()
        except Timeout:
            rule = "is used by another page that runs; open that one, or name another --folder"
            raise SettingError(f"folder ({str(folder)!r}) {rule}") from None
        self._delete_copies()
        for each in sorted(folder.glob(f"*/{ABOUT}"), key=lambda path: path.stat().st_mtime):
            try:
                work = Work.found(each.parent)
                self.works[work.id] = work
            except (ShirleyError, OSError, ValueError):
                self.damaged.append(each.parent)

    def new_folder(self) -> Path:
        folder = self.folder / secrets.token_hex(6)
        (folder / UPLOAD).mkdir(mode=0o700, parents=True)
        folder.chmod(0o700)
        return folder

    def add(self, work: Work) -> Work:
        self.works[work.id] = work
        work.keep()
        return work

    def end(self, work: Work) -> None:
        """Forget a table and delete what was copied or made of it."""
        for run in work.runs:
            run.stop()
        self.works.pop(work.id, None)
        shutil.rmtree(work.folder, ignore_errors=True)

    def close(self) -> None:
        """Stop what runs and delete copies of tables; releases stay."""
        for work in self.works.values():
            for run in work.runs:
                run.stop()
        self._delete_copies()
        self._lock.release()

    def _delete_copies(self) -> None:
        """Delete copies of tables, and reports on their rows."""
        for copy in self.folder.glob(f"*/{UPLOAD}"):
            shutil.rmtree(copy, ignore_errors=True)
        for report in self.folder.glob(f"*/run-*/{REPORT}"):
            report.unlink(missing_ok=True)
