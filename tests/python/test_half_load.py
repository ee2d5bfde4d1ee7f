"""Tests what the chapters of schemes say about a half-full link."""

from __future__ import annotations

import re
from pathlib import Path

import fairlane

ROOT = Path(__file__).parents[2]
DROPPING = ("fred", "abc2016", "sp_pifo", "aifo", "packs", "rifo", "hcsfq")


def test_chapters_say_which_schemes_drop_at_half_load_and_how_much() -> None:
    compared = fairlane.compare(
        str(ROOT / "examples" / "half-load.toml"), [*DROPPING, "droptail", "abc"], replications=3
    )
    for scheme, result in compared.results.items():
        (dropped,) = [link["dropped_share"] for link in result.summary["links"] if link["name"] == "bottleneck"]
        chapter = (ROOT / "docs" / "schemes" / f"{scheme}.md").read_text(encoding="utf-8")
        said = re.search(r"\*\*It drops at half load\.\*\*[^%]*?([\d.]+)\s±\s([\d.]+)\s%", chapter)
        if scheme not in DROPPING:
            assert dropped["mean"] == 0.0
            assert said is None
            continue
        assert said is not None
        assert abs(100 * dropped["mean"] - float(said[1])) <= 2 * float(said[2])
