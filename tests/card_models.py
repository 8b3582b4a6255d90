"""Small tables and models that the tests of cards, of verify and of releases share."""

from __future__ import annotations

import io
import json
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from copula_shirley import Column, Generator, PrivacyWarning, Schema
from copula_shirley.files import model_file as artefact
from copula_shirley.generator import find_generator

SCHEMA = Schema(
    (
        Column("age", "integer", minimum=18, maximum=90),
        Column("job", "categorical", categories=("arts", "farm", "law")),
        Column("rich", "boolean"),
    )
)
#: Settings that make a fit quick.
SETTINGS: dict[str, dict[str, Any]] = {
    "copula-shirley": {"encoder": "ordinal", "families": ["gaussian"], "threads": 1},
    "privbayes": {"degree": 1},
    "uniform": {},
}


def rows(n: int = 300, seed: int = 3) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 91, n)
    job = rng.choice(["arts", "farm", "law"], n)
    return pd.DataFrame({"age": age, "job": job, "rich": age > 50})


def fitted(name: str, table: pd.DataFrame | None = None, **settings: Any) -> Generator:
    """A generator fitted to the small table."""
    chosen = {**SETTINGS.get(name, {}), **settings}
    if name != "uniform":
        chosen.setdefault("epsilon", 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyWarning)
        model = find_generator(name)(**chosen)
        return model.fit(rows() if table is None else table, SCHEMA)


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
