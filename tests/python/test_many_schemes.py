"""Figures of all schemes stay legible: nothing overlaps, and every scheme is named once."""

import json
from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

import fairlane
from conftest import SHORT_SCENARIO
from fairlane.report import comparison
from fairlane.report.comparison import ComparisonView
from fairlane.results.figures import result_figures, throughput
from fairlane.results.names import display_name
from fairlane.results.plots import COLOURS, COLUMN_IN, as_bytes
from fairlane.results.result import Comparison
from fairlane.simulate.scenario import Scenario

SCHEMES = [scheme["name"] for scheme in fairlane.schemes()]
pytestmark = pytest.mark.long
WRITTEN = ["throughput", "shares", "queue", "delay", "rate-over-time", "queue-over-time"]
FIGURES = [*WRITTEN, *(f"{name} in a column" for name in WRITTEN), "side-by-side", "side-by-side, narrow"]


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    """Comparison of all schemes, one of which starves a user."""
    scenario = SHORT_SCENARIO.to_dict()
    scenario["run"] |= {"warmup": "200 ms", "measure": "300 ms", "replications": 2}
    scenario["probes"] = {"series_interval": "50 ms"}
    store = tmp_path_factory.mktemp("many") / "store"
    return fairlane.compare(Scenario.from_dict(scenario), SCHEMES, store=store)


@pytest.fixture(scope="module")
def view(compared: Comparison) -> ComparisonView:
    """View of the comparison with ratios from 0.5 to 500 and wide intervals, as if a scheme starved a user."""
    document = json.loads(compared.json())
    for number, result in enumerate(document["results"].values()):
        result["summary"]["throughput_ratio"] = {"mean": 0.5 * 10 ** (number % 4), "half_width": 1500.0, "n": 2}
    return comparison.view(document["results"])


@pytest.fixture(scope="module")
def figures(compared: Comparison, view: ComparisonView) -> dict[str, Figure]:
    narrow = comparison.draw(view, column=True)
    results = list(compared.results.values())
    drawn = result_figures(results)
    drawn |= {f"{name} in a column": one for name, one in result_figures(results, column=True).items()}
    drawn |= {"side-by-side": comparison.draw(view), "side-by-side, narrow": narrow}
    for figure in drawn.values():
        FigureCanvasAgg(figure).draw()  # places all texts, and takes long
    return drawn


def texts(drawn: Figure) -> Iterator[Text]:
    """All visible texts outside of the curves."""
    yield from drawn.texts
    for axes in drawn.axes:
        yield from (axes.xaxis.label, axes.yaxis.label, axes.title, *tick_labels(axes))
        yield from (title for title in axes.get_children() if isinstance(title, Text) and title is not axes.title)
    for legend in drawn.legends:
        yield from legend.get_texts()


def tick_labels(axes: Axes) -> Iterator[Text]:
    for axis in (axes.xaxis, axes.yaxis):
        low, high = sorted(axis.get_view_interval())
        for tick in axis.get_major_ticks():
            if low <= tick.get_loc() <= high:
                yield tick.label1


@pytest.mark.parametrize("name", FIGURES)
def test_no_words_of_a_figure_overlap_or_leave_it(figures: dict[str, Figure], name: str) -> None:
    drawn = figures[name]
    shown = {text: text.get_window_extent() for text in texts(drawn) if text.get_visible() and text.get_text()}
    for text, box in shown.items():
        assert drawn.bbox.x0 <= box.x0 < box.x1 <= drawn.bbox.x1, text
        assert drawn.bbox.y0 <= box.y0 < box.y1 <= drawn.bbox.y1, text
    for (one, box), (other, beside) in combinations(shown.items(), 2):
        # Boxes have some space around their letters.
        assert not box.padded(-1.0).overlaps(beside.padded(-1.0)), (one, other)


@pytest.mark.parametrize("name", FIGURES)
def test_every_scheme_is_named_once_and_a_legend_has_a_colour_for_each_entry(
    figures: dict[str, Figure], name: str
) -> None:
    drawn = figures[name]
    named = Counter(text.get_text() for text in texts(drawn) if text.get_visible())
    rows = 2 if "narrow" in name else 1  # of panels, each with the names next to it
    assert [named[display_name(scheme)] for scheme in SCHEMES] == [rows] * len(SCHEMES)
    assert sum(len(legend.get_texts()) for legend in drawn.legends) <= len(COLOURS)


def test_schemes_are_sorted_by_how_fair_they_are(view: ComparisonView) -> None:
    column = [column.metric.name for column in view.columns].index("throughput_ratio")
    ratios = [view.numbers[scheme][column] for scheme in view.schemes]
    # Half and twice a share are equally far from fair.
    distances = [max(ratio[0], 1 / ratio[0]) for ratio in ratios if ratio]
    assert distances == sorted(distances)
    assert len(distances) == len(SCHEMES)
    assert sorted(view.schemes) == sorted(SCHEMES)


@pytest.mark.parametrize("name", WRITTEN)
def test_a_figure_of_a_column_is_as_wide_and_has_no_title(figures: dict[str, Figure], name: str) -> None:
    drawn = figures[f"{name} in a column"]
    assert drawn.get_size_inches()[0] == COLUMN_IN
    assert drawn.get_suptitle() == ""
    # Fonts below 6 points print badly.
    assert all(6 <= text.get_fontsize() <= 8 for text in texts(drawn) if text.get_text())


def test_files_of_a_comparison_of_all_schemes_are_written_without_a_warning(
    compared: Comparison, tmp_path: Path
) -> None:
    compared.write(tmp_path, pdf=True)  # a warning is an error here
    written = {name: (tmp_path / f"{name}.pdf").read_bytes() for name in WRITTEN}
    assert all(content.startswith(b"%PDF") for content in written.values())
    results = list(compared.results.values())
    assert as_bytes(throughput(results, column=True), ".pdf") == written["throughput"]
    assert (tmp_path / "throughput.png").stat().st_size > 5000
