"""Tests the summary of a comparison: its sentences, the order of metrics, and the same values in frames and tables."""

import builtins
import re
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import fairlane
from conftest import SHORT_SCENARIO, Cli
from fairlane import Comparison
from fairlane.results.answers import MOST_QUEUES, differences, sentences
from fairlane.results.intervals import BIN, Interval
from fairlane.results.names import display_name
from fairlane.results.table import Table

COLUMNS = ["queue", "point", "group", "metric", "mean", "low", "high", "n"]


def means(share: float, delay_s: float, half_width: float | None = 0.01) -> dict[str, Interval]:
    """Means of a queue; the light group has the worst share, and the heavy group has the longest delay."""
    delays = {"heavy": delay_s, "light": delay_s / 2}
    return {
        "normalised_throughput.heavy": Interval(2.0, half_width, 3),
        "normalised_throughput.light": Interval(share, half_width, 3),
        **{
            f"one_way_delay_p99_s.{group}": Interval(delay, half_width and half_width * delay, 3)
            for group, delay in delays.items()
        },
        "utilisation.bottleneck": Interval(0.9, half_width, 3),
    }


def test_sentences_say_who_is_best_and_by_how_much() -> None:
    share, delay, use = sentences({"droptail": means(0.25, 0.2), "fq_codel": means(0.5, 0.1)})
    assert share == (
        "Worst share (1 is fair): FQ-CoDel is best (0.500 ± 0.010, light), 0.25 more than DropTail "
        "(0.250 ± 0.010, light)."
    )
    # A percentile is exact to its bin, so the half width is 1 % of 100 ms and half a bin.
    assert delay.startswith("Worst group's delay (one-way, 99th percentile): ")
    assert f"FQ-CoDel is best (100.0 ± {1 + 100 * BIN:.1f} ms, heavy), 100 ms less than DropTail" in delay
    assert use.startswith("Use of the link: no difference beyond the intervals, 90.0 ± 1.0 % under")


def test_one_point_is_singular() -> None:
    found = {queue: {"utilisation.core": Interval(use, 0.0, 3)} for queue, use in (("abc", 1.0), ("csfq", 0.99))}
    assert sentences(found) == ["Use of the link: ABC is best (100 %), 1 point more than CSFQ (99 %)."]


def test_sentences_name_whose_intervals_overlap() -> None:
    share, *_ = sentences({"droptail": means(0.25, 0.2), "abc": means(0.49, 0.1), "fq_codel": means(0.5, 0.1)})
    assert share.endswith("; the intervals of ABC overlap it.")
    apart, *_ = sentences({"droptail": means(0.25, 0.2), "abc": means(0.47, 0.1), "fq_codel": means(0.5, 0.1)})
    assert "overlap" not in apart


def test_one_uncertain_queue_does_not_hide_what_differs_between_others() -> None:
    uncertain = means(0.1, 0.2) | {"normalised_throughput.light": Interval(0.1, 0.9, 3)}
    share, *_ = sentences({"droptail": uncertain, "abc": means(0.9, 0.1), "fq_codel": means(0.4, 0.1)})
    assert "ABC is best (0.900 ± 0.010, light), 0.5 more than FQ-CoDel" in share
    assert share.endswith("; the intervals of DropTail overlap it.")
    uncertain["normalised_throughput.light"] = Interval(0.95, 0.9, 3)
    share, *_ = sentences({"droptail": uncertain, "abc": means(0.9, 0.1), "fq_codel": means(0.4, 0.1)})
    assert "ABC is better (0.900 ± 0.010, light), 0.5 more than FQ-CoDel" in share
    assert share.endswith("; the intervals of DropTail overlap it.")


def test_single_runs_are_not_taken_for_certain() -> None:
    share, *_ = sentences({"droptail": means(0.25, 0.2, None), "abc": means(0.5, 0.1, None)})
    assert share.endswith("Single runs have no intervals, so this may be chance.")
    assert differences({"droptail": means(0.25, 0.2, None), "abc": means(0.5, 0.1, None)}).table.rows == []


