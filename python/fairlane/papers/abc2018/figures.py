"""The paper's figures, each drawn by one function from measured points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from fairlane.judge.drawing import Canvas, Draw
from fairlane.papers.abc2018.metrics import added
from fairlane.papers.abc2018.scenarios import TRACE_INTERVAL_S
from fairlane.results.intervals import interval
from fairlane.results.plots import COLOURS, LINES, MARKERS, logarithmic

NAMES: dict[tuple[str, Any], str] = {
    ("scheme", "droptail"): "drop-tail",
    ("scheme", "abc"): "ABC",
    ("scheme", "abc_fair"): "ABC, fair meter",
    ("scheme", "csfq"): "CSFQ",
    ("scheme", "csfq_qmin"): r"CSFQ with $Q_{min}$",
    ("metric", "delay_BE"): "BE",
    ("metric", "delay_EF"): "EF",
    ("flows_per_user", 1): "1 flow per user",
    ("flows_per_user", 2): "2 flows per user",
    **{("Db_ms", delay): rf"$D_b$ = {delay} ms" for delay in (5, 25, 50)},
    **{("a_EF", factor): rf"$a_{{EF}}$ = {factor}" for factor in (1, 3)},
    **{("R1_mbps", rate): rf"$R_t^1$ = {rate:g} Mb/s" for rate in (2.5, 5.0, 7.5, 10.0)},
    **{("Qmin_pkts", n): rf"$Q_{{min}}$ = {n}" for n in (1, 6, 12, 18)},
    **{("gamma_pkts", n): rf"$\gamma$ = {n}" for n in (4, 16, 64)},
    **{("f1", flows): f"$f_1$ = {flows}" for flows in (1, 2)},
    **{("MAM_s", memory): rf"$M_{{AM}}$ = {memory} s" for memory in (0.3, 1, 3, 10)},
    **{("MAA_s", memory): rf"$M_{{AA}}$ = {memory:g} s" for memory in (0.1, 0.3, 1.0)},
}

RATE = r"transmission rate $R_t^0$ of user 0 (Mb/s)"
FLOWS = r"flows $f_0$ of the heavy user"
TIME = "time since the start of the flow (s)"
THROUGHPUT = r"throughput $T_0$ of user 0 (Mb/s)"
RATIO = r"throughput ratio $T_R$"
QUEUE = "mean queue length (packets)"
USE = "utilisation of the bottleneck"
DELAY = "mean queueing delay (ms)"
GAMMA = r"differentiation factor $\gamma$ (packets)"
BASE = r"$Q_{base}$ (packets)"
MEMORY = r"memory $M_{AM}$ of the meters (s)"
AT_DROP = "packets waiting when a packet is dropped"
BE_DELAY = "mean queueing delay of BE (ms)"

RATIO_TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)
RATIO_RANGE = (0.02, 100.0)
"""Range of drawn ratios; other ratios have a denominator near zero."""
FROM_0 = (0, None)

X_LABELS = {"R0_mbps": RATE, "f0": FLOWS, "gamma_pkts": GAMMA, "Qbase_pkts": BASE, "MAM_s": MEMORY}


def curves(
    x: str,
    *metrics: str,
    by: tuple[str, str],
    ylabel: str,
    ylim: tuple[float, float | None] | None = None,
    ratio_ticks: bool = False,
    within: tuple[float, float] = (-math.inf, math.inf),
) -> Draw:
    """Returns a function that draws curves over `x`. `by` names the variables shown by colour and by line style."""

    def draw(canvas: Canvas) -> None:
        canvas.curves(x, *metrics, colour=by[0], line=by[1], names=NAMES, within=within)
        _over(canvas, x, ylabel)
        if ratio_ticks:
            logarithmic(canvas.axes, "y", RATIO_TICKS)
        if ylim:
            canvas.axes.set(ylim=ylim)

    return draw


def _over(canvas: Canvas, x: str, ylabel: str) -> None:
    values = canvas.table.grid[x]
    canvas.axes.set(xlabel=X_LABELS[x], ylabel=ylabel)
    match x:
        case "R0_mbps":
            canvas.axes.set(xlim=FROM_0)
        case "gamma_pkts":
            canvas.axes.set_xscale("symlog", base=2, linthresh=1)
            canvas.axes.set(xticks=values, xticklabels=[str(value) for value in values])
        case "MAM_s":
            logarithmic(canvas.axes, "x", values)
        case _:
            canvas.axes.set(xticks=values)


def fig8(canvas: Canvas) -> None:
    """Throughput ratio when user 0 has a larger reference rate."""
    canvas.curves("s", "T_R", colour="Db_ms", line="flows_per_user", names=NAMES)
    canvas.axes.set(xlabel="scaling factor s of the reference rate of user 0", ylabel=RATIO)
    logarithmic(canvas.axes, "x", canvas.table.grid["s"])
    logarithmic(canvas.axes, "y", canvas.table.grid["s"])


def fig9c(canvas: Canvas) -> None:
    """Utilisation over gamma and Q_min; drop-tail has neither parameter."""
    canvas.curves("gamma_pkts", "utilisation", colour="Qmin_pkts", line="Db_ms", names=NAMES, where={"scheme": "abc"})
    for delay_ms, line in zip(canvas.table.grid["Db_ms"], LINES, strict=False):
        at = {"Db_ms": delay_ms, "gamma_pkts": "first", "Qmin_pkts": "first"}
        (cell,) = canvas.table.cells(["droptail"], ["utilisation"], at)
        label = f"{NAMES['scheme', 'droptail']}, {NAMES['Db_ms', delay_ms]}"
        canvas.axes.axhline(cell.interval.mean, color="0.4", linestyle=line, linewidth=1, label=label)
    _over(canvas, "gamma_pkts", USE)


def fig11(canvas: Canvas) -> None:
    """Received data of an upload over time, for each time constant of ABC's meters and each number of flows.

    Drop-tail has no meters, so it has one curve for each number of flows.
    """
    for flows, line in zip(canvas.table.grid["f1"], LINES, strict=False):
        at = {"f1": flows, "MAM_s": "first"}
        cells = canvas.table.cells(["droptail"], ["received_MB"], at)
        times, means = [cell.at["t_s"] for cell in cells], [cell.interval.mean for cell in cells]
        label = f"{NAMES['scheme', 'droptail']}, {NAMES['f1', flows]}"
        canvas.axes.plot(times, means, line, color="0.4", linewidth=1, label=label)
    canvas.curves("t_s", "received_MB", colour="MAM_s", line="f1", names=NAMES, where={"scheme": "abc"})
    canvas.axes.set(xlabel="time since the start of the upload (s)", ylabel="received (MB)", xscale="log", yscale="log")


def fig16(canvas: Canvas) -> None:
    """Queue length at the arrival of dropped packets."""
    for row, marker in zip(canvas.table.rows, MARKERS, strict=False):
        counts = added(row.traces["drops_found"])
        shares = [count / math.fsum(counts) for count in counts]
        label = NAMES["scheme", row.at["scheme"]]
        canvas.axes.plot(range(len(shares)), shares, marker=marker, linewidth=1, label=label)
    canvas.axes.set(xlabel=AT_DROP, ylabel="share of all drops", ylim=(0, None))


def fig13a(canvas: Canvas) -> None:
    """Rate of a starting flow over time without and with ABC."""
    for row in canvas.table.rows:
        colour = COLOURS[canvas.table.grid["Db_ms"].index(row.at["Db_ms"])]
        line = LINES[canvas.experiment.schemes.index(row.at["scheme"])]
        name = f"{NAMES['Db_ms', row.at['Db_ms']]}, {NAMES['scheme', row.at['scheme']]}"
        times, means = _mean_trace(row.traces["rate_mbps"])
        canvas.axes.plot(times, means, line, color=colour, label=name)
    canvas.axes.set(xlabel=TIME, ylabel="metered rate (Mb/s)", xlim=(0, 30), ylim=(0, None))


def fig13b(canvas: Canvas) -> None:
    """Drop threshold of a starting flow over time, for a one-way delay of 5 ms."""
    for row in canvas.table.rows:
        if row.at["Db_ms"] == 5 and row.at["t_s"] == canvas.table.grid["t_s"][0]:
            colour = COLOURS[canvas.table.grid["MAA_s"].index(row.at["MAA_s"])]
            times, means = _mean_trace(row.traces["drop_threshold"])
            canvas.axes.plot(
                times, means, color=colour, linewidth=1, label=f"{NAMES['MAA_s', row.at['MAA_s']]}, {NAMES['Db_ms', 5]}"
            )
    canvas.axes.set(xlabel=TIME, ylabel=r"drop threshold $T_{drop}$ (packets)", xlim=(0, 30), ylim=(0, None))
    canvas.axes.axhline(12, color="0.6", linewidth=0.8, linestyle=":")
    canvas.axes.axhline(20, color="0.6", linewidth=0.8, linestyle=":")


def _mean_trace(traces: Sequence[Sequence[float]]) -> tuple[list[float], list[float]]:
    """Times and means over the replications, up to the end of the shortest."""
    means = [interval(values).mean for values in zip(*traces, strict=False)]
    return [(index + 1) * TRACE_INTERVAL_S for index in range(len(means))], means


_BY_USER = ("R1_mbps", "scheme")
_BY_SCHEME = ("Db_ms", "scheme")
_BY_FACTOR = ("Db_ms", "a_EF")
_BY_THRESHOLD = ("Qmin_pkts", "Db_ms")
_BY_GAMMA = ("gamma_pkts", "Db_ms")
_BY_MEMORY = ("MAA_s", "Db_ms")
_FAIR_METER = {
    "a": curves("R0_mbps", "T0", by=_BY_USER, ylabel=THROUGHPUT, ylim=FROM_0),
    "b": curves("f0", "T_R", by=_BY_SCHEME, ylabel=RATIO, ylim=FROM_0),
    "c": curves("R0_mbps", "T_R", by=_BY_SCHEME, ylabel=RATIO, ylim=FROM_0, within=(-1, RATIO_RANGE[1])),
}
_RATIOS: Any = {"ylabel": RATIO, "ratio_ticks": True, "ylim": RATIO_RANGE, "within": RATIO_RANGE}

FIGURES: dict[str, Draw] = {
    f"abc2018.fig{name}": draw
    for name, draw in {
        "3a": curves("R0_mbps", "T0", by=_BY_USER, ylabel=THROUGHPUT, ylim=FROM_0),
        "3b": curves("R0_mbps", "T0", by=("a_EF", "scheme"), ylabel=THROUGHPUT, ylim=FROM_0),
        "3c": curves("R0_mbps", "delay_BE", "delay_EF", by=("a_EF", "metric"), ylabel=DELAY, ylim=FROM_0),
        "4a": curves("f0", "T_R", by=_BY_SCHEME, ylabel=RATIO, ratio_ticks=True),
        "4b": curves("f0", "queue_mean", by=_BY_SCHEME, ylabel=QUEUE, ylim=(0, 24)),
        "4c": curves("f0", "utilisation", by=_BY_SCHEME, ylabel=USE),
        "5a": curves("f0", "T_R", by=_BY_FACTOR, ylabel=RATIO, ylim=FROM_0),
        "5b": curves("f0", "delay_BE", by=_BY_FACTOR, ylabel=BE_DELAY, ylim=FROM_0),
        "5c": curves("f0", "utilisation", by=_BY_FACTOR, ylabel=USE),
        "6a": curves("R0_mbps", "T_R", by=_BY_SCHEME, **_RATIOS),
        "6b": curves("R0_mbps", "queue_mean", by=_BY_SCHEME, ylabel=QUEUE, ylim=(0, 24)),
        "6c": curves("R0_mbps", "utilisation", by=_BY_SCHEME, ylabel=USE),
        "7a": curves("R0_mbps", "T_R", by=_BY_FACTOR, **_RATIOS),
        "7b": curves("R0_mbps", "delay_BE", by=_BY_FACTOR, ylabel=BE_DELAY, ylim=FROM_0),
        "7c": curves("R0_mbps", "utilisation", by=_BY_FACTOR, ylabel=USE),
        "8": fig8,
        "9a": curves("gamma_pkts", "T_R", by=_BY_THRESHOLD, ylabel=RATIO, ratio_ticks=True),
        "9b": curves("gamma_pkts", "queue_mean", by=_BY_THRESHOLD, ylabel=QUEUE),
        "9c": fig9c,
        "10a": curves("Qbase_pkts", "T_R", by=_BY_GAMMA, ylabel=RATIO),
        "10b": curves("Qbase_pkts", "queue_mean", by=_BY_GAMMA, ylabel=QUEUE),
        "10c": curves("Qbase_pkts", "tail_drop_share", by=_BY_GAMMA, ylabel="tail drops over all drops"),
        "11a": fig11,
        "11b": fig11,
        "12a": curves("MAM_s", "T_R", by=_BY_MEMORY, ylabel=RATIO),
        "12b": curves("MAM_s", "queue_mean", by=_BY_MEMORY, ylabel=QUEUE),
        "12c": curves("MAM_s", "utilisation", by=_BY_MEMORY, ylabel=USE),
        "13a": fig13a,
        "13b": fig13b,
        **{f"{number}{part}": draw for number in (14, 15) for part, draw in _FAIR_METER.items()},
        "16a": fig16,
        "16b": fig16,
    }.items()
}
