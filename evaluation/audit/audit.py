"""A privacy claim is tested, not believed.

``audit`` fits a generator many times on two neighbouring tables, learns on one half of the runs
which event tells the tables apart best (``evaluation.audit.distinguisher``), counts that event once
on the other half, and turns the counts into a lower bound on epsilon (``evaluation.audit.bounds``).
Generators that keep a transcript are also tested by canaries (``evaluation.audit.canaries``),
hundreds of units that are guessed from each fit; others by pairs only, of which one fit gives one
look. A generator comes in as a factory: a function of a random state that gives an unfitted object
with ``fit(table)`` or ``fit(table, schema)`` and ``sample(n)``.

``lower_bound`` is below the true epsilon with confidence 95 %, whatever the generator is; with
several pairs and boxes each has a share of the 5 % (Bonferroni). It comes with the **claim**, the
**ceiling** (what this number of runs could show at best) and a **control** of known privacy, from
which follows the **power** (``evaluation.audit.control``): what was seen of the control, and with
which weaker noise its claim would have been refuted. Over all pairs, boxes and quantities of an
audit a true claim, or a ledger that is right, is refuted with a chance below ``FALSE_ALARM``.
docs/privacy.md says when each verdict is given.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from copula_shirley.errors import SettingError
from copula_shirley.evaluation.audit.bounds import CONFIDENCE
from copula_shirley.evaluation.audit.claim import Claim, claim_of, stage_of
from copula_shirley.evaluation.audit.control import Control, controls
from copula_shirley.evaluation.audit.estimates import (
    FALSE_ALARM,
    FALSE_LEDGER,
    REFUTED,
    UNKNOWN_POWER,
    Estimate,
    Power,
    estimates_of_guesses,
    estimates_of_pair,
    judge,
)
from copula_shirley.evaluation.audit.neighbours import Canaries, Pair, Questions
from copula_shirley.evaluation.audit.noise_check import check_noise
from copula_shirley.evaluation.audit.observation import BOXES
from copula_shirley.evaluation.audit.pairs import DEFAULT_PAIRS, built_in
from copula_shirley.evaluation.audit.runs import (
    SAMPLE_ROWS,
    Factory,
    Fit,
    Setup,
    fit_once,
    prepared,
    run_all,
    run_once,
)
from copula_shirley.evaluation.result import jsonable
from copula_shirley.files.versions import versions
from copula_shirley.fitted import Progress, silent
from copula_shirley.settings import check_positive_whole

#: Fewer runs a side show nothing.
LEAST_RUNS = 40
#: Runs a side if nobody says how many.
DEFAULT_RUNS = 400
#: Where a generator states no relation, that of the thesis.
DEFAULT_RELATION = "replace-one"
#: What the figures of an audit depend on.
PACKAGES = ("copula-shirley", "numpy", "scipy", "scikit-learn", "pandas", "opendp")
#: A pair, the name of a built-in one, or one that follows from the relation of the claim.
Wanted = Pair | str | Callable[[str], Pair]


@dataclass
class Audit:
    """The result of an audit; ``to_dict`` is what ``--json`` writes."""

    generator: str
    claim: Claim
    runs: int
    estimates: list[Estimate]
    control: Control
    verdict: str
    reason: str
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0
    about: dict[str, Any] = field(default_factory=dict)
    #: Stages for which a ledger was charged in any fit; and what the generator may ask and was not
    #: asked, or was not looked at, in words.
    asked: list[str] = field(default_factory=list)
    not_exercised: list[str] = field(default_factory=list)
    #: What is wrong in the ledgers.
    faults: list[str] = field(default_factory=list)

    @property
    def power(self) -> Power:
        return self.control.power

    @property
    def lower_bound(self) -> float:
        """The largest lower bound on epsilon at the claim's delta, at 95 %."""
        return max(e.bound for e in self._main())

    @property
    def ceiling(self) -> float:
        """What ``lower_bound`` would be if the tables could always be told apart."""
        return max(e.ceiling for e in self._main())

    @property
    def refuted(self) -> bool:
        """Whether the verdict is that the claim, or the ledger that proves it, is refuted."""
        return self.verdict in (REFUTED, FALSE_LEDGER)

    def bound(self, box: str) -> float | None:
        return max((e.bound for e in self._main() if e.box == box), default=None)

    @property
    def lower_bound_mu(self) -> float | None:
        if self.claim.rho is None:
            return None
        return max(e.bound for e in self.estimates if e.quantity == "mu")

    def _main(self) -> list[Estimate]:
        main = ("epsilon", self.claim.delta)
        return [e for e in self.estimates if (e.quantity, e.delta) == main]

    def to_dict(self) -> dict[str, Any]:
        names = ["generator", "lower_bound", "lower_bound_mu", "ceiling", "runs", "verdict"]
        names += ["reason", "asked", "not_exercised", "notes", "seconds"]
        weaker = [
            {"noise_divided_by": k, "noticed": k in self.power.noticed, "findings": found}
            for k, found in self.control.weaker.items()
        ]
        figures = {
            **{name: getattr(self, name) for name in names},
            "claim": self.claim,
            "lower_bound_white": self.bound("white"),
            "lower_bound_black": self.bound("black"),
            "confidence": CONFIDENCE,
            "false_alarm_rate": FALSE_ALARM,
            "findings": self.estimates,
            "control": self.control.estimates,
            "power": {**asdict(self.power), "enough": self.power.enough},
            "weaker_controls": weaker,
            "ledger_faults": self.faults,
            "versions": versions(PACKAGES),
            **self.about,
        }
        return jsonable(figures)  # type: ignore[no-any-return]


