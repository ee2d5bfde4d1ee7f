"""Source of a kernel: an installed archive, a package of the distribution, or a user's folder.

A marker file is written after a tree has been unpacked completely. A tree without this file is removed and unpacked
again.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from subprocess import PIPE, Popen

from fairlane.base.errors import UserError
from fairlane.base.files import write_aside
from fairlane.base.progress import tell
from fairlane.base.text import quoted
from fairlane.kernel import programs

INSTALLED = Path("/usr/src")
VERSION = re.compile(r"[0-9]+\.[0-9]+")
MARKER = ".fairlane/source.json"
_PACKAGE = "linux-source-"
_NEEDLESS = (".c", ".h", ".S", ".dts", ".dtsi", ".rst", ".txt", ".yaml", ".json", ".svg")
_NEEDLESS_BELOW = (
    "Documentation",
    "arch/[!ux]*",
    *(f"drivers/{name}" for name in ("accel", "clk", "crypto", "gpu", "hwmon", "iio", "infiniband", "md", "media")),
    *(f"drivers/{name}" for name in ("net/ethernet", "net/wireless", "pinctrl", "platform", "scsi", "staging")),
    *(f"drivers/{name}" for name in ("usb", "video")),
    "samples",
    "sound",
    "tools/perf",
    "tools/testing",
)
"""Folders from which a User-Mode Linux kernel needs only Kconfig files and Makefiles."""
_LEFT_OUT = [f"--exclude=*/{folder}/*{ending}" for folder in _NEEDLESS_BELOW for ending in _NEEDLESS]
_BUILT = (".git", ".config", "include/config", "include/generated", "arch/*/include/generated", "*.o", "*.a", "*.cmd")
"""Files in a user's folder that are not source."""


@dataclass(frozen=True)
class Origin:
    """Location of a version's source.

    Attributes:
        version: Version such as `6.12`.
        key: Hash of the archive or package; None for a folder, whose files are compared.
        archive: Installed archive.
        folder: The user's folder.
        package: Name, version and size in bytes of apt's package.
    """

    version: str
    key: str | None
    archive: Path | None = None
    folder: Path | None = None
    package: tuple[str, str, int] | None = None

    def __str__(self) -> str:
        if self.package:
            return f"{self.package[0]} {self.package[1]}"
        return str(self.archive or self.folder)


@dataclass(frozen=True)
class Source:
    """A complete source tree.

    Attributes:
        origin: Key of the origin.
        content: Hash of the archive (installed or from a package) or of a folder's files.
    """

    origin: str | None
    content: str


def needs(version: str | None, folder: Path | None) -> tuple[str, ...]:
    """The programs needed to get the source."""
    return programs.UNPACKING if folder or version in _installed() else programs.DOWNLOADING


def number(version: str) -> tuple[int, int]:
    """Converts a version for comparison: 6.12 comes after 6.1."""
    major, minor = version.split(".")
    return int(major), int(minor)


def find_origin(version: str | None) -> Origin:
    """The source of a version, or of the newest available version; prefers an installed archive to a download.

    Raises:
        UserError: There is none; the message lists the available versions.
    """
    installed = _installed()
    if version in installed:
        return Origin(version, _file_digest(installed[version]), archive=installed[version])
    found = {name for name in (*installed, *_offered()) if VERSION.fullmatch(name)}
    known = ", ".join(sorted(found, key=number))
    if not found:
        raise UserError(f"apt has no package {_PACKAGE}*: apt-get update, or --source DIR with a kernel's source")
    if version is None:
        version = max(found, key=number)
    elif version not in found:
        raise UserError(f"{quoted(version)} is not a kernel that apt has; there are {known}; or give --source DIR")
    return find_origin(version) if version in installed else _package(version)


def folder_origin(folder: Path) -> Origin:
    """Origin of a user's folder."""
    try:
        major, minor, *_ = _numbers(folder)
    except (OSError, ValueError):
        raise UserError(f"--source: {folder}: not the source of a Linux kernel") from None
    return Origin(f"{major}.{minor}", None, folder=folder.absolute())


def release(tree: Path) -> str:
    """Release, such as `6.12.117`."""
    return ".".join(map(str, _numbers(tree)))


def _numbers(tree: Path) -> list[int]:
    """Numbers of the version; raises a ValueError if the source has none."""
    text = (tree / "Makefile").read_text(encoding="utf-8", errors="replace")
    values = dict(re.findall(r"^(VERSION|PATCHLEVEL|SUBLEVEL) = (\d+)$", text, re.MULTILINE))
    if not ({"VERSION", "PATCHLEVEL"} <= values.keys() and (tree / "arch/um/Kconfig").exists()):
        raise ValueError
    return [int(values[name]) for name in ("VERSION", "PATCHLEVEL", "SUBLEVEL") if name in values]


