"""Builds the site: `python site/build.py [--out target/site]`; `make site` prepares the inputs.

The pages are those of docs/, and those of site/pages, which only the site needs. They are copied to a separate folder,
in which links between them work as in the repository. The playground is included if it has been built; otherwise the
pages say that it is missing.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from sphinx.cmd.build import build_main

import tutorial

HERE = Path(__file__).parent
ROOT = HERE.parent
sys.path.append(str(ROOT / "tools"))

from generators import pages  # noqa: E402

PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
CRATES = ("fairlane-schemes", "fairlane-sim", "fairlane-capi", "fairlane-node")
PLAYGROUND = ROOT / "site" / "playground" / "dist" / "playground.html"
_LINK = re.compile(r"\]\(([^)#:\s]+)")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python site/build.py", description="Build the site.")
    parser.add_argument("--out", type=Path, default=ROOT / "target" / "site")
    parser.add_argument("--quick", action="store_true", help="leave out the crates and the outputs of the tutorial")
    parser.add_argument(
        "--no-playground", action="store_true", help="leave out the playground even if it has been built"
    )
    options = parser.parse_args(arguments)
    out = options.out.resolve()
    source = out.with_name(f"{out.name}-source")
    assemble(source)
    if not options.quick:
        tutorial.insert_outputs(source / "docs" / "tutorial.md", ROOT / "target" / "site-tutorial")
    parts = {"playground": PLAYGROUND.is_file() and not options.no_playground, "rust": not options.quick}
    shutil.rmtree(out, ignore_errors=True)
    if code := _sphinx(source, out, [name for name, there in parts.items() if there]):
        return code
    if parts["playground"]:
        shutil.copy2(PLAYGROUND, out / "playground.html")
    if parts["rust"]:
        copy_rustdoc(out / "rust")
    return 0


def _sphinx(source: Path, out: Path, parts: Sequence[str]) -> int:
    """Runs Sphinx on a folder; existing `parts` (`rust`, `playground`) become tags for the pages."""
    options = ["-q", "-b", "html", "-j", "2", "--fail-on-warning", "--keep-going"]
    options += ["-c", str(HERE), "-d", str(out.with_name(f"{out.name}-doctrees"))]
    options += [word for part in parts for word in ("-t", part)]
    return int(build_main([*options, "-D", f"playground={int('playground' in parts)}", str(source), str(out)]))


def assemble(source: Path) -> None:
    """Copies all pages and the files that they link to into a folder, and removes everything else from it."""
    wanted = dict(_files())
    for page in list(wanted):
        if page.suffix == ".md":
            wanted |= {target: ROOT / target for target in _linked(wanted[page], page)}
    for target, origin in wanted.items():
        _copy(_content(origin), source / target)
    for path in sorted(source.rglob("*"), reverse=True):
        if path.is_file() and path.relative_to(source) not in wanted:
            path.unlink()
        elif path.is_dir() and not any(path.iterdir()):
            path.rmdir()


def _files() -> Iterator[tuple[Path, Path]]:
    """All pages with their paths on the site."""
    for name in PAGES:
        yield Path(name), ROOT / name
    for folder, place in ((ROOT / "docs", Path("docs")), (HERE / "pages", Path())):
        for path in folder.rglob("*"):
            if path.is_file():
                yield place / path.relative_to(folder), path


def _linked(origin: Path, page: Path) -> Iterator[Path]:
    """Files outside of docs/ that a page links to, as paths from the root."""
    for target in _LINK.findall(_content(origin).decode()):
        file = (ROOT / page).parent.joinpath(target).resolve()
        if file.is_file() and file.suffix != ".md" and file.is_relative_to(ROOT):
            yield file.relative_to(ROOT)


@cache
def _content(origin: Path) -> bytes:
    """Content of a file; pages get the tables that only the site has."""
    content = origin.read_bytes()
    return pages.expanded(content.decode(), ROOT / "crates").encode() if origin.suffix == ".md" else content


def _copy(content: bytes, target: Path) -> None:
    """Writes a file only if it has changed, since Sphinx reads newer files again."""
    if not target.exists() or target.read_bytes() != content:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)


def copy_rustdoc(target: Path) -> None:
    """Documents the crates and copies the pages. Unresolved names are reported and remain plain text."""
    packages = [part for crate in CRATES for part in ("--package", crate)]
    # Heads of modules link to private functions, for readers of the source.
    environment = os.environ | {"RUSTDOCFLAGS": "--allow rustdoc::private_intra_doc_links"}
    subprocess.run(["cargo", "doc", "--no-deps", "--quiet", *packages], check=True, cwd=ROOT, env=environment)
    metadata = ["cargo", "metadata", "--no-deps", "--format-version", "1"]
    done = subprocess.run(metadata, check=True, cwd=ROOT, stdout=subprocess.PIPE)
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(Path(json.loads(done.stdout)["target_directory"]) / "doc", target)
    # rustdoc links to an index that it does not write.
    index = '<!doctype html><title>The crates</title><meta http-equiv="refresh" content="0; url=../rust.html">'
    (target / "index.html").write_text(f'{index}<a href="../rust.html">The crates</a>\n', encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
