"""The privacy ledger: every spend, and every use of rows that no spend covers.

Thesis 2.2. One ledger is opened per fit. A stage asks it *before* noise is
drawn; it answers with the recorded spend or raises ``BudgetError``. A stage
that uses private rows without noise says so here too, and from then on nothing
is proved about the release as a whole.

Composition
-----------
Spends on the same rows add up (sequential composition, theorem 2.2). Spends on
disjoint parts of the rows cost their maximum (parallel composition, theorem
2.3): one unit lies in one part. If the *value* of a record decides its part,
the k rows of a unit can lie in k parts, and replacing it can touch k more: so
many of the dearest parts are added.

A ledger with ``zcdp=True`` adds up rho instead (``copula_shirley.privacy.zcdp``),
and with it the deltas of mechanisms that fail with a small chance (approximate
zCDP, Bun and Steinke 2016, section 8): what is left of the budget's delta turns
the sum of rho into epsilon.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Annotated, Any, Literal, TypeVar, get_args

import msgspec

from copula_shirley.errors import BudgetError, OtherRevisionError, SettingError
from copula_shirley.privacy.noise import Exactness, NoiseFacts
from copula_shirley.privacy.zcdp import epsilon_of, rho_of

NeighbourName = Literal["replace-one", "add-remove"]
NEIGHBOURS: tuple[str, ...] = get_args(NeighbourName)
ALL_ROWS = "all rows"
#: Relative slack for sums of floating-point shares of a budget.
ROUNDING = 1e-9
#: Noise for less, or for more, is not computed well by floating-point mechanisms.
SMALLEST_EPSILON, LARGEST_EPSILON = 1e-9, 1e15


@dataclass(frozen=True)
class Budget:
    """A pair (epsilon, delta).

    Examples
    --------
    >>> Budget(1.0)
    Budget(epsilon=1.0, delta=0.0)
    """

    epsilon: float
    delta: float = 0.0

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        if not 0 <= self.delta < 1:
            raise SettingError(f"delta ({self.delta!r}) must be in [0, 1)")

    def __str__(self) -> str:
        text = f"epsilon {self.epsilon:.6g}"
        return text + (f", delta {self.delta:.3g}" if self.delta else "")


def check_epsilon(epsilon: Any) -> None:
    """Refuse anything but a positive finite number."""
    number = isinstance(epsilon, int | float) and not isinstance(epsilon, bool)
    if not number or not SMALLEST_EPSILON <= epsilon <= LARGEST_EPSILON:
        raise SettingError(
            f"epsilon ({epsilon!r}) must be a positive number from {SMALLEST_EPSILON:g} to "
            f"{LARGEST_EPSILON:g}, or None for no noise"
        )


@dataclass(frozen=True)
class Sensitivity:
    """How much one unit can change a vector of counts, in both norms."""

    l1: float
    l2: float


def histogram_sensitivity(neighbours: str, rows_per_unit: int = 1) -> Sensitivity:
    """Sensitivity of one histogram of counts.

    Adding or removing a row changes one cell by one. Replacing a row lowers one
    cell and raises another: 2 in the L1 norm (thesis 4.2.2), sqrt(2) in L2. A
    unit with k rows can put all of them into one cell, and so multiplies both
    by k.

    Examples
    --------
    >>> histogram_sensitivity("replace-one").l1
    2.0
    >>> histogram_sensitivity("add-remove", rows_per_unit=5).l1
    5.0
    """
    if neighbours not in NEIGHBOURS:
        raise SettingError(f"neighbours ({neighbours!r}) must be one of {', '.join(NEIGHBOURS)}")
    cells = 2 if neighbours == "replace-one" else 1
    return Sensitivity(l1=float(cells * rows_per_unit), l2=math.sqrt(cells) * rows_per_unit)


#: A part of a cost; that sums are finite is looked at when they are made.
Cost = Annotated[float, msgspec.Meta(ge=0)]


@dataclass(frozen=True)
class Spend:
    """One noisy answer that was paid for."""

    stage: str
    what: str
    mechanism: str
    epsilon: Cost
    delta: Cost
    rows: str
    rho: Cost = 0.0


class Reason(StrEnum):
    """Why a use of private rows is not protected."""

    NOISE_OFF = "noise-off"
    DRAFTED_DOMAIN = "drafted-domain"
    DRAFTED_KIND = "drafted-kind"
    DRAFTED_LEFT_OUT = "drafted-left-out"
    DRAFTED_PEOPLE = "drafted-people"
    PERSON_AS_ROWS = "person-as-rows"
    SUPERVISED_CODES = "supervised-codes"
    DISTINCT_VALUES = "distinct-values"
    RAW_RANKS = "raw-ranks"
    STORAGE = "storage"
    TRAINING_ROWS = "training-rows"
    OTHER = "other"


#: What people read of each reason; of another, what the generator says itself.
WORDS: dict[Reason, str] = {
    Reason.NOISE_OFF: "noise is off: exact counts",
    Reason.DRAFTED_DOMAIN: "bounds and categories were drafted from the data, not declared",
    Reason.DRAFTED_KIND: "its kind was read off the data, where one row can change it; set "
    "provenance: private if you know the kind",
    Reason.DRAFTED_LEFT_OUT: "that it is left out was read off the data, where one row can change "
    "it; set provenance: declared if you agree with the reason",
    Reason.DRAFTED_PEOPLE: "the most rows per person were counted, not declared",
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
    #: In the words of a generator whose reason is none of the list.
    detail: str = ""

    @property
    def why(self) -> str:
        """The reason, for people."""
        return self.detail or WORDS.get(self.reason, self.reason.value)


@dataclass(frozen=True)
class Partition:
    """A split of a set of rows into disjoint parts."""

    whole: str
    parts: tuple[str, ...]
    by_value: bool


class Ledger:
    """What one fit spent, what it used unprotected, and what that proves.

    Parameters
    ----------
    budget : Budget or None
        What the spends may add up to; None when no noise is drawn at all.
    claimed : Budget or None
        What the method's authors, or its user, would put on the label.
    neighbours : {"replace-one", "add-remove"}
    unit : str
        Whose data changes between neighbours: a row, or a person.
    rows_per_unit : int
        The most rows that one unit has.
    domains : dict
        Per column where its domain came from.
    zcdp : bool
        Spends are in rho; the budget needs a delta.

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

    def __init__(
        self,
        budget: Budget | None,
        *,
        neighbours: str = "replace-one",
        claimed: Budget | None = None,
        unit: str = "row",
        rows_per_unit: int = 1,
        domains: dict[str, str] | None = None,
        zcdp: bool = False,
    ) -> None:
        histogram_sensitivity(neighbours, rows_per_unit)  # refuses an unknown relation
        if zcdp and (budget is None or budget.delta == 0):
            raise SettingError(f"budget ({budget}) must have a delta for zCDP")
        self.zcdp = zcdp
        self.budget = budget
        self.claimed = claimed
        self.neighbours = neighbours
        self.unit = unit
        self.rows_per_unit = rows_per_unit
        #: Where the noise comes from; None where none was drawn or nobody said.
        self.noise: NoiseFacts | None = None
        self.domains = dict(domains or {})
        self._spends: list[Spend] = []
        self._unprotected: list[Unprotected] = []
        self._partitions: list[Partition] = []

    def drawn_by(self, noise: NoiseFacts) -> None:
        """State where noise comes from; of several sources the least fit for release counts."""
        severity = list(Exactness).index
        if self.noise is None or (severity(noise.exactness), noise.seeded) > (
            severity(self.noise.exactness),
            self.noise.seeded,
        ):
            self.noise = noise

    @property
    def seeded(self) -> bool:
        """Whether the noise can be drawn again by whoever knows the seed."""
        return self.noise is not None and self.noise.seeded

    @property
    def replayed(self) -> bool:
        """Whether the noise was recorded or replayed by a test: it protects nobody."""
        return self.noise is not None and self.noise.exactness is Exactness.REPLAYED

    @property
    def randomness(self) -> str:
        """Where the noise comes from, for people."""
        if self.noise is None:
            return "not stated" if self._spends else "no noise"
        return str(self.noise)

    @property
    def spends(self) -> tuple[Spend, ...]:
        """Every spend, in order."""
        return tuple(self._spends)

    @property
    def unprotected(self) -> tuple[Unprotected, ...]:
        """Every unprotected use of rows, in order."""
        return tuple(self._unprotected)

    def sensitivity(self) -> Sensitivity:
        """Sensitivity of one histogram for this ledger's unit and neighbours."""
        return histogram_sensitivity(self.neighbours, self.rows_per_unit)

    def partition(self, parts: tuple[str, ...], *, whole: str = ALL_ROWS, by_value: bool) -> None:
        """State that the rows of ``whole`` were split into disjoint parts.

        The part of a record must depend on that record alone (its value, or an
        independent draw), or on the number of records where that is public.
        """
        self._check_rows(whole)
        known = {ALL_ROWS} | {part for split in self._partitions for part in split.parts}
        if len(set(parts)) < len(parts) or known & set(parts):
            raise SettingError(f"parts ({', '.join(parts)}) must have new and different names")
        self._partitions.append(Partition(whole, tuple(parts), by_value))

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
        cost = Budget(epsilon, delta)  # refuses what is no cost
        if self.zcdp:
            raise SettingError(f"{stage} of {what}: this ledger counts rho, not epsilon")
        return self._record(
            Spend(stage, what, mechanism, float(epsilon), float(delta), rows), str(cost)
        )

    def charge_rho(
        self,
        stage: str,
        what: str,
        mechanism: str,
        rho: float,
        delta: float = 0.0,
        rows: str = ALL_ROWS,
    ) -> Spend:
        """Record a spend of a zCDP ledger, or raise ``BudgetError``; before drawing noise.

        ``delta`` is the chance with which the mechanism has no guarantee.
        """
        if not self.zcdp:
            raise SettingError(f"{stage} of {what}: this ledger counts epsilon, not rho")
        if not (math.isfinite(rho) and rho > 0 and 0 <= delta < 1):
            raise SettingError(f"rho ({rho!r}) must be positive and delta ({delta!r}) in [0, 1)")
        spend = Spend(stage, what, mechanism, 0.0, float(delta), rows, float(rho))
        return self._record(spend, f"rho {rho:.6g}")

    def _record(self, spend: Spend, cost: str) -> Spend:
        """Append a spend if the total stays within the budget."""
        self._check_rows(spend.rows)
        if self.budget is None:
            raise BudgetError(f"{spend.stage} of {spend.what}: nothing may be spent, noise is off")
        self._spends.append(spend)
        if not self._within(self.budget):
            total = self.spent
            self._spends.pop()
            raise BudgetError(
                f"{spend.stage} of {spend.what}: spending {cost} would bring the total "
                f"to {total}, above the budget of {self.budget}"
            )
        return spend

    def _within(self, budget: Budget) -> bool:
        """Whether the spends stay within the budget; epsilon is minimised only where rho is near.

        ``rho_of`` of a budget is found once and kept, so most spends cost one comparison.
        """
        if self.zcdp:
            cost, left = self._cost(ALL_ROWS), budget.delta - self._cost(ALL_ROWS).delta
            if left > 0 and cost.rho <= rho_of(budget.epsilon, left):
                return True
        total = self.spent
        return (
            total.epsilon <= budget.epsilon * (1 + ROUNDING)
            and total.delta <= budget.delta * (1 + ROUNDING) + 1e-300
        )

    def record_unprotected(
        self, stage: str, what: str, reason: Reason | str, rows: str = ALL_ROWS
    ) -> None:
        """Record that private rows are used without noise, for a known reason or in own words."""
        self._check_rows(rows)
        self._unprotected.append(
            Unprotected(stage, what, reason, rows)
            if isinstance(reason, Reason)
            else Unprotected(stage, what, Reason.OTHER, rows, reason)
        )

    def _check_rows(self, rows: str) -> None:
        known = {ALL_ROWS} | {part for split in self._partitions for part in split.parts}
        if rows not in known:
            raise SettingError(f"rows ({rows!r}) must be one of {', '.join(sorted(known))}")

    @property
    def spent(self) -> Total:
        """Total cost of all spends by composition."""
        cost = self._cost(ALL_ROWS)
        if not self.zcdp or self.budget is None or not self._spends:
            return cost
        left = self.budget.delta - cost.delta
        epsilon = epsilon_of(cost.rho, left) if left > 0 else math.inf
        return Total(epsilon, max(self.budget.delta, cost.delta), cost.rho)

    @property
    def failure_probability(self) -> float:
        """The chance with which the zCDP of all spends together has no guarantee."""
        return self._cost(ALL_ROWS).delta if self.zcdp else 0.0

    def _cost(self, rows: str) -> Total:
        epsilon = math.fsum(s.epsilon for s in self._spends if s.rows == rows)
        delta = math.fsum(s.delta for s in self._spends if s.rows == rows)
        rho = math.fsum(s.rho for s in self._spends if s.rows == rows)
        for split in self._partitions:
            if split.whole != rows:
                continue
            costs = [self._cost(part) for part in split.parts]
            touched = 1
            if split.by_value:  # each row of the unit, before and after, may be in another part
                touched = self.rows_per_unit * (2 if self.neighbours == "replace-one" else 1)
            epsilon += math.fsum(sorted((c.epsilon for c in costs), reverse=True)[:touched])
            delta += math.fsum(sorted((c.delta for c in costs), reverse=True)[:touched])
            rho += math.fsum(sorted((c.rho for c in costs), reverse=True)[:touched])
        return Total(epsilon, delta, rho)

    @property
    def proved(self) -> Total | None:
        """The guarantee of the whole release, or None where there is none."""
        return None if self._unprotected or self.replayed else self.spent

    # -- for people and for machines ---------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """The ledger as plain lists and mappings, with totals and words for readers of files."""
        entry = {
            "claimed": self.claimed,
            "proved": self.proved,
            "budget": self.budget,
            "spent": self.spent,
            "neighbours": self.neighbours,
            "unit": self.unit,
            "rows_per_unit": self.rows_per_unit,
            "noise": self.noise,
            "randomness": self.randomness,
            "seeded": self.seeded,
            "zcdp": self.zcdp,
            "domains": self.domains,
            "partitions": self._partitions,
            "spends": self._spends,
            "unprotected": [{**asdict(use), "why": use.why} for use in self._unprotected],
        }
        plain: dict[str, Any] = msgspec.to_builtins(entry)
        return plain

    def to_json(self) -> str:
        """The ledger as JSON text."""
        return json.dumps(self.to_dict(), indent=2)

    @classmethod
    def from_dict(cls, entry: dict[str, Any]) -> Ledger:
        """The ledger that ``to_dict`` wrote; totals and words are made anew."""
        if "randomness" in entry and "noise" not in entry:  # all of them had that
            raise OtherRevisionError(
                "its ledger was written by another version of copula-shirley; use that version, "
                "or fit again, which spends again"
            )
        facts = _read(_Facts, {name: entry[name] for name in _Facts.__struct_fields__})
        ledger = cls(
            facts.budget,
            claimed=facts.claimed,
            neighbours=facts.neighbours,
            unit=facts.unit,
            rows_per_unit=facts.rows_per_unit,
            domains=facts.domains,
            zcdp=facts.zcdp,
        )
        ledger.noise = facts.noise
        for split in facts.partitions:
            ledger.partition(split.parts, whole=split.whole, by_value=split.by_value)
        ledger._spends, ledger._unprotected = facts.spends, facts.unprotected
        for rows in [s.rows for s in facts.spends] + [u.rows for u in facts.unprotected]:
            ledger._check_rows(rows)
        if not all(map(math.isfinite, asdict(ledger.spent).values())):
            raise SettingError("the spends of the ledger must have a finite sum")
        return ledger

    def summary(self) -> list[tuple[str, str]]:
        """The label in words: pairs of a heading and what it says."""
        if self.proved is not None and not self._spends:
            proved = "epsilon 0: no row was used"
        elif self.proved is not None:
            proved = f"{self.proved} for the whole release"
            proved += ", if nobody knows the seed" if self.seeded else ""
        elif self.replayed:
            proved = "nothing: the noise was recorded or replayed by a test"
        elif self.budget is None:
            proved = "nothing: noise is off, the release shows the rows' statistics as they are"
        else:
            proved = (
                f"nothing for the release as a whole: {len(self._unprotected)} unprotected uses"
            )
        unit = self.unit
        if self.rows_per_unit > 1:
            unit += f" (at most {self.rows_per_unit} rows each)"
        return [
            ("claimed", str(self.claimed) if self.claimed else "nothing"),
            ("proved", proved),
            ("spent", str(self.spent) if self._spends else "nothing"),
            ("neighbours", f"{self.neighbours.replace('-', ' ')} {unit}"),
            ("randomness", self.randomness or "not stated"),
        ]

    def spends_table(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """Headings and lines of the spends, for people."""
        head = ("stage", "what", "mechanism", "rho" if self.zcdp else "epsilon", "delta", "rows")
        costs = [s.rho if self.zcdp else s.epsilon for s in self._spends]
        return head, [
            (s.stage, s.what, s.mechanism, f"{cost:.4g}", f"{s.delta:.3g}", s.rows)
            for s, cost in zip(self._spends, costs, strict=True)
        ]

    def grouped_unprotected(self) -> list[tuple[str, str, str, str]]:
        """Unprotected uses (stage, what, rows, why), those for one reason in one line."""
        groups: dict[tuple[str, str, str], list[str]] = {}
        for use in self._unprotected:
            groups.setdefault((use.stage, use.rows, use.why), []).append(use.what)
        return [(stage, ", ".join(what), rows, why) for (stage, rows, why), what in groups.items()]

    def __str__(self) -> str:
        lines = ["PRIVACY LEDGER"]
        lines += [f"  {heading:<11}{text}" for heading, text in self.summary()]
        if self._spends:
            lines += ["", "SPENDS (noise was added for these)"]
            lines += _table(*self.spends_table())
        if self._unprotected:
            lines += ["", "UNPROTECTED USES (no noise protects these)"]
            lines += [
                f"  {stage}: {what} [{rows}]: {why}"
                for stage, what, rows, why in self.grouped_unprotected()
            ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Ledger claimed={self.claimed} proved={self.proved} spent={self.spent}>"


class _Facts(msgspec.Struct):
    """What a file must say of a ledger; all else in it is derived."""

    budget: Budget | None
    claimed: Budget | None
    neighbours: str
    unit: str
    rows_per_unit: Annotated[int, msgspec.Meta(ge=1)]
    noise: NoiseFacts | None
    zcdp: bool
    domains: dict[str, str]
    partitions: list[Partition]
    spends: list[Spend]
    unprotected: list[Unprotected]


Part = TypeVar("Part")


def _read(kind: type[Part], entry: Any) -> Part:
    """A part of a ledger from a file, if its fields are of their types."""
    try:
        return msgspec.convert(entry, kind)
    except msgspec.ValidationError as error:
        raise SettingError(f"the ledger cannot be read: {error}") from None


@dataclass(frozen=True)
class Total:
    """A sum of costs; unlike a budget it may be zero."""

    epsilon: float
    delta: float = 0.0
    rho: float = 0.0

    __str__ = Budget.__str__


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[str]:
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    return [
        "  " + "  ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)).rstrip()
        for r in [head, *rows]
    ]
