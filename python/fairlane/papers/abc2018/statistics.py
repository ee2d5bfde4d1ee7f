"""Statistics for claims that are not about a metric of a point: histograms, pairs of runs, arithmetic."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from statistics import fmean, stdev
from typing import Any

from fairlane.judge.experiment import Experiment
from fairlane.judge.grid import Point, Row, Table
from fairlane.judge.measurements import records_of
from fairlane.judge.verdicts import Statistic, rows_at
from fairlane.papers.abc2018.metrics import PACKET_BITS, added
from fairlane.simulate.scenario import Scenario, cbr, group, poisson

TableOf = Callable[[Mapping[str, Table]], Table | None]
Change = Callable[[Sequence[float], Sequence[float]], tuple[float, ...]]
RUNS = 10
"""Number of simulated runs for each number that the paper states in its text."""
STEP_S = 0.002
"""Step in which a starting user is observed."""


def gain_after_one_second(tables: Mapping[str, Table]) -> Table | None:
    """Data received within 1 s of an upload's start with ABC, divided by that with drop-tail, by flows and delay."""
    rows = []
    for name, delay_ms in (("abc2018.fig11a", 5), ("abc2018.fig11b", 50)):
        for flows in tables[name].grid["f1"]:
            at = {"f1": flows, "t_s": 1, "MAM_s": 3}
            means = [tables[name].cells([scheme], ["received_MB"], at) for scheme in ("abc", "droptail")]
            if not all(means):
                return None
            ((above,), (below,)) = means
            gain = above.interval.mean / below.interval.mean
            rows.append(Row({"scheme": "abc", "f1": flows, "Db_ms": delay_ms}, {"received_MB": (gain,)}))
    return replace(tables["abc2018.fig11b"], rows=rows)


def ends(experiment: str, metric: str, variable: str, values: tuple[Any, Any], change: Change) -> TableOf:
    """Change of a metric from one value of a variable to another, for all values of the other variables."""

    def table(tables: Mapping[str, Table]) -> Table:
        own = tables[experiment]
        samples = {_at(row.at): row.metric(metric) for row in own.rows}
        rows = []
        for row in own.rows:
            pair = [samples.get(_at({**row.at, variable: value}), ()) for value in values]
            if row.at[variable] == values[0] and all(pair):
                at = {name: value for name, value in row.at.items() if name == "scheme" or name != variable}
                rows.append(Row(at, {metric: change(*pair)}))
        return replace(own, rows=rows)

    return table


def _at(at: Point) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted(at.items()))


def distance(above: Sequence[float], below: Sequence[float]) -> tuple[float, ...]:
    """Distance of the means."""
    return (abs(fmean(above) - fmean(below)),)


def quotients(above: Sequence[float], below: Sequence[float]) -> tuple[float, ...]:
    """Quotients, run by run; infinite for a zero denominator."""
    return tuple(a / b if b else math.inf for a, b in zip(above, below, strict=False))


def distance_from_fair(tables: Mapping[str, Table]) -> Table:
    """Distance between user 0's throughput and half of the link rate in each run with two users."""
    own = tables["abc2018.fig14a"]
    half = own.parameters["Cb_mbps"] / 2
    rows = [replace(row, samples={"T0": tuple(abs(rate - half) for rate in row.metric("T0"))}) for row in own.rows]
    return replace(own, rows=rows)


def farthest_from_proportional(tables: Mapping[str, Table]) -> Table:
    """Largest relative distance of user 0's throughput from its proportional share in overload, by kind of source."""
    rates = tables["abc2018.iva1_cbr"].grid["R0_mbps"]
    rows = []
    for name, source in (("abc2018.iva1_cbr", "cbr"), ("abc2018.fig3a", "poisson")):
        own = tables[name]
        distances = []
        for row in own.rows:
            load, capacity = row.at["R0_mbps"] + row.at["R1_mbps"], own.parameters["Cb_mbps"]
            if row.at["scheme"] == "droptail" and load >= 1.1 * capacity and row.at["R0_mbps"] in rates:
                share = capacity * row.at["R0_mbps"] / load
                distances.append(abs(fmean(row.metric("T0")) / share - 1))
        if distances:
            rows.append(Row({"scheme": "droptail", "source0": source}, {"T0": (max(distances),)}))
    return replace(tables["abc2018.iva1_cbr"], rows=rows)


