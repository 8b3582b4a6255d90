"""The report: intervals and ranks by hand, nothing hidden, everything escaped, small."""

from __future__ import annotations

import base64
import io
import json
import math
import re
import zlib
from collections import Counter
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
from copula_shirley.experiments.report.board import board
from copula_shirley.experiments.report.ledgers import grouped_spends
from copula_shirley.experiments.report.lines import lines_of, standings
from copula_shirley.experiments.report.words import measures_of
from copula_shirley.files.model_file import ArtefactError

VOID = {"meta", "link", "br", "wbr", "input"}


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
        if "id" in values:
            self.ids[str(values["id"])] += 1
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


@pytest.fixture(scope="module")
def whole() -> tuple[str, Page]:
    """The report of the made-up benchmark, as text and taken apart."""
    text = render(benchmark(), "all")
    return text, Page(text)


Whole = tuple[str, Page]


def better() -> dict[str, str]:
    return {name: direction for name, (_, direction, _) in METRICS.items()}


def test_seeds_of_a_fold_are_averaged_first() -> None:
    values = {(0, 0): 0.1, (0, 1): 0.3, (1, 0): 0.4, (2, 0): 0.6}
    rows = [row(fold=f, seed=s, figures={"ks": v}) for (f, s), v in values.items()]
    score = lines_of(rows)[0].figures["ks"]
    assert score.values == pytest.approx((0.2, 0.4, 0.6)) and score.mean == pytest.approx(0.4)
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
        row("real", epsilon=None, figures={"ks": 0.0}),
    ]
    lines = lines_of(rows)
    places = {line.name: place for line, place in standings(lines, better()).items()}
    assert set(places) == {"A", "B", "C"}  # the reference is not ranked
    chosen = ("ks", "mcc_binary", "membership_hamming_all", "tvd1")
    ranks = {name: [place.ranks[m] for m in chosen] for name, place in places.items()}
    # ties share their ranks; below a coin no attack is better than another
    assert ranks == {"A": [1, 1, 1.5, 2], "B": [2.5, 3, 1.5, 2], "C": [2.5, 2, 3, 2]}
    assert "k_anonymity" not in places["A"].ranks
    assert places["A"].mean == pytest.approx((1 + 1 + 1.5 + 2 + 2) / 5)
    assert places["A"].best == {"ks", "mcc_binary", "membership_hamming_all"}
    assert places["B"].best == {"membership_hamming_all"}  # tvd1 is equal for all: no best


def test_ranks_do_not_cross_epsilons_or_data_sets() -> None:
    rows = [row("A", epsilon=e, dataset=d) for e in (0.1, 1.0) for d in ("made", "other")]
    assert all(place.mean == 1 for place in standings(lines_of(rows), better()).values())


def test_runs_that_differ_are_never_averaged() -> None:
    names = {line.dataset for line in lines_of([row(), row(rows=500), row(unit="row")])}
    assert names == {
        "made (all rows, unit person)",
        "made (500 rows, unit person)",
        "made (all rows, unit row)",
    }
    settings = lines_of([row(settings={"degree": 2}), row(settings={"degree": 3})])
    assert len({line.name for line in settings}) == 2


def test_the_leaderboard_has_every_line_in_order(whole: Whole) -> None:
    page = whole[1]
    lines = [(r["data-dataset"], r["data-epsilon"], r["generator"]) for r in page.rows]
    assert lines[:3] == [("made", "0.1", name) for name in ("Vine", "Shirley", "Broken")]
    assert ("made", "1", "Slow") in lines and ("made", "1", "Vine, encoder onehot") in lines
    references = [r for r in page.rows if "data-reference" in r]
    assert page.rows[-4:] == references  # last, in a part of their own
    assert all(r["rank"] is None for r in references)
    by_name = {(r["data-dataset"], r["data-epsilon"], r["generator"]): r for r in page.rows}
    assert by_name["made", "1", "Vine"]["ks"] == pytest.approx(0.11)
    assert by_name["made", "1", "Vine"]["rank"] < by_name["made", "1", "Shirley"]["rank"]


def test_what_is_claimed_and_what_is_proved_stand_side_by_side(whole: Whole) -> None:
    rows = benchmark()
    lines = lines_of(rows)
    measures = measures_of(rows)
    entries = {entry.line.name: entry for entry in board(lines, measures, {})}
    shirley, vine = entries["Shirley"], entries["Vine"]
    found = [entry.line.promise for entry in (shirley, vine)]
    assert [(p.claimed, p.proved, p.mark, p.sign) for p in found if p] == [
        ("epsilon 1", "nothing", "broken", "✗"),
        ("epsilon 1", "epsilon 1", "kept", "✓"),
    ]
    words = whole[1].words
    assert "Claims epsilon and proves nothing, on every data set" in words
    assert "they are raw" in words


def test_failures_are_visible(whole: Whole) -> None:
    words = whole[1].words
    assert "No figures: failed in 3 of 3 runs. ValueError: bad" in words
    assert "No figures: timeout in 1 of 1 runs. Stopped after 60 minutes" in words
    assert "No figures: skipped in 1 of 1 runs. Too many columns" in words
    assert "Traceback of ValueError: bad" in words
    assert "failed in 12 runs" in words  # one reason, one entry
    assert "Slow ran out of time in 1 run: stopped after 60 minutes" in words
    assert "Vine, encoder onehot was skipped in 1 run: too many columns" in words
    assert "36 done , 12 failed , 1 skipped , 1 timeout" in words


