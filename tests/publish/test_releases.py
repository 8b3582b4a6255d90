"""The release ledger: what is added up, refused, given back and kept."""

from __future__ import annotations

import copy
import json
import multiprocessing
import os
import pickle
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from card_models import SCHEMA, SETTINGS, rows
from commands import run
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from copula_shirley import (
    ArtefactError,
    Budget,
    BudgetError,
    Ledger,
    PrivateVine,
    Schema,
    SettingError,
)
from copula_shirley.files.plain_json import sha256_of
from copula_shirley.generator import Generator, find_generator
from copula_shirley.privacy.zcdp import epsilon_of, rho_of
from copula_shirley.publish import releases
from copula_shirley.publish.releases import HEAD, LARGEST_LEDGER, Cost, ReleaseLedger, total_of
from copula_shirley.schema.schema import LeftOut

CAP = Budget(2.0, 1e-8)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    ReleaseLedger.new(tmp_path / "releases.json", CAP)
    return tmp_path / "releases.json"


def states(path: Path) -> list[str]:
    return [release.state for release in ReleaseLedger.open(path).releases]


# -- sums ------------------------------------------------------------------------------


def test_sums_by_hand() -> None:
    assert total_of([], CAP).epsilon == 0
    basic = total_of([Cost(0.25, 1e-9), Cost(0.5, 2e-9)], CAP)
    assert (basic.epsilon, basic.delta) == (0.75, pytest.approx(3e-9))
    rho = 0.01
    total = total_of([Cost(0.8, 1e-9, rho)] * 4, CAP)
    assert total.epsilon == pytest.approx(epsilon_of(4 * rho, 1e-8)) and total.delta == 1e-8
    failing = total_of([Cost(0.8, 1e-9, rho, 1e-9)] * 4, CAP)
    assert failing.epsilon == pytest.approx(epsilon_of(4 * rho, 6e-9))
    mixed = total_of([Cost(0.8, 1e-9, rho), Cost(0.5)], CAP)
    assert mixed.epsilon == pytest.approx(1.3)
    # rho of GDP means less, if all of it is
    gaussian = [Cost(0.8, 1e-9, rho, gdp=True)] * 3
    nothing = Cost(0.0, 0.0, 0.0)
    tight = epsilon_of(3 * rho, 1e-8, gdp=True)
    assert total_of([*gaussian, nothing], CAP).epsilon == pytest.approx(tight)
    for other in (Cost(0.8, 1e-9, rho), Cost(0.1, 0.0, 0.005)):
        both = total_of([*gaussian, other], CAP).epsilon
        assert both == pytest.approx(epsilon_of(3 * rho + (other.rho or 0), 1e-8)) and both > tight
    # pure epsilon means rho = epsilon^2 / 2: a little more does not undo what rho saved
    costs, cap = [Cost(1.0, 1e-9, rho_of(1.0, 1e-9))] * 3, Budget(3.0, 1e-8)
    more = [*costs, Cost(0.05, 0.0, 0.05**2 / 2)]
    assert total_of(costs, cap).epsilon < total_of(more, cap).epsilon < 1.8


COSTS = st.tuples(st.floats(0.01, 3), st.sampled_from([1e-9, 1e-8, 1e-6]))


@given(st.lists(COSTS, min_size=1, max_size=6))
def test_sums_of_rho_are_never_above_sums_of_epsilon(pairs: list[tuple[float, float]]) -> None:
    """At the same delta; so taking the smaller of both is taking the second."""
    cap = Budget(100.0, sum(d for _, d in pairs))
    together = total_of([Cost(e, d, rho_of(e, d)) for e, d in pairs], cap)
    assert together.epsilon <= sum(e for e, _ in pairs) * (1 + 1e-9)
    assert together.delta <= cap.delta * (1 + 1e-9)
    assert together.epsilon >= max(e for e, _ in pairs) * 0.3  # and it is no free lunch


# -- reserving ---------------------------------------------------------------------------


