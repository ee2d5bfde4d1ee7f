"""The pages of `fairlane report`: what they say, without a browser; test_report_browser.py looks at them."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import fairlane
from conftest import QUICK, ROOT, SETTINGS, SHORT_SCENARIO, Cli, files
from fairlane.papers.readings import Standing
from fairlane.report import comparison, figures
from fairlane.report.collect import Wanted, collect
from fairlane.report.pages import prose
from fairlane.report.views import (
    AS_NS3,
    CONSISTENT,
    DIFFERS,
    INCONCLUSIVE,
    NOT_RUN,
    REPRODUCED,
    ClaimView,
    Counts,
    Outcome,
    paper_view,
)

NAMES = ["abc2018.default", "abc2018.fig4a", "abc2018.fig5a"]
"""Of these, the first two are stored."""
EXTERNAL = re.compile(r"""(?:src|href|srcset)\s*=\s*["']?\s*(?:https?:)?//|url\(|@import""")


class Page(HTMLParser):
    """What a page refers to, and the anchors that it has."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.alts: list[str] = []
        self.ids: list[str] = []
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.links += [values[name] for name in ("href", "src", "srcset") if name in values]
        self.ids += [values["id"]] if "id" in values else []
        if tag == "img":
            self.alts.append(values["alt"])


@pytest.fixture(scope="module")
def pages(reproduced: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report on three experiments, of which two are stored."""
    out = tmp_path_factory.mktemp("report") / "pages"
    start = fairlane.report(*NAMES, out=out, settings=SETTINGS, replications=2, store=reproduced)
    assert start == out / "index.html"
    return out


def test_every_experiment_has_a_page_and_the_stored_ones_their_files(pages: Path) -> None:
    there = set(files(pages))
    assert {f"{name}.html" for name in NAMES} | {"index.html", "abc2018.html", "style.css"} <= there
    assert {f"abc2018.fig4a{end}" for end in (".png", ".svg", ".csv", "-narrow.svg")} <= there
    assert "abc2018.fig5a.png" not in there


def test_every_link_leads_somewhere_beside_the_page(pages: Path) -> None:
    for file in pages.glob("*.html"):
        page = Page(file)
        assert len(page.ids) == len(set(page.ids)), file
        for link in page.links:
            target, _, anchor = link.partition("#")
            if link != "data:,":
                assert not target or (pages / target).is_file(), (file, link)
                assert not anchor or anchor in page.ids, (file, link)


def test_nothing_is_loaded_from_elsewhere(pages: Path) -> None:
    for name in files(pages):
        if name.endswith((".html", ".css")):
            assert not EXTERNAL.search((pages / name).read_text(encoding="utf-8")), name


def test_numbers_of_the_page_are_those_of_the_reproduction(pages: Path, reproduced: Path) -> None:
    reproduction = fairlane.reproduce("abc2018.fig4a", settings=SETTINGS, replications=2, store=reproduced)
    (experiment,) = reproduction.experiments
    html = (pages / "abc2018.fig4a.html").read_text(encoding="utf-8")
    for verdict in reproduction.verdicts:
        (finding,) = verdict.findings
        assert finding.measured in html
        assert finding.worst in html
    for cell in reproduction.tables[experiment.id].cells(experiment.schemes, ["T_R"]):
        assert f"<td>{cell.interval}</td>" in html
    assert "seed</th><td>1<" in html
    (alt,) = Page(pages / "abc2018.fig4a.html").alts
    (first,) = reproduction.tables[experiment.id].cells(["abc"], ["T_R"], {"Db_ms": 5, "f0": 1})
    assert f"D_b = 5 ms, ABC: {fairlane.results.intervals.format_number(first.interval.mean)} at 1 to" in alt


def test_what_is_not_stored_says_so_with_its_command(pages: Path) -> None:
    html = (pages / "abc2018.fig5a.html").read_text(encoding="utf-8")
    assert "Not run yet" in html
    assert (
        "fairlane reproduce abc2018.fig5a --replications 2 --set &#39;run.warmup=13 s&#39; "
        "--set &#39;run.measure=2 s&#39;" in html
    )
    assert "reproduced</span>" not in html


