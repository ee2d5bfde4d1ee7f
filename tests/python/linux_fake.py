"""A script instead of a kernel for the plane `linux`, scenarios that this plane supports, and a recorded result."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fairlane import Scenario, group, tcp
from fairlane.linux import plan
from fairlane.linux.disciplines import DISCIPLINES, Fixed
from fairlane.linux.record import record

RECORDED = Path(__file__).parent / "linux_plane"


FAKE = f"""\
#!{sys.executable}
import json, os, sys, time
from pathlib import Path

MODE = os.environ.get("FAKE", "") or Path(__file__).with_name("mode").read_text()
plan = [line.split() for line in Path("plan").read_text().splitlines()]
seed = int(next(word for word in sys.argv if word.startswith("fairlane.seed=")).split("=")[1])
assert Path("init").resolve().exists()
assert "tmp" not in " ".join(sys.argv[1:]), "a path would seed random numbers"
if MODE == "panic":
    print("Kernel panic - not syncing: out of memory\\nmore")
elif MODE == "hang":
    print("booting", flush=True)
    if os.fork() == 0:
        time.sleep(300)
    time.sleep(300)
elif MODE == "error":
    Path("error").write_text("tc qdisc add dev l0 root codel: no such thing\\n")
elif MODE == "nothing":
    pass
else:
    begin, end = map(int, plan[0][1:])
    user = dict.fromkeys(["arrived_packets", "sent_packets", "delay_most_ns"], 10 + seed % 3)
    user |= {{"arrived_bytes": 15000, "sent_bytes": 15000, "dropped_packets": 1, "dropped_bytes": 1500}}
    user |= {{"marked_packets": 0, "delay_ns": 100, "delay_histogram": [[10, 10]]}}
    user |= dict.fromkeys(["lost_packets", "lost_bytes", "sending_ns", "held_ns"], 0)
    paths = [words for words in plan if words[0] == "path"]
    links = [
        {{
            "name": "l" + words[1], "sent_packets": 10, "sent_bytes": 15000, "busy_ns": end - begin,
            "queue_packet_ns": end - begin, "queue_byte_ns": 0, "queue_most_packets": 1,
            "queue_histogram": [[1, end - begin]], "drops": [[1, 1500], [0, 0], [0, 0], [0, 0]],
            "users": [{{"host": int(path[1]), **user}} for path in paths if words[1] in path[4:]],
        }}
        for words in plan if words[0] == "link"
    ]
    flows = [
        {{"kind": words[0], "received_bytes": 1000, "retransmitted_segments": 0, "sent_packets": 5,
          "received_packets": 5, "transfers": []}}
        for words in plan if words[0] in ("tcp", "udp")
    ]
    found = {{"schema": 1, "release": "6.12.0-fake", "window_ns": [begin, end], "links": links, "flows": flows}}
    Path("result.json").write_text(json.dumps(found))
"""


@dataclass
class Fake:
    """A script instead of a kernel, with the interface of `fairlane.kernel.Built`."""

    linux: Path
    init: Path
    version: str = "6.12"
    release: str = "6.12.0-fake"
    identity: str = "fake"

    def does(self, mode: str) -> "Fake":
        self.linux.with_name("mode").write_text(mode)
        return self


def scenario(*groups: dict[str, Any], **changes: Any) -> Scenario:
    """A small scenario that the plane supports."""
    found = Scenario("small", *(groups or (group("a", tcp(), start_until="0.1 s"),)), queue="droptail")
    found = found.changed({"tcp.profile": "linux", "run.warmup": "1 s", "run.measure": "1 s", "run.replications": 2})
    return found.changed(changes)


def text(of: Scenario, replication: int = 0) -> str:
    canonical = of.canonical()
    plan.check(canonical)
    return plan.made(canonical, replication).text


def of_scheme(name: str) -> dict[str, Any]:
    """The table of a scheme. Where the kernel does not support a default, the table has the kernel's value."""
    found: dict[str, Any] = scenario().replace("queue", {"scheme": name}).to_dict()["queue"]
    table: dict[str, Any] = json.loads(Scenario("x", group("a", tcp()), queue=found).canonical())["queue"]
    for key, rule in DISCIPLINES[name].rules.items():
        if isinstance(rule, Fixed) and table.get(key) not in rule.values:
            table[key] = rule.values[0]
    if name == "cake":
        table["quantum"] = "1514 B"
    if name == "dualpi2":
        table |= {"step_end": table["step_start"], "classic_share": 0.1}
    return table


def recorded(result: dict[str, Any] | None = None) -> dict[str, Any]:
    """The record from `result.json`, which a kernel wrote for replication 0 of `scenario.toml`."""
    canonical = Scenario.from_toml(RECORDED / "scenario.toml").canonical()
    result = result or json.loads((RECORDED / "result.json").read_text())
    about = {"kernel": "6.12", "identity": "recorded"}
    samples = (RECORDED / "info.csv").read_text()
    found: dict[str, Any] = json.loads(record(canonical, 0, plan.made(canonical, 0), result, samples, about))
    return found


def nothing_runs(fake: Fake) -> bool:
    """True if no process of the script is left."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if (
                str(fake.linux).encode() in (entry / "cmdline").read_bytes()
                and (entry / "stat").read_text().split()[2] != "Z"
            ):
                return False
        except OSError:
            continue
    return True
