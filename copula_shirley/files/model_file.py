"""Fitted models as files: one zip with JSON and npy arrays, no pickle, no row.

The file is a valid ``.npz`` with one more member, ``model.json``, which carries the format
version, and ends in a digest (``copula_shirley.files.digest``).
"""

from __future__ import annotations

import io
import json
import zipfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from copula_shirley.errors import ArtefactError
from copula_shirley.files.archive import pack, parse_array, unpack
from copula_shirley.files.atomic import atomic_path
from copula_shirley.files.digest import BLANK, digest_fits, write_digest
from copula_shirley.files.plain_json import parse_json

FORMAT = 1
HEADER = "model.json"
#: Every member gets this date, so that the same model gives the same bytes.
EPOCH = (1980, 1, 1, 0, 0, 0)


def write(path: str | Path, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Write header and arrays to one file."""
    about = {"format": FORMAT, "copula-shirley": version("copula-shirley"), **header}
    # in memory first: zipfile cannot close a file on a disk that is full
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as file:
        file.comment = BLANK
        _member(file, HEADER, json.dumps(about, indent=1, allow_nan=False).encode())
        for name, array in arrays.items():
            buffer = io.BytesIO()
            np.save(buffer, array, allow_pickle=False)
            _member(file, f"{name}.npy", buffer.getvalue())
    with atomic_path(path) as partial:
        partial.write_bytes(whole.getbuffer())
        write_digest(partial)


def _member(file: zipfile.ZipFile, name: str, content: bytes) -> None:
    about = zipfile.ZipInfo(name, EPOCH)
    about.create_system = 3  # the same bytes on every system
    pack(file, about, content)


def read(path: str | Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read header and arrays, or raise one ``ArtefactError``."""
    where = repr(str(path))
    members = unpack(path, HEADER)
    try:
        header = parse_json(members.pop(HEADER))
    except ArtefactError as error:
        raise ArtefactError(f"{where} is damaged: {error}") from None
    except (ValueError, RecursionError):
        raise ArtefactError(f"{where} is a zip file but not a model of this project") from None
    found = header.get("format") if isinstance(header, dict) else None
    if type(found) is not int or found < 1:
        raise ArtefactError(f"{where} is a zip file but not a model of this project")
    if found > FORMAT:
        raise ArtefactError(
            f"{where} has format {found}, newer than {FORMAT}, the newest that this version "
            "reads; upgrade copula-shirley"
        )
    try:
        arrays = {
            name.removesuffix(".npy"): parse_array(content) for name, content in members.items()
        }
    except ValueError:
        raise ArtefactError(f"{where} is damaged: an array cannot be read") from None
    if not digest_fits(path):
        raise ArtefactError(f"{where} was changed after it was saved: its digest does not fit")
    return header, arrays
