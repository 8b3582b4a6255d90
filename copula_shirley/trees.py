"""A fitted vine to look at: its trees as a table and as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from copula_shirley.errors import SettingError
from copula_shirley.files.model_file import atomic_path
from copula_shirley.lazy import LazyModule

if TYPE_CHECKING:
    import networkx as nx
    import pyvinecopulib as pv
else:
    nx = LazyModule("networkx")

#: Trees drawn at the most; later ones have weak edges.
MOST_TREES = 6


def trees_table(vine: pv.Vinecop, names: list[str]) -> pd.DataFrame:
    """One row per edge: tree, pair, what it is conditioned on, family, Kendall's tau."""
    rows = []
    for level, tree in enumerate(vine.get_trees(), start=1):
        for edge in tree:
            pair = edge["pair_copula"]
            first, second = (names[i - 1] for i in edge["conditioned"])
            given = [names[i - 1] for i in edge["conditioning"]]
            rows.append(
                {
                    "tree": level,
                    "first": first,
                    "second": second,
                    "given": ", ".join(given),
                    "family": family_name(pair.family),
                    "rotation": pair.rotation,
                    "parameters": round(float(pair.npars), 1),
                    "tau": round(float(pair.tau), 4),
                }
            )
    columns = ["tree", "first", "second", "given", "family", "rotation", "parameters", "tau"]
    return pd.DataFrame(rows, columns=columns)


def family_name(family: Any) -> str:
    """The name of a family, as pyvinecopulib writes it in Python."""
    return str(family).rpartition(".")[2]


def plot_trees(
    graphs: list[nx.Graph], path: str | Path, heading: str = "family and Kendall's tau"
) -> None:
    """Draw the trees side by side; thick edges are strong, red ones negative, dotted ones none."""
    # the object interface draws to the file without a display or a global state
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    kind = Path(path).suffix.lstrip(".").lower()
    if kind not in ("png", "pdf", "svg"):
        raise SettingError(f"plot file {str(path)!r} must end in .png, .pdf or .svg")
    graphs = graphs[:MOST_TREES]
    if not graphs:
        raise SettingError("the vine has no tree to draw: all columns are independent")
    side = 6 + 0.25 * len(graphs[0])
    figure = Figure(figsize=(side * len(graphs), side), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, len(graphs), squeeze=False)[0]
    for level, (graph, axes) in enumerate(zip(graphs, panels, strict=True), start=1):
        _draw_tree(graph, axes)
        axes.set_title(f"Tree {level}: {heading}")
    show_as_written(figure)
    with atomic_path(path) as partial:
        figure.savefig(partial, format=kind, dpi=100)


def show_as_written(figure: Any) -> None:
    """Names of columns are no formulas: matplotlib would set what stands between two dollars."""
    from matplotlib.text import Text  # noqa: PLC0415

    for text in figure.findobj(Text):
        text.set_parse_math(False)


@dataclass(frozen=True)
class DrawnEdge:
    """An edge of a tree: two variables, those they are conditioned on, strength and label."""

    first: int
    second: int
    given: frozenset[int]
    strength: float
    label: str


def tree_graphs(vine: pv.Vinecop, names: list[str]) -> list[nx.Graph]:
    """The trees of a pyvinecopulib vine as graphs."""
    trees = [
        [
            DrawnEdge(
                edge["conditioned"][0] - 1,
                edge["conditioned"][1] - 1,
                frozenset(i - 1 for i in edge["conditioning"]),
                float(edge["pair_copula"].tau),
                f"{family_name(edge['pair_copula'].family)}\n{edge['pair_copula'].tau:+.2f}",
            )
            for edge in tree
        ]
        for tree in vine.get_trees()
    ]
    return graphs_of(trees, names)


def graphs_of(trees: Sequence[Sequence[DrawnEdge]], names: Sequence[str]) -> list[nx.Graph]:
    """Trees as graphs; the nodes of a tree are the edges of the one before."""
    labels = {frozenset([i]): name for i, name in enumerate(names)}
    graphs = []
    for tree in trees:
        graph, edges = nx.Graph(), {}
        for edge in tree:
            graph.add_edge(
                labels[edge.given | {edge.first}],
                labels[edge.given | {edge.second}],
                strength=edge.strength,
                label=edge.label,
            )
            pair = f"{names[edge.first]},\n{names[edge.second]}"
            condition = "\n| " + ", ".join(names[i] for i in sorted(edge.given))
            edges[edge.given | {edge.first, edge.second}] = pair + condition * bool(edge.given)
        graphs.append(graph)
        labels = edges
    return graphs


def _draw_tree(graph: nx.Graph, axes: Any) -> None:
    where = nx.kamada_kawai_layout(graph)
    strengths = [data["strength"] for _, _, data in graph.edges(data=True)]
    nx.draw_networkx(
        graph,
        where,
        ax=axes,
        font_size=8,
        node_color="#dbe7f3",
        node_size=1100,
        width=[0.8 + 6 * abs(strength) for strength in strengths],
        edge_color=["#c0392b" if strength < 0 else "#34678f" for strength in strengths],
        style=["dotted" if strength == 0 else "solid" for strength in strengths],
    )
    labels = {(a, b): data["label"] for a, b, data in graph.edges(data=True)}
    box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.6, "pad": 0.5}
    nx.draw_networkx_edge_labels(graph, where, labels, ax=axes, font_size=7, rotate=False, bbox=box)
    axes.margins(0.15)
    axes.set_axis_off()
