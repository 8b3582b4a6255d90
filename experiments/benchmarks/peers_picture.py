"""README's picture: how far pairs of columns are off over epsilon, and how long a fit takes.

Run it with ``python -m copula_shirley.experiments.benchmarks.peers_picture
experiments/results/peers.csv docs/images/peers.png``. It shows Adult, where AIM was run, too.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd

from copula_shirley.experiments.benchmarks.ratios import means, wide

SHOWN = {"tvd2": "error of pairs of columns (tvd2)", "fit_cpu_seconds": "seconds of a fit"}
COLOURS = {"AIM": "tab:orange", "MST": "tab:green", "PrivBayes": "tab:red"}


def main() -> None:
    """Draw a file of figures as a PNG."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path)
    parser.add_argument("picture", type=Path)
    options = parser.parse_args()
    lines = means(wide(pd.read_csv(options.results)), list(SHOWN))
    adult = lines[lines["dataset"] == "adult"].sort_values("epsilon").set_index("who")
    figure, panels = plt.subplots(1, 2, figsize=(8, 3.1), layout="constrained")
    for axes, (metric, title) in zip(panels, SHOWN.items(), strict=True):
        for who, colour in COLOURS.items():
            of = adult.loc[f"{who} (dpmm)"]
            axes.plot(of["epsilon"], of[metric], "o-", lw=1.3, c=colour, label=who)
        of = adult.loc["PrivateVine"]
        axes.plot(of["epsilon"], of[metric], "o-", lw=3, c="#0b62a4", label="PrivateVine")
        axes.set(xscale="log", yscale="log", xlabel="epsilon", title=f"Adult: {title}")
        axes.set_xticks([0.1, 1, 8], ["0.1", "1", "8"])
        axes.minorticks_off()
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].axhline(adult.loc["Real rows", "tvd2"], ls=":", c="grey", label="other real rows")
    panels[0].set_yticks([0.03, 0.1, 0.3], ["0.03", "0.1", "0.3"])
    panels[0].legend(fontsize=8, frameon=False)
    panels[1].set_yticks([1, 10, 100, 1000], ["1 s", "10 s", "100 s", "1000 s"])
    figure.savefig(options.picture, dpi=110)


if __name__ == "__main__":
    main()
