"""Saved models as a forger would edit them."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from tables import JOBS as SCHEMA
from tables import QUICK as SETTINGS
from tables import fitted
from tables import jobs as rows

from copula_shirley.files import model_file as artefact

__all__ = ["SCHEMA", "SETTINGS", "edited", "fitted", "rows"]


def edited(
    source: Path, target: Path, change: Callable[[dict[str, Any], dict[str, np.ndarray]], None]
) -> Path:
    """A model file as one would forge it: changed inside, with a fresh digest."""
    with zipfile.ZipFile(source) as file:
        header = json.loads(file.read(artefact.HEADER))
        arrays = {
            name.removesuffix(".npy"): np.load(io.BytesIO(file.read(name)))
            for name in file.namelist()
            if name != artefact.HEADER
        }
    change(header, arrays)
    artefact.write(target, header, arrays)
    return target
