"""What a check found, and what all of them found."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Literal, get_args

Status = Literal["passed", "failed", "expected failure", "not applicable"]


class Broken(AssertionError):  # noqa: N818  (it is a finding, not an accident)
    """A rule of the contract is broken; the message says how."""


class NotApplicable(Exception):  # noqa: N818
    """A rule says nothing about this generator; the message says why."""


class ContractError(AssertionError):
    """A generator breaks rules of the contract; the message lists all of them."""


@dataclass(frozen=True)
class Outcome:
    """What one check found."""

    name: str
    meaning: str
    status: Status
    reason: str = ""
    #: Whether the check is about privacy.
    private: bool = False

    def __str__(self) -> str:
        text = f"{self.status:<17}{self.name}: {self.meaning}"
        return f"{text}\n{'':<17}{self.reason}" if self.reason else text


@dataclass(frozen=True)
class Report:
    """What every check found about one generator."""

    generator: str
    outcomes: tuple[Outcome, ...]

    def __getitem__(self, name: str) -> Outcome:
        return next(outcome for outcome in self.outcomes if outcome.name == name)

    @property
    def failures(self) -> tuple[Outcome, ...]:
        return tuple(outcome for outcome in self.outcomes if outcome.status == "failed")

    @property
    def privacy_checked(self) -> bool:
        return any(o.private and o.status != "not applicable" for o in self.outcomes)

    def __str__(self) -> str:
        counts = Counter(outcome.status for outcome in self.outcomes)
        told = ", ".join(f"{counts[s]} {s}" for s in get_args(Status) if counts[s])
        lines = [f"CONTRACT of {self.generator}: {told}"]
        if not self.privacy_checked:
            lines.append("nothing about privacy was checked: see the reasons below")
        return "\n".join([*lines, "", *map(str, self.outcomes)])

    def raise_failures(self) -> None:
        if self.failures:
            listed = "\n".join(f"- {o.name} ({o.meaning}): {o.reason}" for o in self.failures)
            raise ContractError(f"{self.generator} breaks {len(self.failures)} rules:\n{listed}")
