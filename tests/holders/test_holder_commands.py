"""Files carried by hand between folders, by the commands that people type."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import run

from copula_shirley import Column, Schema, load, verify_file
from copula_shirley.holders import folders
from copula_shirley.holders.folders import IN, OUT

SCHEMA = Schema(tuple(Column(name, "integer", minimum=0, maximum=3) for name in "ab"))
NAMES = ("clinic", "hospital")


def carried(source: Path, target: Path, pattern: str = "*") -> None:
    for path in (source / OUT).glob(f"{pattern}.shirley"):
        shutil.copy(path, target / IN / path.name)


def made(place: Path) -> str:
    """Two holders who have joined, and their coordinator; the fingerprint."""
    SCHEMA.write(place / "schema.yaml")
    for i, name in enumerate(NAMES):
        rows = np.arange(200) % 4
        pd.DataFrame({"a": rows, "b": (rows + i) % 4}).to_csv(place / f"{name}.csv", index=False)
        asked = f"holder init {name} {name}.csv schema.yaml --name {name} --epsilon 2"
        assert run(asked, folder=place).code == 0
    keys = " ".join(f"{name}/out/key.{name}.shirley" for name in NAMES)
    done = run(f"coordinate new middle schema.yaml {keys} --epsilon 2", folder=place)
    assert done.code == 0, done.err
    digits = re.search(r"Fingerprint: (\S+)", done.said)
    assert digits
    for name in NAMES:
        carried(place / "middle", place / name, "agreement")
    return digits[1]


@pytest.mark.slow
def test_a_model_by_files_that_are_carried(tmp_path: Path) -> None:
    digits = made(tmp_path)
    shown = run("holder join clinic", folder=tmp_path)
    assert shown.code == 0 and digits in shown.said and "that may collude: at most 1" in shown.said
    assert "Settings: delta 1e-09, domain declared, epsilon 2" in shown.said
    assert not list((tmp_path / "clinic" / OUT).glob("signature*"))
    assert len(digits.replace("-", "")) >= 40  # two agreements of one fingerprint take 2^80 tries
    wrong = run("holder join clinic --fingerprint 0000", folder=tmp_path)
    assert "--fingerprint ('0000') must be that of the agreement" in wrong.refusal()
    for name in NAMES:
        assert run(f"holder join {name} --fingerprint {digits}", folder=tmp_path).code == 0
        carried(tmp_path / name, tmp_path / "middle", "signature*")
    early = run("coordinate finish middle -o early.shirley", folder=tmp_path)
    assert "the session is not complete: ready for question 0" in early.refusal()
    said = ""
    for _ in range(60):
        done = run("coordinate next middle", folder=tmp_path)
        assert done.code == 0, done.err
        said = done.said
        if "All is answered" in said:
            break
        for name in NAMES:
            carried(tmp_path / "middle", tmp_path / name)
            assert run(f"holder answer {name}", folder=tmp_path).code == 0
            carried(tmp_path / name, tmp_path / "middle")
    assert "All is answered" in said
    done = run("coordinate finish middle -o model.shirley", folder=tmp_path)
    assert done.code == 0, done.err
    trust = load(tmp_path / "model.shirley").card()["trust"]
    assert trust["holders"] == 2 and trust["words"][0].startswith("2 holders answered")
    assert not verify_file(tmp_path / "model.shirley").faults
    assert (tmp_path / "model.shirley.card.html").exists()
    private = [*tmp_path.rglob("keys.json"), *(tmp_path / name for name in NAMES)]
    assert {path.stat().st_mode & 0o077 for path in private} == {0}
    assert run("holder answer clinic", folder=tmp_path).said == "Nothing to answer"


def test_a_file_that_was_tampered_with_or_sent_twice(tmp_path: Path) -> None:
    digits = made(tmp_path)
    for name in NAMES:
        run(f"holder join {name} --fingerprint {digits}", folder=tmp_path)
        carried(tmp_path / name, tmp_path / "middle")
    run("coordinate next middle", folder=tmp_path)
    carried(tmp_path / "middle", tmp_path / "clinic")
    asked = tmp_path / "clinic" / IN / "query-000-1.shirley"
    whole = asked.read_bytes()
    asked.write_bytes(whole[:200] + b"x" + whole[201:])
    bad = run("holder answer clinic", folder=tmp_path)
    assert bad.code == 2 and "query-000-1.shirley" in bad.said
    asked.write_bytes(whole)
    (tmp_path / "clinic" / IN / "again.shirley").write_bytes(whole)
    first = run("holder answer clinic", folder=tmp_path)
    assert first.code == 0, first.err
    ready = tmp_path / "clinic" / OUT / "ready-000-1.clinic.shirley"
    content = ready.read_bytes()
    assert run("holder answer clinic", folder=tmp_path).code == 0
    assert ready.read_bytes() == content  # the same random number, not another one


def test_a_coordinator_that_was_killed_sends_what_it_had_kept(tmp_path: Path) -> None:
    digits = made(tmp_path)
    for name in NAMES:
        folders.join(tmp_path / name, digits)
        carried(tmp_path / name, tmp_path / "middle")
    for kind in ("query", "commit"):
        done, _ = folders.advance(tmp_path / "middle")
        content = done.written[0].read_bytes()
        done.written[0].unlink()  # as if it had been killed before
        done, _ = folders.advance(tmp_path / "middle")
        assert done.written[0].name == f"{kind}-000-1.shirley"
        assert done.written[0].read_bytes() == content
        assert not folders.advance(tmp_path / "middle")[0].written
        for name in NAMES:
            carried(tmp_path / "middle", tmp_path / name)
            assert not folders.answer(tmp_path / name).faults
            carried(tmp_path / name, tmp_path / "middle")


def test_a_table_that_has_changed_since_the_holder_joined(tmp_path: Path) -> None:
    digits = made(tmp_path)
    for name in NAMES:
        run(f"holder join {name} --fingerprint {digits}", folder=tmp_path)
        carried(tmp_path / name, tmp_path / "middle")
    run("coordinate next middle", folder=tmp_path)
    carried(tmp_path / "middle", tmp_path / "clinic")
    table = (tmp_path / "clinic.csv").read_text()
    (tmp_path / "clinic.csv").write_text(table + "0,0\n")
    bad = run("holder answer clinic", folder=tmp_path)
    assert "the table of holder 'clinic' has changed since it joined" in bad.refusal()
    (tmp_path / "clinic.csv").write_text(table)
    assert run("holder answer clinic", folder=tmp_path).code == 0


def test_terms_and_names_that_cannot_be(tmp_path: Path) -> None:
    digits = made(tmp_path)
    keys = " ".join(f"{name}/out/key.{name}.shirley" for name in NAMES)
    offer = run(f"coordinate new other schema.yaml {keys} --epsilon 3", folder=tmp_path)
    assert offer.code == 0
    shutil.copy(tmp_path / "other/out/agreement.shirley", tmp_path / "clinic" / IN)
    more = re.search(r"Fingerprint: (\S+)", offer.said)
    assert more and more[1] != digits
    bad = run(f"holder join clinic --fingerprint {more[1]}", folder=tmp_path)
    assert "its epsilon (3) must be at most 2" in bad.refusal()
    for words, said in (
        (f"coordinate new x schema.yaml {keys} --colluding 2", "colluding (2) must be 0 to 1"),
        (f"coordinate new x schema.yaml {keys} --model uniform", "must be 'private-vine'"),
        (f"coordinate new x schema.yaml {keys} --domain measured", "domain"),
        ("holder init clinic clinic.csv schema.yaml --name clinic", "must be new"),
        ("holder init y clinic.csv schema.yaml --name 'a b'", "name is not readable"),
        ("coordinate next middle --restart", "no question is open"),
        ("holder answer nowhere", "does not exist"),
    ):
        assert said in run(words, folder=tmp_path).refusal()
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize(
    "more",
    [
        pytest.param("--holders 3", marks=pytest.mark.slow),
        "--holders 2 --folder files --colluding 0",
    ],
)
def test_simulated_holders_on_the_command_line(tmp_path: Path, more: str) -> None:
    SCHEMA.write(tmp_path / "schema.yaml")
    rows = np.arange(600) % 4
    pd.DataFrame({"a": rows, "b": rows}).to_csv(tmp_path / "data.csv", index=False)
    asked = f"simulate data.csv --schema schema.yaml {more} --epsilon 4 --save-model m.shirley"
    assert run("releases new all.yaml --epsilon 9 --delta 1e-8", folder=tmp_path).code == 0
    done = run(f"{asked} -o rows.csv --releases all.yaml", folder=tmp_path)
    assert done.code == 0, done.err
    assert "settled" in run("releases show all.yaml", folder=tmp_path).out  # counted once
    shown = run("inspect m.shirley", folder=tmp_path)
    assert "holders answered with masked sums" in " ".join(shown.out.split())
    assert run("verify m.shirley", folder=tmp_path).code == 0
    if "files" in more:
        assert len(list((tmp_path / "files").rglob("masked-*"))) >= 8
    mixed = run(f"{asked} -o rows.csv --trust local", folder=tmp_path)
    assert "must be left out with --trust local" in mixed.refusal()
