"""Converts a scenario to the guest's format: links, hosts, paths and flows, one directive per line. Times are in ns.

Links, delays and start times are those of the simulator, including random draws.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from fairlane import _fairlane
from fairlane.base.errors import UserError
from fairlane.base.quantities import parsed
from fairlane.linux import disciplines, keys
from fairlane.simulate import honoured
from fairlane.simulate.honoured import Table

VERSION = 8
"""Version of the conversion of scenarios and results; a change invalidates stored runs."""
MOST_LINKS, MOST_HOSTS, MOST_FLOWS, MOST_HOPS = 1024, 4096, 16384, 16
"""Limits of the guest."""
_FIRST_ADDRESS = 0x0A010001
_OPTIONS_BYTES = 12
"""TCP options of a data segment (timestamps), which TCP_MAXSEG includes."""
_SEND_MEMORY = 8
"""Send buffer divided by the window, set at the start so that the buffer never limits the sender. Linux's automatic
buffer (tcp_sndbuf_expand) is twice the window in memory. It fills up in a recovery and stops the sender until the
recovery ends. With the automatic maximum of 4 MiB, samples of a large window count as application-limited, so BBR keeps
its old estimate.
"""
_RECEIVE_MEMORY = 2
"""Receive buffer divided by the window that it allows, see `receive` in planes/linux/link.c."""
_ECN_FIELD = {"not_ect": 0, "ect0": 2, "ect1": 1}
_LOSSES = ("random", "gilbert_elliott", "periodic")
"""Models of loss by their numbers in the guest."""
_NO_SPAN = (0, 0)
_NEVER_NS = 1 << 62
_LONGEST_GAPS = 400
"""Characters of a trace in one line."""


@dataclass(frozen=True)
class Flow:
    """A flow of the plan.

    Attributes:
        user: Number of the user.
        kind: `tcp`, `cbr`, `poisson` or `on_off`.
        transfer_bytes: Payload of a transfer; 0 for an endless flow.
        payload: Payload of a full TCP segment, or length of a UDP packet.
        to_receiver_ns: Delay from the last link to the receiver. The guest adds it to the delay of the reverse path.
    """

    user: int
    kind: str
    transfer_bytes: int = 0
    payload: int = 0
    to_receiver_ns: int = 0


@dataclass(frozen=True)
class Plan:
    """Input of the guest, and the data that convert its result to a record.

    Attributes:
        text: The file `plan`.
        seed: Seed of the kernel's random numbers.
        layout: Links and users, see `_fairlane.layout`.
        flows: All flows, in order.
    """

    text: str
    seed: int
    layout: Table
    flows: Sequence[Flow] = field(default_factory=tuple)


@dataclass(frozen=True)
class Extra:
    """Output of the guest in addition to the result.

    Attributes:
        trace: Number of the link to trace, and maximum number of events in its trace.
        info_ns: Time between two samples of TCP_INFO.
    """

    trace: tuple[int, int] | None = None
    info_ns: int | None = None


def check(*scenarios: str) -> None:
    """Raises a UserError naming all keys of canonical scenarios that the plane does not support."""
    if found := [problem for scenario in scenarios for problem in _problems(scenario)]:
        raise UserError(honoured.joined(found))


def _problems(scenario: str) -> Iterator[str]:
    table = json.loads(scenario)
    yield from keys.problems(scenario)
    if table["topology"]["kind"] not in keys.KINDS:
        return
    layout = json.loads(_fairlane.layout(scenario, 0))
    yield from _problems_of_size(layout)
    of_queues = [problem for link in _queues(table, layout) for problem in disciplines.translated(link)[1]]
    yield from of_queues
    if not of_queues:  # an unsupported scheme may be the reason for labels
        yield from keys.problems_of_marker(scenario)


def made(scenario: str, replication: int, extra: Extra | None = None) -> Plan:
    """The plan of one replication of a canonical scenario.

    Raises:
        UserError: The kernel does not have the queue, or there are too many users.
    """
    table, layout = json.loads(scenario), json.loads(_fairlane.layout(scenario, replication))
    for problem in _problems_of_size(layout):
        raise UserError(problem)
    flows = list(_flows(table, layout))
    lines = [
        _window(table["run"]),
        *_links(table, layout),
        *_hosts(table, layout),
        *(line for line, _ in flows),
    ]
    if any(source.get("repeat", 1) > 1 for group in table["groups"] for source in group["sources"]):
        lines.append(f"pauses {layout['pause_seed']}")
    if extra and extra.trace:
        lines.append(f"trace {extra.trace[0]} {extra.trace[1]}")
    if extra and extra.info_ns:
        lines.append(f"info {extra.info_ns}")
    # Seeds of neighbouring scenarios must not share replications.
    seed = table["run"]["seed"] * 1_000_003 + replication
    return Plan("".join(f"{line}\n" for line in lines), seed % (1 << 63), layout, [flow for _, flow in flows])


def _problems_of_size(layout: Table) -> Iterator[str]:
    users, links = len(layout["users"]), len(layout["links"])
    if 2 * users > MOST_HOSTS or users + links > MOST_LINKS:
        most = min(MOST_HOSTS // 2, MOST_LINKS - links)
        yield f"groups: {users} users, with {links} links the plane linux can have {most}"
    flows = len(layout["tcp"]) + len(layout["udp"])
    if flows > MOST_FLOWS:
        yield f"groups: {flows} flows, the plane linux can have {MOST_FLOWS}"
    if any(len(user["route"]) >= MOST_HOPS for user in layout["users"]):
        yield f"groups: the plane linux can have routes of {MOST_HOPS - 1} links"


def fastest_bps(link: Table) -> float:
    """Largest rate of a link in its schedule, or the mean rate of its trace."""
    rates = [link["rate_bps"], *(rate for _, rate in link["schedule"])]
    if link["trace"]:
        size, gaps = link["trace"]
        runs = [tuple(map(int, f"{word}*1".split("*")[:2])) for word in gaps.split()]
        rates.append(8e3 * size * sum(count for _, count in runs) / sum(gap * count for gap, count in runs))
    return float(max(rates))


def _window(run: Table) -> str:
    begin = _ns(run["warmup"])
    return f"window {begin} {begin + _ns(run['measure'])}"


def _links(table: Table, layout: Table) -> Iterator[str]:
    links, users = layout["links"], layout["users"]
    for index, link in enumerate(links):
        yield f"link {index} {link['rate_bps']} {_from_ps(link['delay_ps'])}"
        yield from (f"rate {index} {_from_ps(at)} {rate}" for at, rate in link["schedule"])
        if link["trace"]:
            yield from _opportunities(index, *link["trace"])
    for number, user in enumerate(users):
        access = user["access"]
        yield f"link {len(links) + number} {access['rate_bps']} {_from_ps(access['delay_ps'])}"
    yield from _impairments([*links, *(user["access"] for user in users)])
    for queue in _queues(table, layout):
        for words in disciplines.commands(queue):
            yield " ".join(["tc", *words])


def _opportunities(link: int, size: int, gaps: str) -> Iterator[str]:
    """The trace of a link in lines that the guest can read."""
    words: list[str] = []
    for word in gaps.split():
        words.append(word)
        if sum(map(len, words)) + len(words) > _LONGEST_GAPS:
            yield f"opportunities {link} {size} {' '.join(words)}"
            words = []
    if words:
        yield f"opportunities {link} {size} {' '.join(words)}"


def _impairments(links: Sequence[Table]) -> Iterator[str]:
    """Loss, jitter and detours of links. Links with the same seed share a random stream."""
    streams: dict[int, int] = {}
    # Each loss may need two numbers at one instant, and the jitter of a link two.
    sharing: Counter[int] = Counter()
    for found in filter(None, (link["impairment"] for link in links)):
        sharing[found["seed"]] += max(1, len(found["losses"]))
    for index, link in enumerate(links):
        if not (found := link["impairment"]):
            continue
        jitter, detour = found["jitter"], found["detour"]
        if (seed := found["seed"]) not in streams:
            streams[seed] = len(streams)
            kind, deviation = (jitter["distribution"], jitter["deviation_ps"]) if jitter else ("-", 0)
            yield f"stream {seed} {kind} {deviation} {sharing[seed]}"
        order = 0 if not jitter else 2 if jitter["reorder"] else 1
        delays = [_from_ps(found["delay_ps"]), _from_ps(detour["delay_ps"]) if detour else 0]
        times = [time for part in (detour, jitter) for time in _times(part["span"] if part else _NO_SPAN)]
        yield f"impair {' '.join(map(str, [index, streams[seed], order, *delays, *times]))}"
        for kind, bounds, span in found["losses"]:
            words = [index, _LOSSES.index(kind), *[*bounds, 0, 0, 0][:4], *_times(span)]
            yield f"lose {' '.join(map(str, words))}"


def _times(span: Sequence[int | None]) -> list[int]:
    return [_NEVER_NS if time is None else _from_ps(time) for time in span]


def _queues(table: Table, layout: Table) -> Iterator[disciplines.Link]:
    """The queues of all links, then of the access links of all users."""
    links, users = layout["links"], layout["users"]
    for index, link in enumerate(links):
        own = table["topology"].get("links", [{}] * (index + 1))[index].get("queue")
        crossing = [
            (
                _address(number),
                table["groups"][user["group"]]["weight"],
                table["groups"][user["group"]]["traffic_class"],
            )
            for number, user in enumerate(users)
            if index in user["route"]
        ]
        key = "queue" if own is None else f"topology.links[{index}].queue"
        yield disciplines.Link(f"l{index}", link["rate_bps"], link["queue"], key, crossing)
    for number, user in enumerate(users):
        access = {"scheme": "droptail", "limit": user["access"]["limit"]}
        yield disciplines.Link(f"l{len(links) + number}", user["access"]["rate_bps"], access)


def _address(host: int) -> str:
    number = _FIRST_ADDRESS + host
    return ".".join(str(number >> shift & 0xFF) for shift in (24, 16, 8, 0))


def _hosts(table: Table, layout: Table) -> Iterator[str]:
    users, links = layout["users"], len(layout["links"])
    back = {flow["user"]: _from_ps(flow["back_ps"]) for flow in layout["tcp"]}
    for number, user in enumerate(users):
        sources = table["groups"][user["group"]]["sources"]
        tcp = next((source for source in sources if source["kind"] == "tcp"), None)
        receiver = number + len(users)
        yield f"host {number} {keys.OFFLOADS[tcp['tso']] if tcp else 'tso'}"
        yield f"host {receiver} tso"
        for name, value in _settings(tcp).items() if tcp else ():
            yield f"sysctl {number} net.ipv4.{name} {value}"
        if tcp:
            memory = round(_RECEIVE_MEMORY * _bytes(tcp["socket_buffer"]))
            yield f"sysctl {receiver} net.ipv4.tcp_rmem 4096 131072 {memory}"
        # Datagrams have no reverse path.
        route = " ".join(str(link) for link in (links + number, *user["route"]))
        yield f"path {number} {receiver} {back.get(number, 0)} {route}"


def _settings(tcp: Table) -> dict[str, Any]:
    """Settings of a sender's namespace that differ from those of a new namespace."""
    buffer = _SEND_MEMORY * _bytes(tcp["socket_buffer"])
    standard = {"after_idle": "decay", "frto": True, "tlp": True, "min_rto": "200 ms"}
    settings = {
        # A connection must not inherit what an earlier one learnt about the path.
        "tcp_no_metrics_save": 1,
        "tcp_wmem": f"4096 {buffer} {buffer}",
        # A sender never sends more than a window at once.
        "tcp_notsent_lowat": _bytes(tcp["socket_buffer"]),
        "tcp_slow_start_after_idle": keys.AFTER_IDLE[tcp["after_idle"]],
        "tcp_frto": 2 if tcp["frto"] else 0,
        "tcp_early_retrans": 3 if tcp["tlp"] else 0,
        "tcp_rto_min_us": _ns(tcp["min_rto"]) // 1000,
    }
    of = {"tcp_slow_start_after_idle": "after_idle", "tcp_frto": "frto", "tcp_early_retrans": "tlp"}
    of["tcp_rto_min_us"] = "min_rto"
    return {name: value for name, value in settings.items() if name not in of or tcp[of[name]] != standard[of[name]]}


