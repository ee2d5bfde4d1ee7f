"""The command `fairlane`.

Every error of the user is one line on stderr and exit code 2. Ctrl-C ends with 130, SIGTERM with 143, SIGHUP with 129;
what is finished is kept. A failed `--check` ends with 1.
"""

from __future__ import annotations

import io
import json
import os
import signal
import sys
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import fairlane
from fairlane import _fairlane
from fairlane.base import toml
from fairlane.base.errors import FairlaneError, Interrupted, ScenarioError, SchemeError, ThreadError, UserError
from fairlane.base.files import written_below
from fairlane.base.folders import check_replaceable
from fairlane.base.signals import Received, as_interrupts
from fairlane.base.text import message_line, quoted
from fairlane.cli.lab import lab_commands
from fairlane.cli.options import Group, check_needs, given_options, options
from fairlane.cli.output import READABLE, print_json, say
from fairlane.cli.p4 import p4_commands
from fairlane.cli.store import store_commands
from fairlane.papers import papers, select
from fairlane.report import DEFAULT_FOLDER
from fairlane.results.documents import SCHEMAS, reproductions
from fairlane.simulate.external import load_schemes
from fairlane.simulate.replications import MOST_THREADS
from fairlane.simulate.scenario import Scenario
from fairlane.store import Store

if TYPE_CHECKING:
    from fairlane.papers.reproduce import Reproduction

EXIT_CHECK_FAILED = 1
EXIT_USER_ERROR = 2


def main() -> None:
    """Runs the command line and exits."""
    _prepare_output()
    with as_interrupts() as received:
        code = _run(sys.argv[1:], received)
    # Whoever interrupts now need not see how the interpreter ends.
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(code)


def _prepare_output() -> None:
    """Makes the standard output take every character, and all of them or an error."""
    out = sys.stdout
    if isinstance(out, io.TextIOWrapper):
        raw: object = out.buffer
        if isinstance(raw, io.RawIOBase):
            # With PYTHONUNBUFFERED Python passes over a write that was cut short, as on a full disk.
            out = sys.stdout = io.TextIOWrapper(io.BufferedWriter(raw), encoding=out.encoding, write_through=True)
        out.reconfigure(errors=READABLE)


def _run(arguments: list[str], received: Received | None = None) -> int:
    received = received or Received()
    try:
        _check_text(arguments)
        code: int | None = commands.main(arguments, prog_name="fairlane", standalone_mode=False)
        sys.stdout.flush()
        return code or 0
    except click.ClickException as error:
        return _fail(error.format_message())
    except Interrupted as interrupted:
        _report(str(interrupted))
    except (FairlaneError, ScenarioError, SchemeError, ThreadError) as error:
        return _fail(str(error))
    except (KeyboardInterrupt, click.Abort):
        _report("interrupted")
    except OSError as error:
        if received.number is None:
            return _fail(f"{error.filename}: {error.strerror}") if error.filename else _fail_output(error)
    return received.exit_code


def _check_text(arguments: list[str]) -> None:
    """Names of files go to libraries, documents and the terminal: all of them need text."""
    for argument in arguments:
        try:
            argument.encode()
        except UnicodeEncodeError:
            raise UserError(f"{os.fsencode(argument)!r}: must be UTF-8 text") from None


def _fail(message: str) -> int:
    _report(f"{click.style('error:', fg='red')} {message_line(message)}")
    return EXIT_USER_ERROR


def _report(line: str) -> None:
    with suppress(OSError):  # the terminal may be gone
        click.echo(line, err=True)


