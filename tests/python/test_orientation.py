"""The newcomers' questions in CONTRIBUTING link to existing places."""

import re

import pytest

from conftest import ROOT

ANSWERS = re.findall(
    r"^\| .+\? \| `(.+?)` \| `(.+?)`", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), re.MULTILINE
)


def test_eight_questions_are_answered() -> None:
    assert len(ANSWERS) == 8


@pytest.mark.parametrize(("file", "words"), ANSWERS)
def test_the_words_are_there_once(file: str, words: str) -> None:
    assert (ROOT / file).read_text(encoding="utf-8").count(words) == 1