def differing_decisions(tables: Mapping[str, Table]) -> Table | None:
    """Number of values (see `metrics.outcome`) that differ from the run whose reference rates are unscaled (s = 1)."""
    own = tables["abc2018.ive1"]
    plain = {row.at["Db_ms"]: row.traces["outcome"] for row in own.rows if row.at["s"] == 1}
    rows = [
        Row(row.at, {"drop_sequence": _differences(row.traces["outcome"], plain[row.at["Db_ms"]])})
        for row in own.rows
        if row.at["Db_ms"] in plain
    ]
    return replace(own, rows=rows)


def _differences(runs: Sequence[Sequence[float]], plain: Sequence[Sequence[float]]) -> tuple[float, ...]:
    pairs = zip(runs, plain, strict=True)
    return tuple(float(sum(a != b for a, b in itertools.zip_longest(run, other))) for run, other in pairs)


def queue_at_drop(tables: Mapping[str, Table], quantile: float) -> Table | None:
    """Quantile of the queue length at the arrival of dropped packets, over all runs; 0 gives the shortest."""
    rows = []
    for row in tables["abc2018.fig16a"].rows:
        counts = added(row.traces["drops_found"])
        rank = max(math.ceil(quantile * sum(counts)), 1)
        length = next((i for i in range(len(counts)) if sum(counts[: i + 1]) >= rank), None)
        if length is not None:
            rows.append(Row(row.at, {"drop_queue_hist": (float(length),)}))
    return replace(tables["abc2018.fig16a"], rows=rows)


def numbers(experiment: Experiment) -> list[Row]:
    """The numbers printed in the text, measured with the simulator's source, link and meter where possible."""
    parameters = experiment.parameters
    rows = []
    for rate_mbps, link_mbps in ((1, 10), (10, 100)):
        records = _runs(poisson(f"{rate_mbps} Mbit/s"), link_mbps, seconds=1000, interval_s=1.0, memory_s=1.0)
        of_runs = [record["series"]["groups"][0]["throughput_bps"][1:] for record in records]
        variations = [stdev(rates) / fmean(rates) for rates in of_runs]
        rows.append(_number("poisson_source", "poisson_cv", variations, rate_mbps=rate_mbps))
    memory_s = parameters["MAM_s"]
    half_mbps = parameters["Cb_mbps"] / 2
    records = _runs(cbr(f"{half_mbps} Mbit/s"), parameters["Cb_mbps"], seconds=50, interval_s=1.0, memory_s=memory_s)
    links = [next(link for link in record["links"] if link["name"] == "bottleneck") for record in records]
    times_ms = [1e3 * link["utilisation"] * PACKET_BITS / link["throughput_bps"] for link in links]
    rows.append(_number("link", "packet_time", times_ms))
    sums_mb = [record["series"]["groups"][0]["rate_bps"][-1] * memory_s / 8e6 for record in records]
    rows.append(_number("abc", "weighted_sum", sums_mb))
    rows += _starting(parameters)
    for delay_ms in (5, 25, 50):
        bits = 2 * (delay_ms + parameters["Da_ms"]) * 1e-3 * parameters["Cb_mbps"] * 1e6
        at = {"scheme": "link", "claim": "bdp", "Db_ms": delay_ms}
        rows.append(Row(at, {"number": (bits / PACKET_BITS,)}, exact=True))
    return rows


