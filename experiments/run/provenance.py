"""Where a figure came from: versions, processor, commit, time."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = (
    "copula-shirley",
    "numpy",
    "pandas",
    "scipy",
    "scikit-learn",
    "xgboost-cpu",
    "pyvinecopulib",
    "diffprivlib",
    "opendp",
)
HERE = Path(__file__).resolve().parent
#: Packages whose code makes the figures.
OURS = ("copula_shirley", "baselines", "evaluation", "experiments")


def provenance() -> dict[str, Any]:
    """What a result owes its figures to, beside its spec."""
    commit, dirty = _commit()
    return {
        "commit": commit,
        "dirty": dirty,
        "code": code_digest(),
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "versions": {name: _version(name) for name in PACKAGES},
    }


@cache
def code_digest() -> str:
    """A short hash of the code that makes the figures, the same wherever it is installed."""
    digest = hashlib.sha256()
    for package in OURS:
        for file in sorted((HERE.parent.parent / package).rglob("*.py")):
            digest.update(
                file.relative_to(HERE.parent.parent).as_posix().encode() + file.read_bytes()
            )
    return digest.hexdigest()[:16]


def _commit() -> tuple[str, bool | None]:
    """The commit of this checkout, and whether files differ from it; nothing in a wheel."""
    try:
        commit = _git("rev-parse", "HEAD")
        return commit, bool(_git("status", "--porcelain", "--untracked-files=no"))
    except (OSError, subprocess.CalledProcessError):
        return "", None


def _git(*words: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(HERE), *words], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""
