"""Statistics for claims that are not about a metric of one point: computed shares, ratios of groups, variation."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from statistics import fmean, pvariance
from typing import Any

from fairlane.judge.experiment import Experiment
from fairlane.judge.grid import Row, Table
from fairlane.judge.measurements import records_of
from fairlane.judge.verdicts import Statistic, rows_at
from fairlane.papers.afpft.metrics import averaged
from fairlane.papers.afpft.scenarios import AVERAGE_INTERVAL_S, scenario
from fairlane.results.metrics import jain

SHARES: dict[str, dict[str, Any]] = {
    "fig2": {"group_rates_mbps": [0.5, 1.0, 1.5, 2.0], "flows_per_group": 5, "Cb_mbps": 20},
    "fig3": {"n_tcp": 32, "n_udp": 1, "R_udp_mbps": 1, "Cb_mbps": 1},
    "fig6": {"rate_mbps": "i*0.3125", "flows": 32, "Cb_mbps": 10},
    "fig9": {"cross_flows": 10, "cross_mbps": 2, "flow0": "tcp_saturated", "L": 1, "Cb_mbps": 10, "host_mbps": 20},
}
"""Scenarios whose max-min shares the paper's text states."""

RTT_SHARE = (1000, 25, (20, 40, 80, 100))
"""Rate in Mb/s, flows per group, and round-trip times in ms, from III-C."""

SHORT_S = 0.05
"""Length in s of the stretches whose mean `short_variances` subtracts, so that only fast changes remain."""


def numbers(experiment: Experiment) -> list[Row]:
    """Computes, with the simulator, the shares that the paper's text states."""
    rows = []
    for name, changes in SHARES.items():
        share = max(_max_min_mbps({**experiment.parameters, **changes}))
        rows.append(Row({"scheme": "maxmin", "scenario": name}, {"number": (share,)}, exact=True))
    rows.append(Row({"scheme": "droptail"}, {"number": (rtt_share(*RTT_SHARE),)}, exact=True))
    return rows


def rtt_share(rate_mbps: float, flows_per_group: int, rtts_ms: Sequence[float]) -> float:
    """Throughput in Mb/s of a flow of the first group if throughput is proportional to 1/RTT."""
    return rate_mbps / math.fsum(flows_per_group * rtts_ms[0] / rtt for rtt in rtts_ms)


def _max_min_mbps(values: Mapping[str, Any]) -> list[float]:
    """Max-min share of a flow of each group."""
    short = scenario(values).replace("run.warmup", "5 s").replace("run.measure", "0.1 s")
    (record,) = records_of(short.replace("run.replications", 1))
    return [group["max_min_share_bps"] / 1e6 for group in record["groups"]]


def group_ratios(tables: Mapping[str, Table]) -> Table:
    """Throughput of a G1 flow divided by that of a G4 flow, for each scheme and run."""
    rates: dict[str, dict[int, Sequence[float]]] = {}
    for row in tables["afpft.fig7"].rows:
        rates.setdefault(row.at["scheme"], {})[row.at["group"]] = row.metric("tput_g_mbps")
    rows = [
        Row({"scheme": name}, {"tput_g_mbps": tuple(a / b for a, b in zip(groups[1], groups[4], strict=True))})
        for name, groups in rates.items()
    ]
    return replace(tables["afpft.fig7"], rows=rows)


def spread_of_means(tables: Mapping[str, Table]) -> Table:
    """Largest minus smallest of the TCP flows' throughputs, by scheme.

    A flow's throughput is its mean over the replications, since Fig. 3 is "averaged over 30 replications".
    """
    return _of_flow_means(tables, "tcp_spread_kbps", lambda means: max(means) - min(means))


def jain_of_means(tables: Mapping[str, Table]) -> Table:
    """Jain's index over the mean throughputs of the TCP flows, by scheme."""
    return _of_flow_means(tables, "jain_tcp", jain)


def _of_flow_means(
    tables: Mapping[str, Table], metric: str, number: Callable[[Sequence[float]], float | None]
) -> Table:
    """Table with a row per scheme: `number` of the flows' mean throughputs over the replications, in Fig. 3."""
    rows = [
        Row(row.at, {metric: (number([fmean(rates) for rates in zip(*row.traces["tcp_kbps"], strict=True)]),)})
        for row in tables["afpft.fig3"].rows
        if row.traces.get("tcp_kbps")
    ]
    return replace(tables["afpft.fig3"], rows=rows)


def spread_of_schemes(tables: Mapping[str, Table]) -> Table:
    """Largest minus smallest throughput of the CBR flow among the schemes, for each rate and run."""
    rates: dict[float, list[Sequence[float]]] = {}
    for row in tables["afpft.fig5b"].rows:
        rates.setdefault(row.at["R_udp_kbps"], []).append(row.metric("udp_kbps"))
    rows = [
        Row(
            {"scheme": "afpft", "R_udp_kbps": rate},
            {"udp_kbps": tuple(max(run) - min(run) for run in zip(*of_schemes, strict=False))},
        )
        for rate, of_schemes in rates.items()
    ]
    return replace(tables["afpft.fig5b"], rows=rows)


