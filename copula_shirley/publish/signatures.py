"""Signatures of models, tables and their cards: who published a file.

Ed25519 over the kind of the file, its sha256 and that of the card beside it, so one signature
holds all three together: another file, another card, a card that was taken away, or the signature
of another file do not fit. It lies beside the file as ``NAME.sig``. Keys are PEM files (PKCS 8 and
SubjectPublicKeyInfo), as ``openssl genpkey -algorithm ed25519`` and ``openssl pkey -pubout`` write
them.

A signature shows that the holder of a key vouches for these bytes. It does not show that what they
say is true.
"""

from __future__ import annotations

import base64
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct, structs

from copula_shirley.errors import ArtefactError, SettingError
from copula_shirley.files.atomic import atomic_path, read_bytes
from copula_shirley.files.digest import file_sha256
from copula_shirley.files.plain_json import canonical
from copula_shirley.lazy import LazyModule

if TYPE_CHECKING:
    from cryptography import exceptions
    from cryptography.hazmat.primitives import serialization as pem
    from cryptography.hazmat.primitives.asymmetric import ed25519
else:  # only who signs or checks waits for it
    exceptions = LazyModule("cryptography.exceptions")
    pem = LazyModule("cryptography.hazmat.primitives.serialization")
    ed25519 = LazyModule("cryptography.hazmat.primitives.asymmetric.ed25519")

#: What the signature of a file is called: the file's own name, and this.
ENDING = ".sig"
#: Stands before every message, so that nothing else that the key signs is taken for one.
DOMAIN = b"copula-shirley file signature 1\n"
PASSPHRASE = "SHIRLEY_KEY_PASSPHRASE"
#: Stands in PEM files of keys with a passphrase, the old ones included.
LOCKED = b"ENCRYPTED"
#: Bytes of a key or a signature file, at the most.
LARGEST = 10_000


class _Signed(Struct, forbid_unknown_fields=True):
    """What a signature file says."""

    kind: str
    file: str
    card: str | None
    signature: str


def signature_path(path: str | Path) -> Path:
    """Where the signature of a file lies: beside it."""
    return Path(path).with_name(Path(path).name + ENDING)


def is_there(path: Path) -> bool:
    """Whether a file exists; a name that is too long for one is none."""
    try:
        return path.exists()
    except OSError:
        return False


def new_key(path: Path) -> Path:
    """Write a new private key, for its owner alone, and beside it the public one (``.pub``)."""
    public = path.with_name(path.name + ".pub")
    for target in (path, public):
        if target.exists() or target.is_symlink():
            raise SettingError(f"{str(target)!r} exists: a key is never written over")
    key = ed25519.Ed25519PrivateKey.generate()
    own = key.private_bytes(pem.Encoding.PEM, pem.PrivateFormat.PKCS8, pem.NoEncryption())
    shared = key.public_key().public_bytes(pem.Encoding.PEM, pem.PublicFormat.SubjectPublicKeyInfo)
    with atomic_path(public) as partial:
        partial.write_bytes(shared)
        try:  # nobody else may read it at any moment, and none that is there is replaced
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise ArtefactError(f"{str(path)!r} cannot be written: {error.strerror}") from None
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(own)
                file.flush()
                os.fsync(file.fileno())
        except BaseException:
            path.unlink(missing_ok=True)
            raise
    return public


def read_private_key(path: str | Path) -> ed25519.Ed25519PrivateKey:
    """The private key of a PEM file; its passphrase, if it has one, is in the environment."""
    content, phrase = read_bytes(path, LARGEST, SettingError, "key"), None
    if LOCKED in content:
        phrase = os.environ.get(PASSPHRASE, "").encode()
        if not phrase:
            raise SettingError(
                f"key {str(path)!r} has a passphrase: name it in the environment variable "
                f"{PASSPHRASE}"
            )
    try:
        key = pem.load_pem_private_key(content, phrase)
    except (ValueError, TypeError, exceptions.UnsupportedAlgorithm):
        raise SettingError(
            f"key {str(path)!r} must be a private Ed25519 key in PEM, as 'shirley keys new' and "
            "openssl write it, and its passphrase, if it has one, the right one"
        ) from None
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise SettingError(f"key {str(path)!r} must be an Ed25519 key, it is of another kind")
    return key


def read_public_key(path: str | Path) -> ed25519.Ed25519PublicKey:
    """The public key of a PEM file."""
    key: Any = None
    content = read_bytes(path, LARGEST, SettingError, "public key")
    with suppress(ValueError, exceptions.UnsupportedAlgorithm):
        key = pem.load_pem_public_key(content)
    if not isinstance(key, ed25519.Ed25519PublicKey):
        raise SettingError(
            f"public key {str(path)!r} must be a public Ed25519 key in PEM, the .pub file that "
            "'shirley keys new' writes"
        )
    return key


def write_signature(
    target: Path, key: ed25519.Ed25519PrivateKey, kind: str, content: Path, page: Path | None
) -> None:
    """Write the signature of a file of this kind to ``target``.

    ``content`` and ``page`` are where the bytes of the file and of its card, if any, are now.
    """
    said = _statement(kind, content, page)
    signature = base64.b64encode(key.sign(_message(said))).decode()
    target.write_text(json.dumps({**said, "signature": signature}, indent=1) + "\n")


def signature_faults(key: ed25519.Ed25519PublicKey, kind: str, path: Path, page: Path) -> list[str]:
    """Why the signature beside a file does not show that this key signed file and card."""
    beside = signature_path(path)
    if not is_there(beside):
        return [f"there is no signature {beside.name} beside the file"]
    try:
        content = read_bytes(beside, LARGEST, SettingError, "signature")
        said = structs.asdict(msgspec.json.decode(content, type=_Signed))
        signature = base64.b64decode(said.pop("signature"), validate=True)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return [f"{beside.name} is no signature of this project"]
    try:
        key.verify(signature, _message(said))
    except exceptions.InvalidSignature:
        return [f"{beside.name} was not made with this key, or was changed"]
    true = _statement(kind, path, page if is_there(page) else None)
    words = {"kind": "another kind of file", "file": "another file", "card": "another card"}
    return [
        f"{beside.name} is the signature of {text}"
        for part, text in words.items()
        if said[part] != true[part]
    ]


def _statement(kind: str, content: Path, page: Path | None) -> dict[str, Any]:
    """What is signed."""
    card = None if page is None else file_sha256(page)
    return {"kind": kind, "file": file_sha256(content), "card": card}


def _message(said: dict[str, Any]) -> bytes:
    return DOMAIN + canonical(said)
