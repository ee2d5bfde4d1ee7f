"""Tests `fairlane pairs`: shares, the sender ahead, stored runs, and figures."""

import json
from pathlib import Path
from typing import Any

import jsonschema
import polars as pl
import pytest
from matplotlib.figure import Figure

import fairlane
from conftest import ROOT, Cli
from fairlane import Pairs, UserError
from fairlane.pairs.plan import plan
from fairlane.pairs.result import Pair
from fairlane.report import pairs as page
from fairlane.report.pairs_figure import EVEN, cells, describe, draw
from fairlane.results.intervals import Interval

TINY = {"run.warmup": "1 s", "run.measure": "2 s", "topology.bottleneck_rate": "5 Mbit/s"}
OPTIONS = [word for key, value in TINY.items() for word in ("--set", f"{key}={value}")]
SENDERS, QUEUES = ["reno", "bbr1"], ["droptail", "fq_codel"]


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Pairs:
    store = tmp_path_factory.mktemp("pairs")
    return fairlane.pairs(SENDERS, QUEUES, settings=TINY, replications=3, store=store)


def test_each_pair_is_run_once_under_each_scheme(pairs: Pairs) -> None:
    expected = [("reno", "reno"), ("reno", "bbr1"), ("bbr1", "bbr1")]
    assert [(pair.row, pair.column, pair.queue) for pair in pairs.pairs] == [
        (row, column, queue) for row, column in expected for queue in QUEUES
    ]
    assert pairs.swept.work.total == 3 * len(expected) * len(QUEUES)


def test_a_share_is_that_of_the_rates_of_the_runs(pairs: Pairs) -> None:
    for point, pair in zip(pairs.swept.plan.points, pairs.pairs, strict=True):
        runs = [json.loads(kept.run) for kept in pairs.swept.store.load(point.scenario).values()]
        rates = [[group["throughput_bps"] for group in run["groups"]] for run in runs]
        assert pair.share
        assert pair.share.n == 3
        assert pair.share.mean == pytest.approx(sum(row / (row + column) for row, column in rates) / 3, rel=1e-12)
        controls = [group["sources"][0]["congestion_control"] for group in json.loads(point.scenario)["groups"]]
        assert controls == [pair.row, pair.column]


def test_a_queue_for_each_flow_shares_evenly(pairs: Pairs) -> None:
    # FQ-CoDel serves both flows alternately as long as both have packets.
    for pair in pairs.pairs:
        if pair.queue == "fq_codel":
            assert pair.share
            assert abs(pair.share.mean - 0.5) < 0.1


@pytest.mark.parametrize(
    ("share", "ahead"),
    [
        (Interval(0.6, 0.05, 5), "row"),
        (Interval(0.4, 0.05, 5), "column"),
        (Interval(0.6, 0.1, 5), None),  # its bound is an equal share
        (Interval(0.6, None, 1), None),  # one run has no interval
        (None, None),
    ],
)
def test_nobody_is_ahead_whose_interval_has_an_even_share(share: Interval | None, ahead: str | None) -> None:
    assert Pair("droptail", "a", "b", share, Interval(1, 0, 5)).ahead == ahead


def test_senders_that_answer_every_mark_ask_for_marks() -> None:
    with_ecn = set()
    for point in plan(None, ["droptail"], {}, {}).plan.points:
        groups = json.loads(point.scenario)["groups"]
        with_ecn |= {group["sources"][0]["congestion_control"] for group in groups if group["sources"][0]["ecn"]}
    assert with_ecn == {one["name"] for one in fairlane.congestion_controls() if one["marks"].startswith("every")}
    assert {"dctcp", "prague"} <= with_ecn


def document(share: float, half_width: float | None, ahead: str | None) -> Any:
    def pair(row: str, column: str, mean: float, who: str | None) -> dict[str, Any]:
        estimate = {"mean": mean, "half_width": half_width, "n": 5}
        return {"queue": "droptail", "row": row, "column": column, "share": estimate, "ahead": who, "utilisation": {}}

    run = {"replications": 5, "measure": "30 s"}
    return {
        "scenario": {"run": run},
        "senders": ["a", "b"],
        "queues": ["droptail"],
        "pairs": [pair("a", "a", 0.5, None), pair("a", "b", share, ahead), pair("b", "b", 0.5, None)],
    }


def colours(drawn: Figure) -> list[str]:
    import matplotlib as mpl

    (mesh,) = drawn.axes[0].collections
    drawn.draw_without_rendering()
    return [mpl.colors.to_hex(colour) for colour in mesh.get_facecolor()]


def test_the_cell_of_the_other_sender_is_the_rest() -> None:
    found = cells(document(0.8, 0.1, "row"), "droptail")
    assert (found["a", "b"].share, found["a", "b"].ahead) == (0.8, "row")
    assert found["b", "a"].share == pytest.approx(0.2)
    assert found["b", "a"].ahead == "column"


def test_only_what_is_uneven_for_certain_is_coloured_and_bold() -> None:
    drawn = draw(document(0.8, 0.4, None))
    assert set(colours(drawn)) == {EVEN}
    assert [text.get_text() for text in drawn.axes[0].texts] == ["50", "80", "20", "50"]
    assert {text.get_weight() for text in drawn.axes[0].texts} == {"normal"}
    certain = draw(document(0.8, 0.1, "row"))
    assert [text.get_weight() for text in certain.axes[0].texts] == ["normal", "bold", "bold", "normal"]
    even, more, less, _ = colours(certain)
    assert len({even, more, less}) == 3
    assert even == EVEN


