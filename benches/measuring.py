"""What the benchmark scripts share: build a program, run it in a process of its own, name the machine."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SCENARIOS = Path(__file__).parent / "scenarios"
Json = dict[str, Any]


def build(program: str) -> Path:
    """Build a program of `crates/bench` in release mode; gives its path."""
    # The extension as well, of which nothing is built: with its features the engine is that of `make setup`.
    packages = ["--package", "fairlane-bench", "--package", "fairlane-py"]
    command = ["cargo", "build", "--release", "--quiet", *packages, "--bin", program]
    subprocess.run(command, cwd=ROOT, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    return ROOT / target / "release" / program


def scenario(path: Path, *, queue: Json | None = None, tcp: Json | None = None, run: Json | None = None) -> str:
    """A scenario file as the JSON that the programs take, with some keys of these tables changed."""
    content: Json = tomllib.loads(path.read_text(encoding="utf-8"))
    for table, changes in (("queue", queue), ("tcp", tcp), ("run", run)):
        content[table] = content.get(table, {}) | (changes or {})
    return json.dumps(content)


def run(*command: str | Path) -> Json:
    """Run a program that prints one line of JSON."""
    done = subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True)
    line: Json = json.loads(done.stdout)
    return line


def rustc() -> tuple[str, str]:
    """Version and target of the compiler that cargo takes."""
    lines = subprocess.run(["rustc", "-Vv"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    host = next(line.removeprefix("host: ") for line in lines if line.startswith("host: "))
    return lines[0], host


def machine() -> str:
    """Processor and number of cores."""
    model = platform.machine()
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    return f"{model}, {os.cpu_count()} cores"
