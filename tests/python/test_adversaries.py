"""The worst scenarios still beat their schemes, and the pages about them tell what is measured."""

from pathlib import Path
from typing import NamedTuple

import pytest

import fairlane
from benches import adversaries, findings
from benches.adversaries import FILES, Shares
from benches.harness import Report
from conftest import ROOT

DOCS = ROOT / "docs"


class Replayed(NamedTuple):
    """Runs of the files under their schemes and under WFQ, and of the variants of the findings."""

    shares: dict[Path, Shares]
    measured: findings.Measured
    check: fairlane.Check


@pytest.fixture(scope="module")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> Replayed:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAIRLANE_STORE", str(tmp_path_factory.mktemp("store")))
        return Replayed(adversaries.measured(), findings.measured(), fairlane.check(FILES))


def test_every_expectation_is_held(replayed: Replayed) -> None:
    assert replayed.check.passed, [verdict for verdict in replayed.check.verdicts if verdict.verdict != "held"]


def test_the_head_of_a_file_says_what_is_measured(replayed: Replayed) -> None:
    for file, shares in replayed.shares.items():
        text = file.read_text(encoding="utf-8")
        assert adversaries.rewritten(text, shares) == text


def test_the_sentences_about_adversaries_hold(replayed: Replayed) -> None:
    report = Report(DOCS / "adversaries.md", {"tables": []})
    report.require(adversaries.sentences(replayed.shares))
    assert report.failed == []


def test_the_findings_are_what_is_measured(replayed: Replayed, tmp_path: Path) -> None:
    copy = tmp_path / "findings.md"
    copy.write_bytes((DOCS / copy.name).read_bytes())
    report = Report(copy, {"tables": []})
    findings.write_shares(report, replayed.measured)
    report.require(findings.about_shares(replayed.measured))
    assert report.failed == []
    assert copy.read_bytes() == (DOCS / copy.name).read_bytes()


@pytest.mark.long  # 50 s; test_designer.py tunes on fewer scenarios
def test_the_sentences_about_tuning_hold(tmp_path: Path) -> None:
    # The table is not compared, since another type of processor may find other parameters.
    report = Report(DOCS / "findings.md", {"tables": []})
    report.require(findings.about_tuned(findings.tuned(tmp_path)))
    assert report.failed == []
