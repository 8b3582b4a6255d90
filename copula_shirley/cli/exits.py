"""How a command begins and ends: its streams, its signals, and what it leaves behind.

Exit codes: 0 done, 1 something failed or nobody reads the output, 2 a fault of the input or of the
disk, 3 an error that nobody foresaw, 129 its terminal was closed, 130 interrupted, 143 terminated.
"""

from __future__ import annotations

import codecs
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from types import FrameType

from copula_shirley.files.atomic import remove_unfinished

#: Those that end a command; the last one, which Windows lacks, where its terminal is closed.
SIGNALS = (signal.SIGINT, signal.SIGTERM, *filter(None, [getattr(signal, "SIGHUP", None)]))


@contextmanager
def clean_ending() -> Iterator[None]:
    """Signals end the command in order, and nothing unfinished stays."""
    _open_closed_streams()
    before = {}
    if threading.current_thread() is threading.main_thread():
        for number in SIGNALS:
            known = signal.getsignal(number)
            if known != signal.SIG_IGN:  # nohup, or a job in the background of a script
                before[number] = known
                signal.signal(number, _stop)
    try:
        yield
    finally:
        remove_unfinished()
        for number, known in before.items():
            signal.signal(number, known)


def _stop(number: int, _: FrameType | None) -> None:
    """End the command; a second signal must not stop the cleaning up."""
    for each in SIGNALS:
        signal.signal(each, signal.SIG_IGN)
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + number)


def _open_closed_streams() -> None:
    """Give a closed stream to nobody: else the next file that is opened would become it."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is not None:
            continue
        with suppress(OSError):
            os.fstat(number)
            continue
        handle = os.open(os.devnull, os.O_RDWR)
        if handle != number:
            os.dup2(handle, number)
            os.close(handle)
        setattr(sys, name, open(number, mode, encoding="utf-8", closefd=False))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper) and codecs.lookup(stream.encoding).name == "ascii":
            # in the C locale streams take ASCII only, and a schema is UTF-8
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def flush_output() -> None:
    """Write out what was printed while errors can still be told."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()


def drop_output() -> None:
    """Forget what cannot be printed, so that the interpreter does not try again at its end."""
    with suppress(OSError, ValueError, AttributeError), open(os.devnull, "wb") as nothing:
        os.dup2(nothing.fileno(), sys.stdout.fileno())
