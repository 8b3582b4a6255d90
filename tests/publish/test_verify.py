"""``shirley verify`` refuses whatever does not add up, also where somebody made it with care."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from card_models import SCHEMA, edited, fitted, rows
from commands import run
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec import to_builtins
from msgspec.structs import replace

from copula_shirley import ArtefactError, Column, Ledger, PrivateVine, Schema, SettingError, load
from copula_shirley.files.digest import BLANK, file_sha256, write_digest
from copula_shirley.generator import generators
from copula_shirley.measure.calibration import Calibration
from copula_shirley.privacy.card import Card
from copula_shirley.privacy.card_page import DIGEST_START, page_of
from copula_shirley.privacy.ledger import Budget
from copula_shirley.privacy.zcdp import rho_of
from copula_shirley.publish.outputs import card_path
from copula_shirley.publish.pages import START, read_page, write_page
from copula_shirley.publish.verify import verify_file
from copula_shirley.tasks import why_unproved

NAMES = sorted(set(generators()) - {"real"})
Header = dict[str, Any]
Arrays = dict[str, np.ndarray]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def vine(folder: Path) -> Path:
    PrivateVine(1.0, target="rich").fit(rows(2000), SCHEMA).save(folder / "vine.shirley")
    return folder / "vine.shirley"


@pytest.fixture(scope="module")
def histogram(folder: Path) -> Path:
    fitted("dp-histogram").save(folder / "histogram.shirley")
    return folder / "histogram.shirley"


# -- what is right ---------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("epsilon", [1.0, None])
def test_true_models_fit(name: str, epsilon: float | None, tmp_path: Path) -> None:
    if name == "uniform" and epsilon is None:
        pytest.skip("it has no epsilon")
    fitted(name, **({} if name == "uniform" else {"epsilon": epsilon})).save(tmp_path / "m")
    verdict = verify_file(tmp_path / "m")
    assert verdict.faults == [] and len(verdict.passed) >= 4


@pytest.mark.parametrize(
    "chosen",
    [
        {"delta": 0.0},
        {"domain": "measured", "delta": 1e-6, "epsilon": 3.0},
        {"neighbours": "replace-one", "random_state": 4},
        {"truncation": None, "families": False},
        {"epsilon": 30.0, "reweight": False},
    ],
)
def test_true_vines_fit(chosen: dict[str, Any], tmp_path: Path) -> None:
    schema = None if chosen.get("domain") == "measured" else SCHEMA
    model = PrivateVine(**{"epsilon": 1.0, **chosen}).fit(rows(900), schema)
    model.save(tmp_path / "m")
    assert verify_file(tmp_path / "m").faults == []


def test_a_published_fingerprint(histogram: Path) -> None:
    digest = file_sha256(histogram)
    assert verify_file(histogram, sha256=f"SHA256:{digest.upper()}").fits
    other = verify_file(histogram, sha256="0" * 64)
    assert len(other.faults) == 1 and digest in other.faults[0]
    with pytest.raises(SettingError, match="hexadecimal"):
        verify_file(histogram, sha256="xyz")


# -- accidents -------------------------------------------------------------------------


def refused(path: Path) -> bool:
    """Whether verify says anything but that it fits."""
    try:
        return not verify_file(path).fits
    except ArtefactError:
        return True


# -- forgeries with a fresh digest -----------------------------------------------------


def update(**values: Any) -> Callable[[Header, Arrays], None]:
    """Another ledger, in the model and on its card."""

    def change(header: Header, _: Arrays) -> None:
        for ledger in (header["ledger"], header["card"]["ledger"]):
            ledger.update(values)

    return change


def put(value: Any, *way: Any) -> Callable[[Header, Arrays], None]:
    """Another value of the header."""

    def change(header: Header, _: Arrays) -> None:
        inner: Any = header
        for step in way[:-1]:
            inner = inner[step]
        inner[way[-1]] = value

    return change


def more_rho(times: float) -> Callable[[Header, Arrays], None]:
    return lambda h, _: h["ledger"]["spends"][0].update(rho=h["ledger"]["spends"][0]["rho"] * times)


def query(name: str, times: float) -> Callable[[Header, Arrays], None]:
    def change(header: Header, _: Arrays) -> None:
        header["model"]["queries"][1][name] *= times

    return change


def answer(more: float) -> Callable[[Header, Arrays], None]:
    return lambda _, arrays: arrays.update(answer_1_0=arrays["answer_1_0"] + more)


LESS = {"epsilon": 0.1, "delta": 1e-9, "rho": 0.0}
FORGERIES: dict[str, tuple[Callable[[Header, Arrays], object], str]] = {
    "less": (update(spent=LESS, proved=LESS), "spent.epsilon is 0.1, and must be "),
    "a spend gone": (
        lambda h, _: h["ledger"]["spends"].pop(),
        r"ledger\.spends has \d entries, and must have ",
    ),
    "negative": (more_rho(-1), "Expected `float` >= 0"),
    "too much": (more_rho(50), "above the budget"),
    "text": (put("little", "ledger", "spends", 0, "rho"), "Expected `float`, got `str`"),
    "claim": (update(claimed={"epsilon": 0.5, "delta": 1e-9}), "claimed.epsilon is 0.5, and must"),
    "unit": (update(unit="person", rows_per_unit=5), "unit is 'person', and must be 'row'"),
    "seeded": (update(seeded=True), "ledger.seeded is True, and must be False"),
    "domains": (update(domains=dict.fromkeys(SCHEMA.names, "private")), "and must be 'declared'"),
    "drafted": (
        put("drafted", "schema", "columns", "job", "provenance"),
        "unprotected has 0 entries, and must have 1",
    ),
    "member": (lambda _, arrays: arrays.update(rows=np.arange(7)), "'rows.npy' is no part"),
    "entry": (put("a row: 42, law, True", "note"), "'note' is no part"),
    "an answer": (answer(1000), "noise that the transcript states|follows from the answers"),
    "fractions": (answer(0.25), "an answer of the transcript does not fit its query"),
    "sigma": (query("sigma", 3), "the noise of an answer .* is not the"),
    "share": (query("share", 1 / 3), "an answer of the transcript does not fit its query"),
    "meaning": (
        put(0.0501, "card", "meaning", 1, "most_true_positives"),
        "most_true_positives is 0.0501, and must be",
    ),
    "hash": (put("0" * 64, "card", "settings_sha256"), "card.settings_sha256 is '0000"),
    "words": (put("Proved: 0.01", "card", "words", "headline"), "headline is 'Proved: 0.01'"),
    "card's entry": (put("a king", "card", "approved by"), "unknown field `approved by`"),
    "no card": (put(None, "card"), "Expected `object`, got `null`"),
    "rows": (put([["secret"]], "model", "queries", 0, "rows"), "unknown field `rows`"),
    "labels": (put([["secret"]], "model", "queries", 0, "labels"), "does not fit its query"),
    "no ledger": (lambda h, _: h.pop("ledger"), "missing required field `ledger`"),
}


@pytest.mark.parametrize(("forge", "said"), FORGERIES.values(), ids=FORGERIES)
def test_a_forgery_is_refused(
    forge: Callable[[Header, Arrays], None], said: str, vine: Path, tmp_path: Path
) -> None:
    verdict = verify_file(edited(vine, tmp_path / "forged", forge))
    assert "the digest fits every byte of the file" in verdict.passed  # it was made anew
    assert any(re.search(said, text) for text in verdict.faults), verdict.faults
    assert all("\n" not in text for text in verdict.faults)


def cheaper(header: Header, path: Path, epsilon: float) -> None:
    """Settings, ledger and card of a model of a smaller epsilon, all of them adding up."""
    before, delta = header["settings"]["epsilon"], header["settings"]["delta"]
    header["settings"]["epsilon"] = epsilon
    ledger, budget = header["ledger"], {"epsilon": epsilon, "delta": delta}
    ledger.update(budget=budget, claimed=budget)
    for spend in ledger["spends"]:
        spend["rho"] *= rho_of(epsilon, delta, gdp=True) / rho_of(before, delta, gdp=True)
    ledger.update(Ledger.from_dict(ledger).to_dict())
    assert ledger["proved"]["epsilon"] == pytest.approx(epsilon)
    model = load(path)
    model.settings_, model.ledger_ = header["settings"], Ledger.from_dict(ledger)
    model._card = None
    header["card"] = {**model.card().to_dict(), "versions": header["card"]["versions"]}


@pytest.mark.parametrize("epsilon", [0.1, 0.99])
def test_a_smaller_epsilon_does_not_explain_the_noise(
    vine: Path, tmp_path: Path, epsilon: float
) -> None:
    """Ledger, settings, card and digest are made to fit; the transcript's noise does not."""

    forged = edited(vine, tmp_path / "forged", lambda header, _: cheaper(header, vine, epsilon))
    verdict = verify_file(forged)
    # with 0.1 the algorithm would not even have asked for the same tables
    said = "the noise of an answer|no model of these settings" if epsilon == 0.99 else "no model of"
    assert any(re.search(said, text) for text in verdict.faults), verdict.faults


