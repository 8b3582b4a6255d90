"""Pictures of what generators learned: the trees of a vine, a network; and a vine's table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from copula_shirley.errors import SettingError
from copula_shirley.files.atomic import atomic_path
from copula_shirley.lazy import LazyModule

if TYPE_CHECKING:
    import networkx as nx
    import pyvinecopulib as pv
else:
    nx = LazyModule("networkx")

#: Trees drawn at the most; later ones have weak edges.
MOST_TREES = 6


# -- pictures --------------------------------------------------------------------


def sheet(width: float, height: float, layout: str | None = "constrained") -> Any:
    """An empty figure of so many inches; this interface needs no display and no global state."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(width, height), layout=layout)  # type: ignore[arg-type]
    FigureCanvasAgg(figure)
    return figure


def show_as_written(figure: Any) -> None:
    """Names of columns are no formulas: matplotlib would set what stands between two dollars."""
    from matplotlib.text import Text  # noqa: PLC0415

    for text in figure.findobj(Text):
        text.set_parse_math(False)


@contextmanager
def picture(path: str | Path, width: float, height: float) -> Iterator[Any]:
    """A figure to draw on, which is then written as PNG, PDF or SVG, all of it or nothing.

    Raises
    ------
    SettingError
        If the file's ending is another one.
    """
    kind = Path(path).suffix.lstrip(".").lower()
    if kind not in ("png", "pdf", "svg"):
        raise SettingError(f"plot ({str(path)!r}) must end in .png, .pdf or .svg")
    figure = sheet(width, height)
    yield figure
    show_as_written(figure)
    with atomic_path(path) as partial:
        figure.savefig(partial, format=kind, dpi=100)


# -- vines -----------------------------------------------------------------------


@dataclass(frozen=True)
class DrawnEdge:
    """An edge of a tree: two variables, those they are conditioned on, strength and label."""

    tree: int
    first: int
    second: int
    given: frozenset[int]
    strength: float
    label: str


def edges_of(vine: pv.Vinecop) -> Iterator[tuple[DrawnEdge, Any]]:
    """Every edge of a pyvinecopulib vine, tree by tree, and its copula."""
    for level, tree in enumerate(vine.get_trees(), start=1):
        for edge in tree:
            pair = edge["pair_copula"]
            first, second = (i - 1 for i in edge["conditioned"])
            given = frozenset(i - 1 for i in edge["conditioning"])
            label = f"{pair.family.name}\n{pair.tau:+.2f}"
            yield DrawnEdge(level, first, second, given, float(pair.tau), label), pair


def trees_table(vine: pv.Vinecop, names: Sequence[str]) -> pd.DataFrame:
    """One row per edge: tree, pair, what it is conditioned on, family, Kendall's tau."""
    rows = [
        {
            "tree": edge.tree,
            "first": names[edge.first],
            "second": names[edge.second],
            "given": ", ".join(names[i] for i in sorted(edge.given)),
            "family": pair.family.name,
            "rotation": pair.rotation,
            "parameters": round(float(pair.npars), 1),
            "tau": round(edge.strength, 4),
        }
        for edge, pair in edges_of(vine)
    ]
    return pd.DataFrame(rows)


def graphs_of(edges: Iterable[DrawnEdge], names: Sequence[str]) -> list[nx.Graph]:
    """Trees as graphs, from edges tree by tree; the nodes of a tree are the edges before."""
    labels = {frozenset([i]): name for i, name in enumerate(names)}
    graphs = []
    for _, tree in groupby(edges, lambda edge: edge.tree):
        graph, joined = nx.Graph(), {}
        for edge in tree:
            ends = (labels[edge.given | {end}] for end in (edge.first, edge.second))
            graph.add_edge(*ends, strength=edge.strength, label=edge.label)
            pair = f"{names[edge.first]},\n{names[edge.second]}"
            condition = "\n| " + ", ".join(names[i] for i in sorted(edge.given))
            joined[edge.given | {edge.first, edge.second}] = pair + condition * bool(edge.given)
        graphs.append(graph)
        labels = joined
    return graphs


def plot_trees(
    graphs: list[nx.Graph], path: str | Path, heading: str = "family and Kendall's tau"
) -> None:
    """Draw the trees side by side; thick edges are strong, red ones negative, dotted ones none."""
    graphs = graphs[:MOST_TREES]
    if not graphs:
        raise SettingError("the vine has no tree to draw: all columns are independent")
    side = 6 + 0.25 * len(graphs[0])
    with picture(path, side * len(graphs), side) as figure:
        panels = figure.subplots(1, len(graphs), squeeze=False)[0]
        for level, (graph, axes) in enumerate(zip(graphs, panels, strict=True), start=1):
            _draw_tree(graph, axes)
            axes.set_title(f"Tree {level}: {heading}")


def _draw_tree(graph: nx.Graph, axes: Any) -> None:
    where = nx.kamada_kawai_layout(graph)
    strengths = nx.get_edge_attributes(graph, "strength").values()
    style = {
        "width": [0.8 + 6 * abs(strength) for strength in strengths],
        "edge_color": ["#c0392b" if strength < 0 else "#34678f" for strength in strengths],
        "style": ["dotted" if strength == 0 else "solid" for strength in strengths],
    }
    nx.draw_networkx(
        graph, where, ax=axes, font_size=8, node_color="#dbe7f3", node_size=1100, **style
    )
    labels = nx.get_edge_attributes(graph, "label")
    box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.6, "pad": 0.5}
    nx.draw_networkx_edge_labels(graph, where, labels, ax=axes, font_size=7, rotate=False, bbox=box)
    axes.margins(0.15)
    axes.set_axis_off()
