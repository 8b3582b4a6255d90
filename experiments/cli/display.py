"""What people see of a grid while it runs and after it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from threading import Lock

from rich import progress
from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from copula_shirley.cli.terminal import messages
from copula_shirley.experiments.report.lines import lines_of
from copula_shirley.experiments.run.store import Row, figures_of
from copula_shirley.experiments.specs import Run

#: Columns that a leaderboard may take, whatever the terminal has.
FULL_WIDTH = 300
#: How many of the runs under way are named.
NAMED = 2
STYLES = {"done": "green", "skipped": "yellow", "failed": "red", "timeout": "red"}

#: What the leaderboard shows, and its headings.
SHOWN = {
    "ks": "KS",
    "spearman_drift": "drift",
    "tvd2": "tvd2",
    "tvd3": "tvd3",
    "mcc_binary": "MCC",
    "mcc_multiclass": "MCC multi",
    "rmse": "RMSE",
    "membership_hamming_all": "attack",
    "fit_seconds": "fit s",
}


class Display:
    """A bar with what is running, done and failed; a line with the scores of each run that ends."""

    def __init__(
        self, bars: progress.Progress, total: int, ended: Sequence[Row], quiet: bool = False
    ) -> None:
        self._bars, self._total, self._quiet = bars, total, quiet
        self._counts = Counter(row["status"] for row in ended)
        self._running: dict[Run, None] = {}
        self._lock = Lock()
        self._bar = bars.add_task("runs", total=total - len(ended))

    def started(self, run: Run) -> None:
        """A run began."""
        with self._lock:
            self._running[run] = None
            self._tell()

    def ended(self, run: Run, row: Row) -> None:
        """A run came to an end."""
        with self._lock:
            self._running.pop(run, None)
            self._counts[row["status"]] += 1
            self._bars.advance(self._bar)
            self._tell()
            if not self._quiet:
                text = f"{run}: {summary(row)}"
                say(row["status"], text, messages, f"[{self._counts.total()}/{self._total}] ")

    def _tell(self) -> None:
        words = [f"{self._counts[status]} {status}" for status in STYLES if self._counts[status]]
        names = [str(run) for run in list(self._running)[:NAMED]]
        more = len(self._running) - len(names)
        text = ", ".join([*words, f"{len(self._running)} running"])
        shown = "; ".join(names) + (f" and {more} more" if more > 0 else "")
        self._bars.update(self._bar, description=escape(f"{text} ({shown})" if shown else text))


def summary(row: Row) -> str:
    """Seconds and first scores of a run that is done, the reason of one that is not."""
    if row["status"] != "done":
        return reason(row)
    found = figures_of(row)
    scores = [f"{SHOWN[name]} {found[name]:.3g}" for name in SHOWN if name in row["figures"]]
    return f"{found['total_seconds']:.1f} s, {', '.join(scores)}"


def reason(row: Row) -> str:
    """The first line of why a run is not done."""
    return str(row["reason"]).splitlines()[0]


def say(status: str, text: str, console: Console, before: str = "") -> None:
    """Print a line about a run."""
    console.print(
        f"{escape(before)}[{STYLES[status]}]{status}[/] {escape(text)}",
        soft_wrap=True,
        highlight=False,
    )


def status_table(runs: Sequence[Run], rows: Sequence[Row]) -> Table:
    """How many runs of each generator and data set ended in which way."""
    table = Table("data set", "generator", *STYLES, "open")
    ended = {row["id"]: row["status"] for row in rows}
    groups: dict[tuple[str, str], list[str]] = {}
    for run in runs:
        name = f"{run.generator} {run.variant}".strip()
        groups.setdefault((run.dataset, name), []).append(ended.get(run.id, "open"))
    for (dataset, name), statuses in groups.items():
        numbers = [statuses.count(status) for status in (*STYLES, "open")]
        table.add_row(dataset, escape(name), *(str(n) if n else "" for n in numbers))
    return table


def print_nothing_ran(rows: Sequence[Row], console: Console) -> None:
    """Say that every run was skipped, and the reasons, each once."""
    reasons = dict.fromkeys(map(reason, rows))
    console.print(
        escape(f"nothing ran: all {len(rows)} runs were skipped: {'; '.join(reasons)}"),
        style="red",
        soft_wrap=True,
        highlight=False,
    )


def print_failures(rows: Sequence[Row], console: Console) -> None:
    """Every run that failed, ran out of time or was skipped, with its reason."""
    for row in rows:
        if row["status"] != "done":
            say(row["status"], f"{Run.from_dict(row['run'])}: {reason(row)}", console)


def print_leaderboard(rows: Sequence[Row], console: Console) -> None:
    """Print it in full width: figures that are cut off are worth nothing."""
    # a console of its own: rich takes no table to be wider than the console
    wide = Console(file=console.file, width=max(FULL_WIDTH, console.width))
    for table in leaderboard(rows):
        wide.print(table, crop=False, no_wrap=True, overflow="ignore")


def leaderboard(rows: Sequence[Row]) -> list[Table]:
    """Means over folds and seeds, a table per data set; who failed is in it too."""
    lines = lines_of(rows)
    tables = []
    for dataset in dict.fromkeys(line.dataset for line in lines):
        own = [line for line in lines if line.dataset == dataset]
        shown = [name for name in SHOWN if any(name in line.figures for line in own)]
        heads = [Column(head, no_wrap=True) for head in ("generator", "epsilon", "proved")]
        heads += [Column(SHOWN[name], no_wrap=True, justify="right") for name in shown]
        table = Table(*heads, title=escape(dataset))
        for line in own:
            proved = line.privacy.get("proved", line.rows[0]["status"])
            figures = line.figures
            cells = [f"{figures[name].mean:.3g}" if name in figures else "-" for name in shown]
            table.add_row(escape(line.name), line.epsilon_text, escape(str(proved)), *cells)
        tables.append(table)
    return tables
