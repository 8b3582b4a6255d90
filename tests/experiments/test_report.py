"""The report: intervals and ranks by hand, nothing hidden, everything escaped, small."""

from __future__ import annotations

import base64
import io
import json
import math
import re
import zlib
from collections import Counter
from functools import cache
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from report_rows import METRICS, benchmark, ended, row
from rich.console import Console

from copula_shirley.experiments.cli.display import print_leaderboard
from copula_shirley.experiments.report import charts, render, write_report
from copula_shirley.experiments.report.lines import Line, leaderboard, lines_of, rank_lines
from copula_shirley.experiments.report.sections import grouped_spends
from copula_shirley.experiments.report.words import Promise, measures_of
from copula_shirley.files.model_file import ArtefactError

VOID = {"meta", "link", "br", "wbr", "input", "hr"}


class Page(HTMLParser):
    """Tags, text and attributes of a page; elements must be closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.ids: Counter[str] = Counter()
        self.text: list[str] = []
        self.scripts: list[str] = []
        self.rows: list[dict[str, Any]] = []
        self.links: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.tags[tag] += 1
        if tag not in VOID:
            self._open.append(tag)
        self.ids.update([str(values["id"])] if "id" in values else [])
        if "data-values" in values:
            self.rows.append({**values, **json.loads(str(values["data-values"]))})
        self.links += [str(values[key]) for key in ("href", "src") if key in values]

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        inside = self._open[-1] if self._open else ""
        if inside == "script":
            self.scripts.append(data)
        elif inside != "style":
            self.text.append(data)

    @property
    def pieces(self) -> dict[tuple[str, ...], str]:
        """The charts' pieces by chart and choices."""
        lines = zlib.decompress(base64.b64decode(self.scripts[0])).decode("ascii").splitlines()
        return {(chart, *choice): html for chart, choice, html in map(json.loads, lines[1:])}

    @property
    def words(self) -> str:
        return " ".join(" ".join(self.text).split())


@cache
def whole() -> tuple[str, Page]:
    """The report of the made-up benchmark, as text and taken apart."""
    text = render(benchmark(), "all")
    return text, Page(text)


def ranked(rows: list[dict[str, Any]]) -> dict[str, Line]:
    lines = lines_of(rows)
    rank_lines(lines, measures_of(rows))
    return {line.name + line.at: line for line in lines if not line.reference}


def test_seeds_of_a_fold_are_averaged_first() -> None:
    values = {(0, 0): 0.1, (0, 1): 0.3, (1, 0): 0.4, (2, 0): 0.6}
    rows = [row(fold=f, seed=s, figures={"ks": v}) for (f, s), v in values.items()]
    score = lines_of(rows)[0].figures["ks"]
    assert score.mean == pytest.approx(0.4)
    # Student's t with 2 degrees of freedom has its 97.5 % point at 4.302653
    assert score.half == pytest.approx(4.302653 * 0.2 / math.sqrt(3), rel=1e-6)
    assert "3 folds, 4 runs: 0.1, 0.4, 0.6, 0.3" in score.told()


def test_seeds_of_one_fold_have_no_interval() -> None:
    rows = [row(seed=seed, figures={"ks": 0.1 * (seed + 1)}) for seed in range(3)]
    score = lines_of(rows)[0].figures["ks"]
    assert score.half is None
    assert score.told() == "0.2; one fold, no interval; 3 runs: 0.1, 0.2, 0.3"
    page = Page(render(rows, "seeds"))
    assert "one fold" in page.words and "±" not in page.words
    assert "KS: 0.2; one fold, no interval" in page.pieces["use-chart", "made", "KS ↓"]


