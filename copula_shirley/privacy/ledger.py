"""The privacy ledger: every spend, and every use of rows that no spend covers.

Thesis 2.2. One ledger is opened per fit. A stage asks it *before* noise is drawn; it answers with
the recorded spend or raises ``BudgetError``. A stage that uses private rows without noise says so
here too, and from then on nothing is proved about the release as a whole.

A ledger with ``zcdp=True`` adds up rho instead (``copula_shirley.privacy.zcdp``), and with it the
deltas of mechanisms that fail with a small chance (approximate zCDP, Bun and Steinke 2016, section
8): what is left of the budget's delta turns the sum of rho into epsilon. With ``gdp=True`` it takes
discrete Gaussian noise only, at a rho with which it is sqrt(2 rho)-GDP, too; then the same sum
means a smaller epsilon (``copula_shirley.privacy.gdp``), and ``by_zcdp`` tells the other.
"""

# ruff: noqa: PLC0414  (budgets and sensitivities can be imported from here, too)
from __future__ import annotations

import json
import math
import warnings
from dataclasses import asdict, astuple, dataclass, field, fields, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import msgspec

from copula_shirley.errors import BudgetError, OtherRevisionError, SettingError
from copula_shirley.privacy.budget import NEIGHBOURS as NEIGHBOURS
from copula_shirley.privacy.budget import Budget as Budget
from copula_shirley.privacy.budget import NeighbourName as NeighbourName
from copula_shirley.privacy.budget import Sensitivity as Sensitivity
from copula_shirley.privacy.budget import Total as Total
from copula_shirley.privacy.budget import check_epsilon as check_epsilon
from copula_shirley.privacy.budget import histogram_sensitivity as histogram_sensitivity
from copula_shirley.privacy.composition import ALL_ROWS as ALL_ROWS
from copula_shirley.privacy.composition import Few, Partition, check_rows, names_of_rows, total_cost
from copula_shirley.privacy.composition import Spend as Spend
from copula_shirley.privacy.gdp import DISCRETE_GAUSSIAN, pays
from copula_shirley.privacy.noise import Exactness, NoiseFacts
from copula_shirley.privacy.zcdp import epsilon_of, rho_of

if TYPE_CHECKING:
    from copula_shirley.schema.schema import Schema

#: Relative slack for sums of floating-point shares of a budget.
ROUNDING = 1e-9


class Reason(StrEnum):
    """Why a use of private rows is not protected."""

    NOISE_OFF = "noise-off"
    DRAFTED_DOMAIN = "drafted-domain"
    DRAFTED_KIND = "drafted-kind"
    DRAFTED_LEFT_OUT = "drafted-left-out"
    DRAFTED_PEOPLE = "drafted-people"
    DRAFTED_FILE = "drafted-file"
    DRAFTED_RULE = "drafted-rule"
    PERSON_AS_ROWS = "person-as-rows"
    SUPERVISED_CODES = "supervised-codes"
    DISTINCT_VALUES = "distinct-values"
    RAW_RANKS = "raw-ranks"
    STORAGE = "storage"
    TRAINING_ROWS = "training-rows"
    OTHER = "other"


#: The words of each reason; a generator has its own for another one.
WORDS: dict[Reason, str] = {
    Reason.NOISE_OFF: "noise is off: exact counts",
    Reason.DRAFTED_DOMAIN: "bounds and categories were drafted from the data, not declared",
    Reason.DRAFTED_KIND: "its kind was read off the data, where one row can change it; set "
    "provenance: private if you know the kind",
    Reason.DRAFTED_LEFT_OUT: "that it is left out was read off the data, where one row can change "
    "it; set provenance: declared if you agree with the reason",
    Reason.DRAFTED_PEOPLE: "the most rows per person were counted, not declared",
    Reason.DRAFTED_FILE: "which texts are missing values or numbers was read off the data, where "
    "one row can change it; set provenance: declared if you agree",
    Reason.DRAFTED_RULE: "the rule was found in the rows, not declared",
    Reason.PERSON_AS_ROWS: "a person with several rows is protected as that many people",
    Reason.SUPERVISED_CODES: "the codes are exact statistics of private rows and labels",
    Reason.DISTINCT_VALUES: "the bins are the distinct values of the rows: a unique value shows "
    "its owner",
    Reason.RAW_RANKS: "F is noisy, the records are not: trees, families and parameters show raw "
    "ranks",
    Reason.STORAGE: "stored as the table has them",
    Reason.TRAINING_ROWS: "the sample is the training rows",
}


@dataclass(frozen=True)
class Unprotected:
    """One use of private rows without noise, and why it leaks."""

    stage: str
    what: str
    reason: Reason
    rows: str
    #: The words of the generator, if its reason is none of the list.
    detail: str = ""

    @property
    def why(self) -> str:
        return self.detail or WORDS.get(self.reason, self.reason.value)


