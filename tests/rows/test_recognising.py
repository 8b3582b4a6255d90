"""How a file is written is found out for a draft, goes into the schema, and is read so ever on."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from copula_shirley import Schema, SchemaError, read_table
from copula_shirley.rows.recognising import recognised
from copula_shirley.schema.draft import summary
from copula_shirley.schema.file_format import PLAIN, FileFormat

ROWS = 60


def german(number: float) -> str:
    return f"{number:,.2f}".translate(str.maketrans(".,", ",."))


#: Columns of a messy file, and what is found in them.
COLUMNS: dict[str, Any] = {
    "cost": lambda i: f"{german(0.5 + i * i)} €" if i % 7 else "k.A.",
    "bmi": lambda i: f"{20 + i % 13},{i % 10}" if i % 9 else "-",
    "postcode": lambda i: f"{(i % 4) * 1111:05}",
    "born": lambda i: f"{1 + i % 28:02}.{1 + i % 12:02}.{1950 + i % 40}" if i % 11 else "NA",
    "ward": lambda i: f"ward {i % 3}" + " " * (i % 2),
    "smokes": lambda i: "ja" if i % 2 else "nein",
    "clinic": lambda _: "Köln",
    "country": lambda i: "NA" if i % 2 else "DE",
    "weight": lambda i: "not taken" if i % 4 == 0 else f"{70 + i % 20},5",
}


def messy(folder: Path, name: str = "t.csv", encoding: str = "cp1252", sign: str = ";") -> Path:
    lines = [
        sign.join(COLUMNS),
        *(sign.join(of(i) for of in COLUMNS.values()) for i in range(ROWS)),
    ]
    content = "\n".join(lines).encode(encoding)
    (folder / name).write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    return folder / name


def test_thousands_that_are_rare_are_recognised(tmp_path: Path) -> None:
    # Once wrong: a column of prices with three in ten thousand above 1.000,00 was left out
    prices = [german(i / 100) for i in range(5000)] + ["1.036,00"]
    (tmp_path / "t.csv").write_text("\n".join(["n;price", *(f"a;{p}" for p in prices)]), "utf-8")
    found = recognised(tmp_path / "t.csv")
    assert (found.file.decimal, found.file.thousands) == (",", ".")
    assert found.table["price"].max() == 1036


def test_a_messy_file_is_recognised_and_read_by_the_draft(tmp_path: Path) -> None:
    path = messy(tmp_path)
    found = recognised(path)
    assert found.file == FileFormat(
        ";", "cp1252", ",", ".", ("€",), ("k.A.", "-", "NA", "not taken"), True, "drafted"
    )
    schema = Schema.draft(found.table, file=found.file)
    kinds = {column.name: column.kind for column in schema}
    assert kinds == {
        "cost": "continuous", "bmi": "continuous", "postcode": "categorical", "born": "datetime",
        "ward": "categorical", "smokes": "categorical", "clinic": "categorical",
        "country": "categorical", "weight": "continuous",
    }  # fmt: skip
    assert schema["postcode"].categories == ("00000", "01111", "02222", "03333")
    assert schema["born"].format == "%d.%m.%Y" and schema["ward"].categories[0] == "ward 0"
    table = schema.validate(read_table(path, schema))  # nothing has to be told again
    assert table["cost"].dropna().tolist() == [0.5 + i * i for i in range(ROWS) if i % 7]
    for column in schema:
        numbers = column.domain.to_numbers(table[column.name])
        assert np.array_equal(numbers, column.domain.to_numbers(found.table[column.name]))


def test_a_line_for_each_column_says_what_is_odd(tmp_path: Path) -> None:
    found = recognised(messy(tmp_path))
    head = summary(found.table, Schema.draft(found.table, file=found.file), found.odd)
    above, *lines = head.splitlines()
    assert above.startswith("# Seen in the rows, not for release")
    assert [line.split()[1] for line in lines] == [*COLUMNS]
    said = dict(zip(COLUMNS, lines, strict=True))
    assert " ".join(said["cost"].split()) == (
        "# cost continuous 1.5 to 3481.5 15.0% missing missing: k.A.; numbers with € and decimal "
        "comma; '.' between thousands"
    )
    assert "4 categories" in said["postcode"] and "codes of digits" in said["postcode"]
    assert "1950-" in said["born"] and "written as %d.%m.%Y" in said["born"]
    assert "spaces around values" in said["ward"] and "the same in every row" in said["clinic"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("sign", [";", "\t", "|"])
def test_encodings_and_separators(tmp_path: Path, encoding: str, sign: str) -> None:
    one = recognised(messy(tmp_path, "t.csv", encoding, sign))
    assert (one.file.encoding, one.file.separator) == (encoding.removesuffix("-sig"), sign)
    pd.testing.assert_frame_equal(one.table, recognised(messy(tmp_path, "u.csv.gz")).table)


def test_an_accent_far_behind_decides_the_encoding(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"a,b\n" + b"1,x\n" * 400_000 + "2,é\n".encode("cp1252"))
    assert recognised(tmp_path / "t.csv").file.encoding == "cp1252"


#: Texts of one column, and what they are read as; what is declared comes from commas and UTF-8.
NUMBERS: dict[str, tuple[list[str], list[Any], dict[str, Any]]] = {
    "points": (["1.5", "2", "1e3"], [1.5, 2, 1000], {}),
    "commas": (["1,5", "2"], [1.5, 2], {"decimal": ","}),
    "thousands": (["1,234.5", "12"], [1234.5, 12], {"thousands": ","}),
    "thousands alone": (["1,234", "1,234,567"], [1234, 1234567], {"thousands": ","}),
    "spaces": (["1 234", "12"], [1234, 12], {"thousands": " "}),
    "dollars": (["$5", "$1.5"], [5, 1.5], {"symbols": ("$",)}),
    "percent": (["5 %", "1.5%"], [5, 1.5], {"symbols": ("%",)}),
    "gaps": (["N/A", "5", "?"], [None, 5, None], {"missing": ("N/A", "?")}),
    "codes": (["01", "12"], ["01", "12"], {}),
    "words": (["None", "x"], ["None", "x"], {}),
    "a word of few rows": (["1", "2", "gone", *map(str, range(30))], ["1", "2", "gone"], {}),
}


@pytest.mark.parametrize("case", NUMBERS)
def test_one_column(tmp_path: Path, case: str) -> None:
    texts, values, differs = NUMBERS[case]
    pd.DataFrame({"x": texts, "y": "a"}).to_csv(tmp_path / "t.csv", index=False)
    found = recognised(tmp_path / "t.csv")
    assert (
        found.table["x"]
        .astype(object)
        .where(found.table["x"].notna(), None)
        .tolist()[: len(values)]
        == values
    )
    provenance = "drafted" if differs else "declared"
    assert found.file == FileFormat(**differs, provenance=provenance)


def test_what_is_named_or_declared_is_not_searched(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("x,y\n1,a\ngone,-\n")
    assert recognised(tmp_path / "t.csv", ["gone"]).file.missing == ("gone", "-")
    assert recognised(tmp_path / "t.csv", ["gone"], PLAIN).table["y"].tolist() == ["a", "-"]
    (tmp_path / "t.csv").write_text("")
    with pytest.raises(SchemaError, match="it is empty"):
        recognised(tmp_path / "t.csv")


def test_texts_of_typed_files_are_looked_at(tmp_path: Path) -> None:
    values: list[Any] = ["a ", "b", "N/A", None]
    pd.DataFrame({"x": values, "n": [1, 2, 3, 4]}).to_parquet(tmp_path / "t.parquet")
    found = recognised(tmp_path / "t.parquet")
    assert found.file == FileFormat(missing=("N/A",), strip=True, provenance="drafted")
    assert found.table["x"].isna().tolist() == [False, False, True, True]
    assert found.table["x"][0] == "a" and found.table["n"].tolist() == [1, 2, 3, 4]