def test_counts_are_those_of_the_claims(reproduced: Path) -> None:
    wanted = Wanted(quick=False, replications=2, settings=SETTINGS, store=reproduced)
    (collected,) = collect(NAMES, wanted, run=False, threads=None, progress=False)
    paper = paper_view(collected)
    assert collected.reproduction
    verdicts = [verdict.verdict for verdict in collected.reproduction.verdicts]
    counts = paper.counts.by_outcome
    for outcome, word in ((REPRODUCED, "reproduced"), (DIFFERS, "differs"), (INCONCLUSIVE, "inconclusive")):
        assert counts[outcome] == verdicts.count(word)
    claims = sum(len(experiment.claims) for experiment in collected.experiments)
    assert counts[NOT_RUN] == claims - len(verdicts)
    assert paper.counts.total == claims


def fared(outcome: Outcome, standing: Standing = "independent") -> ClaimView:
    """A claim of which only its outcome and standing count."""
    return ClaimView("", "", "", (), (), outcome, "", standing)


@pytest.mark.parametrize(
    ("claims", "worst"),
    [
        ([fared(REPRODUCED), fared(AS_NS3), fared(DIFFERS)], DIFFERS),
        ([fared(REPRODUCED), fared(DIFFERS, "not independent")], DIFFERS),
        ([fared(NOT_RUN, "added")], NOT_RUN),
        ([fared(CONSISTENT)], CONSISTENT),
        ([fared(REPRODUCED), fared(REPRODUCED, "added")], REPRODUCED),
    ],
)
def test_the_colour_of_an_experiment_is_that_of_its_worst_claim(claims: list[ClaimView], worst: Outcome) -> None:
    assert Counts.of(claims).worst == worst


def test_claims_that_are_counted_apart_alone_are_not_called_none_of_none() -> None:
    assert Counts.of([fared(DIFFERS, "added")]).words == "not in the paper: 0 of 1 reproduced, 1 differs"


def test_claims_that_need_more_runs_are_shown_with_those_that_are_stored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"run.warmup": "15 s", "run.measure": "0.3 s"}  # too short for any interval to be narrow
    fairlane.reproduce("abc2018.default", settings=settings, replications=10, store=tmp_path)
    monkeypatch.setattr("fairlane._fairlane.Batch", None)
    wanted = Wanted(quick=False, replications=None, settings=settings, store=tmp_path)
    (collected,) = collect(["abc2018.default"], wanted, run=False, threads=None, progress=False)
    assert collected.reproduction
    assert {verdict.runs for verdict in collected.reproduction.verdicts} == {10}
    assert "inconclusive" in {verdict.verdict for verdict in collected.reproduction.verdicts}


def test_same_inputs_give_the_same_bytes(pages: Path, reproduced: Path, tmp_path: Path) -> None:
    fairlane.report(*NAMES, out=tmp_path, settings=SETTINGS, replications=2, store=reproduced)
    assert files(tmp_path) == files(pages)
    assert [name for name in files(pages) if (tmp_path / name).read_bytes() != (pages / name).read_bytes()] == []


def test_text_of_scenarios_is_escaped(tmp_path: Path) -> None:
    store, file, out = (tmp_path / name for name in ("store", "odd.json", "escaped"))
    document = json.loads(fairlane.compare(SHORT_SCENARIO, ["droptail"], store=store).json())
    document["results"]["<script>alert(1)</script>"] = document["results"].pop("droptail")
    file.write_text(json.dumps(document))
    fairlane.report("abc2018.fig5a", out=out, compare=file, store=store)
    html = (out / "compare.html").read_text(encoding="utf-8")
    assert "<script" not in html
    assert "&lt;script&gt;alert(1)" in html


