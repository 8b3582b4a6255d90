"""Synthetic tables from vine copulas, with a privacy label that is true."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from copula_shirley.api import Generator, load
    from copula_shirley.card import card_of
    from copula_shirley.card_page import card_html
    from copula_shirley.errors import (
        ArtefactError,
        BudgetError,
        PrivacyWarning,
        SchemaError,
        SettingError,
        ShirleyError,
    )
    from copula_shirley.planning import Plan, plan
    from copula_shirley.privacy import Budget, Ledger
    from copula_shirley.private_vine import PrivateVine
    from copula_shirley.releases import ReleaseLedger
    from copula_shirley.schema import Column, Schema
    from copula_shirley.shirley import CopulaShirley
    from copula_shirley.tables import read_table
    from copula_shirley.verify import verify_file

__all__ = [
    "ArtefactError",
    "Budget",
    "BudgetError",
    "Column",
    "CopulaShirley",
    "Generator",
    "Ledger",
    "Plan",
    "PrivacyWarning",
    "PrivateVine",
    "ReleaseLedger",
    "Schema",
    "SchemaError",
    "SettingError",
    "ShirleyError",
    "card_html",
    "card_of",
    "load",
    "plan",
    "read_table",
    "verify_file",
]

#: Where each name lives; it is imported when it is first asked for, since all take seconds.
_PLACES = {
    "api": ("Generator", "load"),
    "card": ("card_of",),
    "card_page": ("card_html",),
    "errors": (
        "ArtefactError",
        "BudgetError",
        "PrivacyWarning",
        "SchemaError",
        "SettingError",
        "ShirleyError",
    ),
    "planning": ("Plan", "plan"),
    "privacy": ("Budget", "Ledger"),
    "private_vine": ("PrivateVine",),
    "releases": ("ReleaseLedger",),
    "schema": ("Column", "Schema"),
    "shirley": ("CopulaShirley",),
    "tables": ("read_table",),
    "verify": ("verify_file",),
}


def __getattr__(name: str) -> Any:
    for place, names in _PLACES.items():
        if name in names:
            found = getattr(import_module(f"copula_shirley.{place}"), name)
            globals()[name] = found
            return found
    raise AttributeError(f"module 'copula_shirley' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
