"""The evidence behind the privacy claims, in one table made by one command.

Run it with ``python -m copula_shirley.experiments.evidence [--runs 400] [--only private-vine]
[--no-tests]`` in a
checkout of the project; ``--report FILE`` only adds up a JUnit file that pytest wrote. It audits
every generator on the built-in neighbouring tables, runs the tests that plant faults, injure runs
and feed bad input, adds up what they tried, and writes ``evidence.json`` and ``evidence.md``.
Audits are kept in a folder, so that a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from copula_shirley.cli.terminal import messages, progress_told
from copula_shirley.errors import SettingError
from copula_shirley.evaluation.audit.audit import audit
from copula_shirley.evaluation.audit.cli import maker
from copula_shirley.evaluation.audit.estimates import REFUTED
from copula_shirley.experiments.run.provenance import provenance
from copula_shirley.files.model_file import atomic_path
from copula_shirley.privacy.ledger import Budget

TESTS = Path(__file__).resolve().parent.parent / "tests"
#: What tests record with ``record_property``, and how it is called in the table.
TALLIES = {
    "faults_planted": "faults planted in generators",
    "faults_caught": "of these caught",
    "correct_runs": "correct generators tried",
    "false_alarms": "false alarms among these",
    "faults_injected": "runs killed, disks filled, writes refused",
    "faults_survived": "of these left old or new files whole",
    "bad_inputs_tried": "bad inputs tried, each one line of error or a right value",
}


@dataclass(frozen=True)
class Case:
    """A generator as it is audited."""

    label: str
    use: str
    epsilon: float = 1.0
    settings: dict[str, Any] = field(default_factory=dict)
    #: Times as many runs as the others have: its fault is a small one, or it keeps no transcript
    #: and with fewer runs the audit has no power.
    more: int = 1


#: Without a transcript the audit needs a larger epsilon and more runs to see a true claim.
CASES = (
    Case("PrivateVine", "private-vine"),
    Case("PrivateVine", "private-vine", 3.0),
    Case("PrivateVine", "private-vine", 3.0, {"delta": 0.0}),
    Case("DP-Histogram", "dp-histogram", 3.0, more=2),
    Case("DP-Copula", "dp-copula", 3.0, more=2),
    Case("PrivBayes", "privbayes", 3.0, more=2),
    Case("COPULA-SHIRLEY as published", "copula-shirley"),
    Case("COPULA-SHIRLEY, honest margins", "copula-shirley", 1.0, {"accounting": "honest"}),
    Case("DP-Histogram as in the thesis", "dp-histogram", 1.0, {"accounting": "thesis"}, 4),
)


def audits(cases: Sequence[Case], runs: int, folder: Path, jobs: int) -> list[dict[str, Any]]:
    """What an audit of each case found."""
    found = []
    for case in cases:
        make = maker(case.use, case.settings, {"epsilon": case.epsilon, "threads": 1})
        with progress_told(False) as told:
            result = audit(
                make,
                runs=runs * case.more,
                jobs=jobs,
                folder=folder,
                name=case.label,
                identity=make.identity,
                progress=told,
            )
        found.append({"label": case.label, **result.to_dict()})
        messages.print(f"{case.label}: {result.verdict}", highlight=False)
    return found


def tallies(arguments: Sequence[str]) -> tuple[Counter[str], bool]:
    """Run tests; the sums of what they record, and whether all passed."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        command = [sys.executable, "-m", "pytest", "-q", *arguments, f"--junitxml={report}"]
        ended = subprocess.run(command, cwd=TESTS.parent, check=False)
        if not report.is_file():
            raise SettingError(f"the tests ({' '.join(arguments)}) did not run")
        return added_up(report), ended.returncode == 0


def added_up(report: Path) -> Counter[str]:
    """Sums of what the tests of a JUnit file recorded, those that failed included."""
    sums: Counter[str] = Counter(dict.fromkeys(TALLIES, 0))
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        sums["tests"] += 1
        for entry in case.iter("property"):
            if entry.get("name") in TALLIES:
                sums[str(entry.get("name"))] += int(float(entry.get("value", "0")))
    return sums


def markdown(found: Sequence[Mapping[str, Any]], sums: Mapping[str, int]) -> str:
    """Both tables, for people."""
    lines: list[str] = []
    if found:
        lines += _audit_lines(found)
    if sums:
        lines += ["", "| what was tried | how often |", "|---|---|"]
        lines += [f"| {words} | {sums[name]:,} |" for name, words in TALLIES.items()]
    return "\n".join(lines).strip() + "\n"


def _audit_lines(found: Sequence[Mapping[str, Any]]) -> list[str]:
    head = ["generator", "claim", "proved", "white box", "black box", "control: seen", "ceiling"]
    head += ["fits", "verdict"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for one in found:
        cells = [
            one["label"],
            _said(one),
            one["claim"]["proved"] or "nothing",
            _number(one["lower_bound_white"]) + _mu(one),
            _number(one["lower_bound_black"]),
            "{quantity} {seen:.2f} of {claimed:.2f}".format(**one["power"]),
            _number(one["ceiling"]),
            str(one["runs"] * 2 * len(one["pairs"])),
            one["verdict"],
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def _said(one: Mapping[str, Any]) -> str:
    return str(Budget(one["claim"]["epsilon"], one["claim"]["delta"]))


def _mu(one: Mapping[str, Any]) -> str:
    """What the white box shows where the claim is in rho."""
    return "" if one["lower_bound_mu"] is None else f", mu {one['lower_bound_mu']:.2f}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"


def main() -> int:
    """Make the evidence; 1 if a test failed or a proved claim was refuted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=400, help="fits on each table of each pair")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", action="append", help="audit these generators only")
    parser.add_argument("--no-tests", action="store_true", help="audits only")
    parser.add_argument("--folder", type=Path, default=Path("shirley-results/evidence"))
    parser.add_argument("--report", type=Path, help="a JUnit file of tests that have run")
    options = parser.parse_args()
    if options.report is not None:
        print(markdown([], added_up(options.report)))
        return 0
    cases = [case for case in CASES if not options.only or case.use in options.only]
    options.folder.mkdir(parents=True, exist_ok=True)
    found = audits(cases, options.runs, options.folder / "runs", options.jobs)
    sums, passed = Counter[str](), True
    if not options.no_tests:
        if not TESTS.is_dir():
            raise SettingError("the tests are in a checkout of the project; use --no-tests")
        sums, passed = tallies(["-m", "evidence", "-n", str(options.jobs)])
    about = {"audits": found, "tallies": sums, "passed": passed, "provenance": provenance()}
    for name, text in (
        ("evidence.json", json.dumps(about, indent=1)),
        ("evidence.md", markdown(found, sums)),
    ):
        with atomic_path(options.folder / name) as partial:
            partial.write_text(text, encoding="utf-8")
    print(markdown(found, sums))
    messages.print(f"Written to {options.folder}", soft_wrap=True)
    false = [a for a in found if a["verdict"] == REFUTED and a["claim"]["proved"] == _said(a)]
    return int(bool(false) or not passed)


if __name__ == "__main__":
    raise SystemExit(main())
