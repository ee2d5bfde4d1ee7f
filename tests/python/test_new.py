"""`fairlane new` writes complete, registered skeletons with a failing test into a checkout."""

import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from conftest import ROOT, Cli, execute, files
from fairlane.base.errors import UserError, WriteError
from fairlane.cli.main import commands
from fairlane.judge.library import papers
from fairlane.judge.paper import Paper, load_paper
from fairlane.skeletons.edits import write_all
from fairlane.skeletons.kinds import skeleton

SCHEME = [
    "changes/+toy_red.added.md",
    "crates/schemes/src/aqm/mod.rs",
    "crates/schemes/src/aqm/toy_red.rs",
    "crates/schemes/src/registry/schemes.rs",
    "docs/schemes/toy_red.md",
]
CONTROL = "crates/sim/src/traffic/tcp/congestion"


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the files that skeletons change, which the command uses as its checkout."""
    root = tmp_path / "checkout"
    for folder in ("crates", "docs/schemes", "python/fairlane/papers"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr("fairlane.cli.new.CHECKOUT", root)
    return root


def new(kind: str, name: str, root: Path) -> list[str]:
    """Writes a skeleton; returns the changed files."""
    made = skeleton(kind, name, root)
    write_all(made.files)
    return sorted(str(path.relative_to(root)) for path in made.files)


def contents(root: Path) -> dict[str, bytes]:
    return {name: (root / name).read_bytes() for name in files(root)}


def test_a_scheme_is_a_module_a_line_in_the_list_a_chapter_and_an_entry(checkout: Path) -> None:
    assert new("scheme", "toy_red", checkout) == SCHEME
    assert re.search(r"pub mod sfb;\npub mod toy_red;\nmod virtual_queue;", (checkout / SCHEME[1]).read_text())
    registry = (checkout / SCHEME[3]).read_text()
    listed = registry[registry.index("\nschemes! {") :].partition("\n}\n")[0]
    assert listed.endswith('ToyRed = "toy_red", "ToyRed", aqm::toy_red::ToyRedScheme;')
    assert (checkout / SCHEME[0]).read_text().startswith("Scheme `toy_red`: ")


def test_a_congestion_control_is_a_module_and_a_line_in_the_list(checkout: Path) -> None:
    assert new("congestion-control", "toy_cc", checkout) == [f"{CONTROL}/mod.rs", f"{CONTROL}/toy_cc.rs"]
    text = (checkout / CONTROL / "mod.rs").read_text()
    assert re.search(r"mod testing;\nmod toy_cc;\nmod vegas;", text)
    listed = text[text.index("\ncongestion_controls! {") :].partition("\n}\n")[0]
    assert listed.endswith('ToyCc = "toy_cc", toy_cc::ToyCc;')


def test_a_metric_is_declared_with_its_field_and_recorded(checkout: Path) -> None:
    measure = "crates/sim/src/measure"
    assert new("metric", "toy_share", checkout) == [f"{measure}/recorder.rs", f"{measure}/run_record.rs"]
    declared, recorded = ((checkout / measure / name).read_text() for name in ("run_record.rs", "recorder.rs"))
    of_group = declared[declared.index("pub struct GroupRecord") :].partition("\n}\n")[0]
    assert '/// TODO: what it is, in one sentence.\n        toy_share: f64, unit "1"' in of_group
    assert re.search(r"GroupRecord \{(?s:.*)toy_share: 0\.0,\n *path:", recorded)
    with pytest.raises(UserError, match="new metric: toy_share is there already"):
        new("metric", "toy_share", checkout)


@pytest.mark.parametrize("paper", papers().values(), ids=papers())
def test_an_experiment_is_data_of_its_paper_and_an_entry(paper: Paper, checkout: Path) -> None:
    folder = f"python/fairlane/papers/{paper.key}"
    assert new("experiment", f"{paper.key}.fig99", checkout) == [
        f"changes/+{paper.key}-fig99.added.md",
        f"{folder}/claims.toml",
    ]
    parts = {"scenario": paper.scenario, "metrics": paper.metrics}
    *others, made = load_paper(paper.key, paper.title, checkout / folder, **parts).experiments.values()
    assert [experiment.id for experiment in others] == list(paper.experiments)
    assert made.name == "fig99"
    assert set(made.metrics) <= paper.metrics.keys()
    assert [claim["statement"].partition(":")[0] for claim in made.claims] == ["TODO"]


@pytest.mark.parametrize(
    ("kind", "name", "message"),
    [
        ("scheme", "Toy", "'Toy' is not a name for a module: a to z, 0 to 9 and _"),
        ("scheme", "../toy", "is not a name for a module"),
        ("scheme", "fn", "no keyword of Rust"),
        ("scheme", "x" * 33, "32 characters at most"),
        ("scheme", "blue", "blue is there already, in "),
        ("scheme", "csfq", "csfq is there already, in "),
        ("scheme", "drop_tail", "drop_tail is there already, in "),
        ("congestion-control", "to-y", "is not a name for a module"),
        ("congestion-control", "cubic", "cubic is there already, in "),
        ("congestion-control", "control", "control is there already, in "),
        ("experiment", "fig99", "'fig99' is not PAPER.NAME; papers: abc2018, afc"),
        ("experiment", "abc2019.fig99", "is not PAPER.NAME"),
        ("experiment", "abc2018.Fig", "is not PAPER.NAME"),
        ("experiment", "abc2018.fig4a", "abc2018.fig4a is there already, in "),
    ],
)
def test_a_name_that_is_taken_or_none_is_refused(kind: str, name: str, message: str, checkout: Path) -> None:
    with pytest.raises(UserError, match=re.escape(message)) as refused:
        skeleton(kind, name, checkout)
    assert str(refused.value).startswith(f"new {kind}: ")


def test_without_the_source_it_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not a checkout of Fairlane's source"):
        skeleton("scheme", "toy_red", tmp_path)


def test_a_file_that_cannot_be_written_leaves_all_as_they_were(checkout: Path) -> None:
    shutil.rmtree(checkout / "docs" / "schemes")
    (checkout / "docs" / "schemes").write_text("in the way")
    before = contents(checkout)
    with pytest.raises(WriteError, match=r"cannot write .*toy_red\.md: .*; nothing was changed"):
        new("scheme", "toy_red", checkout)
    assert contents(checkout) == before


def test_the_command_names_the_files_and_what_comes_next(checkout: Path) -> None:
    done = CliRunner().invoke(commands, ["new", "scheme", "toy_red"])
    assert done.exit_code == 0, done.output
    assert "written: crates/schemes/src/aqm/toy_red.rs\nchanged: crates/schemes/src/aqm/mod.rs\n" in done.output
    assert done.output.index("next:") < done.output.index("cargo test --package fairlane-schemes toy_red")
    assert (checkout / "docs" / "schemes" / "toy_red.md").exists()


def test_a_mistake_is_one_line(cli: Cli) -> None:
    assert cli.error("new", "scheme", "fn").startswith("new scheme: 'fn' is not a name for a module: ")


@pytest.mark.long
def test_skeletons_compile_without_a_warning_and_their_tests_fail_with_what_to_write(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CARGO_TARGET_DIR", str(ROOT / "target" / "skeletons"))
    for name in ("Cargo.toml", "Cargo.lock", "rustfmt.toml"):
        shutil.copy(ROOT / name, checkout)
    (checkout / "planes").symlink_to(ROOT / "planes")
    (checkout / "tests").mkdir()
    (checkout / "tests" / "vectors").symlink_to(ROOT / "tests" / "vectors")
    new("scheme", "toy_red", checkout)
    new("congestion-control", "toy_cc", checkout)
    for package, name in (("fairlane-schemes", "toy_red"), ("fairlane-sim", "toy_cc")):
        lints = ["cargo", "clippy", "--package", package, "--lib", "--tests", "--", "--deny", "warnings"]
        linted = execute(*lints, cwd=checkout, timeout_s=900)
        assert linted.returncode == 0, linted.stderr
        done = execute("cargo", "test", "--package", package, "--lib", name, cwd=checkout, timeout_s=900)
        assert done.returncode == 101
        assert f"{name}: write " in done.stdout
        assert "0 passed; 1 failed" in done.stdout
    assert execute("cargo", "fmt", "--all", "--check", cwd=checkout).returncode == 0