def fitted_in(ledger: ReleaseLedger, generator: Generator, schema: Schema = SCHEMA) -> Generator:
    with ledger.reserve(generator, schema, "\x1b[2Jrows.csv") as reservation:
        assert ReleaseLedger.open(ledger.path).releases[-1].state == "reserved"
        return reservation.fit(rows())


def test_a_fit_is_reserved_and_settled(path: Path) -> None:
    generator = PrivateVine(1.0)
    assert fitted_in(ReleaseLedger.open(path), generator) is generator
    generator.sample(10)  # post-processing: nothing is added
    (release,) = ReleaseLedger.open(path).releases
    assert (release.state, release.generator) == ("settled", "private-vine")
    assert release.what == r"\x1b[2Jrows.csv"  # what steers a terminal is written as what it is
    assert release.cost.epsilon == pytest.approx(1.0)
    assert release.cost.rho == pytest.approx(rho_of(1.0, 1e-9, gdp=True)) and release.cost.gdp


def test_the_cap_holds_and_the_refusal_names_the_sums(path: Path) -> None:
    ledger = ReleaseLedger.open(path)
    for _ in range(3):  # by rho three times epsilon 1 are within 2
        fitted_in(ledger, PrivateVine(1.0))
    before = path.read_bytes()
    said = (
        r"epsilon 1\.\d+, .*this fit of epsilon 1.5, .*total to epsilon 2\.\d+.*cap of epsilon 2,"
    )
    with pytest.raises(BudgetError, match=said):
        ledger.reserve(PrivateVine(1.5, 1e-9), SCHEMA)
    assert path.read_bytes() == before


def test_pure_epsilon_adds_up(tmp_path: Path) -> None:
    ledger = ReleaseLedger.new(tmp_path / "r.json", Budget(1.0), neighbours="replace-one")
    pure = partial(PrivateVine, delta=0.0, neighbours="replace-one")
    for epsilon in (0.5, 0.5):
        fitted_in(ledger, pure(epsilon))
    assert ledger.total.epsilon == pytest.approx(1.0)
    with pytest.raises(BudgetError, match="above the cap of epsilon 1 "):
        ledger.reserve(pure(0.01), SCHEMA)


DRAFTED = Schema.draft(rows())
ORDINAL = SETTINGS["copula-shirley"]
PERSON = Schema(SCHEMA.columns, person="who", max_rows=2)
LEFT = Schema(SCHEMA.columns, left_out=(LeftOut("mail", provenance="drafted"),))


@pytest.mark.parametrize(
    ("generator", "schema", "said"),
    [
        (lambda: find_generator("copula-shirley")(**ORDINAL), SCHEMA, "proves nothing"),
        (find_generator("real"), SCHEMA, "proves nothing"),
        (lambda: PrivateVine(None), SCHEMA, "epsilon off draws no noise"),
        (lambda: PrivateVine(1.0, random_state=0), SCHEMA, "seeded"),
        (lambda: PrivateVine(1.0), DRAFTED, "'age', .* were drafted"),
        (lambda: PrivateVine(1.0, domain="measured"), DRAFTED, "'age', .* were drafted"),
        (lambda: PrivateVine(1.0, neighbours="replace-one"), SCHEMA, "neighbours"),
        (lambda: PrivateVine(1.0), PERSON, "shirley releases new --unit person"),
        (lambda: PrivateVine(1.0), LEFT, "what is left out \\('mail'\\) was drafted"),
        (lambda: PrivateVine(3.0), SCHEMA, "above the cap"),
    ],
)  # fmt: skip
def test_what_does_not_add_up_is_refused(
    path: Path, generator: Any, schema: Schema, said: str
) -> None:
    before = path.read_bytes()
    with pytest.raises(BudgetError, match=said):
        ReleaseLedger.open(path).reserve(generator(), schema)
    assert path.read_bytes() == before


