"""The rules of the house: who imports whom, what pages name, what ships."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest
import thesis_index

from copula_shirley.errors import SettingError
from copula_shirley.schema.column import KINDS

ROOT = Path(__file__).parent.parent
#: The rooms of the house: a room may import from those above it only.
ROOMS = (
    ("errors",),
    ("lazy", "settings"),
    ("files",),
    ("schema",),
    ("rules",),
    ("rows",),
    ("privacy",),
    ("measure",),
    ("restoring", "pictures", "drafted", "outlook", "jobs"),
    ("fitted",),
    ("generator", "least_squares"),
    ("registry",),
    ("private_vine", "thesis"),
    ("holders",),
    ("local",),
    ("publish",),
    ("tasks",),
    ("web",),
    ("cli",),
    ("baselines", "evaluation"),
    ("experiments",),
)
LEVEL = {room: level for level, rooms in enumerate(ROOMS) for room in rooms}
PACKAGES = ("copula_shirley", "baselines", "evaluation", "experiments")
#: Imports against the order that are still to be mended.
DEBTS: set[tuple[str, str]] = set()


def sources() -> list[tuple[str, Path]]:
    """The room of every module."""
    own = [
        (p.relative_to(ROOT / PACKAGES[0]).parts[0], p) for p in (ROOT / PACKAGES[0]).rglob("*.py")
    ]
    found = [(room.removesuffix(".py"), path) for room, path in own if room != "__init__.py"]
    found = [(room, path) for room, path in found if room not in PACKAGES]
    return found + [(room, path) for room in PACKAGES[1:] for path in (ROOT / room).rglob("*.py")]


def imported(path: Path) -> set[str]:
    """Rooms that a module imports from."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    ours = [name.split(".") for name in names if name.startswith("copula_shirley.")]
    return {parts[1] for parts in ours if parts[1] in LEVEL}


def test_imports_go_one_way() -> None:
    wrong = {}
    for room, path in sources():
        for other in imported(path) - {room}:
            if LEVEL[other] >= LEVEL[room] and (room, other) not in DEBTS:
                wrong[f"{path.relative_to(ROOT)}"] = other
    assert not wrong


def of_kind(node: ast.AST) -> bool:
    """Whether an expression is a column's ``kind``, or an entry of that name."""
    if isinstance(node, ast.Subscript):
        return isinstance(node.slice, ast.Constant) and node.slice.value == "kind"
    return isinstance(node, ast.Attribute) and node.attr == "kind"


def test_nobody_but_the_schema_compares_kinds() -> None:
    """Others ask the column: a new kind is one file."""
    wrong = []
    for room, path in sources():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if room != "schema" and isinstance(node, ast.Compare):
                names = {n.value for n in ast.walk(node) if isinstance(n, ast.Constant)}
                if names & set(KINDS) and any(map(of_kind, [node.left, *node.comparators])):
                    wrong.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert not wrong


def test_every_module_has_a_room_and_one_name() -> None:
    assert {room for room, _ in sources()} <= set(LEVEL)
    assert all((ROOT / package / "py.typed").exists() for package in PACKAGES)
    for name in PACKAGES[1:]:
        assert (ROOT / PACKAGES[0] / name).resolve() == ROOT / name
        with pytest.raises(ImportError, match=f"import copula_shirley.{name}"):
            importlib.import_module(name)


@pytest.mark.parametrize("package", PACKAGES)
def test_nothing_is_pickled(package: str) -> None:
    """That randomness is passed and never global is ruff's rule NPY002."""
    for path in (ROOT / package).rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"\bpickle\.(load|dump)|allow_pickle=True", text), path


def test_a_page_says_where_the_thesis_stands_in_the_code() -> None:
    # a name that was moved: run the script again; one that is gone: mend thesis_index.yaml first
    page = thesis_index.PAGE.read_text(encoding="utf-8")
    again = "python tests/thesis_index.py"
    assert thesis_index.renewed(page) == page, f"{thesis_index.PAGE.name} is old: run {again}"


def test_a_name_that_stands_nowhere_or_twice_is_named() -> None:
    known = {"mcc": ["evaluation/learning.py", "evaluation/verdicts.py"]}
    assert thesis_index.resolved("learning.py/mcc", known) == "evaluation/learning.py"
    with pytest.raises(SettingError, match=r"'mcc' must .* more than one \(evaluation/learning"):
        thesis_index.resolved("mcc", known)
    with pytest.raises(SettingError, match="'rmse' must be defined in one file, and is in none"):
        thesis_index.resolved("rmse", known)


def test_the_page_about_the_architecture_is_of_this_tree() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rooms = {room for room in LEVEL if room != "web"} | set(PACKAGES)
    assert not {room for room in rooms if not re.search(rf"\b{room}(/|\.py)", page)}
    places = [ROOT, ROOT / "copula_shirley"]
    for path in re.findall(r"`([\w./]+(?:/|\.py|\.md))(?::[^`]*)?`", page):
        assert any((place / path).exists() for place in [*places, ROOT / "docs"]), path
