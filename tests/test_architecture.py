"""The rules of the house: who imports whom, what the README names, what ships."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
#: A package may import from those to the right of itself only.
ALLOWED = {
    "copula_shirley": set(),
    "baselines": {"copula_shirley"},
    "evaluation": {"copula_shirley"},
    "experiments": {"copula_shirley", "baselines", "evaluation"},
}


def imported(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names.add(node.module.split(".")[0])
    return names


@pytest.mark.parametrize("package", ALLOWED)
def test_imports_go_one_way(package: str) -> None:
    for path in (ROOT / package).rglob("*.py"):
        foreign = (imported(path) & set(ALLOWED)) - {package} - ALLOWED[package]
        assert not foreign, f"{path} imports {foreign}"


@pytest.mark.parametrize("package", ALLOWED)
def test_packages_ship_their_types(package: str) -> None:
    assert (ROOT / package / "py.typed").exists()


@pytest.mark.parametrize("package", ALLOWED)
def test_randomness_is_passed_and_nothing_is_pickled(package: str) -> None:
    forbidden = re.compile(
        r"np\.random\.(seed|rand|randn|randint|normal|laplace|choice|shuffle|permutation)\("
        r"|\bpickle\.(load|dump)|allow_pickle=True"
    )
    for path in (ROOT / package).rglob("*.py"):
        assert not forbidden.search(path.read_text(encoding="utf-8")), path


def readme_table() -> list[tuple[str, str, str]]:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.+?) \| (`.+?`) \| (`.+?`) \|$", text, flags=re.MULTILINE)
    assert len(rows) >= 10
    return rows


@pytest.mark.parametrize("row", readme_table(), ids=lambda row: row[0])
def test_the_readme_names_code_and_tests_that_exist(row: tuple[str, str, str]) -> None:
    _, code, tests = row
    for name in re.findall(r"`(.+?)`", code):
        module, _, attribute = name.rpartition(".")
        thing = importlib.import_module(module) if "." not in attribute else None
        assert hasattr(thing, attribute), name
    for name in re.findall(r"`(.+?)`", tests):
        path, _, function = name.partition("::")
        content = (ROOT / path).read_text(encoding="utf-8")
        assert f"def {function}(" in content, name


def test_public_names() -> None:
    import copula_shirley  # noqa: PLC0415

    for name in ("CopulaShirley", "Schema", "PrivacyWarning", "BudgetError", "SchemaError", "load"):
        assert hasattr(copula_shirley, name)
