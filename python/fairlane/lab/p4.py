"""The plane `p4`: the queue in a switch, BMv2's simple_switch with `p4/abc.p4`.

    clients ---- [ links: forwarder, wires ] ---- [ node: simple_switch ] ---- [ links ] ---- server

BMv2 serves packets, not bytes: its queue is limited to so many packets a second as the link's rate has full packets.
p4abc 5.1 takes 4170 for 50 Mbit/s, 0.1 % more than 1500 bytes would give, and so do we.
"""

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

import tomli_w

from fairlane.errors import UserError
from fairlane.lab import hosts, node
from fairlane.lab.namespaces import LabError, Namespaces, RejectedError, run
from fairlane.lab.planes import PLANES, WIDE_QUEUE, Plane, emulation
from fairlane.lab.setup import SERVER_MAC

GUIDE = "https://github.com/p4lang/tutorials and https://github.com/p4lang/behavioral-model have how to install it"
PACKETS_PER_S_AT_50_MBPS = 4170
"""p4abc 5.1."""
COMPILE_S = 600
START_S = 30.0
ANSWER_S = 20.0
SAMPLE_S = 0.1
MOST_WAIT_MEAN_S = 40e-6
"""A switch that waits longer for a processor is late: its queue is not the one of the scenario."""
SERVER_PORT = "server"
MOST_LOST_SHARE = 1e-4
"""A switch that reads so much less than what arrives has no processor: its losses would be no decision of the queue."""
MOST_SKEW = 200
"""Packets that may pass between the readings of two counters."""
PROMPT = b"RuntimeCmd: "


def check() -> None:
    """Raises a UserError that says what is missing for this plane, and how to get it."""
    program()
    for tool in (p4c, simple_switch, command_line):
        tool()


def p4c() -> str:
    """The compiler `p4c-bm2-ss`.

    Raises:
        UserError: It is not there.
    """
    return _tool("p4c-bm2-ss", "FAIRLANE_P4C")


def simple_switch() -> str:
    """The switch.

    Raises:
        UserError: It is not there.
    """
    return _tool("simple_switch", "FAIRLANE_SIMPLE_SWITCH")


