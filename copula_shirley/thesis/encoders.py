"""Encoders of nominal columns, each with an exact decode (thesis 4.2.2).

A coding turns the numbers of one attribute (``Column.domain``) into one or several encoded columns
and back. Only nominal columns need an encoder: numbers, dates, booleans and ordered categories keep
the order that they have.

Departs from the thesis: noise is drawn once per *attribute*, on its categories; what a code or a
dummy column weighs follows from these noisy shares by post-processing. So a code that several
categories share is split by their shares, and a one-hot attribute is paid for once and not once per
category.
"""

from __future__ import annotations

import warnings
from itertools import pairwise
from typing import Any, ClassVar, Literal

import category_encoders as ce
import msgspec
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from copula_shirley.errors import SettingError
from copula_shirley.schema.domain import MISSING, FloatArray
from copula_shirley.schema.schema import Column
from copula_shirley.settings import check_one_of
from copula_shirley.thesis.margins import Margin

EncoderName = Literal["ordinal", "onehot", "woe", "glmm"]
SUPERVISED = ("woe", "glmm")
#: A one-hot table with more columns than this is refused: its vine would take hours.
MOST_COLUMNS = 500


class Identity(msgspec.Struct, tag_field="coding", tag="identity", forbid_unknown_fields=True):
    """Coding of an attribute that is a number already."""

    width: ClassVar[int] = 1

    def encode(self, numbers: FloatArray) -> FloatArray:
        return numbers[:, None]

    def decode(self, encoded: FloatArray) -> FloatArray:
        return encoded[:, 0]

    def margins(self, atoms: FloatArray, mass: FloatArray) -> list[Margin]:
        return [Margin.of(atoms, mass)]

    def fits(self, column: Column, margins: list[Margin]) -> bool:
        return margins[0].inside(column)


class Codes(msgspec.Struct, tag_field="coding", tag="codes"):
    """One number per category in declared order: ordinal, weight of evidence, mixed model.

    With ``missing`` the last code is that of missing values. Departs from the thesis: categories
    that share a code are set apart by the smallest possible step, in their declared order, so that
    each keeps its own place on the unit interval and decodes to itself. The thesis' decoder let the
    last category win and lost the others.
    """

    width: ClassVar[int] = 1
    codes: list[float]
    missing: bool = False

    def __post_init__(self) -> None:
        apart = np.asarray(self.codes, dtype=float)
        for before, here in pairwise(np.argsort(apart, kind="stable")):
            if apart[here] <= apart[before]:
                apart[here] = np.nextafter(apart[before], np.inf)
        self.codes = apart.tolist()

    def encode(self, numbers: FloatArray) -> FloatArray:
        return np.array(self.codes)[_level(numbers, len(self.codes))][:, None]

    def decode(self, encoded: FloatArray) -> FloatArray:
        order = np.argsort(self.codes)
        where = np.searchsorted(self.codes, encoded[:, 0], sorter=order)
        return _number(order[where], len(self.codes), self.missing)

    def margins(self, atoms: FloatArray, mass: FloatArray) -> list[Margin]:
        codes = self.encode(atoms)[:, 0]
        order = np.argsort(codes)
        return [Margin.of(codes[order], mass[order])]

    def fits(self, column: Column, margins: list[Margin]) -> bool:
        known = _declares(column, len(self.codes), self.missing)
        return known and bool(np.isin(margins[0].atoms, self.codes).all())


class OneHot(msgspec.Struct, tag_field="coding", tag="onehot"):
    """One dummy column per category; the last dummy that is set wins."""

    width: int
    missing: bool = False

    def encode(self, numbers: FloatArray) -> FloatArray:
        return np.eye(self.width)[_level(numbers, self.width)]

    def decode(self, encoded: FloatArray) -> FloatArray:
        """The number whose dummy is set last; NaN where none is."""
        last = self.width - 1 - np.argmax(encoded[:, ::-1], axis=1)
        numbers = _number(last, self.width, self.missing)
        return np.where(encoded.any(axis=1), numbers, np.nan)

    def margins(self, atoms: FloatArray, mass: FloatArray) -> list[Margin]:
        """A two-point margin for each dummy, by the category's share."""
        shares = np.zeros(self.width)
        shares[_level(atoms, self.width)] = mass
        return [Margin.of(np.array([0.0, 1.0]), np.array([1 - p, p])) for p in shares]

    def fits(self, column: Column, margins: list[Margin]) -> bool:
        known = _declares(column, self.width, self.missing)
        return known and all(np.array_equal(margin.atoms, [0.0, 1.0]) for margin in margins)


