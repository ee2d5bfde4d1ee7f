"""The site builds without warnings; links are valid, the search finds every scheme, and pages are accessible.

Screenshots for manual inspection are in $FAIRLANE_SCREENSHOTS, or else in pytest's folder of the test.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import fairlane
import playground
from conftest import ROOT, execute
from fairlane.judge.library import papers
from generators import evaluation, pages

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Request

for needed in ("sphinx", "myst_parser", "furo", "sphinx_copybutton"):
    pytest.importorskip(needed, reason=f"no {needed}: pip install -r requirements/site.txt")

pytestmark = pytest.mark.long

SCHEMES = [scheme["name"] for scheme in fairlane.schemes()]
DOCS = ROOT / "docs"
AGREEMENT = ROOT / "site" / "data" / "agreement-linux.json"
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
    "docs/agreement-linux",
    "docs/tutorial",
    "api/own",
]
"""A page of each kind."""
CONTRAST = ["color-contrast", "link-in-text-block"]
"""Rules of axe about colours, which take the most time. Only these rules can give other results in dark mode than in
light mode. On a phone, colours differ only in parts that all pages have, so the first page is enough."""
AXE: dict[str, dict[str, Any]] = {
    "desktop": {},
    "dark": {"runOnly": CONTRAST},
    "phone": {"rules": {rule: {"enabled": False} for rule in CONTRAST}},
}
Open = Callable[..., "Page"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site without the slow parts (crates, outputs of the tutorial), which `make site` includes."""
    with contextlib.suppress(pytest.skip.Exception):  # without it, pages say that it is missing
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
    # The navigation of a page links to all others.
    assert int(checked[1]) > int(checked[2]) ** 2


def test_every_page_of_the_docs_is_there(site: Path) -> None:
    for page in DOCS.rglob("*.md"):
        assert (site / page.relative_to(ROOT)).with_suffix(".html").exists(), page


def test_the_package_is_explained(site: Path) -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in (site / "api").glob("*.html"))
    # From the stubs; the extension itself has neither.
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
    """Opens pages from files, offline, and fails if a page reports an error or fetches anything."""
    troubles: list[str] = []
    contexts: dict[str, Any] = {}

    def failed(name: str, request: Request) -> None:
        if request.failure != "net::ERR_ABORTED":  # from a page that was left
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
    """Pages found by the site's search, best first."""
    words = "Search._performSearch(...Search._parseQuery(query)).reverse().map(([page]) => page)"
    return list(dict.fromkeys(page.evaluate(f"(query) => {words}", query)))


def source(scheme: str) -> str:
    """The first sentence of a chapter's source; for a paper, up to its title."""
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
    # Searches by RFC numbers, which Sphinx's search ignores, and by a word that only the title has.
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
        # The frame is as high as its content, so it does not intercept the mouse wheel.
        page.wait_for_function("document.querySelector('iframe.live').style.height")
        assert page.evaluate("document.querySelector('iframe.live').offsetHeight") > 900


SIZES = [(1400, 900), (390, 844)]


def heat_map(open_page: Open, size: tuple[int, int], view: str = "") -> Page:
    """Opens the page of the league with the columns of a view."""
    page = open_page("docs/evaluation")
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.get_by_label("Columns", exact=True).select_option(view)
    return page


def names(page: Page) -> list[str]:
    """The entries in the heat map, from top to bottom."""
    return page.locator("table.heat tbody .pin").all_inner_texts()


def places(page: Page, column: int) -> list[int]:
    """The ranks in a column of the heat map, without entries that were not measured."""
    cells = page.locator(f"table.heat tbody td:nth-child({column + 2})").all_inner_texts()
    return [int(cell) for cell in cells if cell != "–"]


@pytest.mark.parametrize("size", SIZES)
def test_the_league_sorts_by_every_column(open_page: Open, size: tuple[int, int]) -> None:
    page = heat_map(open_page, size)
    assert places(page, 0) == sorted(places(page, 0))
    for column in range(page.locator("table.heat thead .sort").count() - 1):
        head = page.locator("table.heat thead .sort").nth(column + 1)
        for direction in ("ascending", "descending"):
            if not (column == 0 and direction == "ascending"):
                head.click()
            assert places(page, column) == sorted(places(page, column), reverse=direction == "descending")
            assert page.locator("[aria-sort]").get_attribute("aria-sort") == direction


