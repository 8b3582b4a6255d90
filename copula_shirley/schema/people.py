"""Whose row it is."""

from __future__ import annotations

import math
import re

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from copula_shirley.errors import SchemaError
from copula_shirley.schema.values import INEXACT, number_of

#: Texts of whole numbers as files of numbers have them; "007" is a code, and another person than 7.
WHOLE = re.compile(r"0|-?[1-9][0-9]*")


def people_of(table: pd.DataFrame, person: str) -> NDArray[np.intp]:
    """A number for the person of each row, by the column that names her.

    Each name is looked at by itself: a text, or a whole number; 7, 7.0, "7" and True are equal.
    """
    known: dict[str, int] = {}
    found = [known.setdefault(name, len(known)) for name in names_of(table, person)]
    return np.array(found, dtype=np.intp)


def names_of(table: pd.DataFrame, person: str) -> list[str]:
    """A text for the person of each row; equal ones are the same person, and no others.

    A text that spells a number as files of numbers do ("7", "7.0") is that number: some files of a
    table may hold texts where others hold numbers, and a person must be one in all of them.
    """
    found, rule = [], ""
    for value in table[person]:
        number = math.nan if isinstance(value, str) else number_of(value)
        if not isinstance(value, str) and not number.is_integer():
            rule = "every row must name its person, by a text or a whole number"
        elif abs(number) >= INEXACT:
            # as doubles, which one odd number makes of all, different people may be equal
            rule = "numbers of people must lie within 2**53 of zero; store them as texts"
        if rule:
            raise SchemaError(f"person column {person!r}: {rule}")
        if isinstance(value, str):
            digits = value.removesuffix(".0")
            found.append(f"number {digits}" if WHOLE.fullmatch(digits) else f"text {value}")
        else:
            found.append(f"number {int(number)}")
    return found
