"""Figures of all commands can be printed: TrueType fonts, legible labels, no axis offsets, one colour per scheme."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.text import Text

import fairlane
from conftest import EXAMPLES, SETTINGS, SHORT_SCENARIO, Cli, files
from fairlane import Comparison, Result, SweepResult
from fairlane.base.planes import PLANES
from fairlane.evaluate import figures as pareto
from fairlane.lab import drawing, experiments
from fairlane.report import pairs_figure, result_page, sweep_page
from fairlane.results.frames import estimates
from fairlane.results.intervals import Interval
from fairlane.results.names import display_name
from fairlane.results.plots import COLOURS, COLUMN_IN, FIRST, LEAST_FONT, as_bytes, colours_of

MATH = re.compile(r"(?<!\\)\$.*?(?<!\\)\$")
QUEUES = ["droptail", "abc", "fq_codel"]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pictures") / "store"


@pytest.fixture(scope="module")
def comparison(store: Path) -> Comparison:
    """Comparison with groups and a link whose names contain underscores."""
    scenario = SHORT_SCENARIO.replace("groups[0].name", "heavy_users").replace("probes.series_interval", "0.25 s")
    scenario = scenario.replace("probes.delay_distribution", True)
    return fairlane.compare(scenario, QUEUES, replications=2, store=store)


@pytest.fixture(scope="module")
def swept(store: Path) -> SweepResult:
    axes = {"queue.scheme": ["fq_codel", "abc"], "groups[1].users": [1, 2, 4]}
    return fairlane.sweep(SHORT_SCENARIO, grid=axes, replications=2, store=store)


@pytest.fixture(scope="module")
def access(store: Path) -> Result:
    """Result of an access network whose node names contain underscores."""
    scenario = fairlane.Scenario.from_toml(EXAMPLES / "access-network.toml")
    scenario = scenario.replace("run.warmup", "0.5 s").replace("run.measure", "0.5 s")
    return fairlane.run(scenario, replications=2, store=store)


def on_planes(comparison: Comparison, planes: Sequence[str]) -> dict[str, dict[str, dict[str, Interval]]]:
    """Means of a comparison as if all planes had measured the same."""
    return {queue: dict.fromkeys(planes, estimates(result.runs)) for queue, result in comparison.items()}


def pictures(
    comparison: Comparison, swept: SweepResult, access: Result, reproduced: Path
) -> Iterator[tuple[str, Callable[[], Figure]]]:
    """All figures with their names; a call draws one."""
    for name, plot, column in (
        ("comparison", comparison.plot, False),
        ("comparison", comparison.plot, True),
        ("result", comparison["fq_codel"].plot, True),
    ):
        yield f"{name} throughput", partial(plot.throughput, column=column)
        yield f"{name} rate", partial(plot.throughput, over_time=True, column=column)
        yield f"{name} queue", partial(plot.queue, column=column)
        yield f"{name} queue over time", partial(plot.queue, over_time=True, column=column)
        yield f"{name} delay", partial(plot.delay_cdf, column=column)
        yield f"{name} delay quantiles", partial(plot.delay_quantiles, column=column)
        yield f"{name} shares", partial(plot.shares, column=column)
        yield f"{name} users", partial(plot.users, column=column)
        yield f"{name} metrics", partial(plot.metrics, "throughput_bps", "queue_mean_bytes", column=column)
    for column in (False, True):
        metrics = ["throughput_ratio", "delay_p99_s", "queue_mean_bytes"]
        yield "sweep without a metric", partial(swept.plot, column=column)
        yield "sweep", partial(swept.plot, metrics, column=column)
        yield "sweep by group", partial(swept.plot, "throughput_bps", column=column)
        yield "sweep over schemes", partial(swept.plot, "jain_index", over="queue.scheme", column=column)
    pages = [
        result_page.of_comparison(comparison.document()),
        result_page.of_result(comparison["abc"].document()),
        sweep_page.of_sweep(swept.document()),
        result_page.of_result(access.document()),
    ]
    for page in pages:
        for picture in page.pictures:
            yield f"page {page.stem}{picture.stem}", picture.wide
            yield f"page {page.stem}{picture.stem}, narrow", picture.narrow
    for name, drawn in drawing.by_plane("two_users", on_planes(comparison, PLANES)).items():
        yield f"planes {name}", lambda drawn=drawn: drawn  # type: ignore[misc]

    def of_pairs() -> Figure:
        run = {"run.warmup": "0 s", "run.measure": "1200 ms"}
        return pairs_figure.draw(
            fairlane.pairs(["reno", "bbr1"], ["fq_codel"], settings=run, replications=2).document()
        )

    yield "pairs", of_pairs
    values = {
        queue: {key: Interval(0.1 + place, 0.01, 3) for key in ("delay_p99", "worst_share", "state_core", "state_edge")}
        for place, queue in enumerate(QUEUES)
    }
    for pair in pareto.PAIRS:
        yield f"evaluation {pair.stem}", partial(pareto.draw, values, pair, ["fq_codel"])
    paper = fairlane.reproduce(
        "abc2018.fig4a", settings={"run.warmup": "13 s", "run.measure": "2 s"}, replications=2, store=reproduced
    )
    for experiment in paper.experiments:
        yield f"paper {experiment.id}", partial(paper.figure, experiment)


@pytest.mark.parametrize("every", [12, pytest.param(1, marks=pytest.mark.long)])
def test_every_picture_can_be_printed(
    comparison: Comparison,
    swept: SweepResult,
    access: Result,
    reproduced: Path,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    every: int,
) -> None:
    monkeypatch.chdir(tmp_path)  # the store of the pairs is here
    for number, (name, draw) in enumerate(islice(pictures(comparison, swept, access, reproduced), 0, None, every)):
        drawn = draw()
        svg = as_bytes(drawn, ".svg").decode()  # this draws the texts
        texts = [text.get_text() for text in drawn.findobj(Text) if text.get_visible()]
        assert not [text for text in texts if "_" in MATH.sub("", text)], name
        offsets = [axis.get_offset_text().get_text() for axes in drawn.axes for axis in (axes.xaxis, axes.yaxis)]
        assert not any(offsets), name
        assert not [text for text in texts if re.search(r"\d[eE][-+]?\d", text)], name
        assert "<text" in svg, name  # not outlines of letters
        if number % 10 == 0:  # the style sets the fonts of all pictures, and embedding them is slow
            pdf = as_bytes(drawn, ".pdf")
            assert b"/Type3" not in pdf, name
            assert b"/FontFile2" in pdf, name


@pytest.mark.long
def test_every_file_of_a_picture_can_be_printed(
    comparison: Comparison, swept: SweepResult, access: Result, reproduced: Path, tmp_path: Path
) -> None:
    comparison.write(tmp_path / "compare", pdf=True)
    access.write(tmp_path / "run", pdf=True)
    swept.write(tmp_path / "sweep", pdf=True)
    run = {"run.warmup": "0 s", "run.measure": "1200 ms"}
    pairs = fairlane.pairs(["reno", "bbr1"], ["fq_codel"], settings=run, replications=2, store=tmp_path / "store")
    pairs.write(tmp_path / "pairs")
    short = {"run.warmup": "1 s", "run.measure": "1 s"}
    lab = {"settings": short, "quick": True, "replications": 2, "store": tmp_path / "store"}
    planes = dict.fromkeys(PLANES, fairlane.reproduce("p4abc.fig5", **lab))
    experiments.write(planes, [], tmp_path / "lab")
    planes["linux"].write(tmp_path / "reproduce")
    folders = [tmp_path / name for name in ("compare", "run", "sweep")]
    paper = {"settings": SETTINGS, "replications": 2, "store": reproduced}
    pages = tmp_path / "report"
    fairlane.report(*folders, "abc2018.fig4a", pairs=tmp_path / "pairs" / "pairs.json", out=pages, pdf=True, **paper)
    written = {suffix: sorted(tmp_path.rglob(f"*{suffix}")) for suffix in (".svg", ".pdf")}
    commands = {suffix: {file.relative_to(tmp_path).parts[0] for file in files} for suffix, files in written.items()}
    assert commands[".pdf"] == {"compare", "run", "sweep", "report"}
    assert commands[".svg"] == {*commands[".pdf"], "pairs", "lab", "reproduce"}
    for file in written[".pdf"]:
        assert b"/Type3" not in file.read_bytes(), file
        assert b"/MediaBox [ 0 0 %d " % (72 * COLUMN_IN) in file.read_bytes(), file
    for file in written[".svg"]:
        texts = re.findall(r"<(?:text|tspan)[^>]*>([^<]+)<", file.read_text())
        assert texts, file
        assert not [text for text in texts if "_" in text or re.search(r"\d[eE][-+]?\d", text)], file


def test_a_scheme_has_its_name_and_colour_in_every_picture(comparison: Comparison) -> None:
    colours = {display_name(queue): colour.lower() for queue, colour in colours_of(QUEUES).items()}
    assert list(colours) == ["ABC", "FQ-CoDel", "DropTail"]
    plot = comparison.plot
    lines: Sequence[Callable[[], Figure]] = [plot.queue, plot.delay_cdf, plot.users, lambda: plot.queue(over_time=True)]
    for make in lines:
        axes: Axes = make().axes[0]
        assert {line.get_label(): to_hex(line.get_color()) for line in axes.get_lines()} == colours
    (bars,) = plot.throughput().axes
    assert {one.get_label(): to_hex(one[0].get_facecolor()) for one in bars.containers[1::2]} == colours


def test_a_plane_has_one_colour_in_every_picture(comparison: Comparison) -> None:
    seen: dict[str, set[str]] = {}
    for planes in (PLANES, ["linux", "simulator"]):
        for drawn in drawing.by_plane("x", on_planes(comparison, planes)).values():
            for axes in drawn.axes:
                assert axes.get_ylim()[0] == 0
                for bars in axes.containers[1::2]:
                    seen.setdefault(str(bars.get_label()), set()).add(to_hex(bars[0].get_facecolor()))
    assert sorted(seen) == ["Linux", "P4 switch", "forwarder", "kernel", "simulator"]
    assert len({colour for colours in seen.values() for colour in colours}) == len(PLANES) == len(seen)


def test_planes_are_compared_by_what_all_of_them_measured(comparison: Comparison) -> None:
    def labels(*left_out: str) -> dict[str, str]:
        found = on_planes(comparison, ["simulator", "forwarder"])
        for planes in found.values():
            planes["forwarder"] = {
                column: mean for column, mean in planes["forwarder"].items() if column.partition(".")[0] not in left_out
            }
        return {name: drawn.get_supylabel() for name, drawn in drawing.by_plane("x", found).items()}

    p99, mean, share = "one_way_delay_p99_s", "one_way_delay_mean_s", "normalised_throughput"
    assert labels() == {"shares": "throughput over max-min share", "delay": "one-way delay p99 (ms)"}
    assert labels(p99, share) == {"shares": "goodput of a user (Mbit/s)", "delay": "one-way delay mean (ms)"}
    assert list(labels(p99, mean)) == ["shares"]


def test_a_label_has_the_colour_of_its_scheme(comparison: Comparison) -> None:
    labels = {"deep": "droptail", "mine": "abc:gamma=8 packets", "abc": "abc", "fq": "fq_codel"}
    colours = colours_of(QUEUES)
    found = colours_of({label: queue.partition(":")[0] for label, queue in labels.items()})
    expected = {"deep": colours["droptail"], "abc": colours["abc"], "fq": colours["fq_codel"]}
    assert {label: found[label] for label in expected} == expected
    assert len(set(found.values())) == len(found)
    assert colours_of(["abc:gamma=8 packets"]) == {"abc:gamma=8 packets": colours["abc"]}
    own = {
        f"label{number}": replace(result, label=f"label{number}") for number, result in enumerate(comparison.values())
    }
    labelled = Comparison(own)
    (page,) = (one for one in result_page.of_comparison(labelled.document()).pictures if not one.stem)
    for drawn in (labelled.plot.metrics("jain_index"), page.wide()):
        dots = drawn.axes[0].collections[-1].get_facecolors()
        names = [text.get_text() for text in drawn.axes[0].get_yticklabels()]
        assert {name: to_hex(dot).upper() for name, dot in zip(names, dots, strict=True)} == {
            f"label{number}": colours[queue] for number, queue in enumerate(QUEUES)
        }
    bars = labelled.plot.throughput().axes[0].containers[1::2]
    assert [to_hex(one[0].get_facecolor()).upper() for one in bars] == [colours[queue] for queue in QUEUES]


def test_schemes_that_are_compared_most_have_colours_of_their_own() -> None:
    assert colours_of(reversed(FIRST)) == dict(zip(FIRST, COLOURS, strict=True))
    # Independent of the other queues and of the order.
    assert colours_of(["red", "abc", "wfq"])["abc"] == colours_of(["abc"])["abc"]
    every = colours_of(["red", "wfq", "drr", "sfq", "ared", "mine", "abc:gamma=8 packets"])
    assert len(set(every.values())) == len(every)


def test_a_figure_for_a_column_is_as_wide_and_legible(comparison: Comparison, access: Result) -> None:
    pages = [result_page.of_comparison(comparison.document()), result_page.of_result(access.document())]
    narrow = [picture.narrow() for page in pages for picture in page.pictures]
    for drawn in (comparison.plot.metrics("throughput_bps", column=True), *narrow):
        assert drawn.get_size_inches()[0] == COLUMN_IN
        FigureCanvasAgg(drawn).draw()
        texts = [text for text in drawn.findobj(Text) if text.get_visible() and text.get_text()]
        assert all(LEAST_FONT <= text.get_fontsize() <= 8.5 for text in texts)


def test_panels_of_one_metric_have_equal_axes(comparison: Comparison) -> None:
    plot = comparison.plot
    for drawn in (plot.delay_cdf(column=True), plot.delay_quantiles(), plot.users(), plot.metrics("throughput_bps")):
        heavy, light = drawn.axes
        assert heavy.get_xlim() == light.get_xlim()
    throughput, _, queue = plot.metrics("throughput_bps", "queue_mean_bytes").axes
    assert throughput.get_xlim() != queue.get_xlim()


def test_means_are_drawn_where_runs_have_no_quantiles_of_delays(comparison: Comparison, tmp_path: Path) -> None:
    results = {}
    for name, result in comparison.items():
        runs = result.runs
        for group in (group for run in runs for group in run["groups"]):
            del group["delay_distribution"]
            delays = group["path"]["one_way_delay"]
            delays |= dict.fromkeys([quantile for quantile in delays if quantile != "mean_s"])  # as on the plane linux
        results[name] = replace(result, runs_json=tuple(map(json.dumps, runs)))
    with pytest.warns(fairlane.ScenarioWarning, match="delay shows only means"):
        Comparison(results).write(tmp_path)
    assert (tmp_path / "shares.png").exists()
    assert "one-way delay mean" in (tmp_path / "delay.svg").read_text()


def test_a_note_says_which_figure_is_left_out(cli: Cli, workdir: Path) -> None:
    arguments = ["run", "short.toml", "--replications", "1", "--out", "out", "--set", "run.warmup=0 s"]
    assert "figures" not in cli(*arguments).stderr
    assert {"delay.png", "shares.png"} <= set(files(workdir / "out"))
    brief = [f"groups[{number}].start_until=1 ms" for number in range(2)]
    settings = [word for one in ["run.measure=1 ms", *brief] for word in ("--set", one)]
    assert "note: figures: none of delay" in cli(*arguments, *settings).stderr
    assert "delay.png" not in files(workdir / "out")
    lab = ["lab", "compare", "short.toml", "--queues", "abc", "--plane", "simulator", "--out", "lab"]
    assert "note: figures: none of delay" in cli(*lab, *settings, "--set", "run.warmup=0 s").stderr
    assert "delay.png" not in files(workdir / "lab")


def test_a_figure_that_a_reader_saves_has_the_same_fonts(comparison: Comparison, tmp_path: Path) -> None:
    comparison.plot.throughput(column=True).savefig(tmp_path / "x.pdf")
    content = (tmp_path / "x.pdf").read_bytes()
    assert b"/Type3" not in content
    assert b"/FontFile2" in content


def test_the_distribution_of_the_queue_ends_at_one(comparison: Comparison) -> None:
    for line in comparison.plot.queue().axes[0].get_lines():
        shares = list(line.get_ydata())
        assert shares == sorted(shares)
        assert shares[-1] == pytest.approx(100)


def test_the_distribution_of_delays_holds_the_quantiles_of_the_record(comparison: Comparison) -> None:
    for panel, group in zip(comparison.plot.delay_cdf().axes, range(2), strict=True):
        for line, result in zip(panel.get_lines(), comparison.values(), strict=True):
            delays_ms, shares = np.asarray(line.get_xdata(), float), np.asarray(line.get_ydata(), float)
            assert list(shares) == sorted(shares)
            assert (shares[0], shares[-1]) == (0, pytest.approx(100))
            times = [run["groups"][group]["path"]["one_way_delay"] for run in result.runs]
            assert all(times)
            assert delays_ms[-1] == pytest.approx(1e3 * max(one["max_s"] for one in times if one))
            for level, name in ((50, "p50_s"), (95, "p95_s"), (99, "p99_s")):
                reached = delays_ms[shares >= level][0]
                found = [1e3 * float(one[name]) for one in times if one]
                # A quantile is exact to half a step of 6.3 %, and the mean over two runs is between the quantiles of
                # both runs.
                assert min(found) / 1.07 <= reached <= max(found) * 1.07


def test_the_distribution_of_delays_is_recorded_on_request_and_changes_nothing_else() -> None:
    without = fairlane.run(SHORT_SCENARIO, replications=1)
    (with_it,) = fairlane.run(SHORT_SCENARIO.replace("probes.delay_distribution", True), replications=1).runs
    for group in with_it["groups"]:
        assert group.pop("delay_distribution")
    assert with_it == without.runs[0]
    with pytest.raises(fairlane.UserError, match=r"^delay_cdf: .* probes\.delay_distribution = true"):
        without.plot.delay_cdf()
