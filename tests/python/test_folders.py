"""Folders of results are replaced as a whole, even if the process is killed, and the user's files in them are kept."""

import fcntl
import json
import os
import sys
from pathlib import Path

import pytest

from conftest import Cli, execute, files
from fairlane.base.errors import UserError
from fairlane.base.folders import LIST, check_replaceable, staged

RUN = ["run", "short.toml", "--replications", "1", "--out"]


def write(folder: Path, **contents: str) -> None:
    """Writes a folder of results with these files."""
    with staged(folder) as stage:
        for name, text in contents.items():
            (stage / name).write_text(text)


def beside(folder: Path) -> list[str]:
    """Other entries in the parent of a folder."""
    return sorted(path.name for path in folder.parent.iterdir() if path != folder)


@pytest.mark.usefixtures("undrawn")
def test_what_an_earlier_run_wrote_does_not_stay_beside_the_new_one(cli: Cli, workdir: Path) -> None:
    cli.output(*RUN, "new/out", "--set", "probes.series_interval=0.5 s")
    assert "series.parquet" in files(workdir / "new" / "out")
    cli.output(*RUN, "new/out")
    assert "series.parquet" not in files(workdir / "new" / "out")
    assert "rate-over-time.png" not in files(workdir / "new" / "out")
    assert beside(workdir / "new" / "out") == []


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(
    "command",
    [
        pytest.param(["compare", "short.toml", "--queues", "droptail,red", "--replications", "1"], id="compare"),
        pytest.param(["reproduce", "abc2018.numbers", "--quick"], id="reproduce"),
        pytest.param(["sweep", "sweep.toml"], id="sweep"),
        pytest.param(["report", "afc.table1"], id="report"),
        pytest.param(["store", "export"], id="export"),
    ],
)
def test_every_command_replaces_its_folder(cli: Cli, workdir: Path, command: list[str]) -> None:
    (workdir / "sweep.toml").write_text('scenario = "short.toml"\nreplications = 1\n')
    if command[0] == "store":
        cli.output("sweep", "sweep.toml")
    write(workdir / "out", stale="")
    (workdir / "out" / "mine").write_text("mine")
    cli.output(*command, "--out", "out")
    listed = (workdir / "out" / LIST).read_text().split()
    assert files(workdir / "out") == sorted({*listed, "mine"} - {LIST})
    assert "stale" not in listed
    assert (workdir / "out" / "mine").read_text() == "mine"


@pytest.mark.parametrize(
    ("out", "others", "mentions"),
    [
        pytest.param(".", [], ["--out: ", "current folder"], id="current folder"),
        pytest.param("..", [], ["--out: ", "current folder"], id="above it"),
        pytest.param("short.toml", [], ["--out: ", "short.toml", "not a folder"], id="a file"),
        pytest.param("short.toml/x", [], ["--out: ", "short.toml/x"], id="below a file"),
        pytest.param("/proc", [], ["--out: ", "/proc", "mount point"], id="mount point"),
        pytest.param("mine", [], ["--out: ", "mine", "your own folder b"], id="folder of the user"),
        pytest.param("new", ["--store", "new/store"], ["--store: ", "new/store", "--out"], id="store in it"),
        pytest.param("new", ["--trace", "new"], ["--trace: ", "new", "--out"], id="tables in it"),
    ],
)
def test_a_folder_that_cannot_be_replaced_is_refused_before_anything_runs(
    cli: Cli, workdir: Path, out: str, others: list[str], mentions: list[str]
) -> None:
    (workdir / "mine" / "b").mkdir(parents=True)
    (workdir / "mine" / "b" / "c.txt").write_text("mine")
    cli.refuses([*RUN, out, *others, "--replications", "100000"], mentions, timeout_s=120)
    assert not (workdir / "new").exists()


