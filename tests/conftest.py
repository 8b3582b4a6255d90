"""Tables and schemas that many tests share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
import tables
from hypothesis import settings
from place import SCHEMA

from copula_shirley import Schema

# The same examples on every machine and no deadline: time is not what is tested.
settings.register_profile("steady", derandomize=True, deadline=None, max_examples=60)
settings.load_profile("steady")


@pytest.fixture
def people() -> pd.DataFrame:
    """400 rows with every kind of column, dependence, and missing values."""
    return tables.people()


@pytest.fixture
def people_schema() -> Schema:
    return tables.PEOPLE


# -- a folder with a table, its schema and a model, as a user has them ------------------


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with data.csv and schema.yaml."""
    tables.people().to_csv(tmp_path / "data.csv", index=False)
    SCHEMA.write(tmp_path / "schema.yaml")
    return tmp_path


@pytest.fixture(scope="session")
def model_bytes(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("model") / "model.shirley"
    tables.fitted("copula-shirley", tables.people(), SCHEMA, random_state=0).save(path)
    return path.read_bytes()


@pytest.fixture
def model(place: Path, model_bytes: bytes) -> Path:
    """model.shirley in the same folder, of which nothing is proved."""
    (place / "model.shirley").write_bytes(model_bytes)
    return place / "model.shirley"


@pytest.fixture
def spoil(place: Path) -> Callable[[str, object], None]:
    """Put one private value into the fourth row of data.csv."""

    def spoilt(column: str, value: object) -> None:
        tables.people().to_csv(place / "data.csv", index=False)
        table = pd.read_csv(place / "data.csv", dtype=str, keep_default_na=False)
        table.loc[3, column] = str(value)
        table.to_csv(place / "data.csv", index=False)

    return spoilt
