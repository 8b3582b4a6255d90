"""One field of a Frictionless Table Schema (version 1 or 2) as the entry of a column."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from copula_shirley.errors import SchemaError
from copula_shirley.files.texts import shown
from copula_shirley.schema.duration import duration_of
from copula_shirley.schema.values import moment_of, number_of, plain, truth_of

#: The property of what the standard cannot say.
OURS = "copula-shirley"
#: What takes notes.
Told = Callable[[str], None]
#: What is read of a field; anything else is told.
KNOWN = {
    *("name", "type", "format", "constraints", "categories", "categoriesOrdered", "missingValues"),
    *("trueValues", "falseValues", "decimalChar", "groupChar", "bareNumber", OURS),
}
#: Constraints that are read, and bounds that are not included.
CONSTRAINTS = {"required", "unique", "enum", "minimum", "maximum"}
EXCLUSIVE = {"minimum": "exclusiveMinimum", "maximum": "exclusiveMaximum"}
#: What must be of a kind if it is there.
MUST: dict[str, tuple[type, str]] = {
    "constraints": (Mapping, "a mapping"),
    "type": (str, "a text"),
    "format": (str, "a text"),
    "categories": (list, "a list"),
    OURS: (Mapping, "a mapping"),
}
TRUE, FALSE = ("true", "True", "TRUE", "1"), ("false", "False", "FALSE", "0")
#: Texts that are left out by their format.
IDENTIFYING = {"email": "e-mail addresses", "uri": "web addresses", "uuid": "codes of records"}
#: Types of numbers, and the kinds that they are; of times, with the step of their grid.
NUMBERS = {"integer": "integer", "year": "integer", "number": "continuous"}
MOMENTS = {"date": "1D", "yearmonth": "1D", "datetime": None}
DURATIONS = ("duration", "time")
TEXTS = ("string", "any")
DAY = {"minimum": "0 days 00:00:00", "maximum": "0 days 23:59:59"}


class Field:
    """A field, and who is told what of it cannot be kept."""

    def __init__(self, said: Any, told: Told) -> None:
        if not isinstance(said, Mapping) or not isinstance(said.get("name"), str):
            raise SchemaError(f"table schema: field ({shown(said)}) must be a mapping with a name")
        self.said, self.name = said, said["name"]
        for key, (kind, words) in MUST.items():
            if key in said and not isinstance(said[key], kind):
                raise self.error(key, said[key], f"must be {words}")
        self.type = said.get("type", "any")
        self.limits: Mapping[str, Any] = said.get("constraints", {})
        how = said.get("format", "default").removeprefix("fmt:")
        self.format = None if how in ("default", "any") else how
        self._told = told

    def told(self, text: str) -> None:
        self._told(f"field {self.name!r}: {text}")

    def error(self, what: str, value: Any, rule: str) -> SchemaError:
        return SchemaError(f"field {self.name!r}: {what} ({shown(value)}) {rule}")

    def entry(self, unique: bool = False) -> dict[str, Any]:
        """The entry of a column, or of one that is left out; without its provenance."""
        for key in self.limits:
            if key not in CONSTRAINTS and key not in EXCLUSIVE.values():
                self.told(f"{key} is not kept")
        if unique and self.type in (*TEXTS, "integer"):
            reason = "every row has a value of its own, says its table schema"
            return {"reason": reason, "replace": "id"}
        if self.type == "string" and self.format in IDENTIFYING:
            reason = f"{IDENTIFYING[self.format]}, says its table schema"
            return {"reason": reason, "replace": "drop"}
        listed = [] if self.type == "boolean" else list(self._listed())
        if listed:
            ordered = self.said.get("categoriesOrdered") is True
            entry: dict[str, Any] = {"kind": "categorical", "categories": listed}
            entry |= {"ordered": True} if ordered else {}
        else:
            found = self._read()
            if found is None:
                self.told(f"type {self.type!a:.60} cannot be synthesised and is left out")
                return {"reason": f"values of the type {self.type!a:.60}", "replace": "drop"}
            entry = found
        return entry | ({} if self.limits.get("required") is True else {"missing": True})

    def _read(self) -> dict[str, Any] | None:
        """Kind and bounds by the type; None if no kind is like it."""
        if self.type in TEXTS:
            return {"kind": "categorical"}
        if self.type in NUMBERS:
            step = None if self.type == "number" else 1
            return {"kind": NUMBERS[self.type], **self._ends(self._number, step)}
        if self.type in MOMENTS or (self.type == "time" and self.format):
            return self._moments(MOMENTS.get(self.type))
        if self.type == "boolean":
            return self._truths()
        if self.type in DURATIONS and self.format is None:
            return self._durations()
        return None

    # -- lists -----------------------------------------------------------------------------

    def _listed(self) -> Iterator[Any]:
        """The closed list of values; empty without one."""
        named = self.said.get("categories", [])
        if any(isinstance(c, Mapping) and "label" in c for c in named):
            self.told("labels of categories are not kept")
        values = self._cast(c.get("value") if isinstance(c, Mapping) else c for c in named)
        allowed = self.limits.get("enum")
        if allowed is not None and not isinstance(allowed, list):
            raise self.error("enum", allowed, "must be a list")
        permitted = self._cast(allowed or [])
        for value in values or permitted:
            if not permitted or value in permitted:
                yield value

    def _cast(self, values: Any) -> list[Any]:
        """Values of a list in the type of the field; those of other types than numbers as texts."""
        found: list[Any] = []
        for value in values:
            if not isinstance(value, str | int | float):
                raise self.error("categories", value, "must be texts or numbers")
            if self.type not in NUMBERS:
                found.append(value if isinstance(value, str) else str(value))
                continue
            number = self._number(value)
            if number is None:
                raise self.error("categories", value, f"must be of the type {self.type}")
            found.append(number)
        return found

    def _truths(self) -> dict[str, Any]:
        words = [self.said.get("falseValues", FALSE), self.said.get("trueValues", TRUE)]
        if not all(
            isinstance(w, Sequence)
            and not isinstance(w, str)
            and all(isinstance(v, str) for v in w)
            for w in words
        ):
            raise self.error("trueValues, falseValues", words, "must be lists of texts")
        if all(truth_of(v) is truth for truth in (False, True) for v in words[truth]):
            return {"kind": "boolean"}
        return {"kind": "categorical", "categories": [*words[0], *words[1]]}

    # -- bounds ----------------------------------------------------------------------------

    def _ends(self, read: Callable[[Any], Any], step: Any) -> dict[str, Any]:
        """Both bounds, or none; one that is excluded is a step further in where there are steps."""
        found: dict[str, Any] = {}
        for end, exclusive in EXCLUSIVE.items():
            key = end if end in self.limits else exclusive
            said = self.limits.get(key)
            if said is None:
                continue
            value = read(said)
            if value is None or pd.isna(value):
                raise self.error(key, said, "must be a value of its type and format")
            if key == exclusive and step is None:
                self.told(f"{key} ({shown(said)}) counts as included")
            elif key == exclusive:
                value = value + step if end == "minimum" else value - step
            found[end] = plain(value)
        if len(found) == 1:
            ((end, value),) = found.items()
            self.told(f"{end} ({value}) is not kept without the other bound")
            return {}
        return found

    def _number(self, value: Any) -> int | float | None:
        """A number as JSON or a text has it; None if it is none, or not whole where it must be."""
        if isinstance(value, str):
            value = value.replace(str(self.said.get("groupChar") or "\0"), "")
            value = value.replace(str(self.said.get("decimalChar") or "."), ".")
        number = number_of(value)
        if np.isnan(number) or (self.type != "number" and not number.is_integer()):
            return None
        keeps = isinstance(value, float) and self.type == "number"
        return int(number) if number.is_integer() and not keeps else number

    def _moments(self, step: str | None) -> dict[str, Any]:
        how = "%Y-%m" if self.type == "yearmonth" else self.format
        if self.said.get("format") == "any" and OURS not in self.said:
            self.told("format any is read as ISO 8601")

        def read(value: Any) -> Any:
            moment = moment_of(value, how)
            return pd.Timestamp(moment_of(value, None) if np.isnat(moment) else moment)

        ends = self._ends(read, None if step is None else pd.Timedelta(step))
        found = {"kind": "datetime", "format": how, "resolution": step, **ends}
        return {key: value for key, value in found.items() if value is not None}

    def _durations(self) -> dict[str, Any]:
        def read(value: Any) -> Any:
            return pd.Timedelta(duration_of(value)) if isinstance(value, str) else None

        ends = self._ends(read, None)
        if self.type == "duration":
            return {"kind": "duration", "format": "ISO", **ends}
        self.told("a time of the day is kept as a duration since midnight")
        return {"kind": "duration", "format": "HH:MM:SS", "resolution": "1s", **(ends or DAY)}
