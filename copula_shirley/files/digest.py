"""A digest over every byte of a model file, so that a file that was changed is not read.

A zip file may end in a comment. Ours is ``sha256:`` and the digest of all bytes before these 64
digits, the comment's own length and prefix included: whatever is changed, cut off, put in or put
behind, the digest no longer fits. Zip tools and numpy read the file as before.

It is no signature. It finds accidents and careless edits; who edits with care computes it anew.
Against that, compare the file's own sha256 with one that its maker published
(``shirley verify --sha256``).
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

PREFIX = b"sha256:"
DIGITS = 64
#: Placeholder of the comment until the digest is known.
BLANK = PREFIX + b"0" * DIGITS
BLOCK = 1 << 20
#: Digits that tell a draft from what somebody declared.
DRAFT_DIGITS = 16


def write_digest(path: Path) -> None:
    """Put the digest of a file that ends in ``BLANK`` into its place."""
    with open(path, "r+b") as file:
        size = file.seek(0, os.SEEK_END)
        digest = _digest(path, size - DIGITS)
        file.seek(size - DIGITS)
        file.write(digest.encode())


def digest_fits(path: str | Path) -> bool:
    """Whether a file is as it was saved."""
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - len(BLANK), 0))
        end = file.read()
    return end.startswith(PREFIX) and end[-DIGITS:] == _digest(path, size - DIGITS).encode()


def file_sha256(path: str | Path) -> str:
    """The sha256 of a file, as ``sha256sum`` prints it."""
    return _digest(path, os.path.getsize(path))


def _digest(path: str | Path, size: int) -> str:
    found = hashlib.sha256()
    with open(path, "rb") as file:
        while size > 0 and (block := file.read(min(BLOCK, size))):
            found.update(block)
            size -= len(block)
    return found.hexdigest()


def draft_digest(values: Any) -> str:
    """A short digest of plain values that a draft read off the rows."""
    return hashlib.sha256(json.dumps(values, default=str).encode()).hexdigest()[:DRAFT_DIGITS]
