"""The release ledger: what was already published from the same data, and a cap on all of it.

Each fit promises something for itself. Whoever publishes a second one from the same people has
spent both. A curator who names one release ledger in every fit cannot pass a cap by forgetting:
before rows are read the cost of the fit is reserved, and what would pass the cap is refused.

The rule
--------
- A reservation is written, under a lock, before rows are read. It counts from then on.
- It is given back if the fit is refused before the table is handed to the generator: a missing
  file, a value outside the schema. Nothing was answered by then.
- From then on it counts, whatever happens: an error, a kill, a full disk. Some of the budget may
  be spent, and some of it may have been seen.
- When the fit is done, its true cost takes the place of the reservation.
- A fit that was stopped and goes on from its journal (``copula_shirley.measure.journal``) counts
  once: it takes up its reservation. Started anew it reserves, and counts, once more.
- Drawing from a saved model costs nothing, as often as one likes: it is post-processing.

Composition
-----------
Epsilons add up, and so do deltas (basic composition). If every entry is rho-zCDP (but for a small
chance of failing, which counts as delta), rho adds up, and the sum means an epsilon at what the
cap's delta leaves when the chances of failing are taken off (``zcdp.epsilon_of``); a smaller one if
every rho is one of GDP, too, and adds up as such (``copula_shirley.privacy.gdp``). Each of the two
is a proof about all releases together, so the smaller epsilon counts. The second is never much
worse than the first and mostly far better: ten releases of epsilon 1 cost 10 by the first, about
3.2 by the second. A delta alone does not say that a fit is rho-zCDP, its ledger does: what
counts in epsilon with a delta has no rho here. Without a delta rho is epsilon^2 / 2 (Bun and
Steinke 2016, proposition 1.4).

Both hold for costs that were fixed beforehand. For costs that somebody chose after looking at
earlier releases, sums of epsilon and delta still hold (Rogers, Roth, Ullman and Vadhan 2016) and
so do sums of rho (Feldman and Zrnic 2021; of GDP Smith and Thakurta 2022); where the first bound
decides for some histories and the second for others, delta at most doubles.

The file is JSON, each entry with a digest that includes the one before. That finds damage and
careless edits. It is no lock: the curator can edit with care, or start another file, and only
cheats himself.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args

import msgspec
from msgspec import Meta, Struct

from copula_shirley.errors import ArtefactError, BudgetError, SettingError
from copula_shirley.files.atomic import atomic_path, read_bytes
from copula_shirley.files.locks import locked
from copula_shirley.files.plain_json import parse_json, sha256_of
from copula_shirley.files.texts import one_line
from copula_shirley.fitted import Progress
from copula_shirley.generator import RESERVING, Generator
from copula_shirley.measure.journal import Journal
from copula_shirley.privacy.budget import NEIGHBOURS, Budget, NeighbourName, Total
from copula_shirley.privacy.ledger import ROUNDING, Ledger
from copula_shirley.privacy.zcdp import epsilon_of, rho_of
from copula_shirley.schema.schema import Schema
from copula_shirley.settings import check_one_of

FORMAT = 1
Unit = Literal["row", "person"]
HEAD = ("format", "cap", "neighbours", "unit", "made")
#: Bytes of a ledger: each fit takes some 1,500.
LARGEST_LEDGER = 2**24
#: An epsilon, a delta or a rho of a file: sums of numbers above 1e100 are none.
Amount = Annotated[float, Meta(ge=0, le=1e100)]
RESERVED, BEGUN, RETURNED, SETTLED = "reserved", "begun", "given back", "settled"
#: The state in which each kind of entry must find its release.
BEFORE = {RESERVED: None, BEGUN: RESERVED, RETURNED: RESERVED, SETTLED: BEGUN}


@dataclass(frozen=True)
class Cost:
    """What one release costs; rho and the chance of failing where it is zCDP."""

    epsilon: Amount
    delta: Amount = 0.0
    rho: Amount | None = None
    failing: Amount = 0.0
    #: Whether rho is half the square of a mu of Gaussian differential privacy, too.
    gdp: bool = False

    __str__ = Budget.__str__

    @classmethod
    def of(cls, total: Budget | Total, ledger: Ledger, rho: float, failing: float) -> Self:
        """The cost of a fit whose ledger counts in rho, or else in epsilon."""
        if total.delta == 0:
            return cls(total.epsilon, 0.0, total.epsilon**2 / 2)
        return cls(total.epsilon, total.delta, rho if ledger.zcdp else None, failing, ledger.gdp)


def total_of(costs: Sequence[Cost], cap: Budget) -> Total:
    """What releases cost together; see the composition above.

    Examples
    --------
    >>> total_of([Cost(1.0), Cost(0.5)], Budget(3.0))
    Total(epsilon=1.5, delta=0.0, rho=0.0)
    >>> ten = [Cost(1.0, 1e-9, rho_of(1.0, 1e-9))] * 10
    >>> round(total_of(ten, Budget(4.0, 1e-8)).epsilon, 2)
    3.15
    """
    basic = Total(math.fsum(c.epsilon for c in costs), math.fsum(c.delta for c in costs))
    rhos = [c.rho for c in costs if c.rho is not None]
    left = cap.delta - math.fsum(c.failing for c in costs)
    if not costs or len(rhos) < len(costs) or left <= 0:
        return basic
    rho = math.fsum(rhos)
    epsilon = epsilon_of(rho, left, gdp=all(c.gdp for c in costs if c.rho))
    concentrated = Total(epsilon, cap.delta, rho)
    if concentrated.epsilon < basic.epsilon or not within(basic, cap):
        return concentrated
    return basic


def _check_absent(path: str | Path) -> None:
    if Path(path).exists():
        raise SettingError(f"{str(path)!r} exists; a release ledger is never replaced")


def within(total: Total, cap: Budget | Cost) -> bool:
    slack = 1 + ROUNDING
    return total.epsilon <= cap.epsilon * slack and total.delta <= cap.delta * slack


@dataclass(frozen=True)
class Release:
    """One line of the ledger, as it stands."""

    number: int
    time: str
    generator: str
    what: str
    state: str
    cost: Cost


# -- the file ------------------------------------------------------------------------


class _Entry(Struct, forbid_unknown_fields=True):
    """Of a reservation all of it, of a settlement its cost, of the others neither."""

    kind: Literal["reserved", "begun", "given back", "settled"]
    number: int
    time: str
    digest: str = ""
    epsilon: Amount = 0.0
    delta: Amount = 0.0
    rho: Amount | None = None
    failing: Amount = 0.0
    gdp: bool = False
    generator: str = ""
    what: str = ""
    settings_sha256: str = ""
    schema_sha256: str = ""
    person: str | None = None


class _Content(Struct, forbid_unknown_fields=True):
    format: int
    cap: Budget
    neighbours: NeighbourName
    unit: Unit
    made: str
    entries: list[_Entry]
    digest: str


def _releases(entries: Sequence[_Entry]) -> list[Release]:
    """The releases as they stand after all entries; a KeyError if one cannot follow another."""
    found: dict[int, Release] = {}
    for entry in entries:
        cost = Cost(entry.epsilon, entry.delta, entry.rho, entry.failing, entry.gdp)
        old = found.get(entry.number)
        if BEFORE[entry.kind] != (old and old.state):
            raise KeyError(entry.kind)
        if old is None:
            old = Release(entry.number, entry.time, entry.generator, entry.what, RESERVED, cost)
        cost = {BEGUN: old.cost, RETURNED: Cost(0.0, 0.0, 0.0)}.get(entry.kind, cost)
        found[entry.number] = replace(old, state=entry.kind, cost=cost)
    return list(found.values())


def _chain(content: dict[str, Any]) -> list[str]:
    """Digests of the head and of each entry, each with the one before."""
    chain = [sha256_of({name: content[name] for name in HEAD})]
    for entry in content["entries"]:
        own = {name: value for name, value in entry.items() if name != "digest"}
        chain.append(sha256_of([chain[-1], own]))
    return chain


def _fit_of(generator: Generator, schema: Schema) -> dict[str, str]:
    """What a reservation says of its fit."""
    settings = {k: v for k, v in generator.get_params().items() if k != "random_state"}
    return {
        "generator": generator.name,
        "settings_sha256": sha256_of(settings),
        "schema_sha256": sha256_of(schema.to_dict()),
    }


class _NotAloneError(ArtefactError):
    """Somebody else changes the ledger, too: its lock file was removed meanwhile."""


def _write(path: Path, content: dict[str, Any], alone: Callable[[], bool]) -> None:
    """Write the ledger, if this process is still ``alone`` just before it takes its place."""
    with atomic_path(path) as partial:
        partial.write_text(json.dumps(content, indent=1, allow_nan=False) + "\n", "utf-8")
        if not alone():
            raise _NotAloneError(f"{str(path)!r} is changed by another process, too; try again")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


# -- the ledger ----------------------------------------------------------------------


class ReleaseLedger:
    """What was published from the same data; a file that only grows.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> ledger = ReleaseLedger.new(folder / "releases.json", Budget(3.0, 1e-8))
    >>> ledger.total, ledger.cap
    (Total(epsilon=0.0, delta=0.0, rho=0.0), Budget(epsilon=3.0, delta=1e-08))
    """

    def __init__(self, path: Path, content: dict[str, Any]) -> None:
        self.path = path
        self._take(content)

    def _take(self, content: dict[str, Any]) -> None:
        known = msgspec.convert(content, _Content)
        self.cap, self.neighbours, self.unit = known.cap, known.neighbours, known.unit
        self.releases = _releases(known.entries)
        self._people = {entry.person for entry in known.entries if entry.kind == RESERVED}
        self._content = content

    @classmethod
    def new(
        cls,
        path: str | Path,
        cap: Budget,
        *,
        neighbours: NeighbourName = "add-remove",
        unit: Unit = "row",
    ) -> Self:
        """Start a ledger; a file that is there already is never replaced."""
        check_one_of("neighbours", neighbours, NEIGHBOURS)
        check_one_of("unit", unit, get_args(Unit))
        head = (FORMAT, asdict(cap), neighbours, unit, _now())
        content: dict[str, Any] = {**dict(zip(HEAD, head, strict=True)), "entries": []}
        content["digest"] = _chain(content)[-1]
        place = Path(path).resolve()  # a link would have a lock and a ledger of its own
        _check_absent(path)  # before a lock is left beside it
        with locked(place) as still_held:
            _check_absent(path)
            _write(place, content, still_held)
        return cls(place, content)

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Read a ledger, or refuse a file that is none, or that was edited."""
        path = Path(path).resolve()
        where = repr(str(path))
        if not path.exists():
            raise ArtefactError(f"{where} does not exist; start it with 'shirley releases new'")
        raw = read_bytes(path, LARGEST_LEDGER, ArtefactError, "release ledger")
        if path.stat().st_nlink > 1:
            raise ArtefactError(
                f"{where} must have one name only: it is linked, and each name would count alone"
            )
        try:
            content = parse_json(raw)
            if isinstance(content, dict) and content.get("format", FORMAT) != FORMAT:
                raise ArtefactError(f"it has format {content['format']!r}, this version knows 1")
            ledger = cls(path, content)
        except (ValueError, KeyError, RecursionError, msgspec.ValidationError) as error:
            raise ArtefactError(f"{where} is no release ledger: {error}") from None
        chain = _chain(content)
        for number, (entry, digest) in enumerate(zip(content["entries"], chain[1:], strict=True)):
            if entry.get("digest") != digest:
                raise ArtefactError(f"{where} was edited or damaged at entry {number + 1}")
        if content["digest"] != chain[-1]:
            raise ArtefactError(f"{where} was edited or damaged: its digest does not fit")
        return ledger

    @property
    def total(self) -> Total:
        """What all releases cost together, those that are reserved included."""
        return total_of([release.cost for release in self.releases], self.cap)

    def total_with(self, cost: Cost) -> Total:
        """What all releases would cost together with one more; nothing is reserved."""
        return total_of([*(release.cost for release in self.releases), cost], self.cap)

    def reserve(self, generator: Generator, schema: Schema, what: str = "") -> Reservation:
        """Reserve what a fit will cost, or refuse; use it in a ``with`` block.

        ``generator`` has the settings of the fit; ``what`` is for people, such as the name of the
        file that will be published.
        """
        cost = self.price(generator, schema)
        entry = {
            "kind": RESERVED,
            "what": one_line(what),
            **asdict(cost),
            **_fit_of(generator, schema),
            "person": schema.person,
        }
        return Reservation(self, self._append(entry, cost), cost, generator, schema)

    def resume(self, generator: Generator, schema: Schema, journal: Journal) -> Reservation:
        """What was reserved for a fit that was stopped, and goes on from its journal: counted once.

        The journal of a fit that was complete, but not its output, must have all answers.
        """
        cost, number = self.price(generator, schema), journal.release
        state = next((r.state for r in self.releases if r.number == number), None)
        entries = [e for e in self._content["entries"] if e["number"] == number]
        own = {**_fit_of(generator, schema), **asdict(cost)}
        if state not in (BEGUN, SETTLED) or own.items() - entries[0].items():
            raise BudgetError(
                f"releases: {str(self.path)!r} does not know the fit of {str(journal.path)!r} as "
                "one that was begun; add --fresh to start it anew, which counts once more"
            )
        journal.complete = state == SETTLED
        return Reservation(self, int(str(number)), cost, generator, schema, state)

    def price(self, generator: Generator, schema: Schema) -> Cost:
        """The most that a fit can cost by its settings; no row is needed."""
        if not isinstance(schema, Schema):
            raise SettingError("schema (None) must be a Schema: without one nothing is proved")
        generator.check_settings(schema)
        opened = generator.open_ledger(generator.coordinates(schema).modelled)
        faults = {
            "it holds the rows themselves": not generator.publishable,
            "its noise is of floating point, whose low bits can betray a count: it is for "
            "comparison and not for release; use 'private-vine'": not generator.exact_noise,
            "the fit is seeded (for experiments, not for release); leave the seed out": (
                generator.random_state is not None
            ),
            "it has no budget or leaves rows unprotected": bool(opened.unprotected)
            or (opened.budget is None and generator.uses_rows),
        }
        if why := generator.unproved(schema) + [text for text, found in faults.items() if found]:
            raise BudgetError(
                f"releases: nothing is proved of this fit of {generator.name!r}: {why[0]}"
            )
        if opened.budget is None:  # epsilon 0, whoever the neighbours are
            return Cost(0.0, 0.0, 0.0)
        for setting in ("neighbours", "unit"):
            mine, its = getattr(self, setting), getattr(opened, setting)
            if mine != its:
                raise BudgetError(
                    f"releases: {setting} ({its!r}) of the fit must be {mine!r} as in "
                    f"{str(self.path)!r}: guarantees of different kinds do not add up; start a "
                    f"ledger for them, 'shirley releases new --{setting} {its}'"
                )
        budget = opened.budget
        # what fails with a small chance is part of delta, so this rho is not too small
        gdp = opened.gdp
        rho = rho_of(budget.epsilon, budget.delta, gdp=gdp) if opened.zcdp else 0.0
        return Cost.of(budget, opened, rho, generator.failure_probability(schema))

    def _append(self, entry: dict[str, Any], cost: Cost | None = None) -> int:
        """Add an entry under the lock; with a cost, refuse what passes the cap."""
        while True:
            with suppress(_NotAloneError), locked(self.path) as still_held:
                fresh = type(self).open(self.path)
                content, before = fresh._content, fresh._content["digest"]
                if cost is not None:
                    fresh._check_room(cost, entry["person"])
                    entry = {**entry, "number": len(fresh.releases) + 1}
                content["entries"].append({**entry, "time": _now()})
                try:
                    fresh._take(content)
                except KeyError:  # before it is written: an unreadable ledger protects nobody
                    raise SettingError(
                        f"releases: reservation {entry['number']} has ended or its fit has begun; "
                        "reserve again for another fit"
                    ) from None
                content["entries"][-1]["digest"] = content["digest"] = _chain(content)[-1]

                def alone() -> bool:
                    own = type(self).open(self.path)._content["digest"]
                    return still_held() and own == before  # noqa: B023

                _write(self.path, content, alone)
                self._take(content)
                return int(entry["number"])

    def _check_room(self, cost: Cost, person: str | None) -> None:
        """Refuse what passes the cap; and other people: a sum of patients is none of doctors."""
        after = self.total_with(cost)
        if not within(after, self.cap):
            raise BudgetError(
                f"releases: {self.total} is published or reserved; this fit of {cost} would bring "
                f"the total to {after}, above the cap of {self.cap} in {str(self.path)!r}"
            )
        if others := self._people - {person}:
            raise BudgetError(
                f"releases: person column ({person!r}) must be {others.pop()!r} as in the "
                "releases so far; guarantees of different people do not add up"
            )

    def to_dict(self) -> dict[str, Any]:
        """Cap, total and releases, as plain JSON values."""
        return {
            "cap": asdict(self.cap),
            "total": asdict(self.total),
            "neighbours": self.neighbours,
            "unit": self.unit,
            "releases": [asdict(release) for release in self.releases],
        }


