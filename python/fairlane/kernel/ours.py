"""Our files for the kernel and its guest; symbolic links to `planes/linux/` in a checkout, files in a wheel."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path

from fairlane.base.files import write_aside
from fairlane.kernel import changes

FOLDER = Path(__file__).with_name("guest")
IN_KERNEL = {"link.c": "drivers/net/fairlane_link.c", "process.c": "arch/um/os-Linux/fairlane_user.c"}
"""Our files that become part of the kernel, and their paths in its source."""
INIT = FOLDER / "init.c"
CONFIG = FOLDER / "config"


@cache
def digest() -> str:
    """Digest of our part of a kernel; a kernel with another digest is stale."""
    found = hashlib.sha256(changes.digest().encode())
    for name in sorted((*IN_KERNEL, INIT.name, CONFIG.name)):
        content = (FOLDER / name).read_bytes()
        found.update(f"{name} {len(content)}\n".encode() + content)
    return found.hexdigest()


def put_into(tree: Path) -> None:
    """Copies our files into a source tree; unchanged files keep their modification time."""
    for name, place in IN_KERNEL.items():
        content = (FOLDER / name).read_bytes()
        target = tree / place
        if not target.exists() or target.read_bytes() != content:
            write_aside(target, content)
