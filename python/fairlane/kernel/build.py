"""Builds a kernel that runs as a process in virtual time, and the program of its guest."""

from __future__ import annotations

import json
import os
import platform
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

from fairlane.base.errors import UserError
from fairlane.base.files import check_writable, write_aside, written_below
from fairlane.base.progress import Advance, reporting, tell
from fairlane.kernel import cache, changes, configuration, ours, programs, source
from fairlane.kernel.cache import Built

STEPS = 710
"""Approximate number of files that make compiles, for the estimate of remaining time."""
NEEDED_BYTES = 1_000_000_000
"""Disk space in bytes needed while a kernel is built from a download."""
BOOT_LIMIT_S = 60
_STEP = re.compile(r" +(CC|AS|HOSTCC)\b.*")
_FIXED = {
    "KBUILD_BUILD_TIMESTAMP": "2000-01-01",
    "KBUILD_BUILD_USER": "fairlane",
    "KBUILD_BUILD_HOST": "fairlane",
    "KBUILD_BUILD_VERSION": "1",
}
"""Environment variables whose values the build writes into the kernel; constant, so that builds are reproducible."""


@dataclass(frozen=True)
class Report:
    """Result and cost of a build.

    Attributes:
        kernel: The kernel.
        is_new: True if the kernel was built, false if an equal kernel existed.
        seconds: Elapsed time.
        cpu_seconds: CPU time of all processes.
        files: Number of compiled files; fewer if a build was resumed.
        bytes: Disk space at the end of the build.
        lacking: Configuration symbols that the version lacks.
    """

    kernel: Built
    is_new: bool
    seconds: float = 0
    cpu_seconds: float = 0
    files: int = 0
    bytes: int = 0
    lacking: tuple[str, ...] = ()


def build(
    version: str | None = None,
    *,
    folder: Path | None = None,
    cache_folder: Path | None = None,
    jobs: int | None = None,
    keep_source: bool = False,
    show: bool = False,
) -> Report:
    """Builds a kernel, unless an equal kernel exists.

    Args:
        version: Version such as `6.12`; default: the newest in apt.
        folder: Folder with a kernel's source to use instead, which stays unchanged.
        cache_folder: Folder for the kernel; default: `cache.cache_folder`.
        jobs: Concurrent compilers; default: one per processor.
        keep_source: Keep the unpacked source and the objects, so that another build takes seconds.
        show: Report progress on stderr.

    Raises:
        UserError: The kernel cannot be built; the message says what is missing.
    """
    if platform.machine() != "x86_64":
        raise UserError(f"a kernel that runs as a process needs an x86_64 processor, not {platform.machine()}")
    programs.check((*programs.COMPILING, *source.needs(version, folder)))
    origin = source.folder_origin(folder) if folder else source.find_origin(version)
    where = cache.cache_folder(cache_folder)
    check_writable(where, "--cache")
    with written_below(where, "--cache"), cache.locked(where, origin.version, wait=True, show=show) as lock:
        for kernel in cache.kernels(where):
            if kernel.is_current and origin.key and kernel.manifest["origin"] == origin.key:
                return Report(kernel, is_new=False)
        work = cache.work_folder(where, origin.version)
        _check_space(where, work)
        return _Build(origin, where, work, jobs or len(os.sched_getaffinity(0)), lock, show=show).run(keep_source)


