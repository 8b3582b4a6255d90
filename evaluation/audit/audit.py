"""A privacy claim is tested, not believed.

``audit`` fits a generator many times on two neighbouring tables, learns on one half of the runs
which event tells the tables apart best (``evaluation.audit.distinguisher``), counts that event once
on the other half, and turns the counts into a lower bound on epsilon (``evaluation.audit.bounds``).
A generator comes in as a factory: a function of a random state that gives an unfitted object with
``fit(table)`` or ``fit(table, schema)`` and ``sample(n)``.

What the result means
---------------------
``lower_bound`` is below the true epsilon with confidence 95 %, whatever the generator is; with
several pairs and boxes each has a share of the 5 % (Bonferroni). It comes with the **claim**, the
**ceiling** (what this number of runs could show at best) and a **control** of known privacy, from
which follows the **power** (``evaluation.audit.control``): what was seen of the control, and with
which weaker noise its claim would have been refuted. Power is in epsilon for pure claims and claims
without rho, and in mu for claims in rho.

- *claim refuted*: a bound at a much higher confidence is above what the claim allows. Over all
  pairs, boxes and quantities of an audit a true claim is refuted with a chance below
  ``FALSE_ALARM``, 1 in 1,000.
- *ledger refuted*: the noise of the answers is not the one that the ledger states
  (``evaluation.audit.noise_check``), or the transcript states another. The proof does not hold
  then; what privacy is left is not known. That has a share of the same 1 in 1,000.
- *consistent (up to what this audit can see)*: no bound is above, and there was power: half of the
  control's claim or more was seen, and weaker noise in all answers that were asked here would have
  been noticed. That is no proof; ``not_exercised`` lists what was not asked or not looked at.
- *inconclusive: no power*: no bound is above, and nobody should have expected one.
- *inconclusive*: a bound at 95 % is above the claim, or the control was refuted.

Generators that keep a transcript are also tested by canaries (``evaluation.audit.canaries``),
hundreds of units that are guessed from each fit; others by pairs only, of which one fit gives one
look.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from copula_shirley.errors import ArtefactError, SettingError
from copula_shirley.evaluation.audit.bounds import CONFIDENCE
from copula_shirley.evaluation.audit.claim import Claim, Statement, claim_of, stage_of
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
    run_all,
    run_once,
)
from copula_shirley.evaluation.result import jsonable
from copula_shirley.files.code import code_digest, versions

#: Fewer runs a side show nothing.
LEAST_RUNS = 40
#: Runs a side if nobody says how many.
DEFAULT_RUNS = 400
#: Where a generator states no relation, that of the thesis.
DEFAULT_RELATION = "replace-one"
NO_TRANSCRIPT = "the generator keeps no transcript of noisy answers"
#: What the figures of an audit depend on.
PACKAGES = ("copula-shirley", "numpy", "scipy", "scikit-learn", "pandas", "opendp")


@dataclass
class Audit:
    """The result of an audit; ``to_dict`` is what ``--json`` writes.

    Attributes
    ----------
    asked : list of str
        Stages for which a ledger was charged in any fit.
    not_exercised : list of str
        What the generator may ask and was not asked, or was not looked at, in words.
    faults : list of str
        What is wrong in the ledgers.
    """

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
    asked: list[str] = field(default_factory=list)
    not_exercised: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    @property
    def power(self) -> Power:
        """What the same procedure saw of the control."""
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
        """The largest lower bound on epsilon of one box."""
        return max((e.bound for e in self._main() if e.box == box), default=None)

    @property
    def lower_bound_mu(self) -> float | None:
        """The largest lower bound on mu, where the claim is in rho."""
        if self.claim.rho is None:
            return None
        return max(e.bound for e in self.estimates if e.quantity == "mu")

    def _main(self) -> list[Estimate]:
        main = ("epsilon", self.claim.delta)
        return [e for e in self.estimates if (e.quantity, e.delta) == main]

    def to_dict(self) -> dict[str, Any]:
        """All figures as plain values."""
        names = ["generator", "lower_bound", "lower_bound_mu", "ceiling", "runs", "verdict"]
        names += ["reason", "asked", "not_exercised", "notes", "seconds"]
        weaker = [
            {
                "noise_divided_by": k,
                "noticed": k in self.power.noticed,
                "findings": [asdict(e) for e in found],
            }
            for k, found in self.control.weaker.items()
        ]
        return jsonable(  # type: ignore[no-any-return]
            {
                **{name: getattr(self, name) for name in names},
                "claim": asdict(self.claim),
                "lower_bound_white": self.bound("white"),
                "lower_bound_black": self.bound("black"),
                "confidence": CONFIDENCE,
                "false_alarm_rate": FALSE_ALARM,
                "findings": [asdict(e) for e in self.estimates],
                "control": [asdict(e) for e in self.control.estimates],
                "power": {**asdict(self.power), "enough": self.power.enough},
                "weaker_controls": weaker,
                "ledger_faults": self.faults,
                "versions": versions(PACKAGES),
                **self.about,
            }
        )


def audit(
    factory: Factory,
    pair: Pair | str | Sequence[Pair | str] = DEFAULT_PAIRS,
    *,
    claim: Claim | float | tuple[float, float] | None = None,
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
    progress: Callable[[int, int], None] | None = None,
) -> Audit:
    """Test the privacy claim of a generator.

    Parameters
    ----------
    factory : callable
        From a random state (an integer; None with ``secure``) to an unfitted generator. With
        ``jobs=1`` it may be anything; more processes need what joblib can send.
    pair : Pair, name of a built-in pair, or several
        Built-in ones come in the relation that the claim states.
    claim : Claim, epsilon or (epsilon, delta), optional
        By default what the generator's ledger claims.
    runs : int
        Fits on each table of each pair; half of them learn, half test. Canaries have twice as many
        fits, and all of them test.
    boxes : sequence of {"white", "black"}
    seed : int
    jobs : int
        Processes.
    secure : bool
        Pass no random state: the noise is that of a release.
    rows : int
        Rows that are drawn from each fit, for the black box.
    keep : callable, optional
        Which names of an observation may be looked at, to audit one part of a release.
    folder : path, optional
        Where runs are kept, so that an audit that was stopped goes on.
    name : str
        Of the generator.
    identity : str
        With a folder: all that the factory depends on, if the name does not say it.
    progress : callable, optional
        Told how many fits are done, and of how many.

    Returns
    -------
    Audit

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
    _check(runs, boxes)
    if folder is not None and not (identity or name):
        raise SettingError(
            "identity ('') must say all that the factory depends on where runs are kept in a folder"
        )
    wanted = [pair] if isinstance(pair, Pair | str) else list(pair)
    if not wanted:
        raise SettingError("pair ([]) must name at least one pair")
    setup = Setup(factory, tuple(boxes), None if secure else seed, rows)
    probed = _probe(setup, wanted[0])
    claim = claim_of(probed.stated, claim)
    pairs = _pairs(wanted, claim)
    notes = []
    if "white" in boxes and "white" not in probed.boxes:
        if setup.boxes == ("white",):
            raise SettingError("box ('white') must be black: the generator says not what it saves")
        setup = replace(setup, boxes=tuple(box for box in boxes if box != "white"))
        notes.append("no white box: the generator does not say what it would save")
    keeps = bool(probed.stated and probed.stated.transcript)
    pairs, more = usable_pairs(setup, pairs, keeps=keeps, whole=keep is None)
    place = None if folder is None else _place(Path(folder), identity or name, setup, seed)
    fits = run_all(setup, pairs, runs, jobs=jobs, folder=place, progress=progress)
    notes += more + _raised(pairs, fits)
    sides = [(tested, fits[i, 0], fits[i, 1]) for i, tested in enumerate(pairs)]
    everything = [fit for several in fits.values() for fit in several]
    guesses = next((tested.count for tested in pairs if isinstance(tested, Canaries)), None)
    plain = sum(not isinstance(tested, Canaries | Questions) for tested in pairs)
    canaries = sum(isinstance(tested, Canaries) for tested in pairs)
    tests = plain * len(setup.boxes) + canaries
    estimates: list[Estimate] = []
    for tested, *own in sides:
        gaussian = claim.gaussian and _all_gaussian([*own[0], *own[1]])
        estimates += _estimates(setup, tested, own, replace(claim, gaussian=gaussian), tests, keep)
    claim = replace(claim, gaussian=claim.gaussian and _all_gaussian(everything))
    control = controls(claim, runs, seed, tests, guesses, pairs=bool(plain))
    asked, not_exercised, faults = exercised(everything, setup.boxes)
    verdict, reason = judge(estimates, control.estimates, control.power, faults)
    return Audit(
        generator=name or getattr(factory, "__name__", type(factory).__name__),
        claim=claim,
        runs=runs,
        estimates=estimates,
        control=control,
        verdict=verdict,
        reason=reason,
        notes=notes,
        seconds=time.perf_counter() - started,
        about={"pairs": [p.name for p in pairs], "boxes": list(setup.boxes), "seed": seed},
        asked=asked,
        not_exercised=not_exercised,
        faults=faults,
    )