def largest_over_smallest(experiment: str) -> Callable[[Mapping[str, Table]], Table]:
    """Largest divided by smallest throughput of a flow, for each run, scheme and value of the other variables."""

    def table(tables: Mapping[str, Table]) -> Table:
        own = tables[experiment]
        shares: dict[tuple[tuple[str, Any], ...], list[Sequence[float]]] = {}
        for row in own.rows:
            at = tuple((name, value) for name, value in row.at.items() if name != "i")
            shares.setdefault(at, []).append(row.metric("tput_over_fair"))
        rows = [
            Row(dict(at), {"tput_over_fair": tuple(_quotient(max(run), min(run)) for run in zip(*flows, strict=False))})
            for at, flows in shares.items()
        ]
        return replace(own, rows=rows)

    return table


def _quotient(above: float, below: float) -> float:
    return above / below if below else math.inf


def most_listed(tables: Mapping[str, Table]) -> Table:
    """Largest number of flows that a link lists at the end of a run, and smallest number of packets that a link holds.

    There is a row for each number of links. The routers of Fig. 4(b) are edge routers for the cross traffic, so they
    also list the flows of the cross traffic. Core routers list fewer flows.
    """
    rows = [
        Row(
            {**row.at, "buffered_packets": min(min(held) for held in row.traces["held_packets"])},
            {"listed_flows": (max(max(listed) for listed in row.traces["listed_flows"]),)},
        )
        for row in tables["afpft.state"].rows
        if all(row.traces.get("listed_flows", ()))
    ]
    return replace(tables["afpft.state"], rows=rows)


def short_variances(tables: Mapping[str, Table]) -> Table:
    """Fast changes of the averaged queue, by scheme: its variance after subtraction of its mean over each 50 ms."""
    return _of_averages(tables, lambda average: pvariance(_without_mean(average, round(SHORT_S / AVERAGE_INTERVAL_S))))


def relative_swings(tables: Mapping[str, Table]) -> Table:
    """Swing (largest minus smallest) of the averaged queue by scheme, divided by that of RED without adaptation."""
    swings = _of_averages(tables, lambda average: max(average) - min(average))
    plain = [row.samples["avg_queue"] for row in swings.rows if row.at["scheme"] == "red_static"]
    rows = [
        Row(row.at, {"avg_queue": tuple(a / b for a, b in zip(row.metric("avg_queue"), plain[0], strict=True) if b)})
        for row in swings.rows
        if plain
    ]
    return replace(tables["afpft.fig8"], rows=rows)


def averages(table: Table) -> dict[str, list[list[float]]]:
    """Traces of the averaged queue length (Fig. 8) by scheme: one per run, from the start of the run."""
    return {
        row.at["scheme"]: [
            averaged(queue, sent, row.at["scheme"], table.parameters)
            for queue, sent in zip(row.traces["queue_packets"], row.traces["sent_packets"], strict=True)
        ]
        for row in table.rows
        if "queue_packets" in row.traces
    }


def _of_averages(tables: Mapping[str, Table], number: Callable[[Sequence[float]], float]) -> Table:
    """Table with a row per scheme. A sample is `number` of the second half of a run's averaged queue length."""
    rows = [
        Row({"scheme": name}, {"avg_queue": tuple(number(average[len(average) // 2 :]) for average in runs)})
        for name, runs in averages(tables["afpft.fig8"]).items()
    ]
    return replace(tables["afpft.fig8"], rows=rows)


def _without_mean(trace: Sequence[float], width: int) -> list[float]:
    """The trace minus its mean over each stretch of `width` bins."""
    stretches = [trace[start : start + width] for start in range(0, len(trace), width)]
    return [value - math.fsum(part) / len(part) for part in stretches for value in part]


COMPUTED = {"afpft.numbers": numbers}

STATISTICS: dict[str, Statistic] = {
    "afpft.numbers.shares": rows_at("afpft.numbers", scheme="maxmin"),
    "afpft.numbers.rtt_shares": rows_at("afpft.numbers", scheme="droptail"),
    **{f"afpft.fig3.{claim}": Statistic(spread_of_means) for claim in ("spread_fred", "spread_csfq", "spread_afpft")},
    **{f"afpft.fig3.{claim}": Statistic(jain_of_means) for claim in ("jain", "jain_order")},
    "afpft.fig5b.spread_grows": Statistic(spread_of_schemes),
    "afpft.fig6.fred_unfair": Statistic(largest_over_smallest("afpft.fig6")),
    "afpft.iid.small_buffer": Statistic(largest_over_smallest("afpft.iid")),
    **{
        f"afpft.fig7.{claim}": Statistic(group_ratios)
        for claim in ("afpft_best", "tight_better", "csfq_worst", "fred_marginal", "fifo_poor")
    },
    "afpft.fig8.default_sensitive": Statistic(short_variances),
    "afpft.fig8.cycles": Statistic(relative_swings),
    "afpft.state.bounded": Statistic(most_listed, extreme=True),
}