def _fail_output(error: OSError) -> int:
    """Ends after an error that names no file, which is one of the standard output; that now leads nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if isinstance(error, BrokenPipeError):
        return EXIT_CHECK_FAILED  # its reader has gone, and knows
    return _fail(f"standard output: {error.strerror}")


def _load_schemes(paths: tuple[Path, ...]) -> None:
    for path in paths:
        load_schemes(path)


_json = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
_store_options = options(
    click.option("--replications", type=click.IntRange(min=1), metavar="N", help="Replications of every point."),
    click.option(
        "--threads", type=click.IntRange(1, MOST_THREADS), metavar="N", help="Simulator threads [default: all cores]."
    ),
    click.option(
        "--store",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="Finished runs [default: results/store].",
    ),
    click.option("--set", "settings", multiple=True, metavar="KEY=VALUE", help="Change a key of the scenario."),
)
_run_options = options(_store_options, _json)
_scenario_options = options(
    click.argument("file", metavar="SCENARIO.toml", type=click.Path(path_type=Path)),
    click.option("--seed", type=int, metavar="N", help="Seed of all random streams."),
    click.option(
        "--out",
        type=click.Path(path_type=Path),
        metavar="DIR",
        help="Write Parquet, figures and result.json.",
    ),
    click.option(
        "--scheme-module",
        "modules",
        type=click.Path(path_type=Path),
        multiple=True,
        expose_value=False,
        callback=lambda _context, _option, paths: _load_schemes(paths),
        is_eager=True,
        metavar="FILE.py",
        help="Run a file that registers schemes of your own; can be given again.",
    ),
    _run_options,
)


@click.group(cls=Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(_fairlane.version(), prog_name="fairlane", message="%(prog)s %(version)s")
def commands() -> None:
    """Simulate fair sharing of links, packet by packet."""


WATCHING = {
    "pcap_drops": ["pcap"],
    "pcap_snaplen": ["pcap"],
    "trace_interval": ["trace"],
    "watched": ["pcap", "trace"],
    "link": ["pcap", "trace"],
}
"""What options about a replication that is watched need."""


@commands.command()
@_scenario_options
@click.option(
    "--pcap",
    type=click.Path(path_type=Path),
    metavar="FILE.pcapng",
    help="Capture the packets of a link.",
)
@click.option(
    "--pcap-replication",
    "watched",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="The replication that --pcap and --trace watch [default: 0, the first].",
)
@click.option("--pcap-drops", is_flag=True, help="Capture dropped packets as well, with a comment.")
@click.option(
    "--pcap-snaplen",
    type=click.IntRange(min=0, max=65_535),
    default=0,
    metavar="BYTES",
    help="Keep so much of each packet, the headers at least [default: the headers].",
)
@click.option(
    "--trace",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write tables of the TCP senders and the queue.",
)
@click.option(
    "--trace-interval",
    default="10 ms",
    metavar="TIME",
    help='Time between two rows; "0 s": a row at every change [default: 10 ms].',
)
@click.option(
    "--link",
    metavar="NAME",
    help="The link that --pcap captures and whose queue --trace has [default: the first, and all].",
)
def run(
    file: Path,
    seed: int | None,
    out: Path | None,
    replications: int | None,
    threads: int | None,
    store: Path | None,
    settings: tuple[str, ...],
    as_json: bool,
    pcap: Path | None,
    watched: int,
    pcap_drops: bool,
    pcap_snaplen: int,
    trace: Path | None,
    trace_interval: str,
    link: str | None,
) -> None:
    """Simulate a scenario; print means with 95% intervals."""
    check_needs(WATCHING)
    if out:
        check_replaceable(out, "--out", {"--store": Store(store).folder, "--trace": trace})
    with _named(file):
        result = fairlane.run(
            _scenario(file, settings),
            replications=replications,
            seed=seed,
            threads=threads,
            store=store,
            progress=True,
            pcap=pcap,
            pcap_drops=pcap_drops,
            pcap_snaplen=pcap_snaplen,
            trace=trace,
            trace_interval=trace_interval,
            link=link,
            watched=watched,
        )
    if out:
        with written_below(out, "--out"):
            result.write(out)
    if as_json:
        print_json(result.json())
    else:
        from fairlane.cli.printing import print_result

        print_result(result)


@commands.command()
@_scenario_options
@click.option("--queues", required=True, metavar="A,B", help="Schemes to compare, such as droptail,abc; or all.")
def compare(
    file: Path,
    seed: int | None,
    out: Path | None,
    replications: int | None,
    threads: int | None,
    store: Path | None,
    settings: tuple[str, ...],
    as_json: bool,
    queues: str,
) -> None:
    """Simulate a scenario under several queues."""
    if out:
        check_replaceable(out, "--out", {"--store": Store(store).folder})
    with _named(file):
        comparison = fairlane.compare(
            _scenario(file, settings),
            [name.strip() for name in queues.split(",")],
            replications=replications,
            seed=seed,
            threads=threads,
            store=store,
            progress=True,
        )
    if out:
        with written_below(out, "--out"):
            comparison.write(out)
    if as_json:
        print_json(comparison.json())
    else:
        from fairlane.cli.printing import print_comparison

        print_comparison(comparison)


@commands.command()
@click.argument("names", nargs=-1, metavar="[PAPER[.FIGURE]]...")
@click.option("--quick", is_flag=True, help="Fewer and shorter runs, for a first look.")
@click.option("--check", is_flag=True, help="Exit with 1 if a claim is not reproduced that was expected to be.")
@click.option("--write-verdicts", is_flag=True, help="Make the verdicts the expected ones.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write figures, points and claims [default: results/PAPER]; of several papers to DIR/PAPER.",
)
@_run_options
def reproduce(
    names: tuple[str, ...],
    quick: bool,
    check: bool,
    write_verdicts: bool,
    out: Path | None,
    replications: int | None,
    threads: int | None,
    store: Path | None,
    settings: tuple[str, ...],
    as_json: bool,
) -> None:
    """Run experiments of papers, such as abc2018.fig4a, and test their claims.

    `all` stands for every experiment of every paper. Without a name: list what can be reproduced.
    """
    if not names:
        if useless := [option for option in given_options().values() if option != "--json"]:
            raise UserError(f"{useless[0]}: has no effect without a name, such as abc2018.fig4a")
        _list_papers(as_json)
        return
    if quick and (check or write_verdicts):
        option = "--check" if check else "--write-verdicts"
        raise UserError(f"--quick: cannot be given with {option}, verdicts are those of full runs")
    selected = {paper.key: [experiment.id for experiment in experiments] for paper, experiments in select(names)}
    folders = {key: out / key if out and len(selected) > 1 else out or Path("results") / key for key in selected}
    for folder in folders.values():
        check_replaceable(folder, "--out", {"--store": Store(store).folder})
    regressions: list[str] = []
    documents = []
    for key, experiments in selected.items():
        with _named("--set"):
            reproduction = fairlane.reproduce(
                *experiments,
                quick=quick,
                replications=replications,
                settings=parse_settings(settings),
                threads=threads,
                store=store,
                progress=True,
            )
        with written_below(folders[key], "--out"):
            figures = reproduction.write(folders[key])
        documents.append(reproduction.document())
        if not as_json:
            _print_reproduction(reproduction, figures)
        regressions += reproduction.regressions() if check else []  # against the old verdicts
        if write_verdicts:
            reproduction.write_expected()
    if as_json:
        document = documents[0] if len(documents) == 1 else reproductions(documents)
        print_json(json.dumps(document, allow_nan=False, ensure_ascii=False))
    for line in regressions:
        say(f"check: {line}", error=True)
    if regressions:
        click.get_current_context().exit(EXIT_CHECK_FAILED)


def _print_reproduction(reproduction: Reproduction, figures: Sequence[Path]) -> None:
    from fairlane.cli.printing import print_reproduction

    print_reproduction(reproduction)
    for figure in figures:
        say(f"figure: {figure} and {figure.with_suffix('.svg').name}")


@commands.command()
@click.argument("names", nargs=-1, metavar="[PAPER[.FIGURE]]...")
@click.option("--quick", is_flag=True, help="Show the quick runs of `reproduce --quick`.")
@click.option("--run", "run_missing", is_flag=True, help="Simulate what the store lacks.")
@click.option(
    "--compare",
    "comparison",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Show a result.json of `fairlane compare` side by side.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=DEFAULT_FOLDER,
    metavar="DIR",
    help="Write pages and figures [default: results/report].",
)
@_store_options
def report(
    names: tuple[str, ...],
    quick: bool,
    run_missing: bool,
    comparison: Path | None,
    out: Path,
    replications: int | None,
    threads: int | None,
    store: Path | None,
    settings: tuple[str, ...],
) -> None:
    """Write HTML pages and figures of stored results and their verdicts.

    Of all papers without a name. The pages need no network; what is not stored yet is named with its command.
    """
    check_needs({"threads": ["run_missing"]})
    with _named("--set"):
        start = fairlane.report(
            *names,
            out=out,
            compare=comparison,
            quick=quick,
            run=run_missing,
            replications=replications,
            settings=parse_settings(settings),
            threads=threads,
            store=store,
            progress=True,
        )
    say(f"report: {start}")


@commands.command()
@click.argument("file", metavar="SWEEP.toml", type=click.Path(path_type=Path))
@click.option("--dry-run", is_flag=True, help="List the points, what is stored of them and what is missing.")
@click.option(
    "--ray",
    metavar="[ADDRESS]",
    is_flag=False,
    flag_value="auto",
    help="Run on a Ray cluster: auto (also without ADDRESS), local, HOST:PORT or ray://HOST:PORT.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Write runs and points (Parquet, CSV) and sweep.json [default: results/NAME].",
)
@_run_options
def sweep(
    file: Path,
    dry_run: bool,
    ray: str | None,
    out: Path | None,
    replications: int | None,
    threads: int | None,
    store: Path | None,
    settings: tuple[str, ...],
    as_json: bool,
) -> None:
    """Simulate a scenario at many points, with replications.

    What is stored is not simulated again: after an interruption or a kill the same command continues.
    """
    from fairlane.sweeps import Plan
    from fairlane.sweeps.preview import preview

    if ray is not None and threads is not None:
        raise UserError(f"--threads: {threads} cannot be given with --ray, which uses the CPUs of the cluster")
    plan = Plan.read(file, replications=replications, settings=parse_settings(settings))
    if dry_run:
        given = given_options()
        for name in given.keys() & {"threads", "ray", "out"}:
            raise UserError(f"{given[name]}: has no effect with --dry-run")
        with _named(file):
            planned = preview(plan, store)
        if as_json:
            print_json(json.dumps(planned, indent=2, ensure_ascii=False))
        else:
            from fairlane.cli.printing import print_plan

            print_plan(planned)
        return
    out = out or Path("results") / plan.name
    check_replaceable(out, "--out", {"--store": Store(store).folder})
    with _named(file):
        result = fairlane.sweep(plan, threads=threads, ray=ray, store=store, progress=True)
    with written_below(out, "--out"):
        result.write(out)
    if as_json:
        print_json(result.json())
    else:
        from fairlane.cli.printing import print_sweep

        print_sweep(result, out)


@commands.command()
@click.argument("name", required=False)
@_json
def schemes(name: str | None, as_json: bool) -> None:
    """List the schemes, or the parameters of one."""
    chosen = fairlane.schemes(name)
    if as_json:
        print_json(json.dumps(chosen, indent=2, ensure_ascii=False))
        return
    from fairlane.cli import printing

    if name is None:
        printing.print_schemes(chosen)
    else:
        printing.print_scheme(chosen[0])


@commands.command()
@_json
def topologies(as_json: bool) -> None:
    """List the topologies with their parameters."""
    every = fairlane.topologies()
    if as_json:
        print_json(json.dumps(every, indent=2, ensure_ascii=False))
        return
    from fairlane.cli.printing import print_topologies

    print_topologies(every)


@commands.command()
@click.argument("of", type=click.Choice(list(SCHEMAS)))
def schema(of: str) -> None:
    """Print the JSON Schema of a file or of what a command prints with --json."""
    print_json(json.dumps(fairlane.schema(of), indent=2, ensure_ascii=False))


commands.add_command(store_commands)
commands.add_command(lab_commands)
commands.add_command(p4_commands)


def _list_papers(as_json: bool) -> None:
    if as_json:
        experiments = {
            paper.key: {experiment.id: experiment.title for experiment in paper.experiments.values()}
            for paper in papers().values()
        }
        print_json(json.dumps(experiments, indent=2, ensure_ascii=False))
        return
    from fairlane.cli.printing import print_papers
    from fairlane.simulate.replications import cores

    print_papers(papers().values(), cores())


@contextmanager
def _named(origin: str | Path) -> Iterator[None]:
    """Says where a wrong key of a scenario came from."""
    try:
        yield
    except ScenarioError as error:
        raise UserError(f"{origin}: {error}") from error


def _scenario(file: Path, settings: tuple[str, ...]) -> Scenario:
    scenario = Scenario.from_toml(file)
    for key, value in parse_settings(settings).items():
        scenario = scenario.replace(key, value)
    return scenario


def parse_settings(texts: tuple[str, ...]) -> dict[str, Any]:
    """KEY=VALUE pairs; a value is TOML, or else a string without quotes."""
    settings = {}
    for text in texts:
        key, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not key:
            raise UserError(f"--set: {quoted(text)} is not KEY=VALUE")
        settings[key] = _value(key, value)
    return settings


def _value(key: str, text: str) -> Any:
    try:
        parsed = toml.parse(f"value = {text}")
    except tomllib.TOMLDecodeError as error:
        if error.__cause__ is not None:
            raise UserError(f"--set: {key}: {error}") from error
        return text
    if len(parsed) > 1:
        raise UserError(f"--set: {key}: {quoted(text)} sets other keys as well; give --set again for each")
    return parsed["value"]
