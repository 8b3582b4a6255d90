"""Holders and coordinator as folders, for files that are carried by hand.

What arrives is put into ``in``, what has to be sent lies in ``out``. The state is one file that is
replaced as a whole before anything is written to ``out``; private keys are for their owner alone.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
import numpy as np
from msgspec import Struct

from copula_shirley.errors import ArtefactError, SettingError, ShirleyError
from copula_shirley.files import model_file
from copula_shirley.files.atomic import atomic_path, read_bytes
from copula_shirley.files.locks import locked
from copula_shirley.fitted import Progress, silent
from copula_shirley.holders.coordinator import Coordinator, Open, WaitingError, new_agreement
from copula_shirley.holders.holder import Asked, Holder, State, agreement_of, keys_of, new_keys
from copula_shirley.holders.messages import ENDING, Message, first_label
from copula_shirley.holders.rows import Terms
from copula_shirley.measure.trust import Agreement, Hexadecimal, Name, Round
from copula_shirley.privacy.noise import NoiseSource, SecureNoise
from copula_shirley.private_vine.generator import PrivateVine
from copula_shirley.rows.tables import read_table
from copula_shirley.schema.schema import Schema

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric import ed25519, x25519

T = TypeVar("T")
#: Files of a folder, and the folders in it.
ABOUT, KEYS, STATE = "about.json", "keys.json", "state" + ENDING
IN, OUT = "in", "out"
#: Bytes of a file that is no message.
LARGEST = 2**25
#: Digits of a fingerprint that people read to each other. Whoever makes the agreement can look for
#: two with the same digits, and show each of them to some: that takes 2^(2 DIGITS) tries.
DIGITS = 40


class _Keys(Struct, forbid_unknown_fields=True):
    """Private keys of a session."""

    sign: Hexadecimal
    exchange: Hexadecimal


class _About(Struct, forbid_unknown_fields=True):
    """Who a holder is, and where its rows are."""

    name: Name
    table: str
    terms: Terms


@dataclass
class Done:
    """What was written for others, and what was wrong with what arrived."""

    written: list[Path]
    faults: list[str]
    waiting: str = ""


def fingerprint(agreement: Agreement) -> str:
    """The digits by which people compare an agreement, in groups of four."""
    digits = first_label(agreement).hex()[:DIGITS]
    return "-".join(digits[i : i + 4] for i in range(0, DIGITS, 4))


# -- a holder ----------------------------------------------------------------------------


def new_holder(folder: Path, name: str, table: Path, terms: Terms) -> Path:
    """Make a holder's folder for one session; the file with its public keys."""
    about = _About(_converted(name, Name, "name"), str(table.resolve()), terms)
    if not table.exists():
        raise SettingError(f"table {str(table)!r} does not exist")
    _new_folder(folder)
    _write_keys(folder, *new_keys())
    _write_json(folder / ABOUT, about)
    holder = open_holder(folder)
    return _sent(folder, f"key.{name}", holder.key_message())


def open_holder(folder: Path, source: NoiseSource | None = None) -> Holder:
    """The holder of a folder."""
    about = _read_json(folder / ABOUT, _About)

    def keep(state: State, kept: Mapping[str, np.ndarray]) -> None:
        said = {"state": msgspec.to_builtins(state)}
        model_file.write(folder / STATE, said, dict(kept))

    holder = Holder(
        about.name,
        *_read_keys(folder),
        lambda: read_table(Path(about.table), Schema.from_dict(about.terms.schema)),
        source or SecureNoise(),
        about.terms,
        keep,
    )
    if (folder / STATE).exists():
        header, kept = model_file.read(folder / STATE)
        holder.state, holder.kept = _converted(header.get("state"), State, STATE), kept
    return holder


def offered(folder: Path) -> Agreement:
    """The agreement that arrived at a holder."""
    return agreement_of(Message.read(folder / IN / f"agreement{ENDING}"))


def join(folder: Path, digits: str, source: NoiseSource | None = None) -> Path:
    """Sign the agreement that arrived, if its fingerprint is the one that people compared."""
    with _alone(folder):
        return _join(folder, digits, source)


def _join(folder: Path, digits: str, source: NoiseSource | None) -> Path:
    message = Message.read(folder / IN / f"agreement{ENDING}")
    if digits.replace("-", "").lower() != fingerprint(agreement_of(message)).replace("-", ""):
        raise SettingError(
            f"fingerprint ({digits!r}) must be that of the agreement, "
            f"{fingerprint(agreement_of(message))}: compare it with the other holders by voice"
        )
    holder = open_holder(folder, source)
    return _sent(folder, f"signature.{holder.name}", holder.join(message))


