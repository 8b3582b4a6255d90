"""List the peers, or build the environments of some ahead of their first run.

Run it with ``python -m copula_shirley.experiments.peers [NAME or ADAPTER.py ...]``; ``all``
builds every one.
"""

from __future__ import annotations

import sys

from copula_shirley.experiments.peers import PeerError, find_peer, known_peers


def main() -> None:
    """Print what is known, or where each environment is."""
    names, failed = sys.argv[1:], False
    for name, peer in known_peers().items() if not names else ():
        print(f"{name:<20} {peer.description}")
    for name in known_peers() if names == ["all"] else names:
        try:
            print(f"{name}: {find_peer(name).prepare()}", flush=True)
        except PeerError as error:
            failed = True
            print(f"{name}: {error}", file=sys.stderr)
    sys.exit(failed)


if __name__ == "__main__":
    main()
