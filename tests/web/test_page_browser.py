"""The page in a real browser: a whole journey, on a phone too, without a foreign request."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tables import jobs
from web_pages import finish

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")

pytestmark = pytest.mark.slow
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


class Visitor:
    """Somebody before the browser."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def fill(self, name: str, text: str) -> None:
        found = self.driver.find_element("id", name)
        found.clear()
        found.send_keys(text)

    def press(self, button: str, leads_to: str) -> None:
        found = self.driver.find_element("css selector", button)
        self.driver.execute_script("arguments[0].click()", found)
        finish(lambda: re.search(leads_to, self.driver.current_url) is not None)
        finish(lambda: self.driver.execute_script("return document.readyState") == "complete")
        self.look()

    def look(self) -> None:
        """No page scrolls sideways, however narrow; every field has a name that is read aloud."""
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
    visitor.press("button[value=release]", "/release$")
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
    finish(lambda: bool(driver.find_elements("css selector", ".found")))
    visitor.look()
    assert "Proved: epsilon 0.5" in driver.find_element("css selector", "h1").text
    driver.get(f"{driver.current_url}/compare")
    visitor.press("button.stop", "/compare$")
    finish(lambda: len(driver.find_elements("css selector", "figure")) == 3)
    driver.get(driver.current_url.removesuffix("/compare"))
    driver.back()
    driver.refresh()
    ledger = json.loads((tmp_path / "jobs.releases.json").read_text())
    assert [entry["kind"] for entry in ledger["entries"]] == ["reserved", "begun", "settled"]
    assert not visitor.faults() and visitor.asked() == {"http://127.0.0.1"}
