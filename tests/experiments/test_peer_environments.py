"""Environments of peers are built once, whole or not at all."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from copula_shirley.experiments.generators import PeerError, environments
from copula_shirley.experiments.generators.environments import (
    MARKER,
    environment,
    environment_name,
    find_python,
)
from copula_shirley.experiments.generators.registry import THIS_PYTHON


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Builds of environments that install nothing; a list of what was built."""
    made: list[Path] = []

    def build(base: str, folder: Path, *_: object) -> None:
        assert not folder.exists()
        made.append(folder)
        (folder / "bin").mkdir(parents=True)
        time.sleep(0.2)
        (folder / "bin" / "python").symlink_to(base)

    monkeypatch.setattr(environments, "build", build)
    return made


def pins(folder: Path, text: str = "") -> Path:
    file = folder / "some.txt"
    file.write_text(text, encoding="utf-8")
    return file


def test_an_environment_is_built_once_per_pins_and_python(
    tmp_path: Path, builds: list[Path]
) -> None:
    first = environment(pins(tmp_path, "a==1\n"), THIS_PYTHON, tmp_path)
    assert first.exists()
    assert environment(pins(tmp_path, "a==1\n"), THIS_PYTHON, tmp_path) == first
    assert environment(pins(tmp_path, "a==2\n"), THIS_PYTHON, tmp_path) != first
    assert len(builds) == 2
    assert environment_name(pins(tmp_path), "3.11") != environment_name(pins(tmp_path), "3.12")


def test_a_killed_build_is_built_again(tmp_path: Path, builds: list[Path]) -> None:
    python = environment(pins(tmp_path), THIS_PYTHON, tmp_path)
    folder = python.parent.parent
    (folder / MARKER).unlink()  # as if it had been killed before it was whole
    (folder / "half").touch()
    assert environment(pins(tmp_path), THIS_PYTHON, tmp_path) == python
    assert len(builds) == 2
    assert not (folder / "half").exists()


def test_two_at_once_build_one(tmp_path: Path, builds: list[Path]) -> None:
    file = pins(tmp_path)
    threads = [
        threading.Thread(target=environment, args=(file, THIS_PYTHON, tmp_path)) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(builds) == 1


def test_a_python_that_does_not_run_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in (("shim", "exit 127"), ("other", "echo 3.10"), ("right", "echo 2.9")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "python2.9").write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        (tmp_path / name / "python2.9").chmod(0o755)
    monkeypatch.setenv("PATH", os.pathsep.join(str(tmp_path / n) for n in ("shim", "other")))
    assert find_python("2.9") is None
    with pytest.raises(PeerError, match=r"some\.txt needs Python 2\.9: no python2\.9 on the PATH"):
        environment(pins(tmp_path), "2.9", tmp_path / "cache")
    monkeypatch.setenv("PATH", str(tmp_path / "shim") + os.pathsep + str(tmp_path / "right"))
    assert find_python("2.9") == str(tmp_path / "right" / "python2.9")
    assert find_python(THIS_PYTHON) == sys.executable


def test_pins_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(PeerError, match=r"none\.txt' cannot be read"):
        environment(tmp_path / "none.txt", THIS_PYTHON, tmp_path)


@pytest.mark.slow
def test_a_real_environment(tmp_path: Path) -> None:
    python = environment(pins(tmp_path), THIS_PYTHON, tmp_path / "cache")
    where = subprocess.run(
        [python, "-c", "import sys; print(sys.prefix)"], capture_output=True, text=True, check=True
    )
    assert Path(where.stdout.strip()) == python.parent.parent
    wrong = pins(tmp_path, "no-package-has-such-a-name==1.0\n")
    with pytest.raises(
        PeerError, match=r"could not be built.*no-package-has-such-a-name"
    ) as caught:
        environment(wrong, THIS_PYTHON, tmp_path / "cache")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "cache" / environment_name(wrong, THIS_PYTHON) / MARKER).exists()


BUILDER = """
import sys
from pathlib import Path
from copula_shirley.experiments.generators.environments import environment
environment(Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3]))
"""


@pytest.mark.slow
def test_a_build_that_was_really_killed(tmp_path: Path) -> None:
    file, cache = pins(tmp_path), tmp_path / "cache"
    command = [sys.executable, "-c", BUILDER, str(file), THIS_PYTHON, str(cache)]
    process = subprocess.Popen(command)
    folder = cache / environment_name(file, THIS_PYTHON)
    while not folder.exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.kill()  # venv goes on for a while, and holds the lock
    process.wait()
    assert not (folder / MARKER).exists()
    python = environment(file, THIS_PYTHON, cache)
    subprocess.run([python, "-m", "pip", "--version"], check=True, capture_output=True)