def audit(
    factory: Factory,
    pair: Wanted | Sequence[Wanted] = DEFAULT_PAIRS,
    *,
    claim: Claim | float | tuple[float, float] | None = None,
    otherwise: tuple[float, float] | None = None,
    relation: str | None = None,
    runs: int = DEFAULT_RUNS,
    boxes: Sequence[str] = BOXES,
    seed: int = 0,
    jobs: int = 1,
    secure: bool = False,
    rows: int = SAMPLE_ROWS,
    keep: Callable[[str], bool] | None = None,
    folder: str | Path | None = None,
    name: str = "",
    identity: str = "",
    progress: Progress = silent,
) -> Audit:
    """Test the privacy claim of a generator.

    Parameters
    ----------
    factory : callable
        From a random state (an integer; None with ``secure``, for the noise of a release) to an
        unfitted generator. More than one of ``jobs`` (processes) need what joblib can send.
    pair : Pair, name of a built-in pair, function of the relation, or several
        Built-in ones come in the relation that the claim states.
    claim, otherwise, relation : Claim, epsilon or (epsilon, delta), str, optional
        By default what the generator's ledger claims; ``otherwise`` and ``relation`` count where no
        ledger states them.
    runs : int
        Fits on each table of each pair; half of them learn, half test. Canaries have twice as many
        fits, and all of them test. ``rows`` are drawn from each for the black box.
    keep : callable, optional
        Which names of an observation may be looked at, to audit one part of a release.
    folder, identity : path, str, optional
        Where runs are stored, so that an audit that was stopped goes on, and all that the factory
        depends on, if the name does not say it.

    Examples
    --------
    >>> class Mean:
    ...     def fit(self, table):
    ...         self.table = table.mean().to_frame().T  # no noise at all
    ...     def sample(self, n):
    ...         return self.table
    >>> result = audit(lambda seed: Mean(), "outlier", claim=1.0, runs=100)
    >>> result.verdict, round(result.lower_bound, 2) == round(result.ceiling, 2)
    ('claim refuted', True)
    """
    started = time.perf_counter()
    wanted = list(pair) if isinstance(pair, Sequence) and not isinstance(pair, str) else [pair]
    for count, value in {"rows": rows, "jobs": jobs}.items():
        check_positive_whole(count, value)
    _check(runs, seed, boxes, wanted, folder, identity or name)
    setup = Setup(factory, tuple(boxes), None if secure else seed, rows)
    probed = _probe(setup, wanted[0])
    claim = claim_of(probed.stated, claim, otherwise, relation)
    notes = []
    if "white" in boxes and "white" not in probed.boxes:
        if setup.boxes == ("white",):
            raise SettingError("box ('white') must be black: the generator says not what it saves")
        setup = replace(setup, boxes=("black",))
        notes.append("no white box: the generator does not say what it would save")
    keeps = probed.stated is not None and probed.stated.transcript
    pairs, more = usable_pairs(setup, _pairs(wanted, claim), keeps=keeps, whole=keep is None)
    fits = run_all(
        setup,
        pairs,
        runs,
        jobs=jobs,
        folder=None if folder is None else Path(folder),
        identity=f"{identity or name} {seed}",
        progress=progress,
    )
    notes += more + _raised(pairs, fits)
    everything = [fit for several in fits.values() for fit in several]
    plain = sum(not isinstance(tested, Canaries | Questions) for tested in pairs)
    canaries = [tested for tested in pairs if isinstance(tested, Canaries)]
    tests = plain * len(setup.boxes) + len(canaries)
    estimates: list[Estimate] = []
    for i, tested in enumerate(pairs):
        sides = fits[i, 0], fits[i, 1]
        own = _gaussian_only(claim, [*sides[0], *sides[1]])
        estimates += _estimates(setup, tested, sides, own, tests, keep)
    claim = _gaussian_only(claim, everything)
    guesses = canaries[0].count if canaries else None
    control = controls(claim, runs, seed, tests, guesses, pairs=bool(plain))
    asked, not_exercised, faults = exercised(everything, setup.boxes)
    verdict, reason = judge(estimates, control.estimates, control.power, faults)
    return Audit(
        name or getattr(factory, "__name__", type(factory).__name__),
        claim,
        runs,
        estimates,
        control,
        verdict,
        reason,
        notes,
        time.perf_counter() - started,
        {"pairs": [p.name for p in pairs], "boxes": list(setup.boxes), "seed": seed},
        asked,
        not_exercised,
        faults,
    )


