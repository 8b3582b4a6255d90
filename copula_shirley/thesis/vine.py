"""Vine copulas through pyvinecopulib (thesis 1.2 and 4.2.3, Algorithm 3).

``fit_vine`` selects the same vine as ``pyvinecopulib.Vinecop.from_data`` with the same controls. It
is faster because pseudo-observations of discrete columns repeat: a pair of columns collapses to its
few distinct points, and maximum likelihood over weighted points equals that over the rows.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
import pyvinecopulib as pv
from pyvinecopulib.core import VinecopBase
from scipy.stats import norm

from copula_shirley.errors import ArtefactError, SettingError
from copula_shirley.files.plain_json import parse_json
from copula_shirley.fitted import Progress, silent
from copula_shirley.schema.domain import FloatArray

Truncation = int | str | None
Criterion = Literal["loglik", "aic", "bic"]
TreeCriterion = Literal["tau", "rho", "hoeffd", "mcor", "joe", "cxi"]
FAMILIES = {family.name: family for family in pv.families.all}  # type: ignore[attr-defined]
FAMILY_SETS: dict[str, list[Any]] = {
    name.replace("one_par", "one-parameter"): list(getattr(pv.families, name))
    for name in ("all", "parametric", "nonparametric", "elliptical", "archimedean", "one_par")
}
#: At or below so many rows vinecopulib fits independence only.
FEWEST_ROWS = 10
#: Rows that one thread transforms at a time when a vine is sampled.
BATCH = 2048
#: Prior probability of dependence in the first tree, in mBICV (vinecopulib's default).
PSI0 = 0.9


def family_set(families: str | Sequence[str]) -> list[Any]:
    """Families by the name of a set, or by their own names."""
    if isinstance(families, str) and families in FAMILY_SETS:
        return FAMILY_SETS[families]
    wanted = [families] if isinstance(families, str) else list(families)
    unknown = [name for name in wanted if name not in FAMILIES]
    if unknown or not wanted:
        raise SettingError(
            f"families ({families!r}) must be one of {', '.join(FAMILY_SETS)}, "
            f"or a list out of {', '.join(FAMILIES)}"
        )
    return [FAMILIES[name] for name in wanted]


def fit_vine(
    pseudo: FloatArray,
    *,
    families: str | Sequence[str] = "all",
    criterion: Criterion = "aic",
    tree_criterion: TreeCriterion = "rho",
    truncation: Truncation = 2,
    threads: int | None = None,
    left: FloatArray | None = None,
    discrete: Sequence[bool] = (),
    progress: Progress = silent,
) -> pv.Vinecop:
    """Select a vine by Dissmann's algorithm; the defaults are the thesis'.

    ``left`` has the left limits F(x-) of the pseudo-observations, needed where a column is
    ``discrete``; by default all are continuous, the thesis' way.
    """
    n, d = pseudo.shape
    if d < 2 or n <= FEWEST_ROWS:
        return pv.Vinecop.from_dimension(d)
    types = ["d" if flag else "c" for flag in discrete or [False] * d]
    data = pseudo if left is None else np.hstack([pseudo, left[:, np.array(types) == "d"]])
    listed = family_set(families)
    trees = min(truncation, d - 1) if isinstance(truncation, int) else d - 1
    truncated_at: int | None = None

    def fit_pairs(tree: int, level: FloatArray, kinds: list[tuple[str, str]]) -> list[pv.Bicop]:
        """Fit all edges of one tree, several at a time (the hook that pyvinecopulib calls)."""
        nonlocal truncated_at
        if truncated_at is not None:  # mBICV stopped before: only independence is left
            return [pv.Bicop() for _ in kinds]
        progress(f"vine tree {tree + 1} of {trees}", tree / trees)
        # the C++ fits release the interpreter lock, so threads run in parallel
        with ThreadPoolExecutor(threads or os.cpu_count() or 1) as pool:
            fits = list(pool.map(partial(fit_pair, listed, criterion), level, kinds))
        if truncation == "auto" and _no_gain(tree, fits, n):
            truncated_at = max(tree, 1)  # vinecopulib always keeps the first tree
            return [pair if tree == 0 else pv.Bicop() for pair, _ in fits]
        return [pair for pair, _ in fits]

    controls = pv.FitControlsVinecop(tree_criterion=tree_criterion, trunc_lvl=trees)
    data = np.asfortranarray(data)
    found = _Found.from_data(data, controls, var_types=types, fit_level=fit_pairs)
    vine = pv.Vinecop.from_structure(
        structure=found.structure, pair_copulas=found.pairs, var_types=types
    )
    if truncated_at is not None:
        vine.truncate(truncated_at)
    return vine


class _Found(VinecopBase[Any]):
    """Receives what pyvinecopulib's tree-by-tree selector found."""

    bicop_class = pv.Bicop

    def __init__(self, pairs: Any, structure: pv.RVineStructure, var_types: list[str]) -> None:
        self.pairs = pairs
        self._bind_vine(structure, var_types=var_types)

    def get_pair_copula(self, tree: int, edge: int) -> Any:
        return self.pairs[tree][edge]


