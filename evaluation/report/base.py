"""Templates, style and script of every report: one file that needs no network."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from copula_shirley.evaluation.report import words
from copula_shirley.files.atomic import atomic_path

HERE = Path(__file__).parent


def environment(*folders: Path, filters: tuple[Callable[..., Any], ...] = ()) -> Environment:
    """Finds templates in these folders, then in ours."""
    found = Environment(
        loader=FileSystemLoader([*folders, HERE]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    every = (words.short, words.number, *filters)
    found.filters |= {function.__name__: function for function in every}
    return found


def filled(templates: Environment, name: str, *scripts: Path, **about: Any) -> str:
    """A page from its template, with the style, and with scripts after ours; no other may run."""
    script = "\n".join(path.read_text(encoding="utf-8") for path in (HERE / "tips.js", *scripts))
    return templates.get_template(name).render(
        style=Markup((HERE / "style.css").read_text(encoding="utf-8")),
        script=Markup(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        **about,
    )


def written(page: str, path: str | Path) -> None:
    """Write a page, all of it or nothing."""
    with atomic_path(path) as partial:
        # a label may hold half a character, which no file can
        partial.write_text(page, encoding="utf-8", errors="replace")
