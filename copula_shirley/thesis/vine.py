"""Vine copulas through pyvinecopulib (thesis 1.2 and 4.2.3, Algorithm 3).

``fit_vine`` selects the same vine as ``pyvinecopulib.Vinecop.from_data`` with
the same controls. It is faster because pseudo-observations of discrete columns
repeat: a pair of columns collapses to its few distinct points, and maximum
likelihood over weighted points equals that over the rows.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyvinecopulib as pv
from pyvinecopulib.core import VinecopBase
from scipy.stats import norm

from copula_shirley.errors import ArtefactError, SettingError
from copula_shirley.files.plain_json import parse_json
from copula_shirley.schema.domain import FloatArray
from copula_shirley.trees import family_name

Truncation = int | str | None
Progress = Callable[[str, float], None]

CRITERIA = ("loglik", "aic", "bic")
TREE_CRITERIA = ("tau", "rho", "hoeffd", "mcor", "joe", "cxi")
FAMILY_SETS: dict[str, list[Any]] = {
    "all": list(pv.families.all),
    "parametric": list(pv.families.parametric),
    "nonparametric": list(pv.families.nonparametric),
    "elliptical": list(pv.families.elliptical),
    "archimedean": list(pv.families.archimedean),
    "one-parameter": list(pv.families.one_par),
}
#: At or below so many rows vinecopulib fits independence only.
FEWEST_ROWS = 10
#: Rows that one thread transforms at a time when a vine is sampled.
BATCH = 2048
#: Prior probability of dependence in the first tree, in mBICV (vinecopulib's default).
PSI0 = 0.9


@dataclass(frozen=True)
class VineSettings:
    """How a vine is selected; the defaults are the thesis'."""

    families: str | Sequence[str] = "all"
    criterion: str = "aic"
    tree_criterion: str = "rho"
    truncation: Truncation = 2
    threads: int | None = None

    def __post_init__(self) -> None:
        family_set(self.families)
        if self.criterion not in CRITERIA:
            raise SettingError(
                f"criterion ({self.criterion!r}) must be one of {', '.join(CRITERIA)}"
            )
        if self.tree_criterion not in TREE_CRITERIA:
            raise SettingError(
                f"tree_criterion ({self.tree_criterion!r}) must be one of "
                f"{', '.join(TREE_CRITERIA)}"
            )
        whole = isinstance(self.truncation, int) and not isinstance(self.truncation, bool)
        if not (self.truncation in (None, "auto") or (whole and int(self.truncation or 0) > 0)):
            raise SettingError(
                f"truncation ({self.truncation!r}) must be a positive whole number of trees, "
                "'auto', or None for no truncation"
            )
        if self.threads is not None and (not isinstance(self.threads, int) or self.threads < 1):
            raise SettingError(f"threads ({self.threads!r}) must be a positive whole number")

    @property
    def workers(self) -> int:
        """Number of threads; by default one per core."""
        return self.threads or os.cpu_count() or 1


def family_set(families: str | Sequence[str]) -> list[Any]:
    """Families by the name of a set, or by their own names.

    Examples
    --------
    >>> [family_name(family) for family in family_set(["indep", "gaussian"])]
    ['indep', 'gaussian']
    """
    if isinstance(families, str) and families in FAMILY_SETS:
        return FAMILY_SETS[families]
    by_name = {family_name(family): family for family in pv.families.all}
    wanted = [families] if isinstance(families, str) else list(families)
    unknown = [name for name in wanted if name not in by_name]
    if unknown or not wanted:
        raise SettingError(
            f"families ({families!r}) must be one of {', '.join(FAMILY_SETS)}, "
            f"or a list out of {', '.join(by_name)}"
        )
    return [by_name[name] for name in wanted]


