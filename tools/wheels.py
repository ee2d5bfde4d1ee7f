"""Builds release artifacts in dist/ (wheel, sdist, SBOMs, checksums): `make wheels`.

zig links the wheel against an old glibc, so no container of an old distribution is needed; auditwheel checks the
wheel's requirements. The wheel is optimised with the profiles of `training.py`. Wheel and sdist contain the playground.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "site" / "playground" / "dist" / "playground.html"
PACKED_PAGE = ROOT / "python" / "fairlane" / "playground.html"
PLATFORM = "manylinux2014"
"""glibc 2.17, the oldest version supported by Rust's standard library."""
MOST_BYTES = 15_000_000
IN_WHEEL = (
    r"fairlane/playground\.html",
    r"fairlane/_fairlane\.abi3\.so",
    r"fairlane/py\.typed",
    r"fairlane/suites/.+\.toml",
    r".*/LICENSE-MIT",
)
IN_SDIST = ("pyproject.toml", "README.md", "LICENSE-MIT", "python/fairlane/playground.html")


def main() -> int:
    """Builds and checks the artifacts; if one violates a requirement of a release, prints a line and returns 1."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="output folder [default: dist]")
    parser.add_argument("--counts", type=Path, required=True, help="path printed by training.py")
    options = parser.parse_args()
    out: Path = options.out
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    settings = trained(options.counts.resolve(strict=True))
    with page_in_package():
        run("maturin", "build", "--release", "--zig", "--locked", "--compatibility", PLATFORM, "--out", out, **settings)
        run("maturin", "sdist", "--out", out)
    (wheel,), (sdist,) = out.glob("*.whl"), out.glob("*.tar.gz")
    problems = [*problems_of_wheel(wheel), *problems_of_sdist(sdist)]
    write_sboms(wheel, out)
    write_checksums(out)
    for file in sorted(out.iterdir()):
        print(f"{file.stat().st_size:>10}  {file.name}")
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    return 1 if problems else 0


def run(*command: str | Path, **settings: str) -> str:
    """Runs a program of this environment with the given variables; returns its output."""
    program, *arguments = command
    tools = Path(sys.executable).parent
    # maturin looks for zig through the first interpreter in PATH.
    own = {"VIRTUAL_ENV": str(tools.parent), "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    environment = {**os.environ, **own, **settings}
    command_line = [tools / str(program), *arguments]
    done = subprocess.run(command_line, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


def trained(counts: Path) -> dict[str, str]:
    """Cargo settings for a build optimised with these profiles."""
    # In an incremental build, private symbols have other names and therefore no profile.
    return {"CARGO_ENCODED_RUSTFLAGS": f"-Cprofile-use={counts}", "CARGO_INCREMENTAL": "0"}


@contextmanager
def page_in_package() -> Iterator[None]:
    """During the block, the package contains the playground where `fairlane play` looks for it."""
    shutil.copyfile(PAGE, PACKED_PAGE)
    try:
        yield
    finally:
        PACKED_PAGE.unlink()


def problems_of_wheel(wheel: Path) -> Iterator[str]:
    """Defects of a release wheel."""
    size = wheel.stat().st_size
    if size > MOST_BYTES:
        yield f"{wheel.name}: {size} bytes, it must be at most {MOST_BYTES}"
    verdict = " ".join(run("auditwheel", "show", wheel).split())
    tag = re.search(r'following platform tag: "([a-z]+_(\d+)_(\d+)_\w+)"', verdict)
    print(f"auditwheel: {verdict}")
    if not tag or (int(tag[2]), int(tag[3])) > (2, 17):
        yield f"{wheel.name}: auditwheel finds {tag[1] if tag else 'no platform'}, it must be manylinux_2_17 or older"
    names = zipfile.ZipFile(wheel).namelist()
    for wanted in IN_WHEEL:
        if not any(re.fullmatch(wanted, name) for name in names):
            yield f"{wheel.name}: has no {wanted}"


def problems_of_sdist(sdist: Path) -> Iterator[str]:
    """Returns the required files that an sdist lacks. Without the lock file an sdist would build a different engine."""
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
        lock = archive.extractfile(f"{sdist.name.removesuffix('.tar.gz')}/Cargo.lock")
        packed = lock.read() if lock else b""
    if packed != (ROOT / "Cargo.lock").read_bytes():
        yield f"{sdist.name}: its Cargo.lock is not that of the repository"
    yield from (f"{sdist.name}: has no {wanted}" for wanted in IN_SDIST if wanted not in names)


def write_sboms(wheel: Path, out: Path) -> None:
    """Writes two CycloneDX SBOMs.

    The first lists the linked Rust crates and is copied from the wheel. The second lists the Python packages that an
    installation of the wheel contains.
    """
    stem = "-".join(wheel.name.split("-")[:2])
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if "/sboms/" in name and name.endswith(".json"):
                (out / f"{stem}.rust.cdx.json").write_bytes(archive.read(name))
    with tempfile.TemporaryDirectory() as folder:
        python = installed(wheel, Path(folder))
        listed = run("cyclonedx-py", "environment", "--pyproject", "pyproject.toml", "--output-reproducible", python)
    (out / f"{stem}.python.cdx.json").write_text(listed)


def installed(wheel: Path, folder: Path) -> Path:
    """Interpreter of an environment with only the wheel and its requirements; checks that the command works there."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python, started = folder / "bin" / "python", time.monotonic()
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel], check=True)
    print(f"pip install: {time.monotonic() - started:.1f} s")
    for words in (
        ["--version"],
        ["play", "--path"],
        ["run", ROOT / "examples" / "two-users.toml", "--replications", "1"],
    ):
        subprocess.run([folder / "bin" / "fairlane", *words], cwd=folder, stdout=subprocess.DEVNULL, check=True)
    return python


def write_checksums(out: Path) -> None:
    """Writes checksums in the format of `sha256sum --check`."""
    files = sorted(file for file in out.iterdir() if file.is_file())
    lines = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files]
    (out / "SHA256SUMS").write_text("".join(lines))


if __name__ == "__main__":
    sys.exit(main())
