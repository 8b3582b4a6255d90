"""Kills, full disks and closed streams: the old file or the new one, whole, and nothing else."""

from __future__ import annotations

import builtins
import errno
import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pandas as pd
import pytest
from commands import Command, Ended, run
from tables import declared

from copula_shirley import ArtefactError, CopulaShirley, PrivateVine, Schema, load
from copula_shirley.baselines import DPHistogram
from copula_shirley.files.atomic import atomic_paths, remove_unfinished
from copula_shirley.publish.pages import read_page

MAIN = "from copula_shirley.cli.main import main; main()"
FIT = "fit data.csv --schema schema.yaml --model dp-histogram --seed 1 -o out.shirley"
SAMPLE = "sample model.shirley --seed 1 -n 300000 -o out.csv"
SYNTHESIZE = (
    "synthesize data.csv --schema schema.yaml --model dp-histogram --seed 1 -n 200000 -o out.csv"
)
COMMANDS = {"fit": FIT, "sample": SAMPLE, "synthesize": SYNTHESIZE}
OLD = b"what stood here before"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rng = np.random.default_rng(5)
    table = pd.DataFrame(
        {"age": rng.integers(18, 90, 20_000), "job": rng.choice(["arts", "law"], 20_000)}
    )
    table.to_csv(tmp_path / "data.csv", index=False)
    schema = declared(table)
    schema.write(tmp_path / "schema.yaml")
    DPHistogram(random_state=0).fit(table, schema).save(tmp_path / "model.shirley")
    return tmp_path


def output_of(words: str) -> str:
    return words.split()[words.split().index("-o") + 1]


def run_in(folder: Path, words: str, **options: Any) -> Ended:
    return Command(folder, [*words.split(), "-q"], **options).ended()


def content(folder: Path) -> dict[str, bytes]:
    """Every file; cards, which hold the time of making, only need to be whole."""
    files = {path.name: path.read_bytes() for path in folder.iterdir()}
    for name in [name for name in files if name.endswith(".card.html")]:
        assert read_page(folder / name)
        del files[name]
    return files


# -- signals ---------------------------------------------------------------------------


def signals_survived(folder: Path, words: str, numbers: list[signal.Signals], seed: int) -> None:
    target = folder / output_of(words)
    start = time.monotonic()
    assert run_in(folder, words).code == 0
    lasts, new = time.monotonic() - start, target.read_bytes()
    target.write_bytes(OLD)
    before = content(folder)
    chance = random.Random(seed)
    for i, number in enumerate(numbers):
        # spread over the run, a little beyond its end
        moment = lasts * 1.05 * (i + chance.random()) / len(numbers)
        command = Command(folder, [*words.split(), "-q"]).ready()
        time.sleep(moment)
        os.kill(command.pid, number)  # of our own child, which nobody has waited for yet
        done = command.ended()
        code, errors = done.code, done.err
        after = content(folder)
        found = after.pop(target.name)
        assert found in (OLD, new), "half a file"
        assert b"Traceback" not in errors and b"internal" not in errors
        rest = set(after) - set(before)
        if number == signal.SIGKILL:
            assert code in (0, -signal.SIGKILL)
            assert all(name.endswith((".partial", ".old")) for name in rest)
            for name in rest:
                (folder / name).unlink()
        else:
            assert code in (0, 128 + number), errors
            assert not rest, "an unfinished file stays"
            assert found == new if code == 0 else True
            said = [line for line in errors.splitlines() if not line.startswith(b"warning")]
            assert len(said) == (1 if code == 130 else 0), errors
            if found == OLD and code == 130:
                assert b"nothing was written" in errors
        target.write_bytes(OLD)
    assert content(folder) == before


def test_a_signal_leaves_the_old_file_or_the_new_one(folder: Path) -> None:
    numbers = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL]
    signals_survived(folder, SAMPLE, numbers, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_a_signal_at_any_moment_leaves_the_old_file_or_the_new_one(
    folder: Path, name: str, number: signal.Signals
) -> None:
    signals_survived(folder, COMMANDS[name], [number] * 10, seed=number)


def test_an_interrupt_right_after_a_second_name_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*names: Any) -> None:
        link(*names)
        raise KeyboardInterrupt

    link, paths = os.link, [tmp_path / "table", tmp_path / "card"]
    for path in paths:
        path.write_bytes(OLD)
    monkeypatch.setattr(os, "link", interrupted)
    with pytest.raises(KeyboardInterrupt), atomic_paths(paths) as partials:
        assert len(partials) == 2
    remove_unfinished()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        "table": OLD,
        "card": OLD,
    }


