"""A table of one's own, to benchmark on: named by its content, never copied."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from copula_shirley.experiments.datasets import Dataset, DatasetError
from copula_shirley.rows.tables import read_table
from copula_shirley.schema.schema import OnUnknown, Schema

#: Digits of the digest that stand in a name.
DIGITS = 8


@dataclass(frozen=True)
class OwnTable:
    """Where a table and its schema lie, and what is asked of it.

    Columns that no model learns from are left out. Results are named after the content, so that
    they are found again wherever the files lie, and made again when a file has changed.
    """

    data: Annotated[str, Meta(min_length=1)]
    schema: Annotated[str, Meta(min_length=1)]
    tasks: dict[str, str] = field(default_factory=dict, hash=False)
    missing: tuple[str, ...] = ()
    on_unknown: OnUnknown = "refuse"

    @cached_property
    def declared(self) -> Schema:
        """The schema of the file."""
        return Schema.read(self.schema)

    @property
    def digest(self) -> str:
        """A hash of all that figures depend on: rows, schema, tasks, how both are read."""
        about = [self.declared.to_dict(), self.tasks, list(self.missing), self.on_unknown]
        text = json.dumps(about, sort_keys=True, default=str).encode()
        try:
            rows = hashlib.sha256(Path(self.data).read_bytes()).digest()
        except OSError as error:
            reason = error.strerror or error
            raise DatasetError(f"data ({self.data!r}) cannot be read: {reason}") from None
        return hashlib.sha256(rows + text).hexdigest()

    @property
    def name(self) -> str:
        """What the table is called in results."""
        return f"{Path(self.data).stem} {self.digest[:DIGITS]}"

    def load(self, name: str = "") -> Dataset:
        """The table as a data set; with a ``name`` only if it is still what was named so."""
        if name and name != self.name:
            raise DatasetError(f"data ({self.data!r}) or its schema have changed since the start")
        schema = self.declared
        table = schema.without_left_out(read_table(self.data, schema, self.missing))
        schema = replace(schema, left_out=())
        table = schema.validate(table, on_unknown=self.on_unknown)
        return Dataset(name or self.name, table, schema, dict(self.tasks), self.data)
