"""Signed messages between holders and coordinator, and the labels that chain them.

A message is a file of the kind that models are (one zip of JSON and arrays, read with limits). It
says its kind, session and sender, and is signed (Ed25519) over all it says and every byte of its
arrays. Labels hash the session's agreement, every question and answer so far and the question now
asked, *with the content of its cell maps*. So two holders have the same label only if they were
asked and told the same.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

import msgspec
import numpy as np

from copula_shirley.errors import ArtefactError
from copula_shirley.files import model_file
from copula_shirley.lazy import LazyModule

if TYPE_CHECKING:
    from cryptography import exceptions
    from cryptography.hazmat.primitives.asymmetric import ed25519
else:
    exceptions = LazyModule("cryptography.exceptions")
    ed25519 = LazyModule("cryptography.hazmat.primitives.asymmetric.ed25519")

T = TypeVar("T")
#: Stands before what is signed, and before what is hashed to a label.
SIGNED, LABEL = b"copula-shirley message 1\n", b"copula-shirley label 1\n"
ENDING = ".shirley"
#: The name of the answer to the last question among the arrays of a question.
LAST = "last_answer"
#: Bytes of a random number.
NONCE = 16


class _Head(msgspec.Struct, forbid_unknown_fields=True):
    """What a file says beside its arrays."""

    kind: str
    session: str
    sender: str
    body: dict[str, Any]
    signature: str


@dataclass(frozen=True, eq=False)
class Message:
    """What one party says to others."""

    kind: str
    #: In hexadecimal digits; empty before there is one.
    session: str
    sender: str
    body: dict[str, Any]
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)
    signature: bytes = b""

    @cached_property
    def digest(self) -> bytes:
        """The hash of all it says, names and shapes of arrays included."""
        said = [self.kind, self.session, self.sender, self.body]
        return content_digest(said, self.arrays)

    def signed(self, key: ed25519.Ed25519PrivateKey) -> Message:
        return replace(self, signature=key.sign(SIGNED + self.digest))

    def check(self, key: str, kind: str, session: str, sender: str) -> None:
        """Refuse another kind, session or sender, and what this key did not sign."""
        said = (self.kind, self.session, self.sender)
        for what, own, true in zip(
            ("kind", "session", "sender"), said, (kind, session, sender), strict=True
        ):
            if own != true:
                raise ArtefactError(
                    f"message of {self.sender!r:.50}: its {what} ({own!r:.50}) must be {true!r}"
                )
        if not signed_by(key, self.signature, SIGNED + self.digest):
            raise ArtefactError(
                f"the {kind} of {sender!r} was not signed with the key of {sender!r}, or was "
                "changed"
            )

    @cached_property
    def question(self) -> tuple[dict[str, np.ndarray], bytes]:
        """The arrays of a question, and the hash of it with them."""
        arrays = {name: own for name, own in self.arrays.items() if name != LAST}
        return arrays, content_digest(self.body.get("query"), arrays)

    def told(self, kind: type[T]) -> T:
        """The body as what it must be; read once, however many holders of a process get it."""
        found = self._told.get(kind)
        if found is None:
            found = self._told[kind] = self._converted(kind)
        return cast(T, found)

    @cached_property
    def _told(self) -> dict[type[Any], Any]:
        return {}

    def _converted(self, kind: type[T]) -> T:
        try:
            return msgspec.convert(self.body, kind)
        except msgspec.ValidationError as error:
            raise ArtefactError(
                f"the {self.kind} of {self.sender!r:.50} is not readable: {error}"
            ) from None

    def write(self, path: Path) -> None:
        """Write it to a file, whole or not at all."""
        head = _Head(self.kind, self.session, self.sender, self.body, self.signature.hex())
        model_file.write(path, {"message": msgspec.to_builtins(head)}, dict(self.arrays))

    @classmethod
    def read(cls, path: Path) -> Message:
        """The message of a file; who signed it is checked by ``check``."""
        header, arrays = model_file.read(path)
        try:
            head = msgspec.convert(header.get("message"), _Head)
            signature = bytes.fromhex(head.signature)
        except (msgspec.ValidationError, ValueError):
            raise ArtefactError(f"{str(path)!r} is no message of this project") from None
        return cls(head.kind, head.session, head.sender, head.body, arrays, signature)


def content_digest(said: Any, arrays: Mapping[str, np.ndarray]) -> bytes:
    """The hash of plain values, the order of mappings included, and of arrays."""
    try:
        found = sha256(json.dumps(said, separators=(",", ":"), allow_nan=False).encode())
    except ValueError:
        raise ArtefactError("a message has a number that is none: infinite, or not known") from None
    for name, array in sorted(arrays.items()):
        plain = np.ascontiguousarray(array)
        found.update(f"\n{name} {plain.dtype.str} {plain.shape}\n".encode())
        found.update(plain.tobytes())
    return found.digest()


@lru_cache(2**14)
def signed_by(key: str, signature: bytes, content: bytes) -> bool:
    """Whether a public key, in hexadecimal digits, signed this."""
    try:
        ed25519.Ed25519PublicKey.from_public_bytes(bytes.fromhex(key)).verify(signature, content)
    except (exceptions.InvalidSignature, ValueError):
        return False
    return True


class Known(Generic[T]):
    """What follows from public content, by its hash: the holders of one process find it once."""

    def __init__(self, most: int = 8) -> None:
        self._most, self._found = most, dict[bytes, T]()

    def of(self, digest: bytes, make: Callable[[], T]) -> T:
        if digest not in self._found:
            made = make()
            if len(self._found) >= self._most:
                self._found.pop(next(iter(self._found)), None)
            self._found[digest] = made
            return made
        return self._found[digest]


# -- labels ----------------------------------------------------------------------------


def _chained(step: str, *parts: bytes) -> bytes:
    found = sha256(LABEL + step.encode())
    for part in parts:
        found.update(len(part).to_bytes(8, "little") + part)
    return found.digest()


def first_label(agreement: Any) -> bytes:
    """Where the chain of a session begins."""
    return _chained("agreement", content_digest(msgspec.to_builtins(agreement), {}))


def query_label(head: bytes, query: bytes, attempt: int) -> bytes:
    """The label of a question, by its digest, after all that was asked and told before."""
    return _chained("query", head, query, attempt.to_bytes(8, "little"))


def mask_label(label: bytes, nonces: Mapping[str, str]) -> bytes:
    """The label of the masks: it holds a fresh random number of each holder.

    A holder whose folder was put back to an older state draws another number, so that what it
    sends twice is masked in two ways, and the second vector cancels with nobody's.
    """
    said = sorted(nonces.items())
    return _chained("masks", label, json.dumps(said).encode())


def next_head(label: bytes, answer: np.ndarray) -> bytes:
    """The chain after an answer to the masks of a label."""
    return _chained("answer", label, answer.astype("<i8").tobytes())


def pool_seed(agreement: Any) -> int:
    """The seed of rows drawn at the fit: it follows from the agreement, so nobody chooses it."""
    return int.from_bytes(first_label(agreement)[:7], "little")
