"""What a fit knows so far, on disk, so that a fit that was stopped goes on where it stopped.

A journal lies beside the output: who fits (settings, schema, revision of the method, seed, release
ledger), a digest of the rows, the seed of the pool, and every answer. It is as private as the rows:
answers carry noise, the digest of the rows does not, and the state of a seeded source of noise
gives that noise away. It is readable for its owner alone, is removed once the output is written,
and nothing of it but answers and the seed of the pool, which a model has anyway, gets into any
output.

Privacy
-------
An answer is charged, drawn, and on the disk before anything uses it: ``Transcript.add`` of a
journal returns once the file is flushed, and only then ``Curator.answer`` does. So of a process
that was killed there are two kinds of answers.

- *On the disk.* They are taken from there when the fit goes on, each charged to the new ledger as
  it was to the old one (``Replay``). Nothing is drawn again, so each of them is paid once.
- *Lost*: drawn, but not on the disk. It is asked and drawn again, and counts once. That needs an
  argument, since two answers to one question cost twice if anybody sees something of both. Of the
  lost one nobody does. Its numbers were in the memory of the process, and went with it. Between
  drawing and the end of the flush nothing is decided by them: no progress is told, no later
  question is asked, and the line has as many bytes whatever the counts of tables are (eight each).
  So what ended the process (a kill, a power cut, a full disk) is independent of these numbers, and
  given the rows all that anybody ever sees, the model, the journal and the time of the kill, has
  the law that it would have had without the lost answer: that of the new one alone. It is
  post-processing of what is charged, and of an independent event.

  The argument would fail where the lost answer itself ends the process. Categories that are
  measured (``Discovery``) make a line whose length depends on the answer. So where writing fails
  while the process lives, it says so and ends; who repeats a fit until its categories fit on a
  disk that is nearly full selects answers, as who repeats a fit until it looks well does.

A ledger that showed both charges would refuse to go on, since a fit spends all of its budget. The
release ledger counts a fit that goes on once, and one that is started anew twice. An older copy of
a journal, such as that of a backup, that is gone on with as well asks the same questions twice.
With a release ledger at most one of the two is completed (``ReleaseLedger.resume`` and the end of
the other refuse), so that one model is all that anybody gets; who compares the journals themselves
knows the rows anyway. Without a release ledger nobody counts, and the curator cheats himself.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import os
import secrets
import stat
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import msgspec
import numpy as np

from copula_shirley.errors import ArtefactError
from copula_shirley.files.archive import LARGEST_MODEL, parse_array
from copula_shirley.files.atomic import flush_folder, read_bytes, resumable
from copula_shirley.files.locks import locked
from copula_shirley.files.plain_json import differences, parse_json
from copula_shirley.measure.calibration import Calibration
from copula_shirley.measure.curator import Curator
from copula_shirley.measure.queries import Query
from copula_shirley.measure.transcript import Answer, Replay, Transcript
from copula_shirley.privacy.noise import NoiseSource

#: What a journal begins with.
TITLE = (
    b"# Journal of a fit of copula-shirley that is under way or was stopped. As private as the "
    b"rows: never publish it. The same command goes on with it, and removes it in the end."
)
FORMAT = 1
ENDING = ".journal"
ANEW = "to start anew, which spends once more, add --fresh (in Python: Journal(path, fresh=True))"


def journal_path(output: str | Path) -> Path:
    """Where the journal of a fit lies: beside its output."""
    return Path(output).with_name(Path(output).name + ENDING)


class _Head(msgspec.Struct, forbid_unknown_fields=True):
    """What does not change during a fit."""

    format: int
    #: Public: who fits.
    facts: dict[str, Any]
    #: Digest of the rows, with a salt that is drawn for each journal.
    salt: str
    rows: str
    pool_seed: int
    #: Number in the release ledger.
    release: int | None


class _Step(msgspec.Struct, forbid_unknown_fields=True):
    """An answer: what a model file says of its query, and its arrays."""

    query: dict[str, Any]
    arrays: dict[str, str]
    #: State of the source of noise after it; of a seeded one only.
    state: str


class Journal:
    """The answers of a fit so far, in a file that the next try goes on with.

    A context: inside, the file belongs to this process. It is removed at the end if all went well,
    so save the model inside; after an error it stays.

    Parameters
    ----------
    path : path
        Where the journal lies. One that is there must be that of the same fit to the same rows.
    fresh : bool
        Start anew, and forget the journal that is there; what it spent stays spent.
    tell : callable, optional
        Told that a fit goes on, and from where.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> from copula_shirley import Column, PrivateVine, Schema
    >>> folder = Path(tempfile.mkdtemp())
    >>> schema = Schema((Column("age", "integer", minimum=0, maximum=9),))
    >>> table = pd.DataFrame({"age": [3, 4, 5] * 200})
    >>> with Journal(folder / "model.shirley.journal") as journal:
    ...     model = PrivateVine(1.0).fit(table, schema, journal=journal)
    ...     model.save(folder / "model.shirley")
    >>> [path.name for path in folder.iterdir()]
    ['model.shirley']
    """

    def __init__(
        self,
        path: str | Path,
        *,
        fresh: bool = False,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        self.path, self._fresh, self._tell = Path(path), fresh, tell
        self._stack = ExitStack()
        #: Number in the release ledger; the reservation of a new fit tells it.
        self.release: int | None = None
        #: Whether the answers that are known must be all.
        self.complete = False
        self._head: _Head | None = None
        #: The answers that are known already.
        self.known = Transcript()
        self._state, self._digest, self._size = "", "", 0

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.enter_context(locked(self.path, wait=False))
            self._read()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with self._stack:
            if kind is None:
                self._remove()
            elif self.begun:
                resumable.append(self.path)

    @property
    def begun(self) -> bool:
        """Whether there is a fit to go on with."""
        return self._head is not None

    def check(self, facts: Mapping[str, Any]) -> None:
        """Refuse a journal of a fit with other settings, schema, revision or release ledger."""
        if self._head is None:
            return
        own = json.loads(json.dumps(facts))
        for text in differences(self._head.facts, own, "fit"):
            raise self.error(f"belongs to another fit ({text}); repeat that one, or {ANEW}")

    def check_open(self) -> None:
        """Refuse a further answer where the fit was complete."""
        if self.complete:
            raise self.error(f"lacks answers of a fit that was complete; {ANEW}")

    def check_used(self, answers: int) -> None:
        """Refuse a journal of which a complete fit has used fewer answers than there were."""
        if answers < len(self.known.answers):
            raise self.error(f"goes on after the model is complete; {ANEW}")

    def begin(self, facts: Mapping[str, Any], mark: int | None, pool_seed: int) -> int:
        """The seed of the pool, that of before if the fit goes on; the file is there from now on.

        By the ``mark`` the same rows are known again.
        """
        if self._head is not None:
            self.check(facts)
            if _digest(self._head.salt, mark) != self._head.rows:
                raise self.error(f"belongs to a fit to other rows; take those again, or {ANEW}")
            if self._tell is not None:
                known = f"{len(self.known.answers)} answers are known and paid for"
                self._tell(f"going on from {str(self.path)!r}: {known}")
            return self._head.pool_seed
        salt = secrets.token_hex(16)
        head = _Head(FORMAT, dict(facts), salt, _digest(salt, mark), pool_seed, self.release)
        self._write(TITLE + b"\n" + self._line(msgspec.to_builtins(head)))
        self._head = head
        return pool_seed

    def kept(self, source: NoiseSource | None) -> Transcript:
        """A transcript that begins with the known answers and writes down all others."""
        seeded = None if source is None else source.bit_generator
        if seeded is not None and self._state:
            try:
                seeded.state = json.loads(self._state)
            except (TypeError, ValueError, KeyError):
                raise self.error(f"is damaged; {ANEW}") from None
        return _Kept(self, seeded)

    def append(self, one: Transcript, state: str) -> None:
        """Write down an answer; it is on the disk when this ends."""
        (query,), arrays = one.state()
        texts = {name: _text(array) for name, array in arrays.items()}
        self._write(self._line({"query": query, "arrays": texts, "state": state}))

    # -- the file ----------------------------------------------------------------------

    def _line(self, entry: Any) -> bytes:
        """An entry after its digest, which includes the one before."""
        text = json.dumps(entry, allow_nan=False).encode("ascii")
        self._digest = _chained(self._digest, text)
        return self._digest.encode() + b" " + text + b"\n"

    def _write(self, content: bytes) -> None:
        """Put bytes behind what is whole of the file, and flush them to the disk.

        The first ones go into a new file: what is there may be open in another process.
        """
        flags = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0)
        try:
            if self._size == 0:
                self._remove()
                flags |= os.O_CREAT | os.O_EXCL
            with open(os.open(self.path, flags, 0o600), "r+b") as file:
                self._check_own(os.fstat(file.fileno()))
                os.chmod(self.path, 0o600)
                file.truncate(self._size)
                file.seek(self._size)
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            if self._size == 0:
                flush_folder(self.path)
        except OSError as error:
            raise self.error(f"cannot be written: {error.strerror or error}") from None
        self._size += len(content)

    def _read(self) -> None:
        """Take what is whole of the file; a line that a kill has cut was never used."""
        if not os.path.lexists(self.path):
            return
        self._check_own(os.lstat(self.path))
        content = read_bytes(self.path, 2 * LARGEST_MODEL, ArtefactError, "journal")
        if not (content.startswith(TITLE + b"\n") or TITLE.startswith(content)):
            raise self.error("is no journal of a fit; give the output another name, or move it")
        if self._fresh:  # the old one stays until the first line of the new one
            return
        for number, line in enumerate(content.split(b"\n")[1:-1]):
            digest, _, text = line.partition(b" ")
            self._digest = _chained(self._digest, text)
            try:
                if digest.decode() != self._digest:
                    raise ValueError
                self._take(parse_json(text), number)
            except (ValueError, KeyError, RecursionError, msgspec.ValidationError):
                raise self.error(
                    f"was edited or damaged at line {number + 2}; restore it, or {ANEW}"
                ) from None
        self._size = content.rfind(b"\n") + 1 if self._head is not None else 0

    def _check_own(self, about: os.stat_result) -> None:
        """Refuse a link, by which a private file would lie or stay elsewhere, and others' files."""
        if stat.S_ISLNK(about.st_mode) or about.st_nlink > 1 or about.st_uid != os.geteuid():
            raise self.error(
                "must be a file of your own with one name, since it is as private as the rows; "
                "move what is there, or give the output another name"
            )

    def _take(self, entry: Any, number: int) -> None:
        if number == 0:
            if entry.get("format") != FORMAT:
                raise self.error(f"was written by another version of copula-shirley; {ANEW}")
            self._head = msgspec.convert(entry, _Head)
            self.release = self._head.release
            return
        step = msgspec.convert(entry, _Step)
        arrays = {name: parse_array(base64.b64decode(t)) for name, t in step.arrays.items()}
        one = Transcript.restored([step.query], arrays)
        self.known.answers += one.answers
        self.known.queries += one.queries
        self._state = step.state

    def _remove(self) -> None:
        with suppress(FileNotFoundError):
            self.path.unlink()

    def error(self, text: str) -> ArtefactError:
        return ArtefactError(f"journal {str(self.path)!r} {text}")


