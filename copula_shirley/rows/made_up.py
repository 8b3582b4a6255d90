"""What stands in synthetic tables in place of columns that no model learns from; from no row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from copula_shirley.errors import SchemaError
from copula_shirley.files.texts import shown
from copula_shirley.lazy import needed
from copula_shirley.schema.domain import TEXT
from copula_shirley.schema.left_out import LeftOut
from copula_shirley.schema.schema import Schema

#: The language of made-up values, if the schema names none.
LOCALE = "en_US"


def check_made_up(schema: Schema) -> None:
    """Refuse columns that cannot be made up here, before anything is spent."""
    for left in schema.replaced.values():
        if left.replace == "fake":
            _faker(left, 0)()


def made_up(left: LeftOut, numbers: NDArray[np.int64], rng: np.random.Generator) -> pd.Series:
    """A value for each row; those with equal numbers have the same. Fakes are drawn by ``rng``."""
    distinct, place = np.unique(numbers, return_inverse=True)
    values: list[str]
    if left.replace == "fake":
        fake = _faker(left, int(rng.integers(2**63)))
        values = [fake() for _ in distinct]
    elif left.pattern is None:
        return pd.Series(numbers)
    else:
        values = [str(left.numbered(n)) for n in distinct.tolist()]
    return pd.Series(np.array(values, dtype=object)[place], dtype=TEXT)


def _faker(left: LeftOut, seed: int) -> Callable[[], str]:
    """One value after the other; each is a line of text."""
    faker: Any = needed("faker", "fakes", f"column {left.name!r}: kind fake")
    try:
        made = faker.Faker(left.locale or LOCALE)
    except AttributeError:
        where = f"left_out: column {shown(left.name)}: locale ({shown(left.locale)})"
        raise SchemaError(f"{where} must be one that Faker has, such as de_DE") from None
    made.seed_instance(seed)
    value = getattr(made, str(left.fake))
    return lambda: ", ".join(str(value()).splitlines())
