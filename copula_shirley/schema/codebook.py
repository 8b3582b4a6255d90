"""What a file of Stata, SPSS or SAS says of its columns: value labels and missing codes.

May value labels be called declared? They stand in the file's dictionary and not in its rows, and a
survey institute writes them before anybody answers: then they are as public as a printed codebook.
But pandas, R and others make value labels of whatever values occur when they save a column of
texts, and a rare diagnosis that one patient has would be on the list. The file does not tell which
it is. So a draft names the labels as its source and leaves them ``drafted``, of which nothing is
proved, until a person says that they come from a codebook: column by column, or for all of them at
once with ``--declare-labels``. What then stands in the schema follows from the dictionary alone:
all labels whether they occur or not, and that values may be missing, since each number may be. That
all known values have a label is a fact about the rows, which a table shows by being admitted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pandas as pd

from copula_shirley.schema.column import Column
from copula_shirley.schema.schema import Schema
from copula_shirley.schema.values import absent

#: Labels by their codes.
Labels = dict[Any, str]


@dataclass(frozen=True)
class Codebook:
    """Value labels, missing codes with theirs, ordered columns, and what columns are about."""

    labels: Mapping[str, Labels] = field(default_factory=dict)
    missing: Mapping[str, list[str]] = field(default_factory=dict)
    ordered: frozenset[str] = frozenset()
    words: Mapping[str, str] = field(default_factory=dict)

    def told(self, name: str) -> list[str]:
        """What is to be said of a column."""
        codes = self.missing.get(name)
        gaps = [f"missing codes: {', '.join(codes)}" if codes else "missing codes"]
        return [self.words.get(name, ""), *(gaps if codes is not None else [])]


#: Of a file that says nothing.
NO_CODEBOOK = Codebook()


def with_labels(
    schema: Schema, table: pd.DataFrame, codebook: Codebook, source: str, *, declared: bool
) -> Schema:
    """A drafted schema with the labels of columns in which every known value has one.

    Only with ``declared`` are they called so, are labels listed that few rows have, and does a
    column come back that seemed to identify people: whoever says it knows that the labels were not
    made from the rows.
    """
    found = {column.name: column for column in schema}
    left = {column.name for column in schema.left_out}
    for name, labels in codebook.labels.items():
        listed = [label for label in dict.fromkeys(labels.values()) if label not in _gaps(schema)]
        known = table[name][~absent(table[name])] if name in table else ()
        wanted = name in found or (declared and name in left)
        if name in found and found[name].other is not None and not declared:
            wanted = False  # the draft keeps values to itself that few rows have
        if wanted and listed and set(known) <= set(listed):
            found[name] = Column(
                name,
                "categorical",
                categories=tuple(listed),
                ordered=name in codebook.ordered,
                missing=True,
                provenance="declared" if declared else "drafted",
                source=f"value labels of {source}",
            )
    for name in found.keys() & codebook.missing.keys():
        found[name] = replace(found[name], missing=True)
    columns = tuple(found[name] for name in map(str, table.columns) if name in found)
    kept = tuple(column for column in schema.left_out if column.name not in found)
    return replace(schema, columns=columns, left_out=kept)


def _gaps(schema: Schema) -> set[str]:
    return {"", *schema.file.missing}


def labels_note(schema: Schema, codebook: Codebook, *, declared: bool) -> list[str]:
    """What a curator must confirm of value labels."""
    names = [c.name for c in schema if c.name in codebook.labels and c.is_listed]
    if not names:
        return []
    if declared:
        return [
            f"{len(names)} columns have the file's value labels as declared categories: you say "
            "that these come from a codebook, and were not made from the rows as pandas and R do"
        ]
    return [
        f"{len(names)} columns have the file's value labels as drafted categories: if these come "
        "from a codebook, and were not made from the rows as pandas and R do, draft again with "
        "--declare-labels"
    ]
