"""A privacy claim is tested, not believed.

``audit`` fits a generator many times on two neighbouring tables, learns on one half of the runs
which event tells the tables apart best (``evaluation.audit.events``), counts that event once on the
other
half, and turns the counts into a lower bound on epsilon (``evaluation.audit.bounds``). A generator
comes
in as a factory: a function of a random state that gives an unfitted object with ``fit(table)`` or
``fit(table, schema)`` and ``sample(n)``.

What the result means
---------------------
``lower_bound`` is below the true epsilon with confidence 95 %, whatever the generator is; with
several pairs and boxes each has a share of the 5 % (Bonferroni). It comes with the **claim**, the
**ceiling** (what this number of runs could show at best) and a **control** of known privacy, from
which follows the **power** (``evaluation.audit.control``): what was seen of the control, and with
which
weaker noise its claim would have been refuted. Power is in epsilon for pure claims and claims
without rho, and in mu for claims in rho.

- *claim refuted*: a bound at a much higher confidence is above what the claim allows. Over all
  pairs, boxes and quantities of an audit a true claim is refuted with a chance below
  ``FALSE_ALARM``, 1 in 1,000.
- *ledger refuted*: the noise of the answers is not the one that the ledger states
  (``evaluation.audit.answers``), or the transcript states another. The proof does not hold then;
  what
  privacy is left is not known. That has a share of the same 1 in 1,000.
- *consistent (up to what this audit can see)*: no bound is above, and there was power: half of the
  control's claim or more was seen, and weaker noise in all answers that were asked here would have
  been noticed. That is no proof; ``not_exercised`` lists what was not asked or not looked at.
- *inconclusive: no power*: no bound is above, and nobody should have expected one.
- *inconclusive*: a bound at 95 % is above the claim, or the control was refuted.

Generators that keep a transcript are also tested by canaries (``evaluation.audit.canaries``),
hundreds of
units that are guessed from each fit; others by pairs only, of which one fit gives one look.
"""

from __future__ import annotations

import hashlib
import platform
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from copula_shirley.errors import ArtefactError, SettingError
from copula_shirley.evaluation.audit.answers import examine_noise
from copula_shirley.evaluation.audit.bounds import CONFIDENCE
from copula_shirley.evaluation.audit.claims import Claim, claim_of
from copula_shirley.evaluation.audit.control import controls
from copula_shirley.evaluation.audit.evidence import BOXES, Evidence, stage_of
from copula_shirley.evaluation.audit.findings import (
    FALSE_ALARM,
    FALSE_LEDGER,
    REFUTED,
    UNKNOWN_POWER,
    Finding,
    Power,
    examine,
    examine_guesses,
    judge,
)
from copula_shirley.evaluation.audit.fits import (
    RIGHT,
    SAMPLE_ROWS,
    Factory,
    Fit,
    fit_once,
    guess_once,
    noise_once,
    run_all,
)
from copula_shirley.evaluation.audit.neighbours import (
    DEFAULT_PAIRS,
    Canaries,
    Pair,
    Questions,
    built_in,
)
from copula_shirley.evaluation.result import jsonable

#: Fewer runs a side show nothing.
LEAST_RUNS = 40
#: Runs a side if nobody says how many.
DEFAULT_RUNS = 400
#: Where a generator states no relation, that of the thesis.
DEFAULT_RELATION = "replace-one"
NO_TRANSCRIPT = "the generator keeps no transcript of noisy answers"
HERE = Path(__file__).resolve().parent


