"""The paper's figures, each drawn by one function from measured points."""

from __future__ import annotations

from typing import Any

from fairlane.judge.checks import expectation
from fairlane.judge.claim import names
from fairlane.judge.drawing import Canvas, Draw
from fairlane.papers.afpft.scenarios import AVERAGE_INTERVAL_S
from fairlane.papers.afpft.statistics import averages
from fairlane.results.plots import COLOURS, PAPER_GREY, logarithmic

NAMES: dict[tuple[str, Any], str] = {
    ("scheme", "droptail"): "drop-tail",
    ("scheme", "red"): "Adaptive RED",
    ("scheme", "red_static"): "RED, not adaptive",
    ("scheme", "fred"): "FRED",
    ("scheme", "fred_default_wq"): r"FRED, $w_q$ = 0.002",
    ("scheme", "fred_wq_1_over_C"): r"FRED, $w_q$ = 1/C",
    ("scheme", "csfq"): "CSFQ",
    ("scheme", "csfq_default"): "CSFQ, 100 and 200 ms",
    ("scheme", "csfq_tight"): "CSFQ, 20 and 40 ms",
    ("scheme", "afpft"): "AFpFT",
    ("scheme", "afpft_nocorr"): "AFpFT without correction",
    ("metric", "udp_kbps"): "UDP",
    ("metric", "tcp_kbps"): "TCP",
    ("metric", "tput_group_mbps"): "UDP",
    ("metric", "tput_over_fair"): "UDP",
    ("metric", "tput_g_mbps"): "TCP",
    ("metric", "tput0_mbps"): "flow 0",
}

KBPS_TICKS = (0.01, 0.1, 1, 10, 100, 1000)


def fig2(canvas: Canvas) -> None:
    """Throughput and sending rate of CBR flows in four groups."""
    offered = canvas.experiment.parameters["group_rates_mbps"]
    canvas.axes.step(canvas.table.grid["group"], offered, where="mid", color="0.6", linewidth=1, label="sent")
    canvas.curves("group", "tput_group_mbps", colour="scheme", line="metric", names=NAMES)
    canvas.axes.set(
        xlabel="group of flows", xticks=canvas.table.grid["group"], ylabel="throughput (Mb/s)", ylim=(0, None)
    )


def fig3(canvas: Canvas) -> None:
    """Throughput of the UDP flow, and mean throughput of the TCP flows."""
    schemes = canvas.experiment.schemes
    for number, metric in enumerate(("udp_kbps", "tcp_kbps")):
        cells = canvas.table.cells(schemes, [metric])
        places = [schemes.index(cell.at["scheme"]) + 0.4 * number - 0.2 for cell in cells]
        means = [cell.interval for cell in cells]
        canvas.axes.bar(
            places,
            [mean.mean for mean in means],
            0.36,
            yerr=[mean.slack for mean in means],
            color=COLOURS[number],
            capsize=2,
            label=NAMES["metric", metric],
        )
        stated = [
            (schemes.index(cell.at["scheme"]) + 0.4 * number - 0.2, value)
            for claim in canvas.experiment.claims
            if claim["metric"] == metric and claim["kind"] in {"near", "at_most", "at_least"}
            for cell in canvas.table.cells(names(claim["scheme"]), [metric])
            if (value := expectation(claim, cell, canvas.table)) is not None
        ]
        label = "paper" if number == 0 else None
        canvas.axes.plot(
            *zip(*stated, strict=True), linestyle="", marker="_", markersize=22, color=PAPER_GREY, label=label
        )
    canvas.axes.axhline(1e3 / 33, color="0.6", linewidth=0.8, linestyle=":", label="fair share")
    canvas.axes.set(
        xticks=range(len(schemes)),
        xticklabels=[NAMES["scheme", scheme] for scheme in schemes],
        ylabel="throughput of a flow (kb/s)",
        yscale="log",
    )


def fig5a(canvas: Canvas) -> None:
    """Mean throughput of the TCP flows over the rate of the UDP flow."""
    _over_rate(canvas, "tcp_kbps", "mean TCP throughput (kb/s)")


def fig5b(canvas: Canvas) -> None:
    """Throughput of the UDP flow over its rate."""
    _over_rate(canvas, "udp_kbps", "UDP throughput (kb/s)")


def _over_rate(canvas: Canvas, metric: str, ylabel: str) -> None:
    canvas.curves("R_udp_kbps", metric, colour="scheme", line="metric", names=NAMES)
    canvas.axes.set(xlabel="rate of the UDP flow (kb/s)", ylabel=ylabel)
    logarithmic(canvas.axes, "x", canvas.table.grid["R_udp_kbps"])
    logarithmic(canvas.axes, "y", KBPS_TICKS)


def fig6(canvas: Canvas) -> None:
    """Throughput of CBR flows, plotted over their fair share."""
    canvas.curves("i", "tput_over_fair", colour="scheme", line="metric", names=NAMES)
    canvas.axes.set(xlabel="flow i, which sends i fair shares", ylabel="throughput over fair share", ylim=(0, None))


def fig7(canvas: Canvas) -> None:
    """Throughput of a TCP flow by its group."""
    canvas.curves("group", "tput_g_mbps", colour="scheme", line="metric", names=NAMES)
    rtts = canvas.experiment.parameters["group_rtt_ms"]
    ticks = [f"G{group}: {rtt} ms" for group, rtt in zip(canvas.table.grid["group"], rtts, strict=True)]
    canvas.axes.set(
        xlabel="group and round-trip time",
        xticks=canvas.table.grid["group"],
        xticklabels=ticks,
        ylabel="throughput of a flow (Mb/s)",
        ylim=(0, None),
    )


def fig8(canvas: Canvas) -> None:
    """The averaged queue in a run; the legend has the utilisation."""
    step = round(0.1 / AVERAGE_INTERVAL_S)
    for number, (scheme, runs) in enumerate(averages(canvas.table).items()):
        average = runs[0][::step]
        (cell,) = canvas.table.cells([scheme], ["utilisation"])
        label = f"{NAMES['scheme', scheme]}; link use {cell.interval.mean:.1%}"
        times = [index * step * AVERAGE_INTERVAL_S for index in range(len(average))]
        canvas.axes.plot(times, average, color=COLOURS[number], linewidth=1, label=label)
    parameters = canvas.experiment.parameters
    for key in ("min_th_pkts", "max_th_pkts"):
        canvas.axes.axhline(parameters[key], color="0.6", linewidth=0.8, linestyle=":")
    canvas.axes.axhline(250, color=PAPER_GREY, linewidth=4, zorder=1, label="paper, Adaptive RED")
    canvas.axes.set(xlabel="time (s)", ylabel="averaged queue (packets)", xlim=(0, None), ylim=(0, None))


def fig9a(canvas: Canvas) -> None:
    """Throughput of flow 0, TCP or UDP, over the number of congested links."""
    canvas.curves("L", "tput0_mbps", colour="scheme", line="metric", names=NAMES)
    canvas.axes.axhline(10 / 11, color="0.6", linewidth=0.8, linestyle=":", label="fair share")
    canvas.axes.set(
        xlabel="congested links L", xticks=canvas.table.grid["L"], ylabel="throughput of flow 0 (Mb/s)", ylim=(0, None)
    )


FIGURES: dict[str, Draw] = {
    **{f"afpft.{draw.__name__}": draw for draw in (fig2, fig3, fig5a, fig5b, fig6, fig7, fig8, fig9a)},
    "afpft.fig9b": fig9a,
}
