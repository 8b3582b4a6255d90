"""The table of evidence counts what tests recorded, missed faults too."""

from __future__ import annotations

from pathlib import Path

from copula_shirley.experiments.evidence import TALLIES, added_up, markdown

REPORT = """<testsuites><testsuite>
<testcase name="a"><properties><property name="faults_planted" value="2"/>
<property name="faults_caught" value="2"/></properties></testcase>
<testcase name="b"><properties><property name="faults_planted" value="1"/>
<property name="faults_caught" value="0"/><property name="other" value="7"/></properties>
<failure message="missed"/></testcase>
</testsuite></testsuites>"""


def test_a_missed_fault_counts_as_planted(tmp_path: Path) -> None:
    file = tmp_path / "report.xml"
    file.write_text(REPORT)
    sums = added_up(file)
    assert (sums["faults_planted"], sums["faults_caught"], sums["tests"]) == (3, 2, 2)
    assert "other" not in sums
    assert f"| {TALLIES['faults_planted']} | 3 |" in markdown([], sums)


def test_one_line_for_each_audit() -> None:
    claim = {"epsilon": 1.0, "delta": 1e-9, "proved": None}
    found = {
        "label": "Mine",
        "claim": claim,
        "lower_bound_white": 2.5,
        "lower_bound_black": None,
        "lower_bound_mu": 0.125,
        "power": {"quantity": "mu", "seen": 0.15, "claimed": 0.173, "noticed": [2, 4, 8]},
        "ceiling": 3.25,
        "runs": 100,
        "pairs": ["outlier", "person"],
        "verdict": "claim refuted",
    }
    line = markdown([found], {}).splitlines()[2]
    assert line == (
        "| Mine | epsilon 1, delta 1e-09 | nothing | 2.50, mu 0.12 | - | mu 0.15 of 0.17 | 3.25 | "
        "400 | claim refuted |"
    )