#: Numbers of one attribute to ``width`` encoded columns, and back. ``margins`` are those of the
#: encoded columns; ``fits`` tells whether a file may give this coding and margins to a column.
Coding = Identity | Codes | OneHot


def _level(numbers: FloatArray, levels: int) -> NDArray[np.intp]:
    """Index of each number's category; a missing value is the last one."""
    return np.where(np.isneginf(numbers), levels - 1, numbers).astype(np.intp)


def _declares(column: Column, levels: int, missing: bool) -> bool:
    return (levels, missing) == (len(_levels(column)), column.missing)


def _number(level: NDArray[np.intp], levels: int, missing: bool) -> FloatArray:
    number = level.astype(float)
    return np.where(number == levels - 1, MISSING, number) if missing else number


# -- fitting -------------------------------------------------------------------


def check_encoder(encoder: str, target: str | None, columns: tuple[Column, ...]) -> None:
    """Refuse a supervised encoder without a fitting target, and a one-hot table too wide to fit."""
    by_name = {column.name: column for column in columns}
    if target is not None:
        check_one_of("target", target, list(by_name))
    widths = {c.name: len(_levels(c)) if c.nominal else 1 for c in columns}
    widest, total = max(widths, key=widths.__getitem__), sum(widths.values())
    if encoder == "onehot" and total > MOST_COLUMNS:
        raise SettingError(
            f"encoder ('onehot') would make {total} columns, more than {MOST_COLUMNS}; column "
            f"{widest!r} alone has {widths[widest]} categories: use another encoder"
        )
    if not supervised(encoder, columns, target):
        return
    if target is None:
        raise SettingError(
            f"target (None) must name a column, because encoder={encoder!r} is supervised; "
            "give a target or use encoder='ordinal'"
        )
    column = by_name[target]
    if column.missing:
        raise SettingError(f"target ({target!r}) must not be declared as possibly missing")
    if len(_classes(column)) != 2 and (encoder == "woe" or column.nominal):
        right = {"woe": "have exactly two declared values", "glmm": "be binary, ordered or numeric"}
        many = len(column.domain.categories) if column.is_listed else "more than two"
        raise SettingError(
            f"target ({target!r}) must {right[encoder]} for encoder={encoder!r}; it is "
            f"{column.kind} with {many} values"  # and no bounds, which may have been drafted
        )


def supervised(encoder: str, columns: tuple[Column, ...], target: str | None) -> bool:
    """Whether some column gets codes that are fitted to the target."""
    return encoder in SUPERVISED and any(c.nominal and c.name != target for c in columns)


def _classes(column: Column) -> FloatArray:
    """Values of a target as numbers, three at the most if it is whole; none of a continuum."""
    if column.is_listed:
        return np.arange(len(column.domain.categories), dtype=float)
    if column.is_whole:
        few = min(column.maximum, column.minimum + 2)
        return np.arange(column.minimum, few + 1, dtype=float)
    return np.empty(0)


def fit_codings(
    encoder: str, columns: tuple[Column, ...], target: str | None, numbers: dict[str, FloatArray]
) -> dict[str, Coding]:
    """A coding for every attribute; ``numbers`` are the rows set aside for a supervised encoder.

    Ordinal and one-hot codings look at the declared categories only, never at a row.
    """
    codings: dict[str, Coding] = {}
    for column in columns:
        if not column.nominal:
            codings[column.name] = Identity()
        elif encoder == "onehot":
            codings[column.name] = OneHot(len(_levels(column)), column.missing)
        elif encoder == "ordinal" or column.name == target:
            codings[column.name] = Codes(_ordinal(column), column.missing)
        else:
            goal = _goal(next(c for c in columns if c.name == target), numbers[str(target)])
            fit = _weight_of_evidence if encoder == "woe" else _mixed_model
            with warnings.catch_warnings():  # of what the libraries use of pandas
                warnings.simplefilter("ignore", DeprecationWarning)
                warnings.simplefilter("ignore", FutureWarning)
                codes = fit(_labels(numbers[column.name]), goal, _labels(_levels(column)))
            codings[column.name] = Codes(codes, column.missing)
    return codings