@dataclass(eq=False)
class Reservation:
    """What is reserved for one fit; ``cost`` says how much."""

    _ledger: ReleaseLedger
    _number: int
    cost: Cost
    _generator: Generator
    _schema: Schema
    #: Of a fit that goes on: how the ledger knows it.
    _known: str | None = None
    _begun: bool = False

    def __post_init__(self) -> None:
        self._generator.release_ledger = str(self._ledger.path)

    def __enter__(self) -> Self:
        self._token = RESERVING.set(str(self._ledger.path))
        return self

    def __exit__(self, *_: object) -> None:
        RESERVING.reset(self._token)
        if not self._begun and self._known is None:
            self._ledger._append({"kind": RETURNED, "number": self._number})

    def fit(
        self, table: Any, *, progress: Progress | None = None, journal: Journal | None = None
    ) -> Generator:
        """Fit the generator to a table; from here on the cost is spent."""
        if self._ledger.price(self._generator, self._schema) != self.cost:
            raise BudgetError(
                "releases: the generator's settings must be those that were reserved for, a fit of "
                f"{self.cost}"
            )
        begun, self._begun = self._begun, True  # now: a failure to write gives nothing back
        if begun or self._known is None:
            self._ledger._append({"kind": BEGUN, "number": self._number})
        if journal is not None:
            journal.release = self._number
        self._generator.reserved = True
        known = {} if journal is None else {"journal": journal}
        model = self._generator.fit(table, self._schema, progress=progress, **known)
        if self._known != SETTLED:
            self._settle(model.ledger_)
        return model

    def _settle(self, ledger: Ledger) -> None:
        exact = ledger.noise is not None and ledger.noise.for_release
        spent = ledger.proved
        if spent is None or (ledger.spends and not exact):
            raise BudgetError("releases: the fit proves nothing after all; do not publish it")
        cost = Cost.of(spent, ledger, spent.rho, ledger.failure_probability)
        self._ledger._append({"kind": SETTLED, "number": self._number, **asdict(cost)})
        if not within(spent, self.cost):
            raise BudgetError(
                f"releases: the fit cost {spent}, more than the {self.cost} that was reserved; do "
                "not publish it"
            )
