"""Outputs of the command line with their cards: all of them new, or none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from copula_shirley.artefact import atomic_paths

if TYPE_CHECKING:  # it takes seconds, and the command line needs names of files first
    from copula_shirley.api import Generator

#: What the card of a file is called: the file's own name, and this.
ENDING = ".card.html"


@dataclass(frozen=True)
class Files:
    """Where outputs and cards are written before they are moved to their places.

    Attributes
    ----------
    names : what the outputs will be called
    paths : where they are written
    pages : where their cards are; none if no card is wanted
    """

    names: list[str]
    paths: list[Path]
    pages: list[Path]

    def add_cards(self, generator: Generator, given: Sequence[str] | None = None) -> None:
        """Write the card of each output, which is complete by now.

        ``given`` are the conditions under which the rows of the first output were drawn.
        """
        from copula_shirley.card import checked_card  # noqa: PLC0415  (slow)
        from copula_shirley.card_page import write_page  # noqa: PLC0415  (slow)

        card = checked_card(generator) if self.pages else {}
        for name, path, page in zip(self.names, self.paths, self.pages, strict=False):
            write_page(page, card, name, path, given if path == self.paths[0] else None)


def card_path(path: str | Path) -> Path:
    """Where the card of a file lies: beside it.

    Examples
    --------
    >>> card_path("out/synthetic.csv").name
    'synthetic.csv.card.html'
    """
    return Path(path).with_name(Path(path).name + ENDING)


def with_cards(outputs: Sequence[Path], no_card: bool) -> list[Path | None]:
    """The outputs, and where their cards will lie."""
    return [*outputs, *([] if no_card else map(card_path, outputs))]


@contextmanager
def written_with_cards(outputs: Sequence[Path], no_card: bool) -> Iterator[Files]:
    """Give places to write to; on success cards are moved to theirs, then outputs.

    So a reader of a new output finds its card. With ``no_card`` an old card, which would belong to
    another file, stays: ``shirley verify`` tells that it does not fit.
    """
    pages = [] if no_card else [card_path(output) for output in outputs]
    with atomic_paths([*outputs, *pages]) as partials:
        count = len(outputs)
        yield Files([o.name for o in outputs], partials[:count], partials[count:])