def command_line() -> str:
    """BMv2's `simple_switch_CLI`: beside the switch or in the path.

    Raises:
        UserError: It is not there.
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


def program() -> Path:
    """The program: $FAIRLANE_P4_PROGRAM, or `p4/abc.p4` of this repository.

    Raises:
        UserError: It is not there.
    """
    path = Path(os.environ.get("FAIRLANE_P4_PROGRAM") or Path(__file__).parents[3] / "p4" / "abc.p4")
    if not path.is_file():
        raise UserError(f"--plane p4: {path} is not there; run from the repository, or set FAIRLANE_P4_PROGRAM")
    return path


def compiled() -> Path:
    """The program for simple_switch. Compiling takes half a minute: what was compiled once is kept in the user's cache.

    Raises:
        LabError: It does not compile.
    """
    source, compiler = program(), p4c()
    options = os.environ.get("FAIRLANE_P4C_OPTIONS", "").split()
    if include := os.environ.get("FAIRLANE_P4INCLUDE"):
        options += ["-I", include]
    sources = sorted(source.parent.rglob("*.p4"))
    digest = hashlib.sha256(_version(compiler).encode())
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


def _version(tool: str) -> str:
    done = subprocess.run([tool, "--version"], capture_output=True, text=True, timeout=30, check=False)
    return " ".join(done.stdout.split())


class P4Plane(Plane):
    """The queue in simple_switch."""

    def _build(self) -> None:
        setup, namespaces = self._setup, self._namespaces
        scheme = setup.table["queue"]["scheme"]
        if scheme not in ("droptail", "abc"):
            raise UserError(f'queue.scheme: "{scheme}", the plane p4 has droptail and abc')
        json_program = compiled()
        self._node, links = namespaces.add("node"), namespaces.add("links")
        access, bottleneck = self._access(), self._bottleneck()
        back = {**access, "limit": WIDE_QUEUE["limit"]}
        ports = []
        for client, name in zip(setup.clients, self.clients, strict=True):
            outer, inner = f"outer{client.number}", f"inner{client.number}"
            hosts.cable(namespaces, (name, "eth0"), (links, outer))
            hosts.cable(namespaces, (links, inner), (self._node, f"client{client.number}"))
            ports.append({"interface": outer, "peer": inner, "ingress": access})
            ports.append({"interface": inner, "peer": outer, "ingress": back})
        hosts.cable(namespaces, (self._node, SERVER_PORT), (links, "near"))
        hosts.cable(namespaces, (links, "far"), (self.server, "eth0"))
        # The rate of the bottleneck is the switch's, its delay is ours.
        ports.append({"interface": "near", "peer": "far", "ingress": {"delay": bottleneck["delay"]}})
        ports.append({"interface": "far", "peer": "near", "ingress": {**bottleneck, "limit": WIDE_QUEUE["limit"]}})
        self._interfaces = [*(f"client{client.number}" for client in setup.clients), SERVER_PORT]
        self._server_port = len(self._interfaces) - 1
        self._switch = _Switch(namespaces, self._node, json_program, self._interfaces)
        self._configure()
        self._report = self._forwarder(links, {"ports": ports})

    def _configure(self) -> None:
        """Tables by the same command that users have; then the rate of the paper instead of that of full packets."""
        setup = self._setup
        queue, marker = setup.table["queue"], setup.table.get("marker") or {}
        server: dict[str, Any] = {"interface": SERVER_PORT, "rate": setup.table["topology"]["bottleneck_rate"]}
        server["limit"] = queue["limit"]
        self._is_managed = queue["scheme"] == "abc"
        if self._is_managed:
            names = ("q_min", "q_base", "gamma", "averager_memory")
            server |= {"egress": "abc", **{name: queue[name] for name in names}}
        clients = [{"interface": f"client{client.number}", "ingress": "meter"} for client in setup.clients]
        factors = {name: marker[name] for name in ("memory", "accounting_be", "accounting_ef") if name in marker}
        config = {
            "meter": factors,
            "users": [
                {"prefix": client.address, "reference_rate": f"{client.reference_bps} bit/s"}
                for client in setup.clients
            ],
            "ports": [*clients, server],
        }
        path = Path(self._folder.name) / "switch.toml"
        path.write_text(tomli_w.dumps(config), encoding="utf-8")
        stations = [f"{client.mac}=client{client.number}" for client in setup.clients]
        stations.append(f"{SERVER_MAC}={SERVER_PORT}")
        options = [word for station in stations for word in ("--station", station)]
        commands = run([node.program(), "p4-commands", str(path), *options])
        for line in commands.splitlines():
            if not line.startswith("#"):
                self._switch.ask(line)
        self._packets_per_s = round(setup.bottleneck_bps / 50e6 * PACKETS_PER_S_AT_50_MBPS)
        self._switch.ask(f"set_queue_rate {self._packets_per_s} {self._server_port}")

    def begin(self) -> None:
        """See `Plane`."""
        self._report.ask()
        self._report.answer()
        self._before, self._waited = self._counters(), self._switch.waited()
        self._since = time.monotonic()
        self._sampler = _Sampler(self._switch, self._server_port)
        self._sampler.start()

    def end(self) -> dict[str, Any]:
        """See `Plane`."""
        samples = self._sampler.stop()
        after = self._counters()
        lasted_s = time.monotonic() - self._since
        self._report.ask()
        report = self._report.answer()
        counted = {name: after[name] - self._before[name] for name in after}
        unread = counted["arrived"] - counted["read"]
        if unread > MOST_LOST_SHARE * counted["arrived"] + MOST_SKEW:
            raise RejectedError(f"simple_switch did not read {unread} of {counted['arrived']} packets")
        waited = self._switch.waited()
        wait_s = self._wait_s(waited)
        if wait_s > MOST_WAIT_MEAN_S:
            most = f"at most {1e3 * MOST_WAIT_MEAN_S:g} ms is allowed"
            raise RejectedError(f"simple_switch waited {1e3 * wait_s:.3f} ms for a processor each time, {most}")
        sent_bps = 8 * (counted["sent_bytes"] - hosts_bytes(counted["sent"])) / lasted_s
        overlimit = counted["overlimit"]
        if not self._is_managed:
            # BMv2 does not count what it loses at a full queue: what it read and did not send.
            overlimit = max(0, counted["read"] - counted["sent"])
        drops = [
            {
                "reason": reason,
                "packets": packets,
                "share_of_arrivals": packets / counted["read"] if counted["read"] else 0.0,
            }
            for reason, packets in (("aqm", counted["aqm"]), ("overlimit", overlimit))
        ]
        link = {
            "name": "bottleneck",
            "rate_bps": float(self._setup.bottleneck_bps),
            "utilisation": sent_bps / self._setup.bottleneck_bps,
            "throughput_bps": sent_bps,
            "queue": {
                "mean_packets": sum(samples) / len(samples) if samples else 0.0,
                "max_packets": max(samples, default=0),
                "samples": len(samples),
            },
            "drops": drops,
            "readings": {"packets_per_s": counted["sent"] / lasted_s},
            "user_dropped_packets": [counted[f"dropped{i}"] for i in range(len(self._setup.clients))],
        }
        switch = {
            "packets_per_s": self._packets_per_s,
            "bmv2": _version(simple_switch()),
            "p4c": _version(p4c()),
            "program": compiled().stem,
            "unread_packets": unread,
            "wait_mean_s": wait_s,
            "wait_share": (waited[0] - self._waited[0]) / 1e9 / lasted_s,
        }
        return {"link": link, "emulation": {**emulation(report), "switch": switch}}

    def _wait_s(self, waited: tuple[int, int]) -> float:
        """For how long the switch waited for a processor each time it wanted one, within the window."""
        (wait_ns, times), (wait_before_ns, times_before) = waited, self._waited
        return (wait_ns - wait_before_ns) / 1e9 / max(1, times - times_before)

    def _counters(self) -> dict[str, int]:
        users = range(1, len(self._setup.clients) + 1)
        read = sum(self._switch.counter("metered_of_user", user) for user in [0, *users])
        links = json.loads(self._namespaces.run(self._node, ["ip", "-s", "-j", "link", "show"]))
        stats = {link["ifname"]: link["stats64"] for link in links}
        counters = {
            "arrived": sum(stats[name]["rx"]["packets"] for name in self._interfaces[:-1]),
            "read": read,
            "sent": stats[SERVER_PORT]["tx"]["packets"],
            "sent_bytes": stats[SERVER_PORT]["tx"]["bytes"],
            "aqm": self._switch.counter("dropped_by_aqm", self._server_port),
            "overlimit": self._switch.counter("dropped_by_limit", self._server_port),
        }
        return counters | {f"dropped{user - 1}": self._switch.counter("dropped_of_user", user) for user in users}


def hosts_bytes(frames: int) -> int:
    """Bytes of Ethernet headers, which are none of the link's."""
    return 14 * frames


