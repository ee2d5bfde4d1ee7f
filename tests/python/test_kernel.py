"""Tests builds of kernels for the plane `linux` with fake compilers: rejected sources, cached results, resumed builds.

One test builds a real kernel.
"""

import hashlib
import json
import os
import signal
import subprocess
import tarfile
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from conftest import Cli, execute, wait_until
from fairlane.base.errors import UserError
from fairlane.kernel import changes, find, ours
from fairlane.kernel.build import build
from fairlane.kernel.cache import kernels
from fairlane.kernel.changes import Change

MAKE = """
echo "make $*" >> "$FAKE/calls"
for word; do case $word in
    O=*) out=${word#O=} ;;
    KCONFIG_ALLCONFIG=*) grep -v "${LACKING:-^$}" "${word#*=}" > "$out/.config" ;;
    linux)
        echo "  CC      a.o"
        if [ -e "$FAKE/hang" ]; then
            sleep 60 & trap "exit 1" TERM
            echo $$ $! > "$FAKE/pid"
            mv "$FAKE/pid" "$FAKE/hangs"
            wait
        fi
        [ ! -e "$FAKE/fail" ] || { echo "a.c:1: error: no such thing"; exit 2; }
        cp "$FAKE/linux" "$out/linux" ;;
esac; done
"""
LINUX = """#!/bin/sh
echo "no plan" > error
"""
CC = 'while [ $# -gt 0 ]; do [ "$1" != -o ] || touch "$2"; shift; done; echo "cc 1.0"'
APT_CACHE = """
case $1 in
    search) echo "linux-source-9.8 - old"; echo "linux-source-9.10 - new" ;;
    show) cat "$FAKE/show" ;;
esac
"""
APT_GET = """
echo "apt-get $*" >> "$FAKE/calls"
[ -e "$FAKE/package" ] || { echo "E: Could not resolve 'deb.example'" >&2; exit 100; }
cp "$FAKE/package" "linux-source-9.10_9.10.3-1_all.deb"
"""
DPKG_DEB = 'mkdir -p "$3/usr/src"; cp "$2" "$3/usr/src/linux-source-9.10.tar.xz"'


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A kernel source tree whose files contain only the texts that `changes.CHANGES` replaces."""
    return make_tree(tmp_path / "linux-source")


def make_tree(folder: Path) -> Path:
    for change in changes.CHANGES:
        file = folder / change.file
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a") as out:
            out.write(f"{change.old}\n")
    (folder / "Makefile").write_text("VERSION = 9\nPATCHLEVEL = 10\nSUBLEVEL = 3\nEXTRAVERSION =\n")
    return folder


class Fake(Cli):
    """`fairlane` with fake compilers and package managers; kernels are in `cache`."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.bin = folder / "bin"
        self.bin.mkdir()
        (folder / "linux").write_text(LINUX)
        (folder / "linux").chmod(0o755)
        programs = {"make": MAKE, "cc": CC, "apt-cache": APT_CACHE, "apt-get": APT_GET, "dpkg-deb": DPKG_DEB}
        programs |= dict.fromkeys(("bc", "bison", "flex", "gcc", "ld"), "")
        for name, text in programs.items():
            # A build does not pass the user's variables to programs.
            (self.bin / name).write_text(f"#!/bin/sh\nFAKE={folder}\n. {folder}/settings\n{text}")
            (self.bin / name).chmod(0o755)
        self.settings("")

    @property
    def options(self) -> dict[str, object]:
        return {"env": os.environ | {"PATH": f"{self.bin}:{os.environ['PATH']}", "XDG_CACHE_HOME": str(self.folder)}}

    def settings(self, text: str) -> None:
        (self.folder / "settings").write_text(text)

    @property
    def calls(self) -> list[str]:
        file = self.folder / "calls"
        return [line.split()[0] for line in file.read_text().splitlines()] if file.exists() else []

    def builds(self, *words: str | Path) -> str:
        return self.output("kernel", "build", *words, **self.options)

    def refused(self, *words: str | Path) -> str:
        done = self("kernel", "build", *words, **self.options)
        assert (done.returncode, done.stdout) == (2, ""), done.stderr
        return done.stderr.splitlines()[-1].removeprefix("error: ")

    def package(self, content: Path) -> None:
        """Creates apt's package of 9.10."""
        file = self.folder / "package"
        with tarfile.open(file, "w:xz") as archive:
            archive.add(content, "linux-source-9.10")
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        fields = {"Version": "9.10.3-1", "Size": file.stat().st_size, "SHA256": digest}
        (self.folder / "show").write_text("".join(f"{name}: {value}\n" for name, value in fields.items()))

    def kernels(self) -> list[dict[str, object]]:
        found: list[dict[str, object]] = self.document("kernel", "list", **self.options)["kernels"]
        return found


