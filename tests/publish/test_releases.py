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
from commands import Outcome, run
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
from copula_shirley.generator import find_generator
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
    # pure epsilon means rho = epsilon^2 / 2: a little more does not undo what rho saved
    costs, cap = [Cost(1.0, 1e-9, rho_of(1.0, 1e-9))] * 3, Budget(3.0, 1e-8)
    more = [*costs, Cost(0.05, 0.0, 0.05**2 / 2)]
    assert total_of(costs, cap).epsilon < total_of(more, cap).epsilon < 1.8


COSTS = st.tuples(st.floats(0.01, 3), st.sampled_from([1e-9, 1e-8, 1e-6]))


@given(st.lists(COSTS, min_size=1, max_size=6))
def test_sums_of_rho_are_never_above_sums_of_epsilon(pairs: list[tuple[float, float]]) -> None:
    """At the same delta; so taking the smaller of both is taking the second."""
    costs = [Cost(e, d, rho_of(e, d)) for e, d in pairs]
    cap = Budget(100.0, sum(d for _, d in pairs))
    together = total_of(costs, cap)
    assert together.epsilon <= sum(e for e, _ in pairs) * (1 + 1e-9)
    assert together.delta <= cap.delta * (1 + 1e-9)
    assert together.epsilon >= max(e for e, _ in pairs) * 0.3  # and it is no free lunch


# -- reserving ---------------------------------------------------------------------------


def test_a_fit_is_reserved_and_settled(path: Path) -> None:
    generator = PrivateVine(1.0)
    with ReleaseLedger.open(path).reserve(generator, SCHEMA, "rows.csv") as reservation:
        assert states(path) == ["reserved"]
        assert ReleaseLedger.open(path).total.epsilon <= 1.0
        assert reservation.fit(rows()) is generator
    (release,) = ReleaseLedger.open(path).releases
    assert (release.state, release.what, release.generator) == (
        "settled", "rows.csv", "private-vine",
    )  # fmt: skip
    assert release.cost.epsilon == pytest.approx(1.0)
    assert release.cost.rho == pytest.approx(rho_of(1.0, 1e-9))
    generator.sample(10)  # post-processing: nothing is added
    assert len(ReleaseLedger.open(path).releases) == 1


def test_the_cap_holds_and_the_refusal_names_the_sums(path: Path) -> None:
    ledger = ReleaseLedger.open(path)
    for _ in range(3):  # by rho three times epsilon 1 are within 2
        with ledger.reserve(PrivateVine(1.0), SCHEMA) as reservation:
            reservation.fit(rows())
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
        with ledger.reserve(pure(epsilon), SCHEMA) as reservation:
            reservation.fit(rows())
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
        (lambda: PrivateVine(None), SCHEMA, "epsilon none draws no noise"),
        (lambda: PrivateVine(1.0, random_state=0), SCHEMA, "seeded"),
        (lambda: PrivateVine(1.0), DRAFTED, "'age', .* were drafted"),
        (lambda: PrivateVine(1.0, domain="measured"), DRAFTED, "'age', .* were drafted"),
        (lambda: PrivateVine(1.0, neighbours="replace-one"), SCHEMA, "neighbours"),
        (lambda: PrivateVine(1.0), PERSON, "unit"),
        (lambda: PrivateVine(1.0), LEFT, "'mail'\\) are left out was drafted"),
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
    with ReleaseLedger.open(path).reserve(generator(epsilon=1.0), SCHEMA) as reservation:
        spent = reservation.fit(rows()).ledger_.spent
    (release,) = ReleaseLedger.open(path).releases
    assert release.cost.rho == spent.rho <= rho_of(1.0, 5e-9) * (1 + 1e-9)
    ledger = Ledger(Budget(0.9, 5e-9), neighbours="add-remove")
    monkeypatch.setattr(kind, "open_ledger", lambda *_: ledger)
    assert ReleaseLedger.open(path).reserve(generator(epsilon=1.0), SCHEMA).cost.rho is None
    # and one such release is enough: then epsilons add up
    assert ReleaseLedger.open(path).total.epsilon == pytest.approx(spent.epsilon + 0.9)


