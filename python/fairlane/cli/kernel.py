"""The commands `fairlane kernel build|list|remove`."""

from __future__ import annotations

from pathlib import Path

import click

from fairlane.base.errors import UserError
from fairlane.cli.options import Group, json_option, path_option
from fairlane.cli.output import print_document, say

MOST_JOBS = 1024

_cache = path_option("--cache", help="Folder of kernels [default: fairlane/kernel in $XDG_CACHE_HOME or ~/.cache].")


@click.group("kernel", cls=Group)
def kernel_commands() -> None:
    """Build Linux kernels for the plane `linux`.

    They run as processes in virtual time.
    """


@kernel_commands.command()
@click.argument("version", required=False)
@path_option("--source", "folder", help="Kernel source, left unchanged [default: apt's package].")
@_cache
@click.option(
    "--jobs",
    type=click.IntRange(1, MOST_JOBS),
    metavar="N",
    help="Concurrent compilers [default: one for every processor].",
)
@click.option("--keep-source", is_flag=True, help="Keep the unpacked source and objects: the next build takes seconds.")
def build(version: str | None, folder: Path | None, cache: Path | None, jobs: int | None, keep_source: bool) -> None:
    """Build a kernel; takes 5 CPU minutes, 1 GB of disk.

    VERSION is a version such as 6.12 [default: the newest in apt].
    """
    from fairlane.base.progress import duration
    from fairlane.kernel.build import build as make

    if version and folder:
        raise UserError("VERSION: has no effect with --source")
    made = make(version, folder=folder, cache_folder=cache, jobs=jobs, keep_source=keep_source, show=True)
    kernel = made.kernel
    if made.is_new:
        say(
            f"Linux {kernel.release} built in {duration(made.seconds)}: {made.files} files compiled, "
            f"{duration(made.cpu_seconds)} of CPU, {made.bytes / 1e9:.1f} GB of disk meanwhile"
        )
        if made.lacking:
            say(f"this version has no {', '.join(made.lacking)}")
    else:
        say(f"Linux {kernel.release} is up to date")
    say(str(kernel.folder))


@kernel_commands.command("list")
@_cache
@json_option
def list_kernels(cache: Path | None, as_json: bool) -> None:
    """List built kernels."""
    from fairlane.kernel.cache import cache_folder, kernels

    found = kernels(cache)
    rows = [
        {
            "version": kernel.version,
            "release": kernel.release,
            "identity": kernel.identity,
            "bytes": kernel.bytes,
            "built": kernel.manifest["built"],
            "is_current": kernel.is_current,
            "folder": str(kernel.folder),
        }
        for kernel in found
    ]
    if as_json:
        print_document({"schema": 1, "cache": str(cache_folder(cache)), "kernels": rows})
        return
    from fairlane.cli.printing import print_kernels

    print_kernels(rows)


@kernel_commands.command()
@click.argument("version")
@_cache
def remove(version: str, cache: Path | None) -> None:
    """Remove all kernels of a version, or a single one.

    The argument is a version such as 6.12, a release, or an identity.
    """
    from fairlane.kernel.cache import remove as remove_all

    for path in remove_all(version, cache):
        say(f"removed {path}")