def answer(folder: Path, source: NoiseSource | None = None) -> Done:
    """Answer what arrived at a holder; what is older than its state is passed over."""
    done = Done([], [])
    with _alone(folder):
        holder = open_holder(folder, source)
        messages, done.faults = _arrived(folder / IN, ("query", "commit"))
        for message in sorted(messages, key=lambda m: m.kind, reverse=True):
            try:
                written = _respond(folder, holder, message)
            except ShirleyError as error:
                done.faults.append(str(error))
                continue
            done.written += [] if written is None else [written]
    return done


def respond(folder: Path, message: Message, source: NoiseSource | None = None) -> Path | None:
    """The file with the reply to one message; None where nothing is to be answered."""
    with _alone(folder):
        return _respond(folder, open_holder(folder, source), message)


def kept_reply(folder: Path, message: Message) -> Path | None:
    """The file with the reply that was given to this message before, if it was."""
    holder = open_holder(folder)
    label, state = message.body.get("label"), holder.state
    if state is None or not label or label != state.label:
        return None
    kind = {"query": "ready", "commit": "masked"}.get(message.kind, "")
    found = folder / OUT / f"{_place(kind, state, holder.name)}{ENDING}"
    return found if found.exists() else None


def _respond(folder: Path, holder: Holder, message: Message) -> Path | None:
    reply = _reply(holder, message)
    if reply is None or holder.state is None:
        return None
    return _sent(folder, _place(reply.kind, holder.state, holder.name), reply)


def _place(kind: str, state: State, name: str) -> str:
    return f"{kind}-{state.number:03d}-{state.attempt}.{name}"


def _reply(holder: Holder, message: Message) -> Message | None:
    """What a holder answers; None to what it has answered, or knows a later attempt of."""
    state = holder.state
    if message.kind == "commit":
        known = state is not None and (state.sent or message.body.get("label") != state.label)
        return None if known else holder.masked(message)
    told = message.told(Asked)
    if state is not None:
        old = (told.number, told.attempt) < (state.number, state.attempt)
        if old or (state.sent and told.label == state.label):
            return None
    return holder.ready(message)


# -- the coordinator -----------------------------------------------------------------------


def new_session(
    folder: Path,
    vine: PrivateVine,
    schema: Schema,
    keys: list[Path],
    colluding: int,
    *,
    spare: float = 0.0,
    accept_unproved: bool = False,
    rehearsal: bool = False,
) -> tuple[Agreement, Path]:
    """Make a coordinator's folder of the key files of all holders; the agreement to be signed."""
    messages = [Message.read(path) for path in keys]
    key, other = new_keys()
    agreement = new_agreement(
        key, vine, schema, messages, colluding, spare=spare, accept_unproved=accept_unproved,
        rehearsal=rehearsal,
    )  # fmt: skip
    _new_folder(folder)
    _write_keys(folder, key, other)
    session = Coordinator(key, agreement, lambda own: _keep(folder, own))
    session.keep(session)
    return agreement, _sent(folder, "agreement", session.agreement_message())


def open_session(folder: Path) -> Coordinator:
    """The session of a coordinator's folder."""
    header, arrays = model_file.read(folder / STATE)
    told = _converted(header.get("session"), _Session, STATE)
    return Coordinator(
        _read_keys(folder)[0],
        told.agreement,
        lambda own: _keep(folder, own),
        told.signatures,
        told.rounds,
        [arrays[f"answer_{i}"] for i in range(len(told.rounds))],
        told.open,
        {name: arrays[f"arrived_{i}"] for i, name in enumerate(told.arrived)},
        head=bytes.fromhex(told.head),
        extra=told.extra,
    )


class _Session(Struct, forbid_unknown_fields=True):
    """What a coordinator must not forget."""

    agreement: Agreement
    signatures: dict[str, Hexadecimal]
    rounds: list[Round]
    open: Open
    arrived: list[str]
    head: Hexadecimal
    extra: float


def _keep(folder: Path, own: Coordinator) -> None:
    said = _Session(
        own.agreement,
        own.signatures,
        own.rounds,
        own.open,
        list(own.arrived),
        own.head.hex(),
        own.extra,
    )
    arrays = {f"answer_{i}": vectors for i, vectors in enumerate(own.vectors)}
    arrays |= {f"arrived_{i}": vector for i, vector in enumerate(own.arrived.values())}
    model_file.write(folder / STATE, {"session": msgspec.to_builtins(said)}, arrays)


