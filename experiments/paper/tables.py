"""Tables 5.1 and 5.2 beside what the thesis prints, and the numbers behind figures 5.5 to 5.8."""

from __future__ import annotations

from math import isnan

import numpy as np
import pandas as pd

from copula_shirley.experiments.estimates import Estimate, estimate
from copula_shirley.experiments.paper.coefficients import PAIRS, PREFIX, reference
from copula_shirley.experiments.paper.printed import (
    COEFFICIENTS,
    MINUTES,
    PANELS,
    REAL,
    REFERENCE,
    STAND_IN,
    STRONG_ATTACK,
    TITLES,
    epsilon_text,
    shown,
)
from copula_shirley.experiments.paper.scores import Scores


def promises(
    scores: Scores, experiment: str, dataset: str, generator: str, epsilon: float
) -> dict[str, str]:
    """What a generator claims and what its ledger proves."""
    done = scores.done
    own = done[(done["experiment"] == experiment) & (done["dataset"] == dataset)]
    own = own[(own["generator"] == generator) & (own["epsilon"].fillna(np.inf) == epsilon)]
    return {name: ", ".join(dict.fromkeys(own[name])) for name in ("claimed", "proved")}


def table_5_1(scores: Scores) -> pd.DataFrame:
    """Run times in minutes of fit and sample, the thesis' and ours."""
    lines = []
    for dataset in scores.datasets("runtime"):
        for generator in scores.generators("runtime", dataset):
            minutes = whole_minutes(scores, dataset, generator)
            thesis = MINUTES.get("texas" if dataset == STAND_IN else dataset, {}).get(generator)
            lines.append(
                {
                    "data set": TITLES.get(dataset, dataset),
                    "generator": shown(generator),
                    "thesis, minutes": "" if thesis is None else f"{thesis:.3f}",
                    "ours, minutes": f"{minutes.mean:.3f}",
                    "95 % interval": interval(minutes),
                    "folds": minutes.folds,
                    **promises(scores, "runtime", dataset, generator, 1.0),
                }
            )
    return pd.DataFrame(lines)


def whole_minutes(scores: Scores, dataset: str, generator: str) -> Estimate:
    """Minutes of fit and sample together."""
    parts = [
        scores.values("runtime", f"{part}_seconds", dataset, generator).groupby("fold").mean()
        for part in ("fit", "sample")
    ]
    return estimate(((parts[0] + parts[1]) / 60).dropna())


def interval(found: Estimate, digits: int = 3) -> str:
    """An interval in words."""
    return "" if isnan(found.low) else f"{found.low:.{digits}f} to {found.high:.{digits}f}"


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
            found = [
                scores.estimate("multivariate", f"{PREFIX}{pair}", "made", generator, "", epsilon)
                for pair in PAIRS
            ]
            if not all(each.folds for each in found):
                continue
            folds = "1 fold" if found[0].folds == 1 else f"{found[0].folds} folds"
            source = f"ours, epsilon {epsilon_text(epsilon)}, {folds}"
            means = tuple(each.mean for each in found)
            words = promises(scores, "multivariate", "made", generator, epsilon)
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
    metrics = {
        **{name: title for name, (title, _) in PANELS.items()},
        STRONG_ATTACK: "strong attack",
    }
    lines = []
    for generator in (*scores.generators("models", dataset), REAL):
        for epsilon in [*scores.epsilons("models", dataset)]:
            found = {
                title: scores.estimate("models", metric, dataset, generator, "", epsilon)
                for metric, title in metrics.items()
            }
            if any(each.folds for each in found.values()):
                lines.append(
                    {
                        "generator": shown(generator),
                        "epsilon": epsilon_text(epsilon),
                        **promises(scores, "models", dataset, generator, epsilon),
                        **{title: _cell(each) for title, each in found.items()},
                    }
                )
    return pd.DataFrame(lines)


def _cell(found: Estimate) -> str:
    if not found.folds:
        return ""
    return f"{found.mean:.3f}" + (f" ± {found.reach:.3f}" if found.folds > 1 else "")


# -- what did not work, where it came from ------------------------------------------


def failures(frame: pd.DataFrame) -> pd.DataFrame:
    """Runs that did not end with figures, alike ones together."""
    part = frame[frame["status"] != "done"].copy()
    if part.empty:
        return pd.DataFrame()
    part["who"] = (part["generator"] + " " + part["variant"]).str.strip()
    part["reason"] = part["reason"].str.split("\n").str[0]
    keys = ["experiment", "dataset", "status", "reason"]
    found = part.groupby(keys, sort=False)["who"].agg(["nunique", "count", "first"]).reset_index()
    who = found["first"].where(found["nunique"] == 1, found["nunique"].astype(str) + " generators")
    found.insert(2, "who", who)
    found.insert(3, "runs", found["count"])
    return found.drop(columns=["nunique", "count", "first"]).rename(columns={"dataset": "data set"})


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
                "first and last": " to ".join(dict.fromkeys([times[0], times[-1]]))
                if times
                else "",
                "commit": ", ".join(sorted({text[:10] for text in runs["commit"]})) + changed,
                "made by": "; ".join(sorted(set(runs["made_by"]))),
            }
        )
    return pd.DataFrame(lines)
