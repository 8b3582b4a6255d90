"""Encoders of nominal columns, each with an exact decode (thesis 4.2.2).

A coding turns the numbers of one attribute (``Column.domain``) into one or
several encoded columns and back. Only nominal columns need an encoder: numbers,
dates, booleans and ordered categories keep the order that they have.

Departs from the thesis: noise is drawn once per *attribute*, on its categories;
what a code or a dummy column weighs follows from these noisy shares by
post-processing. So a code that several categories share is split by their
shares, and a one-hot attribute is paid for once and not once per category.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, Literal, Protocol, get_args

import category_encoders as ce
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from copula_shirley.errors import ArtefactError, SettingError
from copula_shirley.restoring import check_inside
from copula_shirley.schema.domain import MISSING, FloatArray
from copula_shirley.schema.schema import Column
from copula_shirley.thesis.margins import Margin

EncoderName = Literal["ordinal", "onehot", "woe", "glmm"]
ENCODERS: tuple[str, ...] = get_args(EncoderName)
SUPERVISED = ("woe", "glmm")


class Coding(Protocol):
    """Numbers of one attribute to encoded columns, and back."""

    width: int

    def encode(self, numbers: FloatArray) -> FloatArray:
        """A matrix with one row per number and ``width`` columns."""
        ...

    def decode(self, encoded: FloatArray) -> FloatArray:
        """The numbers; NaN where a row stands for no value at all."""
        ...

    def margins(self, atoms: FloatArray, mass: FloatArray) -> list[Margin]:
        """Margins of the encoded columns, from the attribute's histogram."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """What ``coding_from_dict`` needs."""
        ...


class Identity:
    """An attribute that is a number already.

    Examples
    --------
    >>> Identity().decode(Identity().encode(np.array([3.0]))).tolist()
    [3.0]
    """

    width = 1

    def encode(self, numbers: FloatArray) -> FloatArray:
        """The numbers as a matrix of one column."""
        return numbers[:, None]

    def decode(self, encoded: FloatArray) -> FloatArray:
        """The numbers again."""
        return encoded[:, 0]

    def margins(self, atoms: FloatArray, mass: FloatArray) -> list[Margin]:
        """The attribute's own margin."""
        return [Margin.of(atoms, mass)]

    def to_dict(self) -> dict[str, Any]:
        """What ``coding_from_dict`` needs."""
        return {"coding": "identity"}


class Codes:
    """One number per category: ordinal, weight of evidence, mixed model.

    Departs from the thesis: categories that share a code are set apart by the
    smallest possible step, in their declared order, so that each keeps its own
    place on the unit interval and decodes to itself. The thesis' decoder let
    the last category win and lost the others.

    Parameters
    ----------
    codes : array of float
        Code of each category in declared order.
    missing : bool
        The last code is that of missing values.

    Examples
    --------
    >>> coding = Codes([0.5, -1.0, 0.5])
    >>> coding.decode(coding.encode(np.array([0.0, 1.0, 2.0]))).tolist()
    [0.0, 1.0, 2.0]
    """

    width = 1

    def __init__(self, codes: Any, missing: bool = False) -> None:
        self.missing = missing
        raw = np.asarray(codes, dtype=float)
        self.codes = raw.copy()
        order = np.argsort(raw, kind="stable")
        for before, here in pairwise(order):
            if self.codes[here] <= self.codes[before]:
                self.codes[here] = np.nextafter(self.codes[before], np.inf)
        self._order = order
        self._sorted = self.codes[order]

    def encode(self, numbers: FloatArray) -> FloatArray:
        """The code of each number, as a matrix of one column."""
        return self.codes[_level(numbers, len(self.codes))][:, None]

    def decode(self, encoded: FloatArray) -> FloatArray:
        """The number whose code it is."""
        where = np.searchsorted(self._sorted, encoded[:, 0])
        return _number(self._order[where], len(self.codes), self.missing)

    def margins(self, atoms: FloatArray, mass: FloatArray) -> list[Margin]:
        """The margin over codes, ascending."""
        codes = self.encode(atoms)[:, 0]
        order = np.argsort(codes)
        return [Margin.of(codes[order], mass[order])]

    def to_dict(self) -> dict[str, Any]:
        """What ``coding_from_dict`` needs."""
        return {"coding": "codes", "codes": self.codes.tolist(), "missing": self.missing}


