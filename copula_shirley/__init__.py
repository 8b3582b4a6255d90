"""Synthetic tables from vine copulas, with a privacy label that is true."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from copula_shirley.errors import (
        ArtefactError,
        BudgetError,
        PrivacyWarning,
        SchemaError,
        SettingError,
        ShirleyError,
    )
    from copula_shirley.generator import Generator, load
    from copula_shirley.privacy.card import Card, card_html, card_of
    from copula_shirley.privacy.ledger import Budget, Ledger
    from copula_shirley.private_vine.generator import PrivateVine
    from copula_shirley.private_vine.plan import Plan, plan
    from copula_shirley.publish.releases import ReleaseLedger
    from copula_shirley.publish.verify import verify_file
    from copula_shirley.rows.tables import read_table
    from copula_shirley.schema.schema import Column, Schema
    from copula_shirley.thesis.generator import CopulaShirley

__all__ = [
    "ArtefactError",
    "Budget",
    "BudgetError",
    "Card",
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
    "generator": ("Generator", "load"),
    "privacy.card": ("Card", "card_html", "card_of"),
    "errors": (
        "ArtefactError",
        "BudgetError",
        "PrivacyWarning",
        "SchemaError",
        "SettingError",
        "ShirleyError",
    ),
    "private_vine.plan": ("Plan", "plan"),
    "privacy.ledger": ("Budget", "Ledger"),
    "private_vine.generator": ("PrivateVine",),
    "publish.releases": ("ReleaseLedger",),
    "schema.schema": ("Column", "Schema"),
    "thesis.generator": ("CopulaShirley",),
    "rows.tables": ("read_table",),
    "publish.verify": ("verify_file",),
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