@pytest.fixture
def fake(tmp_path: Path) -> Fake:
    return Fake(tmp_path)


def test_without_programs_all_that_are_missing_are_named_with_their_packages(cli: Cli, tmp_path: Path) -> None:
    env = os.environ | {"PATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    cli.refuses(["kernel", "build"], ["bison", "flex", "apt-get", "xz", "apt-get install", "xz-utils"], env=env)


def test_a_version_that_cannot_be_had_is_answered_with_those_that_can(fake: Fake) -> None:
    line = fake.refused("9.9")
    assert "'9.9'" in line
    assert "9.8, 9.10" in line  # 9.10 is the newer one
    assert fake.calls == []


def test_a_package_that_cannot_be_fetched_leaves_nothing(fake: Fake, tree: Path) -> None:
    fake.package(tree)
    (fake.folder / "package").unlink()
    assert "Could not resolve 'deb.example'" in fake.refused("9.10")
    assert not list((fake.folder / "fairlane").rglob("*.deb"))


def test_a_folder_without_a_kernel_is_refused(fake: Fake) -> None:
    (fake.folder / "empty").mkdir()
    assert "not the source of a Linux kernel" in fake.refused("--source", "empty")
    assert "VERSION: has no effect with --source" in fake.refused("9.10", "--source", "empty")


def test_a_change_whose_text_is_missing_is_named_and_nothing_is_changed(tree: Path) -> None:
    file = tree / "arch/um/os-Linux/util.c"
    file.write_text("return 0;\n")
    before = {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()}
    with pytest.raises(UserError, match=r"9\.10: cannot change arch/um/os-Linux/util\.c: .* 0 times .* from the seed"):
        changes.apply(tree, (9, 10))
    assert {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()} == before


def test_changes_are_made_from_the_originals_and_only_once(tmp_path: Path) -> None:
    file = tmp_path / "a.c"
    file.write_text("one two three\n")
    one, two = Change("a.c", "one", "one 1", "."), Change("a.c", "two", "2", ".")
    changes.apply(tmp_path, (6, 12), (one, two))
    assert file.read_text() == "one 1 2 three\n"
    time_ns = file.stat().st_mtime_ns
    changes.apply(tmp_path, (6, 12), (one, two))
    assert file.stat().st_mtime_ns == time_ns  # make does not compile it again
    changes.apply(tmp_path, (6, 12), (one,))
    assert file.read_text() == "one 1 two three\n"
    changes.apply(tmp_path, (6, 12), (Change("a.c", "one", "1", ".", below=(6, 12)),))
    assert file.read_text() == "one two three\n"


def test_a_symbol_that_the_version_does_not_take_is_named(fake: Fake, tree: Path) -> None:
    fake.settings("LACKING='SCH_CAKE\\|SCH_DUALPI2'")
    line = fake.refused("--source", tree)
    assert "CONFIG_NET_SCH_CAKE" in line
    assert "DUALPI2" not in line  # versions may lack it


def test_a_compiler_s_error_is_one_line_with_the_log(fake: Fake, tree: Path) -> None:
    (fake.folder / "fail").touch()
    line = fake.refused("--source", tree)
    assert "a.c:1: error: no such thing" in line
    log = Path(line.split("the log is ")[1])
    assert "no such thing" in log.read_text()


def test_a_full_disk_is_named_before_the_work(fake: Fake, tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(fake.bin), prepend=":")
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=1e8))
    with pytest.raises(UserError, match=r"--cache: .*/cache has 0\.1 GB free; a build needs 1\.0 GB"):
        build(folder=tree, cache_folder=fake.folder / "cache")
    assert fake.calls == []