class OneHot:
    """One dummy column per category; the last dummy that is set wins.

    Examples
    --------
    >>> coding = OneHot(3)
    >>> coding.encode(np.array([1.0])).tolist()
    [[0.0, 1.0, 0.0]]
    >>> coding.decode(np.array([[1.0, 0.0, 1.0], [0.0, 0.0, 0.0]])).tolist()
    [2.0, nan]
    """

    def __init__(self, width: int, missing: bool = False) -> None:
        self.width = width
        self.missing = missing

    def encode(self, numbers: FloatArray) -> FloatArray:
        """The dummies of each number."""
        return np.eye(self.width)[_level(numbers, self.width)]

    def decode(self, encoded: FloatArray) -> FloatArray:
        """The number whose dummy is set last; NaN where none is."""
        last = self.width - 1 - np.argmax(encoded[:, ::-1] == 1, axis=1)
        numbers = _number(last, self.width, self.missing)
        return np.where((encoded == 1).any(axis=1), numbers, np.nan)

    def margins(self, atoms: FloatArray, mass: FloatArray) -> list[Margin]:
        """A two-point margin for each dummy, by the category's share."""
        shares = np.zeros(self.width)
        shares[_level(atoms, self.width)] = mass
        return [Margin.of(np.array([0.0, 1.0]), np.array([1 - p, p])) for p in shares]

    def to_dict(self) -> dict[str, Any]:
        """What ``coding_from_dict`` needs."""
        return {"coding": "onehot", "width": self.width, "missing": self.missing}


def coding_from_dict(entry: dict[str, Any]) -> Coding:
    """The coding that ``to_dict`` wrote."""
    if entry == {"coding": "identity"}:
        return Identity()
    if type(entry["missing"]) is not bool:
        raise ArtefactError("missing of a coding must be true or false")
    if entry["coding"] == "onehot" and type(entry["width"]) is int:
        return OneHot(entry["width"], entry["missing"])
    if entry["coding"] != "codes" or any(type(code) is not float for code in entry["codes"]):
        raise ArtefactError("a coding must be identity, codes or onehot, with numbers")
    return Codes(entry["codes"], entry["missing"])


def check_coding(coding: Coding, column: Column, margins: list[Margin]) -> None:
    """Refuse a coding that is not one of this column, or whose margins are not its own."""
    levels = len(column.domain.categories) + column.missing
    atoms = [margin.atoms for margin in margins]
    if isinstance(coding, OneHot):
        fits = coding.width == levels and coding.missing == column.missing
        fits = fits and all(np.array_equal(a, [0.0, 1.0]) for a in atoms)
    elif isinstance(coding, Codes):
        fits = len(coding.codes) == levels and coding.missing == column.missing
        fits = fits and bool(np.isin(atoms[0], coding.codes).all())
    else:
        check_inside(column, atoms[0])
        fits = True
    if not fits:
        raise ArtefactError(f"the coding of {column.name!r} does not fit the column")


def _level(numbers: FloatArray, levels: int) -> NDArray[np.intp]:
    """Index of each number's category; a missing value is the last one."""
    return np.where(np.isneginf(numbers), levels - 1, numbers).astype(np.intp)


def _number(level: NDArray[np.intp], levels: int, missing: bool) -> FloatArray:
    """The inverse of ``_level``."""
    number = level.astype(float)
    return np.where(number == levels - 1, MISSING, number) if missing else number


# -- fitting -------------------------------------------------------------------


def check_encoder(encoder: str, target: str | None, columns: tuple[Column, ...]) -> None:
    """Refuse an unknown encoder, and a supervised one without a fitting target."""
    if encoder not in ENCODERS:
        raise SettingError(f"encoder ({encoder!r}) must be one of {', '.join(ENCODERS)}")
    by_name = {column.name: column for column in columns}
    if target is not None and target not in by_name:
        raise SettingError(f"target ({target!r}) must be one of the columns {', '.join(by_name)}")
    if encoder not in SUPERVISED or not needs_encoder(columns, target):
        return
    if target is None:
        raise SettingError(
            f"target (None) must name a column, because encoder={encoder!r} is supervised; "
            "give a target or use encoder='ordinal'"
        )
    column = by_name[target]
    if column.missing:
        raise SettingError(f"target ({target!r}) must not be declared as possibly missing")
    if encoder == "woe" and len(_classes(column)) != 2:
        raise SettingError(
            f"target ({target!r}) must have exactly two declared values for encoder='woe'; "
            f"it is {column.kind} with {_how_many(column)}"
        )
    if encoder == "glmm" and column.nominal and len(_classes(column)) != 2:
        raise SettingError(
            f"target ({target!r}) must be binary, ordered or numeric for encoder='glmm'; "
            f"it is categorical with {_how_many(column)}"
        )


def needs_encoder(columns: tuple[Column, ...], target: str | None) -> list[Column]:
    """The nominal columns other than the target."""
    return [column for column in columns if column.nominal and column.name != target]


def _classes(column: Column) -> FloatArray:
    """The values of a target, as numbers; empty if it has a continuum of them."""
    if column.is_listed:
        return np.arange(len(column.domain.categories), dtype=float)
    if column.is_whole:
        few = min(column.maximum, column.minimum + 2)
        return np.arange(column.minimum, few + 1, dtype=float)
    return np.empty(0)


def _how_many(column: Column) -> str:
    if column.is_listed:
        return f"{len(column.domain.categories)} categories"
    return "more than two values"  # its bounds may have been drafted from private rows


