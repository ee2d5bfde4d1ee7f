"""BMv2's simple_switch: finds its tools, compiles the program, communicates with a running switch."""

from __future__ import annotations

import hashlib
import json
import os
import re
import select
import shutil
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import IO, Any

from fairlane.base.errors import UserError
from fairlane.lab.namespaces import LabError, Namespaces

GUIDE = "https://github.com/p4lang/tutorials and https://github.com/p4lang/behavioral-model have how to install it"
COMPILE_S = 600
START_S = 30.0
ANSWER_S = 20.0
SAMPLE_S = 0.1
PROMPT = b"RuntimeCmd: "


def check() -> None:
    """Raises a UserError that says what this plane lacks and how to install it."""
    program()
    for tool in (p4c, simple_switch, command_line):
        tool()


def p4c() -> str:
    """Path of the compiler `p4c-bm2-ss`.

    Raises:
        UserError: The file does not exist.
    """
    return _tool("p4c-bm2-ss", "FAIRLANE_P4C")


def simple_switch() -> str:
    """Path of `simple_switch`.

    Raises:
        UserError: The file does not exist.
    """
    return _tool("simple_switch", "FAIRLANE_SIMPLE_SWITCH")


def command_line() -> str:
    """Path of `simple_switch_CLI`: $FAIRLANE_SIMPLE_SWITCH_CLI, else next to the switch, else in $PATH.

    Raises:
        UserError: The file does not exist.
    """
    beside = Path(simple_switch()).with_name("simple_switch_CLI")
    if "FAIRLANE_SIMPLE_SWITCH_CLI" not in os.environ and beside.exists():
        return str(beside)
    return _tool("simple_switch_CLI", "FAIRLANE_SIMPLE_SWITCH_CLI")


def _tool(name: str, variable: str) -> str:
    found = os.environ.get(variable) or shutil.which(name)
    if found is None or not os.access(found, os.X_OK):
        where = f"{found} cannot be run" if found else "not in the path"
        raise UserError(f"--plane p4: {name}: {where}; install it or set {variable} to its path; {GUIDE}")
    return found


def program(scheme: str = "abc") -> Path:
    """Program for a scheme: $FAIRLANE_P4_PROGRAM, or the repository's; drop-tail is `abc.p4` without AQM.

    Raises:
        UserError: The file does not exist.
    """
    own = Path(__file__).parents[3] / "planes" / "p4" / ("csfq.p4" if scheme == "csfq" else "abc.p4")
    path = Path(os.environ.get("FAIRLANE_P4_PROGRAM") or own)
    if not path.is_file():
        raise UserError(f"--plane p4: {path} is not there; run from the repository, or set FAIRLANE_P4_PROGRAM")
    return path


def compiled(scheme: str = "abc") -> Path:
    """The compiled program of a scheme. Compilation takes half a minute, so the user's cache keeps the result.

    Raises:
        LabError: The program does not compile.
    """
    source, compiler = program(scheme), p4c()
    options = os.environ.get("FAIRLANE_P4C_OPTIONS", "").split()
    if include := os.environ.get("FAIRLANE_P4INCLUDE"):
        options += ["-I", include]
    sources = sorted(source.parent.rglob("*.p4"))
    digest = hashlib.sha256(version(compiler).encode())
    for part in [*(path.read_bytes() for path in sources), source.name.encode(), *(o.encode() for o in options)]:
        digest.update(hashlib.sha256(part).digest())
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "fairlane" / "p4"
    target = folder / f"{source.stem}-{digest.hexdigest()[:24]}.json"
    if not target.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as stage:
            out = Path(stage) / "program.json"
            command = [compiler, "--std", "p4-16", *options, "-o", str(out), str(source)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=COMPILE_S, check=False)
            if done.returncode or not out.exists():
                raise LabError(f"{compiler} {source}: {' '.join(done.stderr.split())[-500:] or done.returncode}")
            out.replace(target)
    return target


def fingerprint(compiled: Path) -> str:
    """Hash of a compiled program's behaviour, without names and line numbers of its sources."""

    def without_source(table: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in table.items() if key != "source_info"}

    program = json.loads(compiled.read_text(encoding="utf-8"), object_hook=without_source)
    del program["program"]  # the path of the main source
    return hashlib.sha256(json.dumps(program, sort_keys=True).encode()).hexdigest()[:24]


def version(tool: str) -> str:
    """Version reported by a tool; p4c writes it to stderr, after its own name."""
    done = subprocess.run([tool, "--version"], capture_output=True, text=True, timeout=30, check=False)
    return " ".join((done.stdout or done.stderr).split()).removeprefix(tool).strip()


