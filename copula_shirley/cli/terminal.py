"""What the commands share: where they print, their progress bars, which files they refuse."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from copula_shirley.errors import SettingError
from copula_shirley.files.texts import one_line

#: Results go to the screen, everything about them to the error stream.
screen = Console()
messages = Console(stderr=True)


def plain(text: object) -> str:
    """A text of somebody else as one line without control codes and markup."""
    return escape(one_line(str(text)))


def note(text: str) -> None:
    """Say what deserves a look."""
    messages.print(f"[yellow]note:[/] {plain(text)}", soft_wrap=True)


def alarm(text: str) -> None:
    """Say what nobody may overlook, however quiet the command is."""
    messages.print(text, style="bold red", markup=False, soft_wrap=True)


@contextmanager
def progress_bars(quiet: bool, *extra: Any) -> Iterator[Progress]:
    """Bars on the error stream, if it is a terminal."""
    columns = [SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), *extra]
    with Progress(
        *columns,
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=messages,
        disable=quiet or not messages.is_terminal,
        transient=True,  # so that an error stays one line
    ) as bars:
        yield bars


def check_apart(inputs: Sequence[Path | None], outputs: Sequence[Path | None]) -> None:
    """Refuse to write over what is read, or two results into one file."""
    taken = {os.path.realpath(path) for path in inputs if path}
    for path in outputs:
        if path is None:
            continue
        if os.path.realpath(path) in taken:
            raise SettingError(f"output ({str(path)!r}) must be another file than the others")
        taken.add(os.path.realpath(path))


def assignment(option: str, text: str) -> tuple[str, str]:
    """The two sides of ``name=value``."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise SettingError(f"{option} ({text!r}) must be name=value")
    return name.strip(), value
