"""Common parts of the tests: the command as a user calls it, and a scenario that takes milliseconds."""

import gc
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import hypothesis
import pytest

import blank
import fairlane
import forked
from fairlane import Scenario
from fairlane.base.folders import LIST
from fairlane.judge.grid import Row
from fairlane.judge.library import papers, select
from fairlane.linux import runs
from linux_fake import FAKE, Fake

# Commands started by tests must handle Ctrl-C even if the tests' parent ignores it.
signal.signal(signal.SIGINT, signal.default_int_handler)
# An example may take any time on a busy machine.
hypothesis.settings.register_profile("fairlane", deadline=None)
hypothesis.settings.load_profile("fairlane")

FAIRLANE = Path(sys.executable).with_name("fairlane")
ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"

LONGEST = [
    "test_ns3_module.py",
    "test_site_built.py",
    "test_report_browser.py",
    "test_signals.py",
    "test_sweep_kill.py",
    "test_sweep_ray.py",
    "test_playground_page.py",
]
"""Slowest files, which run first, so that they do not keep one core busy at the end while others are idle."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Moves the slowest files to the front."""
    place = {name: number for number, name in enumerate(LONGEST)}
    items.sort(key=lambda item: place.get(item.path.name, len(LONGEST)))


def pytest_collection_finish() -> None:
    """Exempts the collected tests from garbage collection, which took a third of the time of small tests."""
    gc.collect()
    gc.freeze()


def daily(cases: Iterable[Any], *chosen: Any) -> list[Any]:
    """All cases of a test; those that are not chosen are for `make test-long`."""
    return [case if case in chosen else pytest.param(case, marks=pytest.mark.long) for case in cases]


SHORT = """
name = "short"

[run]
warmup = "1 s"
measure = "1 s"
replications = 3

[queue]
scheme = "abc"

[[groups]]
name = "heavy"
start_until = "0.5 s"

[[groups.sources]]
kind = "tcp"
flows = 5

[[groups]]
name = "light"
users = 2
start_until = "0.5 s"

[[groups.sources]]
kind = "poisson"
rate = "4 Mbit/s"
"""

THREE_GROUPS = (
    SHORT.replace('"short"', '"Three groups"')
    + """
[[groups]]
name = "third"
start_until = "0.5 s"

[[groups.sources]]
kind = "cbr"
rate = "1 Mbit/s"
"""
)

SHORT_SCENARIO = Scenario.from_dict(tomllib.loads(SHORT))

Done = subprocess.CompletedProcess[str]
Process = subprocess.Popen[str]
Word = str | Path


def execute(*command: Word, timeout_s: float = 300, **options: Any) -> Done:
    """Runs any command and captures its output as text."""
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.run(command, timeout=timeout_s, check=False, **(streams | options))


