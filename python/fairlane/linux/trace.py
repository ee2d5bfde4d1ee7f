"""Records a run on a kernel: the table of TCP senders that `fairlane run --trace` writes for simulated runs."""

from __future__ import annotations

import io
import json

import polars as pl

from fairlane import _fairlane
from fairlane.base.errors import UserError
from fairlane.base.quantities import parsed
from fairlane.linux.plan import Plan

SHORTEST_NS = 1000
STATES = ("open", "disorder", "cwr", "recovery", "loss")
"""Names of the kernel's enum tcp_ca_state, in order."""
_UNKNOWN_RTT_US = (1 << 32) - 1
_UNKNOWN_RATE = (1 << 64) - 1


def interval_ns(interval: str) -> int:
    """Time between two samples.

    Raises:
        UserError: The interval is too short.
    """
    found = round(1e9 * (parsed(interval, "s") or 0.0))
    if found < SHORTEST_NS:
        raise UserError(f"trace_interval: {interval}, the plane linux takes samples, from 1 us up")
    return found


def senders(scenario: str, replication: int, made: Plan, samples: bytes) -> pl.DataFrame:
    """The table `tcp` of a replication of a canonical scenario, given the guest's `info.csv`."""
    table = json.loads(scenario)
    group, user = _fairlane.users(scenario)
    flows = pl.DataFrame(
        {
            "flow": range(len(made.flows)),
            "group": [table["groups"][group[flow.user]]["name"] for flow in made.flows],
            "user": [user[flow.user] for flow in made.flows],
            "payload": [flow.payload for flow in made.flows],
        }
    )
    types = {"pacing_Bps": pl.UInt64, "delivery_Bps": pl.UInt64}
    rows = pl.read_csv(io.BytesIO(samples), schema_overrides=types) if samples else pl.DataFrame(schema=_COLUMNS)
    payload = pl.col("payload")
    in_flight = pl.col("unacked") - pl.col("sacked") - pl.col("lost") + pl.col("retransmitted")
    # During the handshake the kernel has no RTT sample, and one segment in flight: the SYN.
    is_opening = (pl.col("srtt_us") == 0) & (pl.col("state") == 0)
    state = pl.col("state").replace_strict(dict(enumerate(STATES)), return_dtype=pl.String)
    identity = {"scenario": table["name"], "queue": table["queue"]["scheme"], "seed": table["run"]["seed"]}
    return rows.join(flows, on="flow", how="left").select(
        *(pl.lit(value).alias(name) for name, value in {**identity, "replication": replication}.items()),
        (pl.col("time_ns") / 1e9).alias("time_s"),
        "group",
        "user",
        "flow",
        pl.when(is_opening).then(pl.lit("syn_sent")).otherwise(state).alias("state"),
        (pl.col("cwnd") * payload).alias("cwnd_bytes"),
        (pl.col("ssthresh") * payload).alias("ssthresh_bytes"),
        (in_flight * payload).alias("in_flight_bytes"),
        _known(pl.col("srtt_us"), 0, 1e-6, "srtt_s"),
        _known(pl.col("min_rtt_us"), _UNKNOWN_RTT_US, 1e-6, "min_rtt_s"),
        _known(pl.col("pacing_Bps"), _UNKNOWN_RATE, 8.0, "pacing_rate_bps"),
        _known(pl.col("delivery_Bps"), 0, 8.0, "delivery_rate_bps"),
        (pl.col("lost") * payload).alias("lost_bytes"),
    )


_COLUMNS = dict.fromkeys(
    ("time_ns", "flow", "cwnd", "ssthresh", "srtt_us", "unacked", "sacked", "lost", "retransmitted"), pl.Int64
) | dict.fromkeys(("pacing_Bps", "delivery_Bps", "min_rtt_us", "state"), pl.Int64)


def _known(column: pl.Expr, unknown: int, factor: float, name: str) -> pl.Expr:
    return pl.when(column != unknown).then(column.cast(pl.Float64) * factor).alias(name)
