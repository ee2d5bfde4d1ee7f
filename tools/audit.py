"""Checks locked Python and Rust packages against the advisories of OSV: `make audit`.

One request covers all packages. OSV (https://osv.dev) includes the advisories of PyPA and RustSec, so pip-audit and
cargo-audit, whose build takes minutes, are not needed. Exits with 1 if a version has a known vulnerability. If OSV
cannot be reached, the step reports this and passes.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tomllib
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PYTHON_LOCKS = tuple(f"requirements/{name}.txt" for name in ("dev", "optional", "site", "release"))
RUST_LOCKS = ("Cargo.lock", "fuzz/Cargo.lock", "examples/quic-stacks/Cargo.lock", "examples/scheme-lib/Cargo.lock")
OSV = os.environ.get("OSV_API", "https://api.osv.dev/v1")
TIMEOUT_S = 20
ACCEPTED: dict[str, str] = {}
"""Ignored advisories, by id, with the reason."""


@dataclass(frozen=True, order=True)
class Package:
    """A locked version of a package."""

    ecosystem: str
    name: str
    version: str


def main() -> int:
    """Prints known advisories; returns 1 if there are vulnerabilities."""
    packages = sorted({*python_packages(), *rust_packages()})
    try:
        found = list(advisories(packages))
    except (OSError, ValueError, KeyError, TypeError) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        print(f"audit: skipped, the advisories of {OSV} cannot be read: {reason}")
        return 0
    for package, text, _ in found:
        print(f"{package.name} {package.version} ({package.ecosystem}): {text}")
    counting = sum(counts for _, _, counts in found)
    print(f"audit: {len(packages)} packages, {counting} known vulnerabilities")
    return 1 if counting else 0


def python_packages() -> Iterator[Package]:
    """Packages in Python's lock files."""
    for lock in PYTHON_LOCKS:
        for name, version in re.findall(r"^([A-Za-z0-9._-]+)==([^\s;]+)", (ROOT / lock).read_text(), re.MULTILINE):
            yield Package("PyPI", name, version)


def rust_packages() -> Iterator[Package]:
    """Third-party packages in Rust's lock files."""
    for lock in RUST_LOCKS:
        for package in tomllib.loads((ROOT / lock).read_text())["package"]:
            if "source" in package:
                yield Package("crates.io", package["name"], package["version"])


def advisories(packages: list[Package]) -> Iterator[tuple[Package, str, bool]]:
    """Yields package and text of each advisory, and True if the advisory is about a vulnerability."""
    queries = [
        {"package": {"name": package.name, "ecosystem": package.ecosystem}, "version": package.version}
        for package in packages
    ]
    answers = ask("querybatch", {"queries": queries})["results"]
    for package, answer in zip(packages, answers, strict=True):
        for name in sorted(entry["id"] for entry in answer.get("vulns", ())):
            advisory = ask(f"vulns/{name}")
            if "withdrawn" in advisory:
                continue
            note = ACCEPTED.get(name) or informational(advisory)
            summary = advisory.get("summary") or advisory.get("details", "")
            yield package, f"{name}: {' '.join(summary.split())[:200]}{f' ({note})' if note else ''}", not note


def informational(advisory: Any) -> str:
    """Kind of a RustSec advisory that is not a vulnerability, such as `unmaintained`."""
    kinds = {entry.get("database_specific", {}).get("informational") for entry in advisory.get("affected", ())}
    return ", ".join(sorted(kind for kind in kinds if kind))


def ask(what: str, question: Any = None) -> Any:
    """Response of OSV."""
    data = None if question is None else json.dumps(question).encode()
    request = urllib.request.Request(f"{OSV}/{what}", data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
        return json.load(answer)


if __name__ == "__main__":
    sys.exit(main())
