"""The table "From the thesis to the code" of reproduction.md, from ``thesis_index.yaml``.

``python tests/thesis_index.py`` looks up where each class, function and
test stands now and writes the table between two marks in docs/reproduction.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import msgspec

from copula_shirley.errors import SettingError
from copula_shirley.files.atomic import atomic_path

ROOT = Path(__file__).resolve().parents[1]
INDEX = Path(__file__).with_name("thesis_index.yaml")
#: The page, and where the table begins and ends in it.
PAGE = ROOT / "docs" / "reproduction.md"
BEGIN, END = "<!-- thesis index -->", "<!-- end of the thesis index -->"
CODE = ("copula_shirley", "evaluation", "baselines", "experiments")


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A passage of the thesis, the code that does it, and the test that shows it."""

    thesis: str
    code: tuple[str, ...]
    test: tuple[str, ...]


def definitions(folders: Iterable[str], pattern: str) -> dict[str, list[str]]:
    """Every public class and function at the top of a module: its name, and where it stands."""
    found: dict[str, list[str]] = {}
    for file in (file for folder in folders for file in sorted((ROOT / folder).rglob(pattern))):
        if any(parent.is_symlink() for parent in file.parents):
            continue
        place = file.relative_to(ROOT).as_posix()
        text = file.read_text(encoding="utf-8")
        for name in re.findall(r"^(?:class|def) ([^\W_]\w*)", text, flags=re.MULTILINE):
            found.setdefault(name, []).append(place)
    return found


def resolved(name: str, known: dict[str, list[str]]) -> str:
    """The one file that defines a name, which may have a path before it (``thesis/Margin``)."""
    where, _, last = name.rpartition("/")
    files = [file for file in known.get(last, []) if where in file]
    if len(files) != 1:
        many = f"more than one ({', '.join(files)})" if files else "none"
        raise SettingError(f"{INDEX.name}: {name!r} must be defined in one file, and is in {many}")
    return files[0]


def table() -> str:
    """The table, from the index and the tree as it is."""
    code, tests = definitions(CODE, "*.py"), definitions(("tests",), "test_*.py")
    lines = ["| thesis | code | test |", "|---|---|---|"]
    for entry in msgspec.yaml.decode(INDEX.read_bytes(), type=list[Entry]):
        modules = [(resolved(name, code), name.rpartition("/")[2]) for name in entry.code]
        names = [f"{file[:-3].replace('/', '.')}.{name}" for file, name in modules]
        names = [n if n.startswith("copula_shirley.") else f"copula_shirley.{n}" for n in names]
        shown = [f"{resolved(name, tests)}::{name.rpartition('/')[2]}" for name in entry.test]
        cells = (", ".join(f"`{text}`" for text in part) for part in (names, shown))
        lines.append(f"| {entry.thesis} | {' | '.join(cells)} |")
    return "\n".join(lines)


def renewed(page: str) -> str:
    """The page's text with the table as it should be."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise SettingError(f"{PAGE.name} must have the marks {BEGIN!r} and {END!r}")
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


def main() -> None:
    """Write the table into the page."""
    text = renewed(PAGE.read_text(encoding="utf-8"))
    with atomic_path(PAGE) as partial:
        partial.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
