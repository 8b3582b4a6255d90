"""Tables and schemas that many tests share."""

from __future__ import annotations

import pandas as pd
import pytest
import tables
from hypothesis import settings

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
