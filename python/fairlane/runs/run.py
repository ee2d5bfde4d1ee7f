"""The functions `run` and `compare`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from fairlane import _fairlane
from fairlane.base.errors import ScenarioError, UserError, check_kind
from fairlane.base.planes import LINUX, SIMULATOR, problem_of_virtual
from fairlane.base.text import quoted, visible
from fairlane.results.kept import Kept
from fairlane.results.notes import warn
from fairlane.results.result import Comparison, Result
from fairlane.simulate.catalogue import schemes
from fairlane.simulate.external import SchemeLib, load_scheme_lib
from fairlane.simulate.replications import check_threads, tell_of_expectations
from fairlane.simulate.replications import replications as count
from fairlane.simulate.scenario import Scenario
from fairlane.simulate.variants import ALL, Queues, Variant, check_once, variants
from fairlane.store import Store
from fairlane.store.simulate import simulate

TRACE_INTERVAL = "10 ms"
MOST_FLOW = 2**32 - 1


def run(
    scenario: Scenario | str | Path,
    *,
    replications: int | None = None,
    seed: int | None = None,
    threads: int | None = None,
    store: str | Path | None = None,
    scheme_lib: SchemeLib = None,
    progress: bool = False,
    pcap: str | Path | None = None,
    pcap_drops: bool = False,
    pcap_snaplen: int = 0,
    trace: str | Path | None = None,
    trace_interval: str = TRACE_INTERVAL,
    qlog: str | Path | None = None,
    qlog_flows: Iterable[int] | None = None,
    link: str | None = None,
    watched: int = 0,
    plane: str = SIMULATOR,
    kernel: str | None = None,
) -> Result:
    """Simulates the replications of a scenario, or runs them on a Linux kernel in virtual time.

    `pcap`, `trace` and `qlog` (simulator only) record one replication. Recording does not change the results.

    Args:
        scenario: A scenario, or the path of its TOML file.
        replications: Replaces `run.replications`.
        seed: Replaces `run.seed`.
        threads: Simulator threads; all cores if None. Results do not depend on it.
        store: Folder that keeps finished replications if the work is interrupted.
        scheme_lib: Scheme library or libraries to load first.
        progress: Report progress on stderr.
        pcap: File for a capture (pcapng) of a link.
        pcap_drops: Include dropped packets, with a comment.
        pcap_snaplen: Bytes captured per packet; headers are always captured.
        trace: Folder for Parquet tables of all TCP senders and of the queue (plane `linux`: senders only).
        trace_interval: Time between two rows; "0 s" for a row at every change.
        qlog: File for a log of TCP senders: `.qlog` for qvis, `.sqlog` for a JSON text sequence of the current drafts.
        qlog_flows: Numbers of the flows in `qlog`, as in `trace`; all if None.
        link: Link for `pcap` (default: the first) and for the queue tables of `trace` (default: all links).
        watched: Number of the replication that `pcap`, `trace` and `qlog` record.
        plane: `simulator` or `linux`. With `linux`, `threads` is the number of concurrent kernels.
        kernel: Kernel version for the plane `linux`; if None, the newest kernel that was built.

    Raises:
        ScenarioError: The scenario cannot be simulated.
        SchemeError: A scheme in Python or of a library failed.
        UserError: The file cannot be read; capture, tables or log cannot be written; a flow does not exist; the plane
            `linux` does not support the scenario, or no kernel was built.
        GuestError: A kernel returned no result.
        Interrupted: Ctrl-C.
    """
    load_scheme_lib(scheme_lib)
    asked = prepared(scenario, replications, seed)
    canonical = asked.canonical()
    given: dict[int, Kept] = {}
    check_threads(threads)
    check_plane(plane, kernel, scheme_lib)
    for name, is_given, needs, has_them in (
        ("pcap_drops", pcap_drops, "pcap", pcap),
        ("pcap_snaplen", pcap_snaplen != 0, "pcap", pcap),
        ("trace_interval", trace_interval != TRACE_INTERVAL, "trace", trace),
        ("link", link is not None, "pcap or trace", pcap or trace),
        ("qlog_flows", qlog_flows is not None, "qlog", qlog),
        ("watched", watched != 0, "pcap or trace or qlog", pcap or trace or qlog),
    ):
        if is_given and not has_them:
            raise UserError(f"{name}: has no effect without {needs}")
    if plane == LINUX:
        from fairlane.linux import runs as linux  # a plain run stays small

        _check_linux(qlog=qlog)
        if link is not None and not pcap:
            raise UserError("link: has no effect on the plane linux without pcap")
        linux.check([canonical])
    if pcap or trace or qlog:
        # Watching needs polars and numpy; a plain run stays small.
        from fairlane.runs.watch import Watch

        file, folder = Path(pcap) if pcap else None, Path(trace) if trace else None
        log, flows = Path(qlog) if qlog else None, None if qlog_flows is None else _flows(qlog_flows)
        watch = Watch(watched, file, pcap_drops, pcap_snaplen, folder, trace_interval, link, log, flows)
        watch.check(count(canonical))
        if plane == LINUX:
            watch.run_on_kernel(linux.find(kernel), canonical, show_progress=progress)
        else:
            given[watched] = watch.run(canonical, show_progress=progress)
    tell_of_expectations(len(asked.expectations), show=progress)
    warn({asked.name: canonical})
    (result,) = _results(
        [canonical], given=given, plane=plane, kernel=kernel, threads=threads, store=store, progress=progress
    )
    return result


def compare(
    scenario: Scenario | str | Path,
    queues: Queues,
    *,
    replications: int | None = None,
    seed: int | None = None,
    threads: int | None = None,
    store: str | Path | None = None,
    scheme_lib: SchemeLib = None,
    progress: bool = False,
    plane: str = SIMULATOR,
    kernel: str | None = None,
) -> Comparison:
    """Runs a scenario under several queues. Each queue keeps the limit and scheduler of the scenario's queue.

    Args:
        scenario: A scenario, or the path of its TOML file.
        queues: Names of schemes, as listed by `fairlane schemes` or registered with `register_scheme`; `["all"]` for
            every listed scheme. A scheme may have parameters: `"abc:gamma=8 packets"` or `{"scheme": "abc", "gamma":
            "8 packets"}`. A dictionary gives labels: `{"mine": "abc:gamma=8 packets"}`.
        replications: Replaces `run.replications`.
        seed: Replaces `run.seed`.
        threads: Simulator threads; all cores if None. Results do not depend on it.
        store: Folder that keeps finished replications if the work is interrupted.
        scheme_lib: Scheme library or libraries to load first.
        progress: Report progress on stderr.
        plane: `simulator` or `linux`, as for `run`.
        kernel: Kernel version for the plane `linux`; if None, the newest kernel that was built.

    Raises:
        ScenarioError: The scenario cannot be simulated.
        SchemeError: A scheme in Python or of a library failed.
        UserError: The file cannot be read; a queue or parameter is unknown, a queue is named twice, or none is named;
            the plane `linux` does not support the scenario.
        Interrupted: Ctrl-C.
    """
    load_scheme_lib(scheme_lib)
    check_plane(plane, kernel, scheme_lib)
    chosen = variants(queues)
    asked = prepared(scenario, replications, seed)
    canonical = asked.canonical()
    scenarios = [under(variant, canonical) for variant in chosen]
    tell_of_expectations(len(asked.expectations), show=progress)
    labels = [variant.label for variant in chosen]
    warn(dict(zip(labels, scenarios, strict=True)))
    results = _results(scenarios, plane=plane, kernel=kernel, threads=threads, store=store, progress=progress)
    return Comparison({label: replace(result, label=label) for label, result in zip(labels, results, strict=True)})


def under(variant: Variant, canonical: str) -> str:
    """A canonical scenario under a variant; errors name the variant."""
    try:
        return variant.under(canonical)
    except ScenarioError as error:
        raise ScenarioError(f"{visible(variant.label)}: {error}" if variant.settings else str(error)) from error


def queue_names(queues: Iterable[str]) -> list[str]:
    """Returns checked names of schemes; `["all"]` stands for the catalogue.

    Raises:
        UserError: A name is unknown or repeated, or there is none.
    """
    check_kind("queues", queues, (Iterable,), "a list of names of schemes")
    names = [queues] if isinstance(queues, str) else list(queues)
    for name in names:
        if not isinstance(name, str):
            raise UserError(
                f"queues: {quoted(name)} is not the name of a scheme, such as droptail; parameters are keys of the "
                'scenario: fairlane.run(scenario.replace("queue", {...}))'
            )
    if names == [ALL]:
        names = [scheme["name"] for scheme in schemes()]
    check_once(names)
    for name in names:
        if name not in _fairlane.registered_schemes():
            schemes(name)  # raises if the scheme is unknown
    return names


def prepared(scenario: Scenario | str | Path, replications: int | None, seed: int | None) -> Scenario:
    """A scenario (read from its file if it is a path) with the requested replications and seed."""
    check_kind("scenario", scenario, (Scenario, str, Path), "a Scenario or the path of its file")
    found = scenario if isinstance(scenario, Scenario) else Scenario.from_toml(scenario)
    given = {"run.replications": replications, "run.seed": seed}
    return found.changed({key: value for key, value in given.items() if value is not None})


def check_plane(plane: str, kernel: str | None = None, scheme_lib: SchemeLib = None) -> None:
    """Raises a UserError for a plane in real time, and for arguments that have no effect on the plane."""
    if problem := problem_of_virtual(plane):
        raise UserError(f"plane: {problem}")
    if plane == LINUX:
        _check_linux(scheme_lib=scheme_lib)
    elif kernel is not None:
        raise UserError("kernel: has no effect without plane linux")


def _check_linux(**given: object) -> None:
    """Raises a UserError for options that apply only to simulated runs."""
    if name := next((name for name, value in given.items() if value), None):
        raise UserError(f"{name}: has no effect on the plane linux")


def _flows(given: Iterable[int]) -> list[int]:
    """Checks the numbers of flows: at least one, without duplicates."""
    check_kind("qlog_flows", given, (Iterable,), "a list of numbers of flows")
    flows = list(given)
    for flow in flows:
        if not isinstance(flow, int) or isinstance(flow, bool) or not 0 <= flow <= MOST_FLOW:
            raise UserError(f"qlog_flows: {quoted(flow)} is not a flow number (0, 1, ...)")
    if not flows or len(set(flows)) < len(flows):
        raise UserError(f"qlog_flows: {','.join(map(str, flows)) or 'nothing'} given; name each flow once, as in 0,3")
    return flows


def _results(
    scenarios: list[str],
    *,
    given: Mapping[int, Kept] | None = None,
    plane: str,
    kernel: str | None,
    threads: int | None,
    store: str | Path | None,
    progress: bool,
) -> list[Result]:
    where = Store(store)
    if plane == LINUX:
        from fairlane.linux import runs as linux

        check_threads(threads)
        runs = linux.runs(scenarios, where, keep=False, kernel=kernel, jobs=threads, show_progress=progress)
    else:
        runs = simulate(scenarios, where, keep=False, given=given, threads=threads, show_progress=progress)
    return [Result.of(scenario, of_scenario) for scenario, of_scenario in zip(scenarios, runs, strict=True)]
