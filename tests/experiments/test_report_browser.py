"""The report in a real browser: charts have marks, tables sort and filter, phones do not scroll."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from report_rows import benchmark, row
from tables import JOBS, jobs

from copula_shirley import Schema
from copula_shirley.evaluation.judging import judge_tables
from copula_shirley.evaluation.report import write_report as evaluation_report
from copula_shirley.experiments.report import write_report

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
WebDriverWait = pytest.importorskip("selenium.webdriver.support.ui").WebDriverWait

pytestmark = pytest.mark.slow
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    *("headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-sync"),
    *("disable-background-networking", "disable-component-update"),
)
#: Chart and what is drawn in it.
MARKS = {
    "use-chart": "svg .point",
    "attack-chart": "svg .point",
    "column-map": "td.cell",
    "pair-map": "td.cell",
    "margin-grid": ".bars i",
}


class Browser:
    """A headless chromium that shows reports."""

    def __init__(self, driver: Any, folder: Path) -> None:
        self.driver = driver
        self.file = folder / "report.html"

    def run(self, script: str, *given: Any) -> Any:
        return self.driver.execute_script(script, *given)

    def open(self, width: int) -> None:
        size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        self.driver.get(self.file.as_uri())

    def show(self, rows: list[dict[str, Any]], width: int = 1280) -> None:
        write_report(rows, self.file, "A benchmark </script>")
        self.open(width)
        ready = "return document.body.dataset.ready === 'yes'"
        WebDriverWait(self.driver, 20).until(lambda _: self.run(ready))

    def find(self, selector: str) -> Any:
        return self.driver.find_element("css selector", selector)

    def count(self, selector: str) -> int:
        return int(self.run("return document.querySelectorAll(arguments[0]).length", selector))

    def lines(self) -> list[str]:
        """Generators of the ranked lines that are to be seen, from the top."""
        found: list[str] = self.run(
            "return [...document.querySelectorAll('#board .ranked tr[data-values]')]"
            ".filter(r => !r.hidden).map(r => r.cells[0].textContent.trim())"
        )
        return found

    def choose(self, select: str, value: str) -> None:
        self.run(
            "const s = document.querySelector(arguments[0]); s.value = arguments[1];"
            "s.dispatchEvent(new Event('change', {bubbles: true}))",
            select,
            value,
        )


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    binary = next(filter(None, map(shutil.which, BROWSERS)), None)
    service = shutil.which("chromedriver")
    if binary is None or service is None:
        pytest.skip("no chromium with its chromedriver on this machine")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for flag in (*FLAGS, f"user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    found = webdriver.Chrome(options=options, service=webdriver.ChromeService(service))
    yield found
    found.quit()


@pytest.fixture
def browser(driver: Any, tmp_path: Path) -> Iterator[Browser]:
    yield Browser(driver, tmp_path)
    assert [each for each in driver.get_log("browser") if each["level"] != "INFO"] == []


def test_charts_have_marks_and_follow_their_choices(browser: Browser) -> None:
    browser.show(benchmark())
    for chart, marks in MARKS.items():
        assert browser.count(f"#{chart} {marks}") > 0, chart
    # two generators at two epsilons, each with an interval, and the dotted line of real rows
    assert browser.count("#use-chart svg .point[data-tip]") == 4
    assert browser.count("#use-chart .whisker") > 0
    assert browser.count("#pair-map td.cell") == 3
    assert browser.count("#margin-grid .multiples > div") == 3
    browser.choose("#use-chart [data-name=Metric]", "MCC binary ↑")
    assert "mcc_binary" in browser.find("#use-chart figcaption").text
    browser.choose("#column-map [data-name=Epsilon]", "0.1")
    browser.choose("#pair-map [data-name='Data set']", "other")
    browser.choose("#margin-grid [data-name='Data set']", "other")
    assert browser.count("#column-map td.cell") == 3 * 4
    assert browser.count("#margin-grid .bars i") > 0


@pytest.mark.parametrize(
    "rows",
    [[], [row()], [row(epsilon=None)], [row("real", epsilon=None)]],
    ids=["no rows", "one run", "no noise", "real alone"],
)
def test_few_rows_are_no_trouble(browser: Browser, rows: list[dict[str, Any]]) -> None:
    browser.show(rows)
    ranked = [one for one in rows if one["run"]["use"] != "real"]
    assert browser.count("#use-chart svg .point[data-tip]") == len(ranked)
    drawn = "return [...document.querySelectorAll('svg')].map(e => e.outerHTML).join()"
    assert not re.search("NaN|Infinity", browser.run(drawn))


def test_the_leaderboard_sorts_by_click_and_by_key(browser: Browser) -> None:
    browser.show(benchmark())
    heading = "#board button[data-key=epsilon]"
    state = f"return document.querySelector('{heading}').closest('th').getAttribute('aria-sort')"
    epsilons = (
        "return [...document.querySelectorAll('#board .proved tr[data-values]')]"
        ".map(r => r.dataset.epsilon)"
    )
    browser.find(heading).click()
    assert browser.run(state) == "ascending"
    assert browser.run(epsilons) == ["0.1", "0.1", "1", "1"]
    browser.find(heading).send_keys("\ue007")  # Enter
    assert browser.run(state) == "descending"
    assert browser.run(epsilons) == ["1", "1", "0.1", "0.1"]
    # however it is sorted: proved, not proved, without figures
    assert browser.lines()[:8] == ["Vine"] * 4 + ["Shirley"] * 4
    assert set(browser.lines()[8:]) == {"Broken", "Slow", "Vine, encoder onehot"}
    assert browser.count("#board th[aria-sort=ascending], #board th[aria-sort=descending]") == 1


def test_the_leaderboard_filters(browser: Browser) -> None:
    browser.show(benchmark())
    browser.choose("#by-dataset", "other")
    assert sorted(browser.lines()) == ["Broken"] * 2 + ["Shirley"] * 2 + ["Vine"] * 2
    browser.choose("#by-epsilon", "0.1")
    assert len(browser.lines()) == 3
    assert browser.count("#board .references tr[data-values]:not([hidden])") == 2
    assert browser.find("#shown").text == "5 of 18 lines shown"


def test_exact_numbers_come_on_focus(browser: Browser) -> None:
    browser.show(benchmark())
    tip = browser.find("#tip")
    assert not tip.is_displayed()
    browser.run("document.querySelector('#use-chart svg .point').focus()")
    assert tip.is_displayed() and "95 %" in tip.text
    browser.find("#board td[tabindex='0']").send_keys("\ue014")  # one cell to the right
    assert browser.run("return document.activeElement.cellIndex") == 4
    assert "Claims epsilon" in tip.text


@pytest.mark.parametrize("width", [375, 1280])
def test_the_page_does_not_scroll_sideways(browser: Browser, width: int) -> None:
    long = "a_very_long_name_" * 6
    rows = [*benchmark(), row(long, dataset=long), row("real", dataset=long, epsilon=None)]
    browser.show(rows, width)
    browser.run("document.querySelectorAll('details').forEach(d => d.open = true)")
    for chart in MARKS:
        browser.choose(f"#{chart} [data-name='Data set']", long)
    check_width(browser, width)


def check_width(browser: Browser, width: int) -> None:
    wide, room = browser.run("return [document.documentElement.scrollWidth, window.innerWidth]")
    assert wide <= room == width


@pytest.mark.parametrize("width", [375, 1280])
def test_the_report_on_one_table(browser: Browser, width: int) -> None:
    long = "a_very_long_name_" * 4
    drawn = jobs(200, 1).rename(columns={"job": long})
    schema = Schema(tuple(replace(c, name=long if c.name == "job" else c.name) for c in JOBS))
    metrics = ("tvd1", "tvd2", "spearman_drift", "validity")
    tables = (drawn, jobs(200, 2).rename(columns={"job": long}), drawn)
    evaluation_report(judge_tables(*tables, schema, title=long, metrics=metrics), browser.file)
    browser.open(width)
    check_width(browser, width)
    assert browser.count("#verdict ~ .verdict .chip") == 4
    assert browser.count(".multiples .bars i[tabindex='0']") == 1  # one stop, then arrow keys
    browser.find("h1").click()  # a window without focus tells nobody
    focused = "document.querySelector('.pairs td.cell').focus();"
    told = browser.run(f"{focused} return document.getElementById('tip').textContent")
    assert "TVD 2" in told


def test_paper_has_everything_open(browser: Browser) -> None:
    browser.show(benchmark())
    assert browser.count("details[open]") == 0
    browser.run("dispatchEvent(new Event('beforeprint'))")
    assert browser.count("details:not([open])") == 0
    browser.run("dispatchEvent(new Event('afterprint'))")
    assert browser.count("details[open]") == 0
