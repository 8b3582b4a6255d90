"""Real devices and the survey that asks them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from commands import run

from copula_shirley import Column, Schema, load
from copula_shirley.errors import ReportError, SchemaError, SettingError, ShirleyError
from copula_shirley.local import device
from copula_shirley.local.coins import Wave, described
from copula_shirley.local.generator import LocalVine
from copula_shirley.local.survey import LONGEST_LINE, Survey, _axis
from copula_shirley.private_vine.cell_maps import Axis, GroupMap
from copula_shirley.private_vine.intervals import Intervals
from copula_shirley.rows.memory import MemoryRows

ROOT = Path(__file__).parent.parent.parent
SCHEMA = Schema(
    (
        Column("age", "integer", minimum=0, maximum=19, missing=True),
        Column("city", "categorical", categories=("a", "b", "c"), missing=True),
        Column("born", "datetime", minimum="2000-01-01", maximum="2000-12-31", resolution="1D"),
        Column("pay", "continuous", minimum=0, maximum=1000),
        Column("stay", "duration", minimum="0s", maximum="2h", resolution="1min"),
        Column("sick", "boolean"),
    )
)
SMALL = Schema(tuple(SCHEMA[name] for name in ("city", "sick")))
QUESTION: dict[str, Any] = {
    "format": device.QUESTION,
    "survey": "a1b2c3d4e5",
    "wave": 1,
    "epsilon": 1.0,
    "tables": [{"axes": [0], "randomiser": described(Wave.of(2, 1.0))}],
    "axes": [{"column": "sick", "categories": [False, True], "groups": [0, 1], "missing": False}],
}


def without_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ledgers that nobody keeps: each device is a new one."""

    @contextmanager
    def held(_: Any, form: str, empty: Any) -> Any:
        yield json.loads(json.dumps({"format": form, **empty}))

    monkeypatch.setattr(device, "held", held)
    monkeypatch.setattr(device, "save", lambda *_: None)


# -- the device ------------------------------------------------------------------------


def test_a_device_finds_the_cell_that_the_learner_means() -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "age": pd.array([None, 0, 19, 7, 12], dtype="Int64"),
            "city": ["a", None, "c", "b", "a"],
            "born": ["2000-01-01", "2000-12-31", "2000-02-29", "2000-07-04", "2000-03-01"],
            "pay": [0.0, 1000.0, 12.5, 700.25, 3.0],
            "stay": ["0s", "2h", "1h", "1min", "59min"],
            "sick": [True, False, True, False, True],
        }
    )
    rows = MemoryRows.of(SCHEMA.validate(table), SCHEMA)
    for column in SCHEMA:
        own = None if column.is_listed else Intervals.of(column)
        size = column.size if own is None else len(own)
        axis = Axis(column.name, np.sort(rng.integers(0, 3, size)), own)
        axis = Axis(column.name, np.unique(axis.groups, return_inverse=True)[1], own)
        told = json.loads(json.dumps(_axis(axis, SCHEMA)))
        device._check_axis(told)
        wanted = GroupMap((axis,)).cells(rows.chunk())
        seconds = pd.to_timedelta(table["stay"]).dt.total_seconds()
        values = seconds if column.name == "stay" else table[column.name]
        found = [
            device._group_of(told, {column.name: None if pd.isna(v) else v})
            for v in values.astype(object)
        ]
        assert found == wanted.tolist(), column.name


def test_a_device_finds_the_cell_of_a_place() -> None:
    home = Column(
        "home", "place", minimum="48.8, 2.25", maximum="48.9, 2.45", resolution="4km", missing=True
    )
    told = json.loads(json.dumps(_axis(Axis("home", np.arange(home.size)), Schema((home,)))))
    rng = np.random.default_rng(0)
    points = rng.uniform([48.8, 2.25], [48.9, 2.45], (200, 2)).tolist()
    texts = pd.Series([f"{a:.15f}, {b:.15f}" for a, b in points], dtype=object)
    wanted = home.domain.to_numbers(texts) + 1
    assert [device._group_of(told, {"home": text}) for text in texts] == wanted.tolist()
    assert [device._group_of(told, {"home": point}) for point in points] == wanted.tolist()
    assert device._group_of(told, {"home": None}) == 0
    assert device._group_of(told, {"home": "50, 9"}) == home.size - 1  # beyond the box: its edge
    for value in ("Paris", "1", 48.8, [1, 2, 3], "nan nan", True):
        with pytest.raises(ReportError, match="'home': the value must be latitude and longitude"):
            device._group_of(told, {"home": value})


