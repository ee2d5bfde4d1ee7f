import json
import re
from pathlib import Path

import pytest

from benches.harness import Report
from conftest import ROOT
from fairlane.results.catalogue import METRICS
from fairlane.schemas import schema
from fairlane.simulate.catalogue import schemes
from generators import pages

DOCS = ROOT / "docs"


def test_generated_tables_of_the_docs_are_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    assert pages.write(DOCS, check=True) == 0, capsys.readouterr().err


def test_every_scheme_has_a_chapter_with_its_parameters_and_the_parts_of_its_modules_head() -> None:
    for scheme in schemes():
        chapter = (DOCS / "schemes" / f"{scheme['name']}.md").read_text(encoding="utf-8")
        marks = set(re.findall(rf"<!-- generated:(\w+) {scheme['name']} -->", chapter))
        assert marks >= {"head", "rules", "limits", "scheme"}, scheme["name"]


def test_the_table_of_costs_states_the_memory_of_the_idle_ports_that_were_measured() -> None:
    _, table = json.loads((ROOT / "site" / "data" / "costs.json").read_text(encoding="utf-8"))["measured"]
    rows = [(row[0].strip("`"), row[5]) for row in table["rows"]]
    idle_bytes = {scheme["name"]: scheme["idle_bytes"] for scheme in schemes()}
    assert rows, "a scheme that is new has no row until all are measured the next time"
    assert {name: int(idle) for name, idle in rows} == {name: idle_bytes[name] for name, _ in rows}


def test_links_between_the_docs_lead_to_files_and_headings() -> None:
    for file in [*DOCS.rglob("*.md"), DOCS.parent / "CONTRIBUTING.md"]:
        for target in re.findall(r"\]\(([^)]+)\)", file.read_text(encoding="utf-8")):
            if "://" in target:
                continue
            path, _, anchor = target.partition("#")
            page = file.parent / path if path else file
            assert page.exists(), f"{file}: {target}"
            assert not anchor or anchor in anchors(page), f"{file}: {target}"


