"""The privacy card: what it says, what it never says, and the page that shows it."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path

import pandas as pd
import pytest
from card_models import SCHEMA, SETTINGS, edited, fitted, rows
from hypothesis import given, settings
from hypothesis import strategies as st

from copula_shirley import ArtefactError, Column, PrivateVine, Schema, load
from copula_shirley.generator import find_generator, generators
from copula_shirley.privacy.meaning import most_true_positives
from copula_shirley.privacy.zcdp import rho_of
from copula_shirley.publish.card import canonical, card_of, checked_card, sha256_of
from copula_shirley.publish.card_page import card_html, read_page, template_id

NAMES = sorted(set(generators()) - {"real"})


@pytest.mark.parametrize("name", NAMES)
def test_a_model_keeps_its_card(name: str, tmp_path: Path) -> None:
    model = fitted(name, **({} if name == "uniform" else {"random_state": 1}))
    card = model.card()
    assert json.loads(json.dumps(card, allow_nan=False)) == card
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


def test_the_card_names_no_number_of_rows_and_no_path() -> None:
    for name in ("private-vine", "copula-shirley", "privbayes"):
        text = json.dumps(fitted(name, rows(7919), **SETTINGS.get(name, {})).card())
        assert "7919" not in text and str(Path.cwd()) not in text


def test_what_epsilon_means() -> None:
    pure = fitted("dp-histogram", epsilon=1.0).card()["meaning"]
    assert [line["false_positives"] for line in pure] == [0.01, 0.05, 0.5]
    for line in pure:
        exact = most_true_positives(line["false_positives"], 1.0)
        assert exact <= line["most_true_positives"] <= exact + 1e-6
    vine = fitted("private-vine", epsilon=1.0, delta=1e-9).card()["meaning"]
    rho = rho_of(1.0, 1e-9)
    for line, worse in zip(vine, pure, strict=True):
        exact = most_true_positives(line["false_positives"], 1.0, 1e-9, rho=rho)
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
    page = card_html(thesis)
    assert "No privacy guarantee" in page and "Why nothing is proved" in page
    dear = fitted("dp-histogram", accounting="thesis").card()
    assert "The claim is epsilon 1, but" in dear["words"]["warnings"][0]
    assert fitted("dp-histogram").card()["randomness"] == "float"


def test_drafted_and_bought_domains_are_told() -> None:
    table = rows()
    drafted = find_generator("dp-histogram")(1.0).fit(table).card()
    assert {c["domain"] for c in drafted["columns"]} == {"drafted"}
    assert "drafted" in " ".join(drafted["words"]["warnings"])
    kinds = Schema.of_kinds({c.name: c.kind for c in SCHEMA})
    bought = PrivateVine(4.0, 1e-6, domain="measured").fit(table, kinds).card()
    assert {c["domain"] for c in bought["columns"]} == {"private"}
    assert ">bought</td>" in card_html(bought) and bought["words"]["verdict"] == "proved"
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


def test_a_new_fit_has_a_new_card() -> None:
    model = PrivateVine(1.0).fit(rows(), SCHEMA)
    first = model.card()
    first["generator"] = "nonsense"  # a copy: the model's own is not touched
    assert model.card()["generator"] == "private-vine"
    model.epsilon = 2.0
    assert model.fit(rows(), SCHEMA).card()["ledger"]["claimed"]["epsilon"] == 2.0


def test_an_older_model_has_no_card_and_gets_one(tmp_path: Path) -> None:
    fitted("dp-histogram").save(tmp_path / "new")
    older = edited(tmp_path / "new", tmp_path / "old", lambda header, _: header.pop("card"))
    card = load(older).card()
    assert set(card["versions"]) == {"copula-shirley"}  # the others were not written down
    assert card["ledger"] == load(tmp_path / "new").card()["ledger"]


def test_a_card_of_another_model_is_not_passed_on(tmp_path: Path) -> None:
    fitted("dp-histogram", epsilon=8.0).save(tmp_path / "dear")
    cheap = fitted("dp-histogram", epsilon=0.1).card()
    forged = edited(tmp_path / "dear", tmp_path / "forged", lambda h, _: h.update(card=cheap))
    with pytest.raises(ArtefactError, match="'ledger' is not that of the model"):
        checked_card(load(forged))


# -- the page ----------------------------------------------------------------------

EVIL = "</script><script>alert('x')</script><img src=x onerror=alert(1)> & \"q\" {{ 7*7 }}"


def evil_card(name: str, category: str = "a") -> dict[str, object]:
    schema = Schema(
        (
            Column(name, "categorical", categories=(category, "b")),
            Column("x", "integer", minimum=0, maximum=1),
        )
    )
    table = pd.DataFrame({name: [category, "b"] * 20, "x": [0, 1] * 20})
    return find_generator("dp-histogram")(1.0).fit(table, schema).card()


def parsed(page: str, path: Path) -> dict[str, object]:
    path.write_text(page, encoding="utf-8", errors="replace", newline="")
    return read_page(path)


def test_names_are_text_and_nothing_else(tmp_path: Path) -> None:
    page = card_html(evil_card(EVIL), {"name": EVIL, "sha256": "0" * 64}, "now")
    assert page.count("<script") == 1 and page.count("</script>") == 1
    assert "<img" not in page and "49" not in re.sub(r"\d{3,}|[0-9a-f]{64}", "", page)
    data = parsed(page, tmp_path / "c.html")
    assert data["whole"] and data["card"]["columns"][0]["name"] == EVIL
    assert data["file"]["name"] == EVIL


#: A stranger's control characters are refused when a page is read.
SHOWN = st.characters(exclude_categories=("Cc", "Cf", "Cs", "Zl", "Zp")) | st.sampled_from("\t\n")


@settings(max_examples=25)
@given(st.text(SHOWN, min_size=1, max_size=12).filter(lambda t: t != "x"))
def test_any_name_comes_back(tmp_path_factory: pytest.TempPathFactory, name: str) -> None:
    card = fitted_card_named(name)
    data = parsed(card_html(card), tmp_path_factory.mktemp("p") / "c.html")
    assert data["card"] == card and data["whole"]


def fitted_card_named(name: str) -> dict[str, object]:
    """A real card with another name of a column, which saves a fit for each."""
    card = BASE.card()
    card["columns"][0]["name"] = name
    card["ledger"]["domains"] = {name: "declared", "job": "declared", "rich": "declared"}
    card["ledger"]["spends"][0]["what"] = name
    return card


BASE = fitted("dp-histogram")


def test_the_page_needs_nothing_but_itself() -> None:
    page = card_html(fitted("private-vine").card())
    assert "default-src 'none'" in page and "prefers-color-scheme: dark" in page
    assert not re.search(r"(?:src|href)=\"(?!data:,)|url\(|https?://|@import", page)
    assert f"card {template_id()}" in page


def test_the_page_says_what_the_card_says() -> None:
    page = card_html(fitted("private-vine").card(), {"name": "rows.csv", "sha256": "e" * 64}, "t")
    for text in ("7.6&nbsp;%", "e" * 64, "shirley verify rows.csv", "discrete gaussian", "OpenDP"):
        assert text in page, text


def test_odd_cards_and_pages_are_refused(tmp_path: Path) -> None:
    card = BASE.card()
    with pytest.raises(ArtefactError, match="not readable"):
        card_html({**card, "ledger": {}})
    for content in (b"", b"hello", b"\xff\xfe", b'<script type="application/json" id="card">[]'):
        (tmp_path / "odd.html").write_bytes(content)
        with pytest.raises(ArtefactError, match="no privacy card"):
            read_page(tmp_path / "odd.html")
    with pytest.raises(ArtefactError, match="does not exist"):
        read_page(tmp_path / "absent.html")


def test_card_of_needs_a_fit_and_equals_the_method() -> None:
    model = fitted("dp-histogram")
    assert card_of(model) == model.card()
    assert sha256_of(model.settings_) == model.card()["settings_sha256"]