@dataclass(eq=False, repr=False, kw_only=True)
class Ledger:
    """What one fit spent, what it used unprotected, and what that proves.

    Examples
    --------
    >>> ledger = Ledger(Budget(1.0), neighbours="add-remove")
    >>> _ = ledger.charge("margins", "age", "laplace", 0.6)
    >>> ledger.charge("margins", "sex", "laplace", 0.6)
    Traceback (most recent call last):
        ...
    copula_shirley.errors.BudgetError: margins of sex: spending epsilon 0.6 \
would bring the total to epsilon 1.2, above the budget of epsilon 1
    """

    #: What the spends may add up to; None when no noise is drawn at all.
    budget: Budget | None = field(kw_only=False)
    #: What the method's authors, or its user, would put on the label.
    claimed: Budget | None = None
    neighbours: str = "replace-one"
    #: Whose data changes between neighbours: a row, or a person with up to so many rows.
    unit: str = "row"
    rows_per_unit: Annotated[int, msgspec.Meta(ge=1)] = 1
    #: Per column where its domain came from.
    domains: dict[str, str] = field(default_factory=dict)
    #: Spends are in rho; the budget needs a delta.
    zcdp: bool = False
    #: Each rho is half the square of a mu of Gaussian differential privacy, too.
    gdp: bool = False
    #: Where the noise comes from; None where none was drawn or nobody said.
    noise: NoiseFacts | None = None
    partitions: Annotated[tuple[Partition, ...], Few] = ()
    spends: tuple[Spend, ...] = ()
    unprotected: tuple[Unprotected, ...] = ()

    def __post_init__(self) -> None:
        self.sensitivity()  # refuses an unknown relation
        self.domains = dict(self.domains or {})
        known = names_of_rows(self.partitions)
        for use in self.unprotected:
            check_rows(use.rows, known)
        if self.zcdp and (self.budget is None or self.budget.delta == 0):
            raise SettingError(f"budget ({self.budget}) must have a delta for zCDP")
        if self.gdp and not self.zcdp:
            raise SettingError("gdp (True) needs zcdp: its costs are in rho")
        if self.spends:  # costs are not negative, so where all are allowed the first ones were
            spends, self.spends = self.spends, ()
            self._add(spends, "what was spent")

    # -- what a fit tells it -------------------------------------------------------

    @classmethod
    def of(
        cls, schema: Schema, budget: Budget | None, neighbours: str, *, gaussian: bool = False
    ) -> Ledger:
        """A ledger that claims its budget; a delta is for zCDP.

        A unit is a row, or a person with all rows if the schema names one. If all noise will be
        discrete ``gaussian`` noise, it is counted in GDP if that buys less noise.
        """
        ledger = cls(
            budget,
            claimed=budget,
            neighbours=neighbours,
            unit="row" if schema.person is None else "person",
            rows_per_unit=1 if schema.person is None else schema.max_rows,
            zcdp=budget is not None and budget.delta > 0,
        )
        if gaussian and ledger.zcdp and budget is not None:
            rho, other = (rho_of(*astuple(budget), gdp=gdp) for gdp in (True, False))
            ledger.gdp = pays(rho, other, ledger.sensitivity())
        return ledger

    def drawn_by(self, noise: NoiseFacts) -> None:
        """State where noise comes from; of several sources the least fit for release counts."""
        severity = list(Exactness).index
        both = [noise, self.noise] if self.noise else [noise]
        worst = max(both, key=lambda facts: severity(facts.exactness))
        self.noise = replace(worst, seeded=any(facts.seeded for facts in both))

    def partition(self, parts: tuple[str, ...], *, whole: str = ALL_ROWS, by_value: bool) -> None:
        """State that the rows of ``whole`` were split into disjoint parts.

        The part of a record must depend on that record alone (its value, or an independent draw),
        or on the number of records where that is public.
        """
        splits = (*self.partitions, Partition(whole, tuple(parts), by_value))
        names_of_rows(splits)
        self.partitions = splits

    def charge(
        self,
        stage: str,
        what: str,
        mechanism: str,
        epsilon: float,
        delta: float = 0.0,
        rows: str = ALL_ROWS,
    ) -> Spend:
        """Record a spend, or raise ``BudgetError``; call it before drawing noise."""
        Budget(epsilon, delta)  # refuses what is no number
        return self._record(Spend(stage, what, mechanism, float(epsilon), float(delta), rows))

    def charge_rho(
        self,
        stage: str,
        what: str,
        mechanism: str,
        rho: float,
        delta: float = 0.0,
        rows: str = ALL_ROWS,
    ) -> Spend:
        """The same in rho; ``delta`` is the chance with which the mechanism has no guarantee."""
        return self._record(Spend(stage, what, mechanism, 0.0, float(delta), rows, float(rho)))

    def _record(self, spend: Spend) -> Spend:
        cost = f"rho {spend.rho:.6g}" if self.zcdp else Total(spend.epsilon, spend.delta)
        self._add((spend,), f"{spend.stage} of {spend.what}: spending {cost}")
        return spend

    def _check_spend(self, spend: Spend, known: set[str]) -> None:
        """Refuse what is no cost in the currency of this ledger, or of no rows."""
        if spend.epsilon if self.zcdp else spend.rho:
            currencies = "rho, not epsilon" if self.zcdp else "epsilon, not rho"
            raise SettingError(f"{spend.stage} of {spend.what}: this ledger counts {currencies}")
        if not self.zcdp:
            Budget(spend.epsilon, spend.delta)
        elif not (math.isfinite(spend.rho) and spend.rho > 0 and 0 <= spend.delta < 1):
            raise SettingError(
                f"rho ({spend.rho!r}) must be positive and delta ({spend.delta!r}) in [0, 1)"
            )
        if self.gdp and spend.mechanism != DISCRETE_GAUSSIAN:
            raise SettingError(
                f"{spend.stage} of {spend.what}: mechanism ({spend.mechanism!r}) must be "
                f"{DISCRETE_GAUSSIAN!r} in a ledger that counts in GDP"
            )
        check_rows(spend.rows, known)

    def _add(self, spends: tuple[Spend, ...], what: str) -> None:
        """Add spends, all of them or, where they are none or the budget does not last, none."""
        known = names_of_rows(self.partitions)
        for spend in spends:
            self._check_spend(spend, known)
        if self.budget is None:
            raise BudgetError(f"{what}: nothing may be spent, noise is off")
        before, self.spends = self.spends, self.spends + spends
        if not self._within(self.budget):
            total, self.spends = self.spent, before
            raise BudgetError(
                f"{what} would bring the total to {total}, above the budget of {self.budget}"
            )

    def record_unprotected(
        self, stage: str, what: str, reason: Reason | str, rows: str = ALL_ROWS
    ) -> None:
        """Record that private rows are used without noise, for a known reason or in own words."""
        check_rows(rows, names_of_rows(self.partitions))
        known = isinstance(reason, Reason)
        told = (reason, rows) if known else (Reason.OTHER, rows, reason)
        self.unprotected += (Unprotected(stage, what, *told),)

    # -- what follows from it ------------------------------------------------------

    @property
    def seeded(self) -> bool:
        return self.noise is not None and self.noise.seeded

    @property
    def replayed(self) -> bool:
        """Whether the noise was recorded or replayed by a test: it protects nobody."""
        return self.noise is not None and self.noise.exactness is Exactness.REPLAYED

    @property
    def randomness(self) -> str:
        return str(self.noise or ("not stated" if self.spends else "no noise"))

    def sensitivity(self) -> Sensitivity:
        return histogram_sensitivity(self.neighbours, self.rows_per_unit)

    @property
    def spent(self) -> Total:
        return self._spent(gdp=self.gdp)

    @property
    def by_zcdp(self) -> Total | None:
        """What zCDP makes of spends that are counted in GDP: it holds, too, and says less."""
        return self._spent(gdp=False) if self.gdp and self.spends else None

    def _spent(self, *, gdp: bool) -> Total:
        cost = self._cost()
        if not self.zcdp or self.budget is None or not self.spends:
            return cost
        left = self.budget.delta - cost.delta
        epsilon = epsilon_of(cost.rho, left, gdp=gdp) if left > 0 else math.inf
        return Total(epsilon, max(self.budget.delta, cost.delta), cost.rho)

    @property
    def proved(self) -> Total | None:
        """The guarantee of the whole release, or None where there is none."""
        return None if self.unprotected or self.replayed else self.spent

    @property
    def failure_probability(self) -> float:
        """The chance with which the zCDP of all spends together has no guarantee."""
        return self._cost().delta if self.zcdp else 0.0

    @property
    def failing(self) -> float:
        """The old name of ``failure_probability``."""
        warnings.warn("failing is now failure_probability", DeprecationWarning, stacklevel=2)
        return self.failure_probability

    def _cost(self) -> Total:
        return total_cost(self.spends, self.partitions, self.neighbours, self.rows_per_unit)

    def _within(self, budget: Budget) -> bool:
        """Whether the spends stay within the budget; epsilon is minimised only where rho is near.

        ``rho_of`` of a budget is found once and cached, so most spends cost one comparison.
        """
        cost = self._cost()
        left = budget.delta - cost.delta
        if self.zcdp and left > 0 and cost.rho <= rho_of(budget.epsilon, left, gdp=self.gdp):
            return True
        total = self.spent
        return (
            total.epsilon <= budget.epsilon * (1 + ROUNDING)
            and total.delta <= budget.delta * (1 + ROUNDING) + 1e-300
        )

    # -- for machines --------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """The ledger as plain lists and mappings, with totals and words for readers of files."""
        entry = {
            **{name: getattr(self, name) for name in FIELDS if name != "gdp"},
            "proved": self.proved,
            "spent": self.spent,
            **({"gdp": True, "by_zcdp": self.by_zcdp} if self.gdp else {}),
            "randomness": self.randomness,
            "seeded": self.seeded,
            "unprotected": [{**asdict(use), "why": use.why} for use in self.unprotected],
        }
        plain: dict[str, Any] = msgspec.to_builtins(entry)
        return plain

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2)

    @classmethod
    def from_dict(cls, entry: dict[str, Any]) -> Ledger:
        """The ledger that ``to_dict`` wrote; totals and words are made anew."""
        if "randomness" in entry and "noise" not in entry:  # all of them had that
            raise OtherRevisionError(
                "its ledger was written by another version of copula-shirley; use that version, "
                "or fit again, which spends again"
            )
        try:
            told = {name: entry[name] for name in FIELDS if name != "gdp" or name in entry}
            return msgspec.convert(told, cls)
        except (KeyError, msgspec.ValidationError) as error:
            raise SettingError(f"the ledger cannot be read: {error}") from None

    # -- for people ----------------------------------------------------------------

    def summary(self) -> list[tuple[str, str]]:
        """The label in words: pairs of a heading and what it says."""
        if self.proved is not None and not self.spends:
            proved = "epsilon 0: no row was used"
        elif self.proved is not None:
            proved = f"{self.proved} for the whole release"
            proved += ", if nobody knows the seed" if self.seeded else ""
        elif self.replayed:
            proved = "nothing: the noise was recorded or replayed by a test"
        elif self.budget is None:
            proved = "nothing: noise is off, the release shows the rows' statistics as they are"
        else:
            uses = len(self.unprotected)
            proved = f"nothing for the release as a whole: {uses} unprotected uses"
        by_zcdp = [("by zCDP", str(self.by_zcdp))] if self.by_zcdp else []
        several = f" (at most {self.rows_per_unit} rows each)" if self.rows_per_unit > 1 else ""
        return [
            ("claimed", str(self.claimed or "nothing")),
            ("proved", proved),
            ("spent", str(self.spent) if self.spends else "nothing"),
            *by_zcdp,
            ("neighbours", f"{self.neighbours.replace('-', ' ')} {self.unit}{several}"),
            ("randomness", self.randomness),
        ]

    def spends_table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        currency = "rho" if self.zcdp else "epsilon"
        return ("stage", "what", "mechanism", currency, "delta", "rows"), [
            (s.stage, s.what, s.mechanism, f"{getattr(s, currency):.4g}", f"{s.delta:.3g}", s.rows)
            for s in self.spends
        ]

    def grouped_unprotected(self) -> list[tuple[str, str, str, str]]:
        """Unprotected uses (stage, what, rows, why), those for one reason in one line."""
        groups: dict[tuple[str, str, str], list[str]] = {}
        for use in self.unprotected:
            groups.setdefault((use.stage, use.rows, use.why), []).append(use.what)
        return [(stage, ", ".join(what), rows, why) for (stage, rows, why), what in groups.items()]

    def __str__(self) -> str:
        lines = ["PRIVACY LEDGER"]
        lines += [f"  {heading:<11}{text}" for heading, text in self.summary()]
        if self.spends:
            head, spends = self.spends_table()
            widths = [max(map(len, column)) for column in zip(head, *spends, strict=True)]
            lines += ["", "SPENDS (noise was added for these)"]
            for row in (head, *spends):
                cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
                lines.append(f"  {'  '.join(cells)}".rstrip())
        if self.unprotected:
            lines += ["", "UNPROTECTED USES (no noise protects these)"]
            uses = self.grouped_unprotected()
            lines += [f"  {stage}: {what} [{rows}]: {why}" for stage, what, rows, why in uses]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Ledger claimed={self.claimed} proved={self.proved} spent={self.spent}>"

    def _repr_html_(self) -> str:
        """In notebooks: the label, the spends and the unprotected uses as tables."""
        from pandas import DataFrame  # noqa: PLC0415  (slow, and only notebooks need it)

        head, spends = self.spends_table()
        tables = [DataFrame(self.summary(), columns=["promise", ""])]
        tables.append(DataFrame(spends, columns=list(head)))
        unprotected = ["unprotected use of rows in", "of", "rows", "why"]
        tables.append(DataFrame(self.grouped_unprotected(), columns=unprotected))
        return "".join(table.to_html(index=False) for table in tables if len(table))


#: What a file must say of a ledger; all else in it follows.
FIELDS = tuple(one.name for one in fields(Ledger))