def unpack(origin: Origin, tree: Path, downloads: Path, *, show: bool) -> Source:
    """Creates a tree from an origin, unless a complete tree exists."""
    try:
        there = Source(**json.loads((tree / MARKER).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        there = None
    if there and origin.key and there.origin == origin.key:
        return there
    shutil.rmtree(tree, ignore_errors=True)
    if origin.folder:
        content = _copy(origin.folder, tree, show=show)
    else:
        archive = origin.archive
        unpacked = tree.with_name("package")
        if archive is None:
            package = _download(origin, downloads, show=show)
            shutil.rmtree(unpacked, ignore_errors=True)
            programs.must(["dpkg-deb", "-x", str(package), str(unpacked)], f"dpkg-deb -x {package.name}")
            archive = unpacked / f"usr/src/{_PACKAGE}{origin.version}.tar.xz"
        content = _file_digest(archive) if origin.package else str(origin.key)
        _untar(archive, tree, show=show)
        shutil.rmtree(unpacked, ignore_errors=True)
    source = Source(origin.key, content)
    write_aside(tree / MARKER, json.dumps(asdict(source)).encode())
    return source


def _installed() -> dict[str, Path]:
    """Archives of installed packages, by version."""
    found = INSTALLED.glob(f"{_PACKAGE}*.tar.xz")
    by_version = {path.name.removeprefix(_PACKAGE).removesuffix(".tar.xz"): path for path in found}
    return {version: path for version, path in by_version.items() if VERSION.fullmatch(version)}


def _offered() -> list[str]:
    output = programs.must(
        ["apt-cache", "search", "--names-only", f"^{_PACKAGE}[0-9.]+$"], "apt-cache search linux-source"
    )
    return [line.split()[0].removeprefix(_PACKAGE) for line in output.splitlines() if line.strip()]


def _package(version: str) -> Origin:
    name = f"{_PACKAGE}{version}"
    output = programs.must(["apt-cache", "show", "--no-all-versions", name], f"apt-cache show {name}")
    fields = dict(line.split(": ", 1) for line in output.splitlines() if ": " in line and not line.startswith(" "))
    try:
        return Origin(version, fields["SHA256"], package=(name, fields["Version"], int(fields["Size"])))
    except (KeyError, ValueError):
        raise UserError(f"apt-cache show {name}: no version, size and SHA256 of a package") from None


def _download(origin: Origin, folder: Path, *, show: bool) -> Path:
    """Downloads the package, unless an existing one has the right hash."""
    assert origin.package
    name, version, size = origin.package
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{name}_{version.replace(':', '%3a')}_all.deb"
    if file.exists() and file.stat().st_size == size and _file_digest(file) == origin.key:
        return file
    tell(f"downloading {name} {version}, {size / 1e6:.0f} MB", show=show)
    programs.must(["apt-get", "download", f"{name}={version}"], f"apt-get download {name}", folder=folder)
    if not file.exists() or _file_digest(file) != origin.key:
        raise UserError(f"apt-get download {name}: {file} is not the package that apt has; apt-get update")
    return file


def _untar(archive: Path, tree: Path, *, show: bool) -> None:
    tell(f"unpacking {archive.name}", show=show)
    tree.mkdir(parents=True)
    command = ["tar", "--extract", "--xz", "--file", str(archive), "--strip-components=1", *_LEFT_OUT]
    programs.must(command, f"unpacking {archive}", folder=tree)


def _copy(folder: Path, tree: Path, *, show: bool) -> str:
    """Copies a folder to a tree, with modification times. Returns a hash of the files."""
    tell(f"copying {folder}", show=show)
    tree.mkdir(parents=True)
    built = [f"--exclude=./{name}" if "/" in name or name[0] == "." else f"--exclude={name}" for name in _BUILT]
    pack = ["tar", "--create", "--directory", str(folder), *built, *_LEFT_OUT, "."]
    with (
        tempfile.TemporaryFile("w+", errors="replace") as said,
        Popen(pack, env=programs.environment(), stdout=PIPE, stderr=said) as packing,
    ):
        unpacking = subprocess.run(["tar", "--extract"], cwd=tree, stdin=packing.stdout, stderr=said, check=False)
        if packing.wait() or unpacking.returncode:
            said.seek(0)
            raise UserError(f"copying {folder}: {programs.first_error(said.read())}")
    found = hashlib.sha256()
    for path in sorted(path for path in tree.rglob("*") if path.is_file() and not path.is_symlink()):
        found.update(f"{path.relative_to(tree)} {path.stat().st_size}\n".encode() + path.read_bytes())
    return found.hexdigest()


def _file_digest(file: Path) -> str:
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
