"""Functions that tests have called in a process of its own; nothing slow is imported."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any


def tell(told: str, *values: str) -> None:
    """Write what this process sees, and fail after words on both streams."""
    main = Path(getattr(sys.modules.get("__mp_main__"), "__file__", "no main")).name
    seen = [main, os.getcwd(), os.environ["OMP_NUM_THREADS"], os.environ["WORK"], *values]
    Path(told).write_text("\n".join(seen), encoding="utf-8")
    print("some words")
    raise ValueError("no such luck")


def killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def eat() -> None:
    eaten: list[Any] = []
    while True:
        eaten.append(bytes(30_000_000))


def leave(told: str, ending: str) -> None:
    """Start a child in a session of its own and a daemon, forked twice; then end in some way."""
    pids = Path(told)
    if os.fork() == 0:
        os.setsid()
        write(pids, "child")
        time.sleep(600)
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.setsid()
            write(pids, "daemon")
            time.sleep(600)
        os._exit(0)
    write(pids, "work")
    wait_for(lambda: len(list(pids.iterdir())) == 3)
    if ending == "dies":
        os._exit(7)
    while ending == "hangs":
        pass


def write(folder: Path, name: str) -> None:
    (folder / f".{name}").write_text(str(os.getpid()), encoding="ascii")
    (folder / f".{name}").rename(folder / name)


def wait_for(condition: Any, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)
