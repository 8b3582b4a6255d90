"""Masks that cancel in a sum: whoever sees all vectors learns their sum and nothing else.

Holder i sends S_i = x_i + sum_{j > i} R_ij - sum_{j < i} R_ij modulo 2^64 (Cai and Kou 2019, on
whole numbers). R_ij is the key stream of ChaCha20 under a key that both holders derive by HKDF from
their X25519 secret, both names and a label; each R_ij is added once and taken away once. (Without
the names a holder who states the exchange key of another one as its own, which the same secret
fits, would have the masks of a third with both cancel in that one's vector.) Any m - 1 of the
vectors are uniform and independent as far as ChaCha20, HKDF-SHA256 and X25519 are what they are
taken for; with t colluding holders the vectors of the others are uniform but for their sum.

A key is used for one stream: the label is never used twice, since each holder adds a fresh random
number to it (``copula_shirley.holders.messages.mask_label``). Holders with other labels do not
cancel, so that unequal questions give noise.

The sum is read as a signed number. It is right while its size stays below 2^63, which no count of
rows with noise of at most 1e12 reaches.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from copula_shirley.errors import ArtefactError
from copula_shirley.lazy import LazyModule
from copula_shirley.privacy.noise import Integers

if TYPE_CHECKING:
    from cryptography.hazmat.primitives import ciphers
    from cryptography.hazmat.primitives.asymmetric import x25519
    from cryptography.hazmat.primitives.ciphers import algorithms
else:
    ciphers = LazyModule("cryptography.hazmat.primitives.ciphers")
    algorithms = LazyModule("cryptography.hazmat.primitives.ciphers.algorithms")
    x25519 = LazyModule("cryptography.hazmat.primitives.asymmetric.x25519")

Vector = NDArray[np.uint64]
#: Stands before every label, so that the secret serves nothing else.
DOMAIN = b"copula-shirley mask 1\n"


def secret_with(private: x25519.X25519PrivateKey, public: bytes, name: str) -> bytes:
    """What two holders know and nobody else; each gets it from its private key.

    It is extracted as HKDF-SHA256 has it (RFC 5869, without salt), for ``stream`` to expand.
    """
    try:
        shared = private.exchange(x25519.X25519PublicKey.from_public_bytes(public))
        return hmac.digest(bytes(32), shared, "sha256")
    except ValueError:  # of a length that is none, or a point that makes the secret known
        raise ArtefactError(f"the exchange key of holder {name!r} is no X25519 key") from None


def stream(secret: bytes, label: bytes, words: int) -> Vector:
    """Uniform numbers modulo 2^64 that two holders share for one label.

    The key is for this label alone, so the nonce can be zero.
    """
    key = hmac.digest(secret, DOMAIN + label + b"\x01", "sha256")  # one block of HKDF
    cipher = ciphers.Cipher(algorithms.ChaCha20(key, bytes(16)), None).encryptor()
    return np.frombuffer(cipher.update(bytes(8 * words)), dtype="<u8")


def masked(own: str, values: Integers, secrets: Mapping[str, bytes], label: bytes) -> Vector:
    """A holder's numbers under its masks with all others."""
    found: Vector = values.astype(np.int64).view(np.uint64).copy()
    for name, secret in secrets.items():
        pair = " ".join(sorted((own, name))).encode() + b"\n"
        mask = stream(secret, pair + label, len(found))
        change = np.add if own < name else np.subtract
        change(found, mask, out=found)  # modulo 2^64
    return found


def sum_of(vectors: Iterable[Vector]) -> Integers:
    """The sum of the vectors of all holders, without the masks."""
    total: Vector = np.sum(np.stack(list(vectors)), axis=0, dtype=np.uint64)
    return total.view(np.int64)
