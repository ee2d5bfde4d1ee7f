"""Diagrams of the documentation are SVG files made from ASCII drawings, and pages contain no ASCII drawings."""

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parents[2]
SVG = "{http://www.w3.org/2000/svg}"
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md"]
FIGURES = sorted((ROOT / "docs" / "figures" / "diagrams").glob("*.svg"))
DRAWN = re.compile(r"[+]--|--[+]|->|<-|---|[|].*[|].*[|]|\]\[")


@pytest.fixture(scope="module")
def diagrams() -> ModuleType:
    spec = importlib.util.spec_from_file_location("diagrams", ROOT / "tools" / "generators" / "diagrams.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["diagrams"] = module
    spec.loader.exec_module(module)
    return module


def lines(svg: str, kind: str = "path") -> list[str]:
    return [one.get("d", "") for one in ElementTree.fromstring(svg).iter(f"{SVG}{kind}")]


def texts(svg: str) -> list[str]:
    return [one.text or "" for one in ElementTree.fromstring(svg).iter(f"{SVG}text")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_page_draws_with_characters(page: Path) -> None:
    for block in re.findall(r"^```text\n(.*?)^```", page.read_text(encoding="utf-8"), re.M | re.S):
        assert not DRAWN.search(block), block


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.stem)
def test_nothing_of_a_diagram_is_cut_and_some_page_shows_it(figure: Path) -> None:
    svg = figure.read_text(encoding="utf-8")
    root = ElementTree.fromstring(svg)
    width, height = float(root.get("width", 0)), float(root.get("height", 0))
    for text in root.iter(f"{SVG}text"):
        x, y = float(text.get("x", 0)), float(text.get("y", 0))
        assert 0 <= x <= x + float(text.get("textLength", 0)) <= width
        assert 12 <= y <= height
    assert "currentColor" in svg
    assert "prefers-color-scheme:dark" in svg
    assert any(f"figures/diagrams/{figure.name})" in page.read_text(encoding="utf-8") for page in PAGES)


def test_lines_words_and_boxes_are_told_apart(diagrams: ModuleType) -> None:
    svg = diagrams.to_svg("drop-tail: A - B <= 1 --> [ R_m/R_r ] -= x*y / z")
    assert texts(svg) == ["drop-tail: A - B <= 1", "R_m/R_r", "-= x*y / z"]
    assert len(list(ElementTree.fromstring(svg).iter(f"{SVG}rect"))) == 1
    assert len(lines(svg)) == 3  # two parts of a line and an arrowhead


def test_corners_join_what_meets_in_them(diagrams: ModuleType) -> None:
    svg = diagrams.to_svg("--+\n  |\n  v")
    column, first = 8 + 2 * 8 + 4, 8 + 19 / 2
    assert f"M{column} {first}v9.5" in lines(svg)
    assert f"M{column} {first}h-4" in lines(svg)
    assert f"M{column} {first}h4" not in lines(svg)


def test_points_are_those_of_a_curve_not_products(diagrams: ModuleType) -> None:
    svg = diagrams.to_svg("|....*     gamma*(A - B), 6 ms * 3")
    assert len(list(ElementTree.fromstring(svg).iter(f"{SVG}circle"))) == 1
    assert texts(svg) == ["gamma*(A - B), 6 ms * 3"]
