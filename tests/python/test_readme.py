"""Statements and commands of the README are true."""

import re

import fairlane
from conftest import EXAMPLES, ROOT, Cli

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_command_prints_what_the_readme_shows(cli: Cli) -> None:
    shown = re.search(r"\$ fairlane (compare .*)\n((?:.*\n)+?)\.\.\.\n", README)
    assert shown
    done = cli(*shown[1].replace("examples", str(EXAMPLES)).split())
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    assert lines[: shown[2].count("\n")] == shown[2].splitlines()


def test_the_first_part_is_short_and_counts_the_schemes() -> None:
    first = README[: README.index("## Reference")]
    assert len(first.split()) <= 450
    assert f"**{len(fairlane.schemes())} schemes**" in first


def test_the_docs_stay_short_and_evidence_is_data() -> None:
    docs = ROOT / "docs"
    words = {page: len(page.read_text(encoding="utf-8").split()) for page in docs.rglob("*.md")}
    assert sum(words.values()) <= 120_000
    evidence = ("agreement-linux", "agreement-ns3", "agreement-ranks", "clauses", "costs", "reproduction")
    assert [page for page in evidence if words[docs / f"{page}.md"] > 600] == []


def test_every_target_that_it_names_is_in_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"`make ([a-z-]+)`|\$ make ([a-z-]+)", README))
    assert targets
    rules = " ".join(re.findall(r"^([a-z0-9 -]+):", makefile, re.MULTILINE)).split()
    assert {first or second for first, second in targets} <= set(rules)
