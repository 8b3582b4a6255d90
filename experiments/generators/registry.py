"""The peers that are known: an entry each in ``peers.yaml``, or a user's own file.

A user's own peer is a path ``my_adapter.py``, with its pins beside it in ``my_adapter.txt`` and, if
the defaults are wrong, an entry with the keys of ``peers.yaml`` in ``my_adapter.yaml``.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from copula_shirley.errors import ShirleyError
from copula_shirley.experiments.generators.environments import PeerError
from copula_shirley.experiments.specs import converted
from copula_shirley.files.strict_yaml import load_yaml

HERE = Path(__file__).parent
THIS_PYTHON = "{}.{}".format(*sys.version_info[:2])


@dataclass(frozen=True)
class Entry:
    """A peer as ``peers.yaml`` describes it, which also says what each key means."""

    name: str
    adapter: Path
    requirements: Path
    description: str = ""
    python: str = THIS_PYTHON
    takes: Literal["cells", "values"] = "values"
    settings: dict[str, Any] = field(default_factory=dict)
    private: bool = True
    claim: str = "epsilon {epsilon:g}, delta {delta:g}"
    notes: str = ""


def entry_of(name: str, options: Any, folder: Path) -> Entry:
    """An entry from what YAML says; files are looked for in a folder."""
    what = f"peer {name!r}: "
    if not isinstance(options, dict):
        raise PeerError(f"{what}it must be a mapping of settings")
    if options.get("takes", "values") not in ("cells", "values"):
        raise PeerError(f"{what}takes ({options['takes']!r}) must be cells or values")
    files = {key: folder / str(options.get(key, "")) for key in ("adapter", "requirements")}
    for key, file in files.items():
        if not file.is_file():
            raise PeerError(f"{what}{key} {str(file)!r} is no file")
    python = str(options.get("python", THIS_PYTHON))  # 3.12 is a number for YAML
    whole = {"name": name, **options, **files, "python": python}
    return converted(Entry, whole, what, kind_of_error=PeerError)


@cache
def registry() -> dict[str, Entry]:
    """Every entry of ``peers.yaml`` by name."""
    content = load_yaml((HERE / "peers.yaml").read_text(encoding="utf-8"))
    return {name: entry_of(name, options, HERE) for name, options in content.items()}


def own_entry(use: str) -> Entry:
    """The entry of a user's own adapter file."""
    adapter = Path(use).expanduser().resolve()
    about = adapter.with_suffix(".yaml")
    options: Any = {}
    if about.is_file():
        try:
            options = load_yaml(about.read_text(encoding="utf-8")) or {}
        except (ShirleyError, UnicodeDecodeError) as error:
            raise PeerError(f"peer {use!r}: {about.name} {error}") from None
    if isinstance(options, dict):
        files = {"adapter": adapter.name, "requirements": adapter.with_suffix(".txt").name}
        options = {**files, **options}
    return entry_of(adapter.stem, options, adapter.parent)


def find_entry(use: str) -> Entry:
    """The entry of a registered name, or of a path that ends in ``.py``."""
    if use in registry():
        return registry()[use]
    if use.endswith(".py"):
        return own_entry(use)
    known = ", ".join(registry())
    raise PeerError(f"peer ({use!r}) must be a path to an adapter.py or one of {known}")
