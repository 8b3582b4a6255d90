"""``shirley verify``: whether what a file says about its privacy adds up.

A model file: its digest and bytes; then settings, schema and answers are taken from the file, the
model, its ledger and its card are made from them once more (``Generator.rebuilt``), and must be
those of the file. For a PrivateVine every spend follows from the answers, and their noise must be
the noise that is stated. A table: its card, the card's own arithmetic, and the table's sha256; with
the model the table's domain and margins (``copula_shirley.publish.table_check``). With a public
key: the signature of file and card (``copula_shirley.publish.signatures``).

What it cannot tell: whether somebody made up a whole model with care, or fitted more often than he
says; of a table without its model, where its rows come from. A digest is no signature, and a
signature does not make true what was signed.
"""

from __future__ import annotations

import zipfile
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import to_builtins

from copula_shirley.errors import ArtefactError, OtherRevisionError, SettingError, ShirleyError
from copula_shirley.files import model_file as artefact
from copula_shirley.files.digest import DIGITS, digest_fits, file_sha256
from copula_shirley.files.plain_json import differences
from copula_shirley.files.texts import one_line
from copula_shirley.generator import Generator, Rebuilt, restored
from copula_shirley.privacy.card import Card
from copula_shirley.privacy.card_page import page_of, template_id
from copula_shirley.privacy.card_words import NOT_FOR_RELEASE, RANDOMNESS
from copula_shirley.private_vine.generator import PrivateVine
from copula_shirley.publish.outputs import card_path
from copula_shirley.publish.pages import Page, is_whole, read_page
from copula_shirley.publish.signatures import (
    is_there,
    read_public_key,
    signature_faults,
    signature_path,
)
from copula_shirley.rows.tables import is_table

#: Length of what stands before each member of a zip file, without its name.
LOCAL_HEADER = 30
#: Differences between two values that are told.
MOST_TOLD = 10


@dataclass
class Verdict:
    """What was compared: what fits, and one line for each fault."""

    file: str
    kind: str
    passed: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    #: What a reader might think was checked, but was not or cannot be.
    not_shown: list[str] = field(default_factory=list)
    #: What the card promises, in its own words.
    headline: str = ""
    #: What a table was compared with; and who signed, as far as that was asked.
    compared_with: str | None = None
    signed_with: str | None = None
    #: Of a model file, if one can be made of it.
    generator: Generator | None = field(default=None, repr=False)

    @property
    def fits(self) -> bool:
        return not self.faults

    @property
    def conclusion(self) -> str:
        """One sentence."""
        if not self.fits:
            return f"{self.file} does not add up: do not rely on what it says about privacy."
        promise = f" Its card says: {self.headline}." if self.headline else ""
        if self.signed_with:
            origin = f" It was signed with the key of {self.signed_with}."
        else:
            origin = (
                " (A digest is no signature: compare its sha256 with one that its maker published, "
                "or the signature with --public-key.)"
            )
        if self.kind == "model":
            return f"{self.file} adds up.{promise}{origin}"
        if self.compared_with is None:
            return (
                f"{self.file} and its card belong together, which whoever writes both can make of "
                "any table: this does not show that the rows were drawn from a private model."
                f"{promise}{origin}"
            )
        return (
            f"Nothing speaks against {self.file} being rows of {self.compared_with}, which adds "
            "up. That does not show that they were drawn from it: real rows can look like those of "
            f"a good model.{promise}{origin}"
        )

    def note(self, text: str, faults: list[str] | None = None) -> None:
        """Write down faults, or that there was none."""
        if faults:
            self.faults += faults
        else:
            self.passed.append(text)

    def promise(self, card: Card) -> None:
        """Write down what a card promises, and that its noise is none for a release."""
        self.headline = card.words.headline.rstrip(".")
        if card.randomness in NOT_FOR_RELEASE:
            self.not_shown.append(
                f"that it may be released; randomness: {RANDOMNESS[card.randomness]}"
            )

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        said = {name: value for name, value in vars(self).items() if name != "generator"}
        return {**said, "fits": self.fits, "conclusion": self.conclusion}


