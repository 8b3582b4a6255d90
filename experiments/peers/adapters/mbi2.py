"""MST and AIM on mbi 2, written from their papers: the wheel of mbi has their parts only.

Settings: ``model`` (mst, aim), ``max_model_size`` (megabytes, of AIM), ``iterations`` of mirror
descent. The number of rows is estimated from noisy counts.
"""

import math
from itertools import combinations
from typing import Any

import jax
import networkx as nx
import numpy as np
import pandas as pd
from mbi import Dataset, Domain, LinearMeasurement, MarkovRandomField, estimation, junction_tree

jax.config.update("jax_enable_x64", True)

#: Pairs of more cells are no part of AIM's workload, as in its authors' experiments.
MOST_CELLS = 10_000


def rho_of(epsilon: float, delta: float) -> float:
    """The zCDP that means (epsilon, delta) by Canonne, Kamath and Steinke 2020, proposition 12."""
    alphas = 1 + np.geomspace(1e-3, 1e6, 20_000)
    rest = np.log(1 - 1 / alphas) - np.log(alphas * delta) / (alphas - 1)
    return float(np.max((epsilon - rest) / alphas))


class Generator:
    """MST (McKenna, Miklau, Sheldon 2021) or AIM (McKenna and others 2022)."""

    def __init__(
        self,
        epsilon: float,
        delta: float,
        seed: int,
        domain: dict[str, int],
        model: str,
        max_model_size: float = 80.0,
        iterations: int = 1000,
    ) -> None:
        self.rho, self.domain, self.model = rho_of(epsilon, delta), domain, model
        self.rng = np.random.default_rng(seed)
        self.seed, self.max_model_size, self.iterations = seed, max_model_size, iterations

    def fit(self, table: pd.DataFrame) -> None:
        """Fit it."""
        data = Dataset({c: table[c].to_numpy() for c in self.domain}, Domain.fromdict(self.domain))
        self.back: dict[str, np.ndarray] = {}
        self.fitted = self._mst(data) if self.model == "mst" else self._aim(data)

    def sample(self, n: int) -> pd.DataFrame:
        """Draw rows; mbi takes numpy's global randomness, which must not repeat the fit's."""
        np.random.seed(self.seed + 1_000_000)  # noqa: NPY002
        drawn = self.fitted.synthetic_data(rows=n)
        for column, mapping in self.back.items():
            codes = np.asarray(drawn.data[column])
            places = [np.flatnonzero(mapping == group) for group in range(mapping.max() + 1)]
            sizes = np.array([len(place) for place in places])
            picked = (self.rng.random(len(codes)) * sizes[codes]).astype(int)
            table = np.zeros((len(places), sizes.max()), dtype=int)
            for group, place in enumerate(places):
                table[group, : len(place)] = place
            drawn.data[column] = table[codes, picked]
        return pd.DataFrame({c: np.asarray(drawn.data[c]) for c in self.domain})

    # -- parts ---------------------------------------------------------------------

    def _counts(self, data: Dataset, clique: tuple[str, ...], sigma: float) -> LinearMeasurement:
        exact = np.asarray(data.project(clique).datavector())
        noisy = exact + self.rng.normal(0, sigma, exact.size)
        return LinearMeasurement(noisy, clique, stddev=sigma)

    def _estimate(
        self, domain: Domain, measured: list[LinearMeasurement], start: Any = None
    ) -> MarkovRandomField:
        descent = estimation.MirrorDescent()
        return descent.estimate(domain, measured, iters=self.iterations, warm_start=start, tol=1e-6)

    def _chosen(self, scores: np.ndarray, epsilon: float, sensitivity: float = 1.0) -> int:
        """The exponential mechanism, by Gumbel noise."""
        noise = self.rng.gumbel(size=len(scores))
        return int(np.argmax(epsilon * scores / (2 * sensitivity) + noise))

    def _mst(self, data: Dataset) -> MarkovRandomField:
        """A third of rho each: margins, the choice of a spanning tree, its tables."""
        sigma = math.sqrt(3 / (2 * self.rho))
        wide = math.sqrt(len(self.domain)) * sigma
        measured = [self._counts(data, (c,), wide) for c in data.domain]
        for margin in measured:  # categories below three standard deviations share a cell
            rare = np.asarray(margin.noisy_measurement) < 3 * margin.stddev
            if rare.sum() > 1:
                self.back[margin.clique[0]] = np.where(rare, (~rare).sum(), np.cumsum(~rare) - 1)
        whole = data.domain
        measured = [margin.compress(self.back, whole) for margin in measured]
        data = data.compress(self.back)
        model = self._estimate(data.domain, measured)
        pairs = list(combinations(data.domain, 2))
        distance = {p: self._distance(data, model, p) for p in pairs}
        tree: Any = nx.utils.UnionFind(data.domain)
        steps = len(self.domain) - 1
        links = []
        for _ in range(steps):
            left = [p for p in pairs if tree[p[0]] != tree[p[1]]]
            scores = np.array([distance[p] for p in left])
            links.append(left[self._chosen(scores, math.sqrt(8 * self.rho / 3 / steps))])
            tree.union(*links[-1])
        measured += [self._counts(data, p, math.sqrt(steps) * sigma) for p in links]
        return self._estimate(data.domain, measured, model)

    @staticmethod
    def _distance(data: Dataset, model: MarkovRandomField, clique: tuple[str, ...]) -> float:
        exact = np.asarray(data.project(clique).datavector())
        return float(np.abs(exact - np.asarray(model.project(clique).datavector())).sum())

    def _aim(self, data: Dataset) -> MarkovRandomField:
        """Rounds of: choose the marginal that the model misses most, measure it, estimate again."""
        domain, names = data.domain, list(data.domain)
        workload = [p for p in combinations(names, 2) if domain.size(p) <= MOST_CELLS]
        cliques = [(c,) for c in names] + workload
        weight = {c: float(sum(len(set(c) & set(w)) for w in workload)) for c in cliques}
        answers = {c: np.asarray(data.project(c).datavector()) for c in cliques}
        rounds = 16 * len(names)
        sigma, epsilon = math.sqrt(rounds / (1.8 * self.rho)), math.sqrt(0.8 * self.rho / rounds)
        measured = [self._counts(data, (c,), sigma) for c in names]
        used = len(names) * 0.5 / sigma**2
        model = self._estimate(domain, measured)
        last = False
        while not last:
            if self.rho - used < 2 * (0.5 / sigma**2 + epsilon**2 / 8):
                sigma = math.sqrt(1 / (1.8 * (self.rho - used)))
                epsilon, last = math.sqrt(0.8 * (self.rho - used)), True
            used += 0.5 / sigma**2 + epsilon**2 / 8
            small = self._small(domain, model, cliques, self.max_model_size * used / self.rho)
            errors = []
            for c in small:
                bias = math.sqrt(2 / math.pi) * sigma * domain.size(c)
                off = np.abs(answers[c] - np.asarray(model.project(c).datavector())).sum()
                errors.append(weight[c] * (off - bias))
            clique = small[self._chosen(np.array(errors), epsilon, max(weight[c] for c in small))]
            before = np.asarray(model.project(clique).datavector())
            measured.append(self._counts(data, clique, sigma))
            jax.clear_caches()  # every round compiles anew, until memory can be mapped no more
            model = self._estimate(domain, measured, model)
            moved = np.abs(np.asarray(model.project(clique).datavector()) - before).sum()
            if moved <= sigma * math.sqrt(2 / math.pi) * domain.size(clique):
                sigma, epsilon = sigma / 2, epsilon * 2
        return model

    @staticmethod
    def _small(
        domain: Domain, model: MarkovRandomField, cliques: list[Any], megabytes: float
    ) -> list[Any]:
        """Those that the model holds anyway, or that leave it small enough."""
        held = [set(c) for c in model.cliques]
        size = junction_tree.hypothetical_model_size
        return [
            c
            for c in cliques
            if any(set(c) <= own for own in held) or size(domain, [*model.cliques, c]) <= megabytes
        ]
