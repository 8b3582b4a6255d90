"""Parquet files whose sizes can be: a small one may say that it has a billion rows."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from copula_shirley.errors import SchemaError
from copula_shirley.rows.cells import without_named
from copula_shirley.schema.file_format import FileFormat
from copula_shirley.schema.frames import check_columns, frame_of
from copula_shirley.schema.schema import MOST_COLUMNS, Schema

#: Cells of a Parquet file, which can say a lot in few bytes; as numbers they have 8 GB.
MOST_CELLS = 10**9
#: Bytes of a Parquet file's table in memory, whatever the size of the file; and how many times the
#: file's size they may be beyond that. A column of zeros packs a million times.
HARMLESS, LARGEST_RATIO = 2**30, 100
#: Values of texts that are looked at together.
BATCH = 2**20


def read(path: str | Path, schema: Schema | None, how: FileFormat) -> pd.DataFrame:
    """The table of a Parquet file; with a declared schema no gap changes a dtype."""
    return without_named(read_parquet(path, schema), schema, how)


def write(path: Path, chunks: Iterable[pd.DataFrame], _: FileFormat) -> None:
    """Write chunks of one table."""
    chunks = iter(chunks)
    first = next(chunks)
    fields = pa.Schema.from_pandas(first, preserve_index=False)
    for i, field in enumerate(fields):
        if pa.types.is_null(field.type):  # a later chunk may hold texts
            fields = fields.set(i, field.with_type(pa.string()))
    with pq.ParquetWriter(path, fields) as writer:
        for chunk in chain([first], chunks):
            writer.write_table(pa.Table.from_pandas(chunk, schema=fields, preserve_index=False))


def read_parquet(path: str | Path, declared: Schema | None) -> pd.DataFrame:
    try:
        about = pq.read_metadata(path)
        rows, columns = about.num_rows, about.num_columns
        if columns > MOST_COLUMNS:
            raise SchemaError(
                f"{str(path)!r}: columns ({columns:,}) must be at most {MOST_COLUMNS:,}"
            )
        if rows * max(columns, 1) > MOST_CELLS:
            rule = f"rows ({rows:,}) times columns ({columns:,}) must be at most {MOST_CELLS:,}"
            raise SchemaError(f"{str(path)!r}: {rule}")
        schema = pq.read_schema(path)
        check_columns(schema, repr(str(path)))
        _check_unpacked(path, about, schema)
        if declared is None:
            return pd.read_parquet(path)
        unread = declared.unread
        found = pq.read_table(path, columns=[n for n in schema.names if n not in unread])
        table = frame_of(found).assign(**dict.fromkeys(unread & set(schema.names)))
        in_order: pd.DataFrame = table[schema.names]
        return in_order
    except Exception as error:  # what Arrow and pandas make of bent bytes
        if isinstance(error, SchemaError | MemoryError) or getattr(error, "errno", None):
            raise
        why = f"it is no Parquet file, or is damaged ({type(error).__name__})"
        raise SchemaError(f"{str(path)!r} is not a readable table: {why}") from None


def _check_unpacked(path: str | Path, about: pq.FileMetaData, schema: pa.Schema) -> None:
    """Refuse a small file that says a huge table, before memory is taken for it.

    Numbers are counted as the pipeline holds them, with 8 bytes each. A text stands once in the
    file and as often as it occurs in the table: their lengths are added up without making them.
    """
    most = max(HARMLESS, LARGEST_RATIO * Path(path).stat().st_size)
    groups = [about.row_group(i) for i in range(about.num_row_groups)]
    rows = max(about.num_rows, sum(group.num_rows for group in groups))
    found = max(8 * rows * about.num_columns, sum(group.total_byte_size for group in groups))
    kinds = (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())
    texts = [field.name for field in schema if field.type in kinds]
    if found <= most and texts:
        with pq.ParquetFile(path, read_dictionary=texts) as file:
            for batch in file.iter_batches(max(1, BATCH // len(texts)), columns=texts):
                for column in batch.columns:
                    lengths = pc.binary_length(column.dictionary).take(column.indices)
                    found += pc.sum(lengths).as_py() or 0
                if found > most:
                    break
    if found > most:
        raise SchemaError(
            f"{str(path)!r}: its table would have {found:,} bytes or more in memory; of a Parquet "
            f"file of its size it must have at most {most:,} (write the file without compression "
            "and dictionaries if it is meant so)"
        )
