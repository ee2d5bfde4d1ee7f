"""Tests pages of `fairlane report` in a real browser, offline, in light and dark mode and at the width of a phone.

Screenshots for manual inspection are in $FAIRLANE_SCREENSHOTS, or else in pytest's folder of the test.
"""

from __future__ import annotations

import re
import tomllib
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import fairlane
from blank import only_svg
from conftest import SETTINGS, SHORT_SCENARIO, THREE_GROUPS, daily
from fairlane.results import plots

if TYPE_CHECKING:
    from playwright.sync_api import Browser


PAGES = [
    "index",
    "abc2018",
    "abc2018.fig4a",
    "abc2018.fig5a",
    "compare",
    "run-short",
    "comparison-Three-groups",
    "sweep-swept",
]
SCHEMES = ["droptail", "red", "pie", "codel", "cake", "abc", "afc", "wfq"]
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light", "viewport": {"width": 1280, "height": 900}},
    "dark": {"color_scheme": "dark", "viewport": {"width": 1280, "height": 900}},
    "phone": {"color_scheme": "light", "viewport": {"width": 375, "height": 812}, "device_scale_factor": 2},
    "phone-dark": {"color_scheme": "dark", "viewport": {"width": 375, "height": 812}, "device_scale_factor": 2},
}


@pytest.fixture(scope="module")
def pages(reproduced: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report with a figure, an experiment that was not run, a comparison, and a page of each kind of own results."""
    folder = tmp_path_factory.mktemp("browser")
    store = folder / "store"
    three = fairlane.Scenario.from_dict(tomllib.loads(THREE_GROUPS))
    rates = {"topology.bottleneck_rate": ["10 Mbit/s", "500 kbit/s", "2 Mbit/s"]}
    results = {
        "compare": fairlane.compare(SHORT_SCENARIO, ["droptail", "abc", "csfq"], store=store),
        "one": fairlane.run(SHORT_SCENARIO, store=store),
        # Enough for panels and rows.
        "several": fairlane.compare(three, SCHEMES, replications=1, store=store),
        "swept": fairlane.sweep(SHORT_SCENARIO, grid=rates, name="swept", store=store),
    }
    compared, *own = (folder / f"{name}.json" for name in results)
    for name, result in results.items():
        (folder / f"{name}.json").write_text(result.json())
    options = {"compare": compared, "settings": SETTINGS, "replications": 2, "store": reproduced}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plots, "_save", only_svg)
        fairlane.report("abc2018.default", "abc2018.fig4a", "abc2018.fig5a", *own, out=folder / "pages", **options)
    return folder / "pages"


@pytest.mark.parametrize("look", daily(LOOKS, "light", "phone-dark"))
def test_pages_are_legible_offline(browser: Browser, pages: Path, screenshots: Path, look: str) -> None:
    context = browser.new_context(offline=True, **LOOKS[look])
    page = context.new_page()
    troubles: list[str] = []
    page.on("console", lambda message: troubles.append(message.text))
    page.on("pageerror", lambda error: troubles.append(str(error)))
    page.on("requestfailed", lambda request: troubles.append(request.url))
    page.on("request", lambda request: request.url.startswith(("file:", "data:")) or troubles.append(request.url))
    for name in PAGES:
        page.goto((pages / f"{name}.html").as_uri())
        page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        content, window = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        assert content <= window, name
        assert page.evaluate("[...document.images].filter(i => i.loading != 'lazy' && !i.naturalWidth).length") == 0
        shot = page.screenshot(path=screenshots / f"{name}-{look}.png")
        assert_drawn(shot, dark="dark" in look)
    assert troubles == []
    context.close()


def assert_drawn(shot: bytes, *, dark: bool) -> None:
    """Checks that the figure has the background of its colour scheme, and content."""
    import matplotlib.image
    import numpy as np

    luminance = matplotlib.image.imread(BytesIO(shot))[..., :3].mean(axis=2)
    ground = float(np.median(luminance))
    assert ground < 0.15 if dark else ground > 0.85
    ink = float((np.abs(luminance - ground) > 0.4).mean())
    assert 0.01 < ink < 0.5


@pytest.mark.parametrize("look", daily(["light", "dark", "phone"], "dark"))
def test_axe_finds_nothing_to_improve(browser: Browser, pages: Path, look: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="no axe-playwright-python")
    context = browser.new_context(offline=True, **LOOKS[look])
    page = context.new_page()
    for name in PAGES:
        page.goto((pages / f"{name}.html").as_uri())
        page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        found = axe.Axe().run(page).response
        assert any(rule["id"] == "color-contrast" for rule in found["passes"]), name
        assert [f"{rule['id']}: {node['target']}" for rule in found["violations"] for node in rule["nodes"]] == [], name
    context.close()


def test_a_keyboard_reaches_the_content(browser: Browser, pages: Path) -> None:
    page = browser.new_page()
    page.goto((pages / "abc2018.fig4a.html").as_uri())
    page.keyboard.press("Tab")
    focused = page.locator(":focus")
    assert focused.inner_text() == "Skip to the content"
    box = focused.bounding_box()
    page.wait_for_function("document.activeElement.getBoundingClientRect().top >= 0")
    assert box
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "content"
    page.close()


def test_heads_sort_their_tables(browser: Browser, pages: Path) -> None:
    page = browser.new_page()

    def shown(column: int, table: str) -> list[str]:
        found: list[str] = page.locator(f"{table} tbody tr").evaluate_all(
            "(rows, column) => rows.map((row) => row.cells[column].textContent)", column
        )
        return found

    page.goto((pages / "comparison-Three-groups.html").as_uri())
    numbers = "[aria-labelledby=numbers]"
    head = page.locator(f"{numbers} thead th").filter(has_text=re.compile(r"^\s*queue"))
    column = head.evaluate("head => head.cellIndex")
    before = shown(column, numbers)
    assert len(before) == len(SCHEMES)
    for state, order in (("ascending", False), ("descending", True)):
        head.get_by_role("button").press("Enter")
        assert head.get_attribute("aria-sort") == state
        means = [float(cell.split()[0]) for cell in shown(column, numbers)]
        assert means == sorted((float(cell.split()[0]) for cell in before), reverse=order)
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") is None
    assert shown(column, numbers) == before
    # Quantities sort by size, independent of their unit.
    page.goto((pages / "sweep-swept.html").as_uri())
    page.locator(f"{numbers} thead th").first.get_by_role("button").click()
    assert shown(0, numbers) == ["500 kbit/s", "2 Mbit/s", "10 Mbit/s"]
    page.close()


def test_figures_follow_the_colour_scheme(browser: Browser, pages: Path) -> None:
    import matplotlib.image

    corners = {}
    for scheme in ("light", "dark"):
        page = browser.new_page(color_scheme=scheme)  # type: ignore[arg-type]
        page.goto((pages / "abc2018.fig4a.html").as_uri())
        shot = page.locator("figure img").screenshot()
        corners[scheme] = float(matplotlib.image.imread(BytesIO(shot))[2, 2, :3].mean())
        page.close()
    assert corners["light"] > 0.95
    assert corners["dark"] < 0.15
