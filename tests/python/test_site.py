"""Tests parts of the site: every public name has a description, broken links are found, and `make site` works.

See also test_site_built.py.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import fairlane
from conftest import ROOT, execute

API = ROOT / "site" / "pages" / "api"


def links(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return execute(sys.executable, ROOT / "site" / "links.py", *arguments)


def test_every_public_name_of_the_package_is_explained() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in API.glob("*.md"))
    explained = set(re.findall(r"^\.\. auto\w+:: (?:fairlane\.)?(\w+)$", text, re.MULTILINE))
    assert set(fairlane.__all__) - {"__version__", "lab"} == explained


def test_broken_links_are_told_with_their_page(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text(
        '<h1 id="here"></h1><a href="b.html#there"></a><a href="#here"></a><img src="no.png">'
    )
    (tmp_path / "b.html").write_text('<a href="a.html#here"></a><a href="c.html"></a><script src="data:,"></script>')
    done = links(tmp_path)
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        "a.html: b.html#there: no such place in it",
        "a.html: no.png: no such file",
        "b.html: c.html: no such file",
        "links: 5 in 2 pages, 3 broken",
    ]


def test_links_that_lead_elsewhere_are_not_judged_without_a_network(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<a href="http://127.0.0.1:1/page"></a>')
    done = links(tmp_path, "--external")
    assert done.returncode == 0
    assert re.fullmatch(r"links: skipped, none of 1 can be reached: .+\n", done.stdout)


def test_a_folder_without_pages_is_refused(tmp_path: Path) -> None:
    done = links(tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"error: {tmp_path}: no pages, run: make site\n"


def make_site(*words: str) -> subprocess.CompletedProcess[str]:
    """Runs `make site` without its prerequisites, in an environment that can build neither playground nor pages."""
    prepared = ["--no-print-directory", "--old-file=setup", "--old-file=.venv/.site"]
    return execute("make", *prepared, "site", "MAKE=false", "BIN=echo", *words, cwd=ROOT)


def test_a_site_without_the_playground_is_one_that_was_asked_for() -> None:
    refused = make_site()
    assert refused.returncode == 2
    assert "error: no playground for the site, for the reason above; make site PLAYGROUND=0 leaves it out" in (
        refused.stderr
    )
    assert "build.py" not in refused.stdout
    done = make_site("PLAYGROUND=0", "--dry-run")
    *_, last = done.stdout.splitlines()
    assert "site/build.py --no-playground" in done.stdout
    assert last == 'echo "site: without the playground: PLAYGROUND=0"'


def test_what_the_pictures_draw_has_a_style() -> None:
    style = (ROOT / "site" / "static" / "site.css").read_text()
    script = (ROOT / "site" / "static" / "pictures.js").read_text()
    for name in ("heat", "chip", "legend", "shades", "tile", "detail"):
        assert re.search(rf"\b{name}\b", script), name
        assert re.search(rf"\.{name}\b", style), name
