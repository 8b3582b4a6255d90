"""Small files that want gigabytes or hours: each is one clear error in little memory."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from card_models import edited, fitted
from commands import memory_of

from copula_shirley import ArtefactError, Column, Schema, SchemaError, load
from copula_shirley.files.archive import LARGEST_HEADER
from copula_shirley.files.strict_yaml import LONGEST_NUMBER, load_yaml
from copula_shirley.publish.pages import is_whole, read_page
from copula_shirley.restoring import MOST_ROWS
from copula_shirley.rows import parquet
from copula_shirley.rows.tables import read_table
from copula_shirley.schema.schema import MOST_COLUMNS

#: Megabytes that a refusal may take; what is refused wants hundreds to hundreds of thousands.
LITTLE = 64


# -- cells and rows --------------------------------------------------------------------


def columns_of(count: int, cells: int) -> dict[str, Any]:
    entry = {"kind": "integer", "minimum": 0, "maximum": 10**9, "cells": cells}
    return {f"c{i}": entry for i in range(count)}


def test_cells_of_all_columns_are_bounded_before_any_is_made() -> None:
    columns = {**columns_of(120, 40_000), "widest": columns_of(1, 50_000)["c0"]}
    megabytes, line = memory_of(lambda: Schema.from_dict({"columns": columns}))
    assert "cells of all columns together (4,850,000) must be at most 1,000,000" in line
    assert "column 'widest' alone has 50,000" in line
    assert megabytes < LITTLE
    assert len(Schema.from_dict({"columns": columns_of(20, 50_000)})) == 20
    listed = tuple(range(600_000))
    long = tuple(Column(name, "categorical", categories=listed) for name in "ab")
    with pytest.raises(SchemaError, match="together"):
        Schema(long)


def columns_too_many(header: dict[str, Any], _: Any) -> None:
    columns = columns_of(120, 40_000)
    header["schema"]["columns"] = columns
    header.update(columns=list(columns), dtypes=dict.fromkeys(columns, "int64"))


def rows_too_many(header: dict[str, Any], _: Any) -> None:
    header.update(rows=MOST_ROWS + 1)


def rows_not_noisy(header: dict[str, Any], _: Any) -> None:
    header.update(rows=10**6)


@pytest.mark.parametrize(
    ("change", "names", "said"),
    [
        (columns_too_many, ["uniform", "private-vine", "dp-histogram"], "cells of all columns tog"),
        (rows_too_many, ["uniform"], r"its `?rows`? .*1,?000,?000,?000"),
        (rows_not_noisy, ["uniform"], r"rows \(1,000,000\) must be the noisy number, 1,000"),
        (rows_not_noisy, ["private-vine"], r"rows \(1,000,000\) must be the noisy number, \d+"),
    ],
)
def test_a_small_model_that_says_a_lot_is_refused(
    change: Any, names: list[str], said: str, tmp_path: Path
) -> None:
    for name in names:
        fitted(name).save(tmp_path / "true")
        path = edited(tmp_path / "true", tmp_path / "m", change)
        assert path.stat().st_size < 50_000
        megabytes, line = memory_of(lambda path=path: load(path))
        assert re.search(said, line), line
        assert megabytes < LITTLE


# -- YAML ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["1" + ":00" * 2_000_000, "1:2" * 1_000_000, "0x" + "f" * LONGEST_NUMBER, "1" * 4_000]
)
def test_long_numbers_of_yaml_take_no_time(text: str) -> None:
    """Python reads numbers of base 60 by multiplying larger and larger ones, which takes hours."""
    with pytest.raises(SchemaError, match="a number of more than 250 letters"):
        load_yaml(f"columns: {{x: {text}}}")
    assert load_yaml("1:00:00") == 3600


# -- Parquet -----------------------------------------------------------------------------


def zeros(path: Path) -> None:
    """20,000,000 zeros in less than 100 kB."""
    run = pa.table({"a": pa.array(np.zeros(10**7, dtype=np.int8))})
    with pq.ParquetWriter(path, run.schema, compression="zstd") as writer:
        for _ in range(2):
            writer.write_table(run, row_group_size=10**7)


def one_long_text(path: Path) -> None:
    """A dictionary of one text, which 20,000 rows point to: 20 GB."""
    long = pa.DictionaryArray.from_arrays(
        pa.array(np.zeros(20_000, dtype=np.int32)), pa.array(["x" * 1_000_000])
    )
    pq.write_table(pa.table({"a": long, "b": range(20_000)}), path, store_schema=False)


def compressed_text(path: Path) -> None:
    """Texts of 200 MB that pack into some 10 kB."""
    texts = pa.array(["x" * 10**8])
    with pq.ParquetWriter(
        path,
        pa.schema([("a", pa.string())]),
        compression="zstd",
        use_dictionary=False,
        write_statistics=False,
    ) as writer:
        for _ in range(2):
            writer.write_table(pa.table({"a": texts}))


def nested(path: Path, depth: int = 20) -> None:
    kind = pa.int8()
    for _ in range(depth):
        kind = pa.struct([("a", kind)])
    pq.write_table(pa.schema([("x", kind)]).empty_table(), path)


def wide(path: Path) -> None:
    pq.write_table(pa.schema([(f"c{i}", pa.int8()) for i in range(10_001)]).empty_table(), path)


def bent_pandas(path: Path) -> None:
    table = pa.table({"x": [1]}).replace_schema_metadata({"pandas": "[" * 100_000})
    pq.write_table(table, path)


PARQUET = {
    zeros: "would have 160,000,000 bytes or more in memory; .* at most 134,217,728",
    one_long_text: "would have 20,0",
    compressed_text: "would have 200,",
    nested: "column 'x': holds values of type struct",
    lambda path: nested(path, 300): "not a readable table",
    wide: "at most 10,000",
    bent_pandas: "not a readable table",
}


@pytest.mark.parametrize(("make", "said"), PARQUET.items(), ids=[make.__name__ for make in PARQUET])
def test_a_small_parquet_file_that_says_a_lot_is_refused(
    make: Callable[[Path], None], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "HARMLESS", 2**27)  # 128 MB: quicker to make
    path = tmp_path / "bomb.parquet"
    make(path)
    megabytes, line = memory_of(lambda: read_table(path))
    assert line.startswith("SchemaError") and "\n" not in line
    assert re.search(said, line), line
    assert megabytes < LITTLE


def test_texts_that_repeat_in_a_harmless_file_are_read(tmp_path: Path) -> None:
    """Dictionaries, gaps, categories and texts beyond a dictionary come as pandas reads them."""
    path = tmp_path / "t.parquet"
    texts = [None if i % 7 == 0 else f"text {i % 3}" for i in range(5000)]
    table = pa.table(
        {
            "few": texts,
            "many": [f"{i}" * 40 for i in range(5000)],
            "bytes": pa.array([b"x"] * 5000, pa.binary()),
            "large": pa.array(texts, pa.large_string()),
            "listed": pa.array(texts).dictionary_encode(),
            "number": range(5000),
        }
    )
    pq.write_table(table, path, row_group_size=999)
    pd.testing.assert_frame_equal(read_table(path), pd.read_parquet(path))


# -- CSV -----------------------------------------------------------------------------------

CSV = {
    "a million columns": b",".join(b"c%d" % i for i in range(10**6)) + b"\n",
    "a million columns in a row": b"a,b\n" + b"," * 10**6 + b"\n",
    "a line that does not end": b"a,b\n1,2\n" + b"x," * 20_000_000,
    "a quote that does not end": b"a,b\n1,2\n" + b'"' + b"x\n" * 20_000_000,
    "a name that does not end": b"a" * 40_000_000,
}


@pytest.mark.parametrize("content", CSV.values(), ids=CSV)
def test_an_absurd_csv_file_is_refused_in_little_memory(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    megabytes, line = memory_of(lambda: read_table(path))
    assert line.startswith("SchemaError") and "\n" not in line and len(line) < 500
    assert megabytes < 200


# -- cards ---------------------------------------------------------------------------------


def test_a_huge_or_odd_page_is_no_card(tmp_path: Path) -> None:
    page = tmp_path / "c.html"
    whole = fitted("uniform").card().to_html()
    page.write_text(whole, encoding="utf-8")
    assert is_whole(read_page(page)[1])
    page.write_text(whole.replace("<body", " " * LARGEST_HEADER + "<body"), encoding="utf-8")
    with pytest.raises(ArtefactError, match=r"c\.html' must have at most 33,554,432 bytes"):
        read_page(page)
    for odd in ("[" * 100_000, '{"card": 1, "card": 2}', "1e999", "9" * 10_000):
        start = whole.index('{"card"')
        page.write_text(whole[:start] + odd + "</script>", encoding="utf-8")
        with pytest.raises(ArtefactError, match="is no privacy card"):
            read_page(page)
    page.unlink()
    os.mkfifo(page)
    with pytest.raises(ArtefactError, match="pipe"):
        read_page(page)


def test_columns_and_special_values_of_a_schema_are_bounded() -> None:
    with pytest.raises(SchemaError, match=r"columns \(10,001\) must be at most 10,000"):
        Schema.from_dict({"columns": columns_of(MOST_COLUMNS + 1, 2)})
    special = tuple(range(500_000))
    with pytest.raises(SchemaError, match="must be at most 1,000,000, two for each special"):
        Schema((Column("x", "integer", minimum=0, maximum=10**6, special=special),))
    with pytest.raises(SchemaError, match="from 1 to 1,000,000"):
        Schema((Column("x", "boolean"),), "who", 10**28)
