"""Where a figure came from: versions, processor, commit, time."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from copula_shirley.files.code import code_digest, versions

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
    found = versions(PACKAGES)
    return {
        "commit": commit,
        "dirty": dirty,
        "code": code_digest(),
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "python": found.pop("python"),
        "versions": found,
    }


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