class _Build:
    """The steps of a build, in order."""

    def __init__(self, origin: source.Origin, where: Path, work: Path, jobs: int, lock: int, *, show: bool) -> None:
        self._origin = origin
        self._version = origin.version
        self._where = where
        self._work = work
        self._tree = work / "source"
        self._objects = work / "build"
        self._log = work / "make.log"
        self._jobs = jobs
        self._lock = lock
        self._show = show

    def run(self, keep_source: bool) -> Report:
        begun, cpu = time.monotonic(), _cpu_seconds()
        self._work.mkdir(parents=True, exist_ok=True)
        self._compile_init()
        unpacked = source.unpack(self._origin, self._tree, self._where / "downloads", show=self._show)
        release = source.release(self._tree)
        identity = f"{release}-{sha256(f'{unpacked.content} {ours.digest()}'.encode()).hexdigest()[:12]}"
        for kernel in cache.kernels(self._where):
            if kernel.identity == identity:
                self._tidy(keep_source)
                return Report(kernel, is_new=False)
        changes.apply(self._tree, source.number(self._version))
        ours.put_into(self._tree)
        lacking = self._configure()
        files = self._compile()
        manifest = {
            "schema": 1,
            "version": self._version,
            "release": release,
            "identity": identity,
            "built": datetime.now(UTC).isoformat(timespec="seconds"),
            "origin": self._origin.key or unpacked.content,
            "source": str(self._origin),
            "ours": ours.digest(),
            "compiler": programs.must(["cc", "--version"], "cc --version").splitlines()[0],
            "lacking": lacking,
        }
        with tempfile.TemporaryDirectory(dir=self._work) as name:
            stage = Path(name, identity)
            self._finish(stage, manifest)
            target = self._where / identity
            shutil.rmtree(target, ignore_errors=True)
            stage.rename(target)
        used = _bytes(self._work)
        self._tidy(keep_source)
        kernel = Built(target, self._version, release, identity, manifest)
        seconds = time.monotonic() - begun
        return Report(kernel, True, seconds, _cpu_seconds() - cpu, files, used, tuple(lacking))

    def _tidy(self, keep_source: bool) -> None:
        if not keep_source:
            shutil.rmtree(self._work)

    def _compile_init(self) -> None:
        """Compiles the guest's program first, which shows within a second whether compiler and C library work."""
        try:
            programs.must(["cc", "-O2", "-static", "-o", str(self._work / "init"), str(ours.INIT), "-lm"], "cc")
        except UserError as error:
            why = f"the guest's program does not compile: {error}"
            raise UserError(f"{why}; it needs the C library for static programs, on Debian libc6-dev") from error

    def _configure(self) -> list[str]:
        self._objects.mkdir(exist_ok=True)
        text = ours.CONFIG.read_text(encoding="utf-8")
        fragment = self._work / "config"
        write_aside(fragment, text.encode())
        self._make(f"KCONFIG_ALLCONFIG={fragment}", "allnoconfig")
        return configuration.check(self._objects / ".config", text, self._version)

    def _compile(self) -> int:
        """Compiles the kernel; returns the number of compiled files."""
        there = sum(1 for _ in self._objects.rglob("*.o"))
        tell(f"compiling Linux {self._version} with {self._jobs} jobs; the log is {self._log}", show=self._show)
        return self._make("linux", steps=max(STEPS - there, 1))

    def _make(self, *words: str, steps: int = 1) -> int:
        """Runs make, which keeps the version's lock even if this process is killed. Returns the number of steps."""
        command = ["make", f"-j{self._jobs}", "ARCH=um", f"O={self._objects}", *words]
        done = 0
        with (
            self._log.open("w", buffering=1, encoding="utf-8") as log,
            reporting(f"Linux {self._version}", steps, show=self._show, unit="files") as report,
            subprocess.Popen(
                command,
                cwd=self._tree,
                env=programs.environment() | _FIXED,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                pass_fds=(self._lock,),
                start_new_session=True,
            ) as make,
        ):
            advance = Advance(steps, report)
            try:
                for line in make.stdout or ():
                    log.write(line)
                    if _STEP.fullmatch(line.rstrip()):
                        done += 1
                        if done < steps:
                            advance()
            except BaseException:
                # Make alone would leave compilers running. The output ends with the last of them.
                os.killpg(make.pid, signal.SIGTERM)
                for _ in make.stdout or ():
                    pass
                raise
        if make.returncode != 0:
            reason = programs.first_error(self._log.read_text(encoding="utf-8", errors="replace"))
            raise UserError(f"make failed on Linux {self._version}: {reason}; the log is {self._log}")
        return done

    def _finish(self, stage: Path, manifest: dict[str, object]) -> None:
        """Fills the folder of the kernel, and boots it."""
        stage.mkdir()
        shutil.copy2(self._objects / "linux", stage / "linux")
        (self._work / "init").rename(stage / "init")
        boot(stage)
        (stage / cache.MANIFEST).write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")


def boot(folder: Path) -> None:
    """Boots a kernel without a plan; the guest reports the missing plan and powers off.

    Raises:
        UserError: The kernel did not boot.
    """
    with tempfile.TemporaryDirectory(prefix="fairlane-boot-") as run:
        Path(run, "init").symlink_to((folder / "init").absolute())
        words = "mem=256M rootfstype=hostfs rootflags=/ ro quiet con=null con0=null,fd:1 time-travel=inf-cpu"
        command: list[str | Path] = [folder / "linux", *words.split(), "fairlane.seed=1", "init=/proc/self/cwd/init"]
        said = _bounded(command, Path(run), BOOT_LIMIT_S)
        if not Path(run, "error").is_file():
            raise UserError(f"the kernel does not boot on this machine: {programs.first_error(said)}")


def _bounded(command: Sequence[str | Path], folder: Path, limit_s: float) -> str:
    """Runs a command and its children for a bounded time; returns the output."""
    with subprocess.Popen(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            return process.communicate(timeout=limit_s)[0]
        except subprocess.TimeoutExpired:
            return f"it ran for {limit_s:g} s"
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)


def _check_space(where: Path, work: Path) -> None:
    free = shutil.disk_usage(where).free
    needed = NEEDED_BYTES - (_bytes(work) if work.exists() else 0)
    if free < needed:
        raise UserError(f"--cache: {where} has {free / 1e9:.1f} GB free; a build needs {needed / 1e9:.1f} GB")


def _bytes(folder: Path) -> int:
    return sum(path.lstat().st_blocks * 512 for path in folder.rglob("*"))


def _cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
