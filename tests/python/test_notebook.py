"""Tests the display in notebooks: scenarios, results and catalogues as HTML, figures, and a progress bar."""

import sys
from collections.abc import Callable
from html.parser import HTMLParser
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from matplotlib.figure import Figure

import fairlane
from conftest import SHORT_SCENARIO
from fairlane import Comparison, Scenario
from fairlane.base.progress import progress
from fairlane.results import figures
from fairlane.results.intervals import format_interval
from fairlane.results.names import display_name

NASTY = "<script>alert(1)</script> & \x1b[31m"
SCHEMES = ["droptail", "abc", "red", "pie", "codel", "choke", "drr", "wfq", "sfq"]
"""More schemes than can share axes."""
VOID = {"br", "progress"}


class Page(HTMLParser):
    """Elements and text of an HTML fragment; every element must be closed."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.texts: list[str] = []
        self.feed(markup)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not any(name.startswith("on") or name in {"src", "href"} for name, _ in attrs)
        self.tags.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert tag in VOID or self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open[-1:] != ["style"]:
            self.texts.append(data)


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    named = SHORT_SCENARIO.replace("name", NASTY).replace("groups[1].name", NASTY)
    named = named.replace("probes.delay_distribution", True)
    return named.replace("probes.series_interval", "0.25 s").replace("run.replications", 2)


@pytest.fixture(scope="module")
def compared(scenario: Scenario) -> Comparison:
    return fairlane.compare(scenario, {"abc": "abc", NASTY: "abc:gamma=8 packets"})


@pytest.fixture(scope="module")
def many(scenario: Scenario) -> Comparison:
    return fairlane.compare(scenario, SCHEMES, replications=1)


DISPLAYS: dict[str, Callable[[Scenario, Comparison, Comparison], Any]] = {
    "scenario": lambda scenario, _, __: scenario,
    "scenario with a mistake": lambda scenario, _, __: scenario.replace("queue.<script>", NASTY),
    "scenario of no TOML": lambda _, __, ___: Scenario.from_dict({"name": None, "groups": [{"sources": [None]}, 3]}),
    "result": lambda _, compared, __: compared.results[NASTY],
    "comparison": lambda _, compared, __: compared,
    "comparison of many": lambda _, __, many: many,
    "schemes": lambda _, __, ___: fairlane.schemes(),
    "scheme": lambda _, __, ___: fairlane.schemes("abc"),
}


@pytest.mark.parametrize("name", DISPLAYS)
def test_displays_are_text_without_scripts_in_the_colours_of_the_page(
    name: str, scenario: Scenario, compared: Comparison, many: Comparison
) -> None:
    markup = DISPLAYS[name](scenario, compared, many)._repr_html_()
    page = Page(markup)
    assert "script" not in page.tags
    assert "\x1b" not in markup
    # Only lines have a fixed colour; all others follow the light or dark surroundings.
    assert "#" not in markup.partition("<style>")[2].partition("</style>")[0]
    if name != "scenario of no TOML" and not name.startswith("scheme"):
        assert any(r"<script>alert(1)</script> & \x1b[31m" in text for text in page.texts)


def test_a_display_has_the_numbers_of_the_document(compared: Comparison) -> None:
    texts = Page(compared._repr_html_()).texts
    for result in compared.results.values():
        ratio = result.summary["throughput_ratio"]
        assert ratio
        assert format_interval(ratio["mean"], ratio["half_width"]) in texts


def test_a_wrong_scenario_shows_its_mistake() -> None:
    texts = "".join(Page(SHORT_SCENARIO.replace("queue.gama", 3)._repr_html_()).texts)
    assert "error: queue.gama: unknown key" in texts
    assert 'scheme = "abc"' in texts


@pytest.mark.parametrize("name", ["throughput", "queue", "delay_cdf", "delay_quantiles", "shares"])
def test_results_and_comparisons_have_pictures(name: str, compared: Comparison, many: Comparison) -> None:
    for of in (compared, compared.results["abc"], many):
        drawn = getattr(of.plot, name)()
        assert isinstance(drawn, Figure)
        assert drawn._repr_png_().startswith(b"\x89PNG")  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["throughput", "queue"])
def test_pictures_over_time_need_series(name: str, compared: Comparison) -> None:
    panels = getattr(compared.plot, name)(over_time=True).axes
    assert [axes.get_xlabel() for axes in panels] == ["time (s)"] * {"throughput": 2, "queue": 1}[name]
    without = fairlane.run(SHORT_SCENARIO, replications=1)
    with pytest.raises(fairlane.UserError, match=r"^over_time: no time series, .* probes\.series_interval"):
        getattr(without.plot, name)(over_time=True)


def test_the_picture_of_shares_shows_them_beside_one(compared: Comparison) -> None:
    (axes,) = compared.plot.shares().axes
    heights = [[bar.get_height() for bar in bars] for bars in axes.containers if hasattr(bars, "patches")]
    expected = [
        [group["normalised_throughput"]["mean"] for group in result.summary["groups"]]  # type: ignore[index]
        for result in compared.results.values()
    ]
    assert heights == expected
    assert list(axes.lines[-1].get_ydata()) == [1.0, 1.0]


def test_the_picture_of_delays_has_the_quantiles_of_each_group(compared: Comparison, many: Comparison) -> None:
    heavy, light = compared.plot.delay_quantiles().axes
    for index, axes in enumerate((heavy, light)):
        for line, result in zip(axes.lines, compared.results.values(), strict=True):
            times = result.summary["groups"][index]["path"]["one_way_delay"]
            assert times
            delays_ms = [1e3 * times[name]["mean"] for name in ("p50_s", "p95_s", "p99_s", "max_s")]  # type: ignore[literal-required]
            assert list(line.get_xdata()) == delays_ms
    titles = [axes.get_title("left") for axes in figures.delay_quantiles(list(many.results.values())).axes]
    assert titles == list(map(display_name, SCHEMES))


class Shown:
    """An IPython display that records its updates."""

    def __init__(self) -> None:
        self.contents: list[str] = []

    def update(self, content: SimpleNamespace) -> None:
        self.contents.append(content.data)


def test_progress_in_a_notebook_is_a_bar_that_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Shown()
    python, display = ModuleType("IPython"), ModuleType("IPython.display")
    python.get_ipython = lambda: SimpleNamespace(kernel=object())  # type: ignore[attr-defined]
    display.HTML = lambda data: SimpleNamespace(data=data)  # type: ignore[attr-defined]
    display.display = lambda *_, display_id: shown  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", python)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    with progress(NASTY, 2, show=True) as advance:
        advance()
        advance()
    *bars, last = shown.contents
    assert last == ""
    page = Page(bars[0])
    assert page.tags == ["label", "progress"]
    assert "".join(page.texts).startswith(r"<script>alert(1)</script> & \x1b[31m 1/2 about 0 s left")
    assert 'value="1" max="2"' in bars[0]


def test_ipython_in_a_terminal_is_no_notebook(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    python = ModuleType("IPython")
    python.get_ipython = SimpleNamespace  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", python)
    with progress("work", 1, show=True) as advance:
        advance()
    assert "progress" not in capsys.readouterr().out