class Switch:
    """A running simple_switch and its command line."""

    def __init__(self, namespaces: Namespaces, at: str, program: Path, interfaces: list[str]) -> None:
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 closed with the object
        words = [word for number, name in enumerate(interfaces) for word in ("-i", f"{number}@{name}")]
        modules = os.environ.get("FAIRLANE_P4_MODULES")
        target = ["--", "--load-modules", modules] if modules else []
        command = [simple_switch(), *words, str(program), *target]
        self._process = namespaces.start(at, command, self._errors, self._errors)
        self._lock = threading.Lock()
        self._cli = self._connect(namespaces, at)

    def _connect(self, namespaces: Namespaces, at: str) -> subprocess.Popen[bytes]:
        until = time.monotonic() + START_S
        while True:
            cli = namespaces.converse(at, [command_line()])
            try:
                self._answer(cli)
            except LabError as error:
                if self._process.poll() is not None or time.monotonic() > until:
                    self._errors.seek(0)
                    last = _words(self._errors.read())[-500:]
                    raise LabError(f"{simple_switch()}: {last or error}") from error
                time.sleep(0.2)
            else:
                return cli

    def ask(self, command: str) -> str:
        """Sends a command and returns the answer.

        Raises:
            LabError: The switch rejects the command, or has ended.
        """
        with self._lock:
            if self._cli.stdin is None:
                raise LabError("simple_switch_CLI: no input")
            try:
                self._cli.stdin.write(f"{command}\n".encode())
                self._cli.stdin.flush()
            except (BrokenPipeError, ValueError) as error:
                raise LabError(f"simple_switch_CLI: {command}: it has ended") from error
            answer = self._answer(self._cli)
        if re.search(r"Error|Invalid|Unknown|Bad ", answer):
            raise LabError(f"simple_switch: {command}: {' '.join(answer.split())}")
        return answer

    def waited(self) -> tuple[int, int]:
        """Time in ns that all threads have waited for a processor, and how often a thread got a processor."""
        tasks = Path(f"/proc/{self._process.pid}/task").glob("*/schedstat")
        words = [task.read_text().split() for task in tasks]
        return sum(int(word[1]) for word in words), sum(int(word[2]) for word in words)

    def counter(self, name: str, index: int) -> int:
        """Number of packets in a counter."""
        return self._number(r"(\d+) packets|packets=(\d+)", "counter_read", name, index)

    def queue(self, port: int) -> float:
        """Queue length of a port in packets: accepted packets minus the mean of two readings of departed packets."""
        names = ("queue_departed", "queue_accepted", "queue_departed")
        before, accepted, after = (self.register(name, 2 * port) for name in names)
        return ((accepted - before) % 2**32 + max(0, accepted - after)) / 2

    def register(self, name: str, index: int) -> int:
        """Value of a register."""
        return self._number(r"=\s*(\d+)", "register_read", name, index)

    def _number(self, pattern: str, command: str, name: str, index: int) -> int:
        found = re.search(pattern, self.ask(f"{command} {name} {index}"))
        if found is None:
            raise LabError(f"simple_switch_CLI: {name}: no number in its answer")
        return int(found[found.lastindex or 1])

    @staticmethod
    def _answer(cli: subprocess.Popen[bytes]) -> str:
        """Output before the next prompt."""
        if cli.stdout is None:
            raise LabError("simple_switch_CLI: no output")
        text, until = b"", time.monotonic() + ANSWER_S
        while not text.endswith(PROMPT):
            if not select.select([cli.stdout], [], [], max(0.0, until - time.monotonic()))[0]:
                raise LabError(f"simple_switch_CLI: no answer within {ANSWER_S:g} s")
            part = os.read(cli.stdout.fileno(), 65536)
            if not part:
                raise LabError(f"simple_switch_CLI: {_words(text)[-300:] or 'it has ended'}")
            text += part
        return text.removesuffix(PROMPT).decode(errors="replace")


def _words(text: bytes) -> str:
    return " ".join(text.decode(errors="replace").split())


class Sampler(threading.Thread):
    """Reads the program's queue length repeatedly."""

    def __init__(self, switch: Switch, port: int) -> None:
        super().__init__(daemon=True)
        self._switch, self._port = switch, port
        self._over = threading.Event()
        self._samples: list[float] = []

    def run(self) -> None:
        """See `threading.Thread`."""
        while not self._over.wait(SAMPLE_S):
            try:
                self._samples.append(self._switch.queue(self._port))
            except LabError:
                return

    def stop(self) -> list[float]:
        """Stops reading; returns the queue lengths."""
        self._over.set()
        self.join()
        return self._samples
