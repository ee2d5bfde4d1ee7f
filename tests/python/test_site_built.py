"""The built site: it builds without a warning, its links hold, its search finds every scheme, and people can read it.

The screenshots are kept, for people to look at: in $FAIRLANE_SCREENSHOTS, or else in pytest's folder of the test.
"""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import fairlane
import playground
from conftest import ROOT, execute
from generators import pages

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Request

for needed in ("sphinx", "myst_parser", "furo", "sphinx_copybutton"):
    pytest.importorskip(needed, reason=f"no {needed}: pip install -r requirements/site.txt")

pytestmark = pytest.mark.long

SCHEMES = [scheme["name"] for scheme in fairlane.schemes()]
DOCS = ROOT / "docs"
LOOKS: dict[str, dict[str, Any]] = {
    "desktop": {"color_scheme": "light", "viewport": {"width": 1440, "height": 1000}},
    "dark": {"color_scheme": "dark", "viewport": {"width": 1440, "height": 1000}},
    "phone": {"color_scheme": "light", "viewport": {"width": 400, "height": 850}},
}
KINDS = [
    "index",
    "try",
    "schemes",
    "docs/schemes/abc",
    "docs/evaluation",
    "docs/reproduction",
    "docs/tutorial",
    "api/own",
]
"""A page of each kind."""
CONTRAST = ["color-contrast", "link-in-text-block"]
"""What of axe depends on colours, and takes the most time: what is not of colours is the same in the dark, and colours
are the same on a phone but for what is shown there alone, which the first page has as all pages have."""
AXE: dict[str, dict[str, Any]] = {
    "desktop": {},
    "dark": {"runOnly": CONTRAST},
    "phone": {"rules": {rule: {"enabled": False} for rule in CONTRAST}},
}
Open = Callable[..., "Page"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site without what takes long: the crates, and what the tutorial's code gives. `make site` has these too."""
    with contextlib.suppress(pytest.skip.Exception):  # then pages say that there is none
        playground.built()
    out = tmp_path_factory.mktemp("site") / "site"
    done = execute(sys.executable, ROOT / "site" / "build.py", "--quick", "--out", out, timeout_s=900)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return out


def test_no_link_is_broken(site: Path) -> None:
    done = execute(sys.executable, ROOT / "site" / "links.py", site)
    assert done.returncode == 0, done.stdout
    checked = re.fullmatch(r"links: (\d+) in (\d+) pages, 0 broken\n", done.stdout)
    assert checked
    # A page leads to all others by its navigation.
    assert int(checked[1]) > int(checked[2]) ** 2


def test_every_page_of_the_docs_is_there(site: Path) -> None:
    for page in DOCS.rglob("*.md"):
        assert (site / page.relative_to(ROOT)).with_suffix(".html").exists(), page


def test_the_package_is_explained(site: Path) -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in (site / "api").glob("*.html"))
    # From the stubs: the extension itself has neither.
    assert "Round-trip time of the newest segment that it delivers" in text
    assert {f"queues.{scheme}" for scheme in SCHEMES} <= set(re.findall(r'id="fairlane\.(queues\.\w+)"', text))


def test_every_chapter_has_a_live_example_of_its_scheme(site: Path) -> None:
    for scheme in SCHEMES:
        text = (site / "docs" / "schemes" / f"{scheme}.html").read_text(encoding="utf-8")
        if not (site / "playground.html").exists():
            assert "built without the playground" in text
        elif scheme != "droptail":
            assert re.search(
                rf'<iframe[^>]*src="\.\./\.\./playground\.html\?example#schemes=droptail,{scheme}["&]', text
            )


@pytest.fixture
def open_page(browser: Browser, site: Path) -> Iterator[Open]:
    """Opens pages from their files, offline, and sees to it that nothing goes wrong and nothing is fetched."""
    troubles: list[str] = []
    contexts: dict[str, Any] = {}

    def failed(name: str, request: Request) -> None:
        if request.failure != "net::ERR_ABORTED":  # that of a page that was left
            troubles.append(f"{name}: {request.url}: {request.failure}")

    def opened(name: str, look: str = "desktop") -> Page:
        if look not in contexts:
            contexts[look] = browser.new_context(offline=True, reduced_motion="reduce", **LOOKS[look])
        page: Page = contexts[look].new_page()
        page.on("pageerror", lambda error: troubles.append(f"{name}: {error}"))
        page.on("requestfailed", lambda request: failed(name, request))
        own = ("file:", "data:", "blob:")
        page.on("request", lambda request: request.url.startswith(own) or troubles.append(request.url))
        path, _, query = name.partition("?")
        page.goto((site / f"{path}.html").as_uri() + (f"?{query}" if query else ""))
        return page

    yield opened
    for context in contexts.values():
        context.close()
    assert troubles == []


def found(page: Page, query: str) -> list[str]:
    """Pages that the site's own search finds, the best first."""
    words = "Search._performSearch(...Search._parseQuery(query)).reverse().map(([page]) => page)"
    return list(dict.fromkeys(page.evaluate(f"(query) => {words}", query)))


def source(scheme: str) -> str:
    """What a chapter names as its source, up to the title of the paper if it is one: its first sentence."""
    chapter = (DOCS / "schemes" / f"{scheme}.md").read_text(encoding="utf-8")
    sentence = re.search(
        r"^Source: (.*?(?<=[\w\"`).])(?<!\b[A-Z]))\.?\s*(?:\. |\n\n)", chapter, re.MULTILINE | re.DOTALL
    )
    assert sentence, scheme
    words = " ".join(sentence[1].split())
    return re.sub(r'("[^"]*").*', r"\1", words) if '"' in words else words.split(";")[0]


