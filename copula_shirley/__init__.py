"""Synthetic tables from vine copulas, with a privacy label that is true."""

TYPE_CHECKING = False  # as typing has it, whose import would take most of the time of this one
if TYPE_CHECKING:
    from typing import Any

    from copula_shirley.errors import ArtefactError as ArtefactError
    from copula_shirley.errors import BudgetError as BudgetError
    from copula_shirley.errors import PoorTableWarning as PoorTableWarning
    from copula_shirley.errors import PrivacyWarning as PrivacyWarning
    from copula_shirley.errors import SchemaError as SchemaError
    from copula_shirley.errors import SettingError as SettingError
    from copula_shirley.errors import ShirleyError as ShirleyError
    from copula_shirley.generator import Generator as Generator
    from copula_shirley.generator import load as load
    from copula_shirley.least_squares import Regression as Regression
    from copula_shirley.least_squares import regression as regression
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

#: The names of each module. They are imported when they are first asked for, since all together
#: take seconds.
_NAMES = {
    "errors": "ArtefactError BudgetError PoorTableWarning PrivacyWarning SchemaError SettingError "
    "ShirleyError",
    "generator": "Generator load",
    "least_squares": "Regression regression",
    "privacy.card": "Card card_html card_of",
    "privacy.ledger": "Budget Ledger",
    "private_vine.generator": "PrivateVine plan",
    "private_vine.plan": "Plan",
    "publish.releases": "ReleaseLedger",
    "publish.verify": "verify_file",
    "rows.tables": "read_table",
    "schema.schema": "Column Schema",
    "tasks": "synthesize",
    "thesis.generator": "CopulaShirley",
}
_PLACES = {name: module for module, names in _NAMES.items() for name in names.split()}
__all__ = [*_PLACES]  # noqa: PLE0604


def __getattr__(name: str) -> "Any":
    from importlib import import_module  # noqa: PLC0415

    if name not in _PLACES:
        raise AttributeError(f"module 'copula_shirley' has no attribute {name!r}")
    there = "synthesize_table" if name == "synthesize" else name
    found = globals()[name] = getattr(import_module(f"copula_shirley.{_PLACES[name]}"), there)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
