"""The paper's figures, each drawn by one function from measured points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter

from fairlane.papers.abc2018.metrics import added
from fairlane.papers.abc2018.scenarios import TRACE_INTERVAL_S
from fairlane.papers.drawing import Canvas, Draw
from fairlane.results.intervals import interval
from fairlane.results.plots import COLOURS, LINES, MARKERS

NAMES: dict[tuple[str, Any], str] = {
    ("scheme", "droptail"): "drop-tail",
    ("scheme", "abc"): "ABC",
    ("metric", "delay_BE"): "BE",
    ("metric", "delay_EF"): "EF",
    ("Db_ms", 5): r"$D_b$ = 5 ms",
    ("Db_ms", 25): r"$D_b$ = 25 ms",
    ("Db_ms", 50): r"$D_b$ = 50 ms",
    ("a_EF", 1): r"$a_{EF}$ = 1",
    ("a_EF", 3): r"$a_{EF}$ = 3",
    ("R1_mbps", 2.5): r"$R_t^1$ = 2.5 Mb/s",
    ("R1_mbps", 7.5): r"$R_t^1$ = 7.5 Mb/s",
    ("R1_mbps", 10.0): r"$R_t^1$ = 10 Mb/s",
    ("flows_per_user", 1): "1 flow per user",
    ("flows_per_user", 2): "2 flows per user",
    ("scheme", "abc_fair"): "ABC, fair meter",
    ("scheme", "csfq"): "CSFQ",
    ("scheme", "csfq_qmin"): r"CSFQ with $Q_{min}$",
    ("R1_mbps", 5.0): r"$R_t^1$ = 5 Mb/s",
    **{("Qmin_pkts", n): rf"$Q_{{min}}$ = {n}" for n in (1, 6, 12, 18)},
    **{("gamma_pkts", n): rf"$\gamma$ = {n}" for n in (4, 16, 64)},
    ("f1", 1): "$f_1$ = 1",
    ("f1", 2): "$f_1$ = 2",
    **{("MAM_s", memory): rf"$M_{{AM}}$ = {memory} s" for memory in (0.3, 1, 3, 10)},
    ("MAA_s", 0.1): r"$M_{AA}$ = 0.1 s",
    ("MAA_s", 0.3): r"$M_{AA}$ = 0.3 s",
    ("MAA_s", 1.0): r"$M_{AA}$ = 1 s",
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
"""Ratios beyond it are quotients by almost nothing."""


def fig3a(canvas: Canvas) -> None:
    """Throughput of user 0 without and with ABC."""
    canvas.curves("R0_mbps", "T0", colour="R1_mbps", line="scheme", names=NAMES)
    canvas.axes.set(xlabel=RATE, ylabel=THROUGHPUT, xlim=(0, None), ylim=(0, None))


def fig3b(canvas: Canvas) -> None:
    """Throughput of user 0 with priority."""
    canvas.curves("R0_mbps", "T0", colour="a_EF", line="scheme", names=NAMES)
    canvas.axes.set(xlabel=RATE, ylabel=THROUGHPUT, xlim=(0, None), ylim=(0, None))


def fig3c(canvas: Canvas) -> None:
    """Mean queueing delay of both classes."""
    canvas.curves("R0_mbps", "delay_BE", "delay_EF", colour="a_EF", line="metric", names=NAMES)
    canvas.axes.set(xlabel=RATE, ylabel=DELAY, xlim=(0, None), ylim=(0, None))


def fig4a(canvas: Canvas) -> None:
    """Throughput ratio of TCP users without and with ABC."""
    canvas.curves("f0", "T_R", colour="Db_ms", line="scheme", names=NAMES)
    canvas.axes.set(xlabel=FLOWS, xticks=canvas.table.grid["f0"], ylabel=RATIO)
    _logarithmic(canvas, "y", RATIO_TICKS)


def fig4b(canvas: Canvas) -> None:
    """Mean queue length of TCP users without and with ABC."""
    canvas.curves("f0", "queue_mean", colour="Db_ms", line="scheme", names=NAMES)
    canvas.axes.set(xlabel=FLOWS, xticks=canvas.table.grid["f0"], ylabel=QUEUE, ylim=(0, 24))


def fig4c(canvas: Canvas) -> None:
    """Use of the link by TCP users without and with ABC."""
    canvas.curves("f0", "utilisation", colour="Db_ms", line="scheme", names=NAMES)
    canvas.axes.set(xlabel=FLOWS, xticks=canvas.table.grid["f0"], ylabel=USE)


def fig5a(canvas: Canvas) -> None:
    """Throughput ratio of TCP users, user 0 with priority."""
    canvas.curves("f0", "T_R", colour="Db_ms", line="a_EF", names=NAMES)
    canvas.axes.set(xlabel=FLOWS, xticks=canvas.table.grid["f0"], ylabel=RATIO, ylim=(0, None))


def fig5b(canvas: Canvas) -> None:
    """Mean queueing delay of BE traffic."""
    canvas.curves("f0", "delay_BE", colour="Db_ms", line="a_EF", names=NAMES)
    canvas.axes.set(xlabel=FLOWS, xticks=canvas.table.grid["f0"], ylabel=BE_DELAY, ylim=(0, None))


def fig5c(canvas: Canvas) -> None:
    """Use of the link by TCP users, user 0 with priority."""
    canvas.curves("f0", "utilisation", colour="Db_ms", line="a_EF", names=NAMES)
    canvas.axes.set(xlabel=FLOWS, xticks=canvas.table.grid["f0"], ylabel=USE)


def fig6a(canvas: Canvas) -> None:
    """Throughput ratio of a Poisson user and a TCP user without and with ABC."""
    canvas.curves("R0_mbps", "T_R", colour="Db_ms", line="scheme", names=NAMES, within=RATIO_RANGE)
    canvas.axes.set(xlabel=RATE, ylabel=RATIO, xlim=(0, None))
    _logarithmic(canvas, "y", RATIO_TICKS)
    canvas.axes.set_ylim(RATIO_RANGE)


def fig6b(canvas: Canvas) -> None:
    """Mean queue length of a Poisson user and a TCP user without and with ABC."""
    canvas.curves("R0_mbps", "queue_mean", colour="Db_ms", line="scheme", names=NAMES)
    canvas.axes.set(xlabel=RATE, ylabel=QUEUE, xlim=(0, None), ylim=(0, 24))


def fig6c(canvas: Canvas) -> None:
    """Use of the link by a Poisson user and a TCP user without and with ABC."""
    canvas.curves("R0_mbps", "utilisation", colour="Db_ms", line="scheme", names=NAMES)
    canvas.axes.set(xlabel=RATE, ylabel=USE, xlim=(0, None))


def fig7a(canvas: Canvas) -> None:
    """Throughput ratio of a Poisson user with priority and a TCP user."""
    canvas.curves("R0_mbps", "T_R", colour="Db_ms", line="a_EF", names=NAMES, within=RATIO_RANGE)
    canvas.axes.set(xlabel=RATE, ylabel=RATIO, xlim=(0, None))
    _logarithmic(canvas, "y", RATIO_TICKS)
    canvas.axes.set_ylim(RATIO_RANGE)


def fig7b(canvas: Canvas) -> None:
    """Mean queueing delay of BE traffic beside a Poisson user with priority."""
    canvas.curves("R0_mbps", "delay_BE", colour="Db_ms", line="a_EF", names=NAMES)
    canvas.axes.set(xlabel=RATE, ylabel=BE_DELAY, xlim=(0, None), ylim=(0, None))


def fig7c(canvas: Canvas) -> None:
    """Use of the link by a Poisson user with priority and a TCP user."""
    canvas.curves("R0_mbps", "utilisation", colour="Db_ms", line="a_EF", names=NAMES)
    canvas.axes.set(xlabel=RATE, ylabel=USE, xlim=(0, None))


def fig8(canvas: Canvas) -> None:
    """Throughput ratio when user 0 has a larger reference rate."""
    canvas.curves("s", "T_R", colour="Db_ms", line="flows_per_user", names=NAMES)
    canvas.axes.set(xlabel="scaling factor s of the reference rate of user 0", ylabel=RATIO)
    _logarithmic(canvas, "x", canvas.table.grid["s"])
    _logarithmic(canvas, "y", canvas.table.grid["s"])


def fig9a(canvas: Canvas) -> None:
    """Throughput ratio over gamma and Q_min."""
    canvas.curves("gamma_pkts", "T_R", colour="Qmin_pkts", line="Db_ms", names=NAMES)
    _over_gamma(canvas, RATIO)
    _logarithmic(canvas, "y", RATIO_TICKS)


def fig9b(canvas: Canvas) -> None:
    """Mean queue length over gamma and Q_min."""
    canvas.curves("gamma_pkts", "queue_mean", colour="Qmin_pkts", line="Db_ms", names=NAMES)
    _over_gamma(canvas, QUEUE)


def fig9c(canvas: Canvas) -> None:
    """Use of the link over gamma and Q_min; drop-tail knows neither."""
    canvas.curves("gamma_pkts", "utilisation", colour="Qmin_pkts", line="Db_ms", names=NAMES, where={"scheme": "abc"})
    for delay_ms, line in zip(canvas.table.grid["Db_ms"], LINES, strict=False):
        at = {"Db_ms": delay_ms, "gamma_pkts": "first", "Qmin_pkts": "first"}
        (cell,) = canvas.table.cells(["droptail"], ["utilisation"], at)
        label = f"{NAMES['scheme', 'droptail']}, {NAMES['Db_ms', delay_ms]}"
        canvas.axes.axhline(cell.interval.mean, color="0.4", linestyle=line, linewidth=1, label=label)
    _over_gamma(canvas, USE)


def _over_gamma(canvas: Canvas, ylabel: str) -> None:
    values = canvas.table.grid["gamma_pkts"]
    canvas.axes.set_xscale("symlog", base=2, linthresh=1)
    canvas.axes.set(xlabel=GAMMA, xticks=values, xticklabels=[str(value) for value in values], ylabel=ylabel)


def fig10a(canvas: Canvas) -> None:
    """Throughput ratio over Q_base and gamma."""
    canvas.curves("Qbase_pkts", "T_R", colour="gamma_pkts", line="Db_ms", names=NAMES)
    canvas.axes.set(xlabel=BASE, xticks=canvas.table.grid["Qbase_pkts"], ylabel=RATIO)


def fig10b(canvas: Canvas) -> None:
    """Mean queue length over Q_base and gamma."""
    canvas.curves("Qbase_pkts", "queue_mean", colour="gamma_pkts", line="Db_ms", names=NAMES)
    canvas.axes.set(xlabel=BASE, xticks=canvas.table.grid["Qbase_pkts"], ylabel=QUEUE)


def fig10c(canvas: Canvas) -> None:
    """Share of the drops for lack of room."""
    canvas.curves("Qbase_pkts", "tail_drop_share", colour="gamma_pkts", line="Db_ms", names=NAMES)
    canvas.axes.set(xlabel=BASE, xticks=canvas.table.grid["Qbase_pkts"], ylabel="tail drops over all drops")


def fig11a(canvas: Canvas) -> None:
    """Data received of an upload over time; drop-tail knows no meter."""
    for flows, line in zip(canvas.table.grid["f1"], LINES, strict=False):
        at = {"f1": flows, "MAM_s": "first"}
        cells = canvas.table.cells(["droptail"], ["received_MB"], at)
        times, means = [cell.at["t_s"] for cell in cells], [cell.interval.mean for cell in cells]
        label = f"{NAMES['scheme', 'droptail']}, {NAMES['f1', flows]}"
        canvas.axes.plot(times, means, line, color="0.4", linewidth=1, label=label)
    canvas.curves("t_s", "received_MB", colour="MAM_s", line="f1", names=NAMES, where={"scheme": "abc"})
    canvas.axes.set(xlabel="time since the start of the upload (s)", ylabel="received (MB)", xscale="log", yscale="log")


fig11b = fig11a


def fig12a(canvas: Canvas) -> None:
    """Throughput ratio over both memories."""
    canvas.curves("MAM_s", "T_R", colour="MAA_s", line="Db_ms", names=NAMES)
    _over_memory(canvas, RATIO)


def fig12b(canvas: Canvas) -> None:
    """Mean queue length over both memories."""
    canvas.curves("MAM_s", "queue_mean", colour="MAA_s", line="Db_ms", names=NAMES)
    _over_memory(canvas, QUEUE)


def fig12c(canvas: Canvas) -> None:
    """Use of the link over both memories."""
    canvas.curves("MAM_s", "utilisation", colour="MAA_s", line="Db_ms", names=NAMES)
    _over_memory(canvas, USE)


def _over_memory(canvas: Canvas, ylabel: str) -> None:
    canvas.axes.set(xlabel=MEMORY, ylabel=ylabel)
    _logarithmic(canvas, "x", canvas.table.grid["MAM_s"])


def fig14a(canvas: Canvas) -> None:
    """Throughput of Poisson user 0 with both meters."""
    canvas.curves("R0_mbps", "T0", colour="R1_mbps", line="scheme", names=NAMES)
    canvas.axes.set(xlabel=RATE, ylabel=THROUGHPUT, xlim=(0, None), ylim=(0, None))


def fig14b(canvas: Canvas) -> None:
    """Throughput ratio of TCP users."""
    canvas.curves("f0", "T_R", colour="Db_ms", line="scheme", names=NAMES)
    canvas.axes.set(xlabel=FLOWS, xticks=canvas.table.grid["f0"], ylabel=RATIO, ylim=(0, None))


def fig14c(canvas: Canvas) -> None:
    """Throughput ratio of a Poisson user and a TCP user."""
    canvas.curves("R0_mbps", "T_R", colour="Db_ms", line="scheme", names=NAMES, within=(-1, RATIO_RANGE[1]))
    canvas.axes.set(xlabel=RATE, ylabel=RATIO, xlim=(0, None), ylim=(0, None))


fig15a, fig15b, fig15c = fig14a, fig14b, fig14c


def fig16a(canvas: Canvas) -> None:
    """Queue length that dropped packets found."""
    for row, marker in zip(canvas.table.rows, MARKERS, strict=False):
        counts = added(row.traces["drops_found"])
        shares = [count / math.fsum(counts) for count in counts]
        label = NAMES["scheme", row.at["scheme"]]
        canvas.axes.plot(range(len(shares)), shares, marker=marker, linewidth=1, label=label)
    canvas.axes.set(xlabel=AT_DROP, ylabel="share of all drops", ylim=(0, None))


fig16b = fig16a


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
    """Drop threshold of a starting flow over time, one-way delay 5 ms."""
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
    """Times and means over the replications, as far as all of them go."""
    means = [interval(values).mean for values in zip(*traces, strict=False)]
    return [(index + 1) * TRACE_INTERVAL_S for index in range(len(means))], means


def _logarithmic(canvas: Canvas, name: Literal["x", "y"], ticks: Sequence[float]) -> None:
    """Makes an axis logarithmic, with plain numbers at the given ticks."""
    canvas.axes.set(**{f"{name}scale": "log"})
    axis = canvas.axes.xaxis if name == "x" else canvas.axes.yaxis
    axis.set_major_locator(FixedLocator(list(ticks)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))


FIGURES: dict[str, Draw] = {
    f"abc2018.{name}": draw
    for name, draw in {
        "fig3a": fig3a,
        "fig3b": fig3b,
        "fig3c": fig3c,
        "fig4a": fig4a,
        "fig4b": fig4b,
        "fig4c": fig4c,
        "fig5a": fig5a,
        "fig5b": fig5b,
        "fig5c": fig5c,
        "fig6a": fig6a,
        "fig6b": fig6b,
        "fig6c": fig6c,
        "fig7a": fig7a,
        "fig7b": fig7b,
        "fig7c": fig7c,
        "fig8": fig8,
        "fig9a": fig9a,
        "fig9b": fig9b,
        "fig9c": fig9c,
        "fig10a": fig10a,
        "fig10b": fig10b,
        "fig10c": fig10c,
        "fig11a": fig11a,
        "fig11b": fig11b,
        "fig12a": fig12a,
        "fig12b": fig12b,
        "fig12c": fig12c,
        "fig13a": fig13a,
        "fig13b": fig13b,
        "fig14a": fig14a,
        "fig14b": fig14b,
        "fig14c": fig14c,
        "fig15a": fig15a,
        "fig15b": fig15b,
        "fig15c": fig15c,
        "fig16a": fig16a,
        "fig16b": fig16b,
    }.items()
}
