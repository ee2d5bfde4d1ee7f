"""Tests the playground in a real browser without network.

Covers every scheme and story, the keyboard, the markup for screen readers, small screens and dark mode. Screenshots for
manual inspection are in $FAIRLANE_SCREENSHOTS, or else in pytest's folder of the test.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Iterator
from itertools import cycle, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import fairlane
from conftest import daily
from fairlane import _fairlane
from playground import built

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


# Times on an idle machine. A busy one may take several times as long.
CHANGE_MS = 300
FIRST_PICTURE_MS = 2000
BUSY = 5
SCHEMES = [scheme["name"] for scheme in fairlane.schemes()]
LOOKS_OF_STORIES = ["phone", "desktop"]
STORIES = ["bufferbloat", "home", "many-flows", "flood", "bbr", "three-links"]
LOOKS: dict[str, dict[str, Any]] = {
    "desktop": {"color_scheme": "light", "viewport": {"width": 1400, "height": 900}},
    "dark": {"color_scheme": "dark", "viewport": {"width": 1400, "height": 900}},
    "phone": {"color_scheme": "light", "viewport": {"width": 390, "height": 844}, "device_scale_factor": 2},
    "phone-dark": {"color_scheme": "dark", "viewport": {"width": 390, "height": 844}, "device_scale_factor": 2},
}
Open = Callable[..., "Page"]


@pytest.fixture(scope="module")
def troubles() -> list[str]:
    """Errors that a page has reported, and what it has fetched."""
    return []


@pytest.fixture(scope="module")
def new_page(browser: Browser, troubles: list[str]) -> Callable[..., Page]:
    """Makes a page without network that takes note of its troubles."""

    def made(look: str, **settings: Any) -> Page:
        page = browser.new_context(**{"offline": True, "reduced_motion": "reduce"} | LOOKS[look] | settings).new_page()
        page.on("console", lambda message: troubles.append(message.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("requestfailed", lambda request: troubles.append(request.url))
        own = ("file:", "data:", "blob:")
        page.on("request", lambda request: request.url.startswith(own) or troubles.append(request.url))
        return page

    return made


@pytest.fixture(scope="module")
def kept() -> dict[str, Page]:
    """Pages that all tests use. A new one would compile the simulator again, which takes a second."""
    return {}


@pytest.fixture
def open_page(new_page: Callable[..., Page], kept: dict[str, Page], troubles: list[str]) -> Iterator[Open]:
    """Opens the playground, and fails if it reports an error or fetches anything."""
    troubles.clear()

    def opened(address: str = "", look: str = "desktop", *, page: Page | None = None, **settings: Any) -> Page:
        kind = f"{look} {settings}"
        if page is None:
            page = kept[kind] = kept.get(kind) or new_page(look, **settings)
        page.goto("about:blank")  # otherwise another address would not load the page again
        page.goto(built().as_uri() + (f"#{address}" if address else ""))
        page.wait_for_selector("html[data-shown]", timeout=30_000)
        return page

    yield opened
    for page in kept.values():
        page.goto("about:blank")
    assert troubles == []


def after(page: Page, act: Callable[[], Any]) -> float:
    """Calls `act` and waits until the page has drawn new figures; returns the time that this took in milliseconds."""
    before = int(page.evaluate("document.documentElement.dataset.shown"))
    act()
    page.wait_for_function(f"Number(document.documentElement.dataset.shown) > {before}")
    return float(page.evaluate("document.documentElement.dataset.ms"))


# A page of four schemes takes a processor some ten seconds.
@pytest.mark.parametrize("every", [16, pytest.param(1, marks=pytest.mark.long)])
def test_every_scheme_is_shown(open_page: Open, every: int) -> None:
    page = open_page()
    schemes = SCHEMES[::every]
    for first in range(0, len(schemes), 4):
        some = schemes[first : first + 4]
        after(page, lambda some=some: page.evaluate(f"location.hash = 'schemes={','.join(some)}'"))
        assert page.locator("article.scheme").count() == page.locator(".scene").count() == len(some)
        assert page.locator("article.failed").count() == 0, page.locator(".problem").all_inner_texts()
        for scheme in page.locator("article.scheme").all():
            assert scheme.locator("figure").count() == 4
            assert scheme.locator(".equation").count() >= 1
            about = scheme.locator(".about p").first.text_content() or ""
            assert about.count(". ") + about.endswith(".") >= 1, about


def test_pictures_follow_a_slider_at_once(open_page: Open) -> None:
    """The page starts with 20 s of a link of 10 Mbit/s. One of five changes must be fast: the machine may be busy."""
    page = open_page()
    page.locator("#large").focus()
    assert any(after(page, lambda: page.keyboard.press("ArrowLeft")) < BUSY * CHANGE_MS for _ in range(5))


def test_a_first_picture_comes_soon(open_page: Open, new_page: Callable[..., Page]) -> None:
    """The time starts at the request for the page. One of three loads must be fast, since the machine may be busy."""

    def first_ms() -> float:
        page = open_page(page=new_page("desktop"))
        found = page.evaluate("performance.getEntriesByName('first picture')[0].startTime")
        page.context.close()
        return float(found)

    assert any(first_ms() < BUSY * FIRST_PICTURE_MS for _ in range(3))


def boxes(page: Page, selector: str) -> list[dict[str, float]]:
    """Positions of elements on the screen."""
    script = "all => all.map(one => one.getBoundingClientRect().toJSON())"
    return list(page.locator(selector).evaluate_all(script))


def on_screen(page: Page, selector: str, top: float = 0) -> bool:
    """True if all elements of the selector are on screen, below `top`."""
    size = page.viewport_size
    assert size is not None
    found = boxes(page, selector)
    return bool(found) and all(
        box["height"] > 0
        and box["top"] >= top - 1
        and box["bottom"] <= size["height"] + 1
        and box["left"] >= 0
        and box["right"] <= size["width"] + 1
        for box in found
    )


@pytest.mark.parametrize("look", daily(["desktop", "phone"], "phone"))
def test_the_first_screen_has_the_scene(open_page: Open, look: str) -> None:
    page = open_page(look=look)
    assert on_screen(page, ".scene, .senders li, .road canvas, .takers li, #large, [data-story=bufferbloat]")
    heavy, light, heavy_under_abc, light_under_abc = page.locator(".takers b").all_inner_texts()
    assert [heavy[-7:], light[-7:], heavy_under_abc[-7:], light_under_abc[-7:]] == [
        " Mbit/s",
        " kbit/s",
        *2 * [" Mbit/s"],
    ]
    assert float(heavy.split()[0]) / float(light.split()[0]) == pytest.approx(0.009, rel=0.1)
    assert float(heavy_under_abc.split()[0]) / float(light_under_abc.split()[0]) == pytest.approx(0.75, rel=0.1)
    assert not page.locator("#form").is_visible()
    assert not page.locator(".equation").first.is_visible()


def pixels(page: Page) -> list[str]:
    return list(page.locator(".road canvas").evaluate_all("all => all.map(one => one.toDataURL())"))


@pytest.mark.parametrize("look", daily(["desktop", "phone"], "desktop"))
def test_the_large_slider_changes_every_picture(open_page: Open, look: str) -> None:
    page = open_page(look=look)
    before, shares = pixels(page), page.locator(".takers").all_inner_texts()
    after(page, lambda: page.locator("#large").fill("2"))
    assert page.locator(".large output").inner_text() == "2"
    assert "group=tcp~1~2~" in page.url
    new_shares = page.locator(".takers").all_inner_texts()
    assert all(old != new for old, new in zip(before, pixels(page), strict=True))
    assert all(old != new for old, new in zip(shares, new_shares, strict=True))
    after(page, lambda: page.locator("#main").select_option("buffer"))
    assert page.locator(".large output").inner_text() == "100 packets"
    after(page, lambda: page.locator("#large").fill("0"))
    assert "buffer=10&" in page.url


def test_links_in_a_row_are_drawn_one_by_one(open_page: Open) -> None:
    """Counts the boxes of queues on the canvas: runs of over 20 columns that have at least 4 pixels in ink colour."""
    script = """() => {
        const canvas = document.querySelector(".road canvas"), context = canvas.getContext("2d");
        const ink = getComputedStyle(document.documentElement).getPropertyValue("--ink").trim();
        const [r, g, b] = [1, 3, 5].map(at => parseInt(ink.slice(at, at + 2), 16));
        const { width, height } = canvas, data = context.getImageData(0, 0, width, height).data;
        const isInk = (x, y) => [r, g, b].every((part, at) => data[4 * (y * width + x) + at] === part);
        const rows = Array.from({ length: height }, (_, y) => y);
        const found = Array.from({ length: width }, (_, x) => (rows.filter(y => isInk(x, y)).length >= 4 ? "#" : " "));
        return found.join("").split(/ {9,}/).filter(run => run.length > 20).length;
    }"""
    assert [open_page(f"schemes=droptail&links={links}").evaluate(script) for links in (1, 3)] == [1, 3]


def test_packets_move_unless_one_asks_for_calm(open_page: Open) -> None:
    calm = open_page()
    assert calm.locator(".play").inner_text() == "Play"
    before = pixels(calm)
    calm.wait_for_timeout(300)
    assert pixels(calm) == before
    moving = open_page(reduced_motion="no-preference")
    assert moving.locator(".play").inner_text() == "Pause"
    before = pixels(moving)
    moving.wait_for_timeout(300)
    assert all(old != new for old, new in zip(before, pixels(moving), strict=True))


@pytest.mark.parametrize(
    "on",
    daily(product(STORIES, LOOKS_OF_STORIES), *zip(STORIES[::2], cycle(LOOKS_OF_STORIES), strict=False)),
    ids="-".join,
)
def test_a_story_holds_what_it_says_with_its_subject_on_screen(open_page: Open, on: tuple[str, str]) -> None:
    story, look = on
    page = open_page(look=look)
    after(page, lambda: page.locator(f"[data-story={story}]").click())
    step, guesses, next_button = 1, 0, page.locator("#story .next")
    while True:
        if page.locator(".option").count():
            guesses += 1
            assert next_button.is_disabled()
            assert not page.locator(".takers li > *, .scene .facts > *, .columns, .reason").filter(visible=True).count()
            assert page.locator("#status").inner_text() == ""
            page.locator(".option").first.click()
            answer = page.locator("#story strong").inner_text()
            assert answer.startswith(("You guessed right.", "You said “"))
        assert page.locator("#story").get_attribute("data-step") == f"{story}.{step}"
        assert page.locator("#story").get_attribute("data-failed") == ""
        assert "…" not in page.locator("#story .answer").inner_text()
        page.wait_for_timeout(50)
        (text,) = boxes(page, "#story")
        assert on_screen(page, "#story")
        (button,) = boxes(page, f"[data-story={story}]")
        assert button["left"] >= 0
        assert button["right"] <= page.evaluate("innerWidth")
        assert on_screen(page, ".subject", top=text["bottom"]), (step, text, boxes(page, ".subject"))
        if next_button.is_disabled():
            break
        after(page, next_button.click)
        step += 1
    assert step >= 3
    assert guesses >= 1
    assert f"story={story}.{step}" in page.url


def test_the_browsers_back_goes_back(open_page: Open) -> None:
    page = open_page()
    start = page.url
    large = page.locator("#large")
    large.focus()
    for _ in range(3):  # one gesture
        after(page, lambda: page.keyboard.press("ArrowLeft"))
    moved = page.url
    after(page, lambda: page.locator("#scheme-abc").select_option("codel"))
    after(page, lambda: page.locator("[data-story=bbr]").click())
    assert page.locator("#story").is_visible()
    after(page, page.go_back)
    assert not page.locator("#story").is_visible()
    assert page.locator(".scene").nth(1).get_attribute("data-scheme") == "codel"
    after(page, page.go_back)
    assert (page.url, large.input_value()) == (moved, "7")
    after(page, page.go_back)
    assert (page.url, large.input_value()) == (start, "10")
    after(page, page.go_forward)
    assert (page.url, large.input_value()) == (moved, "7")


CALLS = (
    "schemes=droptail,fq_codel&buffer=400&group=tcp~1~4~cubic~20~1~5~0~load&group=call~1~1~cubic~20~1~5~0~call"
    "&group=video~1~1~cubic~20~1~5~0~film&group=udp~1~1~cubic~20~1~12~0~flood"
)


@pytest.mark.parametrize("links", daily([1, 3], 3))
def test_a_call_is_heard_as_the_engine_rates_it(open_page: Open, links: int) -> None:
    """The page does not play the packets that the record counts as lost or late."""
    page = open_page(f"{CALLS}&links={links}")
    for scheme, record in runs_of(page).items():
        voip = record["groups"][1]["voip"]
        silent = page.evaluate(f"playground.heard('{scheme}', 1).filter(heard => !heard).length")
        heard = page.evaluate(f"playground.heard('{scheme}', 1).length")
        assert heard == pytest.approx(15 / 0.02, abs=15)
        assert silent / heard == pytest.approx(voip["lost_share"] + voip["late_share"], abs=0.02)
        scene = page.locator(f".scene[data-scheme={scheme}]")
        assert f"MOS {voip['mos']:.1f}" in scene.locator(".words").first.inner_text()
        assert scene.locator(".tv").count() == 1
    assert runs_of(page)["droptail"]["groups"][1]["voip"]["lost_share"] > 0.1


def test_a_call_sounds_only_when_asked(open_page: Open) -> None:
    page = open_page(CALLS)
    button = page.get_by_role("button", name="Listen to call under fq_codel")
    assert button.get_attribute("aria-pressed") == "false"
    button.click()
    assert button.get_attribute("aria-pressed") == "true"
    button.click()
    assert button.get_attribute("aria-pressed") == "false"


def test_a_busy_sign_while_it_computes(open_page: Open) -> None:
    page = open_page("schemes=droptail,abc")
    states = page.evaluate(
        """async () => {
            const busy = () => document.documentElement.hasAttribute('data-busy');
            const seen = () => [busy(), document.querySelector('main').ariaBusy];
            document.querySelector('#large').value = 3;
            document.querySelector('#large').dispatchEvent(new Event('input'));
            const computing = seen();
            while (busy()) await new Promise(next => setTimeout(next, 20));
            return [...computing, ...seen()];
        }"""
    )
    assert states == [True, "true", False, "false"]


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
    page.locator("#controls > summary").click()
    after(page, lambda: page.locator("#rate").fill("25"))
    after(page, lambda: page.locator("#group-1-kind").select_option("udp"))
    after(page, lambda: page.locator("#group-1-weight").fill("2"))
    after(page, page.get_by_role("button", name="Add users").click)
    records = runs_of(page)
    assert len(records["abc"]["groups"]) == 3
    assert runs_of(open_page(page.url.split("#")[1])) == records


@pytest.mark.parametrize("look", daily(["desktop", "phone"], "phone"))
def test_an_error_stands_beside_its_field(open_page: Open, look: str) -> None:
    page = open_page("schemes=droptail,abc&param=abc~queue.gamma~much", look=look)
    field = page.locator("#param-abc-queue-gamma")
    for place in (page.locator(".scene[data-scheme=abc]"), page.locator(".field", has=field)):
        assert "queue.gamma" in place.locator(".problem").inner_text()
    assert (field.is_visible(), field.get_attribute("aria-invalid")) == (True, "true")
    assert page.locator(".scene.failed").count() == 1
    page.get_by_role("button", name="Go to the field").click()
    assert on_screen(page, "#param-abc-queue-gamma:focus, .field:has(:focus) .problem")
    field.fill("")
    after(page, lambda: field.press("Enter"))
    assert page.locator(".failed, .field .problem, [aria-invalid]").count() == 0


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
    page.locator("#controls > summary").focus()
    page.keyboard.press("Enter")
    page.locator("#rate").focus()
    after(page, lambda: page.keyboard.press("ArrowRight"))
    assert page.locator("#rate").get_attribute("aria-valuetext") == "11 Mbit/s"
    assert "droptail: heavy" in page.locator("#status").inner_text()


@pytest.mark.parametrize("look", daily(LOOKS, "phone-dark"))
def test_it_is_legible(open_page: Open, screenshots: Path, look: str) -> None:
    page = open_page(look=look)
    page.screenshot(path=screenshots / f"playground-{look}-first.png")
    page.get_by_role("button", name="Next drop").click()
    page.wait_for_timeout(100)
    content, window = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert content <= window
    page.screenshot(path=screenshots / f"playground-{look}.png", full_page=True)
    after(page, lambda: page.evaluate("location.hash = 'story=three-links.3'"))
    page.screenshot(path=screenshots / f"playground-{look}-story.png")
    content, window = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
    assert content <= window


@pytest.mark.parametrize("look", daily(["desktop", "dark", "phone"], "desktop"))
def test_axe_finds_nothing(open_page: Open, look: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="no axe-playwright-python")
    page = open_page("schemes=droptail,abc,red&story=many-flows.2", look=look)
    page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    for state in ("guess", "page", "dialog"):
        if state == "page":
            page.locator(".option").first.click()
        if state == "dialog":
            page.locator("#take-along").click()
        found = axe.Axe().run(page).response
        assert any(rule["id"] == "color-contrast" for rule in found["passes"])
        assert [f"{rule['id']}: {node['target']}" for rule in found["violations"] for node in rule["nodes"]] == []