def _starting(parameters: Mapping[str, Any]) -> list[Row]:
    """Two numbers about a user that starts after a long silence.

    The first is the data in MB that the user sends until its metered rate is half of the link rate. The second is the
    user's activity after it has sent for 1 s at half of the link rate.
    """
    half_mbps, memory_s = parameters["Cb_mbps"] / 2, parameters["MAM_s"]
    speeds = [(speed_mbps, memory_s, "starting_bytes") for speed_mbps in (20, 50, 100)]
    memories = [(100, seconds, "starting_scales") for seconds in (1, 3, 10)]
    rows = []
    for speed_mbps, seconds, claim in (*speeds, *memories):
        rates = _metered(speed_mbps, seconds)
        bins = next(index for index, rate in enumerate(rates, start=1) if rate >= half_mbps)
        sent_mb = speed_mbps * bins * STEP_S / 8
        rows.append(_number("abc", claim, [sent_mb], R0_mbps=speed_mbps, MAM_s=seconds))
    after_s = _metered(half_mbps, memory_s)[round(1 / STEP_S) - 1]
    rows.append(_number("abc", "starting_activity", [math.log2(after_s / half_mbps)]))
    return [replace(row, exact=True) for row in rows]


def _metered(rate_mbps: float, memory_s: float) -> list[float]:
    """Metered rate in Mb/s of a CBR user that starts after a long silence, every `STEP_S` from its start."""
    silent_s = 10 * memory_s
    source = cbr(f"{rate_mbps} Mbit/s")
    (record, *_) = _runs(
        source, 1000, seconds=silent_s + 5, interval_s=STEP_S, memory_s=memory_s, start_s=silent_s, runs=1
    )
    rates = record["series"]["groups"][0]["rate_bps"]
    return [rate / 1e6 for rate in rates[round(silent_s / STEP_S) :]]


def _runs(
    source: Mapping[str, Any],
    link_mbps: float,
    *,
    seconds: float,
    interval_s: float,
    memory_s: float,
    start_s: float = 0,
    runs: int = RUNS,
) -> list[Any]:
    """Records of a single user on a link that is never full."""
    scenario = Scenario(
        "abc2018.numbers",
        group("user", dict(source), start_from=f"{start_s} s", start_until=f"{start_s} s"),
        queue="droptail",
        topology={"bottleneck_rate": f"{link_mbps} Mbit/s", "access_rate": "1 Gbit/s"},
        run={"warmup": "1 s", "measure": f"{seconds} s", "replications": runs},
        probes={"series_interval": f"{interval_s} s", "series_memory": f"{memory_s} s"},
    )
    return records_of(scenario)


def _number(scheme: str, claim: str, of_runs: Sequence[float], **variables: Any) -> Row:
    return Row({"scheme": scheme, "claim": claim, **variables}, {"number": tuple(of_runs)})


COMPUTED = {"abc2018.numbers": numbers}

STATISTICS: dict[str, Statistic] = {
    "abc2018.fig11b.smaller_gain": Statistic(gain_after_one_second, needs=("abc2018.fig11a",)),
    "abc2018.fig9a.qmin_visible": Statistic(ends("abc2018.fig9a", "T_R", "Qmin_pkts", (1, 12), distance)),
    "abc2018.fig9b.qmin_visible": Statistic(ends("abc2018.fig9b", "queue_mean", "Qmin_pkts", (1, 12), distance)),
    "abc2018.fig11a.memory_converges": Statistic(ends("abc2018.fig11a", "received_MB", "MAM_s", (10, 0.3), quotients)),
    "abc2018.iva1_cbr.artefacts": Statistic(farthest_from_proportional, needs=("abc2018.fig3a",)),
    "abc2018.fig14a.fairer": Statistic(distance_from_fair),
    "abc2018.fig15b.gap_order": Statistic(ends("abc2018.fig15b", "T_R", "scheme", ("csfq", "abc"), quotients)),
    "abc2018.ive1.drops_identical": Statistic(differing_decisions),
    "abc2018.fig16a.min": Statistic(partial(queue_at_drop, quantile=0.0), extreme=True),
    "abc2018.fig16a.max": Statistic(partial(queue_at_drop, quantile=0.999)),
    **{
        f"abc2018.numbers.{claim}": rows_at("abc2018.numbers", claim=claim)
        for claim in (
            "poisson_cv",
            "packet_time",
            "weighted_sum",
            "bdp",
            "starting_bytes",
            "starting_scales",
            "starting_activity",
        )
    },
}