def verify_file(
    path: str | Path,
    card: str | Path | None = None,
    sha256: str | None = None,
    model: str | Path | None = None,
    public_key: str | Path | None = None,
) -> Verdict:
    """Compare everything that a file says about its privacy.

    ``path`` is a model file; or a table, ``.csv`` or ``.parquet``, with its ``card`` (by default
    the one beside it). ``sha256`` is that of the file as it was published. ``model`` is the one
    that a table is said to be drawn from: it is verified, and the table compared. ``public_key``
    is of who is said to have signed the file with its card, and the model with its own. Where there
    is nothing to compare (no such file, no model, no card of a table) an ``ArtefactError`` is
    raised.
    """
    path = Path(path)
    published = None if sha256 is None else _checked_digest(sha256)
    if not path.is_file():
        problem = "is a folder" if path.is_dir() else "does not exist"
        raise ArtefactError(f"{str(path)!r} {problem}")
    table = is_table(path)
    if model is not None and not table:
        raise SettingError(f"model ({str(model)!r}) goes with a table, {path.name} is a model")
    verdict = Verdict(path.name, "table" if table else "model")
    page = Path(card) if card is not None else card_path(path)
    if public_key is not None:
        _verify_signature(path, page, Path(public_key), verdict)
    elif is_there(signature_path(path)):
        verdict.not_shown.append("who signed the file: name the key with --public-key")
    if published is not None:
        wrong = f"the file's sha256 is {file_sha256(path)}, not the published {published}"
        fits = file_sha256(path) == published
        verdict.note("the file's sha256 is the published one", [] if fits else [wrong])
    own = None if table else _verify_model(path, verdict)
    if own is not None:
        verdict.promise(own)
    if table or card is not None or is_there(page):
        _verify_page(path, page, own, verdict)
    if table and model is None:
        verdict.not_shown.append(
            "that the rows were drawn from a private model: compare them with it by --from"
        )
    elif table:
        _verify_drawn(path, page, Path(model), public_key, verdict)  # type: ignore[arg-type]
    return verdict


def _verify_signature(path: Path, page: Path, public_key: Path, verdict: Verdict) -> None:
    faults = signature_faults(read_public_key(public_key), verdict.kind, path, page)
    verdict.note(f"file and card were signed with the key of {public_key.name}", faults)
    if not faults:
        verdict.signed_with = public_key.name
        verdict.not_shown.append("that what was signed is true: a signature says only who signed")


def _verify_drawn(
    path: Path, page: Path, model: Path, public_key: str | Path | None, verdict: Verdict
) -> None:
    """A table against the model that it is said to be drawn from."""
    from copula_shirley.publish.table_check import against_model  # noqa: PLC0415  (slow)

    if is_table(model):
        raise SettingError(f"model ({str(model)!r}) must be a model file, it is a table")
    of_model = verify_file(model, public_key=public_key)
    verdict.compared_with = model.name
    wrong = [f"model {model.name}: {text}" for text in of_model.faults]
    verdict.note(f"the model {model.name} adds up", wrong)
    verdict.not_shown += [f"model {model.name}: {text}" for text in of_model.not_shown]
    if wrong or of_model.generator is None:
        return
    found, _ = read_page(page)
    own = of_model.generator.card().to_dict()
    if wrong := [f"{text} in {model.name}" for text in _different(found.card, own, "card")]:
        verdict.faults.insert(0, f"the table does not come from {model.name}: its card is another")
    verdict.note(f"the card is that of {model.name}: ledger, settings and schema", wrong)
    given = (found.file and found.file.given) or None
    try:
        against_model(path, of_model.generator, given, verdict)
    except ShirleyError as error:
        verdict.note("", [f"the table cannot be compared with the model: {one_line(str(error))}"])


def _checked_digest(text: str) -> str:
    digest = text.strip().lower().removeprefix("sha256:")
    if len(digest) != DIGITS or set(digest) - set("0123456789abcdef"):
        raise SettingError(f"sha256 ({text!r}) must be {DIGITS} hexadecimal digits")
    return digest


def _different(said: Any, true: Any, place: str) -> list[str]:
    """The first differences between what a file says and what it must say."""
    return list(islice(differences(said, true, place), MOST_TOLD))


# -- models ------------------------------------------------------------------------


def _verify_model(path: Path, verdict: Verdict) -> Card | None:
    """Check a model file; its card, if there is one and a model can be made of the file."""
    if zipfile.is_zipfile(path) and not digest_fits(path):  # what is cut off cannot be read
        verdict.note("", ["the file was changed after it was saved: its digest does not fit"])
        return None
    header, arrays = artefact.read(path)
    verdict.note("the digest fits every byte of the file")
    verdict.note("every byte of the file belongs to one of its members", _loose_bytes(path))
    try:
        model = restored(path, header, arrays)
        again = model.rebuilt()
    except OtherRevisionError:  # no fault of the file; this version cannot look into it
        raise
    except ShirleyError as error:
        reason = one_line(str(error)).rpartition(" is damaged: ")[2]
        verdict.note("", [f"no model of these settings follows from the answers: {reason}"])
        return None
    verdict.generator = model
    model.ledger_ = again.ledger
    card = Card.from_dict(header["card"])
    true, kept = model.contents({})
    said = {name: header[name] for name in header if name not in ("format", "copula-shirley")}
    said, true = {**said, "card": {}, **_digests(arrays)}, {**true, **_digests(kept)}
    wrong = _different(said, true, "file")
    verdict.note("settings, schema and answers make ledger, model and arrays of the file", wrong)
    _verify_noise(again, verdict)
    if isinstance(model, PrivateVine) and model.trust_ is not None:
        _verify_holders(model, verdict)
    verdict.note("the card is that of the model", card.unlike(model.new_card())[:MOST_TOLD])
    return card