def test_restated_noise_is_not_the_noise_that_is_there(tmp_path: Path) -> None:
    """The noise is restated, too, in a model that asks for margins only, at any small epsilon."""
    before, after, delta = 0.02, 1e-4, 1e-9
    rng = np.random.default_rng(0)
    wide = pd.DataFrame({f"c{j}": rng.random(300) < 0.5 for j in range(25)})
    schema = Schema(tuple(Column(name, "boolean") for name in wide))
    model = PrivateVine(before, delta, reweight=False, random_state=5).fit(wide, schema)
    stages = {query["stage"] for query in model.transcript_.queries}
    assert stages == {"size", "margins", "margins of groups"}
    model.save(tmp_path / "true")
    assert verify_file(tmp_path / "true").fits

    def forge(header: Header, _: Arrays) -> None:
        noise = Calibration(Budget(after, delta), model.ledger_.sensitivity(), gdp=True)
        for query in header["model"]["queries"]:
            query["sigma"] = noise.sigma(query["share"], len(query["what"]))
        cheaper(header, tmp_path / "true", after)

    faults = verify_file(edited(tmp_path / "true", tmp_path / "forged", forge)).faults
    assert len(faults) == 1 and "times the noise that the transcript states" in faults[0]


def no_leak(header: Header, _: Arrays) -> None:
    header["ledger"].update(unprotected=[], proved=header["ledger"]["spent"])


