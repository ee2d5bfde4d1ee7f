"""Maps Fairlane's schemes to classes of queue discs in ns-3, and keys to attributes."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .units import PACKETS, TIME, UntranslatableError, quantity

Translation = tuple[str, Callable[[Any], str]]


@dataclass(frozen=True)
class Disc:
    """A queue disc of ns-3."""

    name: str
    attributes: dict[str, Translation]
    """For each key of Fairlane: ns-3's attribute, and a function that formats its value (None if the key is absent)."""
    fixed: dict[str, Any] = field(default_factory=dict)
    """Keys for which ns-3 supports only this value."""
    link_rate: str = ""
    """Attribute that receives the rate of the link."""

    def factory(self, queue: dict[str, Any], link_rate: str) -> str:
        """Returns the text from which ns-3 creates the queue disc.

        Raises:
            UntranslatableError: A key has a value that ns-3 does not support.
        """
        for key, only in self.fixed.items():
            if queue[key] != only:
                here, there = json.dumps(queue[key]), json.dumps(only)
                raise UntranslatableError(f"queue.{key}: {here} is out of range, it must be {there}, as in ns-3")
        values = {attribute: write(queue.get(key)) for key, (attribute, write) in self.attributes.items()}
        if self.link_rate:
            values[self.link_rate] = link_rate
        return f"ns3::{self.name}[{'|'.join(f'{key}={value}' for key, value in values.items())}]"


def _packets(value: Any) -> str:
    return f"{quantity(value, PACKETS):g}"


def _time(value: Any) -> str:
    return f"{quantity(value, TIME) * 1e9:.0f}ns"


def _bytes(value: Any) -> str:
    return str(value).removesuffix(" B")


def _flag(value: Any) -> str:
    return str(bool(value)).lower()


def _time_or_never(value: Any) -> str:
    return "1000000s" if value is None else _time(value)


DISCS = {
    "red": Disc(
        "RedQueueDisc",
        {
            "min_th": ("MinTh", _packets),
            "max_th": ("MaxTh", _packets),
            "max_p": ("LInterm", lambda value: f"{1 / value:.12g}"),
            "weight": ("QW", str),
            "gentle": ("Gentle", _flag),
            "wait": ("Wait", _flag),
            "mean_packet": ("MeanPktSize", _bytes),
            "link_delay": ("LinkDelay", _time),
            "ecn": ("UseEcn", _flag),
            "hard_drop": ("UseHardDrop", _flag),
        },
        {"weight_rule": "given", "size_scaling": "none", "forced_restarts": False},
        link_rate="LinkBandwidth",
    ),
    "ared": Disc(
        "RedQueueDisc",
        {
            # ARED enables automatic thresholds and weight, and an adaptive max_p.
            "adaptation": ("ARED", lambda _: "true"),
            "max_p": ("LInterm", lambda value: f"{1 / value:.12g}"),
            "interval": ("Interval", _time),
            "alpha": ("Alpha", str),
            "beta": ("Beta", str),
            "top": ("Top", str),
            "bottom": ("Bottom", str),
            "gentle": ("Gentle", _flag),
            "wait": ("Wait", _flag),
            "mean_packet": ("MeanPktSize", _bytes),
            "target_delay": ("TargetDelay", _time),
            "ecn": ("UseEcn", _flag),
            "hard_drop": ("UseHardDrop", _flag),
        },
        {
            "adaptation": "floyd",
            "min_th": "0 packets",
            "max_th": "0 packets",
            "weight_rule": "second",
            "size_scaling": "none",
            "forced_restarts": False,
        },
        link_rate="LinkBandwidth",
    ),
    "pie": Disc(
        "PieQueueDisc",
        {
            "target": ("QueueDelayReference", _time),
            "update_interval": ("Tupdate", _time),
            "alpha": ("A", str),
            "beta": ("B", str),
            "max_burst": ("MaxBurstAllowance", _time),
            "cap_step": ("UseCapDropAdjustment", _flag),
            "derandomize": ("UseDerandomization", _flag),
            "ecn": ("UseEcn", _flag),
        },
        {"delay": "sojourn", "byte_mode": False},
    ),
    "codel": Disc(
        "CoDelQueueDisc",
        {"target": ("Target", _time), "interval": ("Interval", _time), "ecn": ("UseEcn", _flag)},
    ),
    "cobalt": Disc(
        "CobaltQueueDisc",
        {
            "target": ("Target", _time),
            "interval": ("Interval", _time),
            "ecn": ("UseEcn", _flag),
            "increment": ("Increment", str),
            "decrement": ("Decrement", str),
            "blue_threshold": ("BlueThreshold", _time_or_never),
        },
        {"spared_packets": 0, "keep_last": False},
    ),
    "fq_codel": Disc(
        "FqCoDelQueueDisc",
        {
            "buckets": ("Flows", str),
            "target": ("Target", _time),
            "interval": ("Interval", _time),
            "ecn": ("UseEcn", _flag),
            "drop_batch": ("DropBatchSize", str),
        },
        # The quantum is set in disc.cc.
        {"share_per": "flow", "quantum": "1514 B", "short_queue": "own"},
    ),
    "fq_pie": Disc(
        "FqPieQueueDisc",
        {
            "buckets": ("Flows", str),
            "target": ("QueueDelayReference", _time),
            "update_interval": ("Tupdate", _time),
            "alpha": ("A", str),
            "beta": ("B", str),
            "max_burst": ("MaxBurstAllowance", _time),
            "cap_step": ("UseCapDropAdjustment", _flag),
            "derandomize": ("UseDerandomization", _flag),
            "ecn": ("UseEcn", _flag),
            "ecn_limit": ("MarkEcnThreshold", str),
            "drop_batch": ("DropBatchSize", str),
        },
        # The quantum is set in disc.cc.
        {"share_per": "flow", "byte_mode": False, "overflow": "longest", "quantum": "1514 B"},
    ),
}
