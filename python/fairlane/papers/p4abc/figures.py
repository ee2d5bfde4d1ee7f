"""The paper's figures, each drawn by one function from measured points."""

from __future__ import annotations

from functools import partial
from typing import Any

from fairlane.judge.drawing import Canvas, Draw

NAMES: dict[tuple[str, Any], str] = {
    ("scheme", "droptail"): "without ABC",
    ("scheme", "abc"): "with ABC",
    ("metric", "G0"): "client 0",
    ("metric", "G1"): "client 1",
}

RATE = r"traffic rate $R_0$ of client 0 (Mb/s)"
FLOWS = "TCP flows of client 0"


def goodputs(canvas: Canvas, x: str, label: str) -> None:
    """Goodput of both clients over a variable, without and with ABC."""
    canvas.curves(x, "G0", "G1", colour="scheme", line="metric", names=NAMES)
    canvas.axes.set(xlabel=label, ylabel="goodput (Mb/s)", ylim=(0, None))


FIGURES: dict[str, Draw] = {
    "p4abc.fig4": partial(goodputs, x="R0_mbps", label=RATE),
    "p4abc.fig4_poisson": partial(goodputs, x="R0_mbps", label=RATE),
    "p4abc.fig5": partial(goodputs, x="f0", label=FLOWS),
    "p4abc.fig6": partial(goodputs, x="R0_mbps", label=RATE),
    "p4abc.fig6_poisson": partial(goodputs, x="R0_mbps", label=RATE),
}
