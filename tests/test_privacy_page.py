"""Pages about privacy: their figures are those of the code, and what they name exists."""

from __future__ import annotations

import math
import pkgutil
import re
from pathlib import Path

import pytest

from copula_shirley.measure.calibration import Calibration
from copula_shirley.privacy.budget import Budget, Sensitivity
from copula_shirley.privacy.meaning import FALSE_POSITIVES, most_true_positives
from copula_shirley.privacy.zcdp import rho_of

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "privacy.md").read_text(encoding="utf-8")


def test_the_table_of_epsilons() -> None:
    lines = re.findall(r"^\| epsilon (\S+) \| (.+) \|$", PAGE, flags=re.MULTILINE)
    assert len(lines) == 5
    for text, cells in lines:
        epsilon, delta = float(text), 1e-9
        rho = rho_of(epsilon, delta, gdp=True)
        bounds = [most_true_positives(f, epsilon) for f in FALSE_POSITIVES]
        bounds += [
            most_true_positives(f, epsilon, delta, rho=rho, gdp=True) for f in FALSE_POSITIVES
        ]
        shown = [float(cell) for cell in cells.split(" | ")]
        assert shown == [math.ceil(1000 * bound - 1e-6) / 10 for bound in bounds]


@pytest.mark.parametrize("page", ["privacy", "private_vine"])
def test_what_the_page_names_exists(page: str) -> None:
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    names = re.findall(r"`(copula_shirley\.[\w.]+)`", text)
    # the page about PrivateVine says that other names are of its package
    rooms = {path.stem for path in (ROOT / "copula_shirley" / "private_vine").glob("*.py")}
    own = [n for n in re.findall(r"`(\w+\.[\w.]+)`", text) if n.split(".")[0] in rooms]
    assert len(names) > 12 and (page == "privacy" or len(own) > 15)
    for name in [*names, *(f"copula_shirley.private_vine.{name}" for name in own)]:
        pkgutil.resolve_name(name)
    tests = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", text)
    for path, test in tests:
        assert f"def {test}" in (ROOT / path).read_text(encoding="utf-8"), (path, test)
    lemmas = re.findall(r"^\*\*Lemma \d.*?(?=^\*\*|\Z)", text, flags=re.MULTILINE | re.DOTALL)
    assert all("`copula_shirley." in lemma and ".py::test_" in lemma for lemma in lemmas)
    assert len(lemmas) == (7 if page == "private_vine" else 0)


def test_the_table_of_less_noise() -> None:
    lines = re.findall(r"^\| (\S+) tables? \| (.+ less .+) \|$", PAGE, flags=re.MULTILINE)
    assert len(lines) == 3
    for count, cells in lines:
        for epsilon, cell in zip((0.1, 1.0, 8.0), cells.split(" | "), strict=True):
            scales = [
                Calibration(Budget(epsilon, 1e-9), Sensitivity(1, 1), gdp=gdp).scale(
                    0.4, 1 if count == "one" else int(count)
                )
                for gdp in (False, True)
            ]
            before, now, less = map(float, re.findall(r"[\d.]+\d", cell))
            assert [before, now] == pytest.approx(scales, rel=5e-3)
            assert less == round(100 * (1 - scales[1] / scales[0]), 1)
