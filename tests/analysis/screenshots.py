"""A headless Chromium for the tests of the page, and pictures of it for the documents.

python -m tests.analysis.screenshots results/summary/index.html docs
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from selenium.common.exceptions import WebDriverException
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service

CHROMIUM, DRIVER = Path("/usr/bin/chromium"), Path("/usr/bin/chromedriver")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--hide-scrollbars",
)  # fmt: skip
PICTURES = {"page-wide": (1280, 1700), "page-phone": (390, 1700)}


def open_browser(folder: Path) -> Chrome:
    """A browser of its own; on a busy machine the first may not come up in time."""
    try:
        return _start_browser(folder / "first")
    except WebDriverException:
        return _start_browser(folder / "second")


def _start_browser(profile: Path) -> Chrome:
    """A browser with an empty profile and a log of what the page complains about."""
    options = ChromeOptions()
    options.binary_location = str(CHROMIUM)
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return Chrome(options=options, service=Service(str(DRIVER)))


def resize(browser: Chrome, width: int, height: int) -> None:
    """Set the size of what the page sees, also below the smallest width of a window."""
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def take_pictures(page: Path, folder: Path) -> None:
    """Write the top of the page at the width of a screen and of a phone."""
    with TemporaryDirectory() as profile:
        browser = open_browser(Path(profile))
        try:
            for name, (width, height) in PICTURES.items():
                resize(browser, width, height)
                browser.get(page.resolve().as_uri())
                if not browser.save_screenshot(str(folder / f"{name}.png")):
                    raise OSError(f"could not write {folder / name}.png")
        finally:
            browser.quit()


if __name__ == "__main__":
    take_pictures(Path(sys.argv[1]), Path(sys.argv[2]))
