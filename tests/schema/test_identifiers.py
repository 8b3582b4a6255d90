"""A draft lists no value of a column that names people or records, and keeps what measures."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

from copula_shirley import Schema, SchemaError
from copula_shirley.schema.identifiers import MOST_LISTED, RARE, said_by_name, why_left_out

RNG = np.random.default_rng(11)
ROWS = 600
#: People with five rows each: no value is one of its own.
WHO = np.arange(ROWS) % 120
LETTERS = np.array(list("abcdefghijklmnopqrstuvwxyz"))


def word(number: int) -> str:
    return "".join(LETTERS[(number // 26**i) % 26] for i in range(3))


IDENTIFIERS: dict[str, tuple[str, Sequence[Any]]] = {
    "e-mail": ("contact_1", [f"{word(w)}@example.org" for w in WHO]),
    "one e-mail among words": ("answer", ["none", "by post"] * 299 + ["x.y@example.org"] * 2),
    "names of their own": ("x", [f"{word(i)} {word(i + 9)}" for i in range(ROWS)]),
    "500 names in 2,000 rows": ("x", [word(i % 500) for i in range(2000)]),
    "full names that repeat often": ("x", [f"Anna {word(i % 30).title()}" for i in range(ROWS)]),
    "titles": ("seen_by", ["Dr. Weber", "Prof. Stein"] * 300),
    "surnames, by the column": ("Nachname", ["Weber", "Stein", "Lang"] * 200),
    "first names, by the column": ("prénom", ["Anne", "Luc", "Zoé"] * 200),
    "name": ("name", ["Weber", "Stein", "Lang"] * 200),
    "phone": ("x", [f"+49 170 {5550000 + w}" for w in WHO]),
    "phone without a country": ("x", [f"(555) {100 + w}-{1000 + 7 * w}" for w in WHO]),
    "phone as a number": ("mobile", [1705550000 + 7919 * w for w in WHO]),
    "street": ("address", [f"{w} High Street" for w in WHO]),
    "iban": ("x", [f"DE{10 + w % 80}5001051700{w:08d}" for w in WHO]),
    "ssn": ("x", [f"{100 + w}-{10 + w % 80}-{1000 + w}" for w in WHO]),
    "ip": ("x", [f"10.0.{w}.{w}" for w in WHO]),
    "url": ("x", [f"https://example.org/{w}" for w in WHO]),
    "uuid": ("x", [f"{w:08x}-0000-4000-8000-{w:012x}" for w in WHO]),
    "notes": ("x", ["was seen on the ward and complained of pain since monday, see letter"] * ROWS),
    "codes of their own": ("x", [f"K{7 * i}" for i in range(ROWS)]),
    "ids with repeats": ("patient_id", 4000 + 31 * WHO),
    "ids of a panel of 15": ("patientId", np.arange(ROWS) % 15),
    "text ids of a panel of 15": ("Patientennummer", [f"P{i % 15}" for i in range(ROWS)]),
    "sequential": ("x", RNG.permutation(ROWS) + 17),
    "every third": ("x", 4711 + 3 * np.arange(ROWS)),
    "sequential with gaps": ("x", np.where(np.arange(ROWS) % 50, np.arange(ROWS), np.nan)),
    "long numbers": ("x", RNG.integers(10**9, 9 * 10**9, ROWS)),
    "too large for a double": ("x", 3 * 10**18 + RNG.integers(0, 10**18, ROWS)),
    "too many to list": ("x", np.repeat([f"c{i}" for i in range(MOST_LISTED + 1)], RARE)),
    "dates of two formats": (
        "x", [f"{i % 28 + 1}.1.{1950 + i % 60}".replace(".", "./"[i % 2]) for i in range(ROWS)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", IDENTIFIERS)
def test_identifiers_are_left_out_and_no_value_is_told(case: str) -> None:
    name, values = IDENTIFIERS[case]
    table = pd.DataFrame({name: values, "y": np.arange(len(values)) % 2})
    draft = Schema.draft(table)
    assert draft.names == ("y",) and draft.left_out[0].name == name, case
    text = draft.to_yaml().partition("\nformat:")[2]
    assert draft.left_out[0].reason and draft.left_out[0].replace == "drop"
    assert not any(str(value) in text for value in set(values) if len(str(value)) > 3)
    assert Schema.from_yaml(draft.to_yaml()) == draft


MEASUREMENTS: dict[str, tuple[str, Sequence[Any], str]] = {
    "whole income": ("income", RNG.integers(12_000, 190_000, ROWS), "integer"),
    "charges": ("charges", RNG.lognormal(8, 1, ROWS).round(2), "continuous"),
    "seconds since 1970": ("at", RNG.integers(1_600_000_000, 1_700_000_000, ROWS), "integer"),
    "days as numbers": ("day", 20200101 + RNG.integers(0, 28, ROWS), "integer"),
    "number of patients": ("number_of_patients", RNG.integers(0, 900, ROWS), "integer"),
    "age": ("age", RNG.integers(18, 90, ROWS), "integer"),
    "a flag": ("patient", np.arange(ROWS) % 2, "integer"),
    "another flag": ("surname", ["yes", "no"] * 300, "categorical"),
    "phone or not": ("phone", ["yes", "no"] * 300, "categorical"),
    "drugs": ("drug_name", ["Aspirin", "Heparin", "Insulin"] * 200, "categorical"),
    "wards": ("ward", ["surgery", "internal medicine"] * 300, "categorical"),
    "codes": ("icd", ["I10", "E11.9", "S72.0"] * 200, "categorical"),
    "days": ("x", ["2020-01-05", "2021-02-03"] * 300, "datetime"),
    "booleans": ("email", [True, False] * 300, "boolean"),
}  # fmt: skip


@pytest.mark.parametrize("case", MEASUREMENTS)
def test_what_measures_or_sorts_is_described(case: str) -> None:
    name, values, kind = MEASUREMENTS[case]
    draft = Schema.draft(pd.DataFrame({name: values}))
    assert draft[name].kind == kind and draft.left_out == ()


def test_values_of_few_rows_are_not_listed() -> None:
    values = ["flu"] * 300 + ["asthma"] * RARE + ["rare4711"] * (RARE - 1) + ["single4711"]
    table = pd.DataFrame({"x": values})
    draft = Schema.draft(table)
    assert draft["x"].categories == ("asthma", "flu", "other") and draft["x"].other == "other"
    assert draft.validate(table)["x"].value_counts().to_dict() == {
        "flu": 300, "asthma": RARE, "other": RARE,
    }  # fmt: skip
    declared = Schema.from_dict(
        {"columns": {"x": {**draft["x"].to_dict(), "provenance": "declared", "source": "book"}}}
    )
    with pytest.raises(SchemaError, match="on_unknown='clip' counts it as 'other'"):
        declared.validate(table)


def test_pandas_categories_of_few_rows_are_not_listed() -> None:
    values = pd.Series(["b"] * 40 + ["a"] * 20 + ["rare"], dtype="category")
    draft = Schema.draft(pd.DataFrame({"x": values.cat.add_categories("gone")}))
    assert draft["x"].categories == ("a", "b", "other")


def test_people_are_counted_where_they_are_known() -> None:
    """Thirty rows of one person are one person's value."""
    table = pd.DataFrame({"who": np.arange(600) // 30, "x": ["a", "b"] * 285 + ["rare"] * 30})
    assert "rare" in Schema.draft(table.drop(columns="who"))["x"].categories
    assert "rare" not in Schema.draft(table, person="who")["x"].categories


def test_a_table_of_identifiers_only() -> None:
    table = pd.DataFrame({"email": [f"{word(w)}@example.org" for w in WHO], "y": WHO % 2})
    draft = Schema.draft(table, person="email")
    assert (draft.person, draft.names, draft.left_out) == ("email", ("y",), ())
    table = pd.DataFrame({"name": ["Weber", "Stein"] * 50, "id": range(100)})
    with pytest.raises(SchemaError, match=r"column 'name' is left out .* nothing is left to draft"):
        Schema.draft(table)


NAMES = {
    "names of people": "Patient Name,apellidos,nom_de_famille,Kundenname",
    "e-mail addresses": "E-Mail",
    "phone numbers": "Telefonnummer",
    "addresses": "Straße",
    "numbers of people or records": "SSN,numéro_patient,account_number",
    None: "country_name,number_of_visits,social_security_income,width,candidate",
}


def test_names_of_columns_in_four_languages() -> None:
    for found, names in NAMES.items():
        for name in names.split(","):
            assert (said_by_name(name) or (None,))[0] == found, name
            assert why_left_out(name, pd.Series([], dtype=object)) is None


@pytest.mark.parametrize("text", [False, True])
def test_a_word_among_numbers_costs_the_column_with_a_hint(text: bool) -> None:
    numbers: list[Any] = [1.5 * i for i in range(99)]
    values = [*(map(str, numbers) if text else numbers), "NA"]
    table = pd.DataFrame({"x": pd.Series(values, dtype=object), "y": [0, 1] * 50})
    (left,) = Schema.draft(table).left_out
    assert left.name == "x" and "name it with --missing" in (left.reason or "")


@pytest.mark.parametrize("person", [None, "who"])
def test_decimal_numbers_are_drafted_and_none_ends_a_draft(person: str | None) -> None:
    def drafted(*values: Any) -> Any:
        x = pd.Series([*values, Decimal(2)] * 20, dtype=object)
        table = pd.DataFrame({"x": x, "y": np.arange(len(x)) % 2, "who": np.arange(len(x)) // 2})
        return Schema.draft(table, person=person)["x"]

    found = drafted(Decimal("1.5"))
    assert (found.kind, found.minimum, found.maximum) == ("continuous", 1.5, 2)
    assert drafted(Decimal("sNaN")).missing
    for value in (10**400, Decimal("Infinity"), Decimal("1e999")):
        with pytest.raises(SchemaError, match="'x': holds infinite values or numbers beyond any"):
            drafted(value)
