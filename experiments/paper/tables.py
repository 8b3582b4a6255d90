"""Tables 5.1 and 5.2 beside what the thesis prints, and the numbers behind figures 5.5 to 5.8."""

from __future__ import annotations

from math import isnan
from typing import Any

import numpy as np
import pandas as pd

from copula_shirley.experiments.estimates import Estimate
from copula_shirley.experiments.paper.chapter import (
    CHAPTER,
    COEFFICIENTS,
    REAL,
    REFERENCE,
    STRONG_ATTACK,
    shown,
    title_of,
)
from copula_shirley.experiments.paper.coefficients import PAIRS, PREFIX, reference
from copula_shirley.experiments.paper.scores import Scores
from copula_shirley.experiments.specs import epsilon_text


def table_5_1(scores: Scores) -> pd.DataFrame:
    """Run times in minutes of fit and sample, the thesis' and ours."""
    lines = []
    for dataset in scores.datasets("runtime"):
        printed = CHAPTER.datasets[dataset].minutes if dataset in CHAPTER.datasets else {}
        for generator in scores.generators("runtime", dataset):
            minutes = scores.estimate("runtime", "seconds", dataset, generator) / 60
            known = "" if isnan(minutes.low) else f"{minutes.low:.3f} to {minutes.high:.3f}"
            lines.append(
                {
                    "data set": title_of(dataset),
                    "generator": shown(generator),
                    "thesis, minutes": f"{printed[generator]:.3f}" if generator in printed else "",
                    "ours, minutes": f"{minutes.mean:.3f}",
                    "95 % interval": known,
                    "folds": minutes.folds,
                    **scores.promises("runtime", dataset, generator, 1.0),
                }
            )
    return pd.DataFrame(lines)


def table_5_2(scores: Scores) -> pd.DataFrame:
    """The seven coefficients: the thesis', then ours at each epsilon, with the mean error."""
    if not scores.datasets("multivariate"):
        return pd.DataFrame()
    lines = [_line("reference", "thesis", REFERENCE, REFERENCE)]
    for generator, printed in COEFFICIENTS.items():
        lines.append(_line(generator, "thesis", printed, REFERENCE))
    lines.append(_line("reference", "ours", reference(), reference()))
    for epsilon in scores.epsilons("multivariate"):
        for generator in scores.generators("multivariate", "made"):
            where = ("made", generator, "", epsilon)
            found = [scores.estimate("multivariate", f"{PREFIX}{p}", *where) for p in PAIRS]
            if all(each.folds for each in found):
                folds = "1 fold" if found[0].folds == 1 else f"{found[0].folds} folds"
                source = f"ours, epsilon {epsilon_text(epsilon)}, {folds}"
                means = tuple(each.mean for each in found)
                words = scores.promises("multivariate", "made", generator, epsilon)
                lines.append({**_line(shown(generator), source, means, reference()), **words})
    return pd.DataFrame(lines).fillna("")


def _line(
    name: str, source: str, values: tuple[float, ...], truth: tuple[float, ...]
) -> dict[str, str]:
    error = float(np.abs(np.subtract(values, truth)).mean())
    cells = {pair: f"{value:.4f}" for pair, value in zip(PAIRS, values, strict=True)}
    last = {"mean abs. error": "" if name == "reference" else f"{error:.4f}"}
    return {"generator": name, "source": source, **cells, **last}


def table_of_models(scores: Scores, dataset: str) -> pd.DataFrame:
    """Means over folds of every generator and epsilon on a data set, with half the interval."""
    titles = {name: measure.title for name, measure in CHAPTER.measures.items()}
    titles[STRONG_ATTACK] = "strong attack"
    lines = []
    for generator in (*scores.generators("models", dataset), REAL):
        for epsilon in scores.epsilons("models", dataset):
            where = (dataset, generator, "", epsilon)
            cells = {
                t: _cell(scores.estimate("models", name, *where)) for name, t in titles.items()
            }
            if any(cells.values()):
                about: dict[str, Any] = {"generator": shown(generator)}
                about["epsilon"] = epsilon_text(epsilon)
                promised = scores.promises("models", dataset, generator, epsilon)
                lines.append({**about, **promised, **cells})
    return pd.DataFrame(lines)


def _cell(found: Estimate) -> str:
    if not found.folds:
        return ""
    return f"{found.mean:.3f}" + (f" ± {found.reach:.3f}" if found.folds > 1 else "")


# -- what did not work, where it came from ------------------------------------------


def failures(frame: pd.DataFrame) -> pd.DataFrame:
    """Runs that did not end with figures, alike ones together."""
    part = frame[frame["status"] != "done"]
    who = (part["generator"] + " " + part["variant"]).str.strip()
    part = part.assign(who=who, reason=part["reason"].str.split("\n").str[0])
    lines = []
    keys = ["experiment", "dataset", "status", "reason"]
    for (experiment, dataset, status, reason), own in part.groupby(keys, sort=False):
        names = set(own["who"])
        lines.append(
            {
                "experiment": experiment,
                "data set": dataset,
                "who": names.pop() if len(names) == 1 else f"{len(names)} generators",
                "runs": len(own),
                "status": status,
                "reason": reason,
            }
        )
    return pd.DataFrame(lines)


def origins(frame: pd.DataFrame) -> pd.DataFrame:
    """Commit, versions, processor and time of the runs of each experiment."""
    lines = []
    for experiment, part in frame.groupby("experiment", sort=False):
        runs = part.drop_duplicates("id")
        changed = " (files differed)" if "True" in set(runs["dirty"].map(str)) else ""
        times = sorted(filter(None, runs["time"]))
        lines.append(
            {
                "experiment": experiment,
                "runs": len(runs),
                "done": int((runs["status"] == "done").sum()),
                "first and last": " to ".join(dict.fromkeys([*times[:1], *times[-1:]])),
                "commit": ", ".join(sorted({text[:10] for text in runs["commit"]})) + changed,
                "made by": "; ".join(sorted(set(runs["made_by"]))),
            }
        )
    return pd.DataFrame(lines)
