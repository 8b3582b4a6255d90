"""Peers: the registry is whole, a job comes back, nobody stays behind, builds are whole or not."""

from __future__ import annotations

import json
import os
import re
import sys
import textwrap
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from copula_shirley.experiments.datasets import Dataset
from copula_shirley.experiments.folds import Fold
from copula_shirley.experiments.generators import PeerError, find_peer, known_peers
from copula_shirley.experiments.generators.__main__ import main
from copula_shirley.experiments.generators.environments import find_python
from copula_shirley.experiments.generators.peer import Peer, described
from copula_shirley.experiments.generators.registry import THIS_PYTHON, entry_of, registry
from copula_shirley.experiments.run.execute import checked
from copula_shirley.experiments.run.synthesis import Skip
from copula_shirley.experiments.specs import Run
from copula_shirley.schema.schema import Schema

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


def adapter(folder: Path, text: str = ECHO, **options: object) -> Peer:
    """A peer of a text, which runs with this Python: no pip is needed."""
    (folder / "mine.py").write_text(textwrap.dedent(text), encoding="utf-8")
    (folder / "mine.txt").write_text("", encoding="utf-8")
    files = {"adapter": "mine.py", "requirements": "mine.txt"}
    return Peer(entry_of("mine", {**files, **options}, folder), lambda _: Path(sys.executable))


def broken(where: str, line: str) -> str:
    """ECHO with a line put at the beginning of a method."""
    return re.sub(rf"(def {where}\(.*\n)", rf"\1        {line}\n", ECHO)


def dataset_of(table: pd.DataFrame, schema: Schema, tasks: dict[str, str]) -> Dataset:
    return Dataset("people", table, schema, tasks, schema.person)


@pytest.fixture
def fold(people: pd.DataFrame, people_schema: Schema) -> Fold:
    dataset = dataset_of(people, people_schema, {"binary": "rich"})
    return Fold(dataset, people_schema, people.iloc[:300], people.iloc[300:])


# -- registry ------------------------------------------------------------------


def test_every_peer_has_its_files_and_exact_pins() -> None:
    assert {"dpmm-mst", "dpmm-aim", "dpmm-privbayes", "datasynthesizer"} <= set(known_peers())
    for name, description in known_peers().items():
        entry = registry()[name]
        assert description
        assert "class Generator" in entry.adapter.read_text(encoding="utf-8")
        pins = entry.requirements.read_text(encoding="utf-8").split("\n")
        assert all(re.fullmatch(r"[\w.-]+==[\w.+!-]+", pin) for pin in pins if pin), name
        assert {"pandas", "pyarrow"} <= {pin.partition("==")[0] for pin in pins}
        assert entry.claim.format(epsilon=1.0, delta=1e-9)


def test_a_private_peer_without_noise_is_skipped(fold: Fold) -> None:
    with pytest.raises(Skip, match="no mode without noise"):
        find_peer("dpmm-mst").synthesize(fold, Run("people", "MST", "dpmm-mst", epsilon=None))


def test_unknown_names_keys_and_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(PeerError, match=r"'nobody'.*dpmm-mst"):
        find_peer("nobody")
    with pytest.raises(PeerError, match=r"adapter .*mine\.py' is no file"):
        find_peer(str(tmp_path / "mine.py"))
    (tmp_path / "mine.py").touch()
    with pytest.raises(PeerError, match=r"requirements .*mine\.txt' is no file"):
        find_peer(str(tmp_path / "mine.py"))
    (tmp_path / "mine.txt").touch()
    for wrong, says in (("takes: rows", "cells or values"), ("colour: 1", "colour"), ("7", "map")):
        (tmp_path / "mine.yaml").write_text(wrong, encoding="utf-8")
        with pytest.raises(PeerError, match=says):
            find_peer(str(tmp_path / "mine.py"))


def test_an_own_adapter_is_found_by_its_path(tmp_path: Path) -> None:
    adapter(tmp_path)
    entry = find_peer(str(tmp_path / "mine.py")).entry
    assert (entry.name, entry.takes, entry.private) == ("mine", "values", True)
    assert entry.python == THIS_PYTHON
    assert entry.requirements == tmp_path / "mine.txt"
    about = "takes: cells\nprivate: false\npython: 3.12\nsettings: {delta: 0.5}\n"
    (tmp_path / "mine.yaml").write_text(about, encoding="utf-8")
    entry = find_peer(str(tmp_path / "mine.py")).entry
    assert (entry.takes, entry.private, entry.python) == ("cells", False, "3.12")
    assert entry.settings == {"delta": 0.5}


