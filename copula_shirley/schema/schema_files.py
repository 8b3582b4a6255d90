"""Schemas as YAML: one entry a column, long lists of categories in files beside it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from copula_shirley.errors import SchemaError
from copula_shirley.files.atomic import read_text
from copula_shirley.files.strict_yaml import LARGEST_YAML, load_yaml
from copula_shirley.files.texts import shown

#: Categories that a draft lists in the schema itself; longer lists stand in files beside it.
LONGEST_LIST = 20
#: Letters of a line.
WIDTH = 100
#: How the name of a schema file ends.
ENDINGS = (".yaml", ".yml")
HOW: dict[str, Any] = {"sort_keys": False, "allow_unicode": True}


def as_yaml(entry: Mapping[str, Any]) -> str:
    """A schema as YAML with an entry for each column, in few lines."""
    return "".join(_lines(entry))


def _lines(entry: Mapping[str, Any]) -> Iterator[str]:
    for key, value in entry.items():
        if key not in ("columns", "left_out"):
            yield _entry(key, value)
            continue
        yield f"{key}:\n"
        for name, about in value.items():
            yield _entry(name, about, "  ")


def _entry(key: str, value: Any, indent: str = "") -> str:
    """A key and its value, in one line if they fit."""
    leaf = None if isinstance(value, Mapping | list) else False
    text = yaml.safe_dump({key: value}, default_flow_style=leaf, width=10**6, **HOW)
    if text.count("\n") > 1 or len(text) > WIDTH:
        named = yaml.safe_dump({key: None}, **HOW).removesuffix(" null\n")
        flow = yaml.safe_dump(value, default_flow_style=True, width=WIDTH - 6, **HOW)
        if not named.startswith("?") and flow.startswith("{"):
            text = f"{named} {flow}" if len(named) + len(flow) < WIDTH else f"{named}\n{flow}"
            text = text.rstrip("\n").replace("\n", "\n  ") + "\n"
    return "".join(f"{indent}{line}\n" for line in text.rstrip("\n").split("\n"))


def folded(
    entry: Mapping[str, Any], stem: str, longest: int
) -> tuple[dict[str, Any], dict[str, str]]:
    """A schema with its long lists of texts named by files, and what stands in these."""
    columns, files = {}, dict[str, str]()
    for name, about in entry["columns"].items():
        listed = about.get("categories", ())
        if len(listed) > longest and all(map(_is_line, listed)):
            bare = re.sub(r"\W+", "_", name)[:60]
            numbers = ("", *(f"_{i}" for i in range(2, len(entry["columns"]) + 2)))
            file = next(f for n in numbers if (f := f"{stem}.{bare}{n}.txt") not in files)
            files[file] = "".join(f"{text}\n" for text in listed)
            about = {**about, "categories": {"file": file}}  # noqa: PLW2901
        columns[name] = about
    return {**entry, "columns": columns}, files


def unfolded(entry: Any, folder: Path | None) -> Any:
    """A schema with the lists that it names by files in their place."""
    columns = entry.get("columns") if isinstance(entry, Mapping) else None
    if not isinstance(columns, Mapping):
        return entry
    whole = {}
    for name, about in columns.items():
        listed = about.get("categories") if isinstance(about, Mapping) else None
        if isinstance(listed, Mapping):
            about = {**about, "categories": _read_list(str(name), listed, folder)}  # noqa: PLW2901
        whole[name] = about
    return {**entry, "columns": whole}


def _read_list(column: str, named: Mapping[Any, Any], folder: Path | None) -> list[Any]:
    """The categories in a file: a text in each line, or a list in YAML."""
    what = f"column {shown(column)}: categories ({shown(dict(named))})"
    file = named.get("file")
    if set(named) != {"file"} or not isinstance(file, str) or not file:
        raise SchemaError(f"{what} must be a list, or name one such as {{file: wards.txt}}")
    place = PurePosixPath(file)
    if folder is None or place.is_absolute() or ".." in place.parts or "\\" in file:
        rule = "name a file beside the schema" if folder else "be read from a schema file"
        raise SchemaError(f"{what} must {rule}")
    text = read_text(folder / file, LARGEST_YAML, SchemaError, f"column {shown(column)}: file")
    if place.suffix in ENDINGS:
        found = load_yaml(text)
        if not isinstance(found, list):
            raise SchemaError(f"{what} must name a list")
        return found
    lines = [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]
    if "" in lines:
        number = lines.index("") + 1
        raise SchemaError(f"{what} must hold a category in each line, and line {number} is empty")
    return lines


def _is_line(value: Any) -> bool:
    """Whether a category can stand in a line of its own."""
    return isinstance(value, str) and value != "" and not re.search(r"[\n\r\ufeff]", value)
