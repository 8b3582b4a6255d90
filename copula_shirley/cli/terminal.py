"""Where commands print, and their progress bars."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from json import dumps
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape

from copula_shirley.files.texts import one_line
from copula_shirley.lazy import LazyModule

if TYPE_CHECKING:
    from rich import progress, table
else:
    progress, table = LazyModule("rich.progress"), LazyModule("rich.table")

#: Results go to the screen, everything about them to the error stream.
screen = Console()
messages = Console(stderr=True)
#: Progress bars that are shown now.
shown_bars: list[progress.Progress] = []


def plain(text: object) -> str:
    """A text of somebody else as one line without control codes and markup."""
    return escape(one_line(str(text)))


def note(text: str, heading: str = "note") -> None:
    """Say what deserves a look."""
    messages.print(f"[yellow]{heading}:[/] {plain(text)}", soft_wrap=True)


def alarm(text: str) -> None:
    """Say what nobody may overlook, however quiet the command is."""
    messages.print(text, style="bold red", markup=False, soft_wrap=True)


def asks() -> bool:
    """Whether somebody sits before the command who can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def agreed(text: str) -> bool:
    """Ask whether to go on; the progress bars stand aside meanwhile."""
    for bars in shown_bars:
        bars.stop()
    alarm(text)
    messages.print("Continue? \\[y/N] ", end="")
    answer = sys.stdin.readline().strip().lower()
    for bars in shown_bars:
        bars.start()
    return answer in ("y", "yes")


def print_json(value: Any) -> None:
    """Print a result for other programs."""
    sys.stdout.write(dumps(value, indent=2) + "\n")


def print_table(
    title: str,
    head: Iterable[str],
    lines: Iterable[Iterable[object]],
    to: Console = screen,
) -> None:
    """Print a table of texts."""
    shown = table.Table(*head, title=title, show_header=any(head))
    for line in lines:
        shown.add_row(*map(plain, line))
    to.print(shown)


@contextmanager
def progress_bars(quiet: bool, *extra: Any) -> Iterator[progress.Progress]:
    """Bars on the error stream, if it is a terminal."""
    with progress.Progress(
        progress.SpinnerColumn(),
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        *extra,
        progress.TimeElapsedColumn(),
        progress.TimeRemainingColumn(),
        console=messages,
        disable=quiet or not messages.is_terminal,
        transient=True,  # so that an error stays one line
    ) as bars:
        shown_bars.append(bars)
        try:
            yield bars
        finally:
            shown_bars.remove(bars)


@contextmanager
def progress_told(quiet: bool) -> Iterator[Callable[[str, float], None]]:
    """A bar as a callback, which is told a stage and the share of the work that is done."""
    with progress_bars(quiet) as bars:
        bar = bars.add_task("", total=1.0)
        yield lambda stage, share: bars.update(bar, description=plain(stage), completed=share)
