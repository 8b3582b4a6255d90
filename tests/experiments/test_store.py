from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from copula_shirley.experiments.run.store import Store, tidy
from copula_shirley.experiments.specs import GridError, Run

RUN = Run("made", "PB", "privbayes", variant="degree 2", epsilon=None)
KEEPS = Run("made", "PB", "privbayes", keep_table=True)


def done(run: Run = RUN) -> dict[str, Any]:
    return {
        "run": run.to_dict(),
        "id": run.id,
        "status": "done",
        "figures": {"ks": {"value": 0.25}, "tvd2": {"value": 0.5}},
        "seconds": {"fit": 2.0, "sample": 1.0, "evaluate": 3.0, "total": 7.0},
        "memory": {"fit": 2**20, "sample": 0},
        "privacy": {"claimed": "epsilon 1", "proved": "nothing"},
        "provenance": {"commit": "abc", "dirty": True, "time": "now", "python": "3.11.7",
                       "versions": {"numpy": "2.4.6", "opendp": ""}, "processor": "a chip"},
    }  # fmt: skip


def test_what_was_put_is_found_again(tmp_path: Path) -> None:
    store = Store(tmp_path / "new" / "folder")
    assert store.get(RUN) is None
    with store.opened():
        store.put(RUN, done())
    assert store.rows([RUN, KEEPS]) == [done()]
    store.forget(RUN)
    assert store.get(RUN) is None
    store.put(KEEPS, done(KEEPS))
    assert store.get(KEEPS) is None  # without its table it is not done
    store.put(KEEPS, done(KEEPS), pd.DataFrame({"A": [1]}))
    assert store.get(KEEPS) == done(KEEPS)


@pytest.mark.parametrize(
    "text",
    [
        "",
        json.dumps(done())[:200],
        "[]",
        "null",
        json.dumps({**done(), "id": "other"}),
        json.dumps({**done(), "status": "odd"}),
        json.dumps({"id": RUN.id, "status": "done", "run": RUN.to_dict()}),
        json.dumps({"id": RUN.id, "status": "failed", "run": RUN.to_dict()}),
        json.dumps({"id": RUN.id, "status": "failed", "reason": "alas"}),
    ],
)
def test_a_file_that_is_no_whole_result_counts_as_none(tmp_path: Path, text: str) -> None:
    store = Store(tmp_path)
    store.path(RUN).write_text(text, encoding="utf-8")
    assert store.get(RUN) is None


def test_one_runner_has_a_folder_to_itself(tmp_path: Path) -> None:
    rest = tmp_path / ".x.json.abc.partial"
    rest.touch()
    for _ in range(2):
        with Store(tmp_path).opened():
            assert not rest.exists()
            with pytest.raises(GridError, match="another runner"), Store(tmp_path).opened():
                pass
    (tmp_path / "file").touch()
    store = Store(tmp_path / "file" / "folder")
    with pytest.raises(GridError, match="cannot be made"), store.opened():
        pass


def test_the_tidy_frame() -> None:
    failed = {"run": KEEPS.to_dict(), "id": KEEPS.id, "status": "failed", "reason": "alas"}
    frame = tidy([done(), failed])
    own = frame[frame["status"] == "done"].set_index("metric")
    assert own["value"].to_dict() == {
        "ks": 0.25,
        "tvd2": 0.5,
        "fit_seconds": 2.0,
        "sample_seconds": 1.0,
        "evaluate_seconds": 3.0,
        "total_seconds": 7.0,
        "fit_megabytes": 1.0,
        "sample_megabytes": 0.0,
    }
    assert own["variant"].unique().tolist() == ["degree 2"]
    assert own.iloc[0][["commit", "dirty", "time"]].tolist() == ["abc", True, "now"]
    assert own.iloc[0]["made_by"] == "Python 3.11.7, numpy 2.4.6, a chip"
    (line,) = frame[frame["status"] == "failed"].to_dict("records")
    assert line["reason"] == "alas" and pd.isna(line["value"]) and line["epsilon"] == 1.0
