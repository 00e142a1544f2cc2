"""A headless Chromium for tests of pages, where the distribution's chromium and chromium-driver are installed."""

from __future__ import annotations

import base64
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

BINARIES = ("chromium", "chromium-browser", "google-chrome")


def browser_missing() -> str:
    """Why no browser can be started; "" if one can."""
    try:
        import selenium  # noqa: F401
    except ImportError:
        return "Selenium is not installed: pip install selenium"
    if not any(map(shutil.which, BINARIES)) or not shutil.which("chromedriver"):
        return "no Chromium with its driver: apt-get install chromium chromium-driver"
    return ""


needs_browser = pytest.mark.skipif(bool(browser_missing()), reason=browser_missing())


class Browser:
    """One window; scripts are functions' bodies."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, path: Path) -> None:
        """Show a file, from disk, and forget what the console said before."""
        self.driver.get_log("browser")
        self.driver.get(path.as_uri())

    def run(self, script: str, *args: Any) -> Any:
        """What a script returns."""
        return self.driver.execute_script(script, *args)

    def text(self, selector: str) -> str:
        """What is written in an element."""
        return str(self.run("return document.querySelector(arguments[0]).innerText", selector))

    def all_texts(self, selector: str) -> list[str]:
        """What is written in all elements."""
        return list(self.run("return [...document.querySelectorAll(arguments[0])].map(e => e.innerText)", selector))

    def element(self, selector: str) -> Any:
        """An element to click or type into."""
        from selenium.webdriver.common.by import By

        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def click(self, selector: str) -> None:
        """A click of the mouse, with the element in sight."""
        self.run("document.querySelector(arguments[0]).scrollIntoView({block: 'center'})", selector)
        self.element(selector).click()

    def keys(self, selector: str, *keys: str) -> None:
        """Type into an element."""
        self.element(selector).send_keys(*keys)

    def mouse(self, selector: str, share: float, *, press: bool = False, to: float | None = None) -> None:
        """Move the mouse to a share of an element's width, at half its height; press there; drag to another share."""
        from selenium.webdriver import ActionChains

        self.run("document.querySelector(arguments[0]).scrollIntoView({block: 'center'})", selector)
        element = self.element(selector)
        width = element.size["width"]
        actions = ActionChains(self.driver, duration=20)
        actions.move_to_element_with_offset(element, round((share - 0.5) * width), 0)
        if to is not None:
            actions.click_and_hold().move_by_offset(round((to - share) * width / 2), 0)
            actions.move_by_offset(round((to - share) * width / 2), 0).release()
        elif press:
            actions.click()
        actions.perform()

    def media(self, **features: str) -> None:
        """What the system is said to prefer, such as prefers_color_scheme="dark"; nothing: nothing."""
        named = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": named})

    def size(self, width: int, height: int) -> None:
        """The size of the window's inside."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def pdf(self) -> bytes:
        """The page as printed."""
        return base64.b64decode(self.driver.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})["data"])

    def complaints(self) -> list[str]:
        """What the console said since the page was opened."""
        return [entry["message"] for entry in self.driver.get_log("browser")]


@contextmanager
def started(setup: Callable[[Any], None] = lambda options: None) -> Iterator[Browser]:
    """A browser, until the block ends.

    Args:
        setup: is given Selenium's options before the start.
    """
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--force-device-scale-factor=1"):
        options.add_argument(argument)
    options.binary_location = next(filter(None, map(shutil.which, BINARIES)))
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    setup(options)
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        browser = Browser(driver)
        browser.size(1280, 900)
        yield browser
    finally:
        driver.quit()
