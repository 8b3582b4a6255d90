"""The peers that are known: an entry each in ``peers.yaml``, or a user's own file.

A user's own peer is a path ``my_adapter.py``, with its pins beside it in ``my_adapter.txt`` and, if
the defaults are wrong, an entry with the keys of ``peers.yaml`` in ``my_adapter.yaml``.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

from copula_shirley.errors import ShirleyError
from copula_shirley.experiments.generators.environments import PeerError
from copula_shirley.files.strict_yaml import load_yaml

HERE = Path(__file__).parent
REGISTRY = HERE / "peers.yaml"
#: What a peer is given: whole numbers of the declared cells, or the table itself.
Takes = Literal["cells", "values"]
THIS_PYTHON = "{}.{}".format(*sys.version_info[:2])


@dataclass(frozen=True)
class Entry:
    """A peer as the registry describes it.

    Parameters
    ----------
    name, description : str
    adapter, requirements : path
        The file with the class ``Generator``, and the pins of its environment.
    python : str
        Version of Python that the pins are for.
    takes : {"cells", "values"}
        See ``copula_shirley.experiments.generators``.
    settings : mapping
        Defaults; those of a run go before. ``delta`` is one of them.
    private : bool
        Whether it claims differential privacy, and so has no mode without noise.
    claim : str
        What it claims, in words; ``{epsilon:g}`` and ``{delta:g}`` are filled in.
    notes : str
        What a reader of its figures should know.
    """

    name: str
    description: str
    adapter: Path
    requirements: Path
    python: str = THIS_PYTHON
    takes: Takes = "values"
    settings: Mapping[str, Any] = field(default_factory=dict)
    private: bool = True
    claim: str = "epsilon {epsilon:g}, delta {delta:g}"
    notes: str = ""


def entry_of(name: str, options: Any, folder: Path) -> Entry:
    """An entry from what YAML says; files are looked for in a folder."""
    if not isinstance(options, dict):
        raise PeerError(f"peer {name!r} must be a mapping of settings")
    known = [field.name for field in fields(Entry) if field.name != "name"]
    for key in options:
        if key not in known:
            raise PeerError(f"peer {name!r}: key ({key!r}) must be one of {', '.join(known)}")
    values = dict(options)
    for key in ("adapter", "requirements"):
        values[key] = folder / str(values.get(key, ""))
        if not values[key].is_file():
            raise PeerError(f"peer {name!r}: {key} {str(values[key])!r} is no file")
    values["python"] = str(values.get("python", THIS_PYTHON))
    if values.get("takes", "values") not in get_args(Takes):
        raise PeerError(f"peer {name!r}: takes ({values['takes']!r}) must be cells or values")
    if not isinstance(values.get("settings", {}), dict):
        raise PeerError(f"peer {name!r}: settings must be a mapping of names")
    if not isinstance(values.get("private", True), bool):
        raise PeerError(f"peer {name!r}: private ({values['private']!r}) must be true or false")
    return Entry(name=name, **{"description": "", **values})


@cache
def registry() -> dict[str, Entry]:
    """Every entry of ``peers.yaml`` by name."""
    content = load_yaml(REGISTRY.read_text(encoding="utf-8"))
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
    if not isinstance(options, dict):
        raise PeerError(f"peer {use!r}: {about.name} must be a mapping of settings")
    pins = adapter.with_suffix(".txt").name
    whole = {"adapter": adapter.name, "requirements": pins, **options}
    return entry_of(adapter.stem, whole, adapter.parent)


def find_entry(use: str) -> Entry:
    """The entry of a registered name, or of a path that ends in ``.py``.

    Raises
    ------
    PeerError
        If there is none, or its files are not there.
    """
    if use in registry():
        return registry()[use]
    if use.endswith(".py"):
        return own_entry(use)
    known = ", ".join(registry())
    raise PeerError(f"peer ({use!r}) must be a path to an adapter.py or one of {known}")
