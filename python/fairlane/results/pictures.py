"""Figures of results and comparisons, drawn on request: `result.plot.throughput()`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fairlane.results.replications import Replications

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Pictures:
    """Figures of matplotlib, which a notebook shows; `savefig("file.pdf")` of each writes it."""

    def __init__(self, results: Sequence[Replications]) -> None:
        self._results = results

    def throughput(self, *, over_time: bool = False) -> Figure:
        """Mean throughput of a user by group; or the rate of each group over time.

        Raises:
            UserError: There is nothing over time, since the scenario has no `probes.series_interval`.
        """
        from fairlane.results import figures  # which loads matplotlib

        return figures.rate_over_time(self._results) if over_time else figures.throughput(self._results)

    def queue(self, *, over_time: bool = False) -> Figure:
        """Distribution of the first link's queue length over time; or its time series.

        Raises:
            UserError: There is nothing over time, since the scenario has no `probes.series_interval`.
        """
        from fairlane.results import figures

        return figures.queue_over_time(self._results) if over_time else figures.queue(self._results)

    def delay_cdf(self) -> Figure:
        """Quantiles of the one-way delay of each group: median, 95th and 99th percentile, and maximum."""
        from fairlane.results import figures

        return figures.delay_cdf(self._results)

    def shares(self) -> Figure:
        """Throughput of a user by group over its weighted max-min share, 1 where it has just that."""
        from fairlane.results import figures

        return figures.shares(self._results)