def test_a_comparison_is_shown_side_by_side(cli: Cli, workdir: Path) -> None:
    cli.output("compare", "short.toml", "--queues", "droptail,abc", "--out", "compared")
    cli.output("report", "abc2018.fig4a", "--compare", "compared/result.json", "--out", "pages")
    html = (workdir / "pages" / "compare.html").read_text(encoding="utf-8")
    summary = json.loads((workdir / "compared" / "result.json").read_text())["results"]["abc"]["summary"]
    queue = summary["links"][0]["queue_mean_packets"]
    assert f"<td>{fairlane.results.intervals.format_interval(queue['mean'], queue['half_width'])}</td>" in html
    path = summary["groups"][1]["path"]
    delay_ms = {key: 1e3 * path["one_way_delay"]["p99_s"][key] for key in ("mean", "half_width")}
    assert "99% one-way delay, light (ms)" in html
    assert f"<td>{fairlane.results.intervals.format_interval(delay_ms['mean'], delay_ms['half_width'])}</td>" in html
    assert "99% RTT, heavy (ms)" in html
    assert "99% RTT, light (ms)" not in html  # UDP alone
    assert (workdir / "pages" / "compare.png").stat().st_size > 5000
    used = 100 * summary["links"][0]["utilisation"]["mean"]
    for columns in (4, 2):
        drawn = comparison.draw(comparison.read(workdir / "compared" / "result.json"), columns)
        assert all(axes.has_data() for axes in drawn.axes)
        assert any(used in line.get_xdata() for axes in drawn.axes for line in axes.get_lines())


def test_run_simulates_what_is_missing(cli: Cli, workdir: Path) -> None:
    assert "Not run yet" in report_of_default(cli, workdir)
    assert "Not run yet" not in report_of_default(cli, workdir, "--run")
    assert "Not run yet" not in report_of_default(cli, workdir)


def report_of_default(cli: Cli, workdir: Path, *options: str) -> str:
    told = cli.output("report", "abc2018.default", *QUICK, *options)
    assert told == "report: results/report/index.html\n"
    return (workdir / "results" / "report" / "abc2018.default.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "mention"),
    [
        (["report", "abc2019"], "abc2019: no such paper"),
        (["report", "abc2018.fig99"], "abc2018.fig99: no such experiment"),
        (["report", "--out", "short.toml"], "--out: cannot write to short.toml"),
        (["report", "abc2018.fig4a", "--compare", "no.json"], "--compare: no.json: No such file"),
        (["report", "abc2018.fig4a", "--compare", "short.toml"], "--compare: short.toml: not JSON"),
        (["report", "abc2018.fig4a", "--compare", "list.json"], "--compare: list.json: not a document"),
        (["report", "abc2018.fig4a", "--set", "run.mesure=1 s"], "--set: run.mesure"),
    ],
)
def test_mistakes_are_one_line(cli: Cli, workdir: Path, arguments: list[str], mention: str) -> None:
    (workdir / "list.json").write_text('{"results": [1]}')
    cli.refuses(arguments, [mention])


def test_svg_turns_dark_and_stays_as_it_was_elsewhere() -> None:
    svg = '<svg>\n <defs></defs><path style="fill: #ffffff"/><path style="stroke: #0072b2"/></svg>'
    dark = figures.follow_scheme(svg)
    assert dark.replace(re.search(r"<style>.*</style>\n ", dark)[0], "") == svg  # type: ignore[index]
    assert f'[style*="fill: #ffffff"]{{fill:{figures.DARK_PAPER}!important}}' in dark
    assert '[style*="stroke: #0072b2"]{stroke:#56a9e0!important}' in dark


def test_names_in_explanations_are_code_and_nothing_else_is_markup() -> None:
    assert str(prose("`a < b` & c")) == "<code>a &lt; b</code> &amp; c"


def test_the_figure_of_the_readme_is_small_and_made_by_make() -> None:
    shown = re.findall(r"docs/figures/(abc2018\.[a-z0-9]+)\.png", (ROOT / "README.md").read_text(encoding="utf-8"))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert f"PAPER_FIGURES := {' '.join(shown)}\n" in makefile
    for name in shown:
        assert 5_000 < (ROOT / "docs" / "figures" / f"{name}.png").stat().st_size < 100_000
