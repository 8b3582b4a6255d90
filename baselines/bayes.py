"""PrivBayes (Zhang, Cormode, Procopiuc, Srivastava, Xiao, TODS 2017).

A Bayesian network is grown greedily: each step picks a child and its parents by the exponential
mechanism. Then the joint counts of each child with its parents are released with noise, and rows
are drawn from parents to children.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from copula_shirley.baselines.base import SIZE_SHARE, Baseline
from copula_shirley.baselines.network import Joint, consistent, plot_network
from copula_shirley.errors import ArtefactError, SettingError
from copula_shirley.fitted import Progress
from copula_shirley.measure.queries import Best, Queries
from copula_shirley.privacy.ledger import Ledger, Sensitivity, check_epsilon
from copula_shirley.privacy.noise import Integers
from copula_shirley.restoring import floats
from copula_shirley.rows.memory import MemoryRows
from copula_shirley.schema.domain import FloatArray, Grid
from copula_shirley.schema.schema import Column, Schema
from copula_shirley.settings import check_positive_whole, check_share

Codes = dict[str, NDArray[np.intp]]
#: A child and its parents.
Candidate = tuple[str, tuple[str, ...]]
#: Scores are whole multiples of a count divided by this.
UNIT = 2**16
#: Bound on the rounding error of mutual information, in counts and for each row.
LOG_ERROR = 2.0**-40
#: Cells that one noisy table may have at the most (8 bytes each, a few copies).
MOST_CELLS = 10_000_000


@dataclass(kw_only=True, eq=False, repr=False)
class PrivBayes(Baseline):
    """Bayesian network with noisy structure and noisy tables.

    Departs from the paper: noisy counts are projected onto non-negative tables with the right total
    instead of being clipped and scaled, which would drown large tables in positive noise; and
    tables are made consistent on the columns that they share. Both are post-processing.
    """

    name: ClassVar[str] = "privbayes"

    mechanism: Literal["laplace", "geometric"] = "geometric"
    #: Most parents of a column; None: as many as ``theta`` allows.
    degree: int | None = 3
    #: With ``degree=None``, parents are added while the average cell of the noisy table holds at
    #: least theta times its noise (theta-usefulness).
    theta: float = 4.0
    #: How well parents tell a child: the distance of their joint distribution to independence, or
    #: mutual information (replace-one neighbours only).
    score: Literal["R", "mutual-information"] = "R"
    #: Share of epsilon for the choice of the network.
    network_share: float = 0.3
    #: Cells of a numeric column with more values than this.
    bins: int = 16

    # -- settings ------------------------------------------------------------------

    def _check_settings(self, schema: Schema) -> None:
        super()._check_settings(schema)
        if self.score == "mutual-information" and not self._size_is_public(schema):
            raise SettingError(
                "score ('mutual-information') must be 'R' where the number of rows is private "
                "(add-remove neighbours, people with several rows): its sensitivity depends on it"
            )
        if self.degree is not None:
            check_positive_whole("degree", self.degree)
        check_positive_whole("bins", self.bins)
        if not isinstance(self.theta, int | float) or not self.theta > 0:
            raise SettingError(f"theta ({self.theta!r}) must be a positive number")
        check_share("network_share", self.network_share)
        if self.epsilon is not None:  # the smallest share that anything gets
            share = min(self.network_share, 1 - self.network_share) * (1 - SIZE_SHARE)
            check_epsilon(self.epsilon * share / len(schema))
        self._check_sizes(Grid(self._coarse(schema)).sizes)

    def _check_sizes(self, sizes: dict[str, int]) -> None:
        """Refuse a degree whose largest possible table does not fit into memory."""
        widest = sorted(sizes, key=lambda name: -sizes[name])[: (self.degree or 0) + 1]
        cells = math.prod(sizes[name] for name in widest)
        if cells > MOST_CELLS:
            listed = ", ".join(f"{name!r} ({sizes[name]})" for name in widest)
            raise SettingError(
                f"degree ({self.degree}): a table of {listed} would have {cells:.3g} cells, more "
                f"than {MOST_CELLS:.0e}; use a smaller degree, fewer bins, or merge categories"
            )

    def _coarse(self, schema: Schema) -> list[Column]:
        """Numeric columns with many values in ``bins`` cells; others as they are."""
        wide = {c.name for c in schema if not c.is_listed and c.size > self.bins}
        return [replace(c, cells=self.bins) if c.name in wide else c for c in schema]

    # -- fit -----------------------------------------------------------------------

    def _fit(
        self, rows: MemoryRows, ledger: Ledger, rng: np.random.Generator, progress: Progress
    ) -> None:
        noise_rng, root_rng = rng.spawn(2)
        self._grid = Grid(self._coarse(rows.schema))
        learning = self._learn(ledger, root_rng, progress)
        self.joints_ = self._run(learning, rows, ledger, noise_rng)

    def _learn(
        self, ledger: Ledger, rng: np.random.Generator, progress: Progress
    ) -> Queries[list[Joint]]:
        """The number of rows, the network, then the tables; all else is post-processing."""
        left = yield from self._ask_size()
        tables_share = left * (1 - self.network_share)
        reach = self._score_reach(ledger)
        names = list(self._grid.sizes)
        first = names[int(rng.integers(len(names)))]
        network: list[Candidate] = [(first, ())]
        for step in range(1, len(names)):
            progress(f"network {step} of {len(names) - 1}", 0.8 * step / len(names))
            chosen = [child for child, _ in network]
            candidates = [
                (child, parents)
                for child in names
                if child not in chosen
                for parents in self._parent_sets(child, chosen, tables_share)
            ]
            scores = Scores(tuple(candidates), self._grid.sizes, self.score, reach)
            share = left * self.network_share / (len(names) - 1)
            (pick,) = yield from self._ask(Best("network", [scores], share, what=f"choice {step}"))
            network.append(candidates[int(pick)])
        progress("tables", 0.8)
        return (yield from self._measure(network, tables_share))

    def _score_reach(self, ledger: Ledger) -> float:
        """How much one unit can change a score.

        Where the number of rows is public, a unit is a row that is replaced. Else a unit is up to
        ``ledger.sensitivity().l1`` rows that are added or removed one after the other, each worth
        the add/remove bound, which holds for every number of rows.
        """
        if ledger.neighbours == "replace-one" and ledger.rows_per_unit == 1:
            return score_sensitivity(self.score, "replace-one", self._public_rows)
        return score_sensitivity(self.score, "add-remove") * ledger.sensitivity().l1

    def _parent_sets(
        self, child: str, chosen: list[str], tables_share: float
    ) -> list[tuple[str, ...]]:
        """Parent sets to consider: public, as they depend on sizes and on the choices so far.

        A theta-useful table has at most n * epsilon2 / (2 * d * theta) cells (paper, 4.3).
        """
        if self.degree is not None:
            return list(combinations(chosen, min(self.degree, len(chosen))))
        most, sizes = float(MOST_CELLS), self._grid.sizes
        if self.epsilon is not None:
            epsilon = self.epsilon * tables_share
            most = min(most, self._public_rows * epsilon / (2 * len(sizes) * self.theta))
        return _maximal_sets(child, chosen, sizes, most)

    def _measure(self, network: list[Candidate], share: float) -> Queries[list[Joint]]:
        """Noisy counts of each child with its parents.

        A table whose columns all stand in a later one (as those of the first k columns do) is not
        paid for: it is summed from that one. The others share epsilon equally, so each has noise of
        scale (number of tables) * sensitivity / epsilon *on counts*.
        """
        columns = [(*parents, child) for child, parents in network]
        paid = [
            mine
            for i, mine in enumerate(columns)
            if not any(set(mine) <= set(other) for other in columns[i + 1 :])
        ]
        noisy: list[Joint] = []
        for mine in paid:
            counts = yield from self._ask_cells("table", mine, share / len(paid))
            noisy.append(Joint(mine, counts.astype(float)))
        joints = consistent(noisy, self._public_rows)
        whole = [next(j for j in joints if set(mine) <= set(j.columns)) for mine in columns]
        return [joint.sum_to(mine) for joint, mine in zip(whole, columns, strict=True)]

    # -- sample, save, look ----------------------------------------------------------

    def _draw(self, n: int, rng: np.random.Generator) -> dict[str, FloatArray]:
        codes: Codes = {}
        for joint in self.joints_:
            codes[joint.child] = joint.draw(codes, n, rng)
        return self._grid.numbers(codes, rng)

    def _state(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        arrays = {f"joint_{i}": joint.mass for i, joint in enumerate(self.joints_)}
        return {"columns": [list(joint.columns) for joint in self.joints_]}, arrays

    def _restore(self, state: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        self._grid = Grid(self._coarse(self.schema_))
        self.joints_ = []
        known: set[str] = set()
        for i, columns in enumerate(state["columns"]):
            shape = tuple(self._grid.sizes[name] for name in columns)
            mass = floats(arrays[f"joint_{i}"], shape)
            if not known.issuperset(columns[:-1]) or columns[-1] in known or np.any(mass < 0):
                raise ArtefactError("its network must draw every column once, after its parents")
            known.add(columns[-1])
            self.joints_.append(Joint(tuple(columns), mass))
        if known != set(self.schema_.names):
            raise ArtefactError("its network must draw every column")

    def tables(self) -> dict[str, pd.DataFrame]:
        self._check_fitted()
        rows = [(j.child, ", ".join(j.columns[:-1]), j.mass.size) for j in self.joints_]
        return {"Network": pd.DataFrame(rows, columns=["column", "parents", "cells"])}

    def plot(self, path: str | Path) -> None:
        self._check_fitted()
        plot_network(self.joints_, path)


# -- scores ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Scores:
    """Scores of candidates as whole numbers, in units of 1 / ``UNIT`` counts.

    A score is n times that of the paper. It is rounded down to a multiple of 1 / UNIT, so a unit
    that changes it by ``bound`` changes the whole number by less than UNIT * bound + 1, as
    floor(a) - floor(b) < a - b + 1. R is a fraction of whole numbers,
    sum |n joint - outer| / (2 n), rounded down in whole arithmetic without any other error. Mutual
    information is summed (exactly, by fsum) from at most n terms that are off by a few parts in
    2^52 of joint * log n; ``LOG_ERROR`` * n bounds that with a margin of some hundred, and is added
    to the bound twice.
    """

    candidates: tuple[Candidate, ...]
    sizes: dict[str, int]
    score: str
    #: How much one unit can change a score, in counts.
    bound: float
    names: tuple[str, ...] = ("network",)

    @property
    def reach(self) -> Sensitivity:
        most = UNIT * self.bound + 1
        return Sensitivity(most, most)

    def numbers(self, rows: MemoryRows) -> Integers:
        """The whole numbers; each is computed once and kept with the rows."""
        scores = [rows.derived(c, partial(self._compute, rows, *c)) for c in self.candidates]
        return np.array(scores, dtype=np.int64)

    def _compute(self, rows: MemoryRows, child: str, parents: tuple[str, ...]) -> int:
        if not parents:
            return 0

        def numbered() -> tuple[NDArray[np.intp], ...]:
            shape = tuple(self.sizes[name] for name in parents)
            flat = np.ravel_multi_index([rows.codes[name] for name in parents], shape)
            return np.unique(flat, return_inverse=True, return_counts=True)

        n, width = len(rows), self.sizes[child]
        _, code, parent_counts = rows.derived(parents, numbered)
        joint = np.bincount(code * width + rows.codes[child], minlength=len(parent_counts) * width)
        joint = joint.reshape(len(parent_counts), width)
        outer = np.outer(parent_counts, joint.sum(axis=0))
        if self.score == "R":
            return int(np.abs(n * joint - outer).sum()) * UNIT // (2 * n)
        inside = joint > 0
        terms = joint[inside] * np.log(n * joint[inside] / outer[inside])
        return math.floor(UNIT * math.fsum(terms))


def score_sensitivity(score: str, neighbours: str, rows: int = 0) -> float:
    """How much one row can change a score (in counts: n times the paper's).

    R, replacement: 3 + 2/n (paper, theorem 4.5). R, add/remove: the joint counts change by 1; the
    product of margins, n times p q, becomes (n p + e)(n q + f)/(n + 1), which differs by at most
    (3n + 1)/(n + 1) < 3; half of both is below 2, whatever n. Mutual information, replacement: n
    times 2/n log((n + 1)/2) + (n - 1)/n log((n + 1)/(n - 1)) (paper, lemma 4.1).
    """
    if neighbours == "add-remove":
        if score != "R":
            raise AssertionError("mutual information needs a public number of rows")
        return 2.0
    if score == "R":
        return 3 + 2 / rows
    exact = 2 * math.log((rows + 1) / 2) + (rows - 1) * math.log((rows + 1) / max(rows - 1, 1))
    return exact + 2 * LOG_ERROR * rows


def _maximal_sets(
    child: str, chosen: list[str], sizes: dict[str, int], most_cells: float
) -> list[tuple[str, ...]]:
    """Find the parent sets of at most ``most_cells`` cells that no further parent fits into."""
    sets: list[tuple[str, ...]] = []

    def extend(start: int, taken: tuple[str, ...], cells: float) -> None:
        room = [n for n in chosen if n not in taken and cells * sizes[n] <= most_cells]
        if not room:
            sets.append(taken)
        for i in range(start, len(chosen)):
            if cells * sizes[chosen[i]] <= most_cells:
                extend(i + 1, (*taken, chosen[i]), cells * sizes[chosen[i]])

    extend(0, (), float(sizes[child]))
    return sets or [()]
