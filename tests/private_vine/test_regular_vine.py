"""Regular vines: proximity, the Rosenblatt transform and its inverse, spanning trees."""

from __future__ import annotations

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kstest, norm

from copula_shirley.private_vine.pair_copula import PairCopula, edges_of, rake
from copula_shirley.private_vine.rosenblatt import Drawn, draw, stratified
from copula_shirley.private_vine.vine import Edge, RegularVine, spanning_tree


def random_copula(rng: np.random.Generator, classes: int, k: int = 4) -> PairCopula:
    edges = [np.stack([edges_of(rng.uniform(0.2, 1, k)) for _ in range(classes)]) for _ in "ab"]
    mass = [
        rake(rng.uniform(0.1, 1, (k, k)) ** 2, np.diff(a), np.diff(b), sweeps=200)
        for a, b in zip(*edges, strict=True)
    ]
    return PairCopula(edges[0], edges[1], np.stack(mass), "checkerboard")


def random_vine(rng: np.random.Generator, d: int, trees: int, classes: int = 1) -> RegularVine:
    """A vine whose edges are drawn among those that proximity allows."""
    order = [int(v) for v in rng.permutation(d)]
    vine = RegularVine(order)
    for i, child in enumerate(order[1:], 1):
        partner = order[int(rng.integers(i))]
        vine.add(Edge(child, partner, frozenset(), random_copula(rng, classes)))
    for tree in range(2, trees + 1):
        for child in order[tree:]:
            allowed, conditioned = vine.partners(child)
            if len(vine.chains[child]) == tree - 1 and allowed:
                partner = allowed[int(rng.integers(len(allowed)))]
                r = float(rng.uniform(-0.5, 0.5)) if rng.random() < 0.8 else 0.0
                vine.add(Edge(child, partner, conditioned, correlation=r))
    return vine


@given(st.integers(0, 10_000), st.integers(2, 6), st.integers(1, 3))
def test_the_transform_and_its_inverse_give_rows_back(seed: int, d: int, classes: int) -> None:
    rng = np.random.default_rng(seed)
    vine = random_vine(rng, d, d - 1, classes)
    label = rng.integers(0, classes, 60)
    rows = {v: rng.random(60) for v in range(d)}
    # drawn between bounds that leave no room, each variable goes forth and back
    drawn, weight = draw(vine, label, rng, {v: (u, u) for v, u in rows.items()})
    assert not weight.any()
    for v, u in rows.items():
        # normal scores far out lose digits in each of up to five steps
        assert np.abs(drawn.value(v) - u).max() < 1e-5


@settings(max_examples=20)
@given(st.integers(0, 10_000))
def test_pseudo_observations_of_drawn_rows_are_uniform(seed: int) -> None:
    rng = np.random.default_rng(seed)
    vine = random_vine(rng, 4, 3)
    label = np.zeros(2000, dtype=int)
    drawn, weight = draw(vine, label, rng)
    assert (weight == 1).all()
    # of the rows alone, with nothing that is remembered from the draw
    known = Drawn(vine, label, {v: drawn.value(v) for v in range(4)})
    for _, edge in vine.edges:
        whole = edge.given | {edge.partner}
        for variable, given_ in ((edge.child, whole), (edge.partner, edge.given)):
            u = known.value(variable, given_)
            assert np.abs(drawn.value(variable, given_) - u).max() < 1e-5
            u = norm.cdf(u) if given_ else u
            # draws are spread more evenly than independent ones, for which this is 1e-9
            assert kstest(u, "uniform").pvalue > 1e-9
            assert ((u >= 0) & (u <= 1)).all()


def test_a_pair_has_the_probabilities_of_its_copula() -> None:
    rng = np.random.default_rng(0)
    vine = random_vine(rng, 2, 1)
    ((_, edge),) = vine.edges
    n = 20_000
    drawn, _ = draw(vine, np.zeros(n, dtype=int), rng)
    copula = edge.copula
    counts, _, _ = np.histogram2d(
        *map(drawn.value, (edge.partner, edge.child)), (copula.edges_a[0], copula.edges_b[0])
    )
    # systematic draws: the error is below that of independent ones, six of whose deviations
    assert np.abs(counts / n - copula.mass[0]).max() < 6 * np.sqrt(0.25 / n)


@given(st.integers(0, 10_000), st.integers(3, 7))
def test_proximity(seed: int, d: int) -> None:
    vine = random_vine(np.random.default_rng(seed), d, d - 1)
    nodes = {}
    for tree, edge in sorted(vine.edges, key=lambda item: item[0]):
        assert len(edge.given) == tree - 1
        assert vine.order.index(edge.partner) < vine.order.index(edge.child)
        whole = edge.given | {edge.child, edge.partner}
        assert whole not in nodes
        nodes[whole] = edge
        if tree > 1:  # both u(child | D) and u(partner | D) come from one edge of the tree before
            for variable in (edge.child, edge.partner):
                before = nodes[edge.given | {variable}]
                assert variable in (before.child, before.partner)


@given(st.integers(0, 10_000), st.integers(1, 9))
def test_the_spanning_tree_is_the_largest(seed: int, d: int) -> None:
    rng = np.random.default_rng(seed)
    variables = [int(v) for v in rng.permutation(20)[:d]]
    scores = {tuple(sorted(p)): float(rng.normal()) for p in combinations(variables, 2)}
    order, links = spanning_tree(variables, scores)
    graph = nx.Graph()
    graph.add_nodes_from(variables)
    for (a, b), score in scores.items():
        graph.add_edge(a, b, weight=score)
    best = nx.maximum_spanning_tree(graph).size(weight="weight")
    assert sum(scores[tuple(sorted(link))] for link in links) == pytest.approx(best)
    assert sorted(order) == sorted(variables)
    for partner, child in links:
        assert order.index(partner) < order.index(child)


@given(st.integers(1, 400), st.integers(1, 5), st.integers(0, 99))
def test_strata_are_spread_evenly(n: int, strata: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    state = rng.integers(0, strata, n) * int(rng.choice([1, 1000, 2**50]))
    drawn = stratified(state, rng)
    for c in np.unique(state):
        here = np.sort(drawn[state == c])
        # one of them in each of as many equal parts
        assert np.array_equal(np.floor(here * len(here) - 1e-9), np.arange(len(here))) or (
            np.allclose(np.diff(here), 1 / max(len(here), 1), atol=1e-9)
        )
