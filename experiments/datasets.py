"""The data sets of ``datasets.yaml``: found, checked against their hash and schema, loaded.

A file is looked for in this order: the path that the caller names; the folder in the
environment variable ``COPULA_SHIRLEY_DATA`` (default: the user's cache); the folder
``../shared/datasets`` beside a checkout; the installed package that carries it; a
download from the address in ``datasets.yaml``. Nothing found is ever written into the
project.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd
import pooch

from copula_shirley.errors import ShirleyError
from copula_shirley.files.strict_yaml import load_yaml
from copula_shirley.schema.schema import Schema

#: Environment variable that names the folder with the user's data files.
FOLDER_VARIABLE = "COPULA_SHIRLEY_DATA"
#: Beside a checkout.
SHARED = Path(__file__).resolve().parents[2] / "shared" / "datasets"


class DatasetError(ShirleyError):
    """A data set is unknown, absent, or not the one that ``datasets.yaml`` describes."""


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What ``datasets.yaml`` says of a data set; its head explains each key."""

    title: str
    description: str
    source: str
    address: str | None
    obtain: str
    file: str | None
    sha256: str | None
    licence: str
    tasks: dict[str, str]
    columns: dict[str, Any]
    person: dict[str, Any] | None = None
    package: str = ""
    inside: str = ""
    recipe: dict[str, int] | None = None

    @property
    def schema(self) -> Schema:
        """The declared public domain."""
        person = {} if self.person is None else {"person": self.person}
        return Schema.from_dict({**person, "columns": self.columns})


@dataclass(frozen=True, eq=False)
class Dataset:
    """A table with its public schema, and the target column of each of its tasks.

    The table has the schema's columns in their order, then the person column if there is one.
    ``origin`` says where the rows came from on this machine.
    """

    name: str
    table: pd.DataFrame
    schema: Schema
    tasks: dict[str, str]
    origin: str = ""
    source: str = ""
    licence: str = ""

    @property
    def person(self) -> str | None:
        """The column that says whose row it is."""
        return self.schema.person


def load_dataset(name: str = "randhie", path: str | Path | None = None) -> Dataset:
    """Load a data set by its name in ``datasets.yaml``; the default comes with statsmodels.

    With a ``path`` that file is read instead of searching for one. Its hash is checked all the
    same, and the rows must fit the declared schema.

    Examples
    --------
    >>> made = load_dataset("made")
    >>> made.table.shape, made.schema.names
    ((5000, 6), ('A', 'B', 'C', 'D', 'E', 'F'))
    """
    entries = catalogue()
    if name not in entries:
        raise DatasetError(f"data set ({name!r}) must be one of {', '.join(sorted(entries))}")
    entry = entries[name]
    schema = entry.schema
    if entry.recipe is None:
        file = _find(name, entry, path)
        table, origin = _read(file, schema), str(file)
    elif path is None:
        table, origin = make_table(**entry.recipe), f"computed with {entry.recipe}"
    else:
        raise DatasetError(f"data set {name!r} is computed: path ({str(path)!r}) must be None")
    table = schema.validate(table)
    return Dataset(name, table, schema, dict(entry.tasks), origin, entry.source, entry.licence)


def list_datasets() -> dict[str, str]:
    """Name and description of every data set.

    Examples
    --------
    >>> sorted(list_datasets())
    ['adult', 'bank', 'compas', 'credit', 'diabetes130', 'made', 'randhie', 'texas']
    """
    return {name: entry.description for name, entry in catalogue().items()}


@cache
def catalogue() -> dict[str, Entry]:
    """The content of ``datasets.yaml``, in a wheel beside this file, else in the checkout."""
    here = Path(__file__).resolve().parent
    for file in (here / "datasets.yaml", here.parent / "datasets.yaml"):
        if file.is_file():
            return msgspec.convert(load_yaml(file.read_text(encoding="utf-8")), dict[str, Entry])
    raise DatasetError(f"datasets.yaml is neither in {here} nor in {here.parent}")


def make_table(rows: int, seed: int) -> pd.DataFrame:
    """Compute the made set: six attributes with the correlations of table 5.2.

    Thesis 5.2.7 describes the set and prints its Spearman coefficients but not its
    generator. With independent standard normal e this recipe has the same coefficients::

        A = e                   D =  .2422 A + .9702 e
        B =  .9219 A + .3874 e  E = -.1779 A + .9840 e
        C = -.9603 A + .2790 e  F = A + .4175 e where A < 0, else -.2824 - .1226 A + .60 e
    """
    a, b, c, d, e, f = np.random.default_rng(seed).standard_normal((6, rows))
    columns = {
        "A": a,
        "B": 0.9219 * a + 0.3874 * b,
        "C": -0.9603 * a + 0.2790 * c,
        "D": 0.2422 * a + 0.9702 * d,
        "E": -0.1779 * a + 0.9840 * e,
        "F": np.where(a < 0, a + 0.4175 * f, -0.2824 - 0.1226 * a + 0.60 * f),
    }
    return pd.DataFrame(columns)


def data_folder() -> Path:
    """The folder with the user's data files, to which downloads go."""
    return Path(os.environ.get(FOLDER_VARIABLE) or pooch.os_cache("copula-shirley")).expanduser()


def _find(name: str, entry: Entry, path: str | Path | None) -> Path:
    """The file of a data set, with the hash that it must have."""
    places = [Path(path).expanduser()] if path is not None else _places(entry)
    failure = ""
    for place in filter(Path.is_file, places):
        # no hash is given where each user's file differs
        found = entry.sha256 and hashlib.sha256(place.read_bytes()).hexdigest()
        if found != entry.sha256:
            raise DatasetError(
                f"file {str(place)!r}: sha256 ({found}) must be {entry.sha256}, as datasets.yaml "
                "says"
            )
        return place
    if path is None and entry.address is not None:
        known = f"sha256:{entry.sha256}"
        try:
            return Path(pooch.retrieve(entry.address, known, entry.file, data_folder()))
        except (OSError, ValueError) as error:  # no connection, or another hash
            failure = f"; the download from {entry.address} failed: {error}"
    raise DatasetError(
        f"data set {name!r} was not found; searched: {', '.join(map(str, places))}{failure}. "
        f"{entry.obtain} Source: {entry.source}. "
        f"The data folder is {data_folder()} (set {FOLDER_VARIABLE} to change it)."
    )


def _places(entry: Entry) -> list[Path]:
    """Where the file of a data set is looked for, in this order."""
    places = [folder / str(entry.file) for folder in (data_folder(), SHARED)]
    # inside an installed package, which is located without importing it
    spec = importlib.util.find_spec(entry.package) if entry.package else None
    if spec is not None and spec.origin is not None:
        places.append(Path(spec.origin).parent / entry.inside)
    return places


def _read(file: Path, schema: Schema) -> pd.DataFrame:
    """The described columns of a file; texts such as "?" and "None" stay what they are."""
    if file.suffix == ".parquet":
        table = pd.read_parquet(file)
    elif file.suffix == ".csv":
        codes = {c.name: str for c in schema if c.categories and isinstance(c.categories[0], str)}
        table = pd.read_csv(file, dtype=codes, keep_default_na=False, na_values=[""])
    else:
        raise DatasetError(f"file {str(file)!r}: its name must end in .csv or .parquet")
    return table[[name for name in (*schema.names, schema.person) if name in table.columns]]