def test_rho_adds_up_where_the_ledger_counts_it(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Gaussian noise of every generator of ours; of a stranger's delta it says nothing."""
    kind = find_generator("dp-histogram")
    generator = partial(kind, mechanism="gaussian", delta=5e-9, neighbours="add-remove")
    spent = fitted_in(ReleaseLedger.open(path), generator(epsilon=1.0)).ledger_.spent
    (release,) = ReleaseLedger.open(path).releases
    assert release.cost.rho == spent.rho <= rho_of(1.0, 5e-9) * (1 + 1e-9)
    ledger = Ledger(Budget(0.9, 5e-9), neighbours="add-remove")
    monkeypatch.setattr(kind, "open_ledger", lambda *_: ledger)
    assert ReleaseLedger.open(path).reserve(generator(epsilon=1.0), SCHEMA).cost.rho is None
    # and one such release is enough: then epsilons add up
    assert ReleaseLedger.open(path).total.epsilon == pytest.approx(spent.epsilon + 0.9)


def test_what_asks_nothing_of_the_rows_costs_nothing(path: Path) -> None:
    fitted_in(ReleaseLedger.open(path), find_generator("uniform")())
    assert states(path) == ["settled"] and ReleaseLedger.open(path).total.epsilon == 0


def test_a_bought_domain_is_no_drafted_one(path: Path) -> None:
    kinds = Schema.of_kinds({c.name: c.kind for c in DRAFTED})
    fitted_in(ReleaseLedger.open(path), PrivateVine(1.0, domain="measured"), kinds)
    (release,) = ReleaseLedger.open(path).releases
    assert release.cost.failing == pytest.approx(1e-10) and release.state == "settled"


def test_what_is_given_back_and_what_stays_reserved(path: Path) -> None:
    def stop(stage: str, _: float) -> None:
        if stage == "tree 1":
            raise RuntimeError("stopped")

    reserved = ReleaseLedger.open(path).reserve(PrivateVine(1.0), SCHEMA)
    with suppress(RuntimeError), reserved:
        raise RuntimeError("the file is missing")
    assert states(path) == ["given back"] and ReleaseLedger.open(path).total.epsilon == 0
    reserved = ReleaseLedger.open(path).reserve(PrivateVine(1.0), SCHEMA)
    with suppress(RuntimeError), reserved:
        reserved.fit(rows(), progress=stop)
    assert states(path) == ["given back", "begun"]
    assert ReleaseLedger.open(path).releases[1].cost.epsilon == pytest.approx(1.0)


class OwnFit(PrivateVine):
    """Does something before the fit that all generators share."""

    def fit(self, *words: Any, **named: Any) -> PrivateVine:
        return super().fit(*words, **named)


PAST: dict[str, Callable[[PrivateVine], PrivateVine]] = {
    "itself": lambda generator: generator,
    "a clone": clone,
    "a deep copy": copy.deepcopy,
    "of a pickle": lambda generator: pickle.loads(pickle.dumps(generator)),
    "a new one": lambda generator: PrivateVine(**generator.get_params()),
    "a new one of another class": lambda _: OwnFit(1.0),
}


@pytest.mark.parametrize("twin_of", PAST.values(), ids=PAST)
def test_inside_the_block_only_the_reservation_fits(path: Path, twin_of: Any) -> None:
    generator = PrivateVine(1.0)
    said = r"would not be counted in .*releases\.json"
    with (
        ReleaseLedger.open(path).reserve(generator, SCHEMA),
        pytest.raises(BudgetError, match=said),
    ):
        twin_of(generator).fit(rows(), SCHEMA)
    assert states(path) == ["given back"]  # nothing was answered


@pytest.mark.parametrize("twin_of", [PAST["itself"], clone, copy.deepcopy])
def test_after_the_block_a_generator_of_a_ledger_is_fitted_by_a_reservation(
    path: Path, twin_of: Any
) -> None:
    generator = PrivateVine(0.5)
    with ReleaseLedger.open(path).reserve(generator, SCHEMA) as reservation:
        twin = twin_of(reservation.fit(rows()))
        with pytest.raises(BudgetError, match="would not be counted"):
            twin.fit(rows(), SCHEMA)
    assert generator.sample(3).shape == (3, 3)  # the model that was counted is still whole
    with pytest.raises(BudgetError, match="would not be counted"):
        twin.fit(rows(), SCHEMA)
    fitted_in(ReleaseLedger.open(path), twin)
    assert states(path) == ["settled", "settled"]
    PrivateVine(1.0, random_state=0).fit(rows(), SCHEMA)  # of no ledger, and none is open


# -- processes -----------------------------------------------------------------------------


def reserve_one(path: str) -> bool:
    try:
        reservation = ReleaseLedger.open(path).reserve(PrivateVine(0.5, delta=0.0), SCHEMA)
    except BudgetError:
        return False
    reservation._begun = True
    return True


def test_processes_cannot_overspend_together(path: Path) -> None:
    context = multiprocessing.get_context("fork")
    with context.Pool(8) as pool:
        granted = pool.map(reserve_one, [str(path)] * 24, chunksize=1)
    assert sum(granted) == 4  # of 2, each 0.5
    assert ReleaseLedger.open(path).total.epsilon == pytest.approx(2.0)


def removed_lock(path: Path) -> None:
    """Another process removes the lock file, takes a lock of its own and writes."""
    path.with_name(f".{path.name}.lock").unlink()
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.map(reserve_one, [str(path)]) == [True]


def no_lock(path: Path) -> None:
    """Somebody who takes no lock at all puts another ledger in its place."""
    other = path.with_name("other.json")
    ReleaseLedger.new(other, CAP)
    assert reserve_one(str(other))
    other.rename(path)


@pytest.mark.parametrize("meanwhile", [removed_lock, no_lock])
def test_what_was_written_meanwhile_counts(
    path: Path, monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[Path], None]
) -> None:
    write = releases._write

    def late(*words: Any) -> None:
        monkeypatch.setattr(releases, "_write", write)
        meanwhile(path)
        write(*words)

    monkeypatch.setattr(releases, "_write", late)
    ReleaseLedger.open(path).reserve(PrivateVine(0.25, delta=0.0), SCHEMA)
    assert [r.cost.epsilon for r in ReleaseLedger.open(path).releases] == [0.5, 0.25]


