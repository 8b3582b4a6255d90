"""How the texts of a file are read: by its format and by themselves."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from copula_shirley import Column, PrivateVine, Schema, SchemaError
from copula_shirley.schema.file_format import THOUSANDS, FileFormat

GERMAN = FileFormat(
    ";", "cp1252", ",", ".", symbols=("€", "EUR"), missing=("k.A.", "-9"), strip=True
)
NUMBERS = {
    "1.234,50 €": 1234.5, "EUR 1.234": 1234, "-1,5": -1.5, "€ -2": -2, "-€2": -2,
    "1.234.567": 1234567,
    ",5": 0.5, "5,": 5, "1e3": 1000, " 7 ": 7, "+1.000,25EUR": 1000.25,
}  # fmt: skip
NONE = [
    "1.5",
    "1.23",
    "1,234.5",
    "12.34,5",
    "--1",
    "-€-1",
    "",
    ",",
    "€",
    "1 234",
    "x",
    "1_000",
    "٣",
    "nan",
]


def test_numbers_by_hand() -> None:
    assert {text: GERMAN.number(text) for text in NUMBERS} == NUMBERS
    assert [text for text in NONE if not math.isnan(GERMAN.number(text))] == []
    spaced = FileFormat(thousands=" ")
    assert [spaced.number(f"1{space}234.5") for space in " \u00a0\u202f"] == [1234.5] * 3


@given(
    number=st.decimals(-(10**9), 10**9, places=2),
    thousands=st.none() | st.sampled_from(THOUSANDS),
    decimal=st.sampled_from(".,"),
)
def test_written_numbers_are_read(number: Any, thousands: str | None, decimal: str) -> None:
    if thousands != decimal:
        text = f"{number:,}" if thousands else str(number)
        text = text.replace(",", "T").replace(".", decimal).replace("T", thousands or "")
        assert FileFormat(decimal=decimal, thousands=thousands).number(text) == float(number)


def test_each_kind_reads_by_the_format() -> None:
    age = Column("x", "integer", minimum=0, maximum=2000, missing=True)
    texts = ["1.234", " 7 ", "k.A.", "-9,0", "1.5", ""]
    assert age.domain.reader(GERMAN)(texts).tolist() == [
        1234,
        7,
        None,
        None,
        "1.5 (no number)",
        None,
    ]
    dose = Column("x", "categorical", categories=(0.5, 1, "1,5", "x y"))
    read = dose.domain.reader(GERMAN)([" 0,5", "1", "1,5", "x y ", "2,5", "k.A."])
    assert read.tolist() == [0.5, 1, "1,5", "x y", "2,5", None]


BAD: list[tuple[dict[str, Any], str]] = [
    ({"separator": ";;"}, "separator (';;') must be one sign"),
    ({"separator": "a"}, "separator ('a') must be one sign"),
    ({"separator": '"'}, "must be one sign"),
    ({"separator": 7}, "separator (7) must be one sign"),
    ({"encoding": "utf-9"}, "encoding ('utf-9') must be a known one"),
    ({"encoding": "rot13"}, "encoding ('rot13') must be a known one"),
    ({"encoding": "unicode_escape"}, "must be a known one"),
    ({"encoding": 8}, "must be a known one"),
    ({"decimal": ";"}, "decimal (';') must be . or ,"),
    ({"thousands": "x"}, "thousands ('x') must be one of"),
    ({"decimal": ",", "thousands": ","}, "must differ from decimal (',')"),
    ({"symbols": ["1"]}, "symbols (('1',)) must hold no digits"),
    ({"symbols": "€"}, "symbols ('€') must be a list"),
    ({"missing": "NA"}, "missing ('NA') must be a list"),
    ({"missing": [""]}, "missing ([''])"),
    ({"missing": [["a"]]}, "must be a list"),
    ({"missing": ["a\x1b"]}, "must be a list"),
    ({"strip": "yes"}, "strip ('yes') must be true or false"),
    ({"provenance": "private"}, "provenance ('private') must be declared or drafted"),
    ({"sep": ";"}, "must be a mapping of separator, encoding"),
]


@pytest.mark.parametrize(("entry", "message"), BAD, ids=str)
def test_a_format_that_cannot_be_is_one_error(entry: dict[str, Any], message: str) -> None:
    with pytest.raises(SchemaError) as caught:
        FileFormat.from_dict(entry)
    assert str(caught.value).startswith("file") and message in str(caught.value)


def test_it_comes_back_from_yaml_and_fits_the_categories() -> None:
    schema = Schema((Column("x", "categorical", categories=("a", "ß")),), file=GERMAN)
    assert Schema.from_yaml(schema.to_yaml()) == schema
    assert Schema.from_yaml("file: {missing: [-9, NA]}\ncolumns: {b: {kind: boolean}}").file == (
        FileFormat(missing=("-9", "NA"))
    )
    assert "file" not in Schema((Column("x", "boolean"),)).to_dict()
    for category, rule in (("k.A.", "stands for a missing value"), ("я", "encoding cp1252")):
        with pytest.raises(SchemaError, match=rule):
            Schema((Column("x", "categorical", categories=(category,)),), file=GERMAN)


def test_a_drafted_format_proves_nothing() -> None:
    file = FileFormat(missing=("-",), provenance="drafted")
    schema = Schema((Column("x", "integer", minimum=0, maximum=3),), file=file)
    (reason,) = PrivateVine(1.0).unproved(schema)
    assert "how texts are read ('file') was drafted from the rows" in reason
