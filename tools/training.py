"""Records profiles of the engine for profile-guided optimisation.

Builds an instrumented program of `crates/bench`, runs it on scenarios, and prints the path of the profiles. The
scenarios cover all schemes and congestion controls, senders of the papers and modern senders, a single bottleneck and a
tree. They exclude `benches/scenarios`, so that no benchmark uses its training data. `make training` runs this.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fairlane

ROOT = Path(__file__).parents[1]

Document = dict[str, Any]

MIXED: list[Document] = [
    {"name": "cubic", "users": 6, "sources": [{"kind": "tcp", "congestion_control": "cubic"}]},
    {"name": "heavy", "users": 2, "sources": [{"kind": "tcp", "congestion_control": "bbr1", "flows": 4}]},
    {"name": "reno", "users": 4, "sources": [{"kind": "tcp", "congestion_control": "reno"}]},
    {"name": "web", "users": 20, "sources": [{"kind": "web", "interval": "2 s", "size": "30 kB"}]},
    {"name": "flood", "sources": [{"kind": "cbr", "rate": "4 Mbit/s"}]},
]
"""Users with different weights and senders, whose demand exceeds the link's capacity."""

SUBSCRIBERS: list[Document] = [
    {"name": "surfers", "share": 0.5, "rtt": "30 ms", "sources": [{"kind": "web", "interval": "5 s"}]},
    {"name": "viewers", "share": 0.3, "rtt": "30 ms", "sources": [{"kind": "video"}]},
    {"name": "heavy", "share": 0.1, "rtt": "30 ms", "sources": [{"kind": "tcp", "flows": 4}]},
    {"name": "backups", "share": 0.1, "rtt": "30 ms", "direction": "up", "sources": [{"kind": "tcp"}]},
]

BOTTLENECK = {"bottleneck_rate": "40 Mbit/s"}
ACCESS = {
    "kind": "access",
    "sites": 3,
    "access_points": 4,
    "subscribers": 50,
    "gateway_rate": "600 Mbit/s",
    "site_rate": "250 Mbit/s",
    "access_point_rate": "80 Mbit/s",
    "plan": "25 Mbit/s",
    "plan_up": "5 Mbit/s",
    "hour": 21.0,
}


def documents() -> Iterator[Document]:
    """Scenarios as TOML."""
    for scheme in (entry["name"] for entry in fairlane.schemes()):
        yield _document(BOTTLENECK, scheme, "linux", MIXED)
        yield _document(BOTTLENECK, scheme, "ns3.26", [{"users": 20, "sources": [{"kind": "tcp"}]}])
    for control in (entry["name"] for entry in fairlane.congestion_controls()):
        flows = [{"users": 20, "sources": [{"kind": "tcp", "congestion_control": control}]}]
        yield from (_document(BOTTLENECK, scheme, "linux", flows) for scheme in ("droptail", "abc"))
    yield from (_document(ACCESS, scheme, "linux", SUBSCRIBERS) for scheme in ("droptail", "abc", "csfq", "fq_codel"))


def _document(topology: Document, scheme: str, profile: str, groups: list[Document]) -> Document:
    return {
        "name": "training",
        "run": {"warmup": "2 s", "measure": "8 s", "replications": 1},
        "topology": topology,
        "queue": {"scheme": scheme},
        "tcp": {"profile": profile},
        "groups": [{"start_until": "1 s", **group} for group in groups],
    }


def main() -> int:
    """Builds, runs, and prints the path of the profiles."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "target/training", help="folder [default: target/training]")
    parser.add_argument("--target", help="target of a build with `cargo --target`, which changes symbol names")
    options = parser.parse_args()
    print(counts(options.out.resolve(), options.target))
    return 0


def counts(out: Path, target: str | None = None) -> Path:
    """Path of the profiles for a build, optionally for a `target` of cargo."""
    merge, raw, merged = llvm_profdata(), out / "raw", out / "engine.profdata"
    program = counting_program(out, raw, target)
    shutil.rmtree(raw, ignore_errors=True)
    for document in documents():
        subprocess.run([program, json.dumps(document)], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([merge, "merge", "--output", merged, raw], check=True)
    return merged


def counting_program(out: Path, raw: Path, target: str | None) -> Path:
    """Builds a program that runs a scenario and writes its profile into `raw`."""
    # Select the extension, too, although it is not built: its features make the engine the same as the package's.
    packages = ["--package", "fairlane-bench", "--package", "fairlane-py", "--bin", "measure"]
    command = ["cargo", "build", "--release", "--quiet", *packages, *(["--target", target] if target else [])]
    # Encoded, since a path may contain spaces.
    flags = {"CARGO_ENCODED_RUSTFLAGS": f"-Cprofile-generate={raw}"}
    settings = {**flags, "CARGO_TARGET_DIR": str(out), "CARGO_INCREMENTAL": "0"}
    subprocess.run(command, cwd=ROOT, check=True, env={**os.environ, **settings})
    return out / (target or "") / "release" / "measure"


def llvm_profdata() -> Path:
    """The compiler's tool that merges profiles."""
    name = "llvm-profdata"
    found = Path(output("rustc", "--print", "sysroot"), "lib/rustlib", host(), "bin", name)
    if not found.is_file():
        raise SystemExit(f"error: training needs {name}, which is not there: rustup component add llvm-tools")
    return found


def host() -> str:
    """The target of a build on this machine."""
    return output("rustc", "--print", "host-tuple")


def output(*command: str) -> str:
    """Runs a program; returns its line of output."""
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
