"""The page in a real browser: a whole journey, on a phone too, without a foreign request."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from tables import JOBS, jobs
from web_pages import finish

from copula_shirley import ReleaseLedger
from copula_shirley.cli.page import entry_file

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")
faults = pytest.importorskip("selenium.common.exceptions")

pytestmark = pytest.mark.slow
TAB = "\ue004"
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    *("headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-sync"),
    *("disable-background-networking", "disable-component-update"),
)


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """What ``shirley page`` prints, while it runs."""
    command = [sys.executable, "-c", "from copula_shirley.cli.main import main; main()", "page"]
    command += ["--folder", str(tmp_path / "page")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        assert process.stderr is not None
        found = re.search(r"http://127\.0\.0\.1:\d+/\?token=\S+", process.stderr.readline())
        try:
            assert found is not None
            yield found[0]
        finally:
            process.send_signal(signal.SIGINT)


@pytest.fixture
def driver() -> Iterator[Any]:
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None or shutil.which("chromedriver") is None:
        pytest.skip("chromium and chromedriver are not installed")
    options = webdriver.ChromeOptions()
    options.binary_location = path
    for flag in FLAGS:
        options.add_argument(f"--{flag}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    found = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
    yield found
    found.quit()


#: Texts and fields whose contrast with what lies behind them is below 4.5 (WCAG 2, AA).
PALE = (Path(__file__).parent / "pale.js").read_text(encoding="utf-8")


def is_gone(element: Any) -> bool:
    """Whether the page of an element has been left."""
    try:
        element.is_enabled()
    except faults.WebDriverException:
        return True
    return False


class Visitor:
    """Somebody before the browser."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def fill(self, name: str, text: str) -> None:
        found = self.driver.find_element("id", name)
        found.clear()
        found.send_keys(text)

    def press(self, button: str, leads_to: str) -> None:
        before = self.driver.find_element("css selector", "html")
        found = self.driver.find_element("css selector", button)
        self.driver.execute_script("arguments[0].click()", found)
        finish(lambda: is_gone(before))
        finish(lambda: re.search(leads_to, self.driver.current_url) is not None)
        finish(lambda: self.driver.execute_script("return document.readyState") == "complete")
        self.look()

    def look(self) -> None:
        """What holds of every page.

        None scrolls sideways, however narrow; every field has a name that is read aloud; headings
        skip no level; texts stand out, in the dark, too.
        """
        for width in (1280, 390):
            size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
            self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
            wide = "return document.documentElement.scrollWidth - window.innerWidth"
            assert self.driver.execute_script(wide) <= 0, self.driver.current_url
        unnamed = (
            "return [...document.querySelectorAll('input:not([type=hidden]), select, textarea')]"
            ".filter(f => !f.labels.length && !f.ariaLabel).map(f => f.outerHTML)"
        )
        assert not self.driver.execute_script(unnamed)
        levels = (
            "return [...document.querySelectorAll('h1, h2, h3')].map(h => Number(h.tagName[1]))"
        )
        found = [0, *self.driver.execute_script(levels)]
        assert found.count(1) == 1 and all(b <= a + 1 for a, b in pairwise(found)), found
        for scheme in ("dark", "light"):
            media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
            self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
            assert not self.driver.execute_script(PALE), scheme

    def choose(self, field: str, value: str) -> None:
        self.driver.find_element(
            "css selector", f"[name='{field}'] option[value='{value}']"
        ).click()

    def tab(self, times: int) -> str:
        """The name of what the tab key leads to."""
        for _ in range(times):
            self.driver.switch_to.active_element.send_keys(TAB)
        found: str = self.driver.switch_to.active_element.get_attribute("name")
        return found

    def done(self) -> str:
        """Wait for the end of a run; its headline."""
        ended = "h1 .mark, [role=alert]"
        finish(lambda: bool(self.driver.find_elements("css selector", ended)))
        self.look()
        head: str = self.driver.find_element("css selector", "h1").text
        return head

    def faults(self) -> list[str]:
        """What the browser complains of, such as what the policy forbids."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def asked(self) -> set[str]:
        """The hosts that pages asked for something."""
        events = [json.loads(e["message"])["message"] for e in self.driver.get_log("performance")]
        urls = [
            event["params"]["request"]["url"]
            for event in events
            if event["method"] == "Network.requestWillBeSent"
        ]
        return {re.sub(r"^(\w+://[^/:]*).*", r"\1", u) for u in urls if u.startswith("http")}


def test_a_curator_makes_a_release(address: str, driver: Any, tmp_path: Path) -> None:
    jobs(300).to_csv(tmp_path / "jobs.csv", index=False)
    visitor = Visitor(driver)
    driver.get(address)
    assert "token" not in driver.current_url
    visitor.look()
    visitor.fill("path", str(tmp_path / "jobs.csv"))
    visitor.press("main button.main", "/people$")
    visitor.press("form[action$=people] button.main", "/schema$")
    visitor.fill("known_from", "codebook 2021")
    visitor.press("button[value=all]", "/schema$")
    finish(lambda: not driver.find_elements("css selector", "button[value=all]"))
    visitor.press("button[value=rules]", "/rules$")
    driver.back()  # a page that was left by sending its form can send it again
    finish(lambda: not driver.find_elements("css selector", "body.busy, form[data-sent]"))
    visitor.press("button[value=rules]", "/rules$")
    visitor.press("main a.main", "/release$")
    driver.get(f"{driver.current_url}?epsilon=2&rows=300")
    visitor.press("form[action$=ledger] button", "/release$")
    finish(lambda: bool(driver.find_elements("id", "run-button")))
    assert driver.find_element("id", "rows").get_attribute("value") == "300"
    slide = "const s = arguments[0]; s.value = -0.3; s.dispatchEvent(new Event('input'))"
    driver.execute_script(slide, driver.find_element("css selector", "[data-log-of=epsilon]"))
    assert driver.find_element("id", "epsilon").get_attribute("value") == "0.5"
    driver.execute_script("document.getElementById('plan-form').requestSubmit()")
    finish(lambda: "epsilon=0.5" in driver.current_url)
    visitor.press("#run-button", "/runs/1$")
    assert "Proved: epsilon 0.5" in visitor.done()
    driver.get(f"{driver.current_url}/compare")
    visitor.press("button.stop", "/compare$")
    finish(lambda: len(driver.find_elements("css selector", "figure")) == 3)
    driver.get(driver.current_url.removesuffix("/compare"))
    driver.back()
    driver.refresh()
    ledger = json.loads((tmp_path / "jobs.releases.json").read_text())
    assert [entry["kind"] for entry in ledger["entries"]] == ["reserved", "begun", "settled"]
    assert not visitor.faults() and visitor.asked() == {"http://127.0.0.1"}


def test_a_drafted_table_with_identifiers_is_published_without_them(
    address: str, driver: Any, tmp_path: Path
) -> None:
    """A person has two rows; their number, name and remarks never leave. A file lets them in."""
    rows = [
        f"P{i // 2:05d},Ann {i // 2},{i % 70 + 20},{'FM'[i % 2]},{i % 99 if i % 9 else ''},no {i}"
        for i in range(600)
    ]
    header = "patient,name,age,sex,cost,remarks"
    (tmp_path / "stays.csv").write_text("\n".join([header, *rows]) + "\n")
    visitor = Visitor(driver)
    driver.get(entry_file(tmp_path, address).as_uri())
    finish(lambda: bool(driver.find_elements("id", "file")))
    driver.find_element("id", "file").send_keys(str(tmp_path / "stays.csv"))
    visitor.press("main button.main", "/people$")
    visitor.choose("person", "patient")
    visitor.fill("max_rows", "2")
    visitor.press("form[action$=people] button.main", "/schema$")
    left = [row.text for row in driver.find_elements("css selector", "tr.left th")]
    assert left == ["patient", "name", "remarks"]
    visitor.fill("known_from", "handbook")
    assert [visitor.tab(1), visitor.tab(1)] == ["declare", "max_rows"]
    visitor.press("button[value=all]", "/schema$")
    finish(lambda: not driver.find_elements("css selector", "button[value=all]"))
    most = driver.find_elements("css selector", "[name^='maximum']:not([hidden])")
    for field in most:
        field.clear()
        field.send_keys("120")
    visitor.press("button[value=rules]", "/rules$")
    visitor.press("main a.main", "/release$")
    driver.get(f"{driver.current_url}?epsilon=4&rows=600")
    visitor.fill("cap_epsilon", "5")
    visitor.press("form[action$=ledger] button", "/release$")
    finish(lambda: bool(driver.find_elements("id", "run-button")))
    for box in driver.find_elements("id", "accept_poor"):
        driver.execute_script("arguments[0].click()", box)
    visitor.press("#run-button", "/runs/1$")
    assert "person" in visitor.done()
    folder = next((tmp_path / "page").glob("*/run-1"))
    drawn = pd.read_csv(folder / "stays-synthetic.csv")
    assert set(drawn) == {"age", "sex", "cost"} and drawn["age"].max() <= 120
    assert not visitor.faults() and visitor.asked() == {"http://127.0.0.1"}
    driver.get(address.partition("?")[0])
    driver.find_element("css selector", "form[action$=end] button").click()
    driver.switch_to.alert.accept()
    finish(lambda: not folder.exists())


def test_two_releases_share_a_cap(address: str, driver: Any, tmp_path: Path) -> None:
    jobs(300).to_csv(tmp_path / "jobs.csv", index=False)
    JOBS.write(tmp_path / "schema.yaml")
    visitor = Visitor(driver)
    driver.get(address)
    finish(lambda: bool(driver.find_elements("id", "path")))
    visitor.fill("path", str(tmp_path / "jobs.csv"))
    visitor.press("main button.main", "/people$")
    visitor.fill("import_path", str(tmp_path / "schema.yaml"))
    assert driver.find_element("id", "how-file").is_selected()
    visitor.press("form[action$=people] button.main", "/schema$")
    step = driver.current_url.removesuffix("/schema")
    driver.get(f"{step}/release?epsilon=2&rows=300")
    visitor.fill("cap_epsilon", "3")
    visitor.press("form[action$=ledger] button", "/release$")
    visitor.press("#run-button", "/runs/1$")
    assert "Proved: epsilon 2" in visitor.done()
    driver.get(f"{step}/release")
    assert not driver.find_elements("id", "run-button")
    visitor.press("form[action$=another] button", "/release$")
    driver.get(f"{step}/release?epsilon=2.9&rows=300")
    assert "above the cap" in driver.find_element("css selector", "main").text
    assert not driver.find_elements("id", "run-button")
    driver.get(f"{step}/release?epsilon=1&rows=300")
    visitor.look()
    visitor.press("#run-button", "/runs/2$")
    assert "Proved: epsilon 1" in visitor.done()
    ledger = ReleaseLedger.open(tmp_path / "jobs.releases.json")
    assert [release.state for release in ledger.releases] == ["settled"] * 2
    assert 2 < ledger.total.epsilon <= 3
    assert not visitor.faults() and visitor.asked() == {"http://127.0.0.1"}