def stalled(path: str, at: str, ready: Any) -> None:
    def stall(stage: str, _: float = 0) -> None:
        if stage == at:
            ready.set()
            time.sleep(60)

    with ReleaseLedger.open(path).reserve(PrivateVine(1.0), SCHEMA) as reservation:
        stall("before")
        reservation.fit(rows(), progress=stall)


@pytest.mark.parametrize(("stage", "state"), [("before", "reserved"), ("tree 1", "begun")])
def test_a_killed_fit_keeps_its_reservation(path: Path, stage: str, state: str) -> None:
    context = multiprocessing.get_context("fork")
    ready = context.Event()
    process = context.Process(target=stalled, args=(str(path), stage, ready))
    process.start()
    assert ready.wait(30)
    process.kill()
    process.join()
    assert states(path) == [state]
    assert ReleaseLedger.open(path).total.epsilon == pytest.approx(1.0, rel=0.2)
    with pytest.raises(BudgetError):  # and the lock ended with it
        ReleaseLedger.open(path).reserve(PrivateVine(1.9), SCHEMA)


# -- the file -----------------------------------------------------------------------------


def with_entries(path: Path) -> dict[str, Any]:
    for epsilon in (0.4, 0.6):
        fitted_in(ReleaseLedger.open(path), PrivateVine(epsilon))
    content: dict[str, Any] = json.loads(path.read_text())
    assert [entry["kind"] for entry in content["entries"]] == ["reserved", "begun", "settled"] * 2
    return content


def edit(path: Path, content: dict[str, Any], change: Any, forge: bool = False) -> None:
    """Change the content; a forger makes the digests anew."""
    new = json.loads(json.dumps(content))
    change(new)
    if forge:
        digest = sha256_of({name: new[name] for name in HEAD})
        for entry in new["entries"]:
            entry.pop("digest")
            digest = entry["digest"] = sha256_of([digest, dict(entry)])
        new["digest"] = digest
    path.write_text(json.dumps(new))


