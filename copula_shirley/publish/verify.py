"""``shirley verify``: whether what a file says about its privacy adds up.

For a model file: its digest; the ledger's totals, recomputed from its entries; budget, claim,
neighbours and unit against settings and schema; the card against all of these; for a PrivateVine
the transcript of noisy answers against the ledger (``copula_shirley.publish.transcript_check``).
For a
table: its card, the card's own arithmetic, and the table's sha256; with the model the table's
domain and margins (``copula_shirley.publish.table_check``). With a public key: the signature of
file and
card (``copula_shirley.publish.signatures``).

What it cannot tell: whether somebody made up a whole model with care, or fitted more often than he
says; of a table without its model, where its rows come from. A digest is no signature, and a
signature does not make true what was signed.
"""

from __future__ import annotations

import math
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import to_builtins

from copula_shirley.errors import (
    ArtefactError,
    OtherRevisionError,
    SettingError,
    ShirleyError,
)
from copula_shirley.files import model_file as artefact
from copula_shirley.files.digest import DIGITS, file_sha256, seal_of
from copula_shirley.files.plain_json import canonical, close
from copula_shirley.files.texts import one_line
from copula_shirley.generator import Generator, restored
from copula_shirley.privacy.card import Card
from copula_shirley.privacy.card_page import page_of, template_id
from copula_shirley.privacy.ledger import Ledger, Reason
from copula_shirley.privacy.noise import Exactness
from copula_shirley.publish.outputs import card_path
from copula_shirley.publish.pages import Page, is_whole, read_page
from copula_shirley.publish.signatures import (
    is_there,
    read_public_key,
    signature_faults,
    signature_path,
)
from copula_shirley.rows.tables import is_table

#: Letters of the name of a file.
LONGEST_NAME = 255
#: Length of what stands before each member of a zip file, without its name.
LOCAL_HEADER = 30
#: What a ledger that is not well formed makes its methods raise.
ODD = (KeyError, TypeError, ValueError, AttributeError, RecursionError, OverflowError)


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
        """Whether everything adds up."""
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

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "file": self.file,
            "kind": self.kind,
            "fits": self.fits,
            "faults": self.faults,
            "passed": self.passed,
            "not_shown": self.not_shown,
            "headline": self.headline,
            "compared_with": self.compared_with,
            "signed_with": self.signed_with,
            "conclusion": self.conclusion,
        }