def test_the_search_finds_every_scheme_by_its_name_and_by_its_paper(open_page: Open) -> None:
    page = open_page("search?q=fair")
    page.wait_for_selector("#search-results li")
    for scheme in SCHEMES:
        assert found(page, scheme)[0] == f"docs/schemes/{scheme}"
        assert f"docs/schemes/{scheme}" in found(page, source(scheme))[:5], source(scheme)
    # By numbers of RFCs, which the search of Sphinx leaves out, and by a word of the title alone.
    assert "docs/schemes/codel" in found(page, "RFC 8289")
    assert "docs/schemes/csfq" in found(page, "Stoica")


def test_the_search_shows_what_it_finds(open_page: Open) -> None:
    page = open_page("search?q=docsis_qp")
    assert page.locator("#search-results li a").first.inner_text() == "DOCSIS queue protection"


def test_a_live_example_runs(open_page: Open, site: Path) -> None:
    if not (site / "playground.html").exists():
        pytest.skip("no playground here")
    for scheme in ("codel", "afd", "dualpi2"):
        page = open_page(f"docs/schemes/{scheme}")
        frame = page.locator("iframe.live")
        frame.scroll_into_view_if_needed()
        inside = page.frame_locator("iframe.live")
        inside.locator("html[data-shown]").wait_for()
        assert inside.locator("article.scheme").count() == 2
        assert inside.locator("article.failed").count() == 0
        # As high as what it shows: it does not catch the wheel.
        page.wait_for_function("document.querySelector('iframe.live').style.height")
        assert page.evaluate("document.querySelector('iframe.live').offsetHeight") > 900


def shown(page: Page, table: str) -> list[str]:
    """First cells of the rows that are seen."""
    rows = f"[...document.querySelector('{table}').tBodies[0].rows].filter((row) => !row.hidden)"
    return list(page.evaluate(f"{rows}.map((row) => row.cells[0].textContent)"))


def test_the_league_sorts_and_filters(open_page: Open) -> None:
    page = open_page("docs/evaluation")
    column = page.get_by_role("button", name="worst share")
    cells = (
        "[...document.querySelector('table.broad').tBodies[0].rows].map((row) => parseFloat(row.cells[1].textContent))"
    )
    before = page.evaluate(cells)
    for order, direction in ((sorted(before), "ascending"), (sorted(before, reverse=True), "descending")):
        column.click()
        assert page.evaluate(cells) == order
        assert page.locator("[aria-sort]").get_attribute("aria-sort") == direction
    page.get_by_label("Rows with").first.fill("share_per=user fq_")
    entries = shown(page, "table.broad")
    assert entries
    assert all("fq_" in entry and "share_per=user" in entry for entry in entries)
    assert page.locator(".filter output").first.inner_text() == f"{len(entries)} of {len(before)} rows"


def test_long_tables_filter_by_columns_of_few_values(open_page: Open) -> None:
    page = open_page("docs/agreement-ns3")
    fields = page.locator(".filter", has=page.get_by_label("agrees", exact=True)).first
    total = int(fields.locator("output").inner_text().split()[0])
    fields.get_by_label("agrees", exact=True).select_option("no")
    assert 0 < int(fields.locator("output").inner_text().split()[0]) < total


def test_an_anchor_that_is_gone_leads_to_the_nearest_heading(open_page: Open) -> None:
    page = open_page("docs/engine")
    page.goto(page.url + "#limits-today")
    page.reload()
    assert page.evaluate("scrollY > 0")


def test_the_claims_of_all_papers_filter_by_verdict(open_page: Open) -> None:
    page = open_page("docs/reproduction")
    whole = page.locator(".filter.all")
    total = int(whole.locator("output").inner_text().split()[0])
    text = pages.expanded((DOCS / "reproduction.md").read_text(encoding="utf-8"), ROOT / "crates")
    tables = re.findall(r"^\| claim \|.* verdict \|.*\n\|.*\n((?:\|.*\n)+)", text, re.MULTILINE)
    assert total == sum(rows.count("\n") for rows in tables)
    options = whole.locator("select option").all_inner_texts()
    sums = 0
    for verdict in options[1:]:
        whole.locator("select").select_option(verdict)
        sums += int(whole.locator("output").inner_text().split()[0])
    assert sums == total


def test_no_page_is_wider_than_a_phone(open_page: Open, site: Path) -> None:
    pages = sorted(page.relative_to(site).with_suffix("").as_posix() for page in site.rglob("*.html"))
    page = open_page("index", "phone")
    wide = []
    for name in pages:
        if name != "playground":
            page.goto((site / f"{name}.html").as_uri(), wait_until="domcontentloaded")
            content, window = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
            wide += [name] if content > window else []
    assert wide == []


@pytest.mark.parametrize("look", LOOKS)
def test_it_is_legible(open_page: Open, screenshots: Path, look: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="no axe-playwright-python")
    for name in KINDS:
        page = open_page(name, look)
        page.screenshot(path=screenshots / f"site-{name.replace('/', '-')}-{look}.png")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
        # The playground in its frame is held to it by its own test; of rows that are alike, some stand for all.
        page.evaluate("document.querySelectorAll('iframe, tbody > tr:nth-child(n+9)').forEach((part) => part.remove())")
        options = {"preload": False, "resultTypes": ["violations"]} | (AXE[look] if name != KINDS[0] else {})
        violations = axe.Axe().run(page, options=options).response["violations"]
        assert [f"{name}: {rule['id']}: {node['target']}" for rule in violations for node in rule["nodes"]] == []
        page.close()