def _check(
    runs: int,
    seed: int,
    boxes: Sequence[str],
    wanted: Sequence[Wanted],
    folder: object,
    identity: str,
) -> None:
    if not isinstance(runs, int) or isinstance(runs, bool) or runs < LEAST_RUNS:
        raise SettingError(f"runs ({runs!r}) must be a whole number, {LEAST_RUNS} or more")
    if seed < 0:
        raise SettingError(f"seed ({seed}) must be 0 or more")
    unknown = [box for box in boxes if box not in BOXES]
    if unknown or not boxes:
        raise SettingError(f"box ({', '.join(unknown)!r}) must be white, black or both")
    if not wanted:
        raise SettingError("pair ([]) must name at least one pair")
    if folder is not None and not identity:
        raise SettingError(
            "identity ('') must say all that the factory depends on where runs are in a folder"
        )


def _probe(setup: Setup, wanted: Wanted) -> Fit:
    """One fit, for what the generator claims and shows; it is not counted."""
    pair = wanted if isinstance(wanted, str | Pair) else DEFAULT_PAIRS[0]
    pair = built_in(pair, DEFAULT_RELATION) if isinstance(pair, str) else pair
    with prepared(setup.seed):
        found = fit_once(replace(setup, rows=1), pair, 1, setup.seed)
    if found.error is not None and found.stated is None:
        raise SettingError(f"the generator fails on pair {pair.name!r}: {found.error}")
    return found


def _pairs(wanted: Sequence[Wanted], claim: Claim) -> list[Pair]:
    relation = claim.relation or DEFAULT_RELATION
    makers = [partial(built_in, one) if isinstance(one, str) else one for one in wanted]
    pairs = [one if isinstance(one, Pair) else one(relation) for one in makers]
    names = [p.name for p in pairs]
    if len(set(names)) < len(names):
        raise SettingError(f"pair ({', '.join(names)}) must not be named twice")
    for pair in pairs:
        if claim.relation is not None and pair.relation != claim.relation:
            raise SettingError(
                f"pair ({pair.name!r}) must be neighbours by {claim.relation}, which the claim is "
                f"about, and not by {pair.relation}"
            )
    return pairs