def test_only_what_differs_is_shown_unless_all_is_asked_for() -> None:
    found = {"droptail": means(0.25, 0.2), "abc": means(0.5, 0.1)}
    brief = differences(found)
    assert [row[0] for row in brief.table.rows] == ["heavy one-way p99 (ms)", "light one-way p99 (ms)"]
    assert brief.alike == ["utilisation (%)"]
    assert brief.left_out == "1 more metrics differ"  # the share is what the first sentence is about
    assert len(differences(found, everything=True).table.rows) == 5


def test_of_many_queues_the_fairest_have_rows() -> None:
    found = {f"queue {number}": means(number / 100, 0.1) for number in range(MOST_QUEUES + 3)}
    brief = differences(found)
    assert [row[0] for row in brief.table.rows] == [f"queue {number}" for number in range(MOST_QUEUES + 2, 2, -1)]
    assert brief.left_out == "3 more queues"


@pytest.fixture(scope="module")
def comparison(tmp_path_factory: pytest.TempPathFactory) -> Comparison:
    store = tmp_path_factory.mktemp("answers")
    return fairlane.compare(SHORT_SCENARIO, ["droptail", "abc"], replications=3, store=store)


def test_the_summary_is_tidy(comparison: Comparison) -> None:
    frame = comparison.summary_frame()
    assert frame.columns == COLUMNS
    assert set(frame["queue"]) == {"droptail", "abc"}
    assert frame["point"].null_count() == frame.height
    (row,) = frame.filter(queue="abc", group="light", metric="throughput_bps").to_dicts()
    mean = comparison["abc"].summary["groups"][1]["throughput_bps"]
    assert (row["mean"], row["n"]) == (mean["mean"], 3)
    assert row["high"] - row["mean"] == pytest.approx(mean["half_width"])
    assert row["mean"] - row["low"] == pytest.approx(mean["half_width"])
    # A percentile has the interval of the printed table, which includes half a bin.
    (row,) = frame.filter(queue="abc", group="light", metric="one_way_delay_p99_s").to_dicts()
    delay = comparison["abc"].summary["groups"][1]["path"]["one_way_delay"]["p99_s"]
    assert row["high"] - row["mean"] == pytest.approx(delay["half_width"] + BIN * delay["mean"])
    assert row["mean"] - row["low"] == pytest.approx(delay["half_width"] + BIN * delay["mean"])
    (ratio,) = frame.filter(queue="abc", metric="throughput_ratio").to_dicts()
    assert ratio["group"] is None


def test_the_summary_of_a_sweep_has_what_varies(tmp_path: Path) -> None:
    swept = fairlane.sweep(SHORT_SCENARIO, grid={"queue.scheme": ["abc", "red"]}, replications=2, store=tmp_path)
    frame = swept.summary_frame()
    assert frame.columns == [*COLUMNS, "point.queue.scheme"]
    assert frame["queue"].to_list() == frame["point.queue.scheme"].to_list()
    found = frame.filter(metric="jain_index")["mean"].to_list()
    assert found == swept.points_frame().filter(metric="jain_index")["mean"].to_list()
    assert [line.split()[:2] for line in str(swept).splitlines()[-2:]] == [["0", "abc"], ["1", "red"]]
    swept.write_table(tmp_path / "points.tex")
    lines = (tmp_path / "points.tex").read_text().splitlines()
    assert lines[2].split(" & ") == [
        "scheme",
        "group",
        "throughput over max-min share",
        "one-way delay p99 (ms)",
        r"utilisation (\%)",
        r"runs \\",
    ]
    rows = [line.split(" & ") for line in lines[4:8]]
    assert [row[:2] for row in rows] == [[scheme, group] for scheme in ("ABC", "RED") for group in ("heavy", "light")]
    assert all(r"$\pm$" in row[2] + row[3] for row in rows)
    assert lines[8] == r"\bottomrule"


