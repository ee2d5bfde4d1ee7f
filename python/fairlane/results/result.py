"""Results of scenarios: one document, and data frames with one row per run, user, link or sample.

Rates are in bit/s, times in s, queues in packets or bytes of waiting packets.
"""

from __future__ import annotations

import json
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairlane import _fairlane
from fairlane.base.errors import ScenarioWarning, UserError
from fairlane.base.folders import staged
from fairlane.base.text import counted, near, quoted
from fairlane.results import frames
from fairlane.results.answers import differences
from fairlane.results.intervals import CONFIDENCE
from fairlane.results.names import display_name
from fairlane.results.overview import overview
from fairlane.results.pictures import Pictures
from fairlane.results.replications import Replications

if TYPE_CHECKING:
    import polars as pl

    from fairlane.results.table import Table


class Summarised(ABC):
    """Means with intervals, as data frames of Polars and pandas, and as tables in text, LaTeX and CSV."""

    @abstractmethod
    def summary_frame(self) -> pl.DataFrame:
        """Means with 95 % intervals: columns queue, point, group, metric, mean, low, high, n."""

    @abstractmethod
    def _table(self, *, paper: bool = False) -> Table:
        """The table that the terminal shows; with `paper`, schemes are named as in the literature (`FQ-CoDel`)."""

    def to_pandas(self) -> Any:
        """The summary as a data frame of pandas.

        Raises:
            UserError: pandas or pyarrow is not installed; `pip install 'fairlane[pandas]'` installs both.
        """
        return frames.to_pandas(self.summary_frame())

    def write_table(self, path: str | Path) -> None:
        """Writes the summary as CSV, or the terminal's table as LaTeX, depending on the suffix `.csv` or `.tex`.

        Raises:
            UserError: The suffix is a different one.
        """
        path = Path(path)
        if path.suffix == ".csv":
            self.summary_frame().write_csv(path)
        elif path.suffix == ".tex":
            path.write_text(self._table(paper=True).latex(), encoding="utf-8")
        else:
            raise UserError(f"table: {quoted(str(path))}: the suffix is neither .csv nor .tex")

    def __str__(self) -> str:
        return self._table().text()


class Framed(Summarised):
    """Figures and data frames of all runs; in a comparison, the column `queue` distinguishes the queues."""

    @abstractmethod
    def _all(self) -> list[Result]:
        """The results, in order."""

    @property
    def plot(self) -> Pictures:
        """Figures, such as `plot.throughput()`."""
        return Pictures(self._all())

    def summary_frame(self) -> pl.DataFrame:
        """One row per queue, group and metric: mean, bounds of the 95 % interval, number of runs.

        `group` is null for metrics of the whole run, and the name of the link for link metrics; `point` is null.
        """
        return frames.summary_frame(self._all())

    def _table(self, *, paper: bool = False) -> Table:
        found = {one.queue: frames.estimates(one.runs) for one in self._all()}
        table = differences(found, everything=True).table
        return replace(table, heads=["", *map(display_name, found)]) if paper else table

    def runs_frame(self) -> pl.DataFrame:
        """One row per run: parameters, seed, replication, version and every metric."""
        return frames.runs_frame(self._all())

    def costs_frame(self) -> pl.DataFrame:
        """One row per run with its CPU time, which is not reproducible."""
        return frames.costs_frame(self._all())

    def users_frame(self) -> pl.DataFrame:
        """One row per run and user."""
        return frames.users_frame(self._all())

    def flows_frame(self) -> pl.DataFrame:
        """One row per run and TCP flow that lasts as long as the run."""
        return frames.flows_frame(self._all())

    def transfers_frame(self) -> pl.DataFrame:
        """One row per run, group and class of finite transfers. Classes are ranges of durations, or ranges of sizes."""
        return frames.transfers_frame(self._all())

    def links_frame(self) -> pl.DataFrame:
        """One row per run and link."""
        return frames.links_frame(self._all())

    def series_frame(self) -> pl.DataFrame:
        """One row per run, instant and quantity; empty without `probes.series_interval`."""
        return frames.series_frame(self._all())


@dataclass(frozen=True, repr=False)
class Result(Replications, Framed):
    """The replications of one scenario, as frames and files."""

    def _all(self) -> list[Result]:
        return [self]

    def write(self, folder: str | Path, *, pdf: bool = False) -> None:
        """Writes result.json, frames as Parquet, and figures as PNG and SVG; with `pdf`, also figures for a paper."""
        _write(Path(folder), self.json(), [self], pdf)

    def _repr_html_(self) -> str:
        from fairlane.results.display import result_html  # only notebooks need it

        return result_html(self.document(), self.queue)

    def __repr__(self) -> str:
        notes = f", {len(self.notes)} to note" if self.notes else ""
        return f"<Result of {self.scenario['name']}: {counted(len(self.runs_json), 'run')}{notes}>"


@dataclass(frozen=True, repr=False)
class Comparison(Framed, Mapping[str, Result]):
    """Results of one scenario under several queues; `comparison["abc"]` is the result under `abc`.

    Attributes:
        results: Results by queue name, which is the name of a scheme or of a variant.
    """

    results: dict[str, Result]

    def json(self, confidence: float = CONFIDENCE) -> str:
        """An overview of all queues, and one result document per queue (`fairlane schema comparison`)."""
        return json.dumps(self.document(confidence), allow_nan=False, ensure_ascii=False)

    def document(self, confidence: float = CONFIDENCE) -> dict[str, Any]:
        """The comparison document as a dictionary."""
        documents = {queue: result.document(confidence) for queue, result in self.results.items()}
        version = _fairlane.version()
        return {"schema": 1, "version": version, "overview": overview(documents), "results": documents}

    def __getitem__(self, queue: str) -> Result:
        if queue not in self.results:
            raise KeyError(f"{quoted(queue)} was not compared; {near(queue, self.results)}")
        return self.results[queue]

    def __iter__(self) -> Iterator[str]:
        return iter(self.results)

    def __len__(self) -> int:
        return len(self.results)

    def _all(self) -> list[Result]:
        return list(self.results.values())

    def write(self, folder: str | Path, *, pdf: bool = False) -> None:
        """Writes result.json, frames as Parquet, and figures as PNG and SVG; with `pdf`, also figures for a paper."""
        _write(Path(folder), self.json(), self._all(), pdf)

    def _repr_html_(self) -> str:
        from fairlane.results.display import comparison_html

        return comparison_html(self.document())

    def __repr__(self) -> str:
        return f"<Comparison of {', '.join(self.results)}>"


def _write(folder: Path, document: str, results: list[Result], pdf: bool) -> None:
    from fairlane.results import plots  # slow: loads matplotlib
    from fairlane.results.figures import not_drawn, result_figures

    for note in not_drawn(results):
        warnings.warn(note, ScenarioWarning, stacklevel=3)
    with staged(folder) as stage:
        for name, figure in result_figures(results).items():
            plots.save(figure, stage / name)
        for name, figure in result_figures(results, column=True).items() if pdf else ():
            plots.save(figure, stage / name, [".pdf"])
        for name, frame in frames.all_frames(results).items():
            frames.write(frame, stage / f"{name}.parquet")
        (stage / "result.json").write_text(document + "\n", encoding="utf-8")
