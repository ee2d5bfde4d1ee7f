"""Figures of results and comparisons, drawn on request: `result.plot.throughput()`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fairlane.results.replications import Replications

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Pictures:
    """Figures of matplotlib, which a notebook shows; `savefig("file.pdf")` of each writes it.

    With `column=True` a figure is as wide as a column of a paper, 3.5 in, and has no title.
    """

    def __init__(self, results: Sequence[Replications]) -> None:
        self._results = results

    def throughput(self, *, over_time: bool = False, column: bool = False) -> Figure:
        """Mean throughput of a user by group; or the rate of each group over time.

        Raises:
            UserError: There is nothing over time, since the scenario has no `probes.series_interval`.
        """
        from fairlane.results import figures  # which loads matplotlib

        return (figures.rate_over_time if over_time else figures.throughput)(self._results, column=column)

    def queue(self, *, over_time: bool = False, column: bool = False) -> Figure:
        """Distribution of the first link's queue length over time; or its time series.

        Raises:
            UserError: There is nothing over time, since the scenario has no `probes.series_interval`.
        """
        from fairlane.results import figures

        return (figures.queue_over_time if over_time else figures.queue)(self._results, column=column)

    def delay_cdf(self, *, column: bool = False) -> Figure:
        """Distribution of the one-way delay over the packets of each group, in ms.

        Raises:
            UserError: The runs keep quantiles only, since the scenario lacks `probes.delay_distribution = true`.
        """
        from fairlane.results import figures

        return figures.delay_cdf(self._results, column=column)

    def delay_quantiles(self, *, column: bool = False) -> Figure:
        """Quantiles of the one-way delay of each group, in ms: median, 95th and 99th percentile, and maximum."""
        from fairlane.results import figures

        return figures.delay_quantiles(self._results, column=column)

    def shares(self, *, column: bool = False) -> Figure:
        """Throughput of a user by group over its weighted max-min share, 1 where it has just that."""
        from fairlane.results import figures

        return figures.shares(self._results, column=column)

    def users(self, *, column: bool = False) -> Figure:
        """Distribution of the throughput over the users of each group.

        Raises:
            UserError: The runs have no rows of users, since the scenario has `probes.user_rows = false`.
        """
        from fairlane.results import figures

        return figures.users(self._results, column=column)

    def metrics(self, *names: str, column: bool = False) -> Figure:
        """Means with intervals: a panel for each metric and group, a row for each scheme.

        Args:
            names: Columns of `runs_frame`, such as `"utilisation.bottleneck"`; without a group or link, of all of them.
            column: True if the figure is for a column of a paper.

        Raises:
            UserError: There is no such metric.
        """
        from fairlane.results import figures

        return figures.metrics(self._results, names, column=column)
