"""Add up what the fault tests tried, from a JUnit XML file: ``python tests/tallies.py FILE``."""

from __future__ import annotations

import sys
from collections import Counter
from xml.etree import ElementTree

NAMES = (
    "bad_inputs_tried",
    "faults_injected",
    "faults_survived",
    "faults_planted",
    "faults_caught",
    "correct_runs",
    "false_alarms",
)


class Tally(Counter[str]):
    """What a test tried: its counts go into the JUnit XML as properties.

    Those of ``NAMES`` are kept; ``python tests/tallies.py FILE`` and ``experiments.evidence`` add
    them up over all tests.
    """

    def bad_input(self) -> None:
        self["bad_inputs_tried"] += 1

    def fault(self) -> None:
        self["faults_injected"] += 1

    def survived(self) -> None:
        self["faults_survived"] += 1

    def planted(self, caught: bool) -> None:
        """A generator with a fault, and whether an instrument caught it."""
        self["faults_planted"] += 1
        self["faults_caught"] += caught

    def correct(self, alarmed: bool) -> None:
        """A generator without a fault, and whether an instrument complained."""
        self["correct_runs"] += 1
        self["false_alarms"] += alarmed


def totals(file: str) -> Counter[str]:
    """Each property of ``NAMES`` summed over the tests that passed, and those tests."""
    found: Counter[str] = Counter(dict.fromkeys((*NAMES, "tests"), 0))
    for case in ElementTree.parse(file).iter("testcase"):
        if any(case.find(tag) is not None for tag in ("failure", "error", "skipped")):
            continue
        counts = {
            entry.get("name"): int(entry.get("value", 0))
            for entry in case.iter("property")
            if entry.get("name") in NAMES
        }
        found.update({**counts, "tests": bool(counts)})
    return found


if __name__ == "__main__":
    for name, number in totals(sys.argv[1]).items():
        sys.stdout.write(f"{name} {number}\n")
