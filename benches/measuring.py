"""What the benchmark scripts share: build a program, run it in a process of its own, name the machine."""

from __future__ import annotations

import json
import os
import platform
import re
import subprocess
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
SCENARIOS = Path(__file__).parent / "scenarios"
Json = dict[str, Any]


def build(program: str) -> Path:
    """Build a program of `crates/bench` in release mode, as the manifest has it; gives its path."""
    # The extension as well, of which nothing is built: with its features the engine is that of `make setup`.
    packages = ["--package", "fairlane-bench", "--package", "fairlane-py"]
    command = ["cargo", "build", "--release", "--quiet", *packages, "--bin", program]
    # Incremental compilation cuts the engine into other pieces, which takes 2 % more instructions.
    others = ("CARGO_PROFILE_", "CARGO_INCREMENTAL")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(others)}
    subprocess.run(command, cwd=ROOT, check=True, env=environment)
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


def instructions(*command: str | Path, options: Sequence[str] = ()) -> tuple[int, str]:
    """Instructions that callgrind counts in a program, and what the program prints."""
    with tempfile.TemporaryDirectory() as folder:
        callgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", *options]
        words = [*callgrind, *map(str, command)]
        done = subprocess.run(words, check=True, capture_output=True, text=True)
    total = re.search(r"Collected : (\d+)", done.stderr)
    if total is None:
        raise RuntimeError(f"valgrind gave no count:\n{done.stderr}")
    return int(total[1]), done.stdout


def put_on_page(page: Path, mark: str, text: str) -> None:
    """Writes a text between `<!-- MARK -->` and `<!-- end -->` of a page."""
    head, begin, rest = page.read_text(encoding="utf-8").partition(f"<!-- {mark} -->\n")
    _, end, tail = rest.partition("<!-- end -->")
    page.write_text(f"{head}{begin}\n{text}\n\n{end}{tail}", encoding="utf-8")


def rustc() -> tuple[str, str]:
    """Version and target of the compiler that cargo takes."""
    lines = subprocess.run(["rustc", "-Vv"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    host = next(line.removeprefix("host: ") for line in lines if line.startswith("host: "))
    return lines[0], host


def machine() -> str:
    """Processor and number of cores."""
    model = re.search(r"^model name\s*: (.*)", Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE)
    return f"{model[1] if model else platform.machine()}, {os.cpu_count()} cores"
