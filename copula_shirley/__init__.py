"""Synthetic tables from vine copulas, with a privacy label that is true."""

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