def a_part_of_nobody(header: Header, _: Arrays) -> None:
    header["ledger"]["partitions"][0]["parts"].append("nobody")
    header["ledger"]["spends"][0]["rows"] = "nobody"


def learnt_from_nothing(header: Header, _: Arrays) -> None:
    fresh = Ledger.from_dict({**header["ledger"], "spends": []})
    header["ledger"] = fresh.to_dict()
    model = fitted("dp-histogram")
    model.ledger_ = fresh
    header["card"] = model.card().to_dict()


@pytest.mark.parametrize(
    ("name", "forge", "said"),
    [
        ("copula-shirley", no_leak, "file.ledger.unprotected has 0 entries, and must have"),
        ("copula-shirley", no_leak, "file.ledger.proved is"),
        ("copula-shirley", a_part_of_nobody, "ledger.spent.epsilon is"),
        ("dp-histogram", learnt_from_nothing, "file.ledger.unprotected has 0 entries, and must"),
    ],
)
def test_another_ledger_is_refused(name: str, forge: Any, said: str, tmp_path: Path) -> None:
    fitted(name).save(tmp_path / "m")
    faults = verify_file(edited(tmp_path / "m", tmp_path / "forged", forge)).faults
    assert any(said in text for text in faults), faults


@pytest.mark.parametrize("place", [0, 1, -1])
def test_bytes_beside_the_members_are_found(place: int, histogram: Path, tmp_path: Path) -> None:
    hidden = tmp_path / "hidden"
    with zipfile.ZipFile(histogram) as old, zipfile.ZipFile(hidden, "w") as new:
        new.comment = BLANK
        for info in [*old.infolist(), None]:
            if info == [*old.infolist(), None][place]:
                assert new.fp is not None
                new.fp.write(b"secret: row 17")
                new.start_dir = new.fp.tell()
            if info is not None:
                new.writestr(info, old.read(info), zipfile.ZIP_DEFLATED)
    write_digest(hidden)
    verdict = verify_file(hidden)
    assert verdict.faults == ["the file holds bytes that belong to no member"]


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=8),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)
#: What may differ without any contradiction: it says nothing about privacy.
FREE = {"format", "copula-shirley", "columns", "dtypes", "rows"}


