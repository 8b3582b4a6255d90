"""Peers: the registry is whole, a job comes back, a failure says why."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from copula_shirley.experiments.datasets import Dataset
from copula_shirley.experiments.folds import Fold
from copula_shirley.experiments.peers import PeerError, environments, find_peer, known_peers
from copula_shirley.experiments.peers.__main__ import main
from copula_shirley.experiments.peers.environments import (
    environment,
    environment_name,
    find_python,
)
from copula_shirley.experiments.peers.peer import THIS_PYTHON, Peer, described
from copula_shirley.experiments.peers.quantiles import quantile_cells
from copula_shirley.experiments.run.execute import checked
from copula_shirley.experiments.run.synthesis import Skip
from copula_shirley.experiments.specs import Run
from copula_shirley.schema.schema import Column, Schema

RUN = Run("people", "mine", "mine.py", folds=2)
#: Draws training rows again; works on cells and on values.
ECHO = """
class Generator:
    def __init__(self, epsilon, delta, seed, domain, **settings):
        self.about = (epsilon, delta, seed, domain, settings)

    def fit(self, table):
        self.table = table

    def sample(self, n):
        return self.table.sample(n, replace=True, random_state=self.about[2])
"""


class Here(Peer):
    """A peer that runs with this Python: no pip is needed."""

    def prepare(self) -> Path:
        return Path(sys.executable)


def adapter(folder: Path, text: str = ECHO, **options: object) -> Peer:
    (folder / "mine.py").write_text(textwrap.dedent(text), encoding="utf-8")
    (folder / "mine.txt").write_text("", encoding="utf-8")
    files = {"adapter": "mine.py", "requirements": "mine.txt"}
    return Here.of("mine", {**files, **options}, folder)


def broken(where: str, line: str) -> str:
    """ECHO with a line put at the beginning of a method."""
    return re.sub(rf"(def {where}\(.*\n)", rf"\1        {line}\n", ECHO)


@pytest.fixture
def fold(people: pd.DataFrame, people_schema: Schema) -> Fold:
    dataset = Dataset("people", people, people_schema, {"binary": "rich"})
    return Fold(dataset, people_schema, people.iloc[:300], people.iloc[300:])


def test_every_peer_has_its_files_and_exact_pins() -> None:
    assert {"dpmm-mst", "dpmm-aim", "dpmm-privbayes", "datasynthesizer"} <= set(known_peers())
    for name, entry in known_peers().items():
        assert entry.description
        assert "class Generator" in entry.adapter.read_text(encoding="utf-8")
        pins = entry.requirements.read_text(encoding="utf-8").split("\n")
        assert all(re.fullmatch(r"[\w.-]+==[\w.+!-]+", pin) for pin in pins if pin), name
        assert {"pandas", "pyarrow"} <= {pin.partition("==")[0] for pin in pins}
        assert entry.claim.format(epsilon=1.0, delta=1e-9)


def test_an_own_adapter_is_found_by_its_path(tmp_path: Path) -> None:
    own = str(tmp_path / "mine.py")
    for name, says in (("mine.py", "adapter"), ("mine.txt", "requirements")):
        with pytest.raises(PeerError, match=rf"{says} .*{name}' is no file"):
            find_peer(own)
        (tmp_path / name).touch()
    entry = find_peer(own)
    assert (entry.name, entry.takes, entry.private) == ("mine", "values", True)
    assert (entry.python, entry.requirements) == (THIS_PYTHON, tmp_path / "mine.txt")
    about = tmp_path / "mine.yaml"
    for wrong, says in (("takes: rows", "cells"), ("colour: 1", "colour"), ("7", "map")):
        about.write_text(wrong, encoding="utf-8")
        with pytest.raises(PeerError, match=says):
            find_peer(own)
    about.write_text("takes: cells\nprivate: false\npython: 3.12\nsettings: {delta: 0.5}\n")
    entry = find_peer(own)
    assert (entry.takes, entry.private, entry.python) == ("cells", False, "3.12")
    assert entry.settings == {"delta": 0.5}


# -- a job ---------------------------------------------------------------------


@pytest.mark.parametrize("takes", ["cells", "quantiles", "values"])
def test_a_table_goes_there_and_comes_back(takes: str, tmp_path: Path, fold: Fold) -> None:
    made = adapter(tmp_path, takes=takes).synthesize(fold, RUN)
    table = checked(made.table, fold)
    fold.schema.validate(table)
    assert len(table) == 400
    assert abs(table["age"].mean() - fold.train["age"].mean()) < 4
    assert abs(table["income"].isna().mean() - fold.train["income"].isna().mean()) < 0.08
    assert set(made.seconds) == {"fit", "sample", "fit_cpu", "sample_cpu"}
    assert set(made.memory) == {"fit", "sample"}
    assert made.privacy["claimed"] == "epsilon 1, delta 1e-09, by its own word"
    assert made.privacy["proved"] == "not known"
    again = adapter(tmp_path, takes=takes).synthesize(fold, RUN).table
    pd.testing.assert_frame_equal(again, made.table)


def test_quantile_cells_are_of_even_mass_and_common_values_are_alone() -> None:
    column = Column("x", "integer", minimum=0, maximum=1000, missing=True)
    numbers = np.concatenate([[-np.inf] * 5, [0.0] * 100, np.arange(1, 301)])
    cells = quantile_cells(column, numbers)
    sizes = np.bincount(cells.index(numbers), minlength=cells.size)
    assert (cells.first[:2].tolist(), sizes[:2].tolist()) == ([-np.inf, 0.0], [5, 100])
    assert cells.last[-1] == 300 and sizes.sum() == 405
    assert sizes[2:].min() >= 24 and sizes[2:].max() <= 26  # 400 values in 16 cells of 25
    drawn = cells.spread(cells.first[cells.index(numbers)], np.random.default_rng(0))
    assert np.array_equal(cells.index(drawn), cells.index(numbers))


def test_what_a_driver_is_told_and_sees(
    tmp_path: Path, fold: Fold, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Settings of the run go before those of the registry; no path of ours leads it astray."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "elsewhere"))
    seen = "self.about, os.environ['OMP_NUM_THREADS'], os.environ.get('PYTHONPATH')"
    text = broken("fit", f"import os; print('x' * 10**6); raise SystemExit(repr(({seen})))")
    peer = adapter(tmp_path, text, settings={"degree": 1, "bins": 20, "delta": 0.1})
    settings = (("degree", 2), ("goal", "$binary"), ("other", "$regression"))
    run = Run("people", "mine", "mine.py", settings=settings, epsilon=0.5, threads=3)
    seed = int(run.rng("fit").integers(2**31))
    with pytest.raises(PeerError) as caught:
        peer.synthesize(fold, run)
    assert f"(0.5, 0.1, {seed}, " in str(caught.value)
    told = "{'degree': 2, 'bins': 20, 'goal': 'rich'}), '3', None)"
    assert str(caught.value).endswith(told)


def test_one_that_is_private_is_skipped_without_noise_and_another_claims_nothing(
    tmp_path: Path, fold: Fold
) -> None:
    with pytest.raises(Skip, match="no mode without noise"):
        adapter(tmp_path).synthesize(fold, replace(RUN, epsilon=None))
    peer, run = adapter(tmp_path, private=False, notes="sees all"), replace(RUN, epsilon=None)
    privacy = peer.privacy(fold, run, 0.0)
    assert (privacy["claimed"], privacy["proved"]) == ("nothing", "nothing")
    assert ["notes", "sees all"] in privacy["summary"]


def test_persons_are_left_out_and_the_label_says_so(tmp_path: Path, fold: Fold) -> None:
    schema = Schema(fold.schema.columns, person="who", max_rows=2)
    train = fold.train.assign(who=np.arange(300) // 2)
    whose = Fold(fold.dataset, schema, train, train)
    peer = adapter(tmp_path)
    assert list(peer.given(whose).columns) == list(schema.names)
    assert any("person" in text for _, text in peer.privacy(whose, RUN, 0.0)["summary"])


def test_the_domain_is_plain_json(people_schema: Schema) -> None:
    about = {column.name: described(column) for column in people_schema}
    assert json.loads(json.dumps(about)) == about
    assert about["age"]["minimum"] == 18
    assert about["joined"]["maximum"].startswith("2020-12-31")
    assert about["active"]["categories"] == [False, True]


# -- adapters that misbehave ---------------------------------------------------


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (broken("fit", "raise ValueError('no such luck')"), r"ended with 1: .*no such luck"),
        (broken("sample", "return 7"), "returned a int; it must return a DataFrame"),
        (broken("fit", "import os; os.kill(os.getpid(), 9)"), "ended with -9"),
        (broken("fit", "import sys; sys.exit(0)"), "ended without a table"),
        ("import nothing_of_that_name", "'nothing_of_that_name': every .* among its pins"),
        ("x = 1", "has no attribute 'Generator'"),
    ],
)
def test_a_failure_has_the_end_of_the_log(text: str, says: str, tmp_path: Path, fold: Fold) -> None:
    with pytest.raises(PeerError, match=says) as caught:
        adapter(tmp_path, text).synthesize(fold, RUN)
    assert "\n" not in str(caught.value)


def test_what_is_no_cell_is_refused(tmp_path: Path, fold: Fold) -> None:
    peer, rng = adapter(tmp_path, takes="cells"), np.random.default_rng(0)
    drawn = peer.given(fold)
    for value in (-1, 0.5, np.nan, 10**6, "x"):
        with pytest.raises(PeerError, match="'age' must hold the numbers of cells"):
            peer.taken(drawn.assign(age=value), fold, rng)
    with pytest.raises(PeerError, match="no column 'age'"):
        peer.taken(drawn.drop(columns="age"), fold, rng)


@pytest.mark.slow
def test_a_real_peer(fold: Fold) -> None:
    """DataSynthesizer has the smallest environment; needs the package index and Python 3.11."""
    if find_python(known_peers()["datasynthesizer"].python) is None:
        pytest.skip("no Python 3.11")
    schema = Schema(tuple(fold.schema[name] for name in ("age", "job", "rich")))
    few = Fold(fold.dataset, schema, fold.train, fold.test)
    try:
        made = find_peer("datasynthesizer").synthesize(few, replace(RUN, folds=4))
    except PeerError as error:
        if "could not be built" in str(error):
            pytest.skip(str(error))
        raise
    schema.validate(checked(made.table, few))


def test_the_command_lists_peers_and_names_what_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for words, code in (([], False), (["nobody"], True)):
        monkeypatch.setattr("sys.argv", ["peers", *words])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code is code
    said = capsys.readouterr()
    assert "dpmm-mst" in said.out
    assert "'nobody'" in said.err


# -- environments ------------------------------------------------------------------


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Builds of environments that install nothing; a list of what was built."""
    made: list[Path] = []

    def build(base: str, folder: Path, *_: object) -> None:
        made.append(folder)
        (folder / "bin").mkdir()
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
    file = pins(tmp_path)
    killed = tmp_path / f".{environment_name(file, THIS_PYTHON)}.killed"
    killed.mkdir()
    with ThreadPoolExecutor(3) as pool:
        found = [pool.submit(environment, file, THIS_PYTHON, tmp_path) for _ in range(3)]
        (python,) = {future.result() for future in found}
    assert python.is_file() and not killed.exists()
    assert len(builds) == 1
    assert environment_name(file, "3.11") != environment_name(file, "3.12")
    assert environment(pins(tmp_path, "a==1\n"), THIS_PYTHON, tmp_path) != python
    assert len(builds) == 2


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
    with pytest.raises(PeerError, match=r"none\.txt' cannot be read"):
        environment(tmp_path / "none.txt", THIS_PYTHON, tmp_path)


@pytest.mark.slow
def test_a_real_build_that_was_killed_is_made_whole(tmp_path: Path) -> None:
    file, cache = pins(tmp_path), tmp_path / "cache"
    folder = cache / environment_name(file, THIS_PYTHON)
    builder = get_context("spawn").Process(target=environment, args=(file, THIS_PYTHON, cache))
    builder.start()
    while not list(cache.glob(f".{folder.name}.*/bin")):
        assert builder.is_alive()
        time.sleep(0.01)
    builder.kill()  # venv goes on for a while, in a folder that nobody uses
    builder.join()
    assert not folder.exists()
    python = environment(file, THIS_PYTHON, cache)
    words = [python, "-c", "import pip, sys; print(sys.prefix)"]
    assert Path(subprocess.check_output(words, text=True).strip()) == folder
    wrong = pins(tmp_path, "no-package-has-such-a-name==1.0\n")
    with pytest.raises(PeerError, match=r"could not be built.*no-package-has-such") as caught:
        environment(wrong, THIS_PYTHON, cache)
    assert "\n" not in str(caught.value)
    assert not (cache / environment_name(wrong, THIS_PYTHON)).exists()