# -- a full disk -----------------------------------------------------------------------


class FullDisk:
    """Lets so many writes, flushes, mode changes and moves pass, and fails from then on."""

    def __init__(self, left: int, code: int, patch: pytest.MonkeyPatch) -> None:
        self.left, self.code, self.raised = left, code, False
        self.opened = builtins.open
        patch.setattr(builtins, "open", self.open)
        patch.setattr("io.open", self.open)
        for name in ("fsync", "replace", "chmod"):
            patch.setattr(os, name, self.asked(getattr(os, name)))

    def asked(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def step(*args: Any, **options: Any) -> Any:
            self.left -= 1
            if self.left < 0:
                self.raised = True
                raise OSError(self.code, os.strerror(self.code))
            return real(*args, **options)

        return step

    def open(self, file: Any, mode: str = "r", *args: Any, **options: Any) -> Any:
        handle = self.opened(file, mode, *args, **options)
        if not set(mode) & set("wax+"):
            return handle
        try:
            self.asked(lambda: None)()
        except OSError:
            handle.close()
            raise
        writer = MagicMock(wraps=handle)
        writer.write = self.asked(handle.write)
        writer.__enter__.return_value = writer
        writer.__exit__.side_effect = lambda *_: handle.close()
        return writer


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("name", COMMANDS)
def test_an_error_at_every_write_in_turn_leaves_the_old_file(
    folder: Path, name: str, code: int
) -> None:
    words = COMMANDS[name].replace("200000", "30").replace("300000", "30")
    target = folder / output_of(words)
    target.write_bytes(OLD)
    before = content(folder)
    for left in range(100):
        with pytest.MonkeyPatch.context() as patch:
            full = FullDisk(left, code, patch)
            done = run(f"{words} -q", folder=folder)
        if not full.raised:
            assert done.code == 0
            break
        if done.code == 0:  # the folder's flush after the move: the new file is in its place
            assert target.read_bytes() != OLD
            target.write_bytes(OLD)
        else:
            line = done.refusal()
            assert any(repr(target.name + end) in line for end in ("", ".card.html")), line
            assert os.strerror(code) in line
        assert content(folder) == before
    assert left >= 3, "no write was seen"


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
def test_a_file_that_may_not_grow_leaves_the_old_one(folder: Path, name: str) -> None:
    def small_files() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))

    (folder / name).write_bytes(OLD)
    done = run_in(folder, SAMPLE.replace("out.csv", name), first=small_files)
    assert done.code == 2 and done.err.count(b"\n") == 1
    assert f"{name!r} cannot be written: File too large".encode() in done.err
    assert (folder / name).read_bytes() == OLD and not list(folder.glob(".*"))


# -- inside a fit ----------------------------------------------------------------------


@pytest.mark.parametrize("error", [MemoryError, OSError, KeyboardInterrupt])
@pytest.mark.parametrize("kind", [CopulaShirley, PrivateVine, DPHistogram])
def test_a_fit_that_is_stopped_at_any_stage_leaves_no_model(
    kind: Any, error: type[BaseException]
) -> None:
    table = pd.DataFrame({"x": [1, 2, 3, 4] * 20, "y": [0, 1] * 40})
    schema = Schema.draft(table)
    stages: list[str] = []
    fitted = kind(random_state=0).fit(table, schema, progress=lambda stage, _: stages.append(stage))
    for wanted in range(len(stages)):
        count = iter(range(len(stages)))

        def stop(_: str, __: float, count: Any = count, wanted: int = wanted) -> None:
            if next(count) == wanted:
                raise error

        with pytest.raises(error):
            fitted.fit(table, schema, progress=stop)
        if stages[wanted] in ("validate", "done"):  # refused before, or whole already
            assert len(fitted.sample(3)) == 3
        else:
            assert not hasattr(fitted, "ledger_")
            fitted.fit(table, schema)