def test_failures_in_part_and_failures_alone() -> None:
    assert "1 of 2" in Page(render([row(), ended("failed", "boom", fold=1)], "part")).words
    words = Page(render([ended("failed", "boom")], "none")).words
    assert "No figures" in words and "No finished run, no ledger" in words


def test_complaints_notes_and_provenance() -> None:
    odd = row()
    odd["complaints"] = ["age: 3 of 10 values are missing"]
    odd["figures"]["ks"]["detail"]["note"] = "a special note"
    odd["provenance"]["dirty"] = True
    text = render([odd, row(fold=1)], "odd")
    words = Page(text).words
    assert "age: 3 of 10 values are missing" in words
    assert "a special note" in text
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
    bad = ended("failed", EVIL, EVIL + "2")
    bad["traceback"] = EVIL
    write_report([evil, bad, row("half \ud800")], tmp_path / "report.html", EVIL)
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    page = Page(text)
    assert "half ?" in page.words  # no file can hold half a character
    assert page.tags["script"] == 2
    assert page.tags["img"] == 0
    assert "alert(1)" in page.words  # shown, not run
    assert "{{ 7*7 }}" in page.words and "49" not in page.text
    for html in page.pieces.values():
        piece = Page(html.replace("<hr>", ""))
        assert piece.tags["script"] == piece.tags["img"] == 0
    assert any("alert(1)" in html for html in page.pieces.values())


def test_nothing_comes_from_the_network(whole: Whole) -> None:
    text, page = whole
    everything = [page, *(Page(html) for html in page.pieces.values())]
    links = [link for each in everything for link in each.links]
    assert [link for link in links if not link.startswith(("#", "data:"))] == []
    assert "default-src 'none'" in text
    names = re.findall(r"https?://[^\"' )]+", text + "".join(page.pieces.values()))
    # names of languages, never fetched
    assert set(names) <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}


def test_the_page_is_well_made(whole: Whole) -> None:
    text, page = whole
    assert page.tags["h1"] == 1 and page.tags["main"] == 1
    assert max(page.ids.values()) == 1
    for link in page.links:
        assert not link.startswith("#") or link[1:] in page.ids
    assert text.count('aria-sort="none"') == 9 + len(METRICS)
    assert render(benchmark(), "all") == text  # the same rows give the same page


def test_empty_rows(tmp_path: Path) -> None:
    write_report([], tmp_path / "report.html", "nothing yet")
    page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert "No run has ended yet" in page.words and "This report is not private." in page.words
    assert page.pieces == {}


def test_a_report_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    path.write_text("old", encoding="utf-8")
    broken = row()
    broken["figures"]["ks"]["value"] = "no number"
    with pytest.raises(ValueError, match="no number"):
        write_report([broken], path, "broken")
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(ArtefactError, match="folder"):
        write_report([], tmp_path, "a folder")


def test_every_choice_has_its_piece(whole: Whole) -> None:
    pieces = whole[1].pieces
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
    name = "Vine, epsilon 1"
    assert pieces["column-map", "made", "1", "KS"].count("with Vine (2 runs)") == 3
    assert "age: KS 0.200" in pieces["column-map", "made", "1", "KS"]
    assert "age and sex: TVD 2 0.200" in pieces["pair-map", "made", name, "TVD 2"]
    margins = pieces["margin-grid", "made", name]
    assert "age: x\nreal 100.0 %, synthetic 12.5 %" in margins and "fold 0, seed 0" in margins


def test_spends_of_one_kind_stand_together() -> None:
    head, lines = grouped_spends(row()["privacy"]["spends"])
    assert head[0] == "stage"
    assert lines == [["histogram", "a, b, c, d and 4 more", "laplace", "2", "0", "all rows"]]
    assert grouped_spends([]) == ([], [])


def test_many_columns_are_small_and_what_does_not_fit_is_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(0)
    columns = [f"column_{i}" for i in range(30)]
    pairs = [f"{a} | {b}" for i, a in enumerate(columns) for b in columns[i + 1 :]]
    rows = []
    for i in range(8):
        one = row(f"generator {i}")
        for metric, part, keys in (("ks", "columns", columns), ("tvd2", "pairs", pairs)):
            values = rng.random(len(keys)).tolist()
            one["figures"][metric]["detail"] = {part: dict(zip(keys, values, strict=True))}
        margin = {
            "labels": [f"{k} to {k + 1}" for k in range(20)],
            "real": rng.dirichlet(np.ones(20)).tolist(),
            "synthetic": rng.dirichlet(np.ones(20)).tolist(),
        }
        one["margins"] = dict.fromkeys(columns, margin)
        rows.append(one)
    trace = {"traceback": "line\n" * 50_000}
    rows += [{**ended("failed", f"error {i}", f"bad {i}"), **trace} for i in range(3)]
    text = render(rows, "many")
    drawn = [key for key in Page(text).pieces if key[0] == "margin-grid"]
    assert len(drawn) == 8 and len(text.encode()) < 200_000 + 200_000 + 8 * 20_000
    monkeypatch.setattr(charts, "MOST_LETTERS", 60_000)
    page = Page(render(rows, "many"))
    left = len([key for key in page.pieces if key[0] == "margin-grid"])
    assert 0 < left < 8
    assert f"{8 - left} lines have no margins or pairs here" in page.words


def test_a_printed_leaderboard_is_not_cut_where_the_terminal_is_narrow() -> None:
    file = io.StringIO()
    print_leaderboard(benchmark(), Console(file=file, width=80))
    assert "fit s" in file.getvalue() and "…" not in file.getvalue()
