"""docs/privacy.md: its figures are those of the code, and what it names exists."""

from __future__ import annotations

import math
import pkgutil
import re
from pathlib import Path

from copula_shirley.privacy.meaning import FALSE_POSITIVES, most_true_positives
from copula_shirley.privacy.zcdp import rho_of

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
    packages = ("copula_shirley",)
    names = re.findall(r"`(copula_shirley\.[\w.]+)`", PAGE)
    assert len(names) > 12
    for name in names:
        assert name.startswith(packages)
        pkgutil.resolve_name(name)
    for path in re.findall(r"`(tests/[\w/]+\.py)`", PAGE):
        assert (ROOT / path).exists(), path