def fit_vine(
    pseudo: FloatArray,
    settings: VineSettings,
    *,
    left: FloatArray | None = None,
    discrete: Sequence[bool] | None = None,
    progress: Progress | None = None,
) -> pv.Vinecop:
    """Select a vine by Dissmann's algorithm.

    Parameters
    ----------
    pseudo : array, shape (n, d)
        Pseudo-observations.
    settings : VineSettings
    left : array, shape (n, d), optional
        Left limits F(x-), needed where a column is discrete.
    discrete : sequence of bool, optional
        Which columns are discrete; all are continuous by default, the
        thesis' way.
    progress : callable, optional
        Called with the name of the tree and the share of the trees done.
    """
    n, d = pseudo.shape
    if d < 2 or n <= FEWEST_ROWS:
        return pv.Vinecop.from_dimension(d)
    types = ["d" if flag else "c" for flag in (discrete or [False] * d)]
    data = pseudo if left is None else np.hstack([pseudo, left[:, [t == "d" for t in types]]])
    selection = _Selection(settings, n, d, progress)
    controls = pv.FitControlsVinecop(
        tree_criterion=settings.tree_criterion, trunc_lvl=selection.trees
    )
    hosted = _HostedVine.from_data(
        np.asfortranarray(data), controls, var_types=types, fit_level=selection.fit_level
    )
    vine = pv.Vinecop.from_structure(
        structure=hosted.structure, pair_copulas=hosted.pairs, var_types=types
    )
    if selection.truncated_at is not None:
        vine.truncate(selection.truncated_at)
    return vine


class _HostedVine(VinecopBase[Any]):
    """Receives what pyvinecopulib's tree-by-tree selector found."""

    bicop_class = pv.Bicop

    def __init__(self, pairs: Any, structure: pv.RVineStructure, var_types: list[str]) -> None:
        self.pairs = pairs
        self._bind_vine(structure, var_types=var_types)

    def get_pair_copula(self, tree: int, edge: int) -> Any:
        """The pair copula of one edge."""
        return self.pairs[tree][edge]


class _Selection:
    """Fits the pair copulas of one tree after the other, several at a time."""

    def __init__(
        self, settings: VineSettings, rows: int, columns: int, progress: Progress | None
    ) -> None:
        self.settings = settings
        self.families = family_set(settings.families)
        self.rows = rows
        self.columns = columns
        self.progress = progress
        self.truncated_at: int | None = None
        asked = settings.truncation
        self.trees = min(asked, columns - 1) if isinstance(asked, int) else columns - 1

    def fit_level(
        self, tree: int, level: FloatArray, types: list[tuple[str, str]]
    ) -> list[pv.Bicop]:
        """Fit all edges of one tree (the hook that pyvinecopulib calls)."""
        if self.truncated_at is not None:  # mBICV stopped before: only independence is left
            return [pv.Bicop() for _ in types]
        if self.progress:
            self.progress(f"vine tree {tree + 1} of {self.trees}", tree / self.trees)
        # the C++ fits release the interpreter lock, so threads run in parallel
        with ThreadPoolExecutor(self.settings.workers) as pool:
            fits = list(pool.map(self._fit_pair, level, types))
        pairs = [pair for pair, _ in fits]
        if self.settings.truncation == "auto" and self._no_gain(tree, fits):
            self.truncated_at = max(tree, 1)  # vinecopulib always keeps the first tree
            return pairs if tree == 0 else [pv.Bicop() for _ in types]
        return pairs

    def _fit_pair(self, points: FloatArray, types: tuple[str, str]) -> tuple[pv.Bicop, float]:
        """The best pair copula by the criterion, with its log-likelihood."""
        return fit_pair(points, self.families, self.settings.criterion, types)

    def _no_gain(self, tree: int, fits: list[tuple[pv.Bicop, float]]) -> bool:
        """Whether this tree's part of mBICV (Nagler et al. 2019) is no gain.

        The rule of vinecopulib's ``select_trunc_lvl``; the two were seen to
        differ only in whether the last tree, a single edge, is kept.
        """
        fitted = [(p, loglik) for p, loglik in fits if p.family != pv.families.indep]
        prior = PSI0 ** (tree + 1)
        q, edges = len(fitted), len(fits)
        gain = 2 * sum(loglik for _, loglik in fitted)
        penalty = np.log(self.rows) * sum(pair.npars for pair, _ in fitted)
        log_prior = q * np.log(prior) + (edges - q) * np.log(1 - prior)
        return bool(gain - penalty + 2 * log_prior <= 0)


