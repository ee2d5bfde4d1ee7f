"""Common parts of benches: declaration, options, conditions of a measurement, interleaved turns, tables."""

from __future__ import annotations

import functools
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

import click

from fairlane.base.errors import UserError
from fairlane.base.files import write_aside
from fairlane.results.intervals import Interval

ROOT = Path(__file__).parents[1]
SCENARIOS = Path(__file__).parent / "scenarios"
Json = dict[str, Any]
Block = str | dict[str, list[Any]]
"""A paragraph in Markdown, or a table: its `columns` and `rows`."""
Main = Callable[..., int | None]
T = TypeVar("T")
K = TypeVar("K")
C = TypeVar("C", bound=Callable[..., Any])

FILE = click.Path(path_type=Path, dir_okay=False)


@click.group(invoke_without_command=True, context_settings={"max_content_width": 120})
@click.pass_context
def main(context: click.Context) -> None:
    """Measures Fairlane. `python -m benches NAME --help` shows the options of a bench."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


class Skipped(Exception):  # noqa: N818
    """This machine cannot run the bench; the message is the reason."""

    def __init__(self, reason: str, code: int = 0) -> None:
        super().__init__(reason)
        self.code = code


@dataclass
class Report:
    """Results of a bench, as printed tables, as tables of a page, and as JSON.

    Attributes:
        page: Page with generated tables, or data file of a page in `site/data`; none if the bench writes no page.
        document: Content of the file that `--json` writes.
        failed: Sentences and expectations that do not hold; if any, the bench fails after it has written the page.
    """

    page: Path | None
    document: Json
    failed: list[str] = field(default_factory=list)
    _began: float = field(default_factory=time.monotonic)

    def table(
        self,
        columns: Mapping[str, str],
        rows: Sequence[Sequence[Any]],
        mark: str = "",
        *,
        above: str = "",
        below: str = "",
    ) -> None:
        """Prints a table, writes it between the markers of the page, and stores its values for `--json`.

        Args:
            columns: Format of each column's values, such as `{:.0f} B`.
            rows: Rows of cells. A list is a cell with the values of all turns, a tuple is a cell with several values.
            mark: Marker on the page; if empty, the page does not change.
            above: Text above the table.
            below: Text below the table.
        """
        shown = [[cell(value, spec) for value, spec in zip(row, columns.values(), strict=True)] for row in rows]
        text = "\n\n".join(filter(None, (above, markdown(list(columns), shown), below)))
        kept = [dict(zip(columns, row, strict=True)) for row in rows]
        self.document["tables"].append({"mark": mark, "above": above, "rows": kept, "below": below})
        click.echo(f"{text}\n")
        if mark:
            self.put(mark, text)

    def put(self, mark: str, text: str) -> None:
        """Writes a text between `<!-- MARK -->` and `<!-- end -->` of the page, or into the data file of the page."""
        if self.page is None:
            return
        if self.page.suffix == ".json":
            data = json.loads(self.page.read_text(encoding="utf-8"))
            write_data(self.page, data | {mark: blocks(text)})
            return
        head, begin, rest = self.page.read_text(encoding="utf-8").partition(f"<!-- {mark} -->\n")
        _, end, tail = rest.partition("<!-- end -->")
        if not begin or not end:
            raise click.ClickException(f"{self.page}: no <!-- {mark} --> followed by <!-- end -->")
        self.page.write_text(f"{head}{begin}\n{text}\n\n{end}{tail}", encoding="utf-8")

    def require(self, sentences: Mapping[str, bool]) -> None:
        """Requires that the results bear out sentences, and that the page has them, with any line breaks."""
        text = " ".join(self.page.read_text(encoding="utf-8").split()) if self.page else None
        for sentence, holds in sentences.items():
            if not holds:
                self.failed.append(f"{self.page}: no longer true: {sentence}")
            if text is not None and sentence not in text:
                self.failed.append(f"{self.page}: lacks: {sentence}")

    def progress(self, number: int, of: int, text: str) -> None:
        """Reports that one of several parts is finished."""
        click.echo(f"[{number}/{of}, {time.monotonic() - self._began:.0f} s] {text}", err=True)


def bench(name: str, page: str | None = None) -> Callable[[Main], click.Command]:
    """Declares a bench. The docstring of its module is the help, and the first sentence is the entry in the list.

    Args:
        name: Name in `python -m benches NAME`.
        page: Page of the generated tables; "" if the page is written only on request.
    """

    def declare(function: Main) -> click.Command:
        document = sys.modules[function.__module__].__doc__ or ""
        text = document.replace("\n\n    ", "\n\n\b\n    ")

        @main.command(name, help=text, short_help=document.partition("\n\n")[0])
        @click.option("--json", "json_file", type=FILE, help="Also write the results as JSON.")
        @functools.wraps(function)
        def command(json_file: Path | None, page: Path | None = None, **options: Any) -> None:
            begun = {"bench": name, "machine": machine(), "platform": platform.platform(), "options": options}
            report = Report(page, {**begun, "tables": []})
            try:
                code = function(report, **options)
            except UserError as error:
                raise click.ClickException(str(error)) from error
            except Skipped as reason:
                click.echo(f"skipped: {reason}")
                code = reason.code
            if json_file:
                write_aside(json_file, (json.dumps(report.document, indent=1, default=_plain) + "\n").encode())
            if report.failed:
                raise click.ClickException("\n".join(report.failed))
            click.get_current_context().exit(code or 0)

        if page is not None:
            shown = page or "none"
            kind = click.Path(path_type=Path, exists=True)
            default = ROOT / page if page else None
            told = f"Page whose tables are replaced.  [default: {shown}]"
            command.params.append(click.Option(["--page"], type=kind, default=default, help=told))
        return command

    return declare


def turns(default: int) -> Callable[[C], C]:
    """The option `--turns`."""
    return click.option(
        "--turns", type=click.IntRange(1), default=default, show_default=True, help="Turns; each runs every variant."
    )


def replications(default: int | None) -> Callable[[C], C]:
    """The option `--replications`."""
    least = click.IntRange(2 if default is None else 1)
    return click.option("--replications", type=least, default=default, show_default=True, help="Runs of each point.")


def out(folder: str) -> Callable[[C], C]:
    """The option `--out`."""
    kind = click.Path(path_type=Path, file_okay=False)
    return click.option("--out", type=kind, default=Path(folder), show_default=True, help="Folder of the results.")


def jobs(default: int) -> Callable[[C], C]:
    """The option `--jobs`."""
    return click.option("--jobs", type=click.IntRange(1), default=default, show_default=True, help="Runs at a time.")


only = click.option("--only", default="", help="Only cells whose names contain this text; the page does not change.")


def chosen(report: Report, cells: Sequence[T], only: str, name: Callable[[T], str]) -> list[T]:
    """Selects cells whose names contain a text. Unless all cells are selected, the page does not change."""
    found = [cell for cell in cells if only in name(cell)]
    if not found:
        raise click.BadParameter(f'no cell contains "{only}"; a cell is "{name(cells[0])}"', param_hint="--only")
    if only:
        report.page = None
    return found


def interleaved(turns: int, variants: Mapping[K, Callable[[], T]], *, alternate: bool = False) -> dict[K, list[T]]:
    """Runs every variant once per turn, interleaved (A B A B), so that other load on the machine affects all equally.

    Args:
        turns: Number of runs of each variant.
        variants: Functions to run, by name.
        alternate: Reverse the order in every second turn (A B B A).
    """
    found: dict[K, list[T]] = {name: [] for name in variants}
    for turn in range(turns):
        for name in list(variants)[:: -1 if alternate and turn % 2 else 1]:
            shown = ", ".join(map(str, name)) if isinstance(name, tuple) else name
            click.echo(f"turn {turn + 1} of {turns}: {shown}", err=True)
            found[name].append(variants[name]())
    return found


def cell(value: Any, spec: str = "{}") -> str:
    """Formats a value. A list (one value per turn) becomes the median with minimum and maximum.

    An interval becomes mean ± half width; with the format `{}`, the half width has two digits.
    """
    match value:
        case None:
            return "–"
        case str():
            return value
        case list():
            return f"{spec.format(median(value))} ({spec.format(min(value))} to {spec.format(max(value))})"
        case tuple():
            return " / ".join(cell(one, spec) for one in value)
        case Interval() if spec != "{}":
            return f"{spec.format(value.mean)} ± {spec.format(value.slack)}"
    return spec.format(value)


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = (head, ["---"] * len(head), *rows)
    return "\n".join("".join(f"| {text} " if text else "| " for text in line) + "|" for line in lines)


def blocks(text: str) -> list[Block]:
    """Splits a text in Markdown into paragraphs and tables."""
    found: list[Block] = []
    for part in re.split(r"\n{2,}", text.strip()):
        if not part.startswith("| "):
            found.append(part)
            continue
        head, _, *rows = [[one.strip() for one in re.split(r"(?<!\\)\|", line)[1:-1]] for line in part.splitlines()]
        found.append({"columns": head, "rows": rows})
    return found


def write_data(file: Path, data: Mapping[str, Sequence[Block]]) -> None:
    """Writes the data of a page, one line per row of a table."""
    text = json.dumps(data, indent=1, ensure_ascii=False)
    text = re.sub(r"\[\s+((?:\"(?:[^\"\\]|\\.)*\",?\s+)+)\]", lambda row: f"[{' '.join(row[1].split())}]", text)
    write_aside(file, f"{text}\n".encode())


def _plain(value: Any) -> Any:
    return value.document() if isinstance(value, Interval) else str(value)


def cargo(*words: str) -> Path:
    """Runs cargo in release mode, as configured in the manifest; returns the folder of the built programs."""
    # Incremental compilation divides the engine differently, which costs 2 % more instructions.
    others = ("CARGO_PROFILE_", "CARGO_INCREMENTAL")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(others)}
    subprocess.run(["cargo", words[0], "--release", "--quiet", *words[1:]], cwd=ROOT, check=True, env=environment)
    return ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "release"


def build(program: str) -> Path:
    """Builds a program of `crates/bench`; returns its path."""
    # Also builds the unused extension, since its features make the engine identical to that of `make setup`.
    return cargo("build", "--package", "fairlane-bench", "--package", "fairlane-py", "--bin", program) / program


def scenario(path: Path, *, queue: Json | None = None, tcp: Json | None = None, run: Json | None = None) -> str:
    """Returns a scenario file as JSON for the programs, with the given keys changed."""
    content: Json = tomllib.loads(path.read_text(encoding="utf-8"))
    for table, changes in (("queue", queue), ("tcp", tcp), ("run", run)):
        content[table] = content.get(table, {}) | (changes or {})
    return json.dumps(content)


def run(*command: str | Path) -> Json:
    """Runs a program that prints one line of JSON."""
    done = subprocess.run([str(word) for word in command], check=True, stdout=subprocess.PIPE, text=True)
    line: Json = json.loads(done.stdout)
    return line


def rate(line: Json) -> float:
    """Million delivered packets per CPU second."""
    return float(line["delivered_packets"]) / float(line["cpu_seconds"]) / 1e6


def nanoseconds(line: Json) -> float:
    """CPU time per delivered packet."""
    return 1e3 / rate(line)


def instructions(*command: str | Path, options: Sequence[str] = ()) -> float | None:
    """Instructions per packet (callgrind) of a program that prints its number of packets; None without valgrind."""
    if shutil.which("valgrind") is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        callgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out", *options]
        words = [*callgrind, *map(str, command)]
        done = subprocess.run(words, check=True, capture_output=True, text=True)
    total = re.search(r"Collected : (\d+)", done.stderr)
    if total is None:
        raise RuntimeError(f"valgrind gave no count:\n{done.stderr}")
    printed: Any = json.loads(done.stdout)
    return int(total[1]) / int(printed["packets"] if isinstance(printed, dict) else printed)


def rustc() -> tuple[str, str]:
    """Version and target of cargo's compiler."""
    lines = subprocess.run(["rustc", "-Vv"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    host = next(line.removeprefix("host: ") for line in lines if line.startswith("host: "))
    return lines[0], host


def processor() -> str:
    """Model of the processor."""
    cpuinfo = Path("/proc/cpuinfo")
    found = re.search(r"^model name\s*: (.*)", cpuinfo.read_text() if cpuinfo.exists() else "", re.MULTILINE)
    return found[1] if found else platform.machine()


def machine() -> str:
    """Processor and number of cores."""
    return f"{processor()}, {os.cpu_count()} cores"


def conditions() -> str:
    """Machine, compiler and commit of a measurement."""
    git = ["git", "-C", str(ROOT), "describe", "--always", "--dirty", "--abbrev=7"]
    commit = subprocess.run(git, check=True, capture_output=True, text=True).stdout.strip()
    return f"{machine()}, {rustc()[0]}, commit {commit}"