def test_the_figure_in_words_names_the_most_uneven_pair() -> None:
    words = "droptail: shares differ in 1 of 3 pairs, most for b against a, 90 %."
    assert describe(document(0.1, 0.05, "column")) == words


def test_the_command_writes_tables_figure_and_document_and_resumes(cli: Cli, workdir: Path) -> None:
    arguments = ["pairs", "--senders", "reno,bbr1", "--queues", "droptail", "--replications", "1", *OPTIONS]
    printed = cli.document(*arguments, "--out", "out")
    jsonschema.validate(printed, fairlane.schema("pairs"))
    assert json.loads((workdir / "out" / "pairs.json").read_text()) == printed
    frame = pl.read_parquet(workdir / "out" / "pairs.parquet")
    assert frame["share"].to_list() == [pair["share"]["mean"] for pair in printed["pairs"]]
    assert frame["ahead"].to_list() == [None] * 3  # one run has no interval
    assert pl.read_csv(workdir / "out" / "pairs.csv").height == 3
    svg = (workdir / "out" / "pairs.svg").read_text(encoding="utf-8")
    assert "prefers-color-scheme: dark" in svg
    assert "<image" not in svg  # cells are drawn, not a picture
    # Stored runs are not simulated again; only the runs of an additional pair are simulated.
    again = cli(*arguments, "--out", "again")
    assert "runs" not in again.stderr
    assert (workdir / "again" / "pairs.csv").read_bytes() == (workdir / "out" / "pairs.csv").read_bytes()


def test_the_report_shows_pairs(pairs: Pairs, cli: Cli, workdir: Path) -> None:
    pairs.write(workdir / "pairs")
    cli.output("report", "abc2018.fig4a", "--pairs", "pairs/pairs.json", "--out", "pages")
    html = (workdir / "pages" / "pairs.html").read_text(encoding="utf-8")
    view = page.read(workdir / "pairs" / "pairs.json")
    assert list(view.rows) == [("reno", "reno"), ("reno", "bbr1"), ("bbr1", "bbr1")]
    for shares in view.rows.values():
        for share in shares:
            assert f"<td>{share}</td>" in html
    assert "reno : bbr1" in html
    assert 'href="pairs.html"' in (workdir / "pages" / "index.html").read_text(encoding="utf-8")
    assert (workdir / "pages" / "pairs.png").stat().st_size > 5000


@pytest.mark.long
def test_beside_pairs_a_report_has_no_pages_of_papers_without_results(pairs: Pairs, cli: Cli, workdir: Path) -> None:
    pairs.write(workdir / "pairs")
    cli.output("report", "--pairs", "pairs/pairs.json", "--out", "pages", "--store", "st")
    assert {file.name for file in (workdir / "pages").glob("*.html")} == {"index.html", "pairs.html"}


@pytest.mark.parametrize(
    ("arguments", "mention"),
    [
        (["pairs", "--senders", "cubik"], "senders: "),
        (["pairs", "--senders", "cubic,cubic"], "senders: cubic,cubic given; name each sender once"),
        (["pairs", "--senders", "cubik"], "did you mean cubic?"),
        (["pairs", "--queues", "droptial"], "queues: droptial: no such scheme; did you mean droptail?"),
        (["pairs", "--set", "queue.scheme=abc"], "queue.scheme: has no effect"),
        (["pairs", "--set", "run.mesure=1 s"], "run.mesure"),
        (["report", "abc2018.fig4a", "--pairs", "no.json"], "--pairs: no.json: No such file"),
        (["report", "abc2018.fig4a", "--pairs", "list.json"], "--pairs: list.json: not a document"),
    ],
)
def test_mistakes_are_one_line(cli: Cli, workdir: Path, arguments: list[str], mention: str) -> None:
    (workdir / "list.json").write_text('{"pairs": [1]}')
    cli.refuses(arguments, [mention])


def test_a_function_refuses_what_the_command_refuses() -> None:
    with pytest.raises(UserError, match="senders: nothing given"):
        fairlane.pairs([])
    with pytest.raises(UserError, match="senders: 3 is not a list of names"):
        fairlane.pairs(3)  # type: ignore[arg-type]


def test_the_figure_of_the_documentation_is_made_by_make() -> None:
    script = (ROOT / "tools" / "publish.sh").read_text(encoding="utf-8")
    assert "cp results/pairs/pairs.png results/pairs/pairs.csv docs/figures/" in script
    table = pl.read_csv(ROOT / "docs" / "figures" / "pairs.csv")
    senders = [control["name"] for control in fairlane.congestion_controls()]
    planned = plan(None, ["droptail"], {}, {}).plan.points
    for queue in table["queue"].unique():
        of_queue = table.filter(pl.col("queue") == queue)
        rows = list(of_queue.select("row", "column").iter_rows())
        assert rows == [(point.at["row"], point.at["column"]) for point in planned], f"{queue} lacks some of {senders}"
    assert 20_000 < (ROOT / "docs" / "figures" / "pairs.png").stat().st_size < 500_000
