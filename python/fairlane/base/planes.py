"""The planes on which a scenario can run, by name."""

from __future__ import annotations

SIMULATOR = "simulator"
FORWARDER = "forwarder"
KERNEL = "kernel"
P4 = "p4"
LINUX = "linux"
PLANES = (FORWARDER, KERNEL, P4, LINUX, SIMULATOR)
VIRTUAL = (LINUX, SIMULATOR)
"""Planes in virtual time: they need neither root nor a machine that is idle."""
COMPARED_KERNEL = "6.12"
"""Linux whose TCP the profile `linux` was compared with (docs/agreement-linux.md); the profile names it as well."""
RENAMED = {"sim": SIMULATOR, "user": FORWARDER, "ebpf": KERNEL}
"""Former names of planes."""


def problem_of_plane(name: str) -> str | None:
    """Error for a name that is not a plane's; None if it is."""
    if name in PLANES:
        return None
    return f'"{name}" is now "{RENAMED[name]}"' if name in RENAMED else f'"{name}" is not one of {", ".join(PLANES)}'
