"""The report in a real browser: charts have marks, tables sort and filter, phones do not scroll."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from report_rows import benchmark, row

from copula_shirley.experiments.report import write_report

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
WebDriverWait = pytest.importorskip("selenium.webdriver.support.ui").WebDriverWait

pytestmark = pytest.mark.slow
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
#: Chart and what is drawn in it.
MARKS = {
    "use-chart": "svg .point",
    "attack-chart": "svg .point",
    "column-map": "td.cell",
    "pair-map": "td.cell",
    "margin-grid": ".bars i",
}


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    binary = next(filter(None, map(shutil.which, BROWSERS)), None)
    driver = shutil.which("chromedriver")
    if binary is None or driver is None:
        pytest.skip("no chromium with its chromedriver on this machine")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    found = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
    yield found
    found.quit()


def show(browser: Any, path: Path, rows: list[dict[str, Any]], width: int = 1280) -> None:
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    write_report(rows, path / "report.html", "A benchmark </script>")
    browser.get((path / "report.html").as_uri())
    ready = "return document.body.dataset.ready === 'yes'"
    WebDriverWait(browser, 20).until(lambda found: found.execute_script(ready))


def count(browser: Any, selector: str) -> int:
    found: int = browser.execute_script(
        "return document.querySelectorAll(arguments[0]).length", selector
    )
    return found


def lines(browser: Any) -> list[str]:
    """Generators of the ranked lines that are to be seen, from the top."""
    found: list[str] = browser.execute_script(
        "return [...document.querySelectorAll('#board .ranked tr')].filter(r => !r.hidden)"
        ".map(r => r.cells[0].textContent.trim())"
    )
    return found


def choose(browser: Any, select: str, value: str) -> None:
    browser.execute_script(
        "const s = document.querySelector(arguments[0]); s.value = arguments[1];"
        "s.dispatchEvent(new Event('change', {bubbles: true}))",
        select,
        value,
    )


def complaints(browser: Any) -> list[dict[str, Any]]:
    return [entry for entry in browser.get_log("browser") if entry["level"] != "INFO"]


def test_every_chart_has_marks(browser: Any, tmp_path: Path) -> None:
    show(browser, tmp_path, benchmark())
    for chart, marks in MARKS.items():
        assert count(browser, f"#{chart} {marks}") > 0, chart
    # two generators at two epsilons, each with an interval, and the dotted line of real rows
    assert count(browser, "#use-chart svg .point[data-tip]") == 4
    assert count(browser, "#use-chart .whisker") > 0
    assert count(browser, "#pair-map td.cell") == 3
    assert count(browser, "#margin-grid .multiples > div") == 3
    assert complaints(browser) == []


def test_charts_follow_their_choices(browser: Any, tmp_path: Path) -> None:
    show(browser, tmp_path, benchmark())
    choose(browser, "#use-chart [data-name=Metric]", "MCC binary ↑")
    assert "mcc_binary" in browser.execute_script(
        "return document.querySelector('#use-chart figcaption').textContent"
    )
    choose(browser, "#column-map [data-name=Epsilon]", "0.1")
    choose(browser, "#pair-map [data-name='Data set']", "other")
    choose(browser, "#margin-grid [data-name='Data set']", "other")
    assert count(browser, "#column-map td.cell") == 3 * 4
    assert count(browser, "#margin-grid .bars i") > 0
    assert complaints(browser) == []


@pytest.mark.parametrize(
    "rows",
    [[], [row()], [row(epsilon=None)], [row("real", epsilon=None)]],
    ids=["no rows", "one run", "no noise", "real alone"],
)
def test_few_rows_are_no_trouble(browser: Any, tmp_path: Path, rows: list[dict[str, Any]]) -> None:
    show(browser, tmp_path, rows)
    ranked = [one for one in rows if one["run"]["use"] != "real"]
    assert count(browser, "#use-chart svg .point[data-tip]") == len(ranked)
    drawn = "return [...document.querySelectorAll('svg')].map(e => e.outerHTML).join()"
    assert not re.search("NaN|Infinity", browser.execute_script(drawn))
    assert complaints(browser) == []


def test_the_leaderboard_sorts_by_click_and_by_key(browser: Any, tmp_path: Path) -> None:
    show(browser, tmp_path, benchmark())
    heading = "#board button[data-key=ks]"
    button = browser.find_element("css selector", heading)
    button.click()
    state = f"return document.querySelector('{heading}').closest('th').getAttribute('aria-sort')"
    assert browser.execute_script(state) == "ascending"
    assert lines(browser)[:8] == ["Vine"] * 4 + ["Shirley"] * 4
    failed = lines(browser)[8:]
    assert set(failed) == {"Broken", "Slow", "Vine, encoder onehot"}  # without figures: last
    button.send_keys("\ue007")  # Enter
    assert browser.execute_script(state) == "descending"
    assert lines(browser)[:8] == ["Shirley"] * 4 + ["Vine"] * 4
    assert set(lines(browser)[8:]) == set(failed)
    assert count(browser, "#board th[aria-sort=ascending], #board th[aria-sort=descending]") == 1


def test_the_leaderboard_filters(browser: Any, tmp_path: Path) -> None:
    show(browser, tmp_path, benchmark())
    choose(browser, "#by-dataset", "other")
    assert sorted(set(lines(browser))) == ["Broken", "Shirley", "Vine"]
    assert len(lines(browser)) == 6
    choose(browser, "#by-epsilon", "0.1")
    assert len(lines(browser)) == 3
    assert count(browser, "#board .references tr[data-values]:not([hidden])") == 2
    shown = browser.find_element("css selector", "#shown").text
    assert shown == "5 of 18 lines shown"


def test_exact_numbers_come_on_focus(browser: Any, tmp_path: Path) -> None:
    show(browser, tmp_path, benchmark())
    assert not browser.find_element("css selector", "#tip").is_displayed()
    browser.execute_script("document.querySelector('#use-chart svg .point').focus()")
    tip = browser.find_element("css selector", "#tip")
    assert tip.is_displayed() and "95 %" in tip.text
    cell = browser.find_element("css selector", "#board td[tabindex='0']")
    cell.send_keys("\ue014")  # one cell to the right
    assert browser.execute_script("return document.activeElement.cellIndex") == 4
    assert "Claims epsilon" in tip.text


@pytest.mark.parametrize("width", [375, 1280])
def test_the_page_does_not_scroll_sideways(browser: Any, tmp_path: Path, width: int) -> None:
    long = "a_very_long_name_" * 6
    rows = [*benchmark(), row(long, dataset=long), row("real", dataset=long, epsilon=None)]
    show(browser, tmp_path, rows, width)
    browser.execute_script("document.querySelectorAll('details').forEach(d => d.open = true)")
    for chart in MARKS:
        choose(browser, f"#{chart} [data-name='Data set']", long)
    page = "return [document.documentElement.scrollWidth, window.innerWidth]"
    wide, room = browser.execute_script(page)
    assert wide <= room == width


def test_paper_has_everything_open(browser: Any, tmp_path: Path) -> None:
    show(browser, tmp_path, benchmark())
    assert count(browser, "details[open]") == 0
    browser.execute_script("dispatchEvent(new Event('beforeprint'))")
    assert count(browser, "details:not([open])") == 0
    browser.execute_script("dispatchEvent(new Event('afterprint'))")
    assert count(browser, "details[open]") == 0
