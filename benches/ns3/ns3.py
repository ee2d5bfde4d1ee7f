"""Runs ns-3: builds `dumbbell`, translates a scenario into arguments, and runs a replication."""

from __future__ import annotations

import json
import subprocess
from functools import cache
from pathlib import Path

from fairlane._fairlane import canonical
from fairlane._fairlane import version as fairlane_version

from ..harness import Skipped, processor
from .controls import CONTROLS, WITHOUT_TIMESTAMPS
from .discs import DISCS
from .scenarios import Table
from .units import BYTES, PACKETS, RATE, TIME, UntranslatableError, quantity

HERE = Path(__file__).parent
NOT_INSTALLED = 3
STRICT_S = 1e9
"""An offset larger than any waiting time."""

# Keys of Fairlane's tcp table that are passed to ns-3 for all groups together, and keys that are passed per group.
_OF_ALL = (
    "sack", "recovery", "limited_transmit", "segment_payload", "header_bytes", "initial_window", "delayed_ack_timeout",
    "min_rto", "syn_timeout", "socket_buffer", "ecn",
)  # fmt: skip
_OF_GROUP = ("congestion_control", "delayed_ack")
# Keys that make our sender behave like ns-3's. All other keys must be as in controls.py, or have their defaults.
_IMITATING = {
    "profile", "flight_size", "byte_counting", "cubic_c", "cubic_beta", "fast_convergence", "tcp_friendliness",
    "loss_detection", "impatient_timer", "recovery_sends_at_once", "sack_duplicates", "rtt_of_first",
    "pacing_catches_up", "syn_bytes",
}  # fmt: skip
_RECOVERY = {"newreno": "Classic", "prr": "Prr"}


def build() -> Path:
    """Builds the program if necessary."""
    done = subprocess.run([str(HERE / "build.sh")], capture_output=True, text=True, check=False)
    if done.returncode == NOT_INSTALLED:
        raise Skipped(done.stderr.strip())
    if done.returncode != 0:
        raise RuntimeError(f"benches/ns3/build.sh failed:\n{done.stderr}")
    return Path(done.stdout.strip()) / "dumbbell"


def version() -> str:
    """Version of the installed ns-3."""
    return subprocess.run(
        ["pkg-config", "--modversion", "ns3-core"], stdout=subprocess.PIPE, text=True, check=True
    ).stdout.strip()


def conditions() -> str:
    """Versions of both simulators, and model of the processor."""
    return f"Fairlane {fairlane_version()}, ns-3 {version()}, {processor()}"


def run(program: Path, scenario: Table, options: Table, replication: int) -> Table:
    """Runs one replication; returns the output of `dumbbell`. `options` take precedence over the scenario."""
    extra = [f"--{key}={value}" for key, value in options.items()]
    command = [str(program), *arguments(scenario), f"--run={replication + 1}", *extra]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stderr}")
    result: Table = json.loads(done.stdout)
    return result


def arguments(scenario: Table) -> list[str]:
    """Returns the arguments with which `dumbbell` simulates a scenario in canonical form."""
    topology, queue, run = scenario["topology"], scenario["queue"], scenario["run"]
    if topology["kind"] != "one_sided_dumbbell" or topology["bottleneck_schedule"]:
        raise UntranslatableError("topology: only the one-sided dumbbell with a constant rate")
    if queue["scheme"] not in {"droptail", "abc", *DISCS}:
        raise UntranslatableError(f"queue.scheme: {queue['scheme']} is not in dumbbell.cc")
    if queue["scheme"] in DISCS and queue["scheduler"] != "fifo":
        raise UntranslatableError(f"queue.scheduler: {queue['scheduler']} is not for queue discs in dumbbell.cc")
    values: Table = {
        "policy": "disc" if queue["scheme"] in DISCS else queue["scheme"],
        "limit": f"{quantity(queue['limit'], PACKETS):.0f}p",
        "accessRate": f"{quantity(topology['access_rate'], RATE):.0f}bps",
        "accessDelay": f"{quantity(topology['access_delay'], TIME) * 1e9:.0f}ns",
        "accessLimit": f"{quantity(topology['access_limit'], PACKETS):.0f}p",
        "rate": f"{quantity(topology['bottleneck_rate'], RATE):.0f}bps",
        "delay": f"{quantity(topology['bottleneck_delay'], TIME) * 1e9:.0f}ns",
        "warmup": quantity(run["warmup"], TIME),
        "measure": quantity(run["measure"], TIME),
        "seed": run["seed"],
    }
    if queue["scheme"] == "abc":
        values |= {
            "qMin": quantity(queue["q_min"], PACKETS),
            "qBase": quantity(queue["q_base"], PACKETS),
            "gamma": quantity(queue["gamma"], PACKETS),
            "averagerMemory": quantity(queue["averager_memory"], TIME),
            "meterMemory": quantity(scenario["marker"]["memory"], TIME),
            "accountingBe": scenario["marker"]["accounting_be"],
            "accountingEf": scenario["marker"]["accounting_ef"],
        }
    if queue["scheme"] in DISCS:
        values["disc"] = DISCS[queue["scheme"]].factory(queue, values["rate"])
    else:
        values["beOffset"] = _be_offset(queue, quantity(topology["bottleneck_rate"], RATE))
    values |= _tcp(scenario)
    values["groups"] = ";".join(_group(group) for group in scenario["groups"])
    return [f"--{key}={value}" for key, value in values.items()]


