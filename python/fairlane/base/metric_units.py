"""Units of metrics, by the end of their names."""

from __future__ import annotations

UNITS = {
    "_bps": "bit/s",
    "_s": "s",
    "_seconds": "s",
    "_packets": "packets",
    "_bytes": "bytes",
    "_records": "records",
    "_segments": "segments",
    "utilisation": "1",
    "throughput_ratio": "1",
    "jain_index": "1",
    "jain_index_flows": "1",
    "jain_index_normalised": "1",
    "normalised_throughput": "1",
    "share": "1",
    "_mos": "1",
    "_rpm": "1/min",
    "_stalls": "1",
    "_switches": "1",
    "r_factor": "1",
    "slowdown_mean": "1",
    "slowdown_p50": "1",
    "slowdown_p95": "1",
    "slowdown_p99": "1",
    "slowdown_max": "1",
}


def unit_of(column: str) -> str | None:
    """The unit of a column, which is the end of the first part of its name."""
    quantity = column.split(".", 1)[0]
    return next((unit for end, unit in UNITS.items() if quantity.endswith(end)), None)