def fit_pair(
    points: FloatArray,
    families: Sequence[Any],
    criterion: str = "aic",
    types: tuple[str, str] = ("c", "c"),
) -> tuple[pv.Bicop, float]:
    """Select a pair copula as ``pyvinecopulib.Bicop.from_data`` does, but faster.

    Each parametric family is fitted to the distinct points with their
    frequencies as weights. pyvinecopulib scales weights to a mean of one, which
    would weaken the likelihood against the penalty of a criterion; so the
    criterion is computed here from the weighted log-likelihood. The
    nonparametric family is fitted to the rows, because its bandwidth follows
    from their number. With few repetitions pyvinecopulib does it all.

    Returns
    -------
    pair : Bicop
    loglik : float
        Its log-likelihood over the rows.
    """
    rows = np.asfortranarray(points)
    distinct, weights = collapse(rows)
    if 2 * len(distinct) > len(rows):
        controls = pv.FitControlsBicop(family_set=families, selection_criterion=criterion)
        pair = pv.Bicop.from_data(rows, controls, var_types=types)
        return pair, float(pair.loglik())
    weighted = pv.FitControlsBicop(weights=weights)
    best, best_score, best_loglik = pv.Bicop(var_types=types), np.inf, 0.0
    for family, rotation in _candidates(distinct, weights, families):
        pair = pv.Bicop(family, rotation, var_types=types)
        if family in pv.families.nonparametric:
            pair.fit(rows)
            loglik = float(pair.loglik())
        else:
            pair.fit(distinct, weighted)
            loglik = float(weights @ np.log(pair.pdf(distinct)))
        score = _criterion(criterion, loglik, pair.npars, len(rows))
        if score < best_score:
            best, best_score, best_loglik = pair, score, loglik
    return best, best_loglik


def _candidates(
    distinct: FloatArray, weights: FloatArray, families: Sequence[Any]
) -> list[tuple[Any, int]]:
    """Families and rotations to try, preselected by symmetry as in vinecopulib.

    A family with one heavy tail is tried in the rotations that put it where the
    correlation within a quadrant is larger.
    """
    tau = float(pv.utils.wdm(distinct[:, 0], distinct[:, 1], "tau", weights))
    first, second = _quadrant_correlations(distinct, weights, tau)
    lean = first - second
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


def _quadrant_correlations(
    distinct: FloatArray, weights: FloatArray, tau: float
) -> tuple[float, float]:
    """Correlation of normal scores within the two quadrants along the dependence."""
    x, y = norm.ppf(distinct[:, 0]), norm.ppf(distinct[:, 1])
    if tau > 0:
        quadrants = (x > 0) & (y > 0), (x < 0) & (y < 0)
    else:
        quadrants = (x < 0) & (y > 0), (x > 0) & (y < 0)
    first, second = (
        float(pv.utils.wdm(x[part], y[part], "cor", weights[part])) if part.any() else 0.0
        for part in quadrants
    )
    return first, second