@pytest.mark.parametrize("size", SIZES)
def test_the_league_says_which_scheme_without_labels_and_flow_state_is_fairest(
    open_page: Open, size: tuple[int, int]
) -> None:
    page = heat_map(open_page, size, "worst_share")
    page.get_by_role("button", name="no labels").click()
    page.get_by_role("button", name="no per-flow state").click()
    page.get_by_role("button", name="Many flows").click()
    able = {one["display_name"] for one in fairlane.schemes() if (one["marker"], one["flow_state"]) == ("none", "none")}
    shown = [name.split(" ")[0] for name in names(page)]
    assert set(shown) == able
    found = evaluation.data()
    family = found["values"]["worst_share"]["many-flows"]
    fitting = [
        (family[at][1], entry["name"])
        for at, entry in enumerate(found["entries"])
        if {"no labels", "no flow state"} <= set(entry["fits"])
    ]
    assert shown[0] == min(fitting)[1]
    page.get_by_role("searchbox", name="Scheme").fill("ch")
    assert {name.split(" ")[0] for name in names(page)} == {"CHOKe"}
    assert page.locator(".limits output").inner_text() == f"2 of {len(found['entries'])} entries"


@pytest.mark.parametrize("size", SIZES)
def test_a_cell_shows_its_interval_to_pointer_and_keys(open_page: Open, size: tuple[int, int]) -> None:
    page = heat_map(open_page, size)
    box, row = (
        page.locator(".detail"),
        page.locator("table.heat tbody tr", has=page.get_by_text("FQ-CoDel", exact=True)),
    )
    value = str(evaluation.standing().values["fq_codel"]["worst_share"])
    words = ["FQ-CoDel", "share of the worst user", value, "of 76"]
    row.first.locator("td").first.hover()
    assert all(word in box.inner_text() for word in words)
    page.keyboard.press("Escape")
    assert box.is_hidden()
    row.first.locator(".pin").focus()
    page.keyboard.press("ArrowRight")
    assert all(word in box.inner_text() for word in words)
    assert f"{value}, place" in str(page.evaluate("document.activeElement.ariaLabel"))
    for _ in range(40):
        page.keyboard.press("ArrowDown")
    page.wait_for_timeout(500)
    assert page.evaluate("document.activeElement.ariaLabel.split(',')[0]") in box.inner_text()
    left, right, top, bottom = page.evaluate(
        "(({ left, right, top, bottom }) => [left, innerWidth - right, top, innerHeight - bottom])"
        "(document.querySelector('.detail').getBoundingClientRect())"
    )
    assert min(left, right, top, bottom) >= 0
    page.keyboard.press("End")
    assert (
        page.evaluate("document.activeElement.closest('td').cellIndex")
        == page.locator("table.heat thead .sort").count() - 1
    )


@pytest.mark.parametrize("size", SIZES)
def test_pinned_entries_are_compared(open_page: Open, size: tuple[int, int]) -> None:
    page = heat_map(open_page, size)
    comparison = page.locator(".comparison")
    for name in ("WFQ", "CoDel"):
        page.locator("table.heat .pin", has_text=re.compile(f"^{name}$")).click()
    assert names(page)[:2] == ["WFQ", "CoDel"]
    assert re.search(
        r"WFQ is better in \d+: worst share · .*CoDel is better in \d+: .*delay p99", comparison.inner_text()
    )
    assert comparison.locator("svg.profile polyline").count() == 2
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    comparison.get_by_role("button", name="Unpin WFQ").click()
    assert comparison.is_hidden()
    page.locator("table.heat tbody td").nth(40).focus()
    page.keyboard.press("Enter")
    assert comparison.is_visible()


@pytest.mark.parametrize("values", ["", "values"])
@pytest.mark.parametrize("width", [1400, 1300, 1024, 390])
def test_the_league_fits_the_window_or_scrolls(open_page: Open, width: int, values: str) -> None:
    page = heat_map(open_page, (width, 844))
    page.get_by_label("Numbers", exact=True).select_option(values)
    wrapper = page.locator(".table-wrapper", has=page.locator("table.heat.league"))
    last = wrapper.locator("thead .sort").last
    hidden = wrapper.evaluate("(one) => one.scrollWidth - one.clientWidth")
    assert hidden == 0 or values or width == 390
    last.scroll_into_view_if_needed()
    for part in (wrapper, last):
        left, right = part.evaluate("(one) => (({ left, right }) => [left, right])(one.getBoundingClientRect())")
        assert 0 <= left < right <= width


def test_the_table_of_limits_agrees_with_the_questions(open_page: Open) -> None:
    page = heat_map(open_page, SIZES[0])
    edge, core, hosts = (
        page.get_by_label(question)
        for question in (
            "Can the edge write a label into every packet?",
            "What can a core port remember of flows or users?",
            "Should packets of ECN hosts be marked, not dropped?",
        )
    )
    page.get_by_label("What matters most?").select_option("worst_share")
    for limits, (_, cell) in zip(evaluation.LIMITS, evaluation.choice()[1], strict=True):
        edge.select_option("no labels" if "no labels" in limits else "")
        core.select_option("no flow state" if "no flow state" in limits else "")
        hosts.select_option("marks" if "marks" in limits else "")
        advised = page.locator(".advice-answer ol > li > a").evaluate_all("(all) => all.map((one) => one.pathname)")
        assert [Path(path).stem for path in advised] == re.findall(r"schemes/(\w+)\.md", cell)