def test_what_asks_nothing_of_the_rows_costs_nothing(path: Path) -> None:
    with ReleaseLedger.open(path).reserve(find_generator("uniform")(), SCHEMA) as reservation:
        reservation.fit(rows())
    assert states(path) == ["settled"] and ReleaseLedger.open(path).total.epsilon == 0


def test_a_bought_domain_is_no_drafted_one(path: Path) -> None:
    kinds = Schema.of_kinds({c.name: c.kind for c in DRAFTED})
    with ReleaseLedger.open(path).reserve(PrivateVine(1.0, domain="measured"), kinds) as r:
        r.fit(rows())
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
    with ReleaseLedger.open(path).reserve(generator, SCHEMA):
        twin = twin_of(generator)
        with pytest.raises(BudgetError, match=r"would not be counted in .*releases\.json"):
            twin.fit(rows(), SCHEMA)
        assert not hasattr(twin, "ledger_")
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
    with ReleaseLedger.open(path).reserve(twin, SCHEMA) as reservation:
        reservation.fit(rows())
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


def interrupted(monkeypatch: pytest.MonkeyPatch, how: Callable[[], object]) -> None:
    """Something happens just before the next ledger is written."""
    write, seen = releases._write, []

    def late(*words: Any) -> None:
        if not seen:
            seen.append(1)
            how()
        write(*words)

    monkeypatch.setattr(releases, "_write", late)


def test_the_lock_survives_its_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While one process writes, another removes the lock file, takes a lock and writes, too."""

    def steal() -> None:
        path.with_name(f".{path.name}.lock").unlink()
        with multiprocessing.get_context("fork").Pool(1) as pool:
            assert pool.map(reserve_one, [str(path)]) == [True]

    interrupted(monkeypatch, steal)
    ReleaseLedger.open(path).reserve(PrivateVine(0.25, delta=0.0), SCHEMA)
    assert [r.cost.epsilon for r in ReleaseLedger.open(path).releases] == [0.5, 0.25]


def test_a_ledger_that_changed_since_it_was_read_is_read_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By somebody who takes no lock at all."""
    other = path.with_name("other.json")
    ReleaseLedger.new(other, CAP)
    assert reserve_one(str(other))
    interrupted(monkeypatch, lambda: other.rename(path))
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
        with ReleaseLedger.open(path).reserve(PrivateVine(epsilon), SCHEMA) as reservation:
            reservation.fit(rows())
    content: dict[str, Any] = json.loads(path.read_text())
    assert [entry["kind"] for entry in content["entries"]] == ["reserved", "begun", "settled"] * 2
    return content


def test_an_edited_file_is_refused(path: Path) -> None:
    content = with_entries(path)
    whole = path.read_bytes()

    def edit(change: Any) -> None:
        copy = json.loads(json.dumps(content))
        change(copy)
        path.write_text(json.dumps(copy))

    for change, said in [
        (lambda c: c["entries"][2].update(epsilon=0.01), "entry 3"),
        (lambda c: c["entries"].pop(), "digest does not fit"),
        (lambda c: c["entries"].pop(0), "no release ledger"),
        (lambda c: c.update(cap={"epsilon": 50.0, "delta": 0.0}), "entry 1"),
        (lambda c: c.update(note="x"), "no release ledger"),
        (lambda c: c.pop("entries"), "no release ledger"),
        (lambda c: c.update(format=2), "format 2"),
        (lambda c: c.update(entries=3), "no release ledger"),
    ]:
        edit(change)
        with pytest.raises(ArtefactError, match=said) as error:
            ReleaseLedger.open(path).reserve(PrivateVine(0.1), SCHEMA)
        assert "\n" not in str(error.value)
    for place in range(0, len(whole), 13):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        with pytest.raises(ArtefactError):
            ReleaseLedger.open(path)


