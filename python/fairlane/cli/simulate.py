"""The commands `fairlane run|compare`, and options shared with other commands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import fairlane
from fairlane.base.errors import UserError
from fairlane.base.folders import check_replaceable
from fairlane.base.text import quoted
from fairlane.cli.options import (
    LIBRARIES,
    Decorator,
    check_needs,
    completing,
    from_origin,
    named_as_options,
    options,
    parse_settings,
    path_option,
    pdf_option,
    plane_options,
    run_options,
    scheme_names,
    split_names,
    table_option,
    write_table,
    written_out,
)
from fairlane.cli.output import print_json
from fairlane.simulate.external import SCHEMES, load_scheme_lib
from fairlane.simulate.external_control import CONTROLS
from fairlane.simulate.modules import Registry
from fairlane.simulate.scenario import Scenario
from fairlane.simulate.variants import split_variants
from fairlane.store import Store


def _modules(registry: Registry) -> Decorator:
    """Option that loads Python files of schemes or congestion controls."""

    def load(_context: click.Context, _option: click.Parameter, paths: tuple[Path, ...]) -> None:
        for path in paths:
            registry.load(path)

    return path_option(
        registry.option,
        multiple=True,
        expose_value=False,
        callback=load,
        is_eager=True,
        metavar="FILE.py",
        help=f"Load your own {registry.kind}s from a Python file; may be repeated.",
    )


def _load_libraries(context: click.Context, _option: click.Parameter, paths: tuple[Path, ...]) -> None:
    load_scheme_lib(paths, "--scheme-lib")
    if paths:
        context.meta[LIBRARIES] = True


scheme_lib_option = path_option(
    "--scheme-lib",
    multiple=True,
    expose_value=False,
    callback=_load_libraries,
    is_eager=True,
    metavar="LIB.so",
    help="Load your own schemes from a library; may be repeated.",
)
own_scheme_options = options(_modules(SCHEMES), scheme_lib_option)
own_code_options = options(own_scheme_options, _modules(CONTROLS))
simulation_options = options(
    click.option("--seed", type=int, metavar="N", help="Seed of all random streams."),
    own_code_options,
    run_options,
)
_scenario_options = options(
    click.argument("file", metavar="SCENARIO.toml", type=click.Path(path_type=Path)),
    path_option("--out", help="Write Parquet, figures and result.json."),
    table_option,
    pdf_option,
    simulation_options,
    plane_options,
)


def _flow_numbers(_context: click.Context, _option: click.Parameter, text: str | None) -> list[int] | None:
    if text is None:
        return None
    names = split_names(text)
    for name in names:
        if not name.isdecimal():
            raise UserError(f"--qlog-flows: {quoted(name)} is not a flow number (0, 1, ...)")
    return [int(name) for name in names]


WRITING = {"pdf": ["out"]}
WATCHING = {
    "pcap_drops": ["pcap"],
    "pcap_snaplen": ["pcap"],
    "trace_interval": ["trace"],
    "qlog_flows": ["qlog"],
    "watched": ["pcap", "trace", "qlog"],
    "link": ["pcap", "trace"],
}
"""Options that have an effect only together with at least one of the listed options."""


@click.command()
@_scenario_options
@path_option("--pcap", metavar="FILE.pcapng", help="Capture the packets of a link.")
@click.option(
    "--pcap-replication",
    "watched",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="Replication recorded by --pcap, --trace and --qlog [default: 0, the first].",
)
@click.option("--pcap-drops", is_flag=True, help="Capture dropped packets as well, with a comment.")
@click.option(
    "--pcap-snaplen",
    type=click.IntRange(min=0, max=65_535),
    default=0,
    metavar="BYTES",
    help="Bytes captured per packet; headers are always kept [default: headers only].",
)
@path_option("--trace", help="Write tables of the TCP senders and the queue.")
@click.option(
    "--trace-interval",
    default="10 ms",
    metavar="TIME",
    help='Time between rows; "0 s" for a row at every change [default: 10 ms].',
)
@path_option("--qlog", metavar="FILE", help="Log TCP senders: .qlog for qvis, .sqlog for a JSON text sequence.")
@click.option(
    "--qlog-flows",
    callback=_flow_numbers,
    metavar="N,N",
    help="Flows to log, numbered as in --trace [default: all].",
)
@click.option(
    "--link",
    metavar="NAME",
    help="Link that --pcap captures [default: the first] and --trace records [default: all].",
)
def run(
    file: Path,
    settings: tuple[str, ...],
    out: Path | None,
    pdf: bool,
    table: Path | None,
    store: Path | None,
    trace: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Simulate a scenario; print means with 95% intervals.

    With --plane linux, runs it on a Linux kernel in virtual time.
    """
    check_needs({**WATCHING, **WRITING})
    if out:
        check_replaceable(out, "--out", {"--store": Store(store).folder, "--trace": trace})
    with from_origin(file), named_as_options():
        result = fairlane.run(_scenario(file, settings), store=store, trace=trace, progress=True, **options)
    _deliver(result, out, pdf, table, as_json)


@click.command()
@_scenario_options
@click.option(
    "--queues",
    required=True,
    multiple=True,
    metavar="A,B",
    shell_complete=completing(scheme_names),
    help='Schemes to compare, such as droptail,abc or "abc,abc:gamma=8 packets"; or all. May be repeated.',
)
@click.option("--all", "everything", is_flag=True, help="Print every table instead of only the differences.")
def compare(
    file: Path,
    queues: tuple[str, ...],
    everything: bool,
    settings: tuple[str, ...],
    out: Path | None,
    pdf: bool,
    table: Path | None,
    store: Path | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Run a scenario under several queues.

    With --plane linux, runs it on a Linux kernel in virtual time.

    A queue is a scheme, a scheme with parameters (abc:gamma=8 packets,memory=1 s), or either of them with a label
    (mine=abc:gamma=8 packets).
    """
    check_needs(WRITING)
    if out:
        check_replaceable(out, "--out", {"--store": Store(store).folder})
    with from_origin(file), named_as_options():
        comparison = fairlane.compare(
            _scenario(file, settings), split_variants(queues), store=store, progress=True, **options
        )
    _deliver(comparison, out, pdf, table, as_json, everything=everything)


def _deliver(
    result: fairlane.Result | fairlane.Comparison,
    out: Path | None,
    pdf: bool,
    table: Path | None,
    as_json: bool,
    *,
    everything: bool = False,
) -> None:
    write_table(result, table)
    if out:
        with written_out(out):
            result.write(out, pdf=pdf)
    if as_json:
        print_json(result.json())
    else:
        from fairlane.cli.printing import print_comparison, print_result

        if isinstance(result, fairlane.Comparison):
            print_comparison(result, everything=everything)
        else:
            print_result(result)


def _scenario(file: Path, settings: tuple[str, ...]) -> Scenario:
    return Scenario.from_toml(file).changed(parse_settings(settings))
