"""What the tests of commands share: a schema whose dates have a format, and quick options."""

from __future__ import annotations

from dataclasses import replace

from tables import PEOPLE

THESIS = "--schema schema.yaml --model copula-shirley --accept-unproved"
QUICK = f"{THESIS} --set encoder=ordinal --set families=gaussian --set threads=1"
JOINED = replace(PEOPLE["joined"], format="%Y-%m-%d")
SCHEMA = replace(PEOPLE, columns=tuple(JOINED if c.name == "joined" else c for c in PEOPLE))