def _flows(table: Table, layout: Table) -> Iterator[tuple[str, Flow]]:
    """Each flow with its line, in the simulator's order: by user, TCP before UDP."""
    users = len(layout["users"])
    tcp, udp = iter(layout["tcp"]), iter(layout["udp"])
    others = []
    for number, user in enumerate(layout["users"]):
        for source in table["groups"][user["group"]]["sources"]:
            if source["kind"] != "tcp":
                others.append(
                    (
                        _udp_line(source, number, users, next(udp)),
                        Flow(number, source["kind"], payload=_bytes(source["packet_size"])),
                    )
                )
                continue
            for _ in range(source["flows"]):
                drawn = next(tcp)
                size = _bytes(source["transfer"]) if source.get("transfer") else 0
                flow = Flow(number, "tcp", size, source["segment_payload"], _from_ps(drawn["to_receiver_ps"]))
                yield _tcp_line(source, flow, users, drawn), flow
    yield from others


def _tcp_line(source: Table, flow: Flow, users: int, drawn: Table) -> str:
    control = keys.IN_LINUX[source["congestion_control"]]
    stop = _ns(source["stop"]) if source.get("stop") else 0
    mss = 0 if flow.payload == keys.MOST_PAYLOAD else flow.payload + _OPTIONS_BYTES
    ends = f"{flow.user} {flow.user + users} {control} {int(source['ecn'])} {_from_ps(drawn['start_ps'])} {stop}"
    times = f"{_ns(source['pause'])} {mss} {_from_ps(drawn['back_ps'])}"
    if source.get("app_rate"):
        until = _ns(source["app_limited_until"]) if source.get("app_limited_until") else 0
        times += f" {round(_number(source['app_rate'], 'bit/s'))} {_ns(source['app_limited_from'])} {until}"
    return f"tcp {ends} {flow.transfer_bytes} {source['repeat']} {times}"


def _udp_line(source: Table, user: int, users: int, drawn: Table) -> str:
    stop = _ns(source["stop"]) if source.get("stop") else 0
    words = [f"{drawn['gap_ps']} {_bytes(source['packet_size'])} {_ECN_FIELD[source['ecn']]}"]
    words += [f"{drawn['start_ps']} {stop} {drawn['seed']}"]
    if source["kind"] == "cbr":
        words += [repr(source["jitter"])]
    elif source["kind"] == "on_off":
        shape = source["shape"] if source["distribution"] == "pareto" else 0
        words += [f"{1000 * _ns(source['on'])} {1000 * _ns(source['off'])} {shape!r}"]
    return f"udp {user} {user + users} {source['kind']} {' '.join(words)}"


def _from_ps(time: int) -> int:
    return (time + 500) // 1000


def _ns(text: str) -> int:
    return round(1e9 * _number(text, "s"))


def _bytes(text: str) -> int:
    return round(_number(text, "bytes"))


def _number(text: str, unit: str) -> float:
    number = parsed(text, unit)
    assert number is not None, text  # a canonical scenario has valid units
    return number
