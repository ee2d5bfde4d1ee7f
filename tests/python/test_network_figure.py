"""Tests figures of networks: all examples and kinds of topology are drawn, with all names, and texts stay within their
boxes."""

import json
from pathlib import Path

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch
from matplotlib.text import Text

import fairlane
from conftest import EXAMPLES, SHORT_SCENARIO, Cli, daily
from fairlane import Scenario, _fairlane
from fairlane.base.text import for_figure
from fairlane.results.names import display_name
from fairlane.results.plots import BOTH_COLUMNS_IN, COLUMN_IN, LEAST_FONT, as_bytes

FILES = sorted(file for file in EXAMPLES.rglob("*.toml") if "\n[queue]" in file.read_text())
KINDS = [topology["name"] for topology in fairlane.topologies()]


def words(drawn: Figure) -> str:
    return "\n".join(text.get_text() for text in drawn.findobj(Text))


@pytest.mark.parametrize("file", daily(FILES, *FILES[::4]), ids=lambda file: str(file.relative_to(EXAMPLES)))
def test_every_example_has_a_picture_with_its_links_schemes_and_groups(file: Path) -> None:
    scenario = Scenario.from_toml(file)
    canonical = json.loads(scenario.canonical())
    layout = json.loads(_fairlane.layout(scenario.canonical(), 0))
    drawn = scenario.plot()
    shown = words(drawn)
    assert all(for_figure(group["name"]) in shown for group in canonical["groups"])
    assert all(for_figure(display_name(link["queue"]["scheme"])) in shown for link in layout["links"])
    if canonical["topology"]["kind"] != "access":
        assert all(for_figure(link["name"]) in shown for link in layout["links"])
    assert "_" not in shown


@pytest.mark.parametrize(
    ("name", "shown"),
    {
        "compare-all": "bottleneck\n10 Mbit/s, 5 ms",
        "bbr3/14-sub-packet-bdp": "bottleneck\n64 kbit/s, 4.9 ms",
        "rtt-classes": "bottleneck\n1 Gbit/s, 5 ms",
        "variable-rate": "bottleneck\n10 Mbit/s, 5 ms\nthe rate varies",
        "radio": "bottleneck\n10.52 Mbit/s, 5 ms\nthe rate varies",
        "graph": "east\n20 Mbit/s, 8 ms",
        "adsl": "reverse\n16 Mbit/s, 15 ms",
        "access-network": "12 access points: ABC\n60 Mbit/s each way, 1 ms",
    }.items(),
)
def test_links_have_their_rates_and_delays(name: str, shown: str) -> None:
    drawn = Scenario.from_toml(EXAMPLES / f"{name}.toml").plot()
    assert shown in [text.get_text() for text in drawn.findobj(Text)]


def test_every_kind_of_topology_is_among_the_examples_or_the_dumbbells() -> None:
    kinds = {json.loads(Scenario.from_toml(file).canonical())["topology"]["kind"] for file in FILES}
    assert kinds | {"two_sided_dumbbell"} == set(KINDS)


@pytest.mark.parametrize(
    "name", ["adsl", "compare-all", "parking-lot", "graph", "rtt-classes", "every-key", "two-users", "video", "rpm"]
)
@pytest.mark.parametrize("column", [False, True])
def test_words_stay_within_their_boxes_and_apart(name: str, *, column: bool) -> None:
    drawn = Scenario.from_toml(EXAMPLES / f"{name}.toml").plot(column=column)
    FigureCanvasAgg(drawn).draw()
    assert not column or min(text.get_fontsize() for text in drawn.axes[0].texts) >= LEAST_FONT
    boxes = [box.get_window_extent() for box in drawn.findobj(FancyBboxPatch) if box.get_linewidth() == 1.4]
    texts = [text.get_window_extent() for text in drawn.axes[0].texts]
    assert boxes
    for box in boxes:
        (inside,) = (text for text in texts if box.contains((text.x0 + text.x1) / 2, (text.y0 + text.y1) / 2))
        assert inside.width <= box.width
    assert not [(a, b) for place, a in enumerate(texts) for b in texts[:place] if a.overlaps(b)]


def test_a_column_of_a_paper_and_a_route_that_differs_per_group() -> None:
    drawn = Scenario.from_toml(EXAMPLES / "parking-lot.toml").plot(column=True)
    assert drawn.get_size_inches()[0] == COLUMN_IN
    assert b"/Type3" not in as_bytes(drawn, ".pdf")
    chain = Scenario.from_toml(EXAMPLES / "parking-lot.toml").replace("topology.congested_links", 3)
    assert chain.plot(column=True).get_size_inches()[0] == BOTH_COLUMNS_IN
    two_sided = SHORT_SCENARIO.replace("topology.kind", "two_sided_dumbbell")
    assert "bottleneck" in words(two_sided.plot())


def test_many_groups_are_counted() -> None:
    groups = [fairlane.group(f"group_{number}", fairlane.tcp()) for number in range(15)]
    drawn = Scenario("crowd", *groups, queue="abc").plot()
    assert "crowd, without 3 more groups" in words(drawn)
    assert "group 11" in words(drawn).replace("_", " ")


def test_the_command_writes_the_picture(cli: Cli, workdir: Path) -> None:
    assert cli.output("plot", "short.toml").strip() == "figure: short.svg"
    assert "ABC" in (workdir / "short.svg").read_text()
    cli.output("plot", "short.toml", "--out", "x.pdf", "--column", "--set", "queue.scheme=cake")
    assert (workdir / "x.pdf").read_bytes().startswith(b"%PDF")
    assert cli.error("plot", "short.toml", "--out", "x.gif").endswith("the suffix is none of .svg, .png, .pdf")
    assert "queue.scheme" in cli.error("plot", "short.toml", "--set", "queue.scheme=x")