# -- streams and surroundings ----------------------------------------------------------


def full() -> int:
    return os.open("/dev/full", os.O_WRONLY)


def unread() -> int:
    read, write = os.pipe()
    os.close(read)
    return write


@pytest.mark.parametrize(
    "words",
    ["draft data.csv", "inspect model.shirley", "inspect model.shirley --json", "--help"],
)
@pytest.mark.parametrize("stream", [full, unread])
def test_output_that_cannot_be_written(folder: Path, words: str, stream: Callable[[], int]) -> None:
    handle = stream()
    done = Command(folder, words.split(), out=handle).ended()
    os.close(handle)
    assert done.code == (2 if stream is full else 1), done.err
    assert done.err.count(b"\n") == (1 if stream is full else 0)
    if stream is full:
        assert done.err == b"error: standard output: No space left on device\n"


@pytest.mark.parametrize("words", ["draft data.csv", "sample model.shirley -n 5 -o out.csv"])
def test_closed_streams(folder: Path, words: str) -> None:
    """The file that is written must not become the closed stream."""
    done = Command(folder, words.split(), first=close_streams).ended()
    assert done.code == 0
    if "out.csv" in words:
        assert len(pd.read_csv(folder / "out.csv")) == 5


def close_streams() -> None:
    sys.stdin = sys.stdout = sys.stderr = None  # type: ignore[assignment]
    for number in range(3):
        os.close(number)


@pytest.mark.slow
@pytest.mark.parametrize(
    "shell",
    [
        "draft data.csv | head -1 > /dev/null; exit ${PIPESTATUS[0]}",
        "draft data.csv > /dev/full",
        "inspect model.shirley | true; exit ${PIPESTATUS[0]}",
        "sample model.shirley -n 5 -o out.csv <&- >&- 2>&-",
        "draft data.csv < /dev/null 2> /dev/full",
        "--help | true; exit ${PIPESTATUS[0]}",
    ],
)
def test_streams_of_a_shell(folder: Path, shell: str) -> None:
    """With the end of a whole interpreter, which flushes once more."""
    command = f"{sys.executable} -c '{MAIN}' {shell}"
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, capture_output=True, check=False, timeout=120
    )
    assert done.returncode in (0, 1, 2) and done.stderr.count(b"\n") <= 1
    for word in (b"Traceback", b"internal", b"Exception ignored"):
        assert word not in done.stderr
    if shell.endswith(" > /dev/full"):
        assert done.returncode == 2 and b"No space left" in done.stderr
    if "-o out.csv" in shell:
        assert len(pd.read_csv(folder / "out.csv")) == 5


BARE: list[dict[str, str]] = [
    {},
    {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    {"LC_ALL": "POSIX", "TERM": "dumb"},
    {"TERM": "nonsense", "COLUMNS": "1"},
    {"HOME": "/nonexistent", "XDG_CACHE_HOME": "/dev/null", "MPLCONFIGDIR": "/proc/1"},
    {"TMPDIR": "/nonexistent", "COPULA_SHIRLEY_DATA": "/dev/null"},
]


@pytest.mark.slow
@pytest.mark.parametrize("env", BARE, ids=str)
def test_bare_surroundings(tmp_path: Path, env: dict[str, str]) -> None:
    table = pd.DataFrame({"état": ["é", "日本", "x"] * 30, "n": [i % 7 for i in range(90)]})
    table.to_csv(tmp_path / "data.csv", index=False)
    command = [sys.executable, "-c", MAIN, "draft", "data.csv"]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert Schema.from_yaml(done.stdout.decode("utf-8")) == Schema.draft(table)
    assert b"Traceback" not in done.stderr


def test_a_damaged_model_after_a_power_cut_is_refused(tmp_path: Path) -> None:
    """What a file system may leave of a file that was not flushed: nothing, or zeros."""
    for left in (b"", b"\x00" * 4096):
        (tmp_path / "model.shirley").write_bytes(left)
        with pytest.raises(ArtefactError, match="not a whole model file"):
            load(tmp_path / "model.shirley")
