"""Synthetic tables from vine copulas, with a privacy label that is true."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from copula_shirley.api import Generator, load
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
    from copula_shirley.schema import Column, Schema
    from copula_shirley.shirley import CopulaShirley
    from copula_shirley.tables import read_table

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
    "Schema",
    "SchemaError",
    "SettingError",
    "ShirleyError",
    "load",
    "plan",
    "read_table",
]

#: Where each name lives; it is imported when it is first asked for, since all take seconds.
_PLACES = {
    "api": ("Generator", "load"),
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
    "schema": ("Column", "Schema"),
    "shirley": ("CopulaShirley",),
    "tables": ("read_table",),
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