class _Kept(Transcript):
    """A transcript on the disk."""

    def __init__(self, journal: Journal, seeded: Any) -> None:
        super().__init__([*journal.known.answers], [*journal.known.queries])
        self._journal, self._seeded = journal, seeded

    def add(self, query: Query, answer: Answer) -> None:
        one = Transcript()
        one.add(query, answer)
        self._journal.append(one, "" if self._seeded is None else json.dumps(self._seeded.state))
        super().add(query, answer)


@dataclass
class Resumed:
    """Answers queries from a journal as long as it has answers, then by a curator."""

    journal: Journal
    known: Replay
    curator: Curator

    @property
    def calibration(self) -> Calibration:
        return self.curator.calibration

    def answer(self, query: Query) -> Answer:
        if self.known.position == len(self.known.transcript.answers):
            self.journal.check_open()
            return self.curator.answer(query)
        try:
            return self.known.answer(query)
        except ArtefactError as error:
            raise self.journal.error(f"does not fit: {error}; {ANEW}") from None


def _digest(salt: str, mark: int | None) -> str:
    return hashlib.sha256(f"{salt} {mark}".encode()).hexdigest()


def _chained(before: str, text: bytes) -> str:
    return hashlib.sha256(before.encode() + text).hexdigest()


def _text(array: np.ndarray) -> str:
    """An array as text that is as long for every array of its shape."""
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return base64.b64encode(buffer.getvalue()).decode("ascii")
