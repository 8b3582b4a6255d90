"""Generators of others, each in an environment of its own."""

from __future__ import annotations

from experiments.synthesis import Candidate


def known_peers() -> dict[str, str]:
    """Name and description of every peer."""
    return {}


def find_peer(name: str) -> Candidate:
    """The peer of a name."""
    raise NotImplementedError(name)
