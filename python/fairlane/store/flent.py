"""Time series as data files of Flent (https://flent.org, doc/data-format.rst, version 4 of the format).

A file contains one run. Groups with only TCP become the series `TCP upload::GROUP` of Flent's test `tcp_nup`, so that
its plots work; other groups become `UDP upload::GROUP` or `upload::GROUP`. Rates are in Mbit/s, as in Flent. A file has
no pings. The plots show the round-trip times that TCP senders sampled on the axis for pings. Simulated time begins at
1970-01-01T00:00:00Z, so that the bytes of a file are reproducible.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from typing import Any

FORMAT = 4
TEST = "tcp_nup"
PING = "Ping (ms) ICMP"
"""Quantity on the second axis of the plots of `tcp_nup`."""
OF_GROUPS = (
    ("Ping", "ms", "rtt_s", 1e3),
    ("One-way delay", "ms", "one_way_delay_s", 1e3),
    ("Lost", "%", "lost_share", 100.0),
    ("Marked", "%", "marked_share", 100.0),
)
"""Time series of a group's path: name and unit in the file, name in the record, factor between their units."""
EPOCH = "1970-01-01T00:00:00.000000Z"

Row = dict[str, Any]


def content(scenario: Row, run: Row, title: str) -> bytes | None:
    """The file of a run; None if it has no time series."""
    series = run.get("series")  # lab runs have none
    if series is None:
        return None
    results, units = _results(scenario, series)
    step_s = series["interval_s"]
    x_values = [series["start_s"] + (index + 1) * step_s for index in range(len(series["queue_packets"]))]
    document = {
        "version": FORMAT,
        "metadata": {
            "NAME": TEST,
            "TITLE": title,
            "TIME": EPOCH,
            "T0": EPOCH,
            "NOTE": f"Simulated by Fairlane {run['version']}, replication {run['replication']} of seed {run['seed']}.",
            "HOST": "server",
            "HOSTS": ["server"],
            "LOCAL_HOST": "fairlane",
            "LENGTH": run["window_s"][1],
            "TOTAL_LENGTH": run["window_s"][1],
            "STEP_SIZE": step_s,
            "IP_VERSION": 4,
            "TEST_PARAMETERS": {"upload_streams": str(len(series["groups"]))},
            "SERIES_META": {name: {"UNITS": unit} for name, unit in units.items()},
            "FAIRLANE_SCENARIO": scenario,
        },
        "x_values": x_values,
        "results": results,
        "raw_values": {
            name: [{"t": t, "val": value} for t, value in zip(x_values, values, strict=True) if value is not None]
            for name, values in results.items()
        },
    }
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, sort_keys=True)
    return gzip.compress(text.encode(), mtime=0)


def _results(scenario: Row, series: Row) -> tuple[dict[str, list[float | None]], dict[str, str]]:
    """Values and units of all series."""
    results: dict[str, list[float | None]] = {}
    for config, group in zip(scenario["groups"], series["groups"], strict=True):
        kinds = {source["kind"] for source in config["sources"]}
        transport = "TCP " if kinds == {"tcp"} else "" if "tcp" in kinds else "UDP "
        results[f"{transport}upload::{group['name']}"] = [value / 1e6 for value in group["throughput_bps"]]
    units = dict.fromkeys(results, "Mbits/s")
    tcp = [values for name, values in results.items() if name.startswith("TCP ")]
    if tcp:
        sums = [sum(value or 0.0 for value in values) for values in zip(*tcp, strict=True)]
        results["TCP upload sum"] = list(sums)
        results["TCP upload avg"] = [value / len(tcp) for value in sums]
        units |= {"TCP upload sum": "Mbits/s", "TCP upload avg": "Mbits/s"}
    for words, unit, name, factor in OF_GROUPS:
        of_groups = {group["name"]: [_scaled(value, factor) for value in group[name]] for group in series["groups"]}
        seen = {group: values for group, values in of_groups.items() if any(value is not None for value in values)}
        own = {f"{words} ({unit})::{group}": values for group, values in seen.items()}
        if name == "rtt_s" and seen:
            own[PING] = [_mean_of(values) for values in zip(*seen.values(), strict=True)]
        results |= own
        units |= dict.fromkeys(own, unit)
    results["Queue (packets)"] = list(series["queue_packets"])
    results["Drop threshold"] = list(series["drop_threshold"])
    return results, units | {"Queue (packets)": "packets", "Drop threshold": "unit of the scheme"}


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else factor * value


def _mean_of(values: Sequence[float | None]) -> float | None:
    """The mean of the values that are not None."""
    there = [value for value in values if value is not None]
    return sum(there) / len(there) if there else None