def advance(folder: Path, progress: Progress = silent) -> tuple[Done, PrivateVine | None]:
    """Take what arrived, and write what has to be sent; the model once all is answered."""
    with _alone(folder):
        return _advance(folder, progress)


def _advance(folder: Path, progress: Progress) -> tuple[Done, PrivateVine | None]:
    session, done = open_session(folder), Done([], [])
    messages, done.faults = _arrived(folder / IN, ("signature", "ready", "masked"))
    for message in sorted(messages, key=lambda m: m.kind, reverse=True):
        try:
            session.take(message)
        except ShirleyError as error:
            done.faults.append(str(error))
    session.keep(session)
    try:
        return done, session.fit(progress)
    except WaitingError as error:
        done.waiting = str(error)
    if (sent := session.outgoing or session.last()) is not None:
        place = f"{sent.kind}-{len(session.rounds):03d}-{session.open.attempt}"
        if session.outgoing is not None or not (folder / OUT / f"{place}{ENDING}").exists():
            done.written.append(_sent(folder, place, sent))
    return done, None


def outstanding(folder: Path) -> tuple[Path, list[str]] | None:
    """The file that was sent last, and the holders that have not answered it."""
    session = open_session(folder)
    own = session.open
    if len(session.signatures) < len(session.names):
        name, found = "agreement", set(session.signatures)
    elif own.committed:
        name, found = f"commit-{len(session.rounds):03d}-{own.attempt}", set(own.masked)
    elif own.label:
        name, found = f"query-{len(session.rounds):03d}-{own.attempt}", set(own.ready)
    else:
        return None
    lacking = [one for one in session.names if one not in found]
    return folder / OUT / f"{name}{ENDING}", lacking


def restart(folder: Path) -> None:
    """Give up the attempt at the question that is open."""
    with _alone(folder):
        open_session(folder).restart()


# -- parts ---------------------------------------------------------------------------------


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """One process at a time works on a session: another one could forget what this one charged."""
    if not (folder / KEYS).exists():
        raise SettingError(f"folder ({str(folder)!r}) is no session's: {KEYS} does not exist in it")
    with locked(folder / STATE):
        yield


def _new_folder(folder: Path) -> None:
    """A folder for its owner alone, with one for what arrives and one for what is sent."""
    if folder.exists() and any(folder.iterdir()):
        raise SettingError(
            f"folder ({str(folder)!r}) must be new: a session has keys and a state of its own"
        )
    for one in (folder, folder / IN, folder / OUT):
        one.mkdir(parents=True, exist_ok=True)
        one.chmod(0o700)  # the noise of an open question lies there, too


def _read_keys(
    folder: Path,
) -> tuple[ed25519.Ed25519PrivateKey, x25519.X25519PrivateKey]:
    """The private keys of a folder."""
    keys = _read_json(folder / KEYS, _Keys)
    try:
        return keys_of(bytes.fromhex(keys.sign), bytes.fromhex(keys.exchange))
    except ValueError:
        raise ArtefactError(f"{str(folder / KEYS)!r} does not hold the keys of a session") from None


def _write_keys(folder: Path, *own: Any) -> None:
    """Write private keys, for their owner alone from the first moment."""
    keys = _Keys(*(key.private_bytes_raw().hex() for key in own))
    write_secret(folder / KEYS, msgspec.json.encode(keys))


def write_secret(path: Path, content: bytes) -> None:
    """Write a new file that its owner alone can read, from the first moment."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _write_json(path: Path, value: Any) -> None:
    with atomic_path(path) as partial:
        partial.write_text(json.dumps(msgspec.to_builtins(value), indent=1) + "\n")


def _read_json(path: Path, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(read_bytes(path, LARGEST, SettingError, "file"), type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ArtefactError(f"{str(path)!r} is not readable: {error}") from None


def _converted(value: Any, kind: Any, what: str) -> Any:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise SettingError(f"{what} is not readable: {error}") from None


def _sent(folder: Path, name: str, message: Message) -> Path:
    """Write a message to be sent."""
    path = folder / OUT / f"{name}{ENDING}"
    message.write(path)
    return path


def _arrived(folder: Path, kinds: tuple[str, ...]) -> tuple[list[Message], list[str]]:
    """Messages of some kinds that arrived, in the order of names; and files that are none."""
    found, faults = [], []
    for path in sorted(folder.glob(f"*{ENDING}")):
        try:
            message = Message.read(path)
        except ShirleyError as error:
            faults.append(str(error))
            continue
        if message.kind in kinds:
            found.append(message)
    return found, faults
