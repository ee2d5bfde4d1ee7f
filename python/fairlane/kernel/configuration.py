"""Configuration of the kernel: required options, and a check that they are set."""

from __future__ import annotations

import re
from pathlib import Path

from fairlane.base.errors import UserError

MAY_LACK = {"NET_SCH_DUALPI2", "RANDOM_TRUST_BOOTLOADER"}
"""Symbols that some versions lack."""
_LINE = re.compile(r"CONFIG_(\w+)=(.*)")


def wanted(fragment: str) -> dict[str, str]:
    """Options required by a fragment, by symbol."""
    return {found[1]: found[2] for line in fragment.splitlines() if (found := _LINE.fullmatch(line.strip()))}


def check(config: Path, fragment: str, version: str) -> list[str]:
    """Returns the optional symbols that this version lacks.

    Raises:
        UserError: The version lacks a required symbol.
    """
    got = wanted(config.read_text(encoding="utf-8"))
    lacking = [name for name, value in wanted(fragment).items() if got.get(name, "n") != value]
    refused = [f"CONFIG_{name}" for name in lacking if name not in MAY_LACK]
    if refused:
        raise UserError(f"kernel {version} does not take {', '.join(refused)} as planes/linux/config has it")
    return lacking