# -- parts ---------------------------------------------------------------------------------


def _check(runs: int, boxes: Sequence[str]) -> None:
    if not isinstance(runs, int) or isinstance(runs, bool) or runs < LEAST_RUNS:
        raise SettingError(f"runs ({runs!r}) must be a whole number, {LEAST_RUNS} or more")
    unknown = [box for box in boxes if box not in BOXES]
    if unknown or not boxes:
        raise SettingError(f"box ({', '.join(unknown)!r}) must be white, black or both")


def probe(factory: Factory, pair: Pair | str, seed: int | None) -> Statement | None:
    """What the ledger of one fit states, None without one."""
    return _probe(Setup(factory, seed=seed, rows=1), pair).stated


def _probe(setup: Setup, pair: Pair | str) -> Fit:
    """One fit, for what the generator claims and shows; it is not counted."""
    pair = built_in(pair, DEFAULT_RELATION) if isinstance(pair, str) else pair
    found = fit_once(setup, pair, 1, setup.seed)
    if found.error is not None and found.stated is None:
        raise SettingError(f"the generator fails on pair {pair.name!r}: {found.error}")
    return found


def _pairs(wanted: Sequence[Pair | str], claim: Claim) -> list[Pair]:
    relation = claim.relation or DEFAULT_RELATION
    pairs = [built_in(p, relation) if isinstance(p, str) else p for p in wanted]
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
    """The pairs without those that cannot be looked at, and what to say of those.

    Parameters
    ----------
    setup : Setup
    pairs : sequence of Pair
    keeps : bool
        Whether the generator keeps a transcript.
    whole : bool
        Whether the whole of each box may be looked at.
    """
    left, notes = [], []
    for pair in pairs:
        why = ""
        if isinstance(pair, Canaries | Questions):
            why = _why_not(setup, pair, keeps=keeps, whole=whole)
        if isinstance(pair, Questions) and len(pairs) == 1:
            why = why or "no table is told from another by it"
        if why and len(pairs) == 1:
            raise SettingError(f"pair ({pair.name!r}) must be another: {why}")
        notes += [f"no {pair.name}: {why}"] * bool(why)
        left += [pair] * (not why)
    for pair in left:
        if not isinstance(pair, Questions):
            _check_pair(setup, pair)
    return left, notes


