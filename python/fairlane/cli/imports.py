"""The commands `fairlane import KIND FILE`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fairlane.base.errors import UserError
from fairlane.base.files import check_file, write_aside, written_below
from fairlane.base.quantities import UNITS, parsed
from fairlane.base.text import quoted
from fairlane.cli.options import Decorator, Group, options, path_option, scheme_names
from fairlane.cli.output import say
from fairlane.simulate.catalogue import schemes

if TYPE_CHECKING:
    from fairlane.imports.imported import Imported


class _Quantity(click.ParamType[float]):
    """A quantity with a unit, as a number in the base unit."""

    def __init__(self, unit: str, example: str) -> None:
        self.name = f"quantity of {unit}"
        self._unit, self._example = unit, example

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        found = parsed(value, self._unit) if isinstance(value, str) else value
        if found is None or found <= 0:
            self.fail(f"{quoted(value)} is not a quantity such as {self._example}", param, ctx)
        return float(found)


_SHARE = _Quantity("1", '"10 %"')


def _scheme(_context: click.Context, _option: click.Parameter, name: str) -> str:
    schemes(name)  # raises for an unknown name
    return name


def _unit_option(name: str, unit: str, of: str, default: str) -> Decorator:
    units = [name for name in UNITS[unit] if name.isascii()]
    return click.option(
        name, type=click.Choice(units), metavar="UNIT", help=f"Unit of plain {of} [default: {default}]."
    )


_file = click.argument("file", type=click.Path(path_type=Path), metavar="FILE")
_common = options(
    _file,
    path_option("--out", metavar="FILE.toml", help="File to write [default: standard output]."),
    click.option(
        "--scheme",
        default="droptail",
        show_default=True,
        metavar="NAME",
        callback=_scheme,
        shell_complete=lambda _context, _parameter, begun: [name for name in scheme_names() if name.startswith(begun)],
        help="Scheme of the queue.",
    ),
)
_rate = click.option(
    "--rate", "rate_bps", type=_Quantity("bit/s", '"10 Mbit/s"'), metavar="RATE", help="Rate of the bottleneck."
)
_rtt = click.option(
    "--rtt", "rtt_s", type=_Quantity("s", '"20 ms"'), metavar="TIME", help="Round-trip time without queues."
)
_time_unit = _unit_option("--time-unit", "s", "times", "s")
_compared = options(
    _common,
    _rate,
    _rtt,
    click.option(
        "--tolerance",
        type=_SHARE,
        default="10 %",
        show_default=True,
        metavar="SHARE",
        help="Tolerance of expected values.",
    ),
)


@click.group("import", cls=Group)
def import_commands() -> None:
    """Write a scenario from a file of another tool.

    What a scenario cannot express is reported as notes, on stderr and as comments in the scenario. An existing file is
    never overwritten.
    """


@import_commands.command("rate-trace")
@_common
@_rtt
@_time_unit
@_unit_option("--rate-unit", "bit/s", "rates", "bit/s")
def rate_trace(file: Path, out: Path | None, **given: Any) -> None:
    """Import a trace of a link's rate.

    FILE is a table of time and rate, or a trace of Mahimahi.
    """
    from fairlane.imports import rate_trace

    _write(file, out, rate_trace.imported(file, named=_named(file, _new(out)), **given))


@import_commands.command()
@_common
@_rate
@_rtt
@_time_unit
@_unit_option("--size-unit", "bytes", "sizes", "B")
def flows(file: Path, out: Path | None, **given: Any) -> None:
    """Import a list of flows.

    FILE is a table of time, size and user, or a flow file of HPCC.
    """
    from fairlane.imports import flows

    _new(out)
    _write(file, out, flows.imported(file, **given))


@import_commands.command()
@_common
@_rate
@_rtt
@click.option(
    "--load", type=_SHARE, default="60 %", show_default=True, metavar="SHARE", help="Load that the transfers offer."
)
@click.option(
    "--unit",
    "unit_bytes",
    type=_Quantity("bytes", '"1460 B"'),
    metavar="SIZE",
    help="Size of 1 in the first column [default: 1460 B with three columns, else 1 B].",
)
def cdf(file: Path, out: Path | None, **given: Any) -> None:
    """Import a distribution of flow sizes.

    FILE is of HPCC, HKUST, pFabric, ns-2 or Homa.
    """
    from fairlane.imports import cdf

    _write(file, out, cdf.imported(file, named=_named(file, _new(out)), **given))


@import_commands.command()
@_common
@click.option(
    "--rate",
    "rate_bps",
    type=_Quantity("bit/s", '"10 Mbit/s"'),
    metavar="RATE",
    help="Rate of links without one [default: 100 Mbit/s].",
)
@_unit_option("--rate-unit", "bit/s", "capacities of SNDlib", "Mbit/s")
def topology(file: Path, out: Path | None, **given: Any) -> None:
    """Import a topology.

    FILE is of the Internet Topology Zoo (GraphML, GML) or SNDlib (native text, XML).
    """
    from fairlane.imports import topology

    _new(out)
    _write(file, out, topology.imported(file, **given))


@import_commands.command()
@_compared
def iperf3(file: Path, out: Path | None, **given: Any) -> None:
    """Import a result of iperf3 --json.

    The measured values become expectations for `fairlane check`.
    """
    from fairlane.imports import iperf3

    _new(out)
    _write(file, out, iperf3.imported(file, **given), "check")


@import_commands.command()
@_compared
def flent(file: Path, out: Path | None, **given: Any) -> None:
    """Import a .flent.gz file.

    The measured values become expectations for `fairlane check`.
    """
    from fairlane.imports import flent

    _new(out)
    _write(file, out, flent.imported(file, **given), "check")


@import_commands.command("flow-monitor")
@_compared
def flow_monitor(file: Path, out: Path | None, **given: Any) -> None:
    """Import a result of ns-3's FlowMonitor.

    The measured values become expectations for `fairlane check`.
    """
    from fairlane.imports import flow_monitor

    _new(out)
    _write(file, out, flow_monitor.imported(file, **given), "check")


def _new(out: Path | None) -> Path | None:
    """Raises a UserError if the output exists or cannot be written."""
    if out is not None:
        if out.exists():
            raise UserError(f"{out}: exists already and is not overwritten")
        check_file(out, "--out")
    return out


def _named(file: Path, out: Path | None) -> str:
    """Name of the file in a scenario, relative to the scenario's folder."""
    return os.path.relpath(file, out.parent if out is not None else Path())


def _write(file: Path, out: Path | None, imported: Imported, then: str = "run") -> None:
    text = imported.toml(file, out.parent if out is not None else Path())
    if out is None:
        click.echo(text, nl=False)
    else:
        with written_below(out, "--out"):
            write_aside(out, text.encode())
    for note in imported.notes:
        say(f"note: {note}", error=True)
    if out is not None:
        say(f"written: {out}")
        say(f"next: fairlane {then} {out}")
