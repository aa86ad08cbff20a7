"""axe-core over every state of the page, and over the page of a recorded run: no serious violation."""

from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from support.processes.commands import DEADLINE_SECONDS, Program
from support.processes.http_server import OFF_TOPIC, QUESTION, Served

SERIOUS = ("serious", "critical")
RUN_AXE = "const done = arguments[arguments.length - 1]; axe.run().then(done, error => done({broken: String(error)}));"


def violations(browser: Chrome) -> list[str]:
    """Run axe-core on what the browser shows, and return its serious findings."""
    browser.execute_script((files("axe_playwright_python") / "axe.min.js").read_text("utf-8"))
    browser.set_script_timeout(DEADLINE_SECONDS)
    found: Any = browser.execute_async_script(RUN_AXE)
    assert "broken" not in found, found["broken"]
    assert len(found["passes"]) > 5  # it has looked at something
    return [f"{each['id']}: {each['nodes'][0]['html']}" for each in found["violations"] if each["impact"] in SERIOUS]


def wait(browser: Chrome, selector: str, holds: Callable[[Any], bool] = lambda found: found.is_displayed()) -> Any:
    def find(_: Chrome) -> Any:
        return next((each for each in browser.find_elements(By.CSS_SELECTOR, selector) if holds(each)), None)

    return WebDriverWait(browser, DEADLINE_SECONDS).until(find)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_has_no_serious_violation(chromium: Chrome, served: Served, theme: str) -> None:
    feature = {"features": [{"name": "prefers-color-scheme", "value": theme}]}
    chromium.execute_cdp_cmd("Emulation.setEmulatedMedia", feature)
    chromium.get(served.url)
    wait(chromium, "#collection option", lambda _: True)
    assert violations(chromium) == []
    for number, question in enumerate((QUESTION, OFF_TOPIC), start=1):
        wait(chromium, "#question").send_keys(question, Keys.ENTER)
        wait(chromium, f".turn:nth-child({number}) details.made summary").send_keys(Keys.ENTER)
    wait(chromium, ".cite").send_keys(Keys.ENTER)
    wait(chromium, "#source mark, #source .printed canvas")
    assert violations(chromium) == []
    for button, dialog in (
        ("#show-history", "#history"),
        ("#show-upload", "#upload"),
        ("#show-documents", "#documents"),
    ):
        wait(chromium, button).send_keys(Keys.ENTER)
        wait(chromium, dialog)
        assert violations(chromium) == []
        if dialog == "#documents":
            wait(chromium, ".document button[aria-label^=Remove]").send_keys(Keys.ENTER)
            wait(chromium, "#removal")
            assert violations(chromium) == []
            wait(chromium, "#keep-document").send_keys(Keys.ENTER)
        wait(chromium, f"{dialog} [data-closes]").send_keys(Keys.ENTER)


def test_the_page_of_a_recorded_run_has_no_serious_violation(chromium: Chrome, served: Served, tmp_path: Path) -> None:
    run_id, file = served.ask()["run_id"], tmp_path / "run.html"
    shown = Program({"DATABASE_URL": served.database})("runs", "show", run_id, "--html", str(file))
    assert shown.code == 0, shown.stderr
    chromium.get(file.as_uri())
    assert violations(chromium) == []
