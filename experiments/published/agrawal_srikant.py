"""Agrawal and Srikant (2000): privacy as a width, reconstruction, trees; and what epsilon it is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from copula_shirley.experiments.published.claims import Found
from copula_shirley.experiments.published.distortion import (
    CELLS,
    LAWS,
    Cells,
    Distortion,
    Law,
    interval,
)
from copula_shirley.experiments.published.people import (
    BOUNDS,
    FUNCTIONS,
    People,
    group_a,
    made_people,
)
from copula_shirley.experiments.published.trees import Classes, Distorted, grown
from copula_shirley.experiments.specs import Size
from copula_shirley.privacy.zcdp import epsilon_of

LEVELS = (0.25, 0.5, 1.0, 1.5, 2.0)
DELTA = 1e-9


@dataclass(frozen=True)
class Sizes:
    """How many people are made, and at which levels of privacy."""

    training: int
    test: int
    levels: tuple[float, ...]


SIZES: dict[Size, Sizes] = {
    "quick": Sizes(10_000, 5_000, (0.25, 0.5, 1.0, 2.0)),
    "full": Sizes(100_000, 5_000, LEVELS),
}


def reproduced(size: Size) -> Found:
    """All figures and tables of the paper."""
    sizes, rng = SIZES[size], np.random.default_rng(0)
    widths, width_figures = _widths()
    certain, certain_figures = _certain(rng)
    shapes, shape_figures = _shapes(rng)
    trees, tree_figures = _trees(sizes)
    return Found(
        {**width_figures, **certain_figures, **shape_figures, **tree_figures},
        {
            "Width of the interval of a confidence": widths,
            "What a level of privacy is worth": certain,
            "Reconstruction: total variation distance from the true histogram": shapes,
            "Trees: accuracy on undistorted people": trees,
        },
    )


def _widths() -> tuple[pd.DataFrame, dict[str, float]]:
    """Table 1: privacy of each method by confidence; a cell of width W holds the value surely."""
    figures: dict[str, float] = {}
    lines = []
    for confidence in (0.5, 0.95, 0.999):
        words = f"{confidence:.1%}".replace(".0", "")
        uniform, gaussian = (interval(law, confidence) for law in LAWS)
        figures |= {f"uniform {words}": uniform / 2, f"gaussian {words}": gaussian}
        line = {"confidence": words, "cells (W)": f"{confidence:.3f}"}
        lines.append({**line, "uniform (2 alpha)": f"{uniform / 2:.3f}",
                      "Gaussian (sigma)": f"{gaussian:.3f}"})  # fmt: skip
    low, high = BOUNDS["salary"]
    figures["salary 50%"] = 0.5 * (high - low)
    return pd.DataFrame(lines), figures


def _certain(rng: np.random.Generator) -> tuple[pd.DataFrame, dict[str, float]]:
    """What is known of a distorted salary for certain, and the epsilon of one report.

    A uniform distortion of w says that the value is at most alpha away, and no further than the
    domain reaches: a value near an end can give itself away. Its epsilon is infinite, since some
    reports are possible for one value only. Gaussian noise of sigma on a value of width W has
    mu = W / sigma in Gaussian differential privacy.
    """
    low, high = BOUNDS["salary"]
    width, lines = high - low, []
    figures: dict[str, float] = {}
    values = rng.uniform(low, high, 400_000)
    for level in LEVELS:
        uniform = Distortion("uniform", level, low, high)
        seen, alpha = uniform.distorted(values, rng), uniform.scale
        left = (np.minimum(seen + alpha, high) - np.maximum(seen - alpha, low)) / width
        mu = width / Distortion("gaussian", level, low, high).scale
        epsilon = epsilon_of(mu**2 / 2, DELTA, gdp=True)
        known = float((left < 0.1).mean())
        narrower = float((left < level).mean())
        figures |= {f"epsilon {level:.0%}": epsilon, f"known {level:.0%}": known}
        figures[f"narrower {level:.0%}"] = narrower
        lines.append({
            "level": f"{level:.0%}",
            "uniform: epsilon": "infinite",
            "width left, mean": f"{left.mean():.2f}",
            "narrower than the level": f"{narrower:.3f}",
            "known to a tenth of the domain": f"{known:.4f}",
            f"Gaussian: epsilon (delta {DELTA:g})": f"{epsilon:.1f}",
        })  # fmt: skip
    often = Distortion("uniform", 2.0, low, high)
    reports = np.array([often.distorted(values[:10_000], rng) for _ in range(10)])
    left = 2 * often.scale - np.ptp(reports, axis=0)
    figures["ten reports at 200%"] = float(left.mean()) / width
    return pd.DataFrame(lines), figures


def _shapes(rng: np.random.Generator) -> tuple[pd.DataFrame, dict[str, float]]:
    """A plateau and two triangles, distorted at 100 % and reconstructed."""
    n, lines = 100_000, []
    figures: dict[str, float] = {}
    shapes = {
        "plateau": np.where(rng.random(n) < 0.8, rng.uniform(0.25, 0.75, n), rng.random(n)),
        "triangles": np.where(
            rng.random(n) < 0.5, rng.triangular(0, 0.25, 0.5, n), rng.triangular(0.5, 0.75, 1, n)
        ),
    }
    for shape, values in shapes.items():
        for law in LAWS:
            noise = Distortion(law, 1.0, 0.0, 1.0)
            seen = noise.distorted(values, rng)
            true, raw = (
                np.bincount(noise.cells(each), minlength=CELLS) / n for each in (values, seen)
            )
            before, after = (
                float(np.abs(each - true).sum() / 2) for each in (raw, noise.shares(seen))
            )
            figures[f"{shape} {law}"] = after / before
            lines.append({"shape": shape, "noise": law, "distorted": f"{before:.3f}",
                          "reconstructed": f"{after:.3f}"})  # fmt: skip
    figures["reconstruction, worst"] = max(figures.values())
    return pd.DataFrame(lines), figures


def _trees(sizes: Sizes) -> tuple[pd.DataFrame, dict[str, float]]:
    """Trees on every function, law and level.

    What a tree *keeps* is its accuracy above that of the majority, as a share of what a tree on
    undistorted people has.
    """
    kept: dict[tuple[str, float], list[float]] = {}
    made: dict[str, list[int]] = {}
    lines = []
    for number, function in enumerate(FUNCTIONS):
        training, test = (
            made_people(n, np.random.default_rng([number, which]))
            for which, n in enumerate((sizes.training, sizes.test))
        )
        classes, truth = group_a(training, function), group_a(test, function)
        seen, shown = (_cells(people) for people in (training, test))
        clean = float((grown(seen, classes).predict(shown) == truth).mean())
        majority = float(max(truth.mean(), 1 - truth.mean()))
        for law in LAWS:
            for level in sizes.levels:
                trees = _distorted(training, classes, law, level).trees()
                line = {"function": function, "noise": law, "level": f"{level:.0%}",
                        "majority": f"{majority:.2f}", "undistorted": f"{clean:.2f}"}  # fmt: skip
                for kind, (tree, reconstructions) in trees.items():
                    accuracy = float((tree.predict(shown) == truth).mean())
                    line[kind] = f"{accuracy:.2f}"
                    share = (accuracy - majority) / (clean - majority)
                    kept.setdefault((kind, level), []).append(share)
                    made.setdefault(kind, []).append(reconstructions)
                lines.append(line)
    figures = {f"{kind} keeps {level:.0%}": float(np.mean(v)) for (kind, level), v in kept.items()}
    for kind in ("ByClass", "Local"):
        ratio = figures[f"{kind} keeps 100%"] / figures[f"{kind} keeps 50%"]
        figures[f"{kind} at 100% against 50%"] = ratio
    figures["Global above ByClass"] = max(
        figures[f"Global keeps {level:.0%}"] - figures[f"ByClass keeps {level:.0%}"]
        for level in sizes.levels
    )
    figures["fall beyond 100%"] = min(
        figures[f"{kind} keeps 200%"] / figures[f"{kind} keeps 100%"]
        for kind in ("ByClass", "Local")
    )
    means = {kind: float(np.mean(counts)) for kind, counts in made.items()}
    figures["reconstructions of ByClass"] = means["ByClass"] / means["Global"]
    figures["reconstructions of Local"] = means["Local"] / means["ByClass"]
    return pd.DataFrame(lines), figures


def _cells(people: People) -> Cells:
    """Cells of undistorted people; the noise of the distortion is not drawn."""
    by = [Distortion("uniform", 1.0, *bounds) for bounds in BOUNDS.values()]
    return np.column_stack([one.cells(people[name]) for one, name in zip(by, BOUNDS, strict=True)])


def _distorted(people: People, classes: Classes, law: Law, level: float) -> Distorted:
    rng = np.random.default_rng([LAWS.index(law), round(100 * level)])
    by = [Distortion(law, level, *bounds) for bounds in BOUNDS.values()]
    values = [one.distorted(people[name], rng) for one, name in zip(by, BOUNDS, strict=True)]
    return Distorted(by, np.column_stack(values), classes)
