"""What the figures of a report mean, in words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

Row = dict[str, Any]
#: Short heading and meaning of the metrics that we know.
ABOUT = {
    "ks": ("KS", "how far single columns are off (Kolmogorov-Smirnov distance, mean)"),
    "tvd1": ("TVD 1", "how far single columns are off (total variation, mean)"),
    "tvd2": ("TVD 2", "how far pairs of columns are off (total variation, mean)"),
    "tvd3": ("TVD 3", "how far triples of columns are off (total variation, mean)"),
    "spearman_drift": ("drift", "how far rank correlations are off (mean over pairs)"),
    "spearman_drift_max": ("drift, worst", "how far the worst rank correlation is off"),
    "spearman_drift_off_diagonal": ("drift, pairs", "drift without a column's pair with itself"),
    "mcc_binary": ("MCC binary", "a classifier trained on synthetic rows, judged on real ones"),
    "mcc_multiclass": ("MCC multi", "the same as MCC binary, for a target with several classes"),
    "rmse": ("RMSE", "error of a regression trained on synthetic rows, judged on real ones"),
    "detection_auc": ("detection", "can a classifier tell synthetic from real rows"),
    "propensity_mse": ("pMSE", "how sure a classifier is when it tells synthetic from real rows"),
    "coverage_means": ("cover means", "how often an interval from synthetic rows holds the mean"),
    "coverage_coefficients": (
        "cover coeff.",
        "the same as cover means, for coefficients of a regression",
    ),
    "membership_hamming": (
        "attack",
        "right calls of an attack: was this row among the training rows?",
    ),
    "membership_hamming_max": (
        "attack, max",
        "the membership attack at its luckiest of 50 repetitions",
    ),
    "membership_hamming_all": (
        "attack, all",
        "the membership attack with every synthetic row: stronger",
    ),
    "membership_hamming_counting": (
        "attack, count",
        "the membership attack by counting close rows",
    ),
    "membership_euclidean": ("attack, Eucl.", "the membership attack by Euclidean distance"),
    "membership_euclidean_max": ("attack, Eucl. max", "the same at its luckiest of 50 repetitions"),
    "membership_euclidean_counting": (
        "attack, Eucl. count",
        "the same by counting the rows that are close",
    ),
    "attribute_inference": ("attribute", "guessing a secret: success beyond rows never seen"),
    "singling_out": ("singling out", "describing one person: success beyond rows never seen"),
    "validity": ("valid", "share of rows that fit the schema"),
}
ATTACKS = ("attribute_inference", "singling_out")
#: How a direction is shown and read.
DIRECTIONS = {
    "lower": ("↓", "lower is better"),
    "higher": ("↑", "higher is better"),
    "0.5": ("→.5", ".5 is a coin: no more than that is best"),
    "none": ("", "a description, not ranked"),
}


@dataclass(frozen=True)
class Measure:
    """A metric as it stands in a report."""

    name: str
    label: str
    about: str
    better: str
    arrow: str
    attack: bool
    bounds: tuple[float | None, float | None] = (None, None)

    @property
    def tip(self) -> str:
        """Name, meaning and direction."""
        return f"{self.name}: {self.about or self.label}; {DIRECTIONS[self.better][1]}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values for the charts."""
        return {**asdict(self), "tip": self.tip}


def measures_of(rows: Iterable[Row]) -> dict[str, Measure]:
    """Every metric of the finished runs, in the order of appearance."""
    found: dict[str, Measure] = {}
    for row in rows:
        for name, figure in row.get("figures", {}).items():
            if name not in found:
                label, about = ABOUT.get(name, (name.replace("_", " "), ""))
                better = figure["better"] if figure["better"] in DIRECTIONS else "none"
                attack = better == "0.5" or name in ATTACKS
                low, high = figure.get("bounds") or (None, None)
                arrow = DIRECTIONS[better][0]
                found[name] = Measure(name, label, about, better, arrow, attack, (low, high))
    return found


def number(value: float) -> str:
    """A figure as it stands in a table.

    Examples
    --------
    >>> number(0.12345), number(12.345), number(1234.5), number(-0.0001)
    ('0.123', '12.35', '1,234', '0.000')
    """
    if abs(value) >= 100:
        return f"{value:,.0f}"
    text = f"{value:.2f}" if abs(value) >= 10 else f"{value:.3f}"
    return text.replace("-", "", 1) if float(text) == 0 else text


def short(guaranteed: str) -> str:
    r"""A guarantee in Greek letters.

    Examples
    --------
    >>> print(ascii(short("epsilon 1, delta 1e-09")))
    '\u03b5\xa01, \u03b4\xa01e\u201109'
    """
    # spaces and a hyphen at which no line is broken
    text = guaranteed.replace("epsilon ", "ε\xa0").replace("delta ", "δ\xa0")
    return text.replace("e-", "e\u2011")


def seconds(value: float) -> str:
    """A duration.

    Examples
    --------
    >>> seconds(0.0312), seconds(2.66), seconds(75.2), seconds(7300)
    ('0.03 s', '2.7 s', '75 s', '2.0 h')
    """
    if value < 1:
        return f"{value:.2f} s"
    if value < 10:
        return f"{value:.1f} s"
    return f"{value:.0f} s" if value < 3600 else f"{value / 3600:.1f} h"


def guarantee(claimed: str, proved: str) -> tuple[str, str]:
    """How a claim stands to its proof: a mark and a sentence.

    Examples
    --------
    >>> guarantee("epsilon 1", "epsilon 1")
    ('kept', 'Claims epsilon 1 and proves it.')
    >>> guarantee("epsilon 1", "nothing")
    ('broken', 'Claims epsilon 1 and proves nothing.')
    """
    if proved == "not known":
        return "unknown", f"Claims {claimed}; we know of no proof."
    if proved == "nothing":
        mark = "none" if claimed == "nothing" else "broken"
        return mark, f"Claims {claimed} and proves nothing."
    if claimed == proved:
        return "kept", f"Claims {claimed} and proves it."
    if claimed == "nothing":
        return "kept", f"Claims nothing; proved is {proved}."
    return "other", f"Claims {claimed}; what is proved is {proved}."
