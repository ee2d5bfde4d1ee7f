"""Measures the cost of congestion controls, paced and unpaced, with 32 flows over 100 Mbit/s.

With valgrind the table also has instructions per packet, which do not depend on other load.
"""

from __future__ import annotations

from functools import partial

from . import harness
from .harness import SCENARIOS, Json, Report, bench, build, interleaved, run, scenario, turns

SCENARIO = SCENARIOS / "paced-32.toml"
# Label; keys of [tcp].
VARIANTS: dict[str, Json] = {
    "reno": {"congestion_control": "reno"},
    "cubic": {"congestion_control": "cubic"},
    "cubic, paced": {"congestion_control": "cubic", "pacing": "on"},
    "bbr1": {"congestion_control": "bbr1"},
    "bbr3": {"congestion_control": "bbr3"},
}
# Under valgrind a shorter run is sufficient.
SHORT = {"warmup": "2 s", "measure": "8 s"}
COLUMNS = {"sender": "", "M packets per CPU s": "{:.2f}", "events per packet": "{:.2f}"}
COLUMNS |= {"instructions per packet": "{:.0f}", "use": "{:.3f}", "dropped share": "{:.3f}"}


@bench("senders")
@turns(9)
def main(report: Report, turns: int) -> None:
    """Measures and prints a table."""
    measure, count = build("measure"), build("count")
    variants = {label: partial(run, measure, scenario(SCENARIO, tcp=tcp)) for label, tcp in VARIANTS.items()}
    rows = []
    for label, results in interleaved(turns, variants).items():
        last = results[-1]
        delivered, dropped = int(last["delivered_packets"]), int(last["dropped_packets"])
        rates, events = [harness.rate(line) for line in results], last["events"] / delivered
        per_packet = harness.instructions(count, scenario(SCENARIO, tcp=VARIANTS[label], run=SHORT))
        rows.append([label, rates, events, per_packet, last["utilisation"], dropped / (delivered + dropped)])
    above = f"{SCENARIO.stem}, medians of {turns} turns (lowest to highest), {harness.conditions()}."
    report.table(COLUMNS, rows, above=above)