def test_a_file_that_knows_no_gdp_is_read_and_added_up_in_zcdp(path: Path) -> None:
    fitted_in(ReleaseLedger.open(path), PrivateVine(1.0))
    fitted_in(ReleaseLedger.open(path), PrivateVine(1.0))
    both = ReleaseLedger.open(path).total
    content = json.loads(path.read_text())
    edit(path, content, lambda c: [entry.pop("gdp", 0) for entry in c["entries"]], forge=True)
    older = ReleaseLedger.open(path)
    assert not any(release.cost.gdp for release in older.releases)
    assert older.total.rho == both.rho
    assert older.total.epsilon == pytest.approx(epsilon_of(both.rho, older.cap.delta))
    assert older.total.epsilon > both.epsilon


def test_an_edited_file_is_refused(path: Path) -> None:
    content = with_entries(path)
    whole, known = path.read_bytes(), ReleaseLedger.open(path).to_dict()
    for change, said in [
        (lambda c: c["entries"][2].update(epsilon=0.01), "entry 3"),
        (lambda c: c["entries"].pop(), "digest does not fit"),
        (lambda c: c.update(cap={"epsilon": 50.0, "delta": 0.0}), "entry 1"),
        (lambda c: c.update(note="x"), "no release ledger"),
        (lambda c: c.pop("entries"), "no release ledger"),
        (lambda c: c.update(format=2), "format 2"),
    ]:
        edit(path, content, change)
        with pytest.raises(ArtefactError, match=said) as error:
            ReleaseLedger.open(path).reserve(PrivateVine(0.1), SCHEMA)
        assert "\n" not in str(error.value)
    for place in range(0, len(whole), 13):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        with suppress(ArtefactError):  # or the last digit of a number, which makes the same one
            assert ReleaseLedger.open(path).to_dict() == known


def test_a_careful_edit_must_still_make_sense(path: Path) -> None:
    """Digests made anew, but a cost below zero, or an order that never was."""
    content = with_entries(path)
    edit(path, content, lambda _: None, forge=True)
    assert ReleaseLedger.open(path).total.epsilon < 1.0  # the helper makes files that are read
    for change in (
        lambda c: c.update(unit="[red]"),
        lambda c: c.update(neighbours=3),
        lambda c: c["entries"][2].update(epsilon=-5.0),
        lambda c: c["entries"][2].update(epsilon=True),
        lambda c: c["entries"][2].update(rho=1e308),
        lambda c: c["entries"][1].update(kind="settled"),
        lambda c: c["entries"][5].update(kind="given back"),
        lambda c: c["entries"][3].update(number=7),
    ):
        edit(path, content, change, forge=True)
        with pytest.raises(ArtefactError, match="no release ledger"):
            ReleaseLedger.open(path)


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b"null", b"\xff", b"[" * 100_000])
def test_foreign_files_are_refused(content: bytes, path: Path) -> None:
    whole = path.read_bytes()
    path.write_bytes(content)
    with pytest.raises(ArtefactError, match="no release ledger"):
        ReleaseLedger.open(path)
    path.write_bytes(whole + b" " * LARGEST_LEDGER)
    with pytest.raises(ArtefactError, match="at most 16,777,216 bytes"):
        ReleaseLedger.open(path)


def test_a_ledger_is_never_replaced(path: Path) -> None:
    with pytest.raises(SettingError, match="never replaced"):
        ReleaseLedger.new(path, Budget(100.0))
    with pytest.raises(ArtefactError, match="does not exist"):
        ReleaseLedger.open(path.with_name("absent.json"))
    for words in ({"neighbours": "all"}, {"unit": "family"}):
        with pytest.raises(SettingError, match=next(iter(words))):
            ReleaseLedger.new(path.with_name("other.json"), CAP, **words)


