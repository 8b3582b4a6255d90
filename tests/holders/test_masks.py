"""Masks: sums are exact, any m - 1 vectors are uniform, other labels give noise."""

from __future__ import annotations

import numpy as np
import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from copula_shirley.errors import ArtefactError
from copula_shirley.holders.holder import new_keys
from copula_shirley.holders.masks import DOMAIN, masked, secret_with, stream, sum_of

INT64 = st.integers(-(2**63), 2**63 - 1)


def secrets_of(count: int) -> dict[str, dict[str, bytes]]:
    """What each of some holders shares with each other."""
    keys = {f"h{i}": new_keys()[1] for i in range(count)}
    public = {name: key.public_key().public_bytes_raw() for name, key in keys.items()}
    return {
        own: {other: secret_with(key, public[other], other) for other in keys if other != own}
        for own, key in keys.items()
    }


@settings(max_examples=40)
@given(st.integers(2, 6), st.lists(INT64, min_size=1, max_size=6), st.binary(max_size=8))
def test_the_sum_of_masked_vectors_is_the_sum_of_all_numbers(
    count: int, first: list[int], label: bytes
) -> None:
    numbers = [np.array(first)] + [np.arange(len(first)) * i for i in range(1, count)]
    shared = secrets_of(count)
    vectors = [
        masked(name, own, shared[name], label) for name, own in zip(shared, numbers, strict=True)
    ]
    exact = [sum(int(own[k]) for own in numbers) for k in range(len(first))]
    wrapped = [(one + 2**63) % 2**64 - 2**63 for one in exact]  # exact while a sum fits 63 bits
    assert sum_of(vectors).tolist() == wrapped


def test_all_but_one_of_the_vectors_are_uniform_together() -> None:
    """Chi-squared over the top bits of pairs of vectors, and of their sum; m = 3."""
    shared = {name: dict(own) for name, own in secrets_of(3).items()}
    for i, pair in enumerate((("h0", "h1"), ("h0", "h2"), ("h1", "h2"))):  # the same in every run
        for one, other in (pair, pair[::-1]):
            shared[one][other] = bytes([i]) * 32
    zeros = np.zeros(40_000, dtype=np.int64)
    vectors = {name: masked(name, zeros, own, b"label") for name, own in shared.items()}
    for one, other in (("h0", "h1"), ("h0", "h2"), ("h1", "h2")):
        a, b = (vectors[name] >> np.uint64(60) for name in (one, other))
        seen = np.bincount((a * np.uint64(16) + b).astype(int), minlength=256)
        assert stats.chisquare(seen).pvalue > 1e-4
        both = (vectors[one] + vectors[other]) >> np.uint64(56)
        assert stats.chisquare(np.bincount(both.astype(int), minlength=256)).pvalue > 1e-4
        low = vectors[one] & np.uint64(255)
        assert stats.chisquare(np.bincount(low.astype(int), minlength=256)).pvalue > 1e-4


def test_another_label_gives_noise_and_another_stream() -> None:
    shared, ones = secrets_of(3), np.ones(1000, dtype=np.int64)
    labels = {"h0": b"q1", "h1": b"q2", "h2": b"q1"}
    vectors = [masked(name, ones, own, labels[name]) for name, own in shared.items()]
    assert not (sum_of(vectors) == 3).any()
    assert np.median(np.abs(sum_of(vectors).astype(float))) > 2**60
    secret = shared["h0"]["h1"]
    assert not (stream(secret, b"q1", 100) == stream(secret, b"q2", 100)).any()
    assert (stream(secret, b"q1", 5) == shared_stream(shared["h1"]["h0"])).all()


@pytest.mark.parametrize("clone", [0, 2])
def test_whoever_states_the_key_of_another_does_not_unmask_a_third(clone: int) -> None:
    """A bit of an X25519 key has no meaning, so two keys that differ can make one secret."""
    others = [f"h{i}" for i in (0, 1, 2) if i != 1]
    private, public = new_keys()[1], bytearray(new_keys()[1].public_key().public_bytes_raw())
    shared = {name: secret_with(private, bytes(public), name) for name in others}
    public[31] ^= 0x80
    shared[f"h{clone}"] = secret_with(private, bytes(public), f"h{clone}")
    assert len(set(shared.values())) == 1
    numbers = np.arange(100)
    assert not (masked("h1", numbers, shared, b"label").view(np.int64) == numbers).any()


def test_the_key_of_a_stream_is_that_of_hkdf() -> None:
    one, other = (new_keys()[1] for _ in range(2))
    public = other.public_key()
    secret = secret_with(one, public.public_bytes_raw(), "x")
    key = HKDF(hashes.SHA256(), 32, None, DOMAIN + b"label").derive(one.exchange(public))
    cipher = Cipher(algorithms.ChaCha20(key, bytes(16)), None).encryptor()
    assert stream(secret, b"label", 9).tobytes() == cipher.update(bytes(72))


def shared_stream(secret: bytes) -> np.ndarray:
    return stream(secret, b"q1", 5)


@pytest.mark.parametrize("key", [bytes(32), bytes(31), b"\x01" + bytes(31)])
def test_keys_that_make_a_secret_known_are_refused(key: bytes) -> None:
    with pytest.raises(ArtefactError, match="exchange key of holder 'x' is no X25519 key"):
        secret_with(new_keys()[1], key, "x")
