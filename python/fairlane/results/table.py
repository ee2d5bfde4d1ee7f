"""A table of names and numbers for terminal, notebooks and pages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fairlane.results.intervals import PointEstimate, format_interval, format_quantile, interval
from fairlane.results.metric import Metric

Json = Mapping[str, Any]
_TEX = {character: rf"\{character}" for character in "&%$#{}_"} | {
    "±": r"$\pm$",
    "∞": r"$\infty$",
    "–": "--",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\\": r"\textbackslash{}",
}
_TEX_SPECIAL = re.compile("|".join(map(re.escape, _TEX)))


@dataclass
class Table:
    """A table.

    Attributes:
        heads: Headings of the columns, each of one or several lines.
        keys: Number of leading columns that identify a row.
        title: Title on a page.
        note: Description of the rows, written below the table; may be empty.
        rows: Cells.
    """

    heads: Sequence[str | tuple[str, ...]]
    keys: int = 1
    title: str = ""
    note: str = ""
    rows: list[list[str]] = field(default_factory=list)

    def add_row(self, *cells: str) -> None:
        """Adds a row."""
        self.rows.append(list(cells))

    def text(self) -> str:
        """The table as plain text: names aligned left, numbers in columns."""
        heads = [head if isinstance(head, tuple) else (head,) for head in self.heads]
        tall = max(map(len, heads))
        lines = [[*([""] * (tall - len(head))), *head] for head in heads]
        rows = [list(row) for row in zip(*lines, strict=True)] + self.rows
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        text = ["  ".join(part.ljust(width) for part, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        return "\n".join([*text[:tall], "-" * max(map(len, text)), *text[tall:]])

    def latex(self) -> str:
        """The table in LaTeX, in the style of the package booktabs."""
        heads = [" ".join(head) if isinstance(head, tuple) else head for head in self.heads]
        lines = [" & ".join(map(_tex, row)) + r" \\" for row in (heads, *self.rows)]
        columns = "l" * self.keys + "r" * (len(heads) - self.keys)
        body = [r"\toprule", lines[0], r"\midrule", *lines[1:], r"\bottomrule"]
        return "\n".join([rf"\begin{{tabular}}{{{columns}}}", *body, r"\end{tabular}", ""])


def _tex(text: str) -> str:
    """Text for LaTeX: `_` becomes a space, except in parameters such as `share_per=user`."""
    words = " ".join(word if "=" in word else word.replace("_", " ") for word in text.split(" "))
    return _TEX_SPECIAL.sub(lambda found: _TEX[found[0]], words)


def mean(estimate: Mapping[str, Any] | None, factor: float = 1.0) -> str:
    """A mean with its half width, multiplied by `factor`; empty if there is none."""
    return "" if estimate is None else format_interval(*_scaled(estimate, factor))


def quantile(estimate: Mapping[str, Any] | None, factor: float = 1.0) -> str:
    """A quantile with its half width, which includes the error of its histogram."""
    return "" if estimate is None else format_quantile(*_scaled(estimate, factor))


def cell(metric: Metric, estimate: Mapping[str, Any] | None) -> str:
    """The mean of a metric in the unit of tables."""
    return (quantile if metric.is_quantile else mean)(estimate, metric.factor)


def _scaled(estimate: Mapping[str, Any], factor: float) -> tuple[float, float | None]:
    half_width = estimate["half_width"]
    return factor * estimate["mean"], None if half_width is None else factor * half_width


def over_runs(document: Json, values: Iterable[float | None]) -> PointEstimate | None:
    """The mean over runs of a metric that the summary lacks; None if no run has it."""
    samples = [value for value in values if value is not None]
    return interval(samples, document["summary"]["confidence"]).document() if samples else None