def test_ranks_by_hand() -> None:
    rows = [
        row("A", figures={"ks": 0.1, "mcc_binary": 0.9, "membership_hamming_all": 0.40}),
        row("B", figures={"ks": 0.2, "mcc_binary": 0.1, "membership_hamming_all": 0.49}),
        row("C", figures={"ks": 0.2, "mcc_binary": 0.5, "membership_hamming_all": 0.60}),
        row("A", epsilon=8.0),
        row("A", dataset="other", epsilon=9.0),
        row("real", epsilon=None, figures={"ks": 0.0}),
    ]
    places = ranked(rows)
    alone = [places.pop(f"A, epsilon {epsilon}") for epsilon in (8, 9)]
    # ranks do not cross epsilons or data sets: who is alone there has none
    assert [(x.rank(attacks=False), x.rank(attacks=True)) for x in alone] == [(None, None)] * 2
    found = {name[0]: place for name, place in places.items()}
    assert set(found) == {"A", "B", "C"}  # the reference is not ranked
    chosen = ("ks", "mcc_binary", "membership_hamming_all", "tvd1")
    ranks = {name: [place.ranks[m] for m in chosen] for name, place in found.items()}
    # ties share their ranks; below a coin no attack is better than another
    assert ranks == {"A": [1, 1, 1.5, 2], "B": [2.5, 3, 1.5, 2], "C": [2.5, 2, 3, 2]}
    assert "k_anonymity" not in found["A"].ranks
    # ks, mcc_binary, and tvd1 and tvd2 in which all are equal; the attack has a rank of its own
    assert found["A"].rank(attacks=False) == pytest.approx((1 + 1 + 2 + 2) / 4)
    assert found["A"].rank(attacks=True) == 1.5
    assert found["A"].best == {"ks", "mcc_binary", "membership_hamming_all"}
    assert found["B"].best == {"membership_hamming_all"}  # tvd1 is equal for all: no best


def test_who_proves_nothing_never_stands_above_who_does(capsys: pytest.CaptureFixture[str]) -> None:
    best = {"ks": 0.01, "tvd1": 0.01, "mcc_binary": 0.99}
    rows = [
        row("Cheat", proved="nothing", figures=best),
        row("Stranger", proved="not known", figures=best),
        row("Honest", figures={"ks": 0.2}),
        row("Better", figures={"ks": 0.1, "membership_hamming_all": 0.6}),
        row("Dearer", proved="epsilon 6"),
        {**row("Broken"), "status": "failed", "reason": "no"},
        row("uniform", claimed="epsilon 0", proved="epsilon 0"),
    ]
    rows[5].pop("privacy")
    lines = lines_of(rows)
    board = leaderboard(lines, measures_of(rows))
    assert {standing: [line.name for line in some] for standing, some in board.items()} == {
        "proved": ["Better", "Honest"],
        "unproved": ["Cheat", "Stranger", "Dearer"],
        "failed": ["Broken"],
        "reference": ["uniform"],
    }
    better, honest = board["proved"]
    assert better.ranks["ks"] == 1 and honest.ranks["ks"] == 2  # as if the others were not there
    assert better.rank(attacks=True) == 2 and honest.rank(attacks=True) == 1
    assert "ks" in better.best and "ks" in board["unproved"][0].best
    print_leaderboard(rows, Console(width=200))
    text = capsys.readouterr().out
    at = [text.index(name) for name in ("Better", "Honest", "Cheat", "Stranger", "Broken")]
    assert at == sorted(at)
    assert "✓ epsilon 1" in text and "✗ nothing" in text
    told = " ".join(text.split())
    assert "ranked among themselves: Cheat, Stranger, Dearer." in told
    only_proved = [one for one in rows if one["run"]["generator"] in ("Better", "Honest")]
    print_leaderboard(only_proved, Console(width=200))
    assert "Not proved" not in capsys.readouterr().out


def test_runs_that_differ_are_never_averaged() -> None:
    found = [line.dataset for line in lines_of([row(), row(rows=500), row(unit="row")])]
    told = ["all rows, unit person", "500 rows, unit person", "all rows, unit row"]
    assert found == [f"made ({each})" for each in told]
    settings = lines_of([row(settings={"degree": 2}), row(settings={"degree": 3})])
    assert len({line.name for line in settings}) == 2


def test_the_leaderboard_has_every_line_in_order() -> None:
    rows = whole()[1].rows
    by_name = {(r["data-dataset"], r["data-epsilon"], r["generator"]): r for r in rows}
    proved = [
        (dataset, epsilon, "Vine") for dataset in ("made", "other") for epsilon in ("0.1", "1")
    ]
    unproved = [(dataset, epsilon, "Shirley") for dataset, epsilon, _ in proved]
    assert list(by_name)[:8] == [*proved, *unproved]
    assert {("made", "1", "Slow"), ("made", "1", "Vine, encoder onehot")} <= by_name.keys()
    references = [r for r in rows if "data-reference" in r]
    assert rows[-4:] == references  # last, in a part of their own
    assert all(r["use_rank"] is None for r in references)
    vine, shirley = (by_name["made", "1", name] for name in ("Vine", "Shirley"))
    assert vine["ks"] == pytest.approx(0.11) and vine["use_rank"] is shirley["use_rank"] is None
    assert [(r["claimed"], r["proved"]) for r in (vine, shirley)] == [
        ("epsilon 1", "epsilon 1"),
        ("epsilon 1", "nothing"),
    ]


