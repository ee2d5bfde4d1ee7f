"""The playground in a real browser without network: every scheme, every story, keyboard, screen reader, phone, dark.

The screenshots are kept, for people to look at: in $FAIRLANE_SCREENSHOTS, or else in pytest's folder of the test.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import fairlane
from fairlane import _fairlane
from playground import built

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


MOST_MS = 300
SCHEMES = [scheme["name"] for scheme in fairlane.schemes()]
STORIES = ["bufferbloat", "many-flows", "flood", "bbr", "three-links"]
LOOKS: dict[str, dict[str, Any]] = {
    "desktop": {"color_scheme": "light", "viewport": {"width": 1440, "height": 1000}},
    "dark": {"color_scheme": "dark", "viewport": {"width": 1440, "height": 1000}},
    "phone": {"color_scheme": "light", "viewport": {"width": 375, "height": 812}, "device_scale_factor": 2},
    "phone-dark": {"color_scheme": "dark", "viewport": {"width": 375, "height": 812}, "device_scale_factor": 2},
}
Open = Callable[..., "Page"]


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Open]:
    """Opens the page, offline, and sees to it that nothing goes wrong in it and nothing is fetched."""
    troubles: list[str] = []
    contexts = []

    def opened(address: str = "", look: str = "desktop") -> Page:
        context = browser.new_context(offline=True, reduced_motion="reduce", **LOOKS[look])
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: troubles.append(message.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("requestfailed", lambda request: troubles.append(request.url))
        own = ("file:", "data:", "blob:")
        page.on("request", lambda request: request.url.startswith(own) or troubles.append(request.url))
        page.goto(built().as_uri() + (f"#{address}" if address else ""))
        page.wait_for_selector("html[data-shown]", timeout=30_000)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert troubles == []


def after(page: Page, act: Callable[[], Any]) -> float:
    """Acts, waits for the next pictures, and tells how many milliseconds they took."""
    before = int(page.evaluate("document.documentElement.dataset.shown"))
    act()
    page.wait_for_function(f"Number(document.documentElement.dataset.shown) > {before}")
    return float(page.evaluate("document.documentElement.dataset.ms"))


def test_every_scheme_is_shown(open_page: Open) -> None:
    page = open_page()
    for first in range(0, len(SCHEMES), 4):
        some = SCHEMES[first : first + 4]
        after(page, lambda some=some: page.evaluate(f"location.hash = 'schemes={','.join(some)}'"))
        assert page.locator("article.scheme").count() == len(some)
        assert page.locator("article.failed").count() == 0, page.locator(".problem").all_inner_texts()
        for scheme in page.locator("article.scheme").all():
            assert scheme.locator("figure").count() == 6
            assert scheme.locator(".equation").count() >= 1
            about = scheme.locator(".about p").first.inner_text()
            assert about.count(". ") + about.endswith(".") >= 1, about


def test_pictures_follow_a_slider_at_once(open_page: Open) -> None:
    """20 simulated seconds of 10 Mbit/s: what the page opens with. The quickest of five, since others work here too."""
    page = open_page()
    page.locator("#buffer").focus()
    assert min(after(page, lambda: page.keyboard.press("ArrowLeft")) for _ in range(5)) < MOST_MS


@pytest.mark.parametrize("story", STORIES)
def test_a_story_holds_what_it_says(open_page: Open, story: str) -> None:
    page = open_page()
    after(page, lambda: page.locator(f"[data-story={story}]").click())
    step, next_button = 1, page.locator("#story .next")
    while True:
        assert page.locator("#story").get_attribute("data-step") == f"{story}.{step}"
        assert page.locator("#story").get_attribute("data-failed") == ""
        assert "…" not in page.locator("#story p").inner_text()
        if next_button.is_disabled():
            break
        after(page, next_button.click)
        step += 1
    assert step >= 3
    assert f"story={story}.{step}" in page.url


def runs_of(page: Page) -> dict[str, Any]:
    return dict(page.evaluate("playground.records()"))


def without_bytes(record: dict[str, Any]) -> dict[str, Any]:
    for state in [record["edge_state"], *(link["state"] for link in record["links"])]:
        del state["bytes"]
    return record


ADDRESS = (
    "schemes=abc,csfq&rate=8&links=2&link=2&measure=5&warmup=1&seed=7&group=tcp~2~3~cubic~40~1.5~5~0~two+users"
    "&group=udp~1~1~cubic~20~1~4~1~flood&param=abc~queue.gamma~8+packets&param=abc~marker.memory~2+s"
)


def test_scenario_files_give_the_runs_of_the_page(open_page: Open) -> None:
    page = open_page(ADDRESS)
    records = runs_of(page)
    page.locator("#take-along").click()
    for index, scheme in enumerate(["abc", "csfq"]):
        page.locator("#take").select_option(str(index))
        table = tomllib.loads(page.locator("#taken").inner_text())
        assert (table["queue"].get("gamma"), table.get("marker")) == (
            ("8 packets", {"memory": "2 s"}) if scheme == "abc" else (None, None)
        )
        scenario = fairlane.Scenario.from_dict(table)
        batch = _fairlane.Batch([(scenario.canonical(), 0)], 1)
        done = batch.next(60.0)
        assert done is not None
        assert without_bytes(json.loads(done[1])) == without_bytes(records[scheme])


def test_the_program_in_python_gives_the_runs_of_the_page(open_page: Open, capsys: pytest.CaptureFixture[str]) -> None:
    page = open_page(ADDRESS)
    records = runs_of(page)
    page.locator("#take-along").click()
    page.locator("#take").select_option("2")
    names: dict[str, Any] = {}
    exec(page.locator("#taken").inner_text(), names)
    assert "abc" in capsys.readouterr().out
    for scheme, result in names["results"].items():
        groups = json.loads(result.json())["runs"][0]["groups"]
        assert [group["user_throughput_bps"] for group in groups] == [
            group["user_throughput_bps"] for group in records[scheme]["groups"]
        ]


def test_the_address_has_all_that_is_set(open_page: Open) -> None:
    page = open_page()
    after(page, lambda: page.locator("#rate").fill("25"))
    after(page, lambda: page.locator("#group-1-kind").select_option("udp"))
    after(page, lambda: page.locator("#group-1-weight").fill("2"))
    after(page, page.get_by_role("button", name="Add users").click)
    records = runs_of(page)
    assert len(records["abc"]["groups"]) == 3
    assert runs_of(open_page(page.url.split("#")[1])) == records


def test_a_wrong_parameter_is_told_with_its_key(open_page: Open) -> None:
    page = open_page("schemes=abc&param=abc~queue.gamma~much")
    assert "queue.gamma" in page.locator(".problem").inner_text()
    page.locator("#param-abc-queue-gamma").fill("")
    after(page, lambda: page.locator("#param-abc-queue-gamma").press("Enter"))
    assert page.locator("article.failed").count() == 0


def test_an_address_of_nonsense_shows_the_start(open_page: Open) -> None:
    page = open_page("schemes=x,%00&rate=1e9&group=tcp~~&group=y&param=abc&link=9&story=no.7")
    assert list(runs_of(page)) == ["droptail", "abc"]


def test_the_keyboard_does_everything(open_page: Open) -> None:
    page = open_page()
    page.keyboard.press("Tab")
    assert page.locator(":focus").inner_text() == "Skip to the pictures"
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "results"
    page.keyboard.press("Space")
    assert page.locator(".play").inner_text() == "Pause"
    page.keyboard.press("Space")
    page.keyboard.press("d")
    assert page.locator(".reason").first.inner_text().startswith("Dropped at ")
    page.locator("#rate").focus()
    after(page, lambda: page.keyboard.press("ArrowRight"))
    assert page.locator("#rate").get_attribute("aria-valuetext") == "11 Mbit/s"
    assert "droptail: heavy" in page.locator("#status").inner_text()


@pytest.mark.parametrize("look", LOOKS)
def test_it_is_legible(open_page: Open, screenshots: Path, look: str) -> None:
    page = open_page(look=look)
    page.get_by_role("button", name="Next drop").click()
    page.wait_for_timeout(100)
    content, window = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert content <= window
    page.screenshot(path=screenshots / f"playground-{look}.png", full_page=True)
    after(page, lambda: page.evaluate("location.hash = 'story=three-links.3'"))
    page.screenshot(path=screenshots / f"playground-{look}-story.png")
    content, window = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert content <= window


@pytest.mark.parametrize("look", ["desktop", "dark", "phone"])
def test_axe_finds_nothing(open_page: Open, look: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="no axe-playwright-python")
    page = open_page("schemes=droptail,abc,red&story=many-flows.2", look=look)
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    for state in ("page", "dialog"):
        if state == "dialog":
            page.locator("#take-along").click()
        found = axe.Axe().run(page).response
        assert any(rule["id"] == "color-contrast" for rule in found["passes"])
        assert [f"{rule['id']}: {node['target']}" for rule in found["violations"] for node in rule["nodes"]] == []
