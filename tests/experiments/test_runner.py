"""The runner: limits, endings, resuming, and that nobody harms anybody else."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Event, Timer
from typing import Any

import psutil
import pytest

from copula_shirley.experiments.run import supervise
from copula_shirley.experiments.run.kin import family_of, kill_all
from copula_shirley.experiments.run.runner import (
    exit_code,
    few_threads,
    open_runs,
    run_all,
    run_apart,
)
from copula_shirley.experiments.run.store import Row, Store
from copula_shirley.experiments.run.supervise import Limits
from copula_shirley.experiments.specs import Grid, Run

HERE = Path(__file__).parent
#: Seconds are those of this machine; everything else must be the same.
VOLATILE = ("seconds", "beside", "memory", "provenance")


class Silent:
    def __init__(self) -> None:
        self.told: list[tuple[str, str]] = []

    def started(self, run: Run) -> None:
        self.told.append(("started", run.id))

    def ended(self, run: Run, row: Row) -> None:
        self.told.append((row["status"], run.id))


def run_of(use: str, **changes: Any) -> Run:
    settings = {"rows": 60, "folds": 2, "metrics": ("ks",), **changes}
    return Run("made", use, use, **settings)


def lasting(rows: list[Row]) -> dict[str, Row]:
    return {row["id"]: {k: v for k, v in row.items() if k not in VOLATILE} for row in rows}


def gone(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def eventually(condition: Any, seconds: float = 20.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.1)
    return False


def test_bad_generators_harm_nobody(tmp_path: Path) -> None:
    names = ("Raises", "Eats", "Dies", "Gaps", "Copies")
    runs = [run_of(f"strangers:{name}") for name in names]
    runs.insert(3, run_of("dp-histogram"))
    store, watcher = Store(tmp_path / "results"), Silent()
    rows = run_all(runs, store, Limits(bytes=0.5 * 2**30), watcher, jobs=2)
    found = {row["run"]["use"].removeprefix("strangers:"): row for row in rows}
    assert {name: row["status"] for name, row in found.items()} == {
        "Raises": "failed",
        "Eats": "failed",
        "dp-histogram": "done",
        "Dies": "failed",
        "Gaps": "done",
        "Copies": "done",
    }
    assert found["Eats"]["reason"] == "took more than 0.5 GB of memory and was stopped"
    assert "exit code 7" in found["Dies"]["reason"]
    assert "my last words" in found["Dies"]["traceback"]
    assert exit_code(rows) == 1 and exit_code([found["Copies"]]) == 0
    # the same figures as without the bad ones
    alone = run_all([runs[3]], Store(tmp_path / "alone"), Limits(), Silent())
    assert lasting(alone)[runs[3].id] == lasting(rows)[runs[3].id]


def hanging(tmp_path: Path) -> Run:
    return run_of("strangers:Hangs", settings=(("pid_file", str(tmp_path / "pid")),))


def test_a_run_that_hangs_dies_with_its_children(tmp_path: Path) -> None:
    runs = [hanging(tmp_path), run_of("uniform")]
    rows = run_all(runs, Store(tmp_path / "results"), Limits(seconds=15), Silent(), jobs=2)
    assert [row["status"] for row in rows] == ["timeout", "done"]
    assert rows[0]["reason"] == "took more than 15 seconds and was stopped"
    child = int((tmp_path / "pid").read_text(encoding="ascii"))
    assert eventually(lambda: gone(child))


def test_what_has_ended_is_not_run_again(tmp_path: Path) -> None:
    store, runs = Store(tmp_path), [run_of("uniform"), run_of("strangers:Raises")]
    first = run_all(runs, store, Limits(), Silent(), jobs=1)
    watcher = Silent()
    assert run_all(runs, store, Limits(), watcher, jobs=1) == first
    assert watcher.told == []
    run_all(runs, store, Limits(), watcher, jobs=1, again=["failed"])
    assert [what for what, _ in watcher.told] == ["started", "failed"]


def test_a_cut_off_result_is_made_again(tmp_path: Path) -> None:
    store, run = Store(tmp_path), run_of("uniform")
    rows = run_all([run], store, Limits(), Silent())
    text = store.path(run).read_text(encoding="utf-8")
    store.path(run).write_text(text[:100], encoding="utf-8")
    assert open_runs([run], store) == [run]
    assert lasting(run_all([run], store, Limits(), Silent())) == lasting(rows)


def test_a_run_that_ends_well_leaves_no_child_behind(tmp_path: Path) -> None:
    run = run_of("strangers:Leaves", settings=(("pid_file", str(tmp_path / "pid")),))
    (row,) = run_all([run], Store(tmp_path / "results"), Limits(), Silent())
    assert row["status"] == "done"
    assert gone(int((tmp_path / "pid").read_text(encoding="ascii")))


@pytest.mark.parametrize("look", [0.2, 1000.0])
def test_a_daemon_without_a_mark_does_not_outlive_its_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, look: float
) -> None:
    """Even if nobody looked while its run was there; another run beside it is not harmed."""
    monkeypatch.setattr(supervise, "LOOK", look)
    daemon = run_of("strangers:Escapes", settings=(("pid_file", str(tmp_path / "pid")),))
    runs = [run_of("private-vine"), daemon, run_of("uniform")]
    rows = run_all(runs, Store(tmp_path / "results"), Limits(), Silent(), jobs=2)
    assert [row["status"] for row in rows] == ["done", "done", "done"], rows
    assert gone(int((tmp_path / "pid").read_text(encoding="ascii")))


def test_a_daemon_counts_for_the_limits_of_its_run(tmp_path: Path) -> None:
    """A run adopts orphans: whoever forked twice is still in its family."""
    pid_file = tmp_path / "pid"
    script = (
        "import os, sys, time\n"
        "from copula_shirley.experiments.run import kin\n"
        "assert kin.adopt_orphans()\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        f"        open({str(pid_file)!r} + '.new', 'w').write(str(os.getpid()))\n"
        f"        os.rename({str(pid_file)!r} + '.new', {str(pid_file)!r})\n"
        "        time.sleep(600)\n"
        "    os._exit(0)\n"
        "os.wait(); time.sleep(600)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script])
    try:
        assert eventually(pid_file.exists, 240)
        child = int(pid_file.read_text(encoding="ascii"))
        assert {process.pid, child} <= {found.pid for found in family_of(process.pid)}
    finally:
        kill_all(process.pid, family_of(process.pid))
        process.wait()
    assert eventually(lambda: gone(child))


def test_a_run_does_not_import_the_main_module_of_the_runner(tmp_path: Path) -> None:
    """Nor the command line with it, which takes longer than many a run.

    A thread keeps the server from being a copy of the runner, which would have both already.
    """
    script = tmp_path / "mine.py"
    script.write_text(
        "import sys\n"
        "from threading import Event, Thread\n"
        "import copula_shirley.experiments.cli.experiments\n"
        "from copula_shirley.experiments.run.runner import run_all\n"
        "from copula_shirley.experiments.specs import Run\n"
        "from copula_shirley.experiments.run.store import Store\n"
        "from copula_shirley.experiments.run.supervise import Limits\n"
        "from test_runner import Silent, run_of\n"
        "MINE = True\n"
        "if __name__ == '__main__':\n"
        "    Thread(target=Event().wait, daemon=True).start()\n"
        "    run = run_of('strangers:Mains', settings=(('told', sys.argv[1]),))\n"
        "    (row,) = run_all([run], Store(sys.argv[2]), Limits(), Silent())\n"
        "    assert row['status'] == 'done', row\n",
        encoding="utf-8",
    )
    words = [sys.executable, str(script), str(tmp_path / "told"), str(tmp_path / "results")]
    subprocess.run(words, check=True, env={**os.environ, "PYTHONPATH": str(HERE)})
    assert (tmp_path / "told").read_text(encoding="ascii") == "False False"


def test_seconds_beside_the_parts_are_on_record(tmp_path: Path) -> None:
    (row,) = run_all([run_of("uniform")], Store(tmp_path), Limits(), Silent())
    names = [
        f"{part}{kind}" for part in ("start", "data", "fold", "margins") for kind in ("", "_cpu")
    ]
    assert sorted(row["beside"]) == sorted(names)
    inside = sum(row["seconds"][part] for part in ("fit", "sample", "evaluate"))
    inside += row["beside"]["data"] + row["beside"]["fold"]
    assert 0 < inside <= row["seconds"]["total"]
    assert row["seconds"]["evaluate_cpu"] > 0 and min(row["beside"].values()) >= 0


def test_a_generator_that_was_edited_is_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    text = (HERE / "strangers.py").read_text(encoding="utf-8")
    (tmp_path / "edited.py").write_text(text, encoding="utf-8")
    store, run = Store(tmp_path / "results"), run_of("edited:Copies")
    run_all([run], store, Limits(), Silent())
    assert open_runs([run], store) == []
    (tmp_path / "edited.py").write_text(text + "#\n", encoding="utf-8")
    assert open_runs([run], store) == [run]


def test_a_stop_kills_the_run_and_leaves_no_result(tmp_path: Path) -> None:
    store, run, stop = Store(tmp_path), hanging(tmp_path), Event()
    timer = Timer(2.0, stop.set)
    timer.start()
    assert run_apart(run, store, Limits(), {}, stop) is None
    assert store.get(run) is None


def test_threads_are_set_and_taken_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    with few_threads(1):
        assert os.environ["OMP_NUM_THREADS"] == os.environ["MKL_NUM_THREADS"] == "1"
    assert os.environ["OMP_NUM_THREADS"] == "5" and "MKL_NUM_THREADS" not in os.environ


# -- kills -----------------------------------------------------------------------

CONFIG = """
datasets: [made]
epsilons: [off, 1, 0.1]
folds: 2
rows: 60
metrics: [ks, tvd2]
keep_table: true
generators: {dp-histogram: , dp-copula: , uniform: {epsilons: [off]}}
"""


def command(config: Path, results: Path) -> list[str]:
    main = "from copula_shirley.cli.main import main; main()"
    words = ["experiments", "run", str(config), "--results", str(results), "--jobs", "2"]
    return [sys.executable, "-c", main, *words]


def killed_and_finished(tmp_path: Path, kills: int) -> None:
    config = tmp_path / "grid.yaml"
    config.write_text(CONFIG, encoding="utf-8")
    runs = Grid.read(config).runs()
    subprocess.run(command(config, tmp_path / "whole"), check=True, capture_output=True)
    whole = Store(tmp_path / "whole").rows(runs)
    chance = random.Random(7)
    results = tmp_path / "killed"
    for _ in range(kills):
        process = subprocess.Popen(
            command(config, results), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        started = time.monotonic()
        process_family: list[psutil.Process] = []
        moment = chance.uniform(1.0, 6.0)
        while process.poll() is None and time.monotonic() - started < moment:
            time.sleep(0.05)
        if process.poll() is None:
            process_family = psutil.Process(process.pid).children(recursive=True)
            process.send_signal(signal.SIGKILL)
        process.wait()
        for child in process_family:
            assert eventually(lambda pid=child.pid: gone(pid)), "a run outlived its runner"
        for row in Store(results).rows(runs):
            assert row["status"] == "done"
    subprocess.run(command(config, results), check=True, capture_output=True)
    finished = Store(results).rows(runs)
    assert len(finished) == len(runs) == len(whole)
    assert lasting(finished) == lasting(whole)
    assert not list(results.glob(".*partial"))
    for run in runs:
        tables = [
            Store(tmp_path / name).table_path(run).read_bytes() for name in ("whole", "killed")
        ]
        assert tables[0] == tables[1]


def test_killed_twice_and_finished_is_as_if_nothing_happened(tmp_path: Path) -> None:
    killed_and_finished(tmp_path, kills=2)


@pytest.mark.slow
def test_killed_ten_times_and_finished_is_as_if_nothing_happened(tmp_path: Path) -> None:
    killed_and_finished(tmp_path, kills=10)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_stops_at_once_and_keeps_what_is_done(
    tmp_path: Path, number: signal.Signals
) -> None:
    config, results = tmp_path / "grid.yaml", tmp_path / "results"
    pid_file = tmp_path / "pid"
    entries = f"{{uniform: , 'strangers:Hangs': {{settings: {{pid_file: '{pid_file}'}}}}}}"
    config.write_text(
        f"datasets: [made]\nrows: 60\nfolds: 2\nonly_folds: [0]\nmetrics: [ks]\n"
        f"generators: {entries}\n",
        encoding="utf-8",
    )
    env = {**os.environ, "PYTHONPATH": str(HERE)}
    process = subprocess.Popen(command(config, results), env=env, stderr=subprocess.PIPE)
    assert eventually(pid_file.exists, 240)
    assert eventually(lambda: len(list(results.glob("*.json"))) == 1, 240)
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    code = -number if number == signal.SIGKILL else 128 + number
    assert process.returncode == code, errors
    (kept,) = results.glob("*.json")
    assert json.loads(kept.read_text(encoding="utf-8"))["status"] == "done"
    child = int((tmp_path / "pid").read_text(encoding="ascii"))
    assert eventually(lambda: gone(child))
