"""What people see of a grid while it runs and after it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from threading import Lock

from rich import progress
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from copula_shirley.cli.terminal import messages, print_table
from copula_shirley.evaluation.report.words import heading
from copula_shirley.experiments.report.lines import (
    RANKS,
    STANDINGS,
    Line,
    leaderboard,
    lines_of,
)
from copula_shirley.experiments.report.words import measures_of
from copula_shirley.experiments.run.runner import all_skipped
from copula_shirley.experiments.run.store import Row, figures_of
from copula_shirley.experiments.specs import Run

#: Columns that a leaderboard may take, whatever the terminal has.
FULL_WIDTH = 300
#: How many of the runs under way are named.
NAMED = 2
STYLES = {"done": "green", "skipped": "yellow", "failed": "red", "timeout": "red"}

#: What the leaderboard shows.
SHOWN = (
    *("ks", "spearman_drift", "tvd2", "tvd3", "mcc_binary", "mcc_multiclass", "rmse"),
    *("membership_hamming_all", "fit_seconds"),
)


class Display:
    """A bar with what is running, done and failed; a line with the scores of each run that ends."""

    def __init__(
        self, bars: progress.Progress, total: int, ended: Sequence[Row], quiet: bool
    ) -> None:
        self._bars, self._total, self._quiet = bars, total, quiet
        self._counts = Counter(row["status"] for row in ended)
        self._running: dict[Run, None] = {}
        self._lock = Lock()
        self._bar = bars.add_task("runs", total=total - len(ended))

    def __call__(self, run: Run, row: Row | None) -> None:
        """A run began, or ended with this result."""
        with self._lock:
            if row is None:
                self._running[run] = None
            else:
                self._running.pop(run, None)
                self._counts[row["status"]] += 1
                if not self._quiet:
                    say(row, f"{run}: {summary(row)}", f"{self._counts.total()}/{self._total}")
            counts = [f"{self._counts[name]} {name}" for name in STYLES if self._counts[name]]
            text = ", ".join([*counts, f"{len(self._running)} running"])
            names = "; ".join(map(str, list(self._running)[:NAMED]))
            text += f" ({names})" if names else ""
            self._bars.update(self._bar, advance=row is not None, description=escape(text))


def summary(row: Row) -> str:
    """Seconds and scores of a run that is done, the first line of why another one is not."""
    if row["status"] != "done":
        return str(row["reason"]).splitlines()[0]
    found = figures_of(row)
    scores = [f"{heading(name)} {found[name]:.3g}" for name in SHOWN if name in row["figures"]]
    return f"{found['total_seconds']:.1f} s, {', '.join(scores)}"


def say(row: Row, text: str, number: str = "", console: Console = messages) -> None:
    """Print a line about a run."""
    before = escape(f"[{number}] ") if number else ""
    style = STYLES[row["status"]]
    console.print(
        f"{before}[{style}]{row['status']}[/] {escape(text)}", soft_wrap=True, highlight=False
    )


def print_status(runs: Sequence[Run], rows: Sequence[Row]) -> None:
    """Print how many runs of each generator and data set ended in which way."""
    ended = {row["id"]: row["status"] for row in rows}
    groups: dict[tuple[str, str], Counter[str]] = {}
    for run in runs:
        counts = groups.setdefault((run.dataset, run.name), Counter())
        counts[ended.get(run.id, "open")] += 1
    words = (*STYLES, "open")
    lines = [(*key, *(counts[word] or "" for word in words)) for key, counts in groups.items()]
    print_table("", ("data set", "generator", *words), lines)


def print_failures(rows: Sequence[Row], console: Console = messages, *, skips: bool = True) -> None:
    """Every run that is not done, with its reason; if all were skipped, each reason once."""
    if all_skipped(rows):
        reasons = "; ".join(dict.fromkeys(map(summary, rows)))
        text = f"nothing ran: all {len(rows)} runs were skipped: {reasons}"
        console.print(escape(text), style="red", soft_wrap=True, highlight=False)
        return
    for row in rows:
        if row["status"] not in ("done", *(() if skips else ("skipped",))):
            say(row, f"{Run.from_dict(row['run'])}: {summary(row)}", console=console)


def print_leaderboard(rows: Sequence[Row], console: Console) -> None:
    """Print means over folds and seeds, a table per data set; who failed is in it too.

    Who proves what he claims stands above a rule, who does not below it, and is told to.
    """
    # a console of its own: rich takes no table to be wider than the console, and figures that are
    # cut off are worth nothing
    wide = Console(file=console.file, width=max(FULL_WIDTH, console.width))
    lines = lines_of(rows)
    board = leaderboard(lines, measures_of(rows))
    for dataset in dict.fromkeys(line.dataset for line in lines):
        parts = {k: [x for x in some if x.dataset == dataset] for k, some in board.items()}
        own = [line for some in parts.values() for line in some]
        shown = [name for name in SHOWN if any(name in line.figures for line in own)]
        heads = [Column(head, no_wrap=True) for head in ("generator", "epsilon", "proved")]
        numbers = ("use rank", "attack rank", *map(heading, shown))
        heads += [Column(head, no_wrap=True, justify="right") for head in numbers]
        table = Table(*heads, title=escape(dataset))
        for some in parts.values():
            for line in some:
                table.add_row(*map(escape, _cells(line, shown)))
            table.add_section()
        wide.print(table, crop=False, no_wrap=True, overflow="ignore")
        if parts.get("unproved"):
            names = ", ".join(dict.fromkeys(line.name for line in parts["unproved"]))
            text = f"{STANDINGS['unproved']}: {names}."
            console.print(escape(text), style="yellow", soft_wrap=True, highlight=False)


def _cells(line: Line, shown: Sequence[str]) -> list[str]:
    """A line of the leaderboard."""
    promise, figures = line.promise, line.figures
    proved = f"{promise.sign} {promise.proved}".strip() if promise else line.rows[0]["status"]
    ranks = (line.rank(attacks) for attacks in RANKS.values())
    cells = [line.name, line.epsilon_text, proved, *(f"{r:.1f}" if r else "-" for r in ranks)]
    return cells + [f"{figures[name].mean:.3g}" if name in figures else "-" for name in shown]