def verify_file(
    path: str | Path,
    card: str | Path | None = None,
    sha256: str | None = None,
    model: str | Path | None = None,
    public_key: str | Path | None = None,
) -> Verdict:
    """Compare everything that a file says about its privacy.

    Parameters
    ----------
    path : path
        A model file; or a table, ``.csv`` or ``.parquet``, with its card.
    card : path, optional
        The card, if it is not beside the file.
    sha256 : str, optional
        The file's sha256 as it was published.
    model : path, optional
        The model that a table is said to be drawn from: it is verified, and the table compared.
    public_key : path, optional
        Of who is said to have signed the file with its card, and the model with its own.

    Raises
    ------
    ArtefactError
        If there is nothing to compare: no such file, no model, no card of a table.
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
        verdict.headline = _headline(own)
    if table or card is not None or is_there(page):
        _verify_page(path, page, own, verdict)
    if table and model is None:
        verdict.not_shown.append(
            "that the rows were drawn from a private model: compare them with it by --model"
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
    from copula_shirley.publish.table_check import against_model  # noqa: PLC0415  (a circle)

    of_model = verify_file(model, public_key=public_key)
    if of_model.kind != "model":
        raise SettingError(f"model ({str(model)!r}) must be a model file, it is a table")
    verdict.compared_with = model.name
    wrong = [f"model {model.name}: {text}" for text in of_model.faults]
    verdict.note(f"the model {model.name} adds up", wrong)
    verdict.not_shown += [f"model {model.name}: {text}" for text in of_model.not_shown]
    if wrong or of_model.generator is None:
        return
    found, _ = read_page(page)
    card, own = found.card, of_model.generator.card().to_dict()
    differs = ["it is not readable"]
    if isinstance(card, dict):
        differs = [key for key in own if canonical(card.get(key)) != canonical(own[key])]
        differs += [key for key in card if key not in own]
    verdict.note(
        f"the card is that of {model.name}: ledger, settings and schema",
        differs and [f"the card is not that of {model.name}: {', '.join(differs)} differ"],
    )
    given = (found.file and found.file.given) or None
    try:
        for comparison in against_model(path, of_model.generator, given):
            verdict.note(comparison.text, list(comparison.faults))
            if comparison.not_shown:
                verdict.not_shown.append(comparison.not_shown)
    except (ShirleyError, *ODD) as error:
        verdict.note("", [f"the table cannot be compared with the model: {_one_line(error)}"])


def _checked_digest(text: str) -> str:
    digest = text.strip().lower().removeprefix("sha256:")
    if len(digest) != DIGITS or set(digest) - set("0123456789abcdef"):
        raise SettingError(f"sha256 ({text!r}) must be {DIGITS} hexadecimal digits")
    return digest


# -- models ------------------------------------------------------------------------


def _verify_model(path: Path, verdict: Verdict) -> dict[str, Any] | None:
    """Check a model file; its card, if it can be read so far."""
    sealed = seal_of(path)
    if sealed is False:
        with open(path, "rb") as file:
            if file.read(2) != b"PK":  # no zip file at all
                artefact.read(path)
        verdict.note("", ["the file was changed after it was saved: its digest does not fit"])
        return None
    header, arrays = artefact.read(path)
    if sealed is None:
        verdict.note("", ["the file has no digest: it is older than them, or it was cut off"])
    else:
        verdict.note("the digest fits every byte of the file")
    verdict.note("every byte of the file belongs to one of its members", _loose_bytes(path))
    wrong = ledger_faults(header.get("ledger"))
    verdict.note("the ledger's totals follow from its entries", wrong)
    try:
        model = restored(path, header, arrays)
        again, kept = model.contents(header.get("card", {}))
        verdict.generator = model
    except OtherRevisionError:  # no fault of the file; this version cannot look into it
        raise
    except (ShirleyError, *ODD) as error:
        reason = _one_line(error).rpartition(" is damaged: ")[2]
        verdict.note("", [f"no model of these settings follows from the answers: {reason}"])
        return None
    comparisons: dict[str, Callable[[], list[str]]] = {
        "header and arrays are those of the model": lambda: _content_faults(
            header, arrays, again, kept
        ),
        "budget, claim, neighbours and unit follow from the settings": lambda: _settings(model),
        "unprotected uses are those of schema and method": lambda: _unprotected_faults(model),
        "what was learnt fits the ledger": lambda: [] if wrong else _evidence(model, verdict),
    }
    for text, compare in comparisons.items():
        try:
            faults = compare()
        except (ShirleyError, *ODD) as error:
            faults = [f"it cannot be shown that {text}: {_one_line(error)}"]
        if not (wrong and text.endswith("the ledger")):  # would say the same once more
            verdict.note(text, faults)
    return _card_of_model(model, header, verdict)


def _evidence(model: Generator, verdict: Verdict) -> list[str]:
    """Faults of what was learnt; how much of the noise it shows is written down, too."""
    faults, shown = model._evidence()
    if shown is None:
        verdict.not_shown.append(
            "nothing in this file shows its noise: that the noise was drawn is the maker's word"
        )
    else:
        verdict.not_shown.append(
            f"noise that is a little smaller than stated (all noise below {shown:.2g} times it "
            "would show in the answers), and answers that were made up together with their noise"
        )
    return faults


def _card_of_model(
    model: Generator, header: dict[str, Any], verdict: Verdict
) -> dict[str, Any] | None:
    card = header.get("card")
    if card is None:
        verdict.note("", ["the model has no privacy card: it is older, or it was removed"])
        return None
    try:
        wrong = model.card().contradictions()
    except (ShirleyError, *ODD) as error:
        wrong = [_one_line(error)]
    verdict.note("the card says what the model says", wrong)
    return card if isinstance(card, dict) else None


def _one_line(error: BaseException) -> str:
    return one_line(str(error)) or type(error).__name__


def _loose_bytes(path: Path) -> list[str]:
    """Bytes between, before or behind the members of a zip file, and members of one name."""
    with zipfile.ZipFile(path) as file:
        members, end = file.infolist(), 0
        names = [member.filename for member in members]
        for member in sorted(members, key=lambda m: m.header_offset):
            if member.header_offset != end or member.extra or member.comment:
                return ["the file holds bytes that belong to no member"]
            name = member.filename.encode("utf-8", "replace")
            end += LOCAL_HEADER + len(name) + member.compress_size
        if file.start_dir != end:
            return ["the file holds bytes that belong to no member"]
    return [] if len(set(names)) == len(names) else ["two members of the file have one name"]


def _content_faults(
    header: dict[str, Any],
    arrays: dict[str, np.ndarray],
    again: dict[str, Any],
    kept: dict[str, np.ndarray],
) -> list[str]:
    """What the file holds beside, or otherwise than, the model that is made from it."""
    found = [f"member {name!r} is no part of the model" for name in arrays if name not in kept]
    found += [f"member {name!r} is missing" for name in kept if name not in arrays]
    for name, array in kept.items():
        if name in arrays and not _same_array(arrays[name], array):
            found.append(f"member {name!r} is not what the model makes of it")
    known = {"format", "copula-shirley"}
    found += [
        f"entry {key!r} is no part of a header" for key in header if key not in {*again, *known}
    ]
    for key, value in again.items():
        if key in ("card", "ledger"):  # compared with more care elsewhere
            continue
        if key not in header or canonical(header[key]) != canonical(value):
            found.append(f"entry {key!r} of the header is not what the model makes of it")
    return found


def _same_array(one: np.ndarray, other: np.ndarray) -> bool:
    same = one.dtype == other.dtype and one.shape == other.shape
    return same and one.tobytes() == other.tobytes()


def ledger_faults(entry: Any) -> list[str]:
    """Write a ledger's entries down once more, in a fresh one that refuses, and compare."""
    try:
        fresh = _written_again(entry)
        if close(fresh.to_dict(), entry):
            return []
        for total in ("spent", "proved"):
            said, true = entry[total], fresh.to_dict()[total]
            if not close(said, true):
                return [f"the ledger says {total} {_total(said)}, its entries say {_total(true)}"]
    except ShirleyError as error:
        return [f"the ledger does not add up: {_one_line(error)}"]
    except ODD:
        return ["the ledger is not readable"]
    return ["the ledger's entries are not what they would be written as"]


