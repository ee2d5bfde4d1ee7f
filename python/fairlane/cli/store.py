"""The commands `fairlane store ls|verify|gc|export`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fairlane import _fairlane
from fairlane.base.files import written_below
from fairlane.base.folders import check_replaceable
from fairlane.base.text import counted
from fairlane.cli.options import Group, json_option, path_option
from fairlane.cli.output import print_document, say
from fairlane.documents import StoreDocument
from fairlane.store import Store

if TYPE_CHECKING:
    from fairlane.store.export import Format
    from fairlane.store.upkeep import Entry

EXIT_DAMAGED = 1

_store = path_option("--store", "folder", help="The store [default: results/store].")
_keys = click.argument("keys", nargs=-1, metavar="[KEY]...")


@click.group("store", cls=Group)
def store_commands() -> None:
    """List, verify, clean and export stored runs.

    A KEY is a prefix of a point's key. Without a KEY, a command applies to all points.
    """


@store_commands.command("ls")
@_keys
@_store
@json_option
def list_points(keys: tuple[str, ...], folder: Path | None, as_json: bool) -> None:
    """List the points of the store."""
    from fairlane.store.upkeep import entries

    where = Store(folder)
    found = entries(where, keys, show_progress=True)
    if as_json:
        print_document(_document(where.folder, found))
        return
    from fairlane.cli.printing import print_store

    print_store(found)


@store_commands.command()
@_keys
@click.option(
    "--simulate",
    "again",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="Simulate N runs of every point again and compare the bytes.",
)
@_store
@json_option
def verify(keys: tuple[str, ...], again: int, folder: Path | None, as_json: bool) -> None:
    """Check all files; exit with 1 if one is damaged."""
    from fairlane.store.upkeep import entries, simulate_again

    where = Store(folder)
    found = entries(where, keys, show_progress=True)
    differing = {
        entry.key: simulate_again(entry, again, show_progress=True) for entry in found if again and entry.is_current
    }
    document = _document(where.folder, found)
    for point in document["points"]:
        if point["key"] in differing:
            point["differing"] = differing[point["key"]]
    damaged = [entry for entry in found if entry.damage]
    wrong = {key: numbers for key, numbers in differing.items() if numbers}
    if as_json:
        print_document(document)
    else:
        for entry in damaged:
            say(f"{entry.key}: {entry.damage}")
        for key, numbers in wrong.items():
            say(f"{key}: simulated again, replications {', '.join(map(str, numbers))} differ")
        runs = counted(sum(len(entry.runs) for entry in found), "run")
        say(f"{counted(len(found), 'point')} with {runs}: {len(damaged)} damaged, {len(wrong)} differ")
    if damaged or wrong:
        click.get_current_context().exit(EXIT_DAMAGED)


@store_commands.command()
@click.option("--dry-run", is_flag=True, help="List the files without removing them.")
@_store
@json_option
def gc(dry_run: bool, folder: Path | None, as_json: bool) -> None:
    """Remove runs of other engine versions and damaged files."""
    from fairlane.store.upkeep import garbage, remove

    where = Store(folder)
    found = garbage(where)
    if found and not dry_run:
        with written_below(where.folder, "--store"):
            remove(where, found)
    freed = sum(one.bytes for one in found)
    if as_json:
        files = [{"path": str(one.path), "bytes": one.bytes, "reason": one.reason} for one in found]
        print_document({"removed": not dry_run, "bytes": freed, "files": files})
        return
    for one in found:
        say(f"{one.path}: {one.reason}")
    say(f"{len(found)} files, {freed} bytes {'could be removed' if dry_run else 'removed'}")


@store_commands.command()
@_keys
@path_option("--out", required=True, help="Folder to write into.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["parquet", "csv", "flent"]),
    default="parquet",
    help="Tables as Parquet or CSV, or time series as .flent.gz files [default: parquet].",
)
@_store
def export(keys: tuple[str, ...], out: Path, form: Format, folder: Path | None) -> None:
    """Export stored runs as tables, or as time series for Flent."""
    from fairlane.store.export import export as write
    from fairlane.store.upkeep import entries

    check_replaceable(out, "--out", {"--store": Store(folder).folder})
    with written_below(out, "--out"):
        names = write(entries(Store(folder), keys, show_progress=True), out, form)
    say(f"{len(names)} files in {out}: {', '.join(names[:8])}{' ...' if len(names) > 8 else ''}")


def _document(folder: Path, found: list[Entry]) -> StoreDocument:
    return StoreDocument(
        schema=1,
        engine=_fairlane.engine_version(),
        store=str(folder),
        points=[entry.to_dict() for entry in found],
    )
