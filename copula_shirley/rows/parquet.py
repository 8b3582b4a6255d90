"""Parquet files whose sizes can be: a small one may say that it has a billion rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
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
#: Values of texts that are looked at together, and rows of a piece that are.
BATCH, ROWS = 2**20, 2**16
TEXTS = (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())


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
    with _undamaged(path):
        about = pq.read_metadata(path)
        rows, columns = about.num_rows, about.num_columns
        if columns > MOST_COLUMNS:
            raise _too_many_columns(path, columns)
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


def frames(path: Path, group: int, schema: Schema, how: FileFormat) -> Iterator[pd.DataFrame]:
    """A row group of a Parquet file, some rows at a time, without columns that nobody looks at."""
    with _undamaged(path), pq.ParquetFile(path, read_dictionary=texts_in(path)) as file:
        names = [name for name in file.schema_arrow.names if name not in schema.unread]
        batches = file.iter_batches(ROWS, row_groups=[group], columns=names, use_threads=False)
        for batch in batches:
            yield without_named(frame_of(pa.Table.from_batches([batch])), schema, how)


def groups_of(path: Path) -> tuple[list[str], list[int]]:
    """Columns of a Parquet file, and rows of its row groups."""
    with _undamaged(path):
        about, schema = pq.read_metadata(path), pq.read_schema(path)
        if about.num_columns > MOST_COLUMNS:
            raise _too_many_columns(path, about.num_columns)
        check_columns(schema, repr(str(path)))
        return schema.names, [about.row_group(i).num_rows for i in range(about.num_row_groups)]


def texts_in(path: Path) -> list[str]:
    """Columns of texts, which are read as what differs among them."""
    return [field.name for field in pq.read_schema(path) if field.type in TEXTS]


def _too_many_columns(path: str | Path, columns: int) -> SchemaError:
    return SchemaError(f"{str(path)!r}: columns ({columns:,}) must be at most {MOST_COLUMNS:,}")


@contextmanager
def _undamaged(path: str | Path) -> Iterator[None]:
    """What Arrow and pandas make of bent bytes is one error."""
    try:
        yield
    except Exception as error:
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
    texts = [field.name for field in schema if field.type in TEXTS]
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