def _written_again(entry: dict[str, Any]) -> Ledger:
    """A ledger of the same entries, each of which it could refuse."""
    fresh = Ledger.from_dict({**entry, "partitions": [], "spends": [], "unprotected": []})
    if type(fresh.rows_per_unit) is not int or fresh.rows_per_unit < 1:
        raise SettingError(f"rows_per_unit ({fresh.rows_per_unit!r}) is no number of rows")
    for split in entry["partitions"]:
        if type(split["by_value"]) is not bool or not all(map(_is_text, split["parts"])):
            raise TypeError
        fresh.partition(tuple(split["parts"]), whole=split["whole"], by_value=split["by_value"])
    for spend in entry["spends"]:
        texts = (spend["stage"], spend["what"], spend["mechanism"])
        costs = [spend["epsilon"], spend["delta"], spend["rho"]]
        if not all(map(_is_text, texts)):
            raise TypeError
        if any(isinstance(c, bool) or not (math.isfinite(c) and c >= 0) for c in costs):
            raise SettingError(f"a cost of {spend['stage']!r} is no number, 0 or more")
        if fresh.zcdp:
            fresh.charge_rho(*texts, spend["rho"], spend["delta"], spend["rows"])
        else:
            fresh.charge(*texts, spend["epsilon"], spend["delta"], spend["rows"])
    for use in entry["unprotected"]:
        reason = Reason(use["reason"])
        told = use["detail"] if reason is Reason.OTHER else reason
        fresh.record_unprotected(use["stage"], use["what"], told, use["rows"])
    return fresh


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _total(entry: Any) -> str:
    if entry is None:
        return "nothing"
    try:
        return ", ".join(f"{name} {float(value):.6g}" for name, value in entry.items() if value)
    except ODD:
        return repr(entry)


def _settings(model: Generator) -> list[str]:
    """What settings and schema say about the ledger."""
    ledger, found = model.ledger_, []
    try:
        model._check_settings(model.schema_)
        opened = model._open_ledger(model.schema_)
    except ShirleyError as error:
        return [f"the settings are not possible: {_one_line(error)}"]
    for name in ("budget", "claimed", "neighbours", "unit", "rows_per_unit", "zcdp"):
        said, true = getattr(ledger, name), getattr(opened, name)
        if said != true:
            found.append(f"the ledger's {name} ({said}) is not that of the settings ({true})")
    missing = [use for use in opened.unprotected if use not in ledger.unprotected]
    found += [f"the ledger does not name an unprotected use: {use.what}" for use in missing]
    exact = ledger.noise is not None and ledger.noise.exactness is Exactness.EXACT
    if ledger.seeded and exact:
        found.append("the ledger says both that the noise is seeded and that it is not")
    return found