def _verify_holders(model: PrivateVine, verdict: Verdict) -> None:
    """What several holders signed, from the agreement to the vectors that sum to the answers."""
    from copula_shirley.holders.evidence import faults_of  # noqa: PLC0415  (few models need it)

    text = "the holders signed every question, and vectors that sum to its answer"
    verdict.note(text, faults_of(model))
    verdict.not_shown.append(
        "that the holders' public keys (on the card) are those of the holders: ask them"
    )


def _verify_noise(again: Rebuilt, verdict: Verdict) -> None:
    """The noise of the answers, and how much of it they show."""
    text = "tables that share columns differ as much as their noise says"
    if again.noise_shown is not None or again.noise_faults:
        verdict.note(text, list(again.noise_faults))
    if again.noise_shown is None:
        verdict.not_shown.append(
            "nothing in this file shows its noise: that the noise was drawn is the maker's word"
        )
    else:
        verdict.not_shown.append(
            f"noise that is a little smaller than stated (all noise below {again.noise_shown:.2g} "
            "times it would show in the answers), and answers that were made up together with "
            "their noise"
        )


def _loose_bytes(path: Path) -> list[str]:
    """Bytes between, before or behind the members of a zip file."""
    with zipfile.ZipFile(path) as file:
        end, whole = 0, True
        for member in sorted(file.infolist(), key=lambda m: m.header_offset):
            whole = whole and member.header_offset == end and not (member.extra or member.comment)
            name = member.filename.encode("utf-8", "replace")
            end += LOCAL_HEADER + len(name) + member.compress_size
        whole = whole and file.start_dir == end
    return [] if whole else ["the file holds bytes that belong to no member"]


def _digests(arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """Arrays in a form that can be compared: dtype, shape, digest of the bytes."""
    return {
        f"{name}.npy": [str(array.dtype), list(array.shape), sha256(array.tobytes()).hexdigest()]
        for name, array in arrays.items()
    }


# -- cards beside a file ---------------------------------------------------------------


def _verify_page(path: Path, page: Path, own: Card | None, verdict: Verdict) -> None:
    """The card beside a file: whole, about this file, adding up, and shown as it is."""
    found, content = read_page(page)
    whole = is_whole(content)
    wrong = [] if whole else ["the card was changed after it was written"]
    verdict.note(f"the digest of {page.name} fits", wrong)
    same = found.file is not None and found.file.sha256 == file_sha256(path)
    wrong = ["the card belongs to another file, or the file was changed: sha256 does not fit"]
    verdict.note("the card belongs to the file", [] if same else wrong)
    if found.file is not None and Path(found.file.name).name != found.file.name:
        verdict.note("", ["what the card calls its file is no name of a file"])
    elif found.file is not None and found.file.name != path.name:
        verdict.not_shown.append(
            f"that the file was called {path.name!r}: its card was written for another name"
        )
    try:
        card = Card.from_dict(found.card)
        if own is None:
            verdict.promise(card)
            wrong = card.contradictions()[:MOST_TOLD]
            verdict.note("the card adds up", wrong)
        else:
            wrong = ["the card beside the model is not the one inside"] * (card != own)
            verdict.note("the card beside the model is the one inside", wrong)
        if whole and not wrong:
            _verify_look(card, found, content, verdict)
    except ShirleyError as error:
        verdict.note("", [one_line(str(error))])


def _verify_look(card: Card, found: Page, content: bytes, verdict: Verdict) -> None:
    """The page is made again of its card; one of another version cannot be."""
    if f"card {template_id()}".encode() not in content:
        verdict.note("", ["the page is of another version: what it shows cannot be compared"])
        return
    file = None if found.file is None else to_builtins(found.file)
    same = page_of(card, file, found.made).encode() == content
    wrong = [] if same else ["the page shows another card"]
    verdict.note("the page shows what the card says", wrong)