def fit_codings(
    encoder: str,
    columns: tuple[Column, ...],
    target: str | None,
    numbers: dict[str, FloatArray],
) -> dict[str, Coding]:
    """A coding for every attribute, supervised ones fitted on the rows given.

    ``numbers`` are the rows set aside for the encoder; ordinal and one-hot
    codings look at the declared categories only, never at a row.
    """
    codings: dict[str, Coding] = {column.name: Identity() for column in columns}
    for column in columns:
        if not column.nominal:
            continue
        method = "ordinal" if column.name == target and encoder in SUPERVISED else encoder
        if method == "onehot":
            codings[column.name] = OneHot(*_one_hot_width(column))
        elif method == "ordinal":
            codings[column.name] = Codes(_ordinal(column), column.missing)
        else:
            labels = _labels(numbers[column.name])
            goal = _goal(next(c for c in columns if c.name == target), numbers[str(target)])
            codes = FITTERS[method](column, labels, goal)
            codings[column.name] = Codes(codes, column.missing)
    return codings


def _levels(column: Column) -> FloatArray:
    """All numbers of a nominal column, missing last."""
    levels = np.arange(len(column.categories), dtype=float)
    return np.append(levels, MISSING) if column.missing else levels


def _labels(numbers: FloatArray) -> pd.Series:
    """Category numbers as texts, so that category_encoders sees categories."""
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


@contextmanager
def _quiet() -> Iterator[None]:
    """Hide warnings of what category_encoders and statsmodels use of pandas."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", FutureWarning)
        yield


def _fitted_codes(encoder: Any, column: Column, labels: pd.Series, *goal: pd.Series) -> FloatArray:
    """Fit a category encoder to labels, and code all declared categories with it."""
    encoder.fit(pd.DataFrame({"category": labels}), *goal)
    levels = pd.DataFrame({"category": _labels(_levels(column))})
    return np.asarray(encoder.transform(levels)["category"], dtype=float)


def _ordinal(column: Column) -> FloatArray:
    """Alphabetical ranks (thesis table 4.1), missing values first."""
    texts = [str(category) for category in column.categories]
    ranks = {str(int(i)): rank for rank, i in enumerate(np.argsort(texts, kind="stable"), 1)}
    mapping = [{"col": "category", "mapping": {**ranks, "missing": 0}}]
    with _quiet():
        encoder = ce.OrdinalEncoder(cols=["category"], mapping=mapping)
        return _fitted_codes(encoder, column, _labels(_levels(column)))


def _one_hot_width(column: Column) -> tuple[int, bool]:
    frame = pd.DataFrame({"category": _labels(_levels(column))})
    with _quiet():
        dummies = ce.OneHotEncoder(cols=["category"]).fit_transform(frame)
    return dummies.shape[1], column.missing


def _weight_of_evidence(column: Column, labels: pd.Series, goal: pd.Series) -> FloatArray:
    """log(((pos + 1) / (P + 2)) / ((neg + 1) / (N + 2))), 0 for unseen categories.

    Departs from the thesis' table 4.2, which avoids the logarithm of 0 by a
    0.0001; this is what the authors' scripts compute.
    """
    with _quiet():
        return _fitted_codes(ce.WOEEncoder(cols=["category"]), column, labels, goal)


def _mixed_model(column: Column, labels: pd.Series, goal: pd.Series) -> FloatArray:
    """Random effect of each category on the target, 0 for unseen categories."""
    with _quiet():
        if set(goal.unique()) == {0.0, 1.0}:
            return _logistic_mixed_model(column, labels, goal)
        encoder = ce.GLMMEncoder(cols=["category"], binomial_target=False)
        try:
            return _fitted_codes(encoder, column, labels, goal)
        except ValueError as error:
            if "singular" not in str(error):
                raise
            # no variance between categories: all effects are 0
            return np.zeros(len(_levels(column)))


def _logistic_mixed_model(column: Column, labels: pd.Series, goal: pd.Series) -> FloatArray:
    """The mixed model of category_encoders' GLMMEncoder, from a fixed start.

    category_encoders cannot fix where statsmodels 0.15 starts, so that its
    codes would differ from fit to fit.
    """
    from statsmodels.genmod.bayes_mixed_glm import BinomialBayesMixedGLM  # noqa: PLC0415

    dummies = pd.get_dummies(labels, dtype=float)
    model = BinomialBayesMixedGLM(
        goal.to_numpy(),
        np.ones((len(goal), 1)),
        dummies.to_numpy(),
        np.zeros(dummies.shape[1], dtype=int),
    )
    effects = dict(zip(dummies.columns, model.fit_vb(rng=0).vc_mean, strict=True))
    return np.array([effects.get(label, 0.0) for label in _labels(_levels(column))])


FITTERS: dict[str, Callable[[Column, pd.Series, pd.Series], FloatArray]] = {
    "woe": _weight_of_evidence,
    "glmm": _mixed_model,
}