def test_privacy_and_failures_are_told() -> None:
    words = whole()[1].words
    for told in (
        "✗ Claims epsilon and proves nothing, on every data set",
        "✓ Claims epsilon and proves it, on every data set",
        "they are raw",
        "No figures: failed in 3 of 3 runs. ValueError: bad",
        "No figures: timeout in 1 of 1 runs. Stopped after 60 minutes",
        "No figures: skipped in 1 of 1 runs. Too many columns",
        "Traceback of ValueError: bad",
        "failed in 12 runs",  # one reason, one entry
        "Slow ran out of time in 1 run: stopped after 60 minutes",
        "Vine, encoder onehot was skipped in 1 run: too many columns",
        "36 done , 12 failed , 1 skipped , 1 timeout",
    ):
        assert told in words
    assert "1 of 2" in Page(render([row(), ended("failed", "boom", fold=1)], "part")).words
    assert "No finished run, no ledger" in Page(render([ended("failed", "boom")], "none")).words


def test_complaints_notes_and_provenance() -> None:
    told = row()
    told["complaints"] = ["age: 3 of 10 values are missing"]
    told["figures"]["ks"]["detail"]["note"] = "a special note"
    told["provenance"]["dirty"] = True
    text = render([told, row(fold=1)], "odd")
    words = Page(text).words
    assert "age: 3 of 10 values are missing" in words and "a special note" in text
    assert "The working tree differed from the commit" in words
    assert "An Honest Processor, 2 cores" in words and "numpy 2.4.6" in words
    assert "made in 2 different settings" in words


EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&{{ 7*7 }}\u2028"


def test_everything_is_escaped(tmp_path: Path) -> None:
    evil = row(EVIL, variant=EVIL, dataset=EVIL, claimed=EVIL, proved=EVIL)
    evil["complaints"] = [EVIL]
    evil["margins"] = {EVIL: {"labels": [EVIL], "real": [1.0], "synthetic": [1.0]}}
    evil["figures"]["ks"]["detail"] = {"columns": {EVIL: 0.1}, "note": EVIL}
    evil["privacy"]["summary"] = [["claimed", EVIL]]
    evil["privacy"]["spends"] = [["a", "b", "c", "d", "e", "f"], [EVIL] * 6]
    evil["privacy"]["unprotected"] = [[EVIL] * 4]
    evil["provenance"]["versions"] = {EVIL: EVIL}
    bad = {**ended("failed", EVIL, EVIL + "2"), "traceback": EVIL}
    write_report([evil, bad, row("half \ud800")], tmp_path / "report.html", EVIL)
    page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert "half ?" in page.words  # no file can hold half a character
    assert page.tags["script"] == 2 and page.tags["img"] == 0
    assert "alert(1)" in page.words  # shown, not run
    assert "{{ 7*7 }}" in page.words and "49" not in page.text
    tags = sum((Page(html).tags for html in page.pieces.values()), Counter())
    assert tags["script"] == tags["img"] == 0
    assert any("alert(1)" in html for html in page.pieces.values())


def test_the_page_is_well_made_and_nothing_comes_from_the_network() -> None:
    text, page = whole()
    assert page.tags["h1"] == 1 and page.tags["main"] == 1
    assert max(page.ids.values()) == 1
    assert text.count('aria-sort="none"') == 10 + len(METRICS)
    assert render(benchmark(), "all") == text  # the same rows give the same page
    links = [link for each in (page, *map(Page, page.pieces.values())) for link in each.links]
    for link in links:
        assert link.startswith("data:") or (link[0] == "#" and link[1:] in page.ids)
    assert "default-src 'none'" in text
    names = re.findall(r"https?://[^\"' )]+", text + "".join(page.pieces.values()))
    # names of languages, never fetched
    assert set(names) <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}


