"""docs/privacy.md: its figures are those of the code, and what it names exists."""

from __future__ import annotations

import importlib
import math
import re
from pathlib import Path

from copula_shirley.accounting import rho_of
from copula_shirley.tradeoff import FALSE_POSITIVES, most_true_positives

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "privacy.md").read_text(encoding="utf-8")


def test_the_table_of_epsilons() -> None:
    lines = re.findall(r"^\| epsilon (\S+) \| (.+) \|$", PAGE, flags=re.MULTILINE)
    assert len(lines) == 5
    for text, cells in lines:
        epsilon, delta = float(text), 1e-9
        rho = rho_of(epsilon, delta)
        bounds = [most_true_positives(f, epsilon) for f in FALSE_POSITIVES]
        bounds += [most_true_positives(f, epsilon, delta, rho=rho) for f in FALSE_POSITIVES]
        shown = [float(cell) for cell in cells.split(" | ")]
        assert shown == [math.ceil(1000 * bound - 1e-6) / 10 for bound in bounds]


def test_what_the_page_names_exists() -> None:
    packages = ("copula_shirley", "baselines")
    names = re.findall(r"`((?:copula_shirley|baselines)\.[\w.]+)`", PAGE)
    names += [
        f"copula_shirley.{name}"
        for name in re.findall(r"`((?:privacy|measure|noise|accounting)\.[\w.]+)`", PAGE)
    ]
    assert len(names) > 12
    for name in names:
        assert name.startswith(packages)
        parts = name.split(".")
        thing = importlib.import_module(".".join(parts[:2]))
        for part in parts[2:]:
            thing = getattr(thing, part)
    for path in re.findall(r"`(tests/[\w/]+\.py)`", PAGE):
        assert (ROOT / path).exists(), path
