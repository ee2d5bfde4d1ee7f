"""The paper's figures, each drawn by one function from measured points."""

from __future__ import annotations

from typing import Any

from fairlane.judge.drawing import Canvas, Draw
from fairlane.papers.afc.scenarios import fair_kbps
from fairlane.results.intervals import interval
from fairlane.results.plots import COLOURS, MARKERS, PAPER_GREY, error_bars

SCHEMES = {
    "red": "RED",
    "choke": "CHOKe",
    "sfb": "SFB",
    "sfb_1x": "SFB",
    "care": "CARE",
    "black": "BLACK",
    "afc": "AFC",
}
NAMES: dict[tuple[str, Any], str] = {
    **{("scheme", scheme): name for scheme, name in SCHEMES.items()},
    ("metric", "cbr_over_tcp"): "CBR/TCP",
}
START_S = 50


def fig3(canvas: Canvas) -> None:
    """Throughput of the CBR flow over time in the first replication; the legend has the means of all replications."""
    rows = [row for row in canvas.table.rows if row.at["n_udp"] == 1 and row.traces["udp_kbps"]]
    for row, colour in zip(rows, COLOURS, strict=False):
        curve = row.traces["udp_kbps"][0]
        times = [START_S + second + 1 for second in range(len(curve))]
        mean = interval(row.metric("udp_kbps"), canvas.table.confidence)
        label = f"{SCHEMES[row.at['scheme']]}: {mean}"
        canvas.axes.plot(times, curve, color=colour, linewidth=1, label=label)
    _fair_share(canvas, 1)
    canvas.axes.set(xlabel="time (s)", ylabel="throughput of the CBR flow (kb/s), first run")
    canvas.axes.set_yscale("symlog", linthresh=100)
    canvas.axes.set_ylim(0, None)


def fig4(canvas: Canvas) -> None:
    """Throughput of the CBR flows with different packet sizes under each scheme."""
    sizes = canvas.table.grid["packet_B"]
    for index, size in enumerate(sizes):
        cells = canvas.table.cells(canvas.experiment.schemes, ["udp_kbps"], {"packet_B": size})
        error_bars(
            canvas.axes,
            [canvas.experiment.schemes.index(cell.at["scheme"]) + 0.2 * (index - 1) for cell in cells],
            [cell.interval for cell in cells],
            color=COLOURS[index],
            marker=MARKERS[index],
            linestyle="none",
            label=f"{size} B",
        )
    _fair_share(canvas, canvas.table.parameters["n_udp"])
    places = range(len(canvas.experiment.schemes))
    canvas.axes.set_xticks(places, [SCHEMES[scheme] for scheme in canvas.experiment.schemes])
    canvas.axes.set(ylabel="throughput of a CBR flow (kb/s)", yscale="log")


def fig5(canvas: Canvas) -> None:
    """Ratio of the throughputs of a CBR flow and a TCP flow over the load of web sessions."""
    canvas.curves("w", "cbr_over_tcp", colour="scheme", line="metric", names=NAMES)
    canvas.axes.set(xlabel="web sessions in 250 s", ylabel="CBR over TCP throughput", yscale="log")


def _fair_share(canvas: Canvas, flows: int) -> None:
    """Draws the fair share, as the paper does."""
    share = fair_kbps({**canvas.table.parameters, "n_udp": flows})
    canvas.axes.axhline(share, color=PAPER_GREY, linewidth=3, zorder=1, label="fair share")


FIGURES: dict[str, Draw] = {"afc.fig3": fig3, "afc.fig4": fig4, "afc.fig5": fig5}
