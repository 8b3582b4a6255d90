"""The claims of chapter V, read from ``claims.yaml``, and the verdict on each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import msgspec

from copula_shirley.experiments.paper.comparators import Claim, findings_of
from copula_shirley.experiments.paper.findings import Status, judged, sentence
from copula_shirley.experiments.paper.printed import LARGEST, STAND_IN, TITLES
from copula_shirley.experiments.paper.scores import Scores


@dataclass(frozen=True)
class Verdict:
    """What became of a claim."""

    claim: Claim
    status: Status
    sentence: str


@cache
def claims() -> tuple[Claim, ...]:
    """Every claim, in the order of the thesis."""
    file = Path(__file__).with_name("claims.yaml")
    return msgspec.yaml.decode(file.read_bytes(), type=tuple[Claim, ...])


def verdicts(scores: Scores) -> list[Verdict]:
    """The verdict on every claim."""
    return [decide(claim, scores) for claim in claims()]


def decide(claim: Claim, scores: Scores) -> Verdict:
    """The verdict on a claim, from the figures alone."""
    datasets = scores.datasets(claim.experiment)
    if claim.dataset is not None:
        return _on_one(claim, claim.dataset, scores, datasets)
    findings = findings_of(claim, scores, datasets)
    if not findings:
        return Verdict(claim, "cannot be tested here", _lack(claim, scores, datasets))
    status = judged(findings, claim.needs)
    where = f" Data sets: {', '.join(datasets)}." if datasets else ""
    return Verdict(claim, status, sentence(findings, status) + where)


def _on_one(claim: Claim, name: str, scores: Scores, datasets: Sequence[str]) -> Verdict:
    """A claim about one data set; for Texas, the stand-in is told but decides nothing."""
    if found := findings_of(claim, scores, [name] if name in datasets else []):
        status = judged(found, claim.needs)
        return Verdict(claim, status, sentence(found, status))
    words = f"{TITLES[name]} is not among the results."
    if name == LARGEST:
        words = "Texas may not be passed on and is not here."
        if other := findings_of(claim, scores, [STAND_IN] if STAND_IN in datasets else []):
            status = judged(other, claim.needs)
            words += f" On the stand-in {STAND_IN} it would be: {status}. {sentence(other, status)}"
    return Verdict(claim, "cannot be tested here", words)


def _lack(claim: Claim, scores: Scores, datasets: Sequence[str]) -> str:
    """Why there is nothing to compare."""
    if not (scores.frame["experiment"] == claim.experiment).any():
        return f"The experiment {claim.experiment} was not run."
    if not datasets:
        return f"No run of the experiment {claim.experiment} came to an end with figures."
    return f"The results of {claim.experiment} lack what is to be compared."