# -- the command ---------------------------------------------------------------------------


def test_from_the_command_line(tmp_path: Path) -> None:
    rows().to_csv(tmp_path / "data.csv", index=False)
    rows().astype({"job": object}).assign(job="spy").to_csv(tmp_path / "off.csv", index=False)
    (tmp_path / "schema.yaml").write_text(SCHEMA.to_yaml(), encoding="utf-8")
    shirley = partial(run, folder=tmp_path)
    assert shirley("releases new r.json --epsilon 1.5 --delta 1e-8").code == 0
    fit = "fit data.csv --schema schema.yaml --releases r.json -q -o"
    assert shirley(f"{fit} one.shirley --epsilon 1").code == 0
    assert shirley("sample one.shirley -n 5 -q -o more.csv").code == 0
    before = sorted(os.listdir(tmp_path))
    for words, said in {
        f"{fit} two.shirley --epsilon 1.4": "above the cap of epsilon 1.5",
        f"{fit} two.shirley --epsilon 0.1 --seed 1": "seeded",
        "synthesize data.csv --releases r.json -q -o two.csv --epsilon 0.1": "--schema",
        "releases new r.json --epsilon 9": "never replaced",
        f"{fit} r.json --epsilon 0.1": "must be another file",
    }.items():
        assert said in shirley(words).refusal()
    assert states(tmp_path / "r.json") == ["settled"]
    for data in ("absent.csv", "off.csv"):
        assert shirley(f"{fit} two.shirley --epsilon 0.1".replace("data.csv", data)).refusal()
    assert sorted(os.listdir(tmp_path)) == before
    assert states(tmp_path / "r.json") == ["settled", "given back", "given back"]
    shown = " ".join(shirley("releases show r.json").out.split())
    assert "settled" in shown and "Drawing again from a saved model costs nothing" in shown
    said = json.loads(shirley("releases show r.json --json").out)
    assert said["releases"][0]["what"] == "one.shirley"
    assert said["cap"]["epsilon"] == 1.5 and len(said["releases"]) == 3


def test_links_lead_to_one_ledger(path: Path) -> None:
    links = [path.with_name(f"link{i}.json") for i in range(2)]
    for link in links:
        link.symlink_to(path)
    fitted_in(ReleaseLedger.open(links[0]), PrivateVine(2.0, delta=0.0))
    with pytest.raises(BudgetError, match="above the cap"):
        ReleaseLedger.open(links[1]).reserve(PrivateVine(2.0, delta=0.0), SCHEMA)
    os.link(path, path.with_name("hard.json"))
    with pytest.raises(ArtefactError, match="one name only"):
        ReleaseLedger.open(path)


def test_a_reservation_is_for_one_fit_of_its_settings(path: Path) -> None:
    generator = PrivateVine(1.0)
    with ReleaseLedger.open(path).reserve(generator, SCHEMA) as reservation:
        generator.set_params(epsilon=20.0)
        with pytest.raises(BudgetError, match="settings must be those"):
            reservation.fit(rows())
    assert ReleaseLedger.open(path).total.epsilon == 0
    with ReleaseLedger.open(path).reserve(PrivateVine(1.0), SCHEMA) as reservation:
        reservation.fit(rows())
        with pytest.raises(SettingError, match="reserve again"):
            reservation.fit(rows())
    with pytest.raises(SettingError, match="reserve again"):
        reservation.fit(rows())
    assert states(path) == ["given back", "settled"]


def test_people_of_two_columns_do_not_add_up(tmp_path: Path) -> None:
    ledger = ReleaseLedger.new(tmp_path / "p.json", Budget(5.0, 1e-8), unit="person")
    by = [Schema(SCHEMA.columns, person=name, max_rows=2) for name in ("patient", "doctor")]
    ledger.reserve(PrivateVine(1.0), by[0])
    with pytest.raises(BudgetError, match=r"'doctor'.*must be 'patient'"):
        ledger.reserve(PrivateVine(1.0), by[1])
