"""The planes on which a scenario can run, by name."""

from __future__ import annotations

SIMULATOR = "simulator"
FORWARDER = "forwarder"
KERNEL = "kernel"
P4 = "p4"
LINUX = "linux"
PLANES = (FORWARDER, KERNEL, P4, LINUX, SIMULATOR)
VIRTUAL = (LINUX, SIMULATOR)
"""Planes in virtual time, which need neither root nor an idle machine."""
COMPARED_KERNEL = "6.12"
"""Linux version with which the TCP profile `linux` was compared (docs/agreement-linux.md). The profile also names this
version."""
RENAMED = {"sim": SIMULATOR, "user": FORWARDER, "ebpf": KERNEL}
"""Former names of planes."""


def problem_of_plane(name: str) -> str | None:
    """Error message for a name that is not a plane; None for a plane."""
    if name in PLANES:
        return None
    return f'"{name}" is now "{RENAMED[name]}"' if name in RENAMED else f'"{name}" is not one of {", ".join(PLANES)}'


def problem_of_virtual(name: str) -> str | None:
    """Error message for a plane that does not run in virtual time; None for other planes."""
    if name in VIRTUAL:
        return None
    found = problem_of_plane(name) or f'"{name}" runs in real time; use `fairlane lab compare --plane {name}`'
    return found.replace(", ".join(PLANES), ", ".join(VIRTUAL))