def collapse(points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Distinct rows of a matrix, and how often each occurs.

    Examples
    --------
    >>> distinct, weights = collapse(np.array([[0.5, 0.2], [0.1, 0.2], [0.5, 0.2]]))
    >>> distinct.tolist(), weights.tolist()
    ([[0.1, 0.2], [0.5, 0.2]], [1.0, 2.0])
    """
    ordered = points[np.lexsort(points.T[::-1])]
    starts = np.flatnonzero(np.append(True, np.any(ordered[1:] != ordered[:-1], axis=1)))
    weights = np.diff(np.append(starts, len(points))).astype(float)
    return np.asfortranarray(ordered[starts]), weights


def _criterion(name: str, loglik: float, parameters: float, rows: int) -> float:
    if not np.isfinite(loglik):
        return np.inf
    penalty = {"loglik": 0.0, "aic": 2.0, "bic": float(np.log(rows))}[name]
    return -2 * loglik + penalty * parameters


def sample_vine(
    vine: pv.Vinecop, n: int, rng: np.random.Generator, threads: int | None = None
) -> FloatArray:
    """Draw n rows of uniforms from a vine by the inverse Rosenblatt transform.

    The uniforms come from ``rng`` and are transformed in batches of one size,
    so the draw does not depend on the number of threads to the last bit.
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


def vine_from_json(text: Any) -> pv.Vinecop:
    """The vine that ``vine_to_json`` wrote.

    The library believes what it reads, and a wrong size ends the whole process; so the shape is
    checked here, number by number.
    """
    entry = parse_json(text.encode()) if isinstance(text, str) else None
    if not _is_vine(entry):
        raise ArtefactError("its vine cannot be one")
    return pv.Vinecop.from_json(text)


def _is_vine(entry: Any) -> bool:
    try:
        array = entry["structure"]["array"]
        d, trees = array["d"], array["t"]
        numbers = (entry["loglik"], entry["nobs_"], entry["threshold"])
        if type(d) is not int or type(trees) is not int or not all(map(_is_number, numbers)):
            return False
        if not 1 <= d <= 2**15 or not 0 <= trees <= max(d - 1, 0):
            return False
        order = entry["structure"]["order"]
        if any(type(v) is not int for v in order) or sorted(order) != list(range(1, d + 1)):
            return False
        if len(array["data"]) != trees or entry["nobs_"] != 0:
            return False
        for tree, row in enumerate(array["data"]):
            if len(row) != d - 1 - tree or not all(type(v) is int and 1 <= v <= d for v in row):
                return False
        pairs = entry["pair copulas"] or {}
        if set(pairs) != {f"tree{i}" for i in range(trees)}:
            return False
        types = entry["var_types"]
        return (
            _are_types(types, d)
            and all(
                set(tree) == {f"pc{j}" for j in range(d - 1 - int(name[4:]))}
                for name, tree in pairs.items()
            )
            and all(_is_pair(pair) for tree in pairs.values() for pair in tree.values())
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return False


def _is_pair(pair: dict[str, Any]) -> bool:
    """Whether this can be a pair copula; the library checks the bounds of its parameters."""
    if pair["fam"] not in PAIR_PARAMETERS or pair["rot"] not in (0, 90, 180, 270):
        return False
    shape, data = pair["par"]["shape"], pair["par"]["data"] or []
    return (
        type(pair["rot"]) is int
        and tuple(shape) == PAIR_PARAMETERS[pair["fam"]]
        and all(type(size) is int for size in shape)
        and len(data) == shape[0] * shape[1]
        and all(map(_is_number, data))
        and all(_is_number(pair[key]) for key in ("ll", "nobs", "npars"))
        and _are_types(pair["vt"], 2)
        and (pair["fam"] != "TLL" or all(value >= 0 for value in data))
    )


def _are_types(types: Any, count: int) -> bool:
    return isinstance(types, list) and len(types) == count and all(t in ("c", "d") for t in types)


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


def _parameters(family: Any) -> tuple[str, tuple[int, int]]:
    entry = json.loads(pv.Bicop(family).to_json())
    rows, columns = entry["par"]["shape"]
    return entry["fam"], (rows, columns)


#: Shape of the parameters of each family, by its name in JSON.
PAIR_PARAMETERS = dict(_parameters(family) for family in pv.families.all)