def _why_not(setup: Setup, pair: Pair, *, keeps: bool, whole: bool) -> str:
    """Why a pair that needs a transcript cannot be looked at; nothing where it can."""
    if "white" not in setup.boxes or not whole:
        return "they are guessed from the whole white box"
    if not keeps and isinstance(pair, Questions):
        return NO_TRANSCRIPT
    tried = run_once(setup, pair, 1, setup.seed)
    if tried.error is not None:
        return f"the generator fails on them: {tried.error}"
    return NO_TRANSCRIPT if tried.noise is None else ""


def _check_pair(setup: Setup, pair: Pair) -> None:
    """Refuse a pair on which the generator fails on either side, before all the runs are made."""
    tried = [fit_once(replace(setup, rows=1), pair, side, setup.seed) for side in (0, 1)]
    if tried[0].error is not None and tried[0].error == tried[1].error:
        raise SettingError(f"the generator fails on pair {pair.name!r}: {tried[0].error}")
    if pair.unit == "person" and "row" in {fit.stated.unit for fit in tried if fit.stated}:
        raise SettingError(
            f"pair ({pair.name!r}) differs by a person, and the generator protects single rows"
        )


def _estimates(
    setup: Setup,
    tested: Pair,
    sides: Sequence[Sequence[Fit]],
    claim: Claim,
    tests: int,
    keep: Callable[[str], bool] | None,
) -> list[Estimate]:
    """What the runs of one pair show."""
    if isinstance(tested, Questions):
        return []
    if isinstance(tested, Canaries):
        right = [fit.right or 0 for side in sides for fit in side]
        return estimates_of_guesses(right, tested.count, claim, tested.name, tests)
    found = []
    for box in setup.boxes:
        first, second = ([fit.boxes[box].kept(keep) for fit in side] for side in sides)
        found += estimates_of_pair(first, second, claim, tested.name, box, tests)
    return found


def exercised(fits: Sequence[Fit], boxes: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
    """Stages that were asked; what was not exercised, in words; what is wrong in the ledgers."""
    stated = [fit.stated for fit in fits if fit.stated]
    asked = {stage for ledger in stated for stage in ledger.asked or ()}
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


def _all_gaussian(fits: Sequence[Fit]) -> bool:
    """Whether no fit chose by an exponential mechanism, say, where another did not."""
    return all(fit.stated.gaussian for fit in fits if fit.stated)


def _raised(pairs: Sequence[Pair], fits: dict[tuple[int, int], list[Fit]]) -> list[str]:
    """What to say about fits that failed; an error where none came through."""
    notes = []
    for i, pair in enumerate(pairs):
        errors = [[fit.error for fit in fits[i, side] if fit.error] for side in (0, 1)]
        failed = len(errors[0]) + len(errors[1])
        if failed == len(fits[i, 0]) + len(fits[i, 1]) and len({*errors[0], *errors[1]}) == 1:
            raise SettingError(f"the generator fails on pair {pair.name!r}: {errors[0][0]}")
        if failed:
            notes.append(
                f"pair {pair.name}: {len(errors[0])} and {len(errors[1])} of {len(fits[i, 0])} "
                "runs raised, which counts as evidence"
            )
    return notes


def _place(folder: Path, identity: str, setup: Setup, seed: int) -> Path:
    """The folder of this very audit inside the one that was named."""
    words = [identity, str(seed), str(setup.seed is None), ",".join(sorted(setup.boxes))]
    words += [str(setup.rows), code_digest()]
    place = folder / hashlib.sha256("\n".join(words).encode()).hexdigest()[:16]
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ArtefactError(f"folder ({str(folder)!r}): {error.strerror}") from None
    return place
