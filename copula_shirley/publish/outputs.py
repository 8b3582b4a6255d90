"""Outputs of the command line with their cards and signatures: all of them new, or none."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from copula_shirley.errors import SettingError
from copula_shirley.files.atomic import atomic_paths
from copula_shirley.publish.signatures import read_private_key, signature_path, write_signature
from copula_shirley.rows.packed import STANDARD
from copula_shirley.rows.tables import is_table

if TYPE_CHECKING:  # it takes seconds, and the command line needs names of files first
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from copula_shirley.privacy.card import Card

#: What the card of a file is called: the file's own name, and this.
ENDING = ".card.html"


def card_path(path: str | Path) -> Path:
    """Where the card of a file lies: beside it."""
    return Path(path).with_name(Path(path).name + ENDING)


@dataclass(frozen=True)
class Output:
    """Where a model or a table is written, and what is written beside it; - is standard output."""

    path: Path
    #: Of a table: where the model is kept, too.
    model: Path | None = None
    card: bool = True
    #: Private key with which files and cards are signed.
    sign: Path | None = None
    #: A quote before texts of a CSV file that a spreadsheet would run.
    escape_formulas: bool = False

    @property
    def is_stream(self) -> bool:
        """Whether it is standard output, beside which nothing can lie."""
        return str(self.path) == STANDARD

    @contextmanager
    def written(self, inputs: Sequence[Path]) -> Iterator[Files]:
        """Give places to write to; on success signatures and cards are moved to theirs, then files.

        So a reader of a new file finds its card. Without a card an old one, which would belong to
        another file, stays: ``shirley verify`` tells that it does not fit. So does an old signature
        without a key. Rows on standard output have no card; that of a model beside them tells all.
        Refused is a key that cannot be read, what would be written over an input, and two results
        in one file.
        """
        if self.is_stream and self.sign:
            rule = "must be left out: beside standard output lies no signature"
            raise SettingError(f"sign ({str(self.sign)!r}) {rule}")
        outputs = [p for p in (self.path, self.model) if p is not None and str(p) != STANDARD]
        pages = [card_path(output) for output in outputs if self.card]
        signatures = [signature_path(output) for output in outputs if self.sign]
        every = [*outputs, *pages, *signatures]
        beside = (("output", path) for path in (*pages, *signatures))
        check_apart(
            [*inputs, self.sign], ("output", self.path), ("save_model", self.model), *beside
        )
        key = None if self.sign is None else read_private_key(self.sign)
        with atomic_paths(every) as partials:
            places = dict(zip(every, partials, strict=True))
            yield Files(self.path, outputs, key, {Path(STANDARD): Path(STANDARD), **places})


@dataclass(frozen=True)
class Files:
    """Where files, cards and signatures are written before they are moved to their places."""

    rows: Path
    outputs: list[Path]
    key: Ed25519PrivateKey | None
    #: Of what will be written, where it is until then.
    at: dict[Path, Path]

    def add_cards(self, card: Card, given: Sequence[str] = ()) -> None:
        """Write the card, and then the signature, of each output, which is complete by now.

        ``given`` are the conditions under which rows were drawn.
        """
        from copula_shirley.publish.pages import write_page  # noqa: PLC0415  (slow)

        for output in self.outputs:
            content, page = self.at[output], self.at.get(card_path(output))
            if page is not None:
                write_page(page, card, output.name, content, given if output == self.rows else ())
            if self.key is not None:
                kind = "table" if is_table(output) else "model"
                write_signature(self.at[signature_path(output)], self.key, kind, content, page)


def check_apart(inputs: Sequence[Path | None], *outputs: tuple[str, Path | None]) -> None:
    """Refuse to write over what is read, or two results into one file; outputs have names."""
    taken = {os.path.realpath(path) for path in inputs if path}
    for name, path in outputs:
        if path and os.path.realpath(path) in taken:
            raise SettingError(f"{name} ({str(path)!r}) must be another file than the others")
        taken |= {os.path.realpath(path)} if path else set()
