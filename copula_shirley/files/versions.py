"""Which code and which packages made a figure."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Iterable
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@cache
def code_digest() -> str:
    """A short hash of all code of this project, the same wherever it is installed."""
    digest = hashlib.sha256()
    # baselines, evaluation and experiments are links here in a checkout, and folders in a wheel
    for folder, inner, names in os.walk(ROOT, followlinks=True):
        inner.sort()
        for file in sorted(Path(folder, name) for name in names if name.endswith(".py")):
            digest.update(file.relative_to(ROOT).as_posix().encode() + file.read_bytes())
    return digest.hexdigest()[:16]


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Versions of Python and of packages; empty where one is not installed."""
    found = {"python": platform.python_version()}
    for name in packages:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = ""
    return found
