"""The rows of one holder, and the terms on which it lets them be counted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from msgspec import Struct

from copula_shirley.errors import SettingError
from copula_shirley.generator import rows_of_functions
from copula_shirley.holders.messages import Known, first_label
from copula_shirley.measure.queries import Tables
from copula_shirley.measure.trust import Agreement
from copula_shirley.privacy.budget import Budget, check_epsilon
from copula_shirley.privacy.noise import Integers
from copula_shirley.private_vine.generator import PrivateVine
from copula_shirley.private_vine.stages import REVISION
from copula_shirley.rows.rows import Rows
from copula_shirley.rows.views import Entered
from copula_shirley.rules.coordinates import Coordinates
from copula_shirley.rules.functions import STAGE as FUNCTIONS
from copula_shirley.schema.schema import Schema


class Terms(Struct, frozen=True, forbid_unknown_fields=True):
    """What a holder agrees to: at most this budget, at least so many colluders, this schema."""

    epsilon: float
    delta: float
    neighbours: str
    colluding: int
    schema: dict[str, Any]
    #: Whether a schema that was drafted from rows will do: rehearsals only, nothing is proved.
    accept_unproved: bool = False


def vine_of(agreement: Agreement) -> PrivateVine:
    """The unfitted model that was agreed on."""
    try:
        vine = PrivateVine(**agreement.settings)
    except TypeError as error:
        raise SettingError(f"settings of the agreement: {error}") from None
    if vine.epsilon is not None:
        check_epsilon(vine.epsilon)
    if vine.epsilon is None or vine.random_state is not None or vine.domain != "declared":
        raise SettingError(
            "settings of the agreement must have an epsilon, no random_state, and domain 'declared'"
            ": holders neither answer exactly nor find categories out of no list"
        )
    return vine


def check_agreement(agreement: Agreement, terms: Terms) -> None:
    """Refuse an agreement that protects this holder's people less than its terms."""
    vine = vine_of(agreement)
    budget = Budget(float(vine.epsilon or 0), vine.delta)
    faults = {
        f"epsilon ({budget.epsilon:g}) must be at most {terms.epsilon:g}": budget.epsilon
        > terms.epsilon,
        f"delta ({budget.delta:g}) must be at most {terms.delta:g}": budget.delta > terms.delta,
        f"neighbours ({vine.neighbours}) must be {terms.neighbours}": vine.neighbours
        != terms.neighbours,
        f"colluding ({agreement.colluding}) must be at least {terms.colluding}": agreement.colluding
        < terms.colluding,
        f"revision ({agreement.revision}) must be {REVISION}, that of this version": (
            agreement.revision != REVISION
        ),
        "schema must be that of this holder, entry by entry": agreement.schema != terms.schema,
    }
    for fault, found in faults.items():
        if found:
            raise SettingError(f"the agreement does not keep the terms of this holder: its {fault}")
    check_proved(vine, coordinates_of(agreement).schema, accept=terms.accept_unproved)


_COORDINATES = Known[Coordinates]()


def coordinates_of(agreement: Agreement) -> Coordinates:
    """Those of the schema that was agreed on; refused if the settings do not fit it."""

    def checked() -> Coordinates:
        vine, schema = vine_of(agreement), Schema.from_dict(agreement.schema)
        vine.check_settings(schema)
        return vine.coordinates(schema)

    return _COORDINATES.of(first_label(agreement), checked)


def check_proved(vine: PrivateVine, schema: Schema, *, accept: bool) -> None:
    """Refuse a session of which nothing would be proved."""
    if (reasons := vine.unproved(schema)) and not accept:
        raise SettingError(f"nothing would be proved: {reasons[0]}")


@dataclass
class HeldRows:
    """The rows of one holder, validated, in the coordinates of the model."""

    coordinates: Coordinates
    modelled: Rows
    #: Rows of the columns whose functions are learned.
    declared: Rows | None
    #: By which these rows are known again. Private.
    mark: int

    @classmethod
    def of(cls, table: pd.DataFrame, agreement: Agreement) -> HeldRows:
        """The rows of a table that fits the schema of the agreement."""
        known = coordinates_of(agreement)
        held = vine_of(agreement).admit(table, known.schema, marked=True)
        rows = held.seen(Entered(known))
        return cls(known, rows, rows_of_functions(held, known), held.mark or 0)

    def counts(self, query: Tables) -> Integers:
        """Exact counts of all cells, one table after the other. Private."""
        rows = self.declared if query.stage == FUNCTIONS else self.modelled
        if rows is None:
            raise SettingError(f"query ({FUNCTIONS}) must be about rules with functions to learn")
        return np.concatenate([table.ravel() for table in rows.count(query.cell_maps)])


def cells_of(query: Tables) -> int:
    """Cells of all tables of a query."""
    return sum(math.prod(one.shape) for one in query.cell_maps)