def _unprotected_faults(model: Generator) -> list[str]:
    """Uses of rows that must be called unprotected, by schema and method."""
    ledger, schema = model.ledger_, model.schema_
    found = []
    domains = {column.name: column.provenance for column in schema}
    if ledger.domains != domains:
        found.append("the ledger's provenance of domains is not that of the schema")
    named = {use.what for use in ledger.unprotected if use.stage == "domain"}
    drafted = [f"column {n!r}" for n in schema.drafted if n not in named]
    counted = schema.person is not None and schema.person_provenance == "drafted"
    if counted and f"max_rows of {schema.person}" not in named:
        drafted.append("max_rows")
    found += [f"{what} was drafted, but is not called unprotected" for what in drafted]
    if not model.provable and not ledger.unprotected:
        found.append(f"the ledger proves something of {model.name}, which no fit of it can")
    if not ledger.spends and ledger.budget is not None and not ledger.unprotected:
        found.append("the ledger has a budget, but no use of rows at all")
    return found


# -- cards beside a file ---------------------------------------------------------------


def _card_faults(entry: Any) -> list[str]:
    """Whether a card adds up by itself."""
    try:
        card = Card.from_dict(entry)
        found = ledger_faults(card.ledger)
        return [f"card: {text}" for text in found] or card.contradictions()
    except (ShirleyError, *ODD) as error:
        return [_one_line(error)]


def _headline(card: dict[str, Any]) -> str:
    said = card.get("words")
    return str(said.get("headline", "")).rstrip(".") if isinstance(said, dict) else ""


def _free(found: Page) -> list[str]:
    """What stands on a page beside its card must be a date, a name of a file and a digest.

    Else whoever writes a page could let it say anything.
    """
    try:
        made = found.made or ""
        dated = datetime.fromisoformat(made).isoformat(timespec="seconds") == made
    except ValueError:
        dated = False
    faults = [] if dated else ["the card's date is no date"]
    if found.file is None:
        return [*faults, "what the card says of its file is not readable"]
    name = found.file.name
    if len(name) > LONGEST_NAME or Path(name).name != name:
        faults.append("what the card calls its file is no name of a file")
    if "=" not in (found.file.given or "="):
        faults.append("the condition on the card is none")
    return faults


def _verify_page(path: Path, page: Path, own: dict[str, Any] | None, verdict: Verdict) -> None:
    """The card beside a file: whole, about this file, adding up, and shown as it is."""
    found, content = read_page(page)
    whole = is_whole(content)
    wrong = [] if whole else ["the card was changed after it was written"]
    verdict.note(f"the digest of {page.name} fits", wrong)
    same = found.file is not None and found.file.sha256 == file_sha256(path)
    wrong = ["the card belongs to another file, or the file was changed: sha256 does not fit"]
    verdict.note("the card belongs to the file", [] if same else wrong)
    verdict.note("the page names the file and a date, and says no more of its own", _free(found))
    if found.file is not None and found.file.name != path.name:
        verdict.not_shown.append(
            f"that the file was called {path.name!r}: its card was written for another name"
        )
    if own is None:
        if isinstance(found.card, dict):
            verdict.headline = _headline(found.card)
        verdict.note("the card adds up", _card_faults(found.card))
    else:
        differs = canonical(found.card) != canonical(own)
        verdict.note(
            "the card beside the model is the one inside",
            ["the card beside the model is not the one inside"] if differs else [],
        )
    if whole:
        _verify_look(found, content, verdict)


def _verify_look(found: Page, content: bytes, verdict: Verdict) -> None:
    """The page is made again of its card; one of another version cannot be."""
    if f"card {template_id()}".encode() not in content:
        verdict.note("", ["the page is of another version: what it shows cannot be compared"])
        return
    try:
        file = None if found.file is None else to_builtins(found.file)
        same = page_of(Card.from_dict(found.card), file, found.made).encode() == content
    except (ShirleyError, *ODD) as error:
        verdict.note("", [_one_line(error)])
        return
    wrong = [] if same else ["the page shows another card"]
    verdict.note("the page shows what the card says", wrong)
