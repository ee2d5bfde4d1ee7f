"""Our changes to the kernel's source, each the replacement of a short text.

Each text must occur exactly once. So a version that differs at these places is rejected and never partly changed.
"""

from __future__ import annotations

import hashlib
from dataclasses import astuple, dataclass
from pathlib import Path

from fairlane.base.errors import UserError
from fairlane.base.files import write_aside

ORIGINALS = ".fairlane/originals"
"""Folder in a changed tree with the original files."""


@dataclass(frozen=True)
class Change:
    """A text of the kernel and its replacement.

    Attributes:
        file: Path below the root of the source.
        old: Text that occurs once in the file.
        new: Replacement.
        why: Reason, in one sentence.
        below: First version that does not need the change.
    """

    file: str
    old: str
    new: str
    why: str
    below: tuple[int, int] | None = None


CHANGES = (
    Change(
        "drivers/net/Makefile",
        "obj-$(CONFIG_TUN) += tun.o",
        "obj-$(CONFIG_TUN) += tun.o\nobj-y += fairlane_link.o",
        "Our device that is a link is part of the kernel, so no modules are needed.",
    ),
    Change(
        "arch/um/os-Linux/Makefile",
        "obj-y = execvp.o",
        "obj-y = fairlane_user.o execvp.o",
        "Our file for the host's side: seed, addresses, end with the parent.",
    ),
    Change(
        "arch/um/os-Linux/main.c",
        "\tset_stklim();",
        "\textern void fairlane_prepare(char **argv);\n\n\tfairlane_prepare(argv);\n\tset_stklim();",
        "Addresses are the same in each run before anything is measured or mapped.",
    ),
    Change(
        "arch/um/os-Linux/util.c",
        "return getrandom(buf, len, flags);",
        "extern ssize_t fairlane_random(void *bytes, size_t length);\n\n\treturn fairlane_random(buf, len);",
        "All random bytes come from the seed instead of the host.",
    ),
    Change(
        "arch/um/os-Linux/umid.c",
        "static int umid_setup = 0;",
        "static int umid_setup = 1;",
        "No folder with a process id is made in the user's home, where a killed run would leave it.",
    ),
    Change(
        "arch/um/os-Linux/skas/process.c",
        "(void *) PTRACE_O_TRACESYSGOOD)",
        "(void *) (PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL))",
        "Guest programs end with a kernel that is killed.",
    ),
    Change(
        "arch/um/os-Linux/signal.c",
        "\tstruct uml_pt_regs regs;\n\n\tif (mc != NULL)",
        "\tstatic struct uml_pt_regs regs;\n\n\tif (mc != NULL)",
        "In virtual time nobody reads the registers of a timer's interrupt: they are zero once and for all.",
    ),
    Change(
        "arch/um/os-Linux/signal.c",
        "memset(&regs, 0, sizeof(regs));",
        "regs.is_user = 0;",
        "Clearing 11 KB for each interrupt took a fifth of a run at 1 Gbit/s.",
    ),
    Change(
        "arch/um/kernel/time.c",
        "time_travel_start = os_persistent_clock_emulation();",
        "time_travel_start = 946684800ULL * NSEC_PER_SEC;",
        "The guest starts at 2000-01-01: the host's time would go into random numbers.",
    ),
    Change(
        "arch/um/include/linux/time-internal.h",
        "#define TIMER_MULTIPLIER 256",
        "#define TIMER_MULTIPLIER 1",
        "The clock counts single nanoseconds instead of 256 at a time.",
    ),
    Change(
        "arch/um/include/linux/time-internal.h",
        "#define TIMER_MIN_DELTA  500",
        "#define TIMER_MIN_DELTA  1",
        "A timer may expire after 1 ns instead of 500.",
    ),
    Change(
        "arch/um/Kconfig",
        "\tdefault 100\n",
        "\tdefault 250\n",
        "Distributions have 250 timer ticks a second, and PIE's period depends on it.",
    ),
    Change(
        "arch/x86/um/user-offsets.c",
        "DEFINE_LONGS(HOST_FP_SIZE, 2696);",
        "DEFINE_LONGS(HOST_FP_SIZE, 11264);",
        "Registers of processors with AMX need 11008 bytes; without room for all, the host refuses to restore any.",
        below=(6, 13),
    ),
)


def digest() -> str:
    """Digest of all changes, without the reasons."""
    return hashlib.sha256(repr([astuple(change)[:3] for change in CHANGES]).encode()).hexdigest()


def apply(tree: Path, version: tuple[int, int], changes: tuple[Change, ...] = CHANGES) -> None:
    """Changes a tree; a repetition has no further effect.

    Unchanged files keep their modification time, so make compiles only changed files.

    Raises:
        UserError: A text does not occur exactly once; nothing was changed.
    """
    wanted = [change for change in changes if change.below is None or version < change.below]
    originals = tree / ORIGINALS
    texts: dict[str, str] = {}
    for change in wanted:
        if change.file not in texts:
            original = originals / change.file
            source = original if original.exists() else tree / change.file
            try:
                texts[change.file] = source.read_text(encoding="utf-8")
            except FileNotFoundError:
                raise _no_place(change, version, "there is no such file") from None
        count = texts[change.file].count(change.old)
        if count != 1:
            raise _no_place(change, version, f'"{change.old.strip()}" is there {count} times instead of once')
        texts[change.file] = texts[change.file].replace(change.old, change.new)
    kept = {str(path.relative_to(originals)) for path in originals.rglob("*") if path.is_file()}
    for file in sorted(kept - texts.keys()):
        texts[file] = (originals / file).read_text(encoding="utf-8")
    for file, text in texts.items():
        now = (tree / file).read_bytes()
        if file not in kept:
            write_aside(originals / file, now)
        if now != text.encode():
            write_aside(tree / file, text.encode())


def _no_place(change: Change, version: tuple[int, int], problem: str) -> UserError:
    which = f"kernel {version[0]}.{version[1]}: cannot change {change.file}"
    return UserError(f"{which}: {problem}; needed so: {change.why}")
