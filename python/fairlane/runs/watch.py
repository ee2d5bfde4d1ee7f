"""Records one replication: packet capture of a link, tables of TCP senders and queues, log of senders."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from fairlane import _fairlane
from fairlane.base.errors import Interrupted, ScenarioError, UserError
from fairlane.base.files import check_file, new_beside, parents_of, reason
from fairlane.base.folders import check_replaceable, staged
from fairlane.base.progress import progress
from fairlane.base.signals import received
from fairlane.base.text import near
from fairlane.results import frames
from fairlane.results.kept import Cost, Kept
from fairlane.simulate.replications import replications

if TYPE_CHECKING:
    from fairlane.linux.guest import Kernel

WAIT_S = 0.1

CONTAINED, SEQUENTIAL = QLOG_SUFFIXES = ".qlog", ".sqlog"
"""File suffixes of the two qlog formats: one JSON text, and a JSON text sequence."""

Columns = dict[str, tuple[str, bytes]]


@dataclass(frozen=True)
class Watch:
    """Recordings of a run, and their files.

    Attributes:
        replication: Number of the replication, from 0.
        pcap: File of the capture.
        drops: True if the capture includes dropped packets.
        snaplen: Bytes captured per packet; headers are always captured.
        trace: Folder of the tables.
        interval: Time between two rows of a table; "0 s" for a row at every change.
        link: Name of the link for the capture and the queue tables. If None, captures the first link and tabulates the
            queues of all links.
        qlog: File of the log; its extension selects the format.
        qlog_flows: Numbers of the logged flows; all if None.
    """

    replication: int
    pcap: Path | None
    drops: bool
    snaplen: int
    trace: Path | None
    interval: str
    link: str | None = None
    qlog: Path | None = None
    qlog_flows: Sequence[int] | None = None

    def check(self, count: int) -> None:
        """Raises a UserError if the replication does not exist or a file cannot be written."""
        if not 0 <= self.replication < count:
            raise UserError(f"--pcap-replication: {self.replication} is out of range, it must be from 0 to {count - 1}")
        if self.pcap:
            check_file(self.pcap, "--pcap")
        if self.trace:
            check_replaceable(self.trace, "--trace")
        if self.qlog:
            if self.qlog.suffix not in QLOG_SUFFIXES:
                raise UserError(
                    f"--qlog: {self.qlog} must end in {CONTAINED}, for qvis, or in {SEQUENTIAL}, a sequence"
                )
            check_file(self.qlog, "--qlog")
            if self.pcap and self.qlog.resolve() == self.pcap.resolve():
                raise UserError(f"--qlog: {self.qlog} is the file of --pcap too")

    def run(self, scenario: str, *, show_progress: bool = False) -> Kept:
        """Simulates the replication of a canonical scenario; recording does not change its results.

        Raises:
            UserError: The scenario cannot be recorded in this way, or a file cannot be written.
            Interrupted: Ctrl-C; no file remains.
        """
        capture = aside(self.pcap, "--pcap") if self.pcap else nullcontext()
        log = aside(self.qlog, "--qlog") if self.qlog else nullcontext()
        tables = staged(self.trace) if self.trace else nullcontext()
        with capture as pcap, log as qlog, tables as folder:
            try:
                run = self._start(scenario, pcap, qlog, interval=self.interval if folder else None)
                try:
                    with progress(f"watching replication {self.replication}", 1, show=show_progress) as advance:
                        record = self._follow(
                            run, _Tables(folder, scenario, self.replication, self.link) if folder else None
                        )
                        advance()
                finally:
                    run.cancel()
            except KeyboardInterrupt:
                raise Interrupted(0, replications(scenario), "finished, nothing to keep") from None
        return record

    def run_on_kernel(self, kernel: Kernel, scenario: str, *, show_progress: bool = False) -> None:
        """Runs the replication of a canonical scenario on the plane `linux`.

        Raises:
            UserError: The scenario cannot be recorded in this way, or a file cannot be written.
            GuestError: The kernel gave no result.
        """
        from fairlane.linux import capture, guest, plan, trace

        link = self._link_index(scenario)
        interval_ns = trace.interval_ns(self.interval) if self.trace else None
        made = plan.made(scenario, self.replication)
        room = capture.event_count(scenario, made, link)
        extra = plan.Extra(trace=(link, room) if self.pcap else None, info_ns=interval_ns)
        made = plan.made(scenario, self.replication, extra)
        file = aside(self.pcap, "--pcap") if self.pcap else nullcontext()
        tables = staged(self.trace) if self.trace else nullcontext()
        title = f"watching replication {self.replication}"
        with file as pcap, tables as folder, progress(title, 1, show=show_progress) as advance:
            output = guest.run(kernel, made, Event(), ("trace.bin", "info.csv"))
            if folder:
                rows = trace.senders(scenario, self.replication, made, output.files.get("info.csv", b""))
                frames.write(rows, folder / "tcp.parquet")
            if pcap:
                traced = output.files.get("trace.bin", b"")
                how: Any = {"room": room, "drops": self.drops, "snaplen": self.snaplen}
                with pcap.open("wb") as to:
                    to.writelines(capture.capture(scenario, self.replication, made, link, traced, **how))
            advance()

    def _link_index(self, scenario: str) -> int:
        names = _fairlane.links(scenario)
        if self.link is not None and self.link not in names:
            raise UserError(f"--link: {self.link} is not a link; {near(self.link, names)}")
        return 0 if self.link is None else names.index(self.link)

    def _start(
        self, scenario: str, pcap: Path | None, qlog: Path | None, *, interval: str | None
    ) -> _fairlane.WatchedRun:
        link = self._link_index(scenario)
        try:
            with self._written():
                return _fairlane.WatchedRun(
                    scenario,
                    self.replication,
                    pcap=pcap,
                    drops=self.drops,
                    snaplen=self.snaplen,
                    link=link,
                    interval=interval,
                    qlog=qlog,
                    qlog_sequential=self.qlog is not None and self.qlog.suffix == SEQUENTIAL,
                    qlog_flows=None if self.qlog_flows is None else list(self.qlog_flows),
                )
        except ScenarioError as error:
            raise UserError(str(error)) from error

    @contextmanager
    def _written(self) -> Iterator[None]:
        """Adds the option that names a file to errors in writing this file."""
        try:
            yield
        except OSError as error:
            # The run writes to a temporary file next to the log, whose name contains the log's name.
            of_log = self.qlog and self.qlog.name in Path(error.filename or "").name
            with _named(*(("--qlog", self.qlog) if of_log else ("--pcap", self.pcap))):
                raise

    def _follow(self, run: _fairlane.WatchedRun, tables: _Tables | None) -> Kept:
        done = None
        while done is None:
            received.check()
            with self._written():
                chunk, done = run.next(WAIT_S)
            if chunk and tables:
                with _named("--trace", self.trace):
                    tables.add(*chunk)
        if tables:
            with _named("--trace", self.trace):
                tables.close()
        record, cpu_seconds = done
        return Kept(record, Cost.now(cpu_seconds))


class _Tables:
    """Tables written in chunks, so that memory does not grow. Each chunk is a Parquet file until the end."""

    def __init__(self, folder: Path, scenario: str, replication: int, link: str | None) -> None:
        table = json.loads(scenario)
        self._folder = folder
        self._identity = {
            "scenario": table["name"],
            "queue": table["queue"]["scheme"],
            "seed": table["run"]["seed"],
            "replication": replication,
        }
        group, user = _fairlane.users(scenario)
        groups = pl.Series([group["name"] for group in table["groups"]])
        self._group_of_user = groups.gather(pl.Series(group, dtype=pl.UInt32))
        self._user_in_group = pl.Series(user, dtype=pl.Int64)
        self._states = pl.Series(_fairlane.tcp_states())
        self._links = pl.Series(_fairlane.links(scenario))
        self._link = link
        self._parts: dict[str, list[Path]] = {}

    def add(self, table: str, columns: Columns) -> None:
        """Writes a chunk."""
        frame = pl.DataFrame({name: np.frombuffer(data, dtype=dtype) for name, (dtype, data) in columns.items()})
        frame = self._tcp(frame) if table == "tcp" else self._queue(frame)
        identity = [
            # Converts to the type of the other frames, so that they can be joined.
            pl.lit(value, dtype=pl.Series([value]).dtype).alias(name)
            for name, value in self._identity.items()
        ]
        parts = self._parts.setdefault(table, [])
        parts.append(self._folder / f".{table}.{len(parts)}")
        frames.write(frame.select(*identity, pl.all()), parts[-1])

    def close(self) -> None:
        """Joins the chunks of each table."""
        for table, parts in self._parts.items():
            whole = self._folder / f"{table}.parquet"
            if len(parts) == 1:
                parts[0].rename(whole)
                continue
            rows = pl.scan_parquet(parts)
            rows.sink_parquet(whole, metadata=frames.metadata(rows.collect_schema().names()))
            for part in parts:
                part.unlink()

    def _tcp(self, frame: pl.DataFrame) -> pl.DataFrame:
        user = frame["user"]
        return frame.select(
            "time_s",
            self._group_of_user.gather(user).alias("group"),
            self._user_in_group.gather(user).alias("user"),
            "flow",
            self._states.gather(frame["state"].cast(pl.UInt32)).alias("state"),
            "cwnd_bytes",
            "ssthresh_bytes",
            "in_flight_bytes",
            pl.col("srtt_s").fill_nan(None),
            "rto_s",
        )

    def _queue(self, frame: pl.DataFrame) -> pl.DataFrame:
        named = frame.with_columns(self._links.gather(frame["link"]).alias("link"))
        return named if self._link is None else named.filter(pl.col("link") == self._link)


@contextmanager
def _named(option: str, path: Path | None) -> Iterator[None]:
    """Turns write errors within the block into errors that name the option and its file."""
    try:
        yield
    except (OSError, pl.exceptions.PolarsError) as error:
        raise UserError(f"{option}: cannot write to {path}: {reason(error) or error}") from error


@contextmanager
def aside(path: Path, option: str) -> Iterator[Path]:
    """A temporary path next to `path`; its file replaces `path` if the block ends without an error."""
    whole = path.resolve()
    with _named(option, path), parents_of(whole), new_beside(whole) as part:
        yield part
        part.replace(whole)