def test_a_careful_edit_must_still_make_sense(path: Path) -> None:
    """Digests made anew, but a cost below zero, or an order that never was."""
    content = with_entries(path)

    def forge(change: Any, **head: Any) -> None:
        copy = json.loads(json.dumps({**content, **head}))
        change(copy["entries"])
        digest = sha256_of({name: copy[name] for name in HEAD})
        for entry in copy["entries"]:
            entry.pop("digest")
            digest = entry["digest"] = sha256_of([digest, dict(entry)])
        path.write_text(json.dumps({**copy, "digest": digest}))

    forge(lambda _: None)
    assert ReleaseLedger.open(path).total.epsilon < 1.0  # the helper makes files that are read
    for head in ({"unit": ["row"]}, {"unit": "[red]"}, {"neighbours": 3}):
        forge(lambda _: None, **head)
        with pytest.raises(ArtefactError, match="no release ledger"):
            ReleaseLedger.open(path)
    for change in (
        lambda entries: entries[2].update(epsilon=-5.0),
        lambda entries: entries[1].update(kind="settled"),
        lambda entries: entries[5].update(kind="given back"),
        lambda entries: entries[3].update(number=7),
        lambda entries: entries[2].update(rho=1e308),
    ):
        forge(change)
        with pytest.raises(ArtefactError, match="no release ledger"):
            ReleaseLedger.open(path)


def test_foreign_files_are_refused(path: Path) -> None:
    whole = path.read_bytes()
    for content in (b"", b"{}", b"[]", b"null", b"\xff", b"[" * 100_000):
        path.write_bytes(content)
        with pytest.raises(ArtefactError, match="no release ledger"):
            ReleaseLedger.open(path)
    path.write_bytes(whole + b" " * LARGEST_LEDGER)
    with pytest.raises(ArtefactError, match="at most 16,777,216 bytes"):
        ReleaseLedger.open(path)


def test_a_file_name_that_steers_a_terminal_is_written_down_as_what_it_is(path: Path) -> None:
    ReleaseLedger.open(path).reserve(PrivateVine(0.1), SCHEMA, "\x1b[2J\u202etxt.csv")
    (release,) = ReleaseLedger.open(path).releases
    assert release.what == r"\x1b[2J\u202etxt.csv"


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
    (tmp_path / "schema.yaml").write_text(SCHEMA.to_yaml(), encoding="utf-8")

    def shirley(words: str) -> Outcome:
        return run(words, folder=tmp_path)

    assert shirley("releases new r.json --epsilon 1.5 --delta 1e-8").code == 0
    fit = "fit data.csv --schema schema.yaml --releases r.json -q -o"
    assert shirley(f"{fit} one.shirley --epsilon 1").code == 0
    assert shirley("sample one.shirley -n 5 -q -o more.csv").code == 0
    before = sorted(os.listdir(tmp_path))
    # too dear; a seed; no schema; a file that is not there; a value off the schema
    assert "above the cap of epsilon 1.5" in shirley(f"{fit} two.shirley --epsilon 1.4").refusal()
    assert "seeded" in shirley(f"{fit} two.shirley --epsilon 0.1 --seed 1").refusal()
    words = "synthesize data.csv --releases r.json -q -o two.csv --epsilon 0.1"
    assert "--schema" in shirley(words).refusal()
    assert states(tmp_path / "r.json") == ["settled"]
    assert shirley(f"{fit} two.shirley --epsilon 0.1".replace("data.csv", "absent.csv")).refusal()
    table = rows().astype({"job": object})
    table.loc[3, "job"] = "spy"
    table.to_csv(tmp_path / "data.csv", index=False)
    assert shirley(f"{fit} two.shirley --epsilon 0.1").refusal()
    assert sorted(os.listdir(tmp_path)) == before
    assert states(tmp_path / "r.json") == ["settled", "given back", "given back"]
    shown = " ".join(shirley("releases show r.json").out.split())
    assert "settled" in shown and "Drawing again from a saved model costs nothing" in shown
    said = json.loads(shirley("releases show r.json --json").out)
    assert said["releases"][0]["what"] == "one.shirley"
    assert said["cap"]["epsilon"] == 1.5 and len(said["releases"]) == 3
    assert shirley("releases new r.json --epsilon 9").refusal()
    assert "must be another file" in shirley(f"{fit} r.json --epsilon 0.1").refusal()


def test_links_lead_to_one_ledger(path: Path) -> None:
    links = [path.with_name(f"link{i}.json") for i in range(2)]
    for link in links:
        link.symlink_to(path)
    with ReleaseLedger.open(links[0]).reserve(PrivateVine(2.0, delta=0.0), SCHEMA) as reservation:
        reservation.fit(rows())
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