def _no_gain(tree: int, fits: list[tuple[pv.Bicop, float]], rows: int) -> bool:
    """Whether this tree's part of mBICV (Nagler et al. 2019) is no gain.

    The rule of vinecopulib's ``select_trunc_lvl``; the two were seen to differ only in whether the
    last tree, a single edge, is kept.
    """
    fitted = [(p, loglik) for p, loglik in fits if p.family != pv.families.indep]
    prior = PSI0 ** (tree + 1)
    q, edges = len(fitted), len(fits)
    gain = 2 * sum(loglik for _, loglik in fitted)
    penalty = np.log(rows) * sum(pair.npars for pair, _ in fitted)
    log_prior = q * np.log(prior) + (edges - q) * np.log(1 - prior)
    return bool(gain - penalty + 2 * log_prior <= 0)


def fit_pair(
    families: Sequence[Any],
    criterion: Criterion,
    points: FloatArray,
    types: tuple[str, str] = ("c", "c"),
) -> tuple[pv.Bicop, float]:
    """A pair copula as ``pyvinecopulib.Bicop.from_data`` selects it, and its log-likelihood.

    Each parametric family is fitted to the distinct points with their frequencies as weights.
    pyvinecopulib scales weights to a mean of one, which would weaken the likelihood against the
    penalty of a criterion; so the criterion is computed here from the weighted log-likelihood. The
    nonparametric family is fitted to the rows, because its bandwidth follows from their number.
    With few repetitions pyvinecopulib does it all.
    """
    rows = np.asfortranarray(points)
    distinct, weights = collapse(rows)
    if 2 * len(distinct) > len(rows):
        controls = pv.FitControlsBicop(family_set=families, selection_criterion=criterion)
        pair = pv.Bicop.from_data(rows, controls, var_types=types)
        return pair, float(pair.loglik())
    weighted = pv.FitControlsBicop(weights=weights)
    penalty = {"loglik": 0.0, "aic": 2.0, "bic": float(np.log(len(rows)))}[criterion]
    best, best_score, best_loglik = pv.Bicop(var_types=types), np.inf, 0.0
    for family, rotation in _candidates(distinct, weights, families):
        pair = pv.Bicop(family, rotation, var_types=types)
        if family in pv.families.nonparametric:
            pair.fit(rows)
            loglik = float(pair.loglik())
        else:
            pair.fit(distinct, weighted)
            loglik = float(weights @ np.log(pair.pdf(distinct)))
        score = penalty * pair.npars - 2 * loglik
        if np.isfinite(loglik) and score < best_score:
            best, best_score, best_loglik = pair, score, loglik
    return best, best_loglik


def _candidates(
    distinct: FloatArray, weights: FloatArray, families: Sequence[Any]
) -> list[tuple[Any, int]]:
    """Families and rotations to try, preselected by symmetry as in vinecopulib.

    A family with one heavy tail is tried in the rotations that put it where the correlation within
    a quadrant is larger.
    """
    tau = float(pv.utils.wdm(distinct[:, 0], distinct[:, 1], "tau", weights))
    lean = _quadrant_lean(distinct, weights, tau)
    candidates = []
    for family in families:
        if family in pv.families.rotationless:
            if not (family == pv.families.frank and abs(lean) > 0.3):
                candidates.append((family, 0))
            continue
        for rotation in (0, 180) if tau > 0 else (90, 270):
            turned = rotation in (90, 180)
            tail = pv.families.ut if (lean > 0) != turned else pv.families.lt
            balanced = not abs(lean) > 0.05  # also where a quadrant is too empty to tell
            if balanced or family in pv.families.bb or family in tail:
                candidates.append((family, rotation))
    return candidates


