"""List the peers, or build the environments of some ahead of their first run.

Run it with ``python -m copula_shirley.experiments.generators [NAME or ADAPTER.py ...]``; ``all``
builds every one.
"""

from __future__ import annotations

import argparse
import sys

from copula_shirley.experiments.generators import PeerError, find_peer, known_peers


def main() -> None:
    """Print what is known, or where each environment is."""
    parser = argparse.ArgumentParser(
        prog="python -m copula_shirley.experiments.generators", description=__doc__
    )
    parser.add_argument("names", nargs="*", metavar="NAME")
    names = parser.parse_args().names
    if not names:
        for name, description in known_peers().items():
            print(f"{name:<20} {description}")
    failed = False
    for name in known_peers() if names == ["all"] else names:
        try:
            print(f"{name}: {find_peer(name).prepare()}", flush=True)
        except PeerError as error:
            failed = True
            print(f"{name}: {error}", file=sys.stderr)
    sys.exit(failed)


if __name__ == "__main__":
    main()
