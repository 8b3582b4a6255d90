"""A lock keeps others out, and nothing needs the locks of one system."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from copula_shirley import ArtefactError
from copula_shirley.files.locks import locked

WITHOUT_FCNTL = """
import sys
sys.modules["fcntl"] = None  # as on Windows
from copula_shirley import PrivateVine, ReleaseLedger, Schema
import copula_shirley.files.locks, copula_shirley.files.model_file, copula_shirley.cli.main
"""


def test_imports_without_fcntl() -> None:
    subprocess.run([sys.executable, "-c", WITHOUT_FCNTL], check=True)


def test_a_lock_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ArtefactError, match="cannot be locked"), locked(tmp_path / "no" / "file"):
        pass
