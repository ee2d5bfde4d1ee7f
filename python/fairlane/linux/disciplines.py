"""Translates a scheme and its parameters to arguments of `tc`, or gives the reason why that is impossible.

Based on net/sched/sch_*.c of Linux 6.12 and on the parsers of iproute2 6.1. A parameter without an option must have the
value in the kernel's source.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fairlane.base.errors import UserError
from fairlane.base.quantities import parsed
from fairlane.simulate.honoured import Table, shown

FULL_PACKET_BYTES = 1500
SEGMENT_MEMORY_BYTES = 2304
"""Memory (skb->truesize) of a full packet. CAKE limits the memory of its queue, not the number of packets."""
UNLIMITED_BYTES, UNLIMITED_PACKETS = 1 << 30, 1 << 20
"""Limits that are never reached, for schemes whose memory and packets are limited in the kernel but not in the
simulator."""
SHARE_OF_USERS = 0x10
"""Minor number of the first user's leaf class, as in the lab's plane `kernel`."""


@dataclass(frozen=True)
class Link:
    """A link that needs a queue.

    Attributes:
        device: Name of the device.
        rate_bps: Rate in bit/s.
        queue: Table of the queue.
        key: Key of this table in the scenario, for messages.
        users: Address, weight and traffic class of each user that crosses the link.
    """

    device: str
    rate_bps: int
    queue: Table
    key: str = "queue"
    users: Sequence[tuple[str, float, str]] = ()


Make = Callable[[Any, Link], Sequence[str]]


@dataclass(frozen=True)
class Option:
    """A parameter that is an option of `tc`.

    Attributes:
        text: Option and conversion, for the table in the documentation.
        make: Returns the arguments of `tc` for a value.
    """

    text: str
    make: Make


@dataclass(frozen=True)
class Fixed:
    """A parameter for which the kernel has no option.

    Attributes:
        values: Values equivalent to the kernel's behaviour.
        why: Place in the kernel's source that fixes the behaviour.
    """

    values: tuple[Any, ...]
    why: str


@dataclass(frozen=True)
class Unused:
    """A parameter that has no effect on this plane.

    Attributes:
        why: The reason.
    """

    why: str


Rule = Option | Fixed | Unused


def _us(value: str) -> str:
    return f"{round(1e6 * _number(value, 's'))}us"


def _number(value: str, unit: str) -> float:
    number = parsed(value, unit)
    assert number is not None, value  # a canonical scenario has valid units
    return number


def _bytes(value: str) -> int:
    return round(_number(value, "bytes"))


def _packets(value: str) -> int | None:
    number, unit = value.rsplit(" ", 1)
    return round(float(number)) if unit == "packets" else None


def _in_bytes(value: str) -> int:
    """A length given in bytes or in full-size packets, converted to bytes."""
    packets = _packets(value)
    return _bytes(value) if packets is None else packets * FULL_PACKET_BYTES


def _in_packets(value: Any, link: Link, name: str) -> int:
    packets = _packets(value)
    if packets is None:
        whole = f"{max(1, _bytes(value) // FULL_PACKET_BYTES)} packets"
        raise UserError(f"{link.key}.{name}: {shown(value)}, the kernel counts in packets here: set {shown(whole)}")
    return packets


def _limit(name: str = "limit") -> Option:
    return Option(f"`{name} PACKETS`", lambda value, link: [name, str(_in_packets(value, link, "limit"))])


def _time(name: str) -> Option:
    return Option(f"`{name} TIME`, in microseconds", lambda value, _: [name, _us(value)])


def _plain(name: str) -> Option:
    return Option(f"`{name}`", lambda value, _: [name, f"{value:.12g}"])


def _size(name: str) -> Option:
    return Option(f"`{name} BYTES`", lambda value, _: [name, str(_bytes(value))])


def _flag(on: str, off: str = "") -> Option:
    text = f"`{on}`" + (f" or `{off}`" if off else "")
    return Option(text, lambda value, _: [on] if value else [off] if off else [])


_PORT: dict[str, Rule] = {
    "scheduler": Fixed(("fifo",), "the root queue is the scheme itself, without traffic classes"),
    "be_offset": Unused("of the scheduler `medf`"),
    "mtu": Unused("of the scheduler `medf`"),
}
PER_FLOW = Fixed(("flow",), "its hash is that of addresses and ports (skb_get_hash)")
BURST_OF_PIE = Fixed(("150 ms",), "pie_params_init, pie_vars_init: 150 ms")


def _follows(value: str) -> Unused:
    return Unused(f"of the simulator, which follows the kernel with {value}")


_OF_NS = Unused('of `profile = "ns"`')
_RED: dict[str, Rule] = {
    "profile": Fixed(("linux",), "red_action, red_calc_qavg_from_idle_time"),
    "gentle": _OF_NS,
    "wait": _OF_NS,
}


def _burst(least: int, mean_packet: int, weight: float) -> int | None:
    """The burst from which `tc` computes the given weight (tc_red_eval_ewma); None if no burst gives it."""
    exponent = round(-math.log2(weight))
    for burst in range(least // mean_packet + 1, 1 << 16):
        wanted = burst + 1 - least / mean_packet
        weights = (log for log in range(1, 32) if wanted <= (1 - (1 - 0.5**log) ** burst) / 0.5**log)
        found = next(weights, None)
        if found == exponent:
            return burst
        if found is None or found > exponent:
            return None
    return None


def _weight(value: float, link: Link, least: int, mean_packet: int) -> list[str]:
    exponent = round(-math.log2(value))
    if not 1 <= exponent <= 31 or abs(value * 2**exponent - 1) > 0.05:
        raise UserError(f"{link.key}.weight: {value:g}, the kernel takes powers of two from 2^-31 to 0.5")
    if (burst := _burst(least, mean_packet, value)) is None:
        raise UserError(f"{link.key}.weight: {value:g}, no burst makes tc compute it with these thresholds")
    return ["burst", str(burst)]


def _red_weight(value: float, link: Link) -> list[str]:
    return _weight(value, link, _in_bytes(link.queue["min_th"]), _bytes(link.queue["mean_packet"]))


def _red_threshold(name: str) -> Option:
    def make(value: str, link: Link) -> list[str]:
        if not _in_bytes(value):
            raise UserError(f"{link.key}.{name}_th: {shown(value)}, the kernel's adaptive RED has other rules")
        return [name, str(_in_bytes(value))]

    return Option(f"`{name} BYTES`; packets are full ones", make)


CHOKE_MEAN_PACKET = 1000


def _choke_threshold(link: Link, name: str) -> int:
    given = link.queue.get(f"{name}_th")
    limit = _in_packets(link.queue["limit"], link, "limit")
    return limit // (6 if name == "min" else 2) if given is None else _in_packets(given, link, f"{name}_th")


def _choke(name: str) -> Option:
    return Option(
        f"`{name} PACKETS`; absent: {'a sixth' if name == 'min' else 'half'} of the limit",
        lambda _, link: [name, str(_choke_threshold(link, name))],
    )


def _choke_weight(value: float, link: Link) -> list[str]:
    return _weight(value, link, _choke_threshold(link, "min") * CHOKE_MEAN_PACKET, CHOKE_MEAN_PACKET)


def _sixteenths(name: str) -> Option:
    def make(value: float, link: Link) -> list[str]:
        sixteenths = round(16 * value)
        if abs(16 * value - sixteenths) > 1e-9 or not 0 <= sixteenths <= 32:
            raise UserError(f"{link.key}.{name}: {value:g}, the kernel takes sixteenths from 0 to 2")
        return [name, str(sixteenths)]

    return Option(f"`{name}`, in sixteenths", make)


_DELAY_OF_PIE = Option(
    "`dq_rate_estimator` for `departures`; `link_rate` is refused",
    lambda value, link: (
        []
        if value == "sojourn"
        else ["dq_rate_estimator"]
        if value == "departures"
        else _refuse(link, "delay", value, "the kernel does not know the rate of a link")
    ),
)
_PIE: dict[str, Rule] = {
    "target": _time("target"),
    "update_interval": _time("tupdate"),
    "alpha": _sixteenths("alpha"),
    "beta": _sixteenths("beta"),
    "profile": _follows('"linux"'),
    "max_burst": BURST_OF_PIE,
    "derandomize": Fixed((True,), "pie_drop_early: accu_prob"),
    "cap_step": Fixed((True,), "pie_calculate_probability: at most 2 % once the probability is 10 %"),
    "byte_mode": _flag("bytemode"),
    "mean_packet": Fixed(("1500 B",), "pie_drop_early takes the MTU of the device"),
    "ecn": _flag("ecn"),
}


def _refuse(link: Link, name: str, value: Any, why: str) -> list[str]:
    raise UserError(f"{link.key}.{name}: {shown(value)}, {why}")


def _penalty_rate(value: str, _link: Link) -> list[str]:
    return ["penalty_rate", str(round(_number(value, "bit/s") / (8 * FULL_PACKET_BYTES)))]


def _bin_size(value: str | None, link: Link) -> list[str]:
    limit = _in_packets(link.queue["limit"], link, "limit")
    return ["target", str(max(2, (3 * limit + 16) // 32) if value is None else value)]


def _bin_limit(value: str | None, link: Link) -> list[str]:
    return ["max", str(_in_packets(link.queue["limit"], link, "limit") if value is None else value)]


ISOLATION = {"flow": "flows", "host": "srchost", "dual": "dual-srchost", "triple": "triple-isolate"}


def _rtt(value: str, link: Link) -> list[str]:
    target, interval = _number(link.queue["target"], "s"), _number(value, "s")
    if abs(interval / 20 - target) > 1e-9:
        raise UserError(f"{link.key}.target: {shown(link.queue['target'])}, `rtt` makes it a 20th of the interval")
    return ["rtt", _us(value)]


def _memory(value: str, _link: Link) -> list[str]:
    packets = math.ceil(_in_bytes(value) / FULL_PACKET_BYTES)
    return ["memlimit", str(packets * SEGMENT_MEMORY_BYTES)]


_COBALT: dict[str, Rule] = {
    "limit": Option(f"`memlimit`: {SEGMENT_MEMORY_BYTES} bytes of memory for a full packet", _memory),
    "target": Unused("a twentieth of `interval`, or it is refused"),
    "interval": Option("`rtt TIME`, which is the interval", _rtt),
    "ecn": Fixed((True,), "cobalt_should_drop always marks"),
    "starts_at_once": _follows("true"),
    "increment": Fixed((1 / 256,), "cake_reconfigure: p_inc 1/256"),
    "decrement": Fixed((1 / 4096,), "cake_reconfigure: p_dec 1/4096"),
}
_QUANTUM_OF_CAKE = 1514


def _fq_limit(value: str, _link: Link) -> list[str]:
    packets = _packets(value)
    memory = UNLIMITED_BYTES
    if packets is None:
        packets, memory = UNLIMITED_PACKETS, max(1, _bytes(value) // FULL_PACKET_BYTES) * SEGMENT_MEMORY_BYTES
    return ["memory_limit", str(memory), "limit", str(packets)]


def _cake(link: Link) -> str:
    bandwidth = link.queue.get("bandwidth")
    rate = f"bandwidth {round(_number(bandwidth, 'bit/s'))}bit" if bandwidth else "unlimited"
    return f"cake {rate} besteffort no-ack-filter raw"


def _cake_quantum(value: str | None, link: Link) -> list[str]:
    # Without a bandwidth, the simulator takes the rate of the link, and the kernel the largest quantum.
    bandwidth = link.queue.get("bandwidth")
    rate_bps = round(_number(bandwidth, "bit/s")) if bandwidth else link.rate_bps
    by_rate = max(300, min(_QUANTUM_OF_CAKE, rate_bps // 8 >> 12))
    wanted = by_rate if bandwidth else _QUANTUM_OF_CAKE
    if (_bytes(value) if value is not None else by_rate) != wanted:
        given = "absent" if value is None else shown(value)
        which = f"with bandwidth {bandwidth}" if bandwidth else "without a shaper"
        raise UserError(f'{link.key}.quantum: {given}, CAKE {which} has {wanted} B: set "{wanted} B"')
    return []


def _cake_bytes(name: str) -> Option:
    return Option(f"`{name} BYTES`", lambda value, _: [name, str(_bytes(value))] if value else [])


_HTB_ROOT_BURST_BYTES = 3200
_LEAST_CLASS_BPS = 1000


def _classic_share(value: float, link: Link) -> list[str]:
    percent = round(100 * value)
    if abs(100 * value - percent) > 1e-9:
        raise UserError(f"{link.key}.classic_share: {value:g}, the kernel takes whole percents")
    return ["classic_protection", f"{percent}%"]


@dataclass(frozen=True)
class Discipline:
    """A scheme that Linux has.

    Attributes:
        qdisc: Name of the qdisc, and options that are always set.
        rules: Translation of each parameter.
    """

    qdisc: Callable[[Link], str]
    rules: Mapping[str, Rule]


def _of(qdisc: str, first: Mapping[str, Rule] | None = None, **rules: Rule) -> Discipline:
    return Discipline(lambda _: qdisc, {**_PORT, **(first or {}), **rules})


_FQ: dict[str, Rule] = {
    "share_per": PER_FLOW,
    "buckets": _plain("flows"),
    "quantum": _size("quantum"),
}


def _fifo(link: Link) -> str:
    return "bfifo" if _packets(link.queue["limit"]) is None else "pfifo"


DISCIPLINES: dict[str, Discipline] = {
    "droptail": Discipline(
        _fifo,
        {**_PORT, "limit": Option("`limit`, of `pfifo` or `bfifo`", lambda value, _: ["limit", _plain_number(value)])},
    ),
    "red": Discipline(
        lambda link: f"red bandwidth {link.rate_bps}bit",
        {
            **_PORT,
            **_RED,
            "limit": Option("`limit BYTES`; packets are full ones", lambda value, _: ["limit", str(_in_bytes(value))]),
            "min_th": _red_threshold("min"),
            "max_th": _red_threshold("max"),
            "max_p": _plain("probability"),
            "weight": Option("`burst`, from which `tc` computes the power of two", _red_weight),
            "weight_rule": _OF_NS,
            "size_scaling": _OF_NS,
            "mean_packet": _size("avpkt"),
            "target_delay": Unused("of automatic thresholds"),
            "link_delay": Unused("of `weight_rule`"),
            "forced_restarts": _OF_NS,
            "ecn": _flag("ecn"),
            "hard_drop": Option(
                "`harddrop`, with `ecn`", lambda value, link: ["harddrop"] if value and link.queue["ecn"] else []
            ),
        },
    ),
    "choke": Discipline(
        lambda link: f"choke bandwidth {link.rate_bps}bit",
        {
            **_PORT,
            **_RED,
            "limit": _limit(),
            "draws": Fixed((1,), "choke_match_random draws one"),
            "self_adjusting": Fixed((False,), "choke_match_random draws one"),
            "regions": Unused("of `self_adjusting`"),
            "draws_beyond": Unused("of `self_adjusting`"),
            "share_per": Fixed(("flow",), "choke_match_flow compares addresses and ports"),
            "min_th": _choke("min"),
            "max_th": _choke("max"),
            "max_p": _plain("probability"),
            "weight": Option("`burst`, from which `tc` computes the power of two", _choke_weight),
            "mean_packet": Fixed((f"{CHOKE_MEAN_PACKET} B",), "avpkt of iproute2's q_choke.c"),
        },
    ),
    "sfb": _of(
        "sfb",
        dict.fromkeys(
            ("levels", "bins", "freeze", "freeze_most", "decrement_at", "unresponsive_at", "rehash_most", "penalty"),
            _OF_NS,
        ),
        limit=_limit(),
        profile=Fixed(("linux",), "sfb_enqueue"),
        increment=_plain("increment"),
        decrement=_plain("decrement"),
        bin_size=Option("`target PACKETS`; absent: 1.5*limit/16, at least 2", _bin_size),
        bin_limit=Option(
            "`max PACKETS`; absent: the limit",
            lambda value, link: [
                "max",
                str(_in_packets(link.queue["limit"], link, "limit") if value is None else value),
            ],
        ),
        rehash=Option("`rehash`, in ms", lambda value, _: ["rehash", str(round(1e3 * _number(value, "s")))]),
        warm_up=Option("`db`, in ms", lambda value, _: ["db", str(round(1e3 * _number(value, "s")))]),
        penalty_rate=Option("`penalty_rate`, in full packets a second", _penalty_rate),
        penalty_burst=Option(
            "`penalty_burst`, in full packets", lambda value, _: ["penalty_burst", _full_packets(value)]
        ),
        share_per=_OF_NS,
        ecn=_OF_NS,
    ),
    "codel": _of(
        "codel",
        limit=_limit(),
        target=_time("target"),
        interval=_time("interval"),
        ecn=_flag("ecn", "noecn"),
        root=_follows('"newton"'),
    ),
    "fq_codel": _of(
        "fq_codel",
        _FQ,
        limit=Option("`limit PACKETS`; of bytes `memory_limit`, the memory of the full packets in them", _fq_limit),
        target=_time("target"),
        interval=_time("interval"),
        ecn=_flag("ecn", "noecn"),
        drop_batch=_plain("drop_batch"),
        root=_follows('"newton"'),
        short_queue=Fixed(("port",), 'codel_should_drop compares the backlog of the whole qdisc (set "port")'),
    ),
    "pie": _of(
        "pie",
        _PIE,
        limit=_limit(),
        delay=_DELAY_OF_PIE,
        departure_threshold=Fixed(("16384 B",), "QUEUE_THRESHOLD"),
        departure_weight=Unused("an eighth, of `dq_rate_estimator`"),
        ecn_limit=Fixed((0.1,), "pie_qdisc_enqueue: MAX_PROB / 10"),
    ),
    "fq_pie": _of(
        f"fq_pie memory_limit {UNLIMITED_BYTES}",
        {**_FQ, **_PIE},
        limit=_limit(),
        ecn_limit=Option("`ecn_prob`, in percent", lambda value, _: ["ecn_prob", str(round(100 * value))]),
        overflow=Fixed(("arriving",), "fq_pie_qdisc_enqueue drops what arrives"),
        drop_batch=Unused("of `overflow`"),
    ),
    "cake": Discipline(
        _cake,
        {
            **_PORT,
            **_COBALT,
            "isolation": Option(
                ", ".join(f"`{kind}`: `{name}`" for kind, name in ISOLATION.items()),
                lambda value, _: [ISOLATION[value]],
            ),
            "sets": Fixed((128,), "CAKE_QUEUES, CAKE_SET_WAYS"),
            "ways": Fixed((8,), "CAKE_SET_WAYS"),
            "quantum": Option("by `bandwidth`; without one, the rate of the link has to give 1514 B", _cake_quantum),
            "bandwidth": Option("`bandwidth RATE`; absent: `unlimited`", lambda *_: []),
            "overhead": _cake_bytes("overhead"),
            "mpu": _cake_bytes("mpu"),
            "framing": Option("`noatm`, `atm` or `ptm`", lambda value, _: [value] if value else []),
        },
    ),
    "cobalt": _of(
        "cake unlimited besteffort no-ack-filter raw flowblind",
        _COBALT,
        blue_threshold=Fixed((None,), "cobalt_queue_full: only overflows"),
        spared_packets=Unused("mtu_time, which is 0 without a shaper"),
        keep_last=Fixed((True,), "cake_dequeue: the last packet of a queue is sent"),
    ),
    "sfq": _of(
        "sfq",
        limit=_limit(),
        share_per=PER_FLOW,
        profile=Fixed(("linux",), "the rules are the kernel's"),
        buckets=_plain("divisor"),
        flows=_plain("flows"),
        depth=_plain("depth"),
        quantum=_size("quantum"),
        perturb=Option("`perturb SECONDS`", lambda value, _: ["perturb", str(round(_number(value, "s")))]),
    ),
    "htb": _of(
        "",
        limit=Option("`limit` of the `pfifo` or `bfifo` of each leaf", lambda *_: []),
        leaf=Fixed(("droptail",), "each user has a class with a `pfifo`"),
        leaf_queues=Unused("of other leaves"),
        rate=Option("`rate` of a class, times the weight", lambda *_: []),
        ceil=Option("`ceil` of a class; absent: the rate of the link", lambda *_: []),
        quantum=Option("`quantum` of a class", lambda *_: []),
        r2q=Option("`r2q`", lambda *_: []),
        burst=Option("`burst` of a class", lambda *_: []),
        cburst=Option("`cburst` of a class", lambda *_: []),
        margin=Unused("of access networks"),
        node_rates=Unused("of access networks"),
    ),
    "dualpi2": _of(
        "dualpi2",
        limit=_limit(),
        target=_time("target"),
        update_interval=_time("tupdate"),
        alpha=_plain("alpha"),
        beta=_plain("beta"),
        coupling=_plain("coupling_factor"),
        step_start=Option(
            "`step_thresh TIME`; `step_end` has to be the same",
            lambda value, link: (
                ["step_thresh", _us(value)]
                if value == link.queue["step_end"]
                else _refuse(link, "step_end", link.queue["step_end"], "the kernel has one threshold, step_start")
            ),
        ),
        step_end=Unused("the same as `step_start`, or it is refused"),
        classic_share=Option("`classic_protection`, in percent", _classic_share),
        decision=Fixed(("random",), "dualpi2_roll: get_random_u32"),
        full_packet=Fixed(("1500 B",), "must_drop: the MTU of the device"),
    ),
}
"""Disciplines by scheme."""
WITHOUT = {
    "drr": "sch_drr has a buffer for each class, and not one that all share, of which the longest queue loses",
}
"""Schemes that differ from the qdisc of the same name, and the difference."""


def _plain_number(value: str) -> str:
    packets = _packets(value)
    return str(_bytes(value) if packets is None else packets)


def _full_packets(value: str) -> str:
    return str(max(1, round(_bytes(value) / FULL_PACKET_BYTES)))


def commands(link: Link) -> list[list[str]]:
    """Arguments of the `tc` commands that set up the queue of a link on its device.

    Raises:
        UserError: The kernel lacks the scheme, or does not support these parameters.
    """
    found, problems = translated(link)
    if problems:
        raise UserError("; ".join(problems))
    return found


def translated(link: Link) -> tuple[list[list[str]], list[str]]:
    """Returns the arguments as `commands` does, and the problems: unsupported parameters with value and reason.

    With problems, there are no arguments.
    """
    scheme = link.queue["scheme"]
    discipline = DISCIPLINES.get(scheme)
    if discipline is None:
        why = f", {WITHOUT[scheme]}; it" if scheme in WITHOUT else ", the plane linux"
        return [], [f'{link.key}.scheme: "{scheme}"{why} has {", ".join(DISCIPLINES)}']
    words: list[str] = []
    refused: list[str] = []
    # A parameter that is not set may still need an option.
    for name in dict.fromkeys([*link.queue, *discipline.rules]):
        if name == "scheme":
            continue
        try:
            words += _words(name, discipline.rules.get(name), link)
        except UserError as error:
            refused.append(str(error))
    if refused:
        return [], refused
    if scheme == "htb":
        return _classes(link), []
    return [["qdisc", "add", "dev", link.device, "root", *discipline.qdisc(link).split(), *words]], []


def _words(name: str, rule: Rule | None, link: Link) -> Sequence[str]:
    """Arguments for one parameter, which may be unset."""
    value = link.queue.get(name)
    match rule:
        case None:
            _refuse(link, name, value, "the plane linux does not know this key")
        case Option(make=make):
            return make(value, link)
        case Fixed(values=values, why=why) if name in link.queue and value not in values:
            _refuse(link, name, value, f"Linux has {shown(values[0])}: {why}")
    return []


def _classes(link: Link) -> list[list[str]]:
    """Classes of the scheme `htb` on a single link: one for the link, and within it one for each user."""
    queue, rate = link.queue, f"{link.rate_bps}bit"

    def add(what: str, words: str) -> list[str]:
        return [what, "add", "dev", link.device, *words.split()]

    bursts = f"burst {_HTB_ROOT_BURST_BYTES} cburst {_HTB_ROOT_BURST_BYTES}"
    leaf_queue = f"{_fifo(link)} limit {_plain_number(queue['limit'])}"
    made = [
        add("qdisc", f"root handle 1: htb r2q {queue['r2q']}"),
        add("class", f"parent 1: classid 1:1 htb rate {rate} ceil {rate} {bursts}"),
    ]
    most = round(_number(queue["ceil"], "bit/s")) if queue.get("ceil") else link.rate_bps
    bursts = f"burst {_bytes(queue['burst'])} cburst {_bytes(queue['cburst'])}"
    quantum = f" quantum {_bytes(queue['quantum'])}" if queue.get("quantum") else ""
    for number, (address, weight, traffic_class) in enumerate(link.users):
        leaf = f"1:{number + SHARE_OF_USERS:x}"
        own = min(most, max(_LEAST_CLASS_BPS, round(_number(queue["rate"], "bit/s") * weight)))
        priority = 0 if traffic_class == "EF" else 1
        of_class = f"rate {own}bit ceil {most}bit {bursts} prio {priority}{quantum}"
        made += [
            add("class", f"parent 1:1 classid {leaf} htb {of_class}"),
            add("qdisc", f"parent {leaf} {leaf_queue}"),
            add("filter", f"parent 1: protocol ip prio 1 u32 match ip src {address}/32 flowid {leaf}"),
        ]
    return made