def leaves(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every value inside plain JSON, inner nodes included."""
    if not isinstance(value, dict | list):
        return [way]
    inside = value.items() if isinstance(value, dict) else enumerate(value)
    return [way, *(leaf for key, item in inside for leaf in leaves(item, (*way, key)))]


@settings(max_examples=120)
@given(st.data())
def test_no_single_edit_passes_or_breaks_it(
    histogram: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    with zipfile.ZipFile(histogram) as file:
        header = json.loads(file.read("model.json"))
    ways = [w for w in leaves(header) if w and w[0] not in FREE and w[:2] != ("card", "versions")]
    way = data.draw(st.sampled_from(ways))
    new = data.draw(SCALARS)

    def edit(content: Header, _: Arrays) -> None:
        place: Any = content
        for step in way[:-1]:
            place = place[step]
        assume(place[way[-1]] != new or isinstance(new, bool) != isinstance(place[way[-1]], bool))
        place[way[-1]] = new

    forged = edited(histogram, tmp_path_factory.mktemp("f") / "m", edit)
    # a verdict, or one line that this is no model; nothing else is raised
    assert refused(forged), (way, new)


# -- tables and their cards --------------------------------------------------------------


@pytest.fixture
def table(histogram: Path, tmp_path: Path) -> Path:
    path = tmp_path / "rows.csv"
    load(histogram).sample(20, random_state=1).to_csv(path, index=False)
    write_page(card_path(path), load(histogram).card(), path.name, path)
    return path


def test_a_table_with_its_card_fits(table: Path, tmp_path: Path) -> None:
    verdict = verify_file(table)
    assert verdict.faults == [] and verdict.kind == "table" and len(verdict.passed) == 4
    moved = tmp_path / "elsewhere.html"
    card_path(table).rename(moved)
    assert verify_file(table, card=moved).fits
    with pytest.raises(ArtefactError, match="does not exist"):
        verify_file(table)


def test_a_changed_table_is_refused(table: Path) -> None:
    table.write_text(table.read_text().replace("law", "art", 1))
    assert verify_file(table).faults == [
        "the card belongs to another file, or the file was changed: sha256 does not fit"
    ]


def test_a_changed_card_is_refused(table: Path) -> None:
    page = card_path(table)
    whole = page.read_bytes()
    step = max(1, len(whole) // 60)
    for place in [*range(0, len(whole), step), *range(len(whole) - 90, len(whole), 9)]:
        page.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert refused(table), place


def resealed(page: Path, text: str) -> None:
    body = text.encode().rpartition(DIGEST_START.encode())[0]
    digest = hashlib.sha256(body).hexdigest()
    page.write_bytes(body + f"{DIGEST_START}{digest}-->\n".encode())


def test_a_page_that_shows_another_card_is_refused(table: Path) -> None:
    page = card_path(table)
    text = page.read_text(encoding="utf-8")
    start = text.index(START)
    resealed(page, text[:start].replace("epsilon 1", "epsilon 0.1") + text[start:])
    assert verify_file(table).faults == ["the page shows another card"]


def test_a_card_that_does_not_add_up_is_refused(table: Path) -> None:
    data, _ = read_page(card_path(table))
    about = to_builtins(data.file)
    for key, value in {
        "spent": {"epsilon": 0.1, "delta": 0.0, "rho": 0.0},
        "proved": None,
        "spends": [],
    }.items():
        card = json.loads(json.dumps(data.card))
        card["ledger"][key] = value
        card_path(table).write_text(page_of(Card.from_dict(card), about, data.made))
        assert any("card.ledger." in text for text in verify_file(table).faults), key
    card = json.loads(json.dumps(data.card))
    card["meaning"][0]["most_true_positives"] = 0.011
    card_path(table).write_text(page_of(Card.from_dict(card), about, data.made))
    assert verify_file(table).faults == [
        "card.meaning[0].most_true_positives is 0.011, and must be 0.027183"
    ]


def test_the_card_beside_a_model_is_the_one_inside(histogram: Path, tmp_path: Path) -> None:
    shutil.copy(histogram, tmp_path / "m")
    write_page(card_path(tmp_path / "m"), load(histogram).card(), "m", tmp_path / "m")
    assert verify_file(tmp_path / "m").fits
    other = fitted("dp-histogram", epsilon=0.1).card()
    write_page(card_path(tmp_path / "m"), other, "m", tmp_path / "m")
    assert verify_file(tmp_path / "m").faults == ["the card beside the model is not the one inside"]


# -- the command -----------------------------------------------------------------------


def test_exit_codes(histogram: Path, tmp_path: Path) -> None:
    done = run("verify", histogram)
    assert (done.code, done.err) == (0, "")
    assert "adds up" in done.out and "FAULT" not in done.out
    forged = edited(histogram, tmp_path / "forged", put("x", "note"))
    done = run("verify", forged)
    assert (done.code, done.err) == (1, "")
    assert done.out.count("FAULT: ") == 1 and "do not rely" in done.out
    done = run("verify", forged, "--json")
    said = json.loads(done.out)
    assert done.code == 1 and said["fits"] is False and len(said["faults"]) == 1
    whole = histogram.read_bytes()
    forged.write_bytes(whole[:500] + bytes([whole[500] ^ 1]) + whole[501:])
    assert "the file was changed after it was saved" in run("verify", forged).out
    (tmp_path / "no model").write_text("hello")
    (tmp_path / "cut").write_bytes(histogram.read_bytes()[:-200])
    for absent in ("absent", "no model", ".", "cut"):
        for command in ("verify", "inspect"):
            assert run(command, tmp_path / absent).refusal()


@pytest.mark.parametrize("random_state", [None, 1])
def test_who_is_told_that_noise_was_seeded(random_state: int | None, tmp_path: Path) -> None:
    rows().to_csv(tmp_path / "t.csv", index=False)
    SCHEMA.write(tmp_path / "s.yaml")
    seed = "" if random_state is None else f"--seed {random_state}"
    told = []
    for words in (
        f"fit t.csv --schema s.yaml --model dp-histogram -q -o m {seed}",
        "sample m -q -o a.csv",
        "verify m",
        "verify a.csv",
        "verify a.csv --from m",
    ):
        done = run(words, folder=tmp_path)
        assert done.code == 0, done.err
        told.append("who knows the seed can take the noise away" in done.out + done.said)
    assert told == [random_state is not None] * 5


# -- found by a hostile reviewer: rows in the transcript, no noise at epsilon 0, forged words ------


@pytest.mark.parametrize("name", ["dp-histogram", "dp-copula", "privbayes"])
def test_a_fit_without_noise_is_no_epsilon_of_zero(name: str, tmp_path: Path) -> None:
    model = fitted(name, epsilon=None)
    model.ledger_.unprotected = ()
    model.save(tmp_path / "m")
    assert not verify_file(tmp_path / "m").fits


def test_what_cannot_be_proved_is_unproved_whatever_its_ledger_says() -> None:
    model = fitted("copula-shirley")
    assert why_unproved(model)
    model.ledger_.unprotected = ()
    assert model.ledger_.proved is None or why_unproved(model)


def test_a_card_without_versions_is_a_fault(histogram: Path) -> None:
    card = replace(load(histogram).card(), versions={"x": "1"})
    with pytest.raises(ArtefactError, match="copula-shirley"):
        page_of(card)
