"""Our own files of the kernel and its guest: links to `planes/linux/`, files in a wheel."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from fairlane.base.files import write_aside
from fairlane.kernel import changes

FOLDER = Path(__file__).with_name("guest")
IN_KERNEL = {"link.c": "drivers/net/fairlane_link.c", "process.c": "arch/um/os-Linux/fairlane_user.c"}
"""Our files that become part of the kernel, and their places in its source."""
INIT = FOLDER / "init.c"
CONFIG = FOLDER / "config"


@cache
def digest() -> str:
    """Of all that is ours in a kernel: a kernel of another one is stale."""
    found = hashlib.sha256(changes.digest().encode())
    for name in sorted((*IN_KERNEL, INIT.name, CONFIG.name)):
        content = (FOLDER / name).read_bytes()
        found.update(f"{name} {len(content)}\n".encode() + content)
    return found.hexdigest()


def put_into(tree: Path) -> None:
    """Copies our files into a source; unchanged ones keep their time."""
    for name, place in IN_KERNEL.items():
        content = (FOLDER / name).read_bytes()
        target = tree / place
        if not target.exists() or target.read_bytes() != content:
            write_aside(target, content)