def test_a_report_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write_report([], path, "nothing yet")
    page = Page(path.read_text(encoding="utf-8"))
    assert "No run has ended yet" in page.words and "This report is not private." in page.words
    assert page.pieces == {}
    broken = row()
    broken["figures"]["ks"]["value"] = "no number"
    with pytest.raises(ValueError, match="no number"):
        write_report([broken], path, "broken")
    assert "nothing yet" in path.read_text(encoding="utf-8")
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(ArtefactError, match="folder"):
        write_report([], tmp_path, "a folder")


def test_every_choice_has_its_piece() -> None:
    pieces = whole()[1].pieces
    assert Counter(key[0] for key in pieces) == {
        "use-chart": 2 * 4,  # data sets and metrics with a direction
        "attack-chart": 2,
        "column-map": 2 * 2 * 2,  # data sets, epsilons, KS and TVD 1
        "pair-map": 12,  # finished lines, one metric
        "margin-grid": 12,
    }
    curve = pieces["use-chart", "made", "KS ↓"]
    # two generators at two epsilons, with a tip each, and the names of those that failed
    assert curve.count('class="point"') == 4
    assert "Vine, epsilon 0.1\nKS: mean 0.11; 95 % interval 0.085159 to" in unescape(curve)
    assert curve.count("(no figures)") == 3
    assert "↓ 0.010" not in curve and "real rows" in curve
    assert "↑ 0.900" in pieces["attack-chart", "made", "attack, all →.5"]  # off the scale


def test_breakdowns_are_means_and_margins_are_of_the_first_fold() -> None:
    later, first = row(fold=1, figures={"ks": 0.3}), row(fold=0, figures={"ks": 0.1})
    first["margins"]["age"] = {"labels": ["x"], "real": [1.0], "synthetic": [0.125]}
    pieces = Page(render([later, first], "two")).pieces
    assert pieces["column-map", "made", "1", "KS"].count("with Vine (2 runs)") == 3
    assert "age: KS 0.200" in pieces["column-map", "made", "1", "KS"]
    assert "age and sex: TVD 2 0.200" in pieces["pair-map", "made", "Vine, epsilon 1", "TVD 2"]
    margins = pieces["margin-grid", "made", "Vine, epsilon 1"]
    assert "age: x\nreal 100.0 %, synthetic 12.5 %" in margins and "fold 0, seed 0" in margins


def test_spends_of_one_kind_stand_together() -> None:
    head, lines = grouped_spends(row()["privacy"]["spends"])
    assert head[0] == "stage"
    assert lines == [["histogram", "a, b, c, d and 4 more", "laplace", "2", "0", "all rows"]]
    assert grouped_spends([]) == ([], [])


def test_what_does_not_fit_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    columns, rows = [f"column_{i}" for i in range(20)], []
    for i in range(5):
        shares = {name: rng.dirichlet(np.ones(20)).tolist() for name in ("real", "synthetic")}
        margin = {"labels": [f"{k} to {k + 1}" for k in range(20)], **shares}
        rows.append({**row(f"generator {i}"), "margins": dict.fromkeys(columns, margin)})
    trace = {"traceback": "line\n" * 50_000}
    rows += [{**ended("failed", f"error {i}", f"bad {i}"), **trace} for i in range(3)]
    monkeypatch.setattr(charts, "MOST_LETTERS", 20_000)
    text = render(rows, "many")
    page = Page(text)
    left = len([key for key in page.pieces if key[0] == "margin-grid"])
    assert 0 < left < 5
    assert f"{5 - left} lines have no margins or pairs here" in page.words
    assert len(text.encode()) < 200_000 + 200_000  # tracebacks are cut


def test_a_printed_leaderboard_is_not_cut_where_the_terminal_is_narrow() -> None:
    file = io.StringIO()
    print_leaderboard(benchmark(), Console(file=file, width=80))
    assert "fit s" in file.getvalue() and "…" not in file.getvalue()
    # Once wrong: "attack", which in the report is another metric
    assert "attack, all" in file.getvalue()


def test_a_claim_above_epsilon_ten_gets_no_tick() -> None:
    for said, sign in (("epsilon 10", "✓"), ("epsilon 12, delta 1e-09", "!"), ("epsilon 100", "!")):
        promise = Promise(said, said)
        assert promise.sign == sign and promise.holds