def test_questions_lead_to_schemes_that_fit_the_answers(open_page: Open) -> None:
    page = heat_map(open_page, SIZES[0])
    found, answer = evaluation.data(), page.locator(".advice-answer")
    page.get_by_label("Can the edge write a label into every packet?").select_option(label="no")
    page.get_by_label("What can a core port remember of flows or users?").select_option(label="nothing")
    page.get_by_label("What matters most?").select_option(label="99th percentile of the delay")
    advised = answer.locator("ol > li > a").all_inner_texts()
    assert len(advised) == 3
    fits = {entry["name"]: {"no labels", "no flow state"} <= set(entry["fits"]) for entry in found["entries"]}
    assert all(fits[name.partition(" (")[0]] for name in advised)
    assert "99th percentile of the delay: " in answer.inner_text()
    page.get_by_label("What matters most?").select_option(label="share of the worst user")
    page.get_by_label("In which situation?").select_option(label="Many flows")
    advised = answer.locator("ol > li > a").all_inner_texts()
    family: dict[str, list[int]] = {entry["name"]: [] for entry in found["entries"]}
    for entry, cell in zip(found["entries"], found["values"]["worst_share"]["many-flows"], strict=True):
        family[entry["name"]].append(cell[1])
    ranks = [min(family[name.partition(" (")[0]]) for name in advised]
    assert ranks == sorted(ranks)
    assert f"place {ranks[0]} " in answer.locator("ol > li").first.inner_text()
    answer.get_by_role("button", name="Compare them in the picture").click()
    assert [name.partition(" ")[0] for name in names(page)[:3]] == [name.partition(" ")[0] for name in advised]
    page.get_by_label("Should packets of ECN hosts be marked, not dropped?").select_option(label="yes")
    assert {name.partition(" (")[0] for name in answer.locator("ol > li > a").all_inner_texts()} == {
        "COBALT",
        "DualPI2",
    }


@pytest.mark.parametrize("size", SIZES)
def test_cells_of_a_comparison_are_tiles_that_follow_the_filters(open_page: Open, size: tuple[int, int]) -> None:
    page = open_page("docs/agreement-linux")
    page.set_viewport_size({"width": size[0], "height": size[1]})
    picture = page.locator("figure.picture")
    tiles = picture.locator("button.tile")
    counts = {row[1]: row[2] for row in json.loads(AGREEMENT.read_text())["counts"][0]["rows"]}
    agreeing, cells = map(int, counts["1000 Mbit/s"].split(" of "))
    assert tiles.count() == 246
    page.get_by_label("rate", exact=True).first.select_option("1000 Mbit/s")
    assert (tiles.count(), picture.locator("button.holds").count()) == (cells, agreeing)
    picture.get_by_label("Colour").select_option(label="use of the link")
    assert agreeing < picture.locator("button.holds").count() < cells
    picture.get_by_label("Columns", exact=True).select_option("round trip")
    tiles.first.focus()
    assert "use of the link: " in page.locator(".detail").inner_text()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement === document.querySelectorAll('button.tile')[1]")


def test_claims_are_tiles_by_paper_and_kind(open_page: Open) -> None:
    page = open_page("docs/reproduction")
    picture = page.locator("figure.picture")
    claims = [claim for paper in papers().values() for one in paper.experiments.values() for claim in one.claims]
    assert picture.locator("button.tile").count() == len(claims)
    assert picture.locator("tbody th").count() == len(papers())
    page.locator(".filter.all").get_by_label("Verdict").select_option("differs")
    assert picture.locator("button.tile").count() == picture.locator("button.differs").count() > 0


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
        for pin in page.locator("table.heat .pin").all()[:2]:
            pin.click()
        page.evaluate("scrollTo({ top: 0, behavior: 'instant' })")
        page.screenshot(path=screenshots / f"site-{name.replace('/', '-')}-{look}.png")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
        # The playground has a separate test. A few rows represent all similar rows.
        page.evaluate("document.querySelectorAll('iframe, tbody > tr:nth-child(n+9)').forEach((part) => part.remove())")
        options = {"preload": False, "resultTypes": ["violations"]} | (AXE[look] if name != KINDS[0] else {})
        violations = axe.Axe().run(page, options=options).response["violations"]
        assert [f"{name}: {rule['id']}: {node['target']}" for rule in violations for node in rule["nodes"]] == []
        page.close()
