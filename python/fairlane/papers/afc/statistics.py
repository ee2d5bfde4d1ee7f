"""Statistics for claims that are not about a metric of a point: variation over time, largest distance of a flow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from statistics import fmean

from fairlane.judge.grid import Row, Table
from fairlane.judge.verdicts import Statistic
from fairlane.papers.afc.scenarios import fair_kbps

TableOf = Callable[[Mapping[str, Table]], Table | None]


def over_time(metric: str, n_udp: int) -> TableOf:
    """Returns a function that selects the rows of Fig. 3 with `n_udp` unresponsive flows.

    The rows keep only `metric`, under the name `udp_kbps_interval` that the claims use.
    """

    def table(tables: Mapping[str, Table]) -> Table:
        own = tables["afc.fig3"]
        rows = [Row(row.at, {"udp_kbps_interval": row.samples[metric]}) for row in own.rows if row.at["n_udp"] == n_udp]
        return replace(own, rows=rows)

    return table


def farthest(tables: Mapping[str, Table]) -> Table | None:
    """Largest relative distance from the fair share among the flows with different packet sizes, by scheme."""
    own = tables["afc.fig4"]
    distances: dict[str, float] = {}
    for row in own.rows:
        fair = fair_kbps({**own.parameters, **row.at})
        distance = abs(fmean(row.metric("udp_kbps")) - fair) / fair
        distances[row.at["scheme"]] = max(distance, distances.get(row.at["scheme"], 0.0))
    return replace(own, rows=[Row({"scheme": name}, {"udp_kbps": (number,)}) for name, number in distances.items()])


STATISTICS = {
    "afc.fig3.afc_smooth": Statistic(over_time("variation", n_udp=1)),
    "afc.fig3.choke_largest": Statistic(over_time("deviation_kbps", n_udp=1)),
    "afc.fig3.sfb_comparable": Statistic(over_time("deviation_kbps", n_udp=1)),
    "afc.fig3.others_rougher": Statistic(over_time("deviation_kbps", n_udp=1)),
    "afc.fig3.five_smooth": Statistic(over_time("variation", n_udp=5)),
    "afc.fig4.afc_closest": Statistic(farthest),
}
