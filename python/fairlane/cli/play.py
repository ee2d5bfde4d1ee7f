"""The command `fairlane play`."""

from __future__ import annotations

import json
import shutil
import subprocess
import webbrowser
from importlib import metadata
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

import click

from fairlane.base.errors import UserError

PACKED = Path(__file__).parents[1] / "playground.html"
"""The page in a wheel."""
BUILT = Path("site/playground/dist/playground.html")
"""The page in a checkout."""


def checkout() -> Path | None:
    """Folder from which pip installed this package; None if it does not contain the playground's source."""
    try:
        recorded = metadata.distribution("fairlane").read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        recorded = None
    url = urlsplit(json.loads(recorded)["url"] if recorded else "")
    folders = [Path(__file__).parents[3], *([Path(url2pathname(url.path))] if url.scheme == "file" else [])]
    return next((folder for folder in folders if (folder / "site/playground/build.sh").is_file()), None)


def playground(build: bool) -> Path:
    """Path of the playground's page. With `build`, builds the page if it does not exist.

    Raises:
        UserError: The page does not exist and was not built.
    """
    folder = checkout()
    for page in (PACKED, *([folder / BUILT] if folder else [])):
        if page.is_file():
            return page
    if folder is None:
        raise UserError("this installation has no playground; in a checkout of Fairlane: make playground")
    if not build or not shutil.which("npm"):
        raise UserError(f"the playground is not built; with Node.js and npm: make -C {folder} playground")
    click.echo(f"building the playground in {folder}, once ...", err=True)
    done = subprocess.run(["make", "-C", folder, "playground"], check=False, capture_output=True, text=True)
    if done.returncode:
        (problem, *_) = [line for line in done.stderr.splitlines() if "error" in line] or ["it fails"]
        raise UserError(f"make -C {folder} playground: {problem.removeprefix('error: ')}")
    return folder / BUILT


@click.command()
@click.option("--path", "only_path", is_flag=True, help="Print the path of the page instead of opening it.")
def play(only_path: bool) -> None:
    """Open the playground in a browser.

    The playground simulates any scheme and any users, packet by packet. In a checkout, the first call builds it, which
    needs npm.
    """
    page = playground(build=not only_path)
    click.echo(str(page))
    if not only_path and not webbrowser.open(page.as_uri()):
        raise UserError(f"no browser could be opened; open {page} yourself")