PAGES = sorted(page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md"))


LISTS = ("schemes.md", "congestion-controls.md")
"""Pages that list others."""


@pytest.mark.parametrize("page", PAGES)
def test_a_page_ends_with_the_files_that_it_was_checked_against(page: str) -> None:
    last = (DOCS / page).read_text(encoding="utf-8").rstrip().split("\n\n")[-1]
    assert re.fullmatch(r"Checked against: `[^`]+`(,\s`[^`]+`)*\.", last), last
    missing = [path for path in re.findall(r"`([^`]+)`", last) if not (DOCS.parent / path).exists()]
    assert not missing, f"{page}: no such files"


def test_the_index_leads_to_every_page() -> None:
    index = "".join((DOCS / page).read_text(encoding="utf-8") for page in ("README.md", *LISTS))
    assert {page for page in PAGES if f"]({page})" not in index} == {"README.md"}
    rows = (DOCS / "README.md").read_text(encoding="utf-8").count("\n| ")
    assert rows <= 27, "an index by task, not a list of pages"


def test_the_number_of_schemes_is_counted_anew() -> None:
    assert pages.rewrite("- **7 schemes**, each\n") == f"- **{len(schemes())} schemes**, each\n"


def test_tests_and_source_files_that_a_page_names_exist() -> None:
    root = DOCS.parent
    sources = [
        file
        for folder in ("crates", "python", "tests", "benches", "examples", "fuzz", "tools")
        for file in root.glob(f"{folder}/**/*.[rp][sy]")
    ]
    functions = {
        name for file in sources for name in re.findall(r"\b(?:fn|def) (\w+)", file.read_text(encoding="utf-8"))
    }
    ends = {
        "/".join(file.parts[-depth:]) for file in sources for depth in range(1, len(file.relative_to(root).parts) + 1)
    }
    for page in PAGES:
        text = pages.expanded((DOCS / page).read_text(encoding="utf-8"), ROOT / "crates")
        files = set(re.findall(r"`([\w./]+\.(?:rs|py))`", text))
        assert files <= ends, f"{page}: no such file: {files - ends}"
        tests = {name for name in re.findall(r"`([a-z0-9_]+)`", text) if name.count("_") > 4}
        tests = {name for name in tests if not name.startswith("fairlane_")} - {metric.name for metric in METRICS}
        assert tests <= functions, f"{page}: no such test: {tests - functions}"


def test_functions_that_a_chapter_takes_its_rules_from_exist() -> None:
    code = "".join(file.read_text(encoding="utf-8") for file in (DOCS.parent / "crates").glob("*/src/**/*.rs"))
    declared = set(re.findall(r"\b(?:fn|struct|enum|trait) (\w+)", code))
    for page in (DOCS / "schemes").glob("*.md"):
        named = re.findall(r"`([A-Z]\w+)::(\w+)`", page.read_text(encoding="utf-8"))
        missing = [f"{owner}::{name}" for owner, name in named if not {owner, name} <= declared]
        assert not missing, f"{page}: no such function: {missing}"


def anchors(page: Path) -> set[str]:
    """The anchors of headings as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_check_names_the_stale_file_and_changes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "deeper" / "page.md"
    file.parent.mkdir()
    stale = "# Page\n\n<!-- generated:scheme abc -->\nold\n<!-- end -->\n"
    file.write_text(stale)
    assert pages.write(tmp_path, check=True) == 1
    assert str(file) in capsys.readouterr().err
    assert file.read_text() == stale
    assert pages.write(tmp_path) == 0
    assert "`q_base`" in file.read_text()
    assert pages.write(tmp_path, check=True) == 0


HEAD = """\
//! Toy: drops
//! every packet.
//!
//! Source: none.
//!
//! | number | rule |
//! |---|---|
//! | (1) | drop, as [`Toy::admit`] |
//!
//! See [`super::toy`].
//!
//! Cost: none. State: none.
//!
//! Deviations:
//! 1. Packets without length
//!    are dropped, too.
//! 2. So are others.
//!
//! Not implemented: a queue.

fn admit() {}
"""


def toy(folder: Path, head: str = HEAD) -> tuple[Path, Path]:
    """The module of a scheme with this head, and its chapter."""
    module, chapter = folder / "crates" / "schemes" / "src" / "aqm" / "toy.rs", folder / "docs" / "schemes" / "toy.md"
    for file in (module, chapter):
        file.parent.mkdir(parents=True)
    module.write_text(head)
    chapter.write_text(
        "".join(f"<!-- generated:{part} toy -->\n<!-- end -->\n" for part in ("head", "rules", "limits"))
    )
    return module, chapter


def test_a_chapter_takes_its_rules_and_deviations_from_the_head_of_the_module(tmp_path: Path) -> None:
    _, chapter = toy(tmp_path)
    assert pages.write(tmp_path / "docs") == 0
    written = chapter.read_text()
    for part in (
        "Toy: drops every packet.\n\nSource: none.\n\nCode: `crates/schemes/src/aqm/toy.rs`.\n",
        "| (1) | drop, as `Toy::admit` |\n\nSee [toy](toy.md).\n",
        "## Cost\n\nNone. State: none.\n\n## Deviations\n\n1. Packets without length are dropped, too.\n2. So",
        "## Not implemented\n\nA queue.\n",
    ):
        assert part in written


def test_an_edited_rule_makes_the_chapter_stale(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    module, chapter = toy(tmp_path)
    docs = tmp_path / "docs"
    assert pages.write(docs) == 0
    assert pages.write(docs, check=True) == 0
    module.write_text(HEAD.replace("(1) | drop", "(1) | mark"))
    assert pages.write(docs, check=True) == 1
    assert capsys.readouterr().err.startswith(f"{chapter}: stale")


@pytest.mark.parametrize(
    ("part", "other"),
    [
        ("Source:", "Sources:"),
        ("//! Cost: none. State: none.\n//!\n", ""),
        ("Deviations:\n//! 1. ", "Deviations: 1. "),
        ("//! 2. So", "//! 3. So"),
        ("//! Not implemented", "//! It has no label.\n//!\n//! Not implemented"),
        ("a queue.\n", "a queue.\n//!\n//! It has no label.\n"),
    ],
)
def test_a_head_in_another_form_is_refused_with_the_module(
    part: str, other: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert part in HEAD
    module, _ = toy(tmp_path, HEAD.replace(part, other))
    assert pages.write(tmp_path / "docs", check=True) == 2
    assert f"{module}: the head is not in the form" in capsys.readouterr().err


def test_a_table_of_an_enum_has_its_names_and_sentences(tmp_path: Path) -> None:
    (tmp_path / "crates" / "x" / "src").mkdir(parents=True)
    declared = (
        '/// What.\npub enum Reason {\n    /// Too\n    /// many.\n    TooMany,\n    /// Old.\n    Old = "aged",\n}\n'
    )
    (tmp_path / "crates" / "x" / "src" / "reason.rs").write_text(declared)
    table = pages.generate("enum Reason", tmp_path / "crates")
    assert "| `too_many` | Too many. |\n| `aged` | Old. |\n" in table


@pytest.mark.parametrize("page", PAGES)
def test_tables_that_only_the_site_has_can_be_made(page: str) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    tables = pages.expanded(text, ROOT / "crates")
    assert (tables != text) == ("<!-- site:" in text)
    assert "<!-- site:" not in tables


def test_all_that_was_recorded_is_on_a_page() -> None:
    text = "".join((DOCS / page).read_text(encoding="utf-8") for page in PAGES)
    kept = {f"{file.stem} {mark}" for file in pages.DATA.glob("*.json") for mark in json.loads(file.read_text("utf-8"))}
    assert set(re.findall(r"^<!-- site:data (.*) -->$", text, re.MULTILINE)) == kept


def test_text_outside_the_marks_stays() -> None:
    text = "before `<!-- generated:x -->`\n<!-- generated:shared -->\n<!-- end -->\nafter\n"
    written = pages.rewrite(text)
    assert written.startswith("before `<!-- generated:x -->`\n<!-- generated:shared -->\n\n| key |")
    assert written.endswith("|\n\n<!-- end -->\nafter\n")
    assert pages.rewrite(written) == written


@pytest.mark.parametrize(
    "mark",
    [
        "",
        "nothing",
        "scheme nothing",
        "rules nothing",
        "enum Nothing",
        "topology ring",
        "scenario run.sources",
        "scenario groups.sources.quic",
    ],
)
def test_unknown_marks_are_refused_with_the_file(mark: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "page.md").write_text(f"<!-- generated:{mark} -->\n<!-- end -->\n")
    assert pages.write(tmp_path) == 2
    assert "page.md" in capsys.readouterr().err


def test_a_block_without_end_is_refused() -> None:
    with pytest.raises(pages.MarkError):
        pages.rewrite("<!-- generated:shared -->\n\n<!-- generated:shared -->\n<!-- end -->\n")


def test_a_missing_folder_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert pages.write(tmp_path / "none") == 2
    assert "no such folder" in capsys.readouterr().err


def test_every_key_of_the_schema_is_in_a_table() -> None:
    tables = schema("scenario")["properties"]
    for name in ("run", "topology", "tcp", "probes"):
        generated = pages.generate(f"scenario {name}")
        assert all(f"| `{key}`" in generated for key in tables[name]["properties"])
    assert "| `flows`" in pages.generate("scenario groups.sources.tcp")
    assert "| `rate`, `R_t` | required |" in pages.generate("scenario groups.sources.cbr")


def test_every_record_of_the_result_has_a_table() -> None:
    generated = pages.generate("document result")
    for name in schema("result")["$defs"]:
        assert f"### {name}\n" in generated


def test_what_a_bench_records_is_the_table_that_the_site_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "toy.json"
    file.write_text('{"other": ["stays"]}')
    Report(file, {"tables": []}).table(
        {"cell": "", "b|c": "{:.1f}"}, [["x", 1.25], ["y", None]], "m", above="On a toy."
    )
    assert json.loads(file.read_text())["other"] == ["stays"]
    monkeypatch.setattr(pages, "DATA", tmp_path)
    shown = pages.expanded("<!-- site:data toy m -->\n")
    assert shown.startswith("\nOn a toy.\n\n\n| cell | b")
    assert "| x | 1.2 |\n" in shown
    with pytest.raises(pages.MarkError):
        pages.expanded("<!-- site:data toy none -->\n")
