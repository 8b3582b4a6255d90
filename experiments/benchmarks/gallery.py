"""Pictures of card, report, plots and page, from the made stays of ``shirley demo``.

Needs selenium, chromium and chromedriver.

    python -m copula_shirley.experiments.benchmarks.gallery docs/images
"""

from __future__ import annotations

import base64
import contextlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from PIL import Image

SHIRLEY = (sys.executable, "-c", "from copula_shirley.cli.main import main; main()")
FLAGS = ("headless", "no-sandbox", "disable-gpu", "hide-scrollbars")
WIDTH, TALLEST, COLORS = 1100, 1500, 64
COMMANDS = (
    "demo demo",
    "inspect demo/model.shirley --plot gallery-vine.png",
    "evaluate demo/stays.csv --schema demo/schema.yaml --epsilon 1 --seed 1 -o report.html "
    "--plot gallery-plots.png --task multiclass=ward --task regression=cost",
)


@contextlib.contextmanager
def browser() -> Iterator[Any]:
    from selenium import webdriver  # noqa: PLC0415  (of the developers)

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or shutil.which("google-chrome") or ""
    for flag in FLAGS:
        options.add_argument(f"--{flag}")
    found = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
    size = {"width": WIDTH, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    found.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    found.implicitly_wait(60)
    try:
        yield found
    finally:
        found.quit()


def taken(driver: Any, path: Path) -> None:
    """A picture of the page from its top."""
    height = driver.execute_script("return document.documentElement.scrollHeight")
    clip = {"x": 0, "y": 0, "width": WIDTH, "height": min(height, TALLEST), "scale": 1}
    how = {"clip": clip, "captureBeyondViewport": True}
    found = driver.execute_cdp_cmd("Page.captureScreenshot", how)
    path.write_bytes(base64.b64decode(found["data"]))


@contextlib.contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of the page, while it runs."""
    command = [*SHIRLEY, "page", "--folder", str(folder / "page")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=folder) as process:
        assert process.stderr is not None
        yield re.findall(r"http://\S+", process.stderr.readline())[0]
        process.send_signal(signal.SIGINT)


def of_the_page(driver: Any, address: str, folder: Path, output: Path) -> None:
    """The steps of the page with the demo's table and schema."""

    def press(selector: str) -> None:
        driver.execute_script("arguments[0].click()", driver.find_element("css selector", selector))

    driver.get(address)
    driver.find_element("id", "path").send_keys(str(folder / "demo" / "stays.csv"))
    press("main button.main")
    driver.find_element("id", "import_path").send_keys(str(folder / "demo" / "schema.yaml"))
    press("form[action$=people] button.main")
    driver.find_element("css selector", "table.columns")
    step = driver.current_url.removesuffix("/schema")
    taken(driver, output / "gallery-page-schema.png")
    driver.get(f"{step}/release?epsilon=1&rows=5000")
    taken(driver, output / "gallery-page-release.png")
    driver.get(f"{step}/preview?epsilon=1&rows=5000")
    taken(driver, output / "gallery-page-preview.png")


def main(output: Path) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for command in COMMANDS:
            subprocess.run([*SHIRLEY, *command.split()], cwd=folder, check=True)
        for picture in folder.glob("gallery-*.png"):
            shutil.copy(picture, output)
        pages = {"card": "demo/synthetic.csv.card.html", "report": "report.html"}
        with browser() as driver:
            for name, page in pages.items():
                driver.get((folder / page).as_uri())
                taken(driver, output / f"gallery-{name}.png")
            with served(folder) as address:
                of_the_page(driver, address, folder, output)
    for picture in output.glob("gallery-*.png"):  # few colours, a third of the bytes
        Image.open(picture).convert("RGB").quantize(COLORS).save(picture, optimize=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())
