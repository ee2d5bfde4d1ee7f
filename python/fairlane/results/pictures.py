"""Figures of results and comparisons, drawn on request: `result.plot.throughput()`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fairlane.results.replications import Replications

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Pictures:
    """Matplotlib figures, which a notebook displays and `savefig("file.pdf")` writes.

    With `column=True` a figure is one paper column (3.5 in) wide and has no title.
    """

    def __init__(self, results: Sequence[Replications]) -> None:
        self._results = results

    def throughput(self, *, over_time: bool = False, column: bool = False) -> Figure:
        """Mean throughput of a user by group, or the rate of each group over time.

        Raises:
            UserError: There are no time series, since the scenario has no `probes.series_interval`.
        """
        from fairlane.results import figures  # slow: loads matplotlib

        return (figures.rate_over_time if over_time else figures.throughput)(self._results, column=column)

    def queue(self, *, over_time: bool = False, column: bool = False) -> Figure:
        """Distribution of the first link's queue length over time, or its time series.

        Raises:
            UserError: There are no time series, since the scenario has no `probes.series_interval`.
        """
        from fairlane.results import figures

        return (figures.queue_over_time if over_time else figures.queue)(self._results, column=column)

    def delay_cdf(self, *, column: bool = False) -> Figure:
        """Distribution of the one-way delay over the packets of each group, in ms.

        Raises:
            UserError: The runs recorded only quantiles, since the scenario lacks `probes.delay_distribution = true`.
        """
        from fairlane.results import figures

        return figures.delay_cdf(self._results, column=column)

    def delay_quantiles(self, *, column: bool = False) -> Figure:
        """Quantiles of the one-way delay of each group, in ms: median, 95th and 99th percentile, and maximum."""
        from fairlane.results import figures

        return figures.delay_quantiles(self._results, column=column)

    def shares(self, *, column: bool = False) -> Figure:
        """Throughput of a user divided by its weighted max-min share, by group."""
        from fairlane.results import figures

        return figures.shares(self._results, column=column)

    def users(self, *, column: bool = False) -> Figure:
        """Distribution of throughput over the users of each group.

        Raises:
            UserError: The runs did not record users, since the scenario has `probes.user_rows = false`.
        """
        from fairlane.results import figures

        return figures.users(self._results, column=column)

    def metrics(self, *names: str, column: bool = False) -> Figure:
        """Means with intervals: a panel for each metric and group, a row for each scheme.

        Args:
            names: Columns of `runs_frame`, such as `"utilisation.bottleneck"`; a name without group or link stands for
                all groups or links.
            column: True to draw one paper column wide.

        Raises:
            UserError: A metric is unknown.
        """
        from fairlane.results import figures

        return figures.metrics(self._results, names, column=column)
