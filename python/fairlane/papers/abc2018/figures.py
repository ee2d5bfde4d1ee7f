"""The paper's figures 3 to 8 and 13, each drawn by one function from measured points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter

from fairlane.intervals import interval
from fairlane.papers.abc2018.scenarios import TRACE_INTERVAL_S
from fairlane.papers.drawing import Canvas, Draw
from fairlane.plots import COLOURS, LINES

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
    f"abc2018.{draw.__name__}": draw
    for draw in (
        fig3a, fig3b, fig3c, fig4a, fig4b, fig4c, fig5a, fig5b, fig5c, fig6a, fig6b, fig6c,
        fig7a, fig7b, fig7c, fig8, fig13a, fig13b,
    )
}  # fmt: skip