def _quadrant_lean(distinct: FloatArray, weights: FloatArray, tau: float) -> float:
    """How much more normal scores correlate in one quadrant along the dependence than the other."""
    x, y = norm.ppf(distinct[:, :2]).T
    side = 1 if tau > 0 else -1
    first, second = (
        float(pv.utils.wdm(x[part], y[part], "cor", weights[part])) if part.any() else 0.0
        for part in ((side * x > 0) & (y > 0), (side * x < 0) & (y < 0))
    )
    return first - second


def collapse(points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Distinct rows of a matrix, and how often each occurs."""
    ordered = points[np.lexsort(points.T[::-1])]
    starts = np.flatnonzero(np.append(True, np.any(ordered[1:] != ordered[:-1], axis=1)))
    weights = np.diff(np.append(starts, len(points))).astype(float)
    return np.asfortranarray(ordered[starts]), weights


def sample_vine(
    vine: pv.Vinecop, n: int, rng: np.random.Generator, threads: int | None = None
) -> FloatArray:
    """Draw n rows of uniforms from a vine by the inverse Rosenblatt transform.

    Batches have one size, so that no bit of the draw depends on the number of threads.
    """
    uniforms = rng.random((n, vine.dim))
    if vine.dim < 2 or vine.trunc_lvl == 0:
        return uniforms
    batches = [np.asfortranarray(uniforms[start : start + BATCH]) for start in range(0, n, BATCH)]
    with ThreadPoolExecutor(threads or os.cpu_count() or 1) as pool:
        drawn = list(pool.map(vine.inverse_rosenblatt, batches))
    return np.concatenate(drawn) if drawn else uniforms


def vine_to_json(vine: pv.Vinecop) -> str:
    """The vine as JSON text, without the exact log-likelihoods of the rows."""
    entry = json.loads(vine.to_json())
    entry.update(loglik=0.0, nobs_=0)
    for tree in (entry["pair copulas"] or {}).values():
        for pair in tree.values():
            pair.update(ll=0.0, nobs=0)
    return json.dumps(entry)


def vine_from_json(text: str) -> pv.Vinecop:
    """The vine that ``vine_to_json`` wrote.

    The library checks the bounds of parameters only, and a wrong size would end the whole process;
    so types and shapes are checked here.
    """
    entry = msgspec.convert(parse_json(text.encode()), _Vine)
    array, d, pairs = entry.structure.array, entry.structure.array.d, entry.pairs or {}
    edges = {f"tree{i}": {f"pc{j}" for j in range(d - 1 - i)} for i in range(array.t)}
    right = (
        array.t < d
        and sorted(entry.structure.order) == list(range(1, d + 1))
        and [len(row) for row in array.data] == [d - 1 - i for i in range(array.t)]
        and all(1 <= v <= d for row in array.data for v in row)
        and {tree: set(own) for tree, own in pairs.items()} == edges
        and len(entry.var_types) == d
        and all(pair.fits() for tree in pairs.values() for pair in tree.values())
    )
    if not right:
        raise ArtefactError("its vine cannot be one")
    return pv.Vinecop.from_json(text)


VariableType = Literal["c", "d"]


class _Parameters(msgspec.Struct):
    shape: tuple[int, int]
    data: list[float] | None


class _Pair(msgspec.Struct):
    """A pair copula in JSON, under the short names of vinecopulib."""

    fam: str
    rot: Literal[0, 90, 180, 270]
    par: _Parameters
    vt: tuple[VariableType, VariableType]
    ll: float
    nobs: float
    npars: float

    def fits(self) -> bool:
        """Whether it has as many parameters as its family; a grid of densities is not negative."""
        data, (rows, columns) = self.par.data or [], self.par.shape
        known = PAIR_PARAMETERS.get(self.fam) == (rows, columns) and len(data) == rows * columns
        return known and (self.fam != "TLL" or min(data) >= 0)


class _Array(msgspec.Struct):
    """A triangular array with a row of variables for each tree."""

    d: Annotated[int, msgspec.Meta(ge=1, le=2**15)]
    t: Annotated[int, msgspec.Meta(ge=0)]
    data: list[list[int]]


class _Structure(msgspec.Struct):
    order: list[int]
    array: _Array


class _Vine(msgspec.Struct):
    structure: _Structure
    pairs: dict[str, dict[str, _Pair]] | None = msgspec.field(name="pair copulas")
    var_types: list[VariableType]
    loglik: float
    nobs_: Literal[0]
    threshold: float


#: Shape of the parameters of each family, by its name in JSON.
PAIR_PARAMETERS = {
    entry["fam"]: tuple(entry["par"]["shape"])
    for entry in (json.loads(pv.Bicop(family).to_json()) for family in pv.families.all)
}
