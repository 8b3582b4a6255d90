"""Cards beside what the command line writes: with the output, or not at all."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest
from card_models import SCHEMA, edited, fitted, rows

from copula_shirley import load, tasks
from copula_shirley.cli import main as cli
from copula_shirley.files.digest import file_sha256
from copula_shirley.files.model_file import atomic_paths
from copula_shirley.publish.outputs import card_path
from copula_shirley.publish.pages import AboutFile, read_page
from copula_shirley.publish.verify import verify_file

WORDS = "data.csv --schema schema.yaml --model dp-histogram -q"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rows().to_csv("data.csv", index=False)
    Path("schema.yaml").write_text(SCHEMA.to_yaml(), encoding="utf-8")
    return tmp_path


def shirley(monkeypatch: pytest.MonkeyPatch, words: str) -> int:
    monkeypatch.setattr(sys, "argv", ["shirley", *words.split()])
    try:
        cli.main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


def listing() -> dict[str, bytes]:
    return {name: Path(name).read_bytes() for name in os.listdir()}


@pytest.mark.usefixtures("here")
def test_every_output_has_a_card_that_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    before = set(os.listdir())
    assert shirley(monkeypatch, f"fit {WORDS} -o m.shirley") == 0
    assert shirley(monkeypatch, "sample m.shirley -n 9 -q -o a.csv") == 0
    assert shirley(monkeypatch, "sample m.shirley -n 9 -q -o b.parquet") == 0
    assert shirley(monkeypatch, f"synthesize {WORDS} -n 9 -o c.csv --save-model d.shirley") == 0
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


@pytest.mark.usefixtures("here")
def test_no_card(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shirley(monkeypatch, f"fit {WORDS} --no-card -o m.shirley") == 0
    assert shirley(monkeypatch, "sample m.shirley -n 9 --no-card -q -o a.csv") == 0
    assert sorted(os.listdir()) == ["a.csv", "data.csv", "m.shirley", "schema.yaml"]
    assert shirley(monkeypatch, "verify m.shirley") == 0  # its card is inside
    assert shirley(monkeypatch, "verify a.csv") == 2


@pytest.mark.usefixtures("here")
def test_the_card_is_written_over_nothing_else(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = f"synthesize {WORDS} -o c.csv --save-model c.csv.card.html"
    assert shirley(monkeypatch, words) == 2
    assert "must be another file" in capsys.readouterr().err
    Path("schema.yaml").rename("c.csv.card.html")
    assert (
        shirley(monkeypatch, f"fit {WORDS} -o c.csv".replace("schema.yaml", "c.csv.card.html")) == 2
    )
    assert "must be another file" in capsys.readouterr().err


@pytest.mark.usefixtures("here")
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
    assert shirley(monkeypatch, f"fit {WORDS} -o m.shirley") == 2
    assert listing() == before


@pytest.mark.usefixtures("here")
def test_an_interrupt_while_rows_are_drawn_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(tasks, "write_table", interrupt)
    before = listing()
    assert shirley(monkeypatch, f"synthesize {WORDS} -o c.csv") == 130
    assert listing() == before


def test_many_files_or_none(tmp_path: Path) -> None:
    targets = [tmp_path / name for name in "abc"]
    targets[1].write_text("old")

    def write(stop: bool) -> None:
        with atomic_paths(targets) as partials:
            for partial in partials:
                partial.write_text("new")
            if stop:
                raise RuntimeError

    with pytest.raises(RuntimeError):
        write(stop=True)
    assert os.listdir(tmp_path) == ["b"] and targets[1].read_text() == "old"
    write(stop=False)
    assert sorted(os.listdir(tmp_path)) == ["a", "b", "c"]
    assert {target.read_text() for target in targets} == {"new"}


@pytest.mark.usefixtures("here")
def test_a_forged_card_is_not_drawn_from(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fitted("dp-histogram", epsilon=8.0).save("dear")
    card = fitted("dp-histogram", epsilon=0.1).card().to_dict()
    edited(Path("dear"), Path("forged"), lambda header, _: header.update(card=card))
    before = listing()
    assert shirley(monkeypatch, "sample forged -n 5 -o a.csv") == 2
    assert "card does not belong to it" in " ".join(capsys.readouterr().err.split())
    assert listing() == before
    # a model that is older than cards gets one, which says what is not known
    edited(Path("dear"), Path("older"), lambda header, _: header.pop("card"))
    assert shirley(monkeypatch, "sample older -n 5 -q -o a.csv") == 0
    assert set(read_page(Path("a.csv.card.html"))[0].card["versions"]) == {"copula-shirley"}
    assert shirley(monkeypatch, "verify a.csv") == 0


@pytest.mark.usefixtures("here")
def test_inspect_shows_the_card(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    fitted("private-vine").save("m.shirley")
    assert shirley(monkeypatch, "inspect m.shirley -o card.html") == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "Privacy card" in shown and "no attacker finds more than 7.6%" in shown
    assert read_page(Path("card.html"))[0].file == AboutFile("m.shirley", file_sha256("m.shirley"))
    assert shirley(monkeypatch, "verify m.shirley --card card.html") == 0
    assert shirley(monkeypatch, "inspect m.shirley --json -o card.html") == 2
