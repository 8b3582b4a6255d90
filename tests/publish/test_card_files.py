"""Cards beside what the command line writes: with the output, or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from card_models import SCHEMA, edited, fitted, rows
from commands import run

from copula_shirley import load, tasks
from copula_shirley.files.digest import file_sha256
from copula_shirley.publish.outputs import card_path
from copula_shirley.publish.pages import AboutFile, read_page
from copula_shirley.publish.verify import verify_file

WORDS = "data.csv --schema schema.yaml --model dp-histogram -q"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows().to_csv("data.csv", index=False)
    Path("schema.yaml").write_text(SCHEMA.to_yaml(), encoding="utf-8")


def listing() -> dict[str, bytes]:
    return {name: Path(name).read_bytes() for name in os.listdir()}


def test_every_output_has_a_card_that_fits() -> None:
    before = set(os.listdir())
    assert run(f"fit {WORDS} -o m.shirley").code == 0
    assert run("sample m.shirley -n 9 -q -o a.csv").code == 0
    assert run("sample m.shirley -n 9 -q -o b.parquet").code == 0
    assert run(f"synthesize {WORDS} -n 9 -o c.csv --save-model d.shirley").code == 0
    outputs = {"m.shirley", "a.csv", "b.parquet", "c.csv", "d.shirley"}
    assert set(os.listdir()) - before == outputs | {f"{name}.card.html" for name in outputs}
    for name in outputs:
        data, _ = read_page(card_path(Path(name)))
        assert data.file == AboutFile(name, file_sha256(name)) and data.made
        assert verify_file(name).faults == []
    assert read_page(Path("a.csv.card.html"))[0].card == load("m.shirley").card().to_dict()
    # nothing about the data's place, and no time in the model
    assert "data.csv" not in Path("c.csv.card.html").read_text()
    assert "made" not in json.dumps(load("m.shirley").card().to_dict())


def test_no_card() -> None:
    assert run(f"fit {WORDS} --no-card -o m.shirley").code == 0
    assert run("sample m.shirley -n 9 --no-card -q -o a.csv").code == 0
    assert sorted(os.listdir()) == ["a.csv", "data.csv", "m.shirley", "schema.yaml"]
    assert run("verify m.shirley").code == 0  # its card is inside
    assert run("verify a.csv").code == 2


def test_the_card_is_written_over_nothing_else() -> None:
    words = f"synthesize {WORDS} -o c.csv --save-model c.csv.card.html"
    assert "must be another file" in run(words).refusal()
    Path("schema.yaml").rename("c.csv.card.html")
    words = f"fit {WORDS} -o c.csv".replace("schema.yaml", "c.csv.card.html")
    assert "must be another file" in run(words).refusal()


@pytest.mark.parametrize("failing", ["m.shirley", "m.shirley.card.html"])
@pytest.mark.parametrize("old", [False, True])
def test_a_failure_leaves_both_files_as_they_were(
    failing: str, old: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if old:
        Path("m.shirley").write_text("an old model")
        Path("m.shirley.card.html").write_text("an old card")
    before = listing()
    replace = Path.replace

    def stop(self: Path, target: Path) -> Path:
        if Path(target).name == failing and self.name.endswith(".partial"):
            raise OSError(28, "No space left on device")
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", stop)
    assert run(f"fit {WORDS} -o m.shirley").code == 2
    assert listing() == before


def test_an_interrupt_while_rows_are_drawn_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(tasks, "write_table", interrupt)
    before = listing()
    assert run(f"synthesize {WORDS} -o c.csv").code == 130
    assert listing() == before


def test_a_forged_card_is_not_drawn_from() -> None:
    fitted("dp-histogram", epsilon=8.0).save("dear")
    card = fitted("dp-histogram", epsilon=0.1).card().to_dict()
    edited(Path("dear"), Path("forged"), lambda header, _: header.update(card=card))
    before = listing()
    assert "card does not belong to it" in run("sample forged -n 5 -o a.csv").refusal()
    assert listing() == before


def test_inspect_shows_the_card() -> None:
    fitted("private-vine").save("m.shirley")
    done = run("inspect m.shirley -o card.html")
    shown = " ".join(done.out.split())
    assert "Privacy card" in shown and "no attacker finds more than 7.2%" in shown
    assert read_page(Path("card.html"))[0].file == AboutFile("m.shirley", file_sha256("m.shirley"))
    assert run("verify m.shirley --card card.html").code == 0
    assert run("inspect m.shirley --json -o card.html").code == 2