def test_a_comparison_is_a_mapping_of_its_queues(comparison: Comparison) -> None:
    assert (list(comparison), len(comparison), "abc" in comparison) == (["droptail", "abc"], 2, True)
    assert comparison["abc"] is comparison.results["abc"]
    with pytest.raises(KeyError, match="'abd' was not compared; did you mean abc"):
        comparison["abd"]


def test_a_comparison_prints_as_a_table(comparison: Comparison) -> None:
    lines = str(comparison).splitlines()
    assert lines[0].split() == ["droptail", "abc"]
    (shown,) = [line for line in lines if line.startswith("light throughput of a user (Mbit/s)")]
    assert f"{1e-6 * comparison['abc'].summary['groups'][1]['throughput_bps']['mean']:.2f}" in shown
    assert len(str(comparison["abc"]).splitlines()) == len(lines)


def test_without_pandas_its_extra_is_named(comparison: Comparison, monkeypatch: pytest.MonkeyPatch) -> None:
    found = builtins.__import__

    def without(name: str, *arguments: Any, **options: Any) -> Any:
        if name.partition(".")[0] in {"pandas", "pyarrow"}:
            raise ModuleNotFoundError(name)
        return found(name, *arguments, **options)

    monkeypatch.setattr(pl.DataFrame, "to_pandas", lambda _frame: without("pandas"))
    with pytest.raises(fairlane.UserError, match=re.escape("pip install 'fairlane[pandas]'")):
        comparison.to_pandas()


def test_tables_for_papers_escape_what_latex_reads() -> None:
    table = Table(["a_b", "50 %"])
    table.add_row("x & y", "1 ± 2")
    table.add_row("FQ-CoDel, share_per=user", "a_b")
    assert table.latex().splitlines() == [
        r"\begin{tabular}{lr}",
        r"\toprule",
        r"a b & 50 \% \\",
        r"\midrule",
        r"x \& y & 1 $\pm$ 2 \\",
        r"FQ-CoDel, share\_per=user & a b \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]


def test_the_command_writes_tables_by_their_suffix(cli: Cli, workdir: Path) -> None:
    cli.output("compare", "short.toml", "--queues", "droptail,abc", "--table", "t.csv")
    assert (workdir / "t.csv").read_text().splitlines()[0] == ",".join(COLUMNS)
    cli.output("run", "short.toml", "--table", "t.tex")
    assert (workdir / "t.tex").read_text().startswith(r"\begin{tabular}{lr}")
    cli.output("compare", "short.toml", "--queues", "fq_codel,mine=abc", "--table", "t.tex")
    table = (workdir / "t.tex").read_text()
    assert table.splitlines()[2] == r" & FQ-CoDel & mine \\"
    assert "pushed out dropped packets" in table
    assert "_" not in table
    assert "neither .csv nor .tex" in cli.error("run", "short.toml", "--table", "t.pdf")


def test_a_comparison_and_the_schemes_fit_on_a_screen(
    comparison: Comparison, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from fairlane.cli.printing import print_comparison, print_schemes

    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    for show in (lambda: print_comparison(comparison), lambda: print_schemes(fairlane.schemes())):
        show()
        lines = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out).splitlines()
        assert len(lines) <= 24
        assert max(map(len, lines)) <= 80
    shown = " ".join(lines)
    assert all(re.search(rf"\b{scheme['name']}\b", shown) for scheme in fairlane.schemes())


def test_every_scheme_has_a_name_of_the_field_and_a_family() -> None:
    names = {scheme["name"]: scheme["display_name"] for scheme in fairlane.schemes()}
    assert len(set(names.values())) == len(names)
    assert not [name for name in names.values() if "_" in name]
    assert (display_name("fq_codel"), display_name("abc:gamma=8 packets")) == ("FQ-CoDel", "ABC, gamma=8 packets")
    assert {scheme["family"] for scheme in fairlane.schemes()} == {"aqm", "fairqueue", "label"}
