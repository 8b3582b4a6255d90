"""What tests that plant faults, injure runs and feed bad input tried, counted."""

from __future__ import annotations

from collections import Counter


class Tally(Counter[str]):
    """What a test tried: its counts go into the JUnit XML as properties.

    ``python -m copula_shirley.experiments.evidence`` runs the tests that are marked ``evidence``
    and adds them up.
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
