"""ns-3: builds `dumbbell`, translates a scenario into its arguments, runs a replication."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

from scenarios import Table

from fairlane._fairlane import canonical

HERE = Path(__file__).parent
NOT_INSTALLED = 3

_TIME = {"ps": 1e-12, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
_RATE = {"bit/s": 1.0, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9, "Tbit/s": 1e12}
_BYTES = {"B": 1.0, "KiB": 1024.0, "MiB": 1024.0**2, "GiB": 1024.0**3, "kB": 1e3, "MB": 1e6, "GB": 1e9}
_PACKETS = {"packets": 1.0, "packet": 1.0}

# Keys of Fairlane's tcp table that ns-3 is told; any other must be at its default, which is what ns-3 does.
_TCP_KEYS = {
    "profile", "segment_payload", "initial_window", "socket_buffer", "delayed_ack", "delayed_ack_timeout", "min_rto",
    "syn_timeout", "limited_transmit", "sack", "congestion_control", "recovery", "flight_size", "byte_counting",
    "cubic_c", "cubic_beta", "fast_convergence",
}  # fmt: skip
_CONGESTION_CONTROL = {"reno": "NewReno", "cubic": "Cubic"}
_RECOVERY = {"newreno": "Classic", "prr": "Prr"}


class NotInstalledError(Exception):
    """ns-3 or the compiler is not here; the message says what to install."""


class UntranslatableError(Exception):
    """A scenario that `dumbbell` cannot run; the message names the key."""


def build() -> Path:
    """Builds the program if need be."""
    done = subprocess.run([str(HERE / "build.sh")], capture_output=True, text=True, check=False)
    if done.returncode == NOT_INSTALLED:
        raise NotInstalledError(done.stderr.strip())
    if done.returncode != 0:
        raise RuntimeError(f"benches/ns3/build.sh failed:\n{done.stderr}")
    return Path(done.stdout.strip()) / "dumbbell"


def version() -> str:
    """Version of the installed ns-3."""
    return subprocess.run(
        ["pkg-config", "--modversion", "ns3-core"], stdout=subprocess.PIPE, text=True, check=True
    ).stdout.strip()


def run(program: Path, scenario: Table, options: Table, replication: int) -> Table:
    """One replication; what `dumbbell` prints. `options` of its own go last, and win."""
    extra = [f"--{key}={value}" for key, value in options.items()]
    command = [str(program), *arguments(scenario), f"--run={replication + 1}", *extra]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr}")
    result: Table = json.loads(done.stdout)
    return result


def arguments(scenario: Table) -> list[str]:
    """The arguments that make `dumbbell` simulate a scenario, given in canonical form."""
    topology, queue, run = scenario["topology"], scenario["queue"], scenario["run"]
    if topology["kind"] != "one_sided_dumbbell" or topology["bottleneck_schedule"]:
        raise UntranslatableError("topology: only the one-sided dumbbell with a constant rate")
    if queue["scheme"] not in {"droptail", "abc"}:
        raise UntranslatableError(f"queue.scheme: {queue['scheme']} is not in dumbbell.cc")
    if queue["scheduler"] != "fifo":
        raise UntranslatableError(f"queue.scheduler: {queue['scheduler']} is not in dumbbell.cc")
    values: Table = {
        "policy": queue["scheme"],
        "limit": f"{_quantity(queue['limit'], _PACKETS):.0f}p",
        "accessRate": f"{_quantity(topology['access_rate'], _RATE):.0f}bps",
        "accessDelay": f"{_quantity(topology['access_delay'], _TIME) * 1e9:.0f}ns",
        "accessLimit": f"{_quantity(topology['access_limit'], _PACKETS):.0f}p",
        "rate": f"{_quantity(topology['bottleneck_rate'], _RATE):.0f}bps",
        "delay": f"{_quantity(topology['bottleneck_delay'], _TIME) * 1e9:.0f}ns",
        "warmup": _quantity(run["warmup"], _TIME),
        "measure": _quantity(run["measure"], _TIME),
        "seed": run["seed"],
    }
    if queue["scheme"] == "abc":
        values |= {
            "qMin": _quantity(queue["q_min"], _PACKETS),
            "qBase": _quantity(queue["q_base"], _PACKETS),
            "gamma": _quantity(queue["gamma"], _PACKETS),
            "averagerMemory": _quantity(queue["averager_memory"], _TIME),
            "meterMemory": _quantity(scenario["marker"]["memory"], _TIME),
        }
    values["groups"] = ";".join(_group(group) for group in scenario["groups"])
    return [f"--{key}={value}" for key, value in (values | _tcp(scenario)).items()]


def _tcp(scenario: Table) -> Table:
    sources = [source for group in scenario["groups"] for source in group["sources"] if source["kind"] == "tcp"]
    settings = [{key: value for key, value in source.items() if key not in {"kind", "flows"}} for source in sources]
    tcp: Table = settings[0] if settings else scenario["tcp"]
    if any(other != tcp for other in settings):
        raise UntranslatableError("tcp: all sources must have the same settings")
    for key, default in _tcp_defaults(tcp["profile"]).items():
        if key not in _TCP_KEYS and tcp[key] != default:
            raise UntranslatableError(f"tcp.{key}: dumbbell.cc knows the default only, {default}")
    return {
        "tcp": _CONGESTION_CONTROL[tcp["congestion_control"]],
        "sack": int(tcp["sack"]),
        "recovery": _RECOVERY[tcp["recovery"]],
        "hystart": int(bool(tcp.get("hystart", False))),
        "limitedTransmit": int(tcp["limited_transmit"]),
        "mss": tcp["segment_payload"],
        "initialWindow": tcp["initial_window"],
        "delayedAck": tcp["delayed_ack"],
        "delayedAckTimeout": f"{_quantity(tcp['delayed_ack_timeout'], _TIME) * 1e9:.0f}ns",
        "minRto": f"{_quantity(tcp['min_rto'], _TIME) * 1e9:.0f}ns",
        "synTimeout": f"{_quantity(tcp['syn_timeout'], _TIME) * 1e9:.0f}ns",
        "socketBuffer": f"{_quantity(tcp['socket_buffer'], _BYTES):.0f}",
    }


def _tcp_defaults(profile: str) -> Table:
    least = {"queue": {"scheme": "droptail"}, "tcp": {"profile": profile}}
    scenario: Table = json.loads(canonical(json.dumps(least | {"groups": [{"sources": [{"kind": "tcp"}]}]})))
    defaults: Table = scenario["tcp"]
    return defaults


def _group(group: Table) -> str:
    if group["traffic_class"] != "BE" or group["ingresses"] != 1:
        raise UntranslatableError(f"groups: {group['name']} must be BE with one ingress")
    values: Table = {
        "users": group["users"],
        "reference": _quantity(group["reference_rate"], _RATE),
        "from": _quantity(group["start_from"], _TIME),
        "until": _quantity(group["start_until"], _TIME),
    }
    for source in group["sources"]:
        if source["kind"] == "tcp" and source.get("transfer") is None:
            values["flows"] = values.get("flows", 0) + source["flows"]
        elif source["kind"] == "poisson" and _quantity(source["packet_size"], _BYTES) == 1500:
            values["poisson"] = values.get("poisson", 0.0) + _quantity(source["rate"], _RATE)
        else:
            raise UntranslatableError(f"groups: {group['name']} has a source that is not in dumbbell.cc")
    return ",".join(f"{key}={value}" for key, value in values.items())


def _quantity(value: Any, units: dict[str, float]) -> float:
    """`"10 Mbit/s"` in base units."""
    number, _, unit = str(value).partition(" ")
    if unit not in units:
        raise UntranslatableError(f"{value}: must be in one of {', '.join(units)}")
    return float(number) * units[unit]