def test_a_c_library_without_static_programs_is_named(fake: Fake, tree: Path) -> None:
    (fake.bin / "cc").write_text("#!/bin/sh\necho 'ld: error: cannot find -lc' >&2; exit 1\n")
    line = fake.refused("--source", tree)
    assert "ld: error: cannot find -lc" in line
    assert "libc6-dev" in line


def test_a_kernel_that_does_not_boot_is_no_kernel(fake: Fake, tree: Path) -> None:
    (fake.folder / "linux").write_text("#!/bin/sh\necho panic: error: no memory\n")
    assert "does not boot on this machine: panic: error: no memory" in fake.refused("--source", tree)
    assert fake.kernels() == []


def test_a_kernel_is_built_of_a_folder_that_stays_as_it_is(fake: Fake, tree: Path) -> None:
    (tree / "old.o").touch()
    before = {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()}
    assert "Linux 9.10.3 built" in fake.builds("--source", tree)
    assert {path: path.read_bytes() for path in tree.rglob("*") if path.is_file()} == before
    cache = fake.folder / "fairlane/kernel"
    found = find(cache=cache)
    assert (found.version, found.release) == ("9.10", "9.10.3")
    assert found.linux.is_file()
    assert found.init.is_file()
    assert found.identity.startswith("9.10.3-")
    assert find("9.10", cache) == find("9.10.3", cache) == found
    with pytest.raises(UserError, match=r"no kernel 9\.8 built: run `fairlane kernel build 9\.8`"):
        find("9.8", cache)
    # An equal folder is copied for the comparison, but nothing is compiled.
    calls = fake.calls
    assert "9.10.3 is up to date" in fake.builds("--source", tree)
    assert fake.calls == calls
    assert list((cache / "work").iterdir()) == []
    (tree / "new.c").touch()
    assert "9.10.3 built" in fake.builds("--source", tree)
    fake.output("kernel", "remove", found.identity, **fake.options)
    (found,) = kernels(cache)
    # Source and objects have been removed.
    assert sorted(path.name for path in cache.iterdir() if path.name[0] != ".") == [found.identity, "work"]
    assert list((cache / "work").iterdir()) == []


def test_a_package_is_downloaded_once_and_an_equal_kernel_is_built_once(fake: Fake, tree: Path) -> None:
    fake.package(tree)
    assert "9.10.3 built" in fake.builds("9.10")
    assert fake.calls == ["apt-get", "make", "make"]
    assert "9.10.3 is up to date" in fake.builds("9.10")
    assert fake.calls == ["apt-get", "make", "make"]
    fake.output("kernel", "remove", "9.10.3", **fake.options)
    assert fake.kernels() == []
    assert "built" in fake.builds("9.10")
    assert fake.calls == ["apt-get", "make", "make", "make", "make"]