class _Switch:
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
                    raise LabError(f"{simple_switch()}: {self._last_words() or error}") from error
                time.sleep(0.2)
            else:
                return cli

    def _last_words(self) -> str:
        self._errors.seek(0)
        return _words(self._errors.read())[-500:]

    def ask(self, command: str) -> str:
        """Gives a command and returns what is answered.

        Raises:
            LabError: The switch refuses it, or is gone.
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
        """Time in ns that all threads have waited for a processor, and how often they got one."""
        tasks = Path(f"/proc/{self._process.pid}/task").glob("*/schedstat")
        words = [task.read_text().split() for task in tasks]
        return sum(int(word[1]) for word in words), sum(int(word[2]) for word in words)

    def counter(self, name: str, index: int) -> int:
        """Packets of a counter."""
        found = re.search(r"(\d+) packets|packets=(\d+)", self.ask(f"counter_read {name} {index}"))
        if found is None:
            raise LabError(f"simple_switch_CLI: {name}: no number in its answer")
        return int(found[1] or found[2])

    def queue(self, port: int) -> float:
        """The queue of a port as the program counts it; the mean of before and after, as two readings take time."""
        names = ("queue_departed", "queue_accepted", "queue_departed")
        before, accepted, after = (self.register(name, 2 * port) for name in names)
        return ((accepted - before) % 2**32 + max(0, accepted - after)) / 2

    def register(self, name: str, index: int) -> int:
        """Value of a register."""
        found = re.search(r"=\s*(\d+)", self.ask(f"register_read {name} {index}"))
        if found is None:
            raise LabError(f"simple_switch_CLI: {name}: no number in its answer")
        return int(found[1])

    @staticmethod
    def _answer(cli: subprocess.Popen[bytes]) -> str:
        """What comes before the next prompt."""
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


class _Sampler(threading.Thread):
    """Reads the queue that the program sees, again and again."""

    def __init__(self, switch: _Switch, port: int) -> None:
        super().__init__(daemon=True)
        self._switch, self._port = switch, port
        self._over = threading.Event()
        self._samples: list[float] = []

    def run(self) -> None:
        while not self._over.wait(SAMPLE_S):
            try:
                self._samples.append(self._switch.queue(self._port))
            except LabError:
                return

    def stop(self) -> list[float]:
        self._over.set()
        self.join()
        return self._samples


PLANES["p4"] = P4Plane
