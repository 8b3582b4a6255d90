"""The privacy card: what it says, what it never says, and the page that shows it."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pytest
from card_models import SCHEMA, SETTINGS, edited, fitted, rows

from copula_shirley import ArtefactError, Card, PrivateVine, Schema, card_html, card_of, load
from copula_shirley.files.plain_json import canonical, sha256_of
from copula_shirley.generator import find_generator, generators
from copula_shirley.privacy.card_page import page_of, template_id
from copula_shirley.privacy.meaning import most_true_positives
from copula_shirley.privacy.zcdp import rho_of
from copula_shirley.publish.pages import Page, is_whole, read_page

NAMES = sorted(set(generators()) - {"real"})


@pytest.mark.parametrize("name", NAMES)
def test_a_model_keeps_its_card(name: str, tmp_path: Path) -> None:
    model = fitted(name, **({} if name == "uniform" else {"random_state": 1}))
    card = model.card()
    assert Card.from_dict(json.loads(json.dumps(card.to_dict(), allow_nan=False))) == card
    assert card["generator"] == name and card["ledger"]["spends"] == [
        spend.__dict__ for spend in model.ledger_.spends
    ]
    assert card["columns"][0] == {
        "name": "age", "kind": "integer", "domain": "declared", "cells": 73, "source": None,
        "as_drafted": False,
    }  # fmt: skip
    assert set(card["versions"]) == {
        "python", "copula-shirley", "numpy", "opendp", "pyvinecopulib",
    }  # fmt: skip
    model.save(tmp_path / "one")
    model.save(tmp_path / "two")
    load(tmp_path / "one").save(tmp_path / "three")
    assert load(tmp_path / "one").card() == card
    written = {(tmp_path / name).read_bytes() for name in ("one", "two", "three")}
    assert len(written) == 1


def test_hashes_are_of_canonical_json() -> None:
    model = fitted("dp-histogram")
    card = model.card()
    text = json.dumps(SCHEMA.to_dict(), sort_keys=True, separators=(",", ":"))
    assert card["schema_sha256"] == hashlib.sha256(text.encode()).hexdigest()
    other = fitted("dp-histogram", epsilon=2.0).card()
    assert other["settings_sha256"] != card["settings_sha256"]
    assert other["schema_sha256"] == card["schema_sha256"]
    assert canonical({"b": 1, "a": ("ü",)}) == b'{"a":["\\u00fc"],"b":1}'


@pytest.mark.parametrize("name", ["dp-histogram", "dp-copula", "uniform"])
def test_the_card_does_not_depend_on_rows(name: str) -> None:
    """What was asked is fixed by the settings here, so nothing else may differ."""
    more = {} if name == "uniform" else {"neighbours": "add-remove"}
    one, other = (fitted(name, table, **more) for table in (rows(300), rows(417, seed=9)))
    assert one.card() == other.card()


@pytest.mark.parametrize("name", ["private-vine", "copula-shirley", "privbayes"])
def test_the_card_names_no_number_of_rows_and_no_path(name: str) -> None:
    text = json.dumps(fitted(name, rows(7919), **SETTINGS.get(name, {})).card().to_dict())
    assert "7919" not in text and str(Path.cwd()) not in text


def test_what_epsilon_means() -> None:
    pure = fitted("dp-histogram", epsilon=1.0).card()["meaning"]
    assert [line["false_positives"] for line in pure] == [0.01, 0.05, 0.5]
    for line in pure:
        exact = most_true_positives(line["false_positives"], 1.0)
        assert exact <= line["most_true_positives"] <= exact + 1e-6
    vine = fitted("private-vine", epsilon=1.0, delta=1e-9).card()["meaning"]
    rho = rho_of(1.0, 1e-9, gdp=True)
    for line, worse in zip(vine, pure, strict=True):
        exact = most_true_positives(line["false_positives"], 1.0, 1e-9, rho=rho, gdp=True)
        assert line["most_true_positives"] == pytest.approx(exact, abs=2e-6)
        assert line["most_true_positives"] < worse["most_true_positives"]


def test_what_is_wrong_is_said_loudly() -> None:
    secure = fitted("private-vine").card()
    assert secure["words"]["verdict"] == "proved" and secure["words"]["warnings"] == []
    assert secure["randomness"] == "secure"
    seeded = fitted("private-vine", random_state=0).card()
    assert seeded["words"]["verdict"] == "proved, but not for release"
    assert "seed" in " ".join(seeded["words"]["warnings"])
    off = fitted("private-vine", epsilon=None).card()
    assert "noise is switched off" in off["words"]["headline"] and off["meaning"] is None
    thesis = fitted("copula-shirley").card()
    said = " ".join(thesis["words"]["warnings"])
    assert thesis["words"]["headline"] == "Nothing is proved." and thesis["meaning"] is None
    for part in ("claim of epsilon 1 does not hold", "raw records", "distinct values", "epsilon 3"):
        assert part in said, part
    page = thesis.to_html()
    assert "No privacy guarantee" in page and "Why nothing is proved" in page
    dear = fitted("dp-histogram", accounting="thesis").card()
    assert "The claim is epsilon 1, but" in dear["words"]["warnings"][0]
    assert thesis["randomness"] == "float"
    assert fitted("dp-histogram").card()["randomness"] == "secure"


def test_an_epsilon_above_ten_gets_no_tick() -> None:
    for epsilon, weak in ((10.0, False), (10.5, True), (50.0, True)):
        card = fitted("private-vine", epsilon=epsilon).card()
        page, said = card.to_html(), " ".join(card["words"]["warnings"])
        assert (card["words"]["verdict"] == "proved, but weak") == weak
        assert ("✓" in page) != weak and ("Next to no protection" in page) == weak
        assert (f"Epsilon {epsilon:g} is above 10" in said) == weak
        assert "Not for release" not in page and card.contradictions() == []


def test_drafted_and_measured_domains_are_told() -> None:
    table = rows()
    drafted = find_generator("dp-histogram")(1.0).fit(table).card()
    assert {c["domain"] for c in drafted["columns"]} == {"drafted"}
    assert "drafted" in " ".join(drafted["words"]["warnings"])
    kinds = Schema.of_kinds({c.name: c.kind for c in SCHEMA})
    measured = PrivateVine(4.0, 1e-6, domain="measured").fit(table, kinds).card()
    assert {c["domain"] for c in measured["columns"]} == {"private"}
    assert ">measured</td>" in measured.to_html() and measured["words"]["verdict"] == "proved"
    stored = PrivateVine(4.0, 1e-6, domain="measured").fit(table).card()
    assert stored["words"]["verdict"] == "nothing proved"
    assert "kind was read off the data" in " ".join(stored["words"]["warnings"])


def test_people_with_several_rows() -> None:
    schema = Schema(SCHEMA.columns, person="who", max_rows=3)
    table = rows().assign(who=[i // 3 for i in range(300)])
    card = PrivateVine(1.0).fit(table, schema).card()
    assert "person with up to 3 rows" in card["words"]["headline"]
    assert "rows of a person were in the data" in card["words"]["person"]
    assert "who" not in [column["name"] for column in card["columns"]]


def test_a_card_of_another_model_is_not_passed_on(tmp_path: Path) -> None:
    fitted("dp-histogram", epsilon=8.0).save(tmp_path / "dear")
    cheap = fitted("dp-histogram", epsilon=0.1).card().to_dict()
    forged = edited(tmp_path / "dear", tmp_path / "forged", lambda h, _: h.update(card=cheap))
    with pytest.raises(ArtefactError, match=r"card\.ledger\.budget\.epsilon is 0\.1, and must"):
        load(forged).card()


# -- the page ----------------------------------------------------------------------

EVIL = "</script><script>alert('x')</script><img src=x onerror=alert(1)> & \"q\" {{ 7*7 }}"


def evil_card() -> Card:
    """A real card with another name of a column, which saves a fit."""
    card = BASE.card().to_dict()
    card["columns"][0]["name"] = card["ledger"]["spends"][0]["what"] = EVIL
    card["ledger"]["domains"] = {EVIL: "declared", "job": "declared", "rich": "declared"}
    return Card.from_dict(card)


def parsed(page: str, path: Path) -> Page:
    path.write_text(page, encoding="utf-8", errors="replace", newline="")
    page, content = read_page(path)
    assert is_whole(content)
    return page


def test_names_are_text_and_nothing_else(tmp_path: Path) -> None:
    page = page_of(evil_card(), {"name": EVIL, "sha256": "0" * 64}, "2026-01-01T00:00:00+00:00")
    assert page.count("<script") == 1 and page.count("</script>") == 1
    assert "<img" not in page and "49" not in re.sub(r"\d{3,}|[0-9a-f]{64}", "", page)
    data = parsed(page, tmp_path / "c.html")
    assert data.card["columns"][0]["name"] == EVIL
    assert data.file is not None and data.file.name == EVIL


BASE = fitted("dp-histogram")


def test_the_page_needs_nothing_but_itself() -> None:
    page = fitted("private-vine").card().to_html()
    assert "default-src 'none'" in page and "prefers-color-scheme: dark" in page
    assert not re.search(r"(?:src|href)=\"(?!data:,)|url\(|https?://|@import", page)
    assert f"card {template_id()}" in page


def test_the_page_says_what_the_card_says() -> None:
    page = page_of(fitted("private-vine").card(), {"name": "rows.csv", "sha256": "e" * 64}, "t")
    for text in (
        "7.2&nbsp;%",
        "e" * 64,
        "By zCDP",
        "shirley verify rows.csv",
        "discrete gaussian",
        "OpenDP",
    ):
        assert text in page, text


def test_odd_cards_and_pages_are_refused(tmp_path: Path) -> None:
    card = BASE.card().to_dict()
    for more in ({"words": 3}, {"approved": "by all"}, {"meaning": [{"false_positives": "few"}]}):
        with pytest.raises(ArtefactError, match="not readable"):
            Card.from_dict({**card, **more})
    for content in (b"", b"hello", b"\xff\xfe", b'<script type="application/json" id="card">[]'):
        (tmp_path / "odd.html").write_bytes(content)
        with pytest.raises(ArtefactError, match="no privacy card"):
            read_page(tmp_path / "odd.html")
    with pytest.raises(ArtefactError, match="does not exist"):
        read_page(tmp_path / "absent.html")


def test_the_old_names_still_work() -> None:
    model = fitted("dp-histogram")
    with pytest.deprecated_call(match="model.card()"):
        assert card_of(model) == model.card()
    with pytest.deprecated_call(match="to_html"):
        assert card_html(model.card().to_dict()) == model.card().to_html()
    assert "<iframe srcdoc=" in model.card()._repr_html_()
    assert sha256_of(model.settings_) == model.card()["settings_sha256"]