def runs(process: int) -> bool:
    """True if the process exists and has not ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_killed_build_goes_on_where_it_was(fake: Fake, tree: Path, number: signal.Signals) -> None:
    fake.package(tree)
    (fake.folder / "hang").touch()
    process = fake.start("kernel", "build", "9.10", **fake.options)
    wait_until((fake.folder / "hangs").exists)
    process.send_signal(number)
    process.communicate(timeout=30)
    assert process.returncode == (128 + number if number == signal.SIGTERM else -number)
    make, child = map(int, (fake.folder / "hangs").read_text().split())
    unpacked = fake.folder / "fairlane/kernel/work/9.10/source/Makefile"
    inode = unpacked.stat().st_ino
    (fake.folder / "hang").unlink()
    if number == signal.SIGKILL:  # make continues, and no other process uses its folder
        with fake.start("kernel", "build", "9.10", "--keep-source", **fake.options) as second:
            assert second.stderr
            assert "another process: waiting" in second.stderr.readline()
            os.killpg(make, signal.SIGTERM)
            assert second.wait(timeout=60) == 0
    else:
        wait_until(lambda: not any(map(runs, (make, child))))
        assert "built" in fake.builds("9.10", "--keep-source")
    assert unpacked.stat().st_ino == inode
    assert fake.calls.count("apt-get") == 1


def test_a_half_unpacked_source_is_unpacked_again(fake: Fake, tree: Path) -> None:
    fake.package(tree)
    half = fake.folder / "fairlane/kernel/work/9.10/source"
    half.mkdir(parents=True)
    (half / "Makefile").write_text("VERS")
    assert "9.10.3 built" in fake.builds("9.10")


def test_a_kernel_of_other_files_is_stale(fake: Fake, tree: Path) -> None:
    fake.builds("--source", tree)
    cache = fake.folder / "fairlane/kernel"
    (kernel,) = fake.kernels()
    assert kernel["is_current"] is True
    file = Path(str(kernel["folder"])) / "manifest.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"ours": "other"}))
    assert fake.kernels()[0]["is_current"] is False
    assert "stale" in fake.output("kernel", "list", **fake.options)
    with pytest.raises(UserError, match=r"other files than this Fairlane's: run `fairlane kernel build`"):
        find(cache=cache)


@pytest.mark.parametrize("version", ["9.9", "..", "*", "9.10/../../x"])
def test_what_is_no_kernel_is_not_removed(fake: Fake, tree: Path, version: str) -> None:
    fake.builds("--source", tree)
    fake.refuses(["kernel", "remove", version], ["is not a kernel", "there are: 9.10"], **fake.options)
    assert len(fake.kernels()) == 1


def test_without_a_kernel_the_command_that_builds_one_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"^no kernel built: run `fairlane kernel build`$"):
        find(cache=tmp_path)


def test_the_package_has_our_files(tmp_path: Path) -> None:
    for name in (*ours.IN_KERNEL, ours.INIT.name, ours.CONFIG.name):
        assert (ours.FOLDER / name).read_bytes()


PROBE = r"""
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/reboot.h>
#include <time.h>
#include <unistd.h>
int main(void)
{
    unsigned long word = 0;
    struct timespec now, later, wall, wait = {100, 1};
    prctl(PR_SET_TIMERSLACK, 1);
    getrandom(&word, sizeof(word), 0);
    clock_gettime(CLOCK_MONOTONIC, &now);
    nanosleep(&wait, NULL);
    clock_gettime(CLOCK_MONOTONIC, &later);
    clock_gettime(CLOCK_REALTIME, &wall);
    printf("random %016lx\nbegun %ld.%09ld\nslept %ld\nwall %ld\nstack %p\n", word, now.tv_sec, now.tv_nsec,
           (later.tv_sec - now.tv_sec) * 1000000000 + later.tv_nsec - now.tv_nsec, wall.tv_sec, (void *)&word);
    fflush(stdout);
    reboot(RB_POWER_OFF);
}
"""


@pytest.mark.long
def test_a_real_kernel_boots_in_virtual_time_and_gives_the_same_bytes_for_a_seed(tmp_path: Path) -> None:
    cache = Path(os.environ.get("FAIRLANE_KERNEL_CACHE") or tmp_path / "cache")
    try:
        kernel = build(cache_folder=cache, show=True).kernel
    except UserError as error:
        if any(words in str(error) for words in ("missing; on Debian", "apt has no", "apt-get download", "x86_64")):
            pytest.skip(str(error))
        raise
    (tmp_path / "probe.c").write_text(PROBE)
    compiled = execute("cc", "-static", "-o", tmp_path / "init", tmp_path / "probe.c")
    assert compiled.returncode == 0, compiled.stderr

    def boot(seed: int) -> dict[str, str]:
        begun = time.monotonic()
        options = ["mem=256M", "rootfstype=hostfs", "rootflags=/", "ro", "quiet", "con=null", "con0=null,fd:1"]
        words = [*options, "time-travel=inf-cpu", f"fairlane.seed={seed}", "init=/proc/self/cwd/init"]
        done = execute(kernel.linux, *words, cwd=tmp_path, timeout_s=60, stdin=subprocess.DEVNULL)
        assert time.monotonic() - begun < 60
        lines = (line.split() for line in done.stdout.splitlines())
        return {words[0]: words[1] for words in lines if len(words) == 2}

    first = boot(1)
    assert first == boot(1)
    assert first["random"] != boot(2)["random"]
    # The sleep takes 100 s and 1 ns, plus 1 ns each for the timer slack of the process, the timer, and a reading of the
    # clock.
    assert int(first["slept"]) - 100_000_000_001 == 3
    assert int(first["wall"]) // 3600 == 946684800 // 3600  # independent of the host's time
