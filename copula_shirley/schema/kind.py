"""What every kind of column can do. Each kind is a class; ``column.KINDS`` lists them.

Everything here is a public map: it depends on the column's description and on one value at a time,
never on the other rows (``copula_shirley.schema.values``); drafts alone look at whole columns.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from copula_shirley.errors import SchemaError
from copula_shirley.files.texts import shown
from copula_shirley.schema.domain import (
    DEFAULT_CELLS,
    LARGEST_DOMAIN,
    LARGEST_EXACT_DOMAIN,
    MISSING,
    MOST_OCTAVES,
    Cells,
    FloatArray,
    after,
    octaves,
)
from copula_shirley.schema.file_format import PLAIN, FileFormat
from copula_shirley.schema.values import Reader, absent, label_of, scalar

if TYPE_CHECKING:
    from copula_shirley.schema.column import Column

CELLS = {"type": "integer", "minimum": 1, "description": "number of histogram cells"}
#: Whether histogram cells are equally wide, or follow magnitude.
SCALES = ("linear", "log")
SCALE = {"enum": list(SCALES), "description": "log: cells begin at powers of two, and zero is one"}
#: Rows that break a rule, and the rule.
Rule = tuple[NDArray[np.bool_], str]


class Kind:
    """The values of a column: how they are read, checked, counted and written."""

    #: Fields of a column that apply, beside those of all columns, as JSON Schema.
    fields: ClassVar[dict[str, Any]] = {}
    #: The smallest domain: fields that a closed column must have.
    least: ClassVar[dict[str, Any]] = {"minimum": 0, "maximum": 1}
    #: Whether the values are a closed list, are numbers (in files too), are whole numbers.
    is_listed: ClassVar[bool] = False
    #: Whether listed values have no order unless the column declares one.
    is_nominal: ClassVar[bool] = False
    #: Whether a fit can buy bounds or categories.
    measurable: ClassVar[bool] = True
    is_number: ClassVar[bool] = False
    is_whole: ClassVar[bool] = False
    #: Whether the numbers that stand for the values lie on a grid of step 1.
    is_discrete: ClassVar[bool] = True
    #: Whether values count from zero, so that powers of two are cells that follow magnitude.
    has_magnitudes: ClassVar[bool] = False
    #: Whether a draft asks if the values name people or records.
    may_identify: ClassVar[bool] = False
    #: What arithmetic takes the values for: numbers, moments or lengths of time; "" for nothing.
    quantity: ClassVar[str] = ""
    #: The values in messages.
    plural: ClassVar[str] = "finite numbers"
    #: How values are looked at whose domain is measured with noise, as models store it.
    stored: ClassVar[str] = "number"
    #: Python types of values that a table may hold as objects.
    types: ClassVar[tuple[type, ...]] = ()
    #: What to do where the kind does not fit, in messages.
    instead: ClassVar[str] = ""
    #: Letters of the numpy dtypes that hold nothing but values of this kind.
    letters: ClassVar[str] = ""
    #: Letters of the dtypes that fit this kind, and those that gaps make of some.
    fitting: ClassVar[tuple[str, str]] = ("", "")
    #: Steps that a measured domain tells apart, the coarsest first; in days for moments.
    grains: ClassVar[tuple[float, ...]] = ()

    #: Metres from the middle of a cell to the nearest other one, of places; 0 for all else.
    nearest_metres: float = 0.0

    def __init__(self, column: Column) -> None:
        self.column = column

    # -- the description ------------------------------------------------------------

    def normalise(self) -> dict[str, Any]:
        """Check the fields of a closed column; those that are to be replaced."""
        column = self.column
        low = self.bound("minimum", column.minimum)
        high = self.bound("maximum", column.maximum)
        if low > high:
            raise column.error("minimum", str(low), f"must not exceed maximum ({high})")
        if column.scale not in (None, *SCALES):
            raise column.error("scale", column.scale, f"must be {' or '.join(SCALES)}")
        return {"minimum": low, "maximum": high}

    def bound(self, field: str, value: Any) -> Any:
        """A bound as it is stored, or one error."""
        raise NotImplementedError

    def check_closed(self) -> None:
        """Refuse a column without bounds or categories."""
        if self.column.open:
            raise SchemaError(
                f"column {self.column.name!r}: {' and '.join(self.least)} (None) must be declared, "
                "or measured by PrivateVine(domain='measured')"
            )

    @property
    def categories(self) -> tuple[Any, ...]:
        """The closed list; empty if there is none."""
        return self.column.categories

    @property
    def words(self) -> str:
        """The declared domain in an error message."""
        return f"{self.column.minimum} to {self.column.maximum}"

    @classmethod
    def draft(cls, known: pd.Series) -> dict[str, Any] | None:
        """Fields that describe values without gaps; None if they are of another kind."""
        raise NotImplementedError

    # -- values to numbers and back -------------------------------------------------

    def to_numbers(self, series: pd.Series) -> FloatArray:
        """The values of a validated series as numbers; missing ones are ``MISSING``."""
        raise NotImplementedError

    def from_numbers(self, numbers: FloatArray, dtype: str | None = None) -> pd.Series:
        """Numbers as values, stored as ``dtype``."""
        missing = np.isneginf(numbers)
        values = self.values(np.where(missing, 0.0, numbers), missing, dtype)
        return self.stored_as(values, dtype)

    def values(self, known: FloatArray, missing: NDArray[np.bool_], dtype: str | None) -> pd.Series:
        """Values of numbers, of which some are missing."""
        raise NotImplementedError

    def stored_as(self, values: pd.Series, dtype: str | None) -> pd.Series:
        """Values as a dtype that ``storage`` named."""
        if dtype is None:
            return values
        if dtype.startswith("category"):
            listed = list(self.categories) if self.is_listed else None
            return values.astype(pd.CategoricalDtype(listed, ordered=dtype.endswith(" ordered")))
        return values.astype(pd.api.types.pandas_dtype(dtype))

    def storage(self, series: pd.Series) -> str:
        """The dtype of synthetic values: the table's own, a fact about the rows, says the ledger.

        Of a column that may be missing it can hold gaps, even if these rows have none.
        """
        name = str(series.dtype)
        if isinstance(series.dtype, pd.CategoricalDtype):
            return f"category {'ordered' if series.dtype.ordered else 'unordered'}"
        listed = set(map(type, self.categories))
        numbers = self.is_number or (listed and listed <= {int, float})
        if pd.api.types.is_float_dtype(series.dtype) and not numbers:
            return self.private_storage  # floats are what pandas makes of nothing but gaps
        if self.column.missing and name == "bool":
            return "boolean"
        if self.column.missing and name.startswith(("int", "uint")):
            return name.replace("uint", "UInt").replace("int", "Int")
        return name

    @property
    def private_storage(self) -> str:
        """The dtype of synthetic values by the declaration alone: one row can change a dtype."""
        raise NotImplementedError

    def stores(self, dtype: Any) -> bool:
        """Whether a dtype is one for this kind of column; gaps make floats and objects of some."""
        texts = dtype.kind == "O" and str(dtype) != "object"
        always, gaps = self.fitting
        return not texts and dtype.kind in always + gaps * self.column.missing

    # -- numbers as amounts, which columns of one quantity share ------------------------

    def amounts(self, numbers: FloatArray) -> FloatArray:
        """Numbers as amounts: times in microseconds; NaN where missing."""
        return np.where(np.isfinite(numbers), numbers, np.nan)

    def of_amounts(self, amounts: FloatArray) -> FloatArray:
        """Amounts as the nearest numbers; missing where NaN, inf beyond the bounds."""
        gaps = np.isnan(amounts)
        found = self.nearest(np.where(gaps, 0.0, amounts))
        low, high = self.number_range
        return np.where(gaps, MISSING, np.where((low <= found) & (found <= high), found, np.inf))

    def nearest(self, amounts: FloatArray) -> FloatArray:
        """Known amounts as the nearest numbers on the grid, bounds or not."""
        return np.rint(amounts)

    # -- texts of a file ------------------------------------------------------------

    @property
    def file_dtype(self) -> str:
        """The dtype of a column of a CSV file: of texts where all that it can hold is text."""
        return "object"

    def reader(self, file: FileFormat) -> Reader:
        """How the texts of a file are read: None where they stand for a missing value."""
        return file.reader(lambda text: self.meaning(text, file))

    def meaning(self, text: str, file: FileFormat = PLAIN) -> Any:
        """The number or truth value that a text is; one that is none stays as it is."""
        return text

    def from_file(self, series: pd.Series) -> pd.Series:
        """Values of a synthetic CSV file as the values that were written."""
        return series

    # -- what fits and what does not ------------------------------------------------

    def rules(self, series: pd.Series) -> list[Rule]:
        """All rules, with the rows that break them."""
        self.check_closed()
        gaps = absent(series)
        rule = "a value is missing; declare missing: true or fill it"
        return [(gaps & (not self.column.missing), rule), *self.own_rules(series, gaps)]

    def own_rules(self, series: pd.Series, gaps: NDArray[np.bool_]) -> list[Rule]:
        """The rules of known values."""
        values = self.read(series)
        return [
            (np.asarray(pd.isna(values)) & ~gaps, f"a value is not {self.what}"),
            (self.beyond(values), f"a value is outside {self.bounds}"),
        ]

    @property
    def what(self) -> str:
        """What a value must be, in messages."""
        raise NotImplementedError

    def outside(self, series: pd.Series) -> NDArray[np.bool_]:
        """Which values of the series are outside the domain."""
        return np.asarray(np.any([wrong for wrong, _ in self.rules(series)], axis=0))

    def check(self, series: pd.Series, show_values: bool = False) -> None:
        """Raise one ``SchemaError`` if a value of the series is outside the domain."""
        for wrong, rule in self.rules(series):
            if wrong.any():
                some = {shown(scalar(v)): 0 for v in series[wrong]} if show_values else {}
                quoted = f" (found {', '.join(list(some)[:5])})" if some else ""
                raise SchemaError(f"column {self.column.name!r}: {rule}{quoted}")

    def unreadable(self, series: pd.Series) -> NDArray[np.bool_]:
        """Which values are of another kind than the column: no finite number, no date."""
        known = self.is_listed or np.isfinite(self.to_numbers(series))
        return np.asarray(~absent(series) & ~np.asarray(known))

    def beyond(self, values: Any) -> NDArray[np.bool_]:
        """Which values are below the minimum or above the maximum."""
        return np.asarray((values < self.column.minimum) | (values > self.column.maximum))

    @property
    def bounds(self) -> str:
        return f"[{self.column.minimum}, {self.column.maximum}]"

    @property
    def hint(self) -> str:
        """A frequent cause of unknown values."""
        hint = "; a text that stands for a missing value is named with --missing"
        return hint if self.column.missing else ""

    def clip(self, series: pd.Series) -> pd.Series:
        """The series with unknown categories as ``other`` and others at the nearest bound.

        Categories come back as objects: a cast to the dtype of the series would lose what only
        reads like a category of it.
        """
        self.check_closed()
        wrong = self.beyond(self.read(series))
        if not wrong.any():
            return series
        nearest = self.from_numbers(np.clip(self.to_numbers(series), *self.number_range))
        if self.holds_bounds(series.dtype):
            if isinstance(series.dtype, pd.DatetimeTZDtype):
                nearest = nearest.dt.tz_localize("UTC")
            nearest = nearest.astype(series.dtype)
        else:  # by format a moment is read as itself
            series, nearest = series.astype(object), self.stored_as(nearest, "object")
            nearest = nearest.astype(object)
        return series.where(~wrong, nearest.set_axis(series.index))

    def read(self, series: pd.Series) -> Any:
        """The values as what can be compared with the bounds; NaN or NaT where they are none."""
        raise NotImplementedError

    def holds_bounds(self, dtype: Any) -> bool:
        """Whether a dtype of values can hold the bounds, too."""
        return bool(dtype.kind == self.letters)

    # -- conditions -----------------------------------------------------------------

    def typed(self, text: str) -> Any:
        """A value from what was typed; what is none stays a text."""
        return text

    def read_end(self, value: Any) -> pd.Series:
        """One end of a condition as a series; raises ``ValueError`` with what would be right."""
        return pd.Series([value], dtype=object)

    def span(self, value: Any) -> tuple[float, float]:
        """First and last number that a value in a condition stands for.

        Raises ``ValueError`` with what would be right.
        """
        series = self.read_end(value)
        if self.outside(series)[0]:
            raise ValueError(f"must lie in the declared domain: {self.words}")
        number = float(self.to_numbers(series)[0])
        return number, number

    # -- cells ----------------------------------------------------------------------

    @property
    def number_range(self) -> tuple[float, float]:
        """The least and the largest number of the domain."""
        return float(self.column.minimum), float(self.column.maximum)

    @property
    def step_size(self) -> float:
        """Distance of neighbouring values; 0 where every number is one."""
        return 1.0

    def round(self, numbers: FloatArray) -> FloatArray:
        """Numbers at the declared resolution, inside the bounds."""
        return numbers

    def cells(self) -> Cells:
        """The histogram cells: one for each of few values, else equal-width ones."""
        self.check_closed()
        first, last = self.known_cells()
        if self.column.missing:
            first, last = np.append(MISSING, first), np.append(MISSING, last)
        return Cells(first, last, float(self.is_discrete), self.column.scale == "log")

    def known_cells(self) -> tuple[FloatArray, FloatArray]:
        """First and last number of each cell but that of missing values."""
        if self.column.scale == "log":
            return self.octaves()
        (low, high), count = self.number_range, self.equal_cells()
        special = np.array(sorted(set(self.column.special)), dtype=float)
        if self.is_discrete:
            starts = low + np.ceil(np.arange(count) * ((int(high - low) + 1) / count))
            after = special + 1
        else:
            starts = np.linspace(low, high, count + 1)[:-1] if high > low else np.array([low])
            after = np.nextafter(special, np.inf)
        starts = np.unique(np.concatenate([starts, special, after[after <= high]]))
        last = np.append(starts[1:] - self.is_discrete, high)
        return starts, np.where(np.isin(starts, special), starts, last)

    def octaves(self) -> tuple[FloatArray, FloatArray]:
        """First and last number of cells that follow magnitude."""
        (low, high), step, special = self.number_range, self.step_size, self.column.special
        most = self.column.cells or MOST_OCTAVES
        if not step:
            edges = octaves(low, np.nextafter(high, np.inf), special, step, most)
            return edges[:-1], np.append(edges[1:-1], high)
        first, last = np.ceil(low / step - 1e-6) + 0.0, np.floor(high / step + 1e-6)
        edges = octaves(first, float(after(last, step)), special, step, most)
        if self.is_discrete:
            return edges[:-1], edges[1:] - 1
        # a cell reaches halfway to the points of the grid beside it
        edges = np.concatenate([[low], (edges[1:-1] - 0.5) * step, [high]])
        return edges[:-1], edges[1:]

    def most_cells(self) -> int:
        """How many cells there are at the most, reckoned before any of them is made."""
        if self.column.open:
            return 0
        # a special value ends the cell that it lies in, and another one starts behind it
        equal = self.column.scale != "log"
        count = self.equal_cells() if equal else MOST_OCTAVES
        count += 2 * len(self.column.special)
        if count > LARGEST_DOMAIN:
            raise SchemaError(
                f"column {self.column.name!r}: cells ({count:,}) must be at most "
                f"{LARGEST_DOMAIN:,}, two for each special value included"
            )
        return (count if equal else len(self.octaves()[0])) + self.column.missing

    def equal_cells(self) -> int:
        """Number of equal-width cells, before values with one of their own."""
        low, high = self.number_range
        if self.is_discrete:
            span = int(high - low) + 1
            wanted = self.column.cells or (span if span <= LARGEST_EXACT_DOMAIN else DEFAULT_CELLS)
            return min(wanted, span)
        steps = (high - low) / self.step_size if self.step_size else DEFAULT_CELLS
        return self.column.cells or max(1, min(DEFAULT_CELLS, round(steps)))

    # -- domains that are measured with noise -----------------------------------------

    def label(self, value: Any) -> Any:
        """A value as a category out of no list, None if it can be none."""
        return label_of(value)

    def measure(self, series: pd.Series) -> FloatArray:
        """Numbers whose magnitudes are counted; NaN where missing or of another kind."""
        raise NotImplementedError

    @classmethod
    def measured(cls, low: float, high: float, grain: int) -> dict[str, Any]:
        """The domain between bounds in units of ``measure``; ``grain`` is the finest step seen."""
        raise NotImplementedError

    def brought_in(self, series: pd.Series) -> pd.Series:
        """Each value inside the bounds; what is of another kind is missing, or the minimum."""
        low, high = self.number_range
        numbers = self.to_numbers(series)
        inside = np.clip(np.rint(numbers) if self.is_discrete else numbers, low, high)
        inside = np.where(np.isfinite(numbers), inside, MISSING if self.column.missing else low)
        return self.from_numbers(inside, self.private_storage).set_axis(series.index)
