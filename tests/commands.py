"""Runners of the command line: ``run`` in this process, ``Command`` in a forked one.

Most tests call ``run``. A process of its own is for signals, streams and exit; it is forked, so
that imports are behind it and it starts at once.
"""

from __future__ import annotations

import contextlib
import io
import os
import resource
import shlex
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from copula_shirley.cli import main as cli


@dataclass(frozen=True)
class Outcome:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def said(self) -> str:
        """What stands on stderr, with single spaces in place of line ends."""
        return " ".join(self.err.split())

    def refusal(self) -> str:
        """The one line of an error that is the input's fault."""
        lines = [line for line in self.err.splitlines() if line.strip()]
        assert self.code == 2, self.err
        assert len(lines) == 1, self.err
        assert lines[0].startswith("error: ")
        assert "Traceback" not in self.err + self.out
        assert "internal error" not in self.err
        return lines[0]


def run(*words: object, folder: Path | str = ".") -> Outcome:
    """``shirley`` with these words in this process, as if called in a folder.

    A text alone is split as a shell does: ``run("inspect model.shirley --json", folder=tmp_path)``.
    """
    line = shlex.split(words[0]) if words and isinstance(words[0], str) else [*words[:1]]
    out, err = (io.StringIO() for _ in range(2))
    code: object = 0
    with (
        contextlib.chdir(folder),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        patch.object(sys, "argv", ["shirley", *map(str, [*line, *words[1:]])]),
    ):
        try:
            cli.main()
        except SystemExit as stop:
            code = stop.code
    return Outcome(int(str(code or 0)), out.getvalue(), err.getvalue())


@dataclass(frozen=True)
class Ended:
    code: int
    out: bytes
    err: bytes


class Command:
    """``shirley`` with these words; ``ready`` returns once its signals are its own."""

    def __init__(
        self,
        folder: Path,
        words: Sequence[str],
        *,
        first: Callable[[], object] = lambda: None,
        out: int | None = None,
        err: int | None = None,
    ) -> None:
        self._out, self._err = (tempfile.TemporaryFile() for _ in range(2))  # noqa: SIM115
        self._ready, tell = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # threads of the parent: none of them is needed
            self.pid = os.fork()
        if self.pid == 0:
            code = 99
            try:
                os.chdir(folder)
                os.dup2(self._out.fileno() if out is None else out, 1)
                os.dup2(self._err.fileno() if err is None else err, 2)
                code = _shirley(words, tell, first)
            except BaseException:
                traceback.print_exc(file=sys.stderr)
            finally:
                os._exit(code)
        os.close(tell)

    def ready(self) -> Command:
        os.read(self._ready, 1)
        return self

    def ended(self) -> Ended:
        _, status = os.waitpid(self.pid, 0)
        os.close(self._ready)
        texts = []
        for file in (self._out, self._err):
            file.seek(0)
            texts.append(file.read())
            file.close()
        return Ended(os.waitstatus_to_exitcode(status), *texts)


def _shirley(words: Sequence[str], tell: int, first: Callable[[], object]) -> int:
    for name, mode, number in (("stdout", "w", 1), ("stderr", "w", 2)):
        stream: Any = None
        try:
            os.fstat(number)
            stream = open(number, mode, encoding="utf-8", closefd=False)  # noqa: SIM115
        except OSError:
            pass
        setattr(sys, name, stream)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    sys.argv = ["shirley", *words]
    run = cli._run

    def told() -> None:
        os.write(tell, b"!")
        run()

    cli._run = told
    warnings.simplefilter("default")
    try:
        first()
        cli.main()
        code = 0
    except SystemExit as stop:
        code = int(str(stop.code or 0))
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    return code


def memory_of(call: Callable[[], object]) -> tuple[float, str]:
    """Megabytes that a call takes in a forked process, and the error that it ends with."""
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pid = os.fork()
    if pid == 0:
        try:
            before = _peak()
            try:
                call()
                text = "accepted"
            except ValueError as error:
                text = f"{type(error).__name__} {error}"
            os.write(write, f"{(_peak() - before) / 1024} {text}".encode())
        finally:
            os._exit(0)
    os.close(write)
    with open(read, encoding="utf-8") as answer:
        megabytes, _, text = answer.read().partition(" ")
    os.waitpid(pid, 0)
    return float(megabytes), text


def _peak() -> int:
    """Kilobytes of memory that this process has had at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
