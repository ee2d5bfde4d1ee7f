"""Adds content to pages of docs/ that only the site has.

The chapter of every scheme gets a live example: the playground with this scheme. An address of the playground
(`site/playground/src/state.ts`) names schemes and groups of users. Everything else has the playground's defaults: a
user with ten TCP flows and five users with one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

from pygments.lexers.rust import RustLexer

from fairlane.simulate.catalogue import schemes

if TYPE_CHECKING:
    from sphinx.application import Sphinx

MISSING = "This site was built without the playground, which needs npm and Rust's target wasm32-unknown-unknown.\n"
CHILDREN = {"docs/congestion-controls": "congestion-controls/*"}
"""Pages that list other pages, and the paths of the listed pages."""
_PICTURE = re.compile(r"!\[([^\]]*)\]\(([^)\s]+)\)")
_ADDRESS = re.compile(r"^```text\n(#schemes=.*)\n```\n", re.MULTILINE)
"""An address of the playground, which becomes a link on the site."""
ROOT = Path(__file__).parents[1]
_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)#:\s]+)\)")
FOLDER = "docs/schemes/"
START = "A user with ten TCP flows and five users with one share 10 Mbit/s."
FLOOD = (
    "Five users with two TCP flows each share 10 Mbit/s with one who sends 8 Mbit/s of datagrams and never backs off.",
    "&group=tcp~5~2~cubic~20~1~5~0~tcp&group=udp~1~1~cubic~20~1~8~0~flood",
)
SCALABLE = (
    "A user of TCP Prague, which understands marks, and a user of CUBIC share 10 Mbit/s.",
    "&group=tcp~1~1~prague~20~1~5~0~prague&group=tcp~1~1~cubic~20~1~5~0~cubic",
)
EXAMPLES = {
    **dict.fromkeys(("afc", "afd", "black", "care", "choke", "fred", "red_pd", "sfb"), FLOOD),
    **dict.fromkeys(("docsis_qp", "dualpi2"), SCALABLE),
}
"""Sentence and groups for schemes whose behaviour does not show with the playground's defaults."""


def setup(app: Sphinx) -> dict[str, bool | int]:
    """Registers the extension with Sphinx; pages are read again after a change of this file."""
    app.add_config_value("playground", default=False, rebuild="env", types=bool)
    app.add_lexer("rust,no_run", RustLexer)  # rustdoc's name for examples that are only compiled
    app.connect("source-read", _add)
    return {"parallel_read_safe": True, "parallel_write_safe": True, "env_version": crc32(Path(__file__).read_bytes())}


def address(scheme: str) -> str:
    """The part after # in the playground's address."""
    names = scheme if scheme == "droptail" else f"droptail,{scheme}"
    return f"schemes={names}{EXAMPLES.get(scheme, ('', ''))[1]}"


def _add(app: Sphinx, page: str, source: list[str]) -> None:
    # A folder of the repository is neither a page nor a download.
    here = (ROOT / page).parent
    source[0] = _LINK.sub(lambda link: link[1] if (here / link[2]).is_dir() else link[0], source[0])
    if page == "figures":
        app.env.note_reread()  # it depends on other pages
        source[0] += figures(Path(app.srcdir))
    elif page in CHILDREN:
        source[0] += toctree([CHILDREN[page]])
    elif page == "docs/README":
        app.env.note_reread()
        source[0] += toctree(unplaced(Path(app.srcdir)))
    elif page.startswith(FOLDER):
        _add_example(app, page, source)
    elif page == "try" and not app.config.playground:
        source[0] += MISSING
    elif app.config.playground:
        root = "../" * page.count("/")
        source[0] = _ADDRESS.sub(rf'\g<0>\n<a href="{root}playground.html\1">Open it</a>\n', source[0])


def toctree(pages: Sequence[str]) -> str:
    """A toctree, which places pages below the current one in the navigation."""
    lines = "\n".join(pages)
    return f"\n```{{toctree}}\n:hidden:\n:glob:\n\n{lines}\n```\n" if pages else ""


def unplaced(pages: Path) -> list[str]:
    """Pages of docs/ that no page of site/pages lists; they are placed below the list of all pages."""
    own = [page.read_text(encoding="utf-8") for page in (Path(__file__).parent / "pages").rglob("*.md")]
    placed = {name for text in own for name in re.findall(r"^(?:\.\./)*(docs/\S+)$", text, re.MULTILINE)}
    places = {page.relative_to(pages).with_suffix("").as_posix() for page in pages.glob("docs/*.md")}
    places |= {page.relative_to(pages).with_suffix("").as_posix() for page in pages.glob("docs/howto/*.md")}
    return [f"/{name}" for name in sorted(places - placed)]


def figures(pages: Path) -> str:
    """All figures with captions and the pages that show them."""
    shown = []
    for page in sorted(pages.glob("docs/**/*.md")):
        text = page.read_text(encoding="utf-8")
        title, link = text.partition("\n")[0].removeprefix("# "), page.relative_to(pages)
        pictures = [one for one in _PICTURE.findall(text) if "tutorial-outputs" not in one[1]]
        shown += [f"\n## [{title}]({link})\n"] if pictures else []
        for caption, picture in pictures:
            place = (page.parent / picture).resolve().relative_to(pages.resolve())
            shown.append(f"\n[![{caption}]({place})]({link})\n\n{caption}.\n")
    return "".join(shown)


def _add_example(app: Sphinx, page: str, source: list[str]) -> None:
    scheme = page.removeprefix(FOLDER)
    titles = {one["name"]: one["title"] for one in schemes()}
    if scheme not in titles:
        return
    before, parameters, after = source[0].partition("\n## Parameters\n")
    example = _example(app, scheme) if parameters else ""
    # Puts the scheme first in the search: otherwise a search for "red" would find "shared" and "fred" first.
    index = f"```{{index}} ! {scheme}\n```\n\n"
    source[0] = index + before + example + parameters + after


def _example(app: Sphinx, scheme: str) -> str:
    """A section with the playground in a frame; on phones only a link, since a frame would intercept scrolling."""
    if not app.config.playground:
        return f"\n## Live example\n\n{MISSING}"
    page, state = f"{'../' * FOLDER.count('/')}playground.html", address(scheme)
    said = EXAMPLES.get(scheme, (START, ""))[0]
    against = "" if scheme == "droptail" else ", first under drop-tail, then under the scheme"
    return f"""
## Live example

{said.removesuffix(".")}{against}: every packet is simulated here, in your browser.
<a href="{page}#{state}">On a page of its own</a> there is more room.

<iframe class="live" src="{page}?example#{state}" title="Playground with {scheme}" loading="lazy"></iframe>
"""
