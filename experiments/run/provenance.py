"""Where a figure came from: versions, processor, commit, time."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from copula_shirley.files.versions import code_digest, versions

PACKAGES = (
    *("copula-shirley", "numpy", "pandas", "scipy", "scikit-learn", "xgboost-cpu"),
    *("pyvinecopulib", "diffprivlib", "opendp"),
)


def provenance() -> dict[str, Any]:
    """What a result owes its figures to, beside its spec."""
    try:
        commit = _git("rev-parse", "HEAD")
        dirty = bool(_git("status", "--porcelain", "--untracked-files=no"))
    except (OSError, subprocess.CalledProcessError):  # no checkout, but a wheel
        commit, dirty = "", None
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


def _git(*words: str) -> str:
    command = ["git", "-C", str(Path(__file__).parent), *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    text = info.read_text(encoding="utf-8", errors="replace") if info.is_file() else ""
    names = [line for line in text.splitlines() if line.startswith("model name")]
    return names[0].partition(":")[2].strip() if names else platform.processor()