@dataclass
class Audit:
    """The result of an audit; ``to_dict`` is what ``--json`` writes."""

    generator: str
    claim: Claim
    runs: int
    findings: list[Finding]
    control: list[Finding]
    power: Power
    verdict: str
    reason: str
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0
    about: dict[str, Any] = field(default_factory=dict)
    #: Of controls with less noise.
    weaker: list[dict[str, Any]] = field(default_factory=list)
    #: Stages for which a ledger was charged in any fit.
    asked: list[str] = field(default_factory=list)
    #: What the generator may ask and was not asked, or was not looked at, in words.
    not_exercised: list[str] = field(default_factory=list)
    #: What is wrong in the ledgers.
    faults: list[str] = field(default_factory=list)

    @property
    def lower_bound(self) -> float:
        """The largest lower bound on epsilon at the claim's delta, at 95 %."""
        return max(f.bound for f in self._main(self.findings))

    @property
    def ceiling(self) -> float:
        """What ``lower_bound`` would be if the tables could always be told apart."""
        return max(f.ceiling for f in self._main(self.findings))

    @property
    def refuted(self) -> bool:
        """Whether the verdict is that the claim, or the ledger that proves it, is refuted."""
        return self.verdict in (REFUTED, FALSE_LEDGER)

    def bound(self, box: str) -> float | None:
        """The largest lower bound on epsilon of one box."""
        own = [f.bound for f in self._main(self.findings) if f.box == box]
        return max(own) if own else None

    @property
    def lower_bound_mu(self) -> float | None:
        """The largest lower bound on mu, where the claim is in rho."""
        if self.claim.rho is None:
            return None
        return max(f.bound for f in self.findings if f.quantity == "mu")

    def _main(self, findings: Sequence[Finding]) -> list[Finding]:
        return [f for f in findings if (f.quantity, f.delta) == ("epsilon", self.claim.delta)]

    def to_dict(self) -> dict[str, Any]:
        """All figures as plain values."""
        return jsonable(  # type: ignore[no-any-return]
            {
                "generator": self.generator,
                "claim": asdict(self.claim),
                "lower_bound": self.lower_bound,
                "lower_bound_white": self.bound("white"),
                "lower_bound_black": self.bound("black"),
                "lower_bound_mu": self.lower_bound_mu,
                "ceiling": self.ceiling,
                "confidence": CONFIDENCE,
                "runs": self.runs,
                "verdict": self.verdict,
                "reason": self.reason,
                "false_alarm_rate": FALSE_ALARM,
                "findings": [asdict(f) for f in self.findings],
                "control": [asdict(f) for f in self.control],
                "power": {**asdict(self.power), "enough": self.power.enough},
                "weaker_controls": self.weaker,
                "asked": self.asked,
                "not_exercised": self.not_exercised,
                "ledger_faults": self.faults,
                "notes": self.notes,
                "seconds": self.seconds,
                "versions": versions(),
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
        Which names of the evidence may be looked at, to audit one part of a release.
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
    probed = _probe(factory, wanted[0], None if secure else seed, boxes, rows)
    claim = claim_of(probed.stated, claim)
    pairs = _pairs(wanted, claim)
    notes = []
    if "white" in boxes and "white" not in probed.boxes:
        if tuple(boxes) == ("white",):
            raise SettingError("box ('white') must be black: the generator says not what it saves")
        boxes = tuple(box for box in boxes if box != "white")
        notes.append("no white box: the generator does not say what it would save")
    keeps = bool(probed.stated and probed.stated["transcript"])
    pairs, more = _with_transcript(
        factory, pairs, None if secure else seed, boxes, keep, keeps=keeps
    )
    notes += more
    place = (
        None
        if folder is None
        else _place(Path(folder), identity or name, seed, secure, boxes, rows)
    )
    _check_pairs(factory, pairs, None if secure else seed, boxes)
    fits = run_all(
        factory,
        pairs,
        runs,
        boxes,
        seed=seed,
        secure=secure,
        jobs=jobs,
        rows=rows,
        folder=place,
        progress=progress,
    )
    notes += _raised(pairs, fits)
    gaussian = [_all_gaussian([*fits[i, 0], *fits[i, 1]]) for i in range(len(pairs))]
    canaries = sum(isinstance(tested, Canaries) for tested in pairs)
    events = sum(not isinstance(tested, Canaries | Questions) for tested in pairs)
    looks = events * len(boxes) + canaries
    guesses, findings = None, []
    for i, tested in enumerate(pairs):
        if isinstance(tested, Questions):
            continue
        own = replace(claim, gaussian=claim.gaussian and gaussian[i])
        if isinstance(tested, Canaries):
            guesses = tested.count
            right = [fit.boxes["white"].numbers[RIGHT] for fit in [*fits[i, 0], *fits[i, 1]]]
            findings += examine_guesses(right, guesses, own, tested.name, looks)
            continue
        for box in boxes:
            first, second = ([_kept(f.boxes[box], keep) for f in fits[i, s]] for s in (0, 1))
            findings += examine(first, second, own, tested.name, box, looks)
    claim = replace(claim, gaussian=claim.gaussian and all(gaussian))
    control, power, weaker = controls(claim, runs, seed, looks, guesses, events=bool(events))
    everything = [fit for several in fits.values() for fit in several]
    asked, not_exercised, faults = _exercised(everything, boxes)
    verdict, reason = judge(findings, control, power, faults)
    return Audit(
        generator=name or getattr(factory, "__name__", type(factory).__name__),
        claim=claim,
        runs=runs,
        findings=findings,
        control=list(control),
        power=power,
        verdict=verdict,
        reason=reason,
        notes=notes,
        seconds=time.perf_counter() - started,
        about={"pairs": [p.name for p in pairs], "boxes": list(boxes), "seed": seed},
        weaker=list(weaker),
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


def probe(factory: Factory, pair: Pair | str, seed: int | None) -> dict[str, Any] | None:
    """What the ledger of one fit states (``audit.evidence.stated``), None without one."""
    return _probe(factory, pair, seed, BOXES, 1).stated


def _probe(
    factory: Factory, pair: Pair | str, seed: int | None, boxes: Sequence[str], rows: int
) -> Fit:
    """One fit, for what the generator claims and shows; it is not counted."""
    pair = built_in(pair, DEFAULT_RELATION) if isinstance(pair, str) else pair
    table, records = pair.second, pair.differing()
    found = fit_once(factory, table, pair.schema, records, seed, boxes, rows)
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


def _with_transcript(
    factory: Factory,
    pairs: Sequence[Pair],
    seed: int | None,
    boxes: Sequence[str],
    keep: Callable[[str], bool] | None,
    *,
    keeps: bool = True,
) -> tuple[list[Pair], list[str]]:
    """The pairs without those that cannot be looked at, and what to say of those."""
    left, notes = [], []
    for pair in pairs:
        why = ""
        if isinstance(pair, Canaries | Questions):
            if "white" not in boxes or keep is not None:
                why = "they are guessed from the whole white box"
            elif isinstance(pair, Canaries):
                why = _why_not(guess_once(factory, pair, seed))
            elif not keeps:
                why = NO_TRANSCRIPT
            else:
                why = _why_not(noise_once(factory, pair.second, pair.schema, seed))
        if isinstance(pair, Questions) and len(pairs) == 1:
            why = why or "no table is told from another by it"
        if why and len(pairs) == 1:
            raise SettingError(f"pair ({pair.name!r}) must be another: {why}")
        if why:
            notes.append(f"no {pair.name}: {why}")
        else:
            left.append(pair)
    return left, notes


def _why_not(tried: Fit) -> str:
    """Why a pair that needs a transcript cannot be looked at."""
    if tried.error is not None:
        return f"the generator fails on them: {tried.error}"
    return "" if tried.boxes or tried.noise else NO_TRANSCRIPT


def _exercised(fits: Sequence[Fit], boxes: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
    """Stages that were asked; what was not exercised, in words; what is wrong in the ledgers."""
    stated = [fit.stated for fit in fits if fit.stated]
    asked = {stage for ledger in stated for stage in ledger["asked"]}
    may_ask = next((ledger["may_ask"] for ledger in stated if ledger["may_ask"]), None)
    noises = [fit.noise for fit in fits if fit.noise]
    faults, seen = examine_noise(noises)
    seen = {stage_of(stage) for stage in seen}
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
    return all(fit.stated["gaussian"] for fit in fits if fit.stated)


def _check_pairs(
    factory: Factory, pairs: Sequence[Pair], seed: int | None, boxes: Sequence[str]
) -> None:
    """Refuse a pair on which the generator fails on either side, before all the runs are made."""
    for pair in pairs:
        if isinstance(pair, Questions):
            continue
        tried = [
            fit_once(factory, table, pair.schema, pair.differing(), seed, boxes, 1)
            for table in pair.tables
        ]
        if tried[0].error is not None and tried[0].error == tried[1].error:
            raise SettingError(f"the generator fails on pair {pair.name!r}: {tried[0].error}")
        units = {fit.stated["unit"] for fit in tried if fit.stated}
        if pair.unit == "person" and "row" in units:
            raise SettingError(
                f"pair ({pair.name!r}) differs by a person, and the generator protects single rows"
            )


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


def _kept(evidence: Evidence, keep: Callable[[str], bool] | None) -> Evidence:
    if keep is None:
        return evidence
    return Evidence(
        {name: value for name, value in evidence.numbers.items() if keep(name)},
        {name: value for name, value in evidence.words.items() if keep(name)},
    )


def _place(
    folder: Path, identity: str, seed: int, secure: bool, boxes: Sequence[str], rows: int
) -> Path:
    """The folder of this very audit inside the one that was named."""
    words = [identity, str(seed), str(secure), ",".join(sorted(boxes)), str(rows), code_digest()]
    place = folder / hashlib.sha256("\n".join(words).encode()).hexdigest()[:16]
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ArtefactError(f"folder ({str(folder)!r}): {error.strerror}") from None
    return place


@cache
def code_digest() -> str:
    """A hash of the code that runs depend on: generators of this project, and evidence."""
    digest = hashlib.sha256()
    for package in ("copula_shirley", "baselines", "evaluation"):
        for file in sorted((HERE.parent.parent / package).rglob("*.py")):
            digest.update(
                file.relative_to(HERE.parent.parent).as_posix().encode() + file.read_bytes()
            )
    return digest.hexdigest()


def versions() -> dict[str, str]:
    """What the figures were made with."""
    packages = ("copula-shirley", "numpy", "scipy", "scikit-learn", "pandas", "opendp")
    return {"python": platform.python_version(), **{name: version(name) for name in packages}}