# -- a job ---------------------------------------------------------------------


@pytest.mark.parametrize("takes", ["cells", "values"])
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


def test_settings_of_the_run_go_before_those_of_the_registry(tmp_path: Path, fold: Fold) -> None:
    text = broken("fit", "raise SystemExit(repr(self.about))")
    peer = adapter(tmp_path, text, settings={"degree": 1, "bins": 20, "delta": 0.1})
    settings = (("degree", 2), ("goal", "$binary"), ("other", "$regression"))
    run = Run("people", "mine", "mine.py", settings=settings, epsilon=0.5)
    seed = int(run.rng("fit").integers(2**31))
    with pytest.raises(PeerError) as caught:
        peer.synthesize(fold, run)
    assert f"(0.5, 0.1, {seed}, " in str(caught.value)
    assert "{'degree': 2, 'bins': 20, 'goal': 'rich'}" in str(caught.value)


def test_one_that_is_not_private_claims_nothing(tmp_path: Path, fold: Fold) -> None:
    run = Run("people", "mine", "mine.py", epsilon=None)
    made = adapter(tmp_path, private=False, notes="sees all").synthesize(fold, run)
    assert (made.privacy["claimed"], made.privacy["proved"]) == ("nothing", "nothing")
    assert ["notes", "sees all"] in made.privacy["summary"]


def test_persons_are_left_out_and_the_label_says_so(tmp_path: Path, fold: Fold) -> None:
    people = fold.dataset.table.assign(who=np.arange(400) // 2)
    schema = Schema(fold.schema.columns, person="who", max_rows=2)
    whose = Fold(dataset_of(people, schema, {}), schema, people.iloc[:300], people.iloc[300:])
    made = adapter(tmp_path).synthesize(whose, RUN)
    assert list(made.table.columns) == list(schema.names)
    assert any("person" in text for _, text in made.privacy["summary"])


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


@pytest.mark.parametrize("value", [-1, 0.5, np.nan, 10**6, "x"])
def test_what_is_no_cell_is_refused(value: object, tmp_path: Path, fold: Fold) -> None:
    peer, rng = adapter(tmp_path, takes="cells"), np.random.default_rng(0)
    drawn = peer.given(fold)
    with pytest.raises(PeerError, match="'age' must hold the numbers of cells"):
        peer.taken(drawn.assign(age=value), fold.schema, rng)
    with pytest.raises(PeerError, match="no column 'age'"):
        peer.taken(drawn.drop(columns="age"), fold.schema, rng)


def test_one_that_prints_does_no_harm(
    tmp_path: Path, fold: Fold, capfd: pytest.CaptureFixture[str]
) -> None:
    adapter(tmp_path, broken("fit", "print('x' * 10**6)")).synthesize(fold, RUN)
    assert capfd.readouterr() == ("", "")


def test_the_driver_is_in_our_group_with_our_threads_and_no_path(
    tmp_path: Path, fold: Fold, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "elsewhere"))
    seen = "os.getpgid(0), os.environ['OMP_NUM_THREADS'], os.environ.get('PYTHONPATH')"
    peer = adapter(tmp_path, broken("fit", f"import os; raise SystemExit(str(({seen})))"))
    run = Run("people", "mine", "mine.py", threads=3)
    with pytest.raises(PeerError, match=rf"\({os.getpgid(0)}, '3', None\)"):
        peer.synthesize(fold, run)


@pytest.mark.slow
def test_a_real_peer(fold: Fold) -> None:
    """DataSynthesizer has the smallest environment; needs the package index and Python 3.11."""
    entry = registry()["datasynthesizer"]
    if find_python(entry.python) is None:
        pytest.skip(f"no Python {entry.python}")
    names = ("age", "job", "rich")
    schema = Schema(tuple(column for column in fold.schema if column.name in names))
    table = fold.dataset.table[list(names)]
    few = Fold(dataset_of(table, schema, {}), schema, table.iloc[:300], table.iloc[300:])
    try:
        made = Peer(entry).synthesize(few, Run("few", "DS", "datasynthesizer", folds=4))
    except PeerError as error:
        if "could not be built" in str(error):
            pytest.skip(str(error))
        raise
    schema.validate(checked(made.table, few))


def test_the_command_lists_peers_and_names_what_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["peers"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    assert "dpmm-mst" in capsys.readouterr().out
    monkeypatch.setattr("sys.argv", ["peers", "nobody"])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code
    assert "'nobody'" in capsys.readouterr().err
