"""Synthetic tables from vine copulas, with a privacy label that is true."""

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
