"""Rows of people, brought together from pieces: all of a person in one, in the order of the table.

What is done with a person's rows looks at her rows alone, as in memory. So pieces are read once and
written again as numbers, in buckets by a hash of the person, each of which fits into memory. They
are in the private folder of a fit (``copula_shirley.rows.scratch``).
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa

from copula_shirley.errors import SchemaError
from copula_shirley.rows.admission import Admission, Checked
from copula_shirley.rows.pieces import Parts, T, Work, once_each
from copula_shirley.rows.scratch import new_file
from copula_shirley.schema.people import names_of
from copula_shirley.schema.schema import Schema

#: About how many bytes of a table share a bucket, and the most buckets.
BUCKET, MOST_BUCKETS = 2**25, 1024


@dataclass
class Sorted(Checked):
    """What a piece is like, and where its rows of each bucket are."""

    places: dict[int, list[int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Sorting:
    """The work that writes the rows of a piece by bucket."""

    admission: Admission
    folder: Path
    buckets: int
    secret: bytes

    def __call__(self, number: int, frames: Iterable[pd.DataFrame]) -> Sorted:
        found, schema = Sorted(), self.admission.schema
        fields = pa.schema([*((n, pa.float64()) for n in schema.names), ("", pa.large_string())])
        written = 0
        with (
            new_file(_file(self.folder, number)) as file,
            pa.ipc.new_file(file, fields) as writer,
        ):
            for frame in frames:
                if len(frame) == 0:
                    continue
                table, problems = self.admission.values(frame)
                found.add(Checked(len(frame), len(table), problems))
                if problems:
                    continue
                columns = [column.domain.to_numbers(table[column.name]) for column in schema]
                names = names_of(table, str(schema.person))
                batch = pa.record_batch([*columns, pa.array(names, pa.large_string())], fields)
                where = self._bucket(names)
                for bucket in np.unique(where).tolist():
                    writer.write_batch(batch.take(pa.array(np.flatnonzero(where == bucket))))
                    found.places.setdefault(bucket, []).append(written)
                    written += 1
        return found

    def _bucket(self, names: list[str]) -> np.ndarray:
        """By a keyed hash: nobody can write names that all share one."""
        hashes = (hashlib.blake2b(n.encode(), digest_size=8, key=self.secret) for n in names)
        numbers = np.fromiter((int.from_bytes(h.digest()) for h in hashes), np.uint64, len(names))
        return numbers % np.uint64(self.buckets)


@dataclass(frozen=True)
class Bucket:
    """All rows of some people."""

    schema: Schema
    folder: Path
    #: Parts of files: the number of a piece, and its places there.
    parts: tuple[tuple[int, tuple[int, ...]], ...]

    def frames(self) -> Iterator[pd.DataFrame]:
        batches = []
        for number, places in self.parts:
            with pa.memory_map(str(_file(self.folder, number))) as file:
                reader = pa.ipc.open_file(file)
                batches += [reader.get_batch(place) for place in places]
        table = pa.Table.from_batches(batches)
        found = {}
        for column in self.schema:
            numbers = table[column.name].to_numpy()
            found[column.name] = column.domain.from_numbers(numbers, column.domain.private_storage)
        yield pd.DataFrame({**found, str(self.schema.person): table[""].to_pandas()})


class People:
    """The rows of files in pieces that are whole people; see ``rows.pieces.Source``."""

    may_keep = True

    def __init__(self, source: Parts, admission: Admission, folder: Path) -> None:
        measured = [name for name in admission.schema.names if name not in admission.looked_at]
        if measured:
            raise SchemaError(
                f"person column {admission.schema.person!r}: rows of a person in several pieces "
                f"cannot be brought together while the domain of {measured[0]!r} is measured; "
                "declare it, or read all rows into memory (--engine memory)"
            )
        self.names, self.folder = source.names, folder
        self._workers = source.workers
        count = min(MOST_BUCKETS, 1 + source.size // BUCKET)
        work = Sorting(admission, folder, count, secrets.token_bytes(32))
        total = Checked()
        parts: dict[int, list[tuple[int, tuple[int, ...]]]] = {}
        for number, found in once_each(source, work):
            total.add(found)
            for bucket, places in found.places.items():
                parts.setdefault(bucket, []).append((number, tuple(places)))
        admission.check(total)
        #: Rows of the files.
        self.before = total.rows
        self.pieces = [
            Bucket(admission.schema, folder, tuple(sorted(parts[bucket])))
            for bucket in sorted(parts)
        ]

    def each(self, work: Work[T]) -> Iterator[tuple[int, T]]:
        return self._workers.each(self.pieces, work)

    def close(self) -> None:
        self._workers.close()


def _file(folder: Path, number: int) -> Path:
    return folder / f"{number}.arrow"
