"""The worst scenarios still beat their schemes, and the pages about them tell what is measured."""

from collections.abc import Iterator
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
    """Runs of files under their schemes and under WFQ."""

    shares: dict[Path, Shares]
    check: fairlane.Check


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAIRLANE_STORE", str(tmp_path_factory.mktemp("store")))
        yield


@pytest.fixture(scope="module", params=[10, pytest.param(1, marks=pytest.mark.long)], ids="every {}".format)
def replayed(store: None, request: pytest.FixtureRequest) -> Replayed:
    files = FILES[:: request.param]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(adversaries, "FILES", files)
        return Replayed(adversaries.measured(), fairlane.check(files))


def test_every_expectation_is_held(replayed: Replayed) -> None:
    assert replayed.check.passed, [verdict for verdict in replayed.check.verdicts if verdict.verdict != "held"]


def test_the_head_of_a_file_says_what_is_measured(replayed: Replayed) -> None:
    for file, shares in replayed.shares.items():
        text = file.read_text(encoding="utf-8")
        assert adversaries.rewritten(text, shares) == text


@pytest.mark.long
@pytest.mark.usefixtures("store")
def test_the_sentences_about_adversaries_hold() -> None:
    report = Report(DOCS / "adversaries.md", {"tables": []})
    report.require(adversaries.sentences(adversaries.measured()))
    assert report.failed == []


@pytest.mark.long
@pytest.mark.usefixtures("store")
def test_the_findings_are_what_is_measured(tmp_path: Path) -> None:
    measured = findings.measured()
    copy = tmp_path / "findings.md"
    copy.write_bytes((DOCS / copy.name).read_bytes())
    report = Report(copy, {"tables": []})
    findings.write_shares(report, measured)
    report.require(findings.about_shares(measured))
    assert report.failed == []
    assert copy.read_bytes() == (DOCS / copy.name).read_bytes()


@pytest.mark.long  # 50 s; test_designer.py tunes on fewer scenarios
def test_the_sentences_about_tuning_hold(tmp_path: Path) -> None:
    # The table is not compared, since another type of processor may find other parameters.
    report = Report(DOCS / "findings.md", {"tables": []})
    report.require(findings.about_tuned(findings.tuned(tmp_path)))
    assert report.failed == []
