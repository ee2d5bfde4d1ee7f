"""Checks the links of the built site: `python site/links.py target/site [--external]`.

Without `--external`, it checks links to files of the site with their anchors: between pages, to the playground, to the
crates, to the Python package. With `--external`, it checks all other links; without a network, it reports this and
passes.
"""

from __future__ import annotations

import argparse
import re
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from pathlib import Path
from urllib.parse import unquote, urlsplit

TIMEOUT_S = 20
GONE = (404, 410)
"""Status codes of missing pages. Other codes, such as 403 for clients that are not browsers, do not mean that a page is
missing."""
_SCRIPT = re.compile(r"(<script[^>]*>).*?</script>", re.DOTALL)
_LINK = re.compile(r'<[^>]*?\b(?:href|src)="([^"]*)"')
_ANCHOR = re.compile(r'\b(?:id|name)="([^"]*)"')
_LINES = re.compile(r"\d+(-\d+)?")
"""Anchors of lines in source files of crates, which a script handles."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python site/links.py", description="Check the links of the built site.")
    parser.add_argument("site", type=Path)
    parser.add_argument("--external", action="store_true", help="check links to other sites")
    options = parser.parse_args(arguments)
    pages = {page: _SCRIPT.sub(r"\1", page.read_text(encoding="utf-8")) for page in options.site.rglob("*.html")}
    if not pages:
        print(f"error: {options.site}: no pages, run: make site", file=sys.stderr)
        return 2
    return _external(options.site, pages) if options.external else _internal(options.site, pages)


def _internal(site: Path, pages: Mapping[Path, str]) -> int:
    anchors = {page.resolve(): {unescape(one) for one in _ANCHOR.findall(text)} for page, text in pages.items()}
    known: dict[Path, bool] = {}
    checked, broken = 0, []
    for page, link in _links(pages):
        address = urlsplit(link)
        # rustdoc requests a list of further implementations of each trait, but writes it only if there are any.
        if address.scheme or address.netloc or "/trait.impl/" in address.path:
            continue
        checked += 1
        target = (page.parent / unquote(address.path)).resolve() if address.path else page.resolve()
        if target not in known:
            known[target] = target.is_file()
        # The part after # of the playground is its state; rustdoc checks anchors within crates.
        is_place = target.name != "playground.html" and not (
            _of_crates(site, page) or _LINES.fullmatch(address.fragment)
        )
        if not known[target]:
            broken.append(f"{page.relative_to(site)}: {link}: no such file")
        elif (
            address.fragment
            and is_place
            and not {address.fragment, unquote(address.fragment)} & anchors.get(target, set())
        ):
            broken.append(f"{page.relative_to(site)}: {link}: no such place in it")
    for line in sorted(set(broken)):
        print(line)
    print(f"links: {checked} in {len(pages)} pages, {len(set(broken))} broken")
    return 1 if broken else 0


def _of_crates(site: Path, page: Path) -> bool:
    return page.relative_to(site).parts[0] == "rust"


def _external(site: Path, pages: Mapping[Path, str]) -> int:
    """Checks external links, except those of the crates, which often link to other documentation."""
    own = {page: text for page, text in pages.items() if not _of_crates(site, page)}
    links = sorted({link.partition("#")[0] for _, link in _links(own) if link.startswith(("http://", "https://"))})
    with ThreadPoolExecutor(8) as threads:
        answers = dict(zip(links, threads.map(_problem, links), strict=True))
    unreached = {link: text for link, (text, answered) in answers.items() if text and not answered}
    if links and len(unreached) == len(links):
        print(f"links: skipped, none of {len(links)} can be reached: {unreached[links[0]]}")
        return 0
    broken = {link: text for link, (text, _) in answers.items() if text}
    for link, text in broken.items():
        print(f"{link}: {text}")
    print(f"links: {len(links)} lead elsewhere, {len(broken)} broken")
    return 1 if broken else 0


def _problem(link: str) -> tuple[str, bool]:
    """The problem with an address (empty if none), and whether a server answered."""
    request = urllib.request.Request(link, headers={"User-Agent": "links.py"})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S):
            return "", True
    except urllib.error.HTTPError as error:
        return (str(error) if error.code in GONE else ""), True
    except (OSError, ValueError) as error:
        return str(getattr(error, "reason", error)), False


def _links(pages: Mapping[Path, str]) -> Iterator[tuple[Path, str]]:
    for page, text in pages.items():
        for link in _LINK.findall(text):
            if not link.startswith(("data:", "javascript:", "mailto:")):
                yield page, unescape(link)


if __name__ == "__main__":
    sys.exit(main())
