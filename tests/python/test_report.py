"""Tests the content of pages of `fairlane report`; test_report_browser.py tests their appearance in a browser."""

import json
import re
import tomllib
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import fairlane
from blank import undrawn
from conftest import QUICK, ROOT, SETTINGS, SHORT, SHORT_SCENARIO, THREE_GROUPS, Cli, files
from fairlane.judge.readings import Standing
from fairlane.report import comparison, figures, own, site
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
from fairlane.results.intervals import format_interval, format_quantile

NAMES = ["abc2018.default", "abc2018.fig4a", "abc2018.fig5a"]
"""Experiments of the report; the first two are stored."""
EXTERNAL = re.compile(r"""(?:src|href|srcset)\s*=\s*["']?\s*(?:https?:)?//|url\(|@import""")


class Page(HTMLParser):
    """Links and anchors of a page."""

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


class Tables(HTMLParser):
    """Tables of numbers by heading. A table is a list of rows; a row maps column headings to cells."""

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, list[dict[str, str]]] = {}
        self.heading = ""
        self.heads: list[str] = []
        self.cells: list[str] | None = None
        self.text: list[str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in {"h2", "summary", "th", "td"}:
            self.text = []
        elif tag == "thead":
            self.heads = []
        elif tag == "tr":
            self.cells = []

    def handle_data(self, data: str) -> None:
        if self.text is not None:
            self.text.append(data)

    def handle_endtag(self, tag: str) -> None:
        text = "".join(self.text or []).strip()
        if tag in {"h2", "summary"}:
            self.heading = text
        elif tag in {"th", "td"} and self.cells is not None:
            self.cells.append(text)
        elif tag == "tr" and self.cells:
            if self.heads:
                self.found.setdefault(self.heading, []).append(dict(zip(self.heads, self.cells, strict=True)))
            else:
                self.heads = self.cells
        elif tag == "table":
            self.heads = []


def tables(html: str) -> dict[str, list[dict[str, str]]]:
    parser = Tables()
    parser.feed(html.partition("How it was simulated</h2>")[0])
    return parser.found


@pytest.fixture(scope="module")
def pages(reproduced: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report on three experiments, two of which have stored runs."""
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
    judged = collected.reproduction.verdicts
    verdicts = [verdict.verdict for verdict in judged if verdict.standing == "independent"]
    counts = paper.counts.by_outcome
    for outcome, word in ((REPRODUCED, "reproduced"), (DIFFERS, "differs"), (INCONCLUSIVE, "inconclusive")):
        assert counts[outcome] == verdicts.count(word)
    claims = sum(len(experiment.claims) for experiment in collected.experiments)
    apart = len(judged) - len(verdicts)
    assert counts[NOT_RUN] == claims - len(judged)
    assert paper.counts.total == claims - apart


def fared(outcome: Outcome, standing: Standing = "independent") -> ClaimView:
    """A claim for which only outcome and standing matter."""
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


@pytest.mark.usefixtures("undrawn")
def test_text_of_scenarios_is_escaped(tmp_path: Path) -> None:
    store, file, out = (tmp_path / name for name in ("store", "odd.json", "escaped"))
    document = json.loads(fairlane.compare(SHORT_SCENARIO, ["droptail"], store=store).json())
    document["results"]["<script>alert(1)</script>"] = document["results"].pop("droptail")
    file.write_text(json.dumps(document))
    fairlane.report("abc2018.fig5a", out=out, compare=file, store=store)
    html = (out / "compare.html").read_text(encoding="utf-8")
    assert "<script>" not in html
    assert "&lt;script&gt;alert(1)" in html


def test_a_comparison_is_shown_side_by_side(cli: Cli, workdir: Path) -> None:
    results = write_document(cli, "compared.json", "compare", "short.toml", "--queues", "droptail,abc")["results"]
    cli.output("report", "abc2018.fig4a", "--compare", "compared.json", "--out", "pages")
    html = (workdir / "pages" / "compare.html").read_text(encoding="utf-8")
    summary = results["abc"]["summary"]
    queue = summary["links"][0]["queue_mean_packets"]
    assert f"<td>{format_interval(queue['mean'], queue['half_width'])}</td>" in html
    path = summary["groups"][1]["path"]
    delay_ms = {key: 1e3 * path["one_way_delay"]["p99_s"][key] for key in ("mean", "half_width")}
    found = tables(html)
    of_light = {row["scheme"]: row for row in found["One-way delay by group"] if row["group"] == "light"}
    assert of_light["abc"]["p99 (ms)"] == format_quantile(delay_ms["mean"], delay_ms["half_width"])
    assert {row["group"] for row in found["RTT by group"]} == {"heavy"}  # the light group is only UDP
    assert (workdir / "pages" / "compare.png").stat().st_size > 5000
    used = 100 * summary["links"][0]["utilisation"]["mean"]
    for column in (False, True):
        drawn = comparison.draw(comparison.view(results), column=column)
        assert all(axes.has_data() for axes in drawn.axes)
        # Rows are lines of intervals, then dots of means.
        assert any(used in axes.collections[1].get_offsets()[:, 0] for axes in drawn.axes)


@pytest.mark.long
def test_results_of_ones_own_have_a_page_each(cli: Cli, workdir: Path) -> None:
    (workdir / "three.toml").write_text(THREE_GROUPS)
    (workdir / "swept.toml").write_text(
        'scenario = "short.toml"\n[grid]\ntopology.bottleneck_rate = ["10 Mbit/s", "500 kbit/s"]\n'
    )
    cli.output("run", "three.toml", "--out", "one")
    cli.output("compare", "three.toml", "--queues", "droptail,abc", "--out", "several")
    cli.output("sweep", "swept.toml", "--out", "swept")
    told = cli.output("report", "one", "several/result.json", "swept/", "--pdf", "--out", "pages")
    assert told == "report: pages/index.html\n"
    written = workdir / "pages"
    names = ["run-Three-groups", "comparison-Three-groups", "sweep-swept"]
    twice = own.pages([workdir / "one", workdir / "one"])
    assert [(page.stem, page.tab) for page in twice] == [
        ("run-Three-groups", "Three groups"),
        ("run-Three-groups-2", "Three groups 2"),
    ]
    assert {f"{name}.html" for name in [*names, "index"]} == {file.name for file in written.glob("*.html")}
    for file in written.glob("*.html"):
        page = Page(file)
        assert all(link == "data:," or link.startswith("#") or (written / link).is_file() for link in page.links)
        assert not EXTERNAL.search(file.read_text(encoding="utf-8"))
    assert (written / "comparison-Three-groups-throughput.pdf").read_bytes().startswith(b"%PDF")

    one = json.loads((workdir / "one" / "result.json").read_text())["summary"]
    of_run = tables((written / "run-Three-groups.html").read_text(encoding="utf-8"))
    assert [row["group"] for row in of_run["Groups"]] == ["heavy", "light", "third"]
    assert [row["Throughput/user (Mbit/s)"] for row in of_run["Groups"]] == [
        in_unit(group["throughput_bps"], 1e-6) for group in one["groups"]
    ]

    several = json.loads((workdir / "several" / "result.json").read_text())["results"]
    of_all = tables((written / "comparison-Three-groups.html").read_text(encoding="utf-8"))
    for row in of_all["Throughput/user (Mbit/s) by group"]:
        groups = several[row["scheme"]]["summary"]["groups"]
        assert row == {"scheme": row["scheme"]} | {
            group["name"]: in_unit(group["throughput_bps"], 1e-6) for group in groups
        }

    points = json.loads((workdir / "swept" / "sweep.json").read_text())["points"]
    of_sweep = tables((written / "sweep-swept.html").read_text(encoding="utf-8"))
    for title, head, metric, factor in (
        ("Numbers", "utilisation, bottleneck (%)", "utilisation.bottleneck", 100),
        ("Numbers", "throughput of a user, heavy (Mbit/s)", "throughput_bps.heavy", 1e-6),
        ("All metrics", "one-way delay mean, light (ms)", "one_way_delay_mean_s.light", 1e3),
    ):
        assert [row[head] for row in of_sweep[title]] == [in_unit(one["metrics"][metric], factor) for one in points]


def in_unit(estimate: dict[str, float], factor: float) -> str:
    return format_interval(factor * estimate["mean"], factor * estimate["half_width"])


@pytest.mark.usefixtures("undrawn")
def test_run_simulates_what_is_missing(cli: Cli, workdir: Path) -> None:
    assert "Not run yet" in report_of_default(cli, workdir)
    assert "Not run yet" not in report_of_default(cli, workdir, "--run")
    assert "Not run yet" not in report_of_default(cli, workdir)


def test_a_bare_name_is_a_folder_that_is_there_unless_a_paper_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names = ["o", "abc2018", "abc2018.fig4a", "all"]
    for name in names:
        (tmp_path / name).mkdir()
    assert [name for name in [*names, "gone"] if own.is_file(name)] == ["o"]


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
        (["report", "no.json"], "report: no.json: No such file"),
        (["report", "list.json"], "report: list.json: not a document of `fairlane run`, `compare` or `sweep`"),
        (["report", "./"], "report: .: has none of result.json, sweep.json"),
        (["report", "empty"], "report: empty: has none of result.json, sweep.json"),
        (["report", "list.json", "--quick"], "quick: has no effect on documents"),
        (["report", "abc2018.fig4a", "--compare", "no.json"], "--compare: no.json: No such file"),
        (["report", "abc2018.fig4a", "--compare", "short.toml"], "--compare: short.toml: not JSON"),
        (["report", "abc2018.fig4a", "--compare", "list.json"], "--compare: list.json: not a document"),
        (["report", "abc2018.fig4a", "--set", "run.mesure=1 s"], "--set: run.mesure"),
    ],
)
def test_mistakes_are_one_line(cli: Cli, workdir: Path, arguments: list[str], mention: str) -> None:
    (workdir / "list.json").write_text('{"results": [1]}')
    (workdir / "empty").mkdir()
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
    script = (ROOT / "tools" / "publish.sh").read_text(encoding="utf-8")
    assert f'PAPER_FIGURES="{" ".join(shown)}"\n' in script
    for name in shown:
        assert 5_000 < (ROOT / "docs" / "figures" / f"{name}.png").stat().st_size < 100_000


@pytest.mark.usefixtures("undrawn")
def test_pages_of_one_scenario_have_names_of_their_own_and_speak_of_groups(cli: Cli, workdir: Path) -> None:
    write_document(cli, "one.json", "run", "short.toml")
    name = tomllib.loads((workdir / "short.toml").read_text())["name"]
    plan = f'name = "{name}"\nscenario = "short.toml"\nreplications = 2\n[grid]\n"groups[1].users" = [1, 2]\n'
    (workdir / "grid.toml").write_text(plan)
    cli.output("sweep", "grid.toml", "--out", "swept")
    cli.output("report", "one.json", "swept/", "--out", "pages")
    page = (workdir / "pages" / f"sweep-{name}.html").read_text()
    assert f">{name}, run</a>" in page
    assert f">{name}, sweep</a>" in page
    answers = page.partition('<ul class="answers">')[2].partition("</ul>")[0]
    assert "users 1" in answers
    assert "groups[1]" not in answers


@pytest.fixture(scope="module")
def compared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working directory with the document of a comparison and a report on it."""
    folder = tmp_path_factory.mktemp("compared")
    (folder / "short.toml").write_text(SHORT)
    cli = Cli(folder)
    write_document(cli, "compared.json", "compare", "short.toml", "--queues", "droptail,fq_codel")
    with undrawn():
        cli.output("report", "compared.json", "--out", "pages")
    return folder


def write_document(cli: Cli, name: str, *arguments: str) -> Any:
    """Writes the document of a command, without the figures that `--out` would draw, and returns it."""
    document = cli.document(*arguments)
    (cli.folder / name).write_text(json.dumps(document))
    return document


def test_alternative_texts_name_the_bars_and_the_schemes_as_the_literature_does(compared: Path) -> None:
    (page,) = (compared / "pages").glob("comparison-*.html")
    alts = Page(page).alts
    assert re.search(r"Plot of throughput over max-min share\. DropTail: heavy \d\S*, light \d", alts[0])
    assert "throughput ratio: " in alts[2]
    assert "FQ-CoDel" in alts[2]
    assert "fq_codel" not in " ".join(alts)


@pytest.mark.usefixtures("undrawn")
def test_the_index_opens_with_sentences_and_main_figures_of_ones_own_results(
    compared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (own_page,) = (compared / "pages").glob("comparison-*.html")
    index, page = Page(compared / "pages" / "index.html"), Page(own_page)
    head = (compared / "pages" / "index.html").read_text().partition('id="pages"')[0]
    answers = head.partition('<ul class="answers">')[2].partition("</ul>")[0]
    assert answers.count("<li>") == 3
    assert answers in own_page.read_text()
    assert index.alts == page.alts[:2]
    assert {f"{own_page.stem}-{name}.svg" for name in ("shares", "delay")} <= set(index.links)
    monkeypatch.setattr(site, "MOST_OPENED", 1)
    fairlane.report(*[compared / "compared.json"] * 2, out=compared / "again")
    assert Page(compared / "again" / "index.html").alts == index.alts