class Cli:
    """`fairlane` in a working directory."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, *arguments: Word, before: Sequence[Word] = (), timeout_s: float = 300, **options: Any) -> Done:
        """Runs a command to its end, prefixed by the words of `before`."""
        if not before and not options:
            return forked.run(arguments, self.folder, timeout_s)
        options["timeout_s"] = timeout_s
        return execute(*before, FAIRLANE, *arguments, cwd=self.folder, **options)

    def output(self, *arguments: Word, **options: Any) -> str:
        """Standard output of a command that must succeed."""
        done = self(*arguments, **options)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def document(self, *arguments: Word, **options: Any) -> Any:
        """Parsed output of a command with `--json`."""
        return json.loads(self.output(*arguments, "--json", **options))

    def error(self, *arguments: Word, **options: Any) -> str:
        """The error line of a command that must fail with only this line as output."""
        done = self(*arguments, **options)
        assert (done.returncode, done.stdout) == (2, ""), done.stderr
        (line,) = done.stderr.splitlines()
        assert line.startswith("error: ")
        return line.removeprefix("error: ")

    def refuses(self, arguments: Sequence[Word], mentions: Iterable[str], **options: Any) -> None:
        """Checks that the error line has all texts of `mentions` and no very long value, and that no file changed."""
        before = files(self.folder)
        line = self.error(*arguments, **options)
        assert len(line) < 1500
        assert all(mention in line for mention in mentions), line
        assert files(self.folder) == before

    def start(self, *arguments: Word, before: Sequence[Word] = (), **options: Any) -> Process:
        """Starts a command; captures stderr by default."""
        streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen([*before, FAIRLANE, *arguments], cwd=self.folder, **(streams | options))


def single_flow_goodput(cli: Cli, plane: str, *options: Word) -> float:
    """Goodput in Mbit/s of the experiment p4abc.single on real packets; skips if the machine is too busy."""
    short = ["--set", "run.warmup=1 s", "--set", "run.measure=2 s", "--replications", "1"]
    done = cli("lab", "run", "p4abc.single", "--plane", plane, *short, *options, "--json")
    if "rejected" in done.stderr:
        pytest.skip(f"the machine is too busy: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    points = json.loads(done.stdout)[plane]["experiments"][0]["points"]
    return float(next(point["mean"] for point in points if point["metric"] == "G0"))


def ended(process: Process, number: signal.Signals = signal.SIGINT) -> str:
    """Sends a signal, checks that the command ends with the signal's code, and returns the command's last line."""
    process.send_signal(number)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 128 + number, stderr
    return str(stderr.splitlines()[-1])


SETTINGS = {"run.warmup": "13 s", "run.measure": "2 s"}
"""Settings for short runs of abc2018."""
SHORTEST = {"run.warmup": "14.9 s", "run.measure": "0.1 s"}
"""Settings for runs of abc2018 whose numbers do not matter."""


def as_options(settings: Mapping[str, str], replications: int) -> list[str]:
    """Settings as options of the command."""
    given = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    return [*given, "--replications", str(replications)]


TINY = as_options(SHORTEST, 1)
QUICK = as_options(SETTINGS, 2)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """A browser without a window."""
    api = pytest.importorskip("playwright.sync_api", reason="no playwright: pip install -r requirements/optional.txt")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no chromium: apt install chromium")
    with api.sync_playwright() as playwright:
        # The sandbox needs privileges that a container lacks, and we trust our own pages.
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def screenshots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the screenshots."""
    folder = Path(os.environ.get("FAIRLANE_SCREENSHOTS") or tmp_path_factory.mktemp("screenshots"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def reproduced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with two short runs of each point of abc2018.fig4a and abc2018.default."""
    store = tmp_path_factory.mktemp("reproduced") / "store"
    fairlane.reproduce("abc2018.fig4a", "abc2018.default", settings=SETTINGS, replications=2, store=store)
    return store


@pytest.fixture
def undrawn() -> Iterator[None]:
    """Makes blank files instead of figures, in commands too."""
    with blank.undrawn():
        yield


@pytest.fixture
def workdir(tmp_path: Path) -> Path:
    """An empty working directory with short.toml."""
    (tmp_path / "short.toml").write_text(SHORT)
    return tmp_path


@pytest.fixture
def cli(workdir: Path) -> Cli:
    """`fairlane` in the working directory."""
    return Cli(workdir)


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fake:
    """A script instead of a kernel for the plane `linux`. It writes a small result."""
    made = Fake(tmp_path / "linux", tmp_path / "init")
    made.linux.write_text(FAKE)
    made.linux.chmod(0o755)
    made.init.touch()
    monkeypatch.setattr(runs, "find", lambda _: made)
    return made.does("result")


def files(folder: Path) -> Sequence[str]:
    """All files below a folder, except the list of files in a folder of results."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file() and path.name != LIST)


def scenario_of(experiment: str, **at: Any) -> dict[str, Any]:
    """The canonical scenario of a paper's experiment at a point."""
    ((paper, (found,)),) = select([experiment])
    table: dict[str, Any] = json.loads(paper.scenario({**found.parameters, **at}).canonical())
    return table


def statistic(claim: str, rows: Mapping[str, Sequence[Row]]) -> list[Row]:
    """Rows that the statistic of a claim computes from rows of experiments."""
    paper = papers()[claim.partition(".")[0]]
    found = paper.statistics[claim].table({name: paper.table(paper.experiments[name], rows[name]) for name in rows})
    assert found
    return list(found.rows)


def contents(store: Path) -> dict[str, bytes]:
    """The files of a store whose bytes are the same on every machine."""
    return {name: (store / "runs" / name).read_bytes() for name in files(store / "runs")}


def wait_until(done: Callable[[], object]) -> None:
    """Waits until `done` is true, however busy the machine is."""
    deadline = time.monotonic() + 120
    while not done():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def cpu_seconds(stat: Path) -> float:
    """CPU time of a process or thread, from its `stat` file in /proc."""
    user, system = stat.read_text().rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def wait_for_cpu_time(pid: int, seconds: float) -> None:
    """Waits until a process has used `seconds` of CPU time."""
    wait_until(lambda: cpu_seconds(Path(f"/proc/{pid}/stat")) >= seconds)


def wait_for_simulated_work(pid: int, seconds: float) -> None:
    """Waits until the simulating threads of a process have used `seconds` of CPU time."""

    def simulated() -> float:
        stats = Path(f"/proc/{pid}/task").glob("*/stat")
        return sum(cpu_seconds(stat) for stat in stats if "(fairlane-runs)" in stat.read_text())

    wait_until(lambda: simulated() >= seconds)


def wait_for_a_kept_run(store: Path) -> None:
    """Waits until a journal of the store contains a run."""
    wait_until(lambda: any(journal.stat().st_size for journal in store.glob("journal/*.jsonl")))