def _be_offset(queue: Table, rate: float) -> float:
    """Returns the time in s that is added to arrival times of BE packets.

    MEDF's `be_offset` is a multiple of the time to send a full queue.
    """
    match queue["scheduler"]:
        case "fifo":
            return 0.0
        case "strict":
            return STRICT_S
        case "medf":
            bits = 8.0 * quantity(queue["limit"], PACKETS) * quantity(queue["mtu"], BYTES)
            return float(queue["be_offset"]) * bits / rate
        case other:
            raise UntranslatableError(f"queue.scheduler: {other} is not in dumbbell.cc")


def _tcp(scenario: Table) -> Table:
    sources = [source for group in scenario["groups"] for source in group["sources"] if source["kind"] == "tcp"]
    for source in sources:
        _check_source(source)
    tcp: Table = sources[0] if sources else scenario["tcp"]
    for key in _OF_ALL:
        if any(source[key] != tcp[key] for source in sources):
            raise UntranslatableError(f"tcp.{key}: all sources must have the same")
    return {
        "tcp": CONTROLS[tcp["congestion_control"]].name,
        "sack": int(tcp["sack"]),
        "recovery": _RECOVERY[tcp["recovery"]],
        "hystart": 0 if tcp.get("hystart", "off") == "off" else 1,
        "limitedTransmit": int(tcp["limited_transmit"]),
        "mss": tcp["segment_payload"],
        "timestamps": int(tcp["header_bytes"] != WITHOUT_TIMESTAMPS["header_bytes"]),
        "ecn": int(tcp["ecn"]),
        "initialWindow": tcp["initial_window"],
        "delayedAck": tcp["delayed_ack"],
        "delayedAckTimeout": f"{quantity(tcp['delayed_ack_timeout'], TIME) * 1e9:.0f}ns",
        "minRto": f"{quantity(tcp['min_rto'], TIME) * 1e9:.0f}ns",
        "synTimeout": f"{quantity(tcp['syn_timeout'], TIME) * 1e9:.0f}ns",
        "socketBuffer": f"{quantity(tcp['socket_buffer'], BYTES):.0f}",
    }


def _check_source(source: Table) -> None:
    control = CONTROLS.get(source["congestion_control"])
    if control is None:
        raise UntranslatableError(f"tcp.congestion_control: {source['congestion_control']} is not in controls.py")
    told = {*_OF_ALL, *_OF_GROUP, *_IMITATING}
    for key, value in _as_in_ns3(source["profile"], source["congestion_control"]).items():
        if key not in told and source[key] != value:
            raise UntranslatableError(f"tcp.{key}: ns-3 has it at {value} only")


@cache
def _as_in_ns3(profile: str, control: str) -> Table:
    """Returns the TCP parameters of a profile, changed by the settings of controls.py for the congestion control."""
    tcp = {"profile": profile, "congestion_control": control} | CONTROLS[control].settings
    least = {"queue": {"scheme": "droptail"}, "tcp": tcp, "groups": [{"sources": [{"kind": "tcp"}]}]}
    scenario: Table = json.loads(canonical(json.dumps(least)))
    parameters: Table = scenario["tcp"]
    return parameters


def _group(group: Table) -> str:
    if group["ingresses"] != 1 or group["weight"] != 1.0 or group["route"]:
        raise UntranslatableError(f"groups: {group['name']} must have one ingress, weight 1 and no route")
    values: Table = {
        "users": group["users"],
        "reference": quantity(group["reference_rate"], RATE),
        "ef": int(group["traffic_class"] == "EF"),
        "from": quantity(group["start_from"], TIME),
        "until": quantity(group["start_until"], TIME),
    }
    if "access_delay" in group:
        values["access"] = f"{quantity(group['access_delay'], TIME):.9g}"
    for source in group["sources"]:
        if source["kind"] == "tcp" and source.get("transfer") is None:
            own = {"control": CONTROLS[source["congestion_control"]].name, "delayedAck": source["delayed_ack"]}
            if any(values.get(key, value) != value for key, value in own.items()):
                raise UntranslatableError(f"groups: {group['name']} has sources with different settings")
            values |= own | {"flows": values.get("flows", 0) + source["flows"]}
        elif source["kind"] == "poisson" and quantity(source["packet_size"], BYTES) == 1500:
            values["poisson"] = values.get("poisson", 0.0) + quantity(source["rate"], RATE)
        else:
            raise UntranslatableError(f"groups: {group['name']} has a source that is not in dumbbell.cc")
    return ",".join(f"{key}={value}" for key, value in values.items())