def test_a_link_stays_a_link_and_the_mode_of_the_folder_stays(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(mode=0o750)
    (tmp_path / "link").symlink_to("real")
    write(tmp_path / "link", a="1")
    write(tmp_path / "link", b="2")
    assert (tmp_path / "link").readlink() == Path("real")
    assert files(tmp_path / "real") == ["b"]
    assert (tmp_path / "real").stat().st_mode & 0o777 == 0o750


def test_files_of_the_user_stay_the_same_files(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "a").write_text("of the user, but the name is taken now")
    with (tmp_path / "out" / "log").open("w") as log:
        (tmp_path / "out" / "link").symlink_to("log")
        write(tmp_path / "out", a="1", b="1")
        log.write("written meanwhile")
    write(tmp_path / "out", a="2")
    assert files(tmp_path / "out") == ["a", "link", "log"]
    assert (tmp_path / "out" / "a").read_text() == "2"
    assert (tmp_path / "out" / "link").is_symlink()
    assert (tmp_path / "out" / "link").read_text() == "written meanwhile"
    assert (tmp_path / "out" / "log").stat().st_nlink == 1


def test_results_are_kept_if_the_folder_can_no_longer_be_replaced(tmp_path: Path) -> None:
    write(tmp_path / "out", a="old")

    def make_folder_meanwhile() -> None:
        with staged(tmp_path / "out") as stage:
            (stage / "a").write_text("new")
            (tmp_path / "out" / "mine").mkdir()

    with pytest.raises(UserError, match=r"out: it contains your own folder mine; .*; the results are in ") as error:
        make_folder_meanwhile()
    kept = Path(str(error.value).rsplit(" ", 1)[1])
    assert (kept / "a").read_text() == "new"
    assert (tmp_path / "out" / "a").read_text() == "old"
    assert (tmp_path / "out" / "mine").is_dir()


def test_an_error_leaves_what_was_there(tmp_path: Path) -> None:
    write(tmp_path / "out", a="old")

    def fail(folder: str) -> None:
        with staged(tmp_path / folder) as stage:
            (stage / "a").write_text("half")
            raise ZeroDivisionError

    for folder in ("out", "new/deep"):
        with pytest.raises(ZeroDivisionError):
            fail(folder)
    assert (tmp_path / "out" / "a").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_folder_that_another_process_is_writing_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / ".out.fairlane-dead").mkdir()
    (tmp_path / ".out.fairlane-alive").mkdir()
    lock = os.open(tmp_path / ".out.fairlane-alive", os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    check_replaceable(tmp_path / "out", "--out")
    assert [path.name for path in tmp_path.iterdir()] == [".out.fairlane-alive"]
    os.close(lock)


@pytest.fixture(params=[True, False], ids=["exchange", "file system without exchange"])
def can_exchange(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


KILL_AT_EACH_STEP = """
import json, os, signal, sys
from pathlib import Path
from fairlane.base import folders

out, can_exchange = Path(sys.argv[1]), sys.argv[2] == "True"
if not can_exchange:
    folders._RENAME_EXCHANGE = 1 << 10  # which no file system knows


def write(number):
    with folders.staged(out) as stage:
        for name in ("a", "b", str(number)):
            (stage / name).write_text(str(number))


def killed_at(step):
    seen = 0

    def hook(event, arguments):
        nonlocal seen
        if event != "os.kill" and event.startswith(("open", "os.", "shutil.", "fcntl.")):
            seen += 1
            if seen > step:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


out.mkdir(parents=True)
(out / "mine").write_text("mine")
step = status = -1
while status:
    step += 1
    write(0)
    beside = [path.name for path in out.parent.iterdir() if path != out]
    if (child := os.fork()) == 0:
        killed_at(step)
        write(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert status in (0, signal.SIGKILL), status
    names = [path for path in out.iterdir() if path.name != folders.LIST] if out.exists() else []
    print(json.dumps([beside, {path.name: path.read_text() for path in names}]))
"""
"""Replaces a folder repeatedly. Each time, the process is killed one step later, before a call that touches files."""


def test_a_kill_at_any_step_leaves_the_old_results_or_the_new_ones(tmp_path: Path, can_exchange: bool) -> None:
    done = execute(sys.executable, "-c", KILL_AT_EACH_STEP, tmp_path / "new" / "out", str(can_exchange))
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    old, new = ({**dict.fromkeys(("a", "b", text), text), "mine": "mine"} for text in "01")
    # The steps create and lock a folder, write four files, rename it, and remove four old files and their folder.
    assert len(found) > 12
    for beside, texts in found:
        assert beside == []  # the next writer has removed the leftovers of the previous kill
        assert texts in ([old, new] if can_exchange else [old, new, {}])  # {}: killed between two renames
    assert found[0][1] == old
    assert [texts for _, texts in found[-5:]] == [new] * 5