def usable_pairs(
    setup: Setup, pairs: Sequence[Pair], *, keeps: bool, whole: bool = True
) -> tuple[list[Pair], list[str]]:
    """The pairs that can be looked at, and what to say of the others; each is tried once.

    ``keeps`` says whether the generator keeps a transcript, ``whole`` whether the whole of each box
    may be looked at.
    """
    left, notes = [], []
    for pair in pairs:
        if isinstance(pair, Canaries | Questions) and not ("white" in setup.boxes and whole):
            why = "they are guessed from the whole white box"
        elif isinstance(pair, Canaries | Questions) and not keeps:
            why = "the generator keeps no transcript of answers with discrete noise"
        elif isinstance(pair, Questions) and len(pairs) == 1:
            why = "no table is told from another by it"
        else:
            why = _failing(setup, pair)
        if why and (len(pairs) == 1 or not isinstance(pair, Canaries | Questions)):
            raise SettingError(f"pair ({pair.name!r}) must be another: {why}")
        left += [] if why else [pair]
        notes += [f"no {pair.name}: {why}"] if why else []
    return left, notes


def _failing(setup: Setup, pair: Pair) -> str:
    """Why a generator cannot be fitted to either side of a pair; nothing where it can."""
    sides = (1,) if isinstance(pair, Questions) else (0, 1)  # the other one is large
    tried = [run_once(replace(setup, rows=1), pair, side, setup.seed) for side in sides]
    if pair.unit == "person" and "row" in {fit.stated.unit for fit in tried if fit.stated}:
        return "it differs by a person, and the generator protects single rows"
    if tried[0].error is not None and tried[0].error == tried[-1].error:
        return f"the generator fails on it: {tried[0].error}"
    return ""


def _raised(pairs: Sequence[Pair], fits: dict[tuple[int, int], list[Fit]]) -> list[str]:
    """What to say about fits that failed; an error where none came through."""
    notes = []
    for i, pair in enumerate(pairs):
        first, second = ([fit.error for fit in fits[i, side] if fit.error] for side in (0, 1))
        if len({fit.error for side in (0, 1) for fit in fits[i, side]}) == 1 and first:
            raise SettingError(f"the generator fails on pair {pair.name!r}: {first[0]}")
        if first or second:
            notes.append(
                f"pair {pair.name}: {len(first)} and {len(second)} of {len(fits[i, 0])} runs "
                "raised, which counts as evidence"
            )
    return notes


def _estimates(
    setup: Setup,
    tested: Pair,
    sides: tuple[list[Fit], list[Fit]],
    claim: Claim,
    tests: int,
    keep: Callable[[str], bool] | None,
) -> list[Estimate]:
    if isinstance(tested, Questions):
        return []
    if isinstance(tested, Canaries):
        right = [fit.right or 0 for side in sides for fit in side]
        return estimates_of_guesses(right, tested.count, claim, tested.name, tests)
    found = []
    for box in setup.boxes:
        first, second = (
            [{k: v for k, v in fit.boxes[box].items() if keep is None or keep(k)} for fit in side]
            for side in sides
        )
        found += estimates_of_pair(first, second, claim, tested.name, box, tests)
    return found


def exercised(fits: Sequence[Fit], boxes: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
    """Stages that were asked; what was not exercised, in words; what is wrong in the ledgers."""
    stated = [fit.stated for fit in fits if fit.stated]
    asked = {stage for ledger in stated for stage in ledger.asked}
    may_ask = next((ledger.may_ask for ledger in stated if ledger.may_ask), None)
    noises = [fit.noise for fit in fits if fit.noise]
    faults, found = check_noise(noises)
    seen = {stage_of(stage) for stage in found}
    left = [stage for stage in may_ask or () if stage not in asked]
    if may_ask is None:
        left.append("what this generator may ask of other tables, which is not known here")
    if noises:
        left += [f"{stage} (asked, but the noise was not seen)" for stage in sorted(asked - seen)]
    elif asked:
        left.append("the noise itself (the rows behind the answers were recounted in no fit)")
    if "black" in boxes:
        left.append(UNKNOWN_POWER)
    return sorted(asked), left, faults


def _gaussian_only(claim: Claim, fits: Sequence[Fit]) -> Claim:
    """The claim, Gaussian only if no fit chose by an exponential mechanism, say."""
    stated = [fit.stated for fit in fits if fit.stated]
    gaussian = claim.gaussian and all(one.gaussian for one in stated)
    return replace(claim, gaussian=gaussian, gdp=claim.gdp and all(one.gdp for one in stated))
