"""Outputs of the command line with their cards and signatures: all of them new, or none."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from copula_shirley.errors import SettingError
from copula_shirley.files.model_file import atomic_paths
from copula_shirley.publish.signatures import read_private_key, signature_path, write_signature
from copula_shirley.rows.tables import is_table

if TYPE_CHECKING:  # it takes seconds, and the command line needs names of files first
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from copula_shirley.privacy.card import Card

#: What the card of a file is called: the file's own name, and this.
ENDING = ".card.html"


@dataclass(frozen=True)
class Files:
    """Where outputs, cards and signatures are written before they are moved to their places."""

    #: What the outputs will be called.
    names: list[str]
    paths: list[Path]
    #: None if no card is wanted.
    pages: list[Path]
    #: None without a key.
    signatures: list[Path]
    key: Ed25519PrivateKey | None

    def add_cards(self, card: Card, given: Sequence[str] | None = None) -> None:
        """Write the card, and then the signature, of each output, which is complete by now.

        ``given`` are the conditions under which the rows of the first output were drawn.
        """
        from copula_shirley.publish.pages import write_page  # noqa: PLC0415  (slow)

        if self.pages:
            for name, path, page in zip(self.names, self.paths, self.pages, strict=True):
                write_page(page, card, name, path, given if path == self.paths[0] else None)
        for i, target in enumerate(self.signatures):
            assert self.key is not None
            kind = "table" if is_table(self.names[i]) else "model"
            beside = self.pages[i] if self.pages else None
            write_signature(target, self.key, kind, self.paths[i], beside)


def card_path(path: str | Path) -> Path:
    """Where the card of a file lies: beside it."""
    return Path(path).with_name(Path(path).name + ENDING)


def with_cards(outputs: Sequence[Path], no_card: bool, sign: Path | None = None) -> list[Path]:
    """The outputs, and where their cards and signatures will lie."""
    pages = [] if no_card else map(card_path, outputs)
    return [*outputs, *pages, *([] if sign is None else map(signature_path, outputs))]


@contextmanager
def written_with_cards(
    outputs: Sequence[Path], no_card: bool, sign: Path | None = None
) -> Iterator[Files]:
    """Give places to write to; on success signatures and cards are moved to theirs, then outputs.

    So a reader of a new output finds its card. With ``no_card`` an old card, which would belong to
    another file, stays: ``shirley verify`` tells that it does not fit. So does an old signature
    without a key in ``sign``; a key that cannot be read is refused before anything else is done.
    """
    key = None if sign is None else read_private_key(sign)
    count = len(outputs)
    cards = count if no_card else 2 * count
    with atomic_paths(with_cards(outputs, no_card, sign)) as partials:
        names = [output.name for output in outputs]
        yield Files(names, partials[:count], partials[count:cards], partials[cards:], key)


def check_apart(inputs: Sequence[Path | None], outputs: Sequence[Path | None]) -> None:
    """Refuse to write over what is read, or two results into one file."""
    taken = {os.path.realpath(path) for path in inputs if path}
    for path in filter(None, outputs):
        if os.path.realpath(path) in taken:
            raise SettingError(f"output ({str(path)!r}) must be another file than the others")
        taken.add(os.path.realpath(path))
