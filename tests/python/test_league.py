"""Tests the league of `fairlane evaluate`: committed results, ranks, pages, figures, and sentences."""

import csv
import json
import re
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import fairlane
from conftest import ROOT, Cli
from fairlane import Evaluation, UserError
from fairlane.evaluate import league as leagues
from fairlane.evaluate import suite as suites
from fairlane.evaluate.figures import PAIRS, Pair, describe, draw, front
from fairlane.evaluate.league import Placed
from fairlane.evaluate.league_check import LeagueCheck, check_league
from fairlane.evaluate.ranks import all_ranks
from fairlane.evaluate.sentences import findings
from fairlane.results.intervals import Interval
from fairlane.results.metrics import CRITERIA
from generators import evaluation
from generators import evaluation as evaluation_docs

FAMILY = """
title = "Tiny"
source = "this test"
measures = "Little."

[[scenarios]]
file = "all-of-them.toml"
measures = "Nobody responds."
scores = ["worst_share", "jain", "delay_p99", "state_core", "state_edge"]
quick = true

[[scenarios]]
file = "light-among-greedy.toml"
measures = "Some ask for little."
scores = ["worst_share", "use"]
judged = ["light"]
"""


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A suite of two short scenarios, with an empty league folder."""
    folder = tmp_path / "tiny"
    (folder / "few").mkdir(parents=True)
    for name in ("all-of-them", "light-among-greedy"):
        shutil.copy(suites.SUITES / "fairlane-1.0" / "unresponsive" / f"{name}.toml", folder / "few")
    (folder / "few" / "family.toml").write_text(FAMILY)
    head = f'name = "tiny"\nversion = "1"\ntitle = "Tiny"\nfamilies = ["few"]\ndigest = "{suites.digest(folder)}"\n'
    (folder / "suite.toml").write_text(head)
    monkeypatch.setattr(leagues, "LEAGUES", tmp_path / "leagues")
    return folder


def evaluated(suite: Path, *schemes: str, quick: bool = False) -> Evaluation:
    return fairlane.evaluate(schemes, suite=suite, quick=quick, replications=2, store=suite.parent / "store")


def test_what_is_written_is_what_others_are_compared_with(tiny: Path) -> None:
    first = evaluated(tiny, "abc", "fq_codel:share_per=user")
    written = first.write_league()
    assert [path.name for path in written] == ["abc.csv", "fq_codel-share_per-user.csv"]
    content = [path.read_bytes() for path in written]
    second = evaluated(tiny, "droptail")
    assert set(second.placed) == {"droptail", "abc", "fq_codel:share_per=user"}
    assert {one.of for one in second.places["worst_share"].values()} == {3}
    for label, of_entry in first.values.items():
        for key, value in of_entry.items():
            other = second.values[label][key]
            # Cells are stored with six significant digits.
            assert other.mean == pytest.approx(value.mean, rel=1e-5)
            assert other.slack == pytest.approx(value.slack, rel=1e-4)
    assert evaluated(tiny, "abc", "fq_codel:share_per=user").write_league() == written
    assert [path.read_bytes() for path in written] == content
    assert not second.notes
    assert evaluated(tiny, "abc").notes == []


def test_a_quick_evaluation_is_compared_on_the_same_scenarios(tiny: Path) -> None:
    whole = evaluated(tiny, "abc", "droptail")
    whole.write_league()
    quick = evaluated(tiny, "droptail", quick=True)
    expected = whole.placed["abc"].cells["few/all-of-them", "worst_share"]
    assert quick.values["abc"]["worst_share"].mean == pytest.approx(expected.mean, rel=1e-5)
    assert "use" not in quick.values["abc"]
    with pytest.raises(UserError, match="write_league: the league is of the whole suite"):
        quick.write_league()


def test_the_league_has_schemes_of_the_catalogue_alone(tiny: Path) -> None:
    with pytest.raises(UserError, match="again is no scheme of the catalogue under its own name"):
        evaluated(tiny, "again=abc").write_league()


def with_engine(path: Path, engine: str) -> None:
    path.write_text(re.sub("engine [^,]+,", f"engine {engine},", path.read_text()))


def test_results_of_other_files_are_refused(tiny: Path) -> None:
    evaluated(tiny, "abc").write_league()
    path = leagues.file_of(suites.read(tiny), "abc")
    path.write_text(path.read_text().replace(suites.read(tiny).digest, "0" * 64))
    with pytest.raises(UserError, match="is of tiny-1 with other files; measure it again with --write-league"):
        evaluated(tiny, "droptail")
    path.write_text("scenario,criterion\n")
    with pytest.raises(UserError, match="no file of a league"):
        evaluated(tiny, "droptail")


def test_only_results_that_differ_are_told_not_an_engine_of_another_version(tiny: Path) -> None:
    evaluated(tiny, "abc", "droptail").write_league()
    path = leagues.file_of(suites.read(tiny), "abc")
    with_engine(path, "old")

    def notes(*schemes: str, **options: Any) -> list[str]:
        return fairlane.evaluate(
            schemes, suite=tiny, store=tiny.parent / "other", **{"replications": 2} | options
        ).notes

    assert [notes("wfq"), notes("abc")] == [[], []]
    line = next(line for line in path.read_text().splitlines() if line.startswith("few/all-of-them,delay_p99,"))
    mean, half_width = line.split(",")[2:]
    path.write_text(path.read_text().replace(line, f"few/all-of-them,delay_p99,{float(mean) * 2:.6g},{half_width}"))
    # Checks cells that the evaluation measured with equal numbers of runs: seven cells of abc, or five in a quick
    # evaluation.
    assert notes("abc") == [
        "ranks: with this engine 1 of 7 cells that were checked are not those of the league; fairlane evaluate "
        "--check-league names those that differ"
    ]
    assert "1 of 5 cells" in notes("abc", quick=True)[0]
    # Cells of another scheme with this name, or with another number of runs, are not compared.
    assert [notes("abc=droptail"), notes("abc", replications=1)] == [[], []]


def test_a_check_tells_which_cells_are_the_same_with_this_engine(tiny: Path) -> None:
    evaluated(tiny, "abc", "droptail").write_league()
    paths = [leagues.file_of(suites.read(tiny), label) for label in ("abc", "droptail")]
    for path in paths:
        with_engine(path, "old")
    store = tiny.parent / "another store"

    def checked(*schemes: str) -> LeagueCheck:
        return check_league(schemes, suite=tiny, store=store)

    found = checked()
    # Two entries and two scenarios, scored by five and by two criteria, each once.
    assert str(found) == "7 of 7 cells checked give the same bytes"
    assert len({cell.entry for cell in found.cells}) == len({cell.scenario for cell in found.cells}) == 2
    assert fairlane.evaluate(["wfq"], suite=tiny, replications=1, store=store).notes == []
    # Changes the last digit of one value of abc, in a scenario that may not be in its sample.
    line = next(line for line in paths[0].read_text().splitlines() if line.startswith("few/all-of-them,delay_p99,"))
    mean, half_width = line.split(",")[2:]
    other = f"{float(mean) * 1.00001:.6g}"
    assert other != mean
    paths[0].write_text(paths[0].read_text().replace(line, f"few/all-of-them,delay_p99,{other},{half_width}"))
    all_of_abc = checked("abc")
    assert str(all_of_abc) == "6 of 7 cells checked give the same bytes"
    (differing,) = all_of_abc.differing
    assert (differing.committed, differing.found) == ((other, half_width), (mean, half_width))
    with pytest.raises(UserError, match="the league of tiny-1 has no entry 'wfq'"):
        checked("wfq")


@pytest.mark.long
def test_the_committed_league_is_what_this_engine_gives(tmp_path: Path) -> None:
    """Runs every entry and every scenario at least once, with ten replications. Takes about 30 s of CPU time."""
    suite = suites.read()
    found = check_league(store=tmp_path / "store")
    assert {cell.entry for cell in found.cells} == set(leagues.read(suite).entries)
    assert {cell.scenario for cell in found.cells} == set(suite.scenarios)
    told = "; ".join(f"{cell.entry} in {cell.scenario}, {cell.criterion}" for cell in found.differing)
    assert not found.differing, f"{found}; for a change that is meant see docs/howto/evaluate.md, The league: {told}"


def test_the_pages_have_every_entry_and_number(tiny: Path, tmp_path: Path) -> None:
    found = evaluated(tiny, "abc", "droptail", "wfq")
    found.write(tmp_path / "pages")
    names = {path.name for path in (tmp_path / "pages").iterdir()}
    assert {"index.html", "entry-abc.html", "entry-wfq.html", "style.css", "runs.parquet"} <= names
    assert {f"{pair.stem}{end}" for pair in PAIRS for end in (".svg", ".png", "-narrow.svg")} <= names
    index = (tmp_path / "pages" / "index.html").read_text()
    card = (tmp_path / "pages" / "entry-abc.html").read_text()
    assert str(found.values["wfq"]["worst_share"]) in index
    for key, value in found.values["abc"].items():
        assert CRITERIA[key].title in card.replace("&#39;", "'")
        assert str(value) in card
    links = set(re.findall(r'(?:href|src|srcset)="([^"#]+)"', index + card)) - {"data:,"}
    assert links <= names
    assert pl.read_parquet(tmp_path / "pages" / "criteria.parquet").height > 0


def test_the_front_has_whom_no_other_beats() -> None:
    pair = Pair("x", "delay_p99", "worst_share")
    points = {"a": (0.01, 0.5), "b": (0.02, 0.9), "c": (0.03, 0.8), "d": (0.005, 0.1), "e": (0.02, 0.9)}
    values = {
        label: {"delay_p99": Interval(x, 0.001, 3), "worst_share": Interval(y, 0.01, 3)}
        for label, (x, y) in points.items()
    }
    assert front(values, pair) == ["d", "a", "b", "e"]
    assert describe(values, pair).startswith(
        "5 entries. No entry is better in both criteria than 1 d (0.005, 0.1), 2 a (0.01, 0.5)"
    )
    (axes,) = draw(values, pair, ["c"]).axes
    assert {text.get_text() for text in axes.texts} == {"1", "2", "3–4"}  # b and e overlap
    named = [" ".join(label.split()) for label in axes.get_legend_handles_labels()[1]]
    assert set(named) == {"others", "no other is better in both: 1 d, 2 a, 3 b, 4 e", "c"}


def test_the_page_has_the_first_entries_by_each_criterion_without_the_site() -> None:
    places = evaluation.standing().places
    rows = dict(evaluation.first()[1])
    assert 0 < len(rows) <= 12
    assert CRITERIA["state_edge"].head not in rows  # most entries are first
    for key in places.keys() & {"worst_share", "delay_p99", "state_core"}:
        best, *others = re.findall("`(.*?)`", rows[CRITERIA[key].head])
        assert (places[key][best].rank, len(others)) == (1, 2)
    page = (ROOT / "docs" / "evaluation.md").read_text()
    assert all(f"| {criterion} | {entries} |" in page for criterion, entries in rows.items())


def test_the_page_has_the_fairest_schemes_for_each_limit_before_other_tables() -> None:
    found, rows = evaluation.standing(), evaluation.choice()[1]
    limits = [["no labels"], ["no per-flow state"], ["no labels", "no per-flow state"], ["marks for ECN hosts"]]
    assert [row[0].split(", ") for row in rows] == limits
    about = {scheme["name"]: scheme for scheme in fairlane.schemes()}
    for names, (_, cell) in zip(limits, rows, strict=True):
        advised = re.findall(r"\[`(.*?)`]\(schemes/(\w+)\.md\) \((.*?), (.*?)\)", cell)
        assert len({scheme for _, scheme, *_ in advised}) == 3
        for label, scheme, share, delay in advised:
            assert "no labels" not in names or about[scheme]["marker"] == "none"
            assert "no per-flow state" not in names or about[scheme]["flow_state"] == "none"
            assert float(share) == pytest.approx(found.values[label]["worst_share"].mean, abs=0.005)
            assert float(delay) == pytest.approx(1000 * found.values[label]["delay_p99"].mean, abs=0.5)
        shares = [float(share) for *_, share, _ in advised]
        assert shares == sorted(shares, reverse=True)
    page = (ROOT / "docs" / "evaluation.md").read_text()
    assert page.split("\n| --- |")[0].endswith("| network | fairest schemes (worst share, delay p99 in ms) |")
    assert all(f"| {network} | {schemes} |" in page for network, schemes in rows)


def test_sentences_are_made_from_numbers() -> None:
    shares = [0.9, 0.5, 0.5, 0.5, 0.2]
    placed = {
        label: Placed(label, {("f/s", "worst_share"): Interval(share, 0.01, 3)}, {})
        for label, share in zip("abcde", shares, strict=True)
    }
    values = {label: one.values(["f/s"]) for label, one in placed.items()}
    places = all_ranks(values)

    def of(label: str) -> tuple[list[str], list[str]]:
        found = findings(label, placed, values, places, ["f/s"])
        return list(found.wins), list(found.fails)

    assert of("a") == (
        [
            "Place 1 of 5 by share of the worst user: 0.900 ± 0.010, the median entry has 0.5.",
            "In `f/s` the worst user gets 0.900 ± 0.010 of its share; the median entry has 0.5.",
        ],
        [],
    )
    assert of("b") == ([], [])
    assert of("e")[0] == []
    assert of("e")[1][0] == "Place 5 of 5 by share of the worst user: 0.200 ± 0.010, the median entry has 0.5."


def test_costs_are_those_that_were_measured() -> None:
    _, table = json.loads((ROOT / "site" / "data" / "costs.json").read_text(encoding="utf-8"))["measured"]
    rows = [[row[0].strip("`"), *row[1:]] for row in table["rows"]]

    def of_1000_flows(cell: str) -> str:
        return "0" if cell == "-" else cell.split(" / ")[1]

    with leagues.COSTS.open(newline="") as lines:
        written = [(row["scheme"], row["cost_core"], row["cost_edge"]) for row in csv.DictReader(lines)]
    assert written == [(row[0], of_1000_flows(row[2]), of_1000_flows(row[4])) for row in rows]


def test_the_documentation_has_the_league_or_says_how_to_make_it(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny_suite = suites.read(tiny)
    monkeypatch.setattr(suites, "read", lambda *_: tiny_suite)
    assert "make league" in str(evaluation_docs.league())
    evaluated(tiny, "abc", "wfq", "droptail").write_league()
    heads, rows = evaluation_docs.league()
    assert [row[0] for row in rows] == ["`abc`", "`droptail`", "`wfq`"]
    assert all(len(row) == len(heads) for row in rows)
    assert "\n## wfq\n" in evaluation_docs.entries()


def test_the_picture_has_every_value_of_the_table_and_of_each_family() -> None:
    found, (_, rows) = evaluation_docs.data(), evaluation_docs.league()
    labels = [entry["label"] for entry in found["entries"]]
    assert sorted(labels) == [row[0].strip("`") for row in rows]
    cells = [found["values"][key][""] for key in found["criteria"]]
    for row in rows:
        own = [of_key[labels.index(row[0].strip("`"))] for of_key in cells]
        texts = [cell.partition(" · ")[0] for cell in row[1:-1]]
        assert texts == [one[0] if one else "–" for one in own]
    suite = suites.read()
    for family in suite.families:
        scored = {key for one in family.scenarios for key in one.scores} | {"harm"}
        assert {key for key, of_key in found["values"].items() if family.key in of_key} <= scored
    # The rank and value of a family with one scenario are those of the scenario.
    (alone,) = next(one.scenarios for one in suite.families if one.key == "less-than-best-effort")
    league = leagues.read(suite).entries
    means = {label: league[label].cells[alone.name, "worst_share"].mean for label in labels}
    of_family = found["values"]["worst_share"]["less-than-best-effort"]
    assert [one[1] for one in of_family] == [
        1 + sum(other > means[label] for other in means.values()) for label in labels
    ]


def test_what_a_port_is_said_to_remember_is_what_it_held_of_10_000_users() -> None:
    about = {scheme["name"]: scheme for scheme in fairlane.schemes()}
    for label, entry in leagues.read(suites.read()).entries.items():
        scheme = about[label.partition(":")[0]]
        grown = entry.values(suites.read().scenarios)["state_core"].mean - scheme["idle_bytes"]
        if scheme["flow_state"] == "none":
            assert grown == 0, label
        assert (scheme["flow_state"] == "each") == (grown > 5 * 10_000), label


def test_a_check_of_the_league_has_no_use_for_what_makes_one(cli: Cli) -> None:
    assert cli.error("evaluate", "--check-league", "--quick") == "--check-league: --quick has no effect with it"
    refused = cli.error("evaluate", "red2", "--check-league")
    assert refused == "check_league: the league of fairlane-1.0 has no entry 'red2'"


def test_the_league_is_not_written_of_a_part(cli: Cli) -> None:
    refused = cli.error("evaluate", "abc", "--quick", "--write-league")
    assert refused == "--write-league: the league needs the whole suite, without --quick and --only"