def test_a_device_answers_once(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.json"
    first = device.answer(QUESTION, {"sick": True}, ledger, 2.0)
    # the same question: the same report, whatever the record says now
    assert all(
        device.answer(QUESTION, {"sick": x}, ledger, 2.0) == first for x in (True, False) * 9
    )
    with pytest.raises(ReportError, match=r"survey \(a1b2c3d4e5\) was answered by this device"):
        device.answer({**QUESTION, "wave": 2}, {"sick": True}, ledger, 2.0)
    other = {**QUESTION, "survey": "another123"}
    device.answer(other, {"sick": True}, ledger, 2.0)
    with pytest.raises(ReportError, match=r"most_epsilon \(2\) must be at least 3"):
        device.answer({**QUESTION, "survey": "athird1234"}, {"sick": True}, ledger, 2.0)
    assert len(json.loads(ledger.read_text())["surveys"]) == 2
    with pytest.raises(ReportError, match=r"most_epsilon \(nan\) must be at least"):
        device.answer({**QUESTION, "survey": "athird1234"}, {"sick": True}, ledger, float("nan"))


def test_a_ledger_that_is_reached_by_a_link_is_the_same_ledger(tmp_path: Path) -> None:
    ledger, link = tmp_path / "ledger.json", tmp_path / "link.json"
    device.answer(QUESTION, {"sick": True}, ledger, 9.0)
    link.symlink_to(ledger)
    device.answer({**QUESTION, "survey": "another123"}, {"sick": True}, link, 9.0)
    assert len(json.loads(ledger.read_text())["surveys"]) == 2
    held = device.held(ledger, device.LEDGER, {"surveys": {}})
    with held, pytest.raises(ReportError, match="in use"):
        device.answer({**QUESTION, "survey": "athird1234"}, {"sick": True}, link, 9.0)


def test_whether_a_report_leaves_does_not_depend_on_the_record(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A question that knows the values of some people only would else tell who they are."""
    without_disk(monkeypatch)
    other = {"column": "rich", "categories": [False, True], "groups": [0, 1], "missing": False}
    tiny = {"column": "age", "low": [0.0, 1.0], "step": 5e-324, "groups": [0, 1], "missing": False}
    one = QUESTION["tables"][0]["randomiser"]
    tables = [{"axes": [i], "randomiser": one} for i in range(3)]
    asked = {**QUESTION, "tables": tables, "axes": [*QUESTION["axes"], other, tiny]}
    records: list[dict[str, Any]] = [
        {"sick": True, "rich": "?", "age": 7},
        {"sick": None, "rich": True, "age": None},
        {"rich": [1], "age": "seven"},
        {},
    ]
    for record in records:
        said = [device.answer(asked, record, tmp_path / "x", 1.0) for _ in range(60)]
        assert {report["table"] for report in said} == {0, 1, 2}
        assert {report["said"] for report in said} == {0, 1}


def test_the_ledger_is_on_the_disk_before_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, done = tmp_path / "ledger.json", []
    save, replace = device.save, os.replace
    monkeypatch.setattr(device, "save", lambda *given: (save(*given), done.append("saved")))
    monkeypatch.setattr(os, "replace", lambda *given: (replace(*given), done.append("moved")))
    report = device.answer(QUESTION, {"sick": True}, ledger, 1.0)
    assert done == ["moved", "saved"]
    kept = json.loads(ledger.read_text())["surveys"]["a1b2c3d4e5"]
    assert kept["report"] == report and 0.99 < kept["epsilon"] <= 1.0

    def full(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(device, "save", full)
    with pytest.raises(OSError, match="disk full"):
        device.answer({**QUESTION, "survey": "another123"}, {"sick": True}, ledger, 9.0)
    assert len(json.loads(ledger.read_text())["surveys"]) == 1


CHEAT = described(Wave.of(2, 3.0))
AXIS = QUESTION["axes"][0]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": "other"}, "question must be one of format"),
        (
            {"tables": [{"axes": [0], "randomiser": CHEAT}]},
            "costs epsilon 3, more than the question's 1",
        ),
        ({"epsilon": 50}, r"epsilon \(50\) of one report"),
        ({"survey": "../x"}, "8 to 64 letters and digits"),
        ({"wave": 0}, r"wave \(0\)"),
        ({"tables": []}, "tables and axes"),
        ({"tables": [{"axes": [1], "randomiser": CHEAT}]}, r"axis \(1\)"),
        ({"tables": [{"axes": [], "randomiser": CHEAT}]}, "1 to 4 axes"),
        (
            {"tables": [{"axes": [0, 0], "randomiser": CHEAT}]},
            r"cells \(2\) of a randomiser must be 4",
        ),
        ({"axes": [{**AXIS, "groups": [0]}]}, "a group for each of its cells"),
        ({"axes": [{**AXIS, "low": [0, 1]}]}, "either categories or cells"),
        ({"axes": [{"column": "sick", "groups": [0, 1], "low": [1, 0]}]}, "a group for each"),
        ({"axes": [{**AXIS, "groups": [0, -1]}]}, "a column and groups"),
    ],
)
def test_questions_that_cheat_or_are_broken_are_refused(
    tmp_path: Path, change: dict[str, Any], words: str
) -> None:
    ledger = tmp_path / "ledger.json"
    with pytest.raises(ReportError, match=words):
        device.answer({**QUESTION, **change}, {"sick": True}, ledger, 20.0)
    assert not ledger.exists()


def test_errors_name_the_column_and_never_the_value() -> None:
    number = {"column": "age", "low": [0.0, 5.0], "step": 1.0, "groups": [0, 1], "missing": False}
    for record, axis, words in (
        ({}, AXIS, "record must have the column 'sick'"),
        ({"sick": "secret"}, AXIS, "column 'sick': the value must be one of its categories"),
        ({"age": "secret"}, number, "column 'age': the value must be a number or a date"),
        ({"age": True}, number, "column 'age'"),
        ({"age": None}, number, "column 'age': a value is missing"),
    ):
        with pytest.raises(ReportError, match=words) as caught:
            device._group_of(axis, record)
        assert "secret" not in str(caught.value)
        told = device.unknown({**QUESTION, "axes": [axis]}, record)
        assert told == [str(caught.value)]


def test_it_runs_in_a_bare_interpreter(tmp_path: Path) -> None:
    """Five files of the package and no site-packages."""
    home = tmp_path / "app" / "copula_shirley"
    (home / "local").mkdir(parents=True)
    files = ["__init__", "errors", "local/__init__", "local/coins", "local/device", "local/memo"]
    for name in [*files, "local/ledger_file"]:
        (home / f"{name}.py").write_text((ROOT / "copula_shirley" / f"{name}.py").read_text())
    (tmp_path / "question.json").write_text(json.dumps(QUESTION))
    code = (
        "import sys; sys.path.insert(0, 'app')\n"
        "from copula_shirley.local.device import answer, read_question\n"
        "from copula_shirley.local.memo import Memo, Scheme\n"
        "question = read_question('question.json')\n"
        "print(answer(question, {'sick': True}, 'ledger.json', 1.0)['said'])\n"
        "Memo('memo.json', Scheme()).report('now', 'Lyon')\n"
        "assert not [m for m in sys.modules if m.split('.')[0] in ('numpy', 'msgspec', 'pandas')]\n"
    )
    bare = [sys.executable, "-I", "-S", "-c", code]
    done = subprocess.run(bare, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() in {"0", "1"}


# -- the survey ------------------------------------------------------------------------


def records(many: int) -> list[dict[str, Any]]:
    rng = np.random.default_rng(1)
    cities = rng.choice(["a", "b", "c"], many, p=[0.6, 0.3, 0.1])
    return [{"city": str(c), "sick": bool(rng.random() < (c == "b"))} for c in cities]


def test_from_the_first_question_to_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_disk(monkeypatch)
    people, folder = iter(records(3000)), tmp_path / "survey"
    found = Survey.create(folder, SMALL, LocalVine(4.0, target="sick"), 3000)
    query = found.next_query()
    while query is not None:
        question = device.read_question(found.question_path)
        asked = [r for r, _ in zip(people, range(found.wanted(query)), strict=False)]
        said = [device.answer(question, one, "nowhere", 4.0) for one in asked]
        lines = [json.dumps(one) for one in (*said, said[0])]  # one came twice
        (tmp_path / "reports").write_text("\n".join(lines))
        many, query = Survey.open(folder).close([tmp_path / "reports"])
        assert many == len(asked)
        found = Survey.open(folder)
    assert found.wave > 2
    done = run("survey finish survey -o model.shirley", folder=tmp_path)
    assert done.code == 0, done.err
    model = load(tmp_path / "model.shirley")
    synthetic = model.sample(4000, random_state=0)
    assert abs((synthetic["city"] == "a").mean() - 0.6) < 0.12
    assert synthetic["sick"][synthetic["city"] == "b"].mean() > 0.75
    assert model.ledger_.noise.for_release and model.ledger_.spent.epsilon == 4.0
    assert run("verify model.shirley", folder=tmp_path).code == 0
    with pytest.raises(SettingError, match="all questions are answered"):
        Survey.open(folder).close([])


def test_reports_that_do_not_belong_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_disk(monkeypatch)
    found = Survey.create(tmp_path / "s", SMALL, LocalVine(4.0), 1000)
    question = device.read_question(found.question_path)
    good = device.answer(question, {"city": "a", "sick": True}, "nowhere", 4.0)
    before = (tmp_path / "s" / "survey.json").read_bytes()
    for change, words in (
        ({"format": "x"}, "line 1: must be a report of format"),
        ({"survey": "x"}, "line 1: the report is not of wave 1"),
        ({"wave": 7}, "not of wave 1"),
        ({"table": 99}, r"table \(99\) must be a whole number from 0 to 1"),
        ({"said": 10**6}, "line 1: report .1000000. must be a whole number"),
        ({"id": None}, "must have an id"),
        ({}, "1 of 2 tables have none yet"),
    ):
        (tmp_path / "reports").write_text(json.dumps({**good, **change}))
        with pytest.raises(ShirleyError, match=words):
            Survey.open(tmp_path / "s").close([tmp_path / "reports"])
    for content in (b"\xff\xfe\n", b"[" * (LONGEST_LINE + 9)):
        (tmp_path / "reports").write_bytes(content)
        with pytest.raises(ReportError, match="line 1: must be a report of format"):
            Survey.open(tmp_path / "s").close([tmp_path / "reports"])
    assert (tmp_path / "s" / "survey.json").read_bytes() == before
    with pytest.raises(SettingError, match="wave 1 is open"):
        Survey.open(tmp_path / "s").finish()
    with pytest.raises(SettingError, match="has a survey already"):
        Survey.create(tmp_path / "s", SMALL, LocalVine(4.0), 1000)
    ruled = Schema.from_dict({**SCHEMA.to_dict(), "rules": [{"order": ["age", "pay"]}]})
    with pytest.raises(SchemaError, match="rules must be left out"):
        Survey.create(tmp_path / "t", ruled, LocalVine(4.0), 1000)
    assert not (tmp_path / "t").exists()


def test_a_damaged_survey_is_one_error(tmp_path: Path) -> None:
    Survey.create(tmp_path / "s", SMALL, LocalVine(4.0), 1000)
    path = tmp_path / "s" / "survey.json"
    state = json.loads(path.read_text())
    for change, words in (
        ({"counts": [[[0]], [[1, 2]]], "told": [[0], [3]]}, "its counts are not those of margins"),
        ({"counts": []}, "must have format"),
        ({"format": "x"}, "must have format"),
        ({"people": "many"}, "is damaged"),
    ):
        path.write_text(json.dumps({**state, **change}))
        with pytest.raises(ShirleyError, match=words):
            Survey.open(tmp_path / "s").next_query()
    path.write_text("{")
    with pytest.raises(ShirleyError, match="is damaged"):
        Survey.open(tmp_path / "s")


def test_the_commands(tmp_path: Path) -> None:
    (tmp_path / "schema.yaml").write_text(SMALL.to_yaml())
    done = run("survey new s schema.yaml --people 1000 --epsilon 2 --waves one", folder=tmp_path)
    question = json.loads((tmp_path / "s" / "wave-1.question.json").read_text())
    assert [one["axes"] for one in question["tables"]] == [[0], [1], [2, 3]]  # and the pair
    assert done.code == 0 and "wave-1.question.json" in "".join(done.err.split()), done.err
    (tmp_path / "me.yaml").write_text("city: b\nsick: true\n")
    asked = "report s/wave-1.question.json me.yaml --ledger l.json --most-epsilon 2"
    first, again = (run(asked, folder=tmp_path) for _ in range(2))
    assert first.code == 0 and first.out == again.out
    assert json.loads(first.out)["format"] == device.REPORT
    refused = run(asked.replace(" 2", " 1").replace("l.json", "other.json"), folder=tmp_path)
    assert refused.code == 2 and "--most-epsilon (1) must be at least 2" in refused.said
    assert run("survey close nowhere x", folder=tmp_path).code == 2
