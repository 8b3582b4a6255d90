"""Synthetic tables from vine copulas, with a privacy label that is true."""

import warnings
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from copula_shirley.errors import ArtefactError as ArtefactError
    from copula_shirley.errors import BudgetError as BudgetError
    from copula_shirley.errors import PrivacyWarning as PrivacyWarning
    from copula_shirley.errors import SchemaError as SchemaError
    from copula_shirley.errors import SettingError as SettingError
    from copula_shirley.errors import ShirleyError as ShirleyError
    from copula_shirley.generator import Generator as Generator
    from copula_shirley.generator import load as load
    from copula_shirley.privacy.card import Card as Card
    from copula_shirley.privacy.card import card_html as card_html
    from copula_shirley.privacy.card import card_of as card_of
    from copula_shirley.privacy.ledger import Budget as Budget
    from copula_shirley.privacy.ledger import Ledger as Ledger
    from copula_shirley.private_vine.generator import PrivateVine as PrivateVine
    from copula_shirley.private_vine.generator import plan as plan
    from copula_shirley.private_vine.plan import Plan as Plan
    from copula_shirley.publish.releases import ReleaseLedger as ReleaseLedger
    from copula_shirley.publish.verify import verify_file as verify_file
    from copula_shirley.rows.tables import read_table as read_table
    from copula_shirley.schema.schema import Column as Column
    from copula_shirley.schema.schema import Schema as Schema
    from copula_shirley.tasks import synthesize_table
    from copula_shirley.thesis.generator import CopulaShirley as CopulaShirley

    synthesize = synthesize_table

#: Where each name lives: ``module``, or ``module:name`` where it has another name there. It is
#: imported when it is first asked for, since all together take seconds.
_PLACES = {
    "ArtefactError": "errors",
    "Budget": "privacy.ledger",
    "BudgetError": "errors",
    "Card": "privacy.card",
    "Column": "schema.schema",
    "CopulaShirley": "thesis.generator",
    "Generator": "generator",
    "Ledger": "privacy.ledger",
    "Plan": "private_vine.plan",
    "PrivacyWarning": "errors",
    "PrivateVine": "private_vine.generator",
    "ReleaseLedger": "publish.releases",
    "Schema": "schema.schema",
    "SchemaError": "errors",
    "SettingError": "errors",
    "ShirleyError": "errors",
    "card_html": "privacy.card",
    "card_of": "privacy.card",
    "load": "generator",
    "plan": "private_vine.generator",
    "read_table": "rows.tables",
    "synthesize": "tasks:synthesize_table",
    "verify_file": "publish.verify",
}
#: Old names, kept for one version, and what is said instead.
_RENAMED: dict[str, str] = {}

__all__ = [*_PLACES]  # noqa: PLE0604


def __getattr__(name: str) -> Any:
    if name in _RENAMED:
        new = _RENAMED[name]
        warnings.warn(f"{name} is now called {new}", DeprecationWarning, stacklevel=2)
        return __getattr__(new)
    if name not in _PLACES:
        raise AttributeError(f"module 'copula_shirley' has no attribute {name!r}")
    module, _, there = _PLACES[name].partition(":")
    found = getattr(import_module(f"copula_shirley.{module}"), there or name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