def _levels(column: Column) -> FloatArray:
    """All numbers of a nominal column, missing last."""
    levels = np.arange(len(column.domain.categories), dtype=float)
    return np.append(levels, MISSING) if column.missing else levels


def _labels(numbers: FloatArray) -> pd.Series:
    # as texts, so that category_encoders sees categories
    texts = ["missing" if np.isneginf(v) else str(int(v)) for v in numbers]
    return pd.Series(texts, dtype=object, name="category")


def _goal(column: Column, numbers: FloatArray) -> pd.Series:
    """The target of the encoder rows: 0/1 for a binary one, else as it is."""
    classes = _classes(column)
    values = np.searchsorted(classes, numbers) if len(classes) == 2 else numbers
    if len(np.unique(values)) < 2:
        raise SettingError(
            f"target ({column.name!r}) must take at least two values among the rows set aside "
            "for the encoder; give more rows or a larger encoder_share"
        )
    return pd.Series(values.astype(float), name="target")


def _ordinal(column: Column) -> list[float]:
    """Alphabetical ranks from 1 (thesis table 4.1), and 0 for missing values."""
    texts = pd.Series([str(category) for category in column.categories], dtype=object)
    return [*texts.rank(method="first").tolist(), *([0.0] * column.missing)]


def _fitted_codes(encoder: Any, labels: pd.Series, goal: pd.Series, levels: Any) -> list[float]:
    """Fit a category encoder to labels, and code all levels with it."""
    encoder.fit(labels.to_frame(), goal)
    codes: list[float] = encoder.transform(levels.to_frame())["category"].astype(float).tolist()
    return codes


def _weight_of_evidence(labels: pd.Series, goal: pd.Series, levels: pd.Series) -> list[float]:
    """log(((pos + 1) / (P + 2)) / ((neg + 1) / (N + 2))), 0 for unseen categories.

    Departs from the thesis' table 4.2, which avoids the logarithm of 0 by a 0.0001; this is what
    the authors' scripts compute.
    """
    return _fitted_codes(ce.WOEEncoder(cols=["category"]), labels, goal, levels)


def _mixed_model(labels: pd.Series, goal: pd.Series, levels: pd.Series) -> list[float]:
    """Random effect of each category on the target, 0 for unseen categories."""
    if set(goal.unique()) == {0.0, 1.0}:
        return _logistic_mixed_model(labels, goal, levels)
    encoder = ce.GLMMEncoder(cols=["category"], binomial_target=False)
    try:
        return _fitted_codes(encoder, labels, goal, levels)
    except ValueError as error:
        if "singular" not in str(error):
            raise
        return [0.0] * len(levels)  # no variance between categories


def _logistic_mixed_model(labels: pd.Series, goal: pd.Series, levels: pd.Series) -> list[float]:
    """The mixed model of category_encoders' GLMMEncoder, from a fixed start.

    category_encoders cannot fix where statsmodels 0.15 starts, so that its codes would differ from
    fit to fit.
    """
    from statsmodels.genmod.bayes_mixed_glm import BinomialBayesMixedGLM  # noqa: PLC0415

    dummies = pd.get_dummies(labels, dtype=float)
    intercept, of_one_kind = np.ones((len(goal), 1)), np.zeros(dummies.shape[1], dtype=int)
    model = BinomialBayesMixedGLM(goal.to_numpy(), intercept, dummies.to_numpy(), of_one_kind)
    effects = pd.Series(model.fit_vb(rng=0).vc_mean, index=dummies.columns)
    return effects.reindex(levels, fill_value=0.0).tolist()
