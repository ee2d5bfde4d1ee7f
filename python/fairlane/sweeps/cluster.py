"""Executes runs on a Ray cluster, in batches of a few seconds.

Nodes return records to this process; only this process writes the store. If a node dies, its batch runs again on
another node. Since a run depends only on its scenario and number, the stored bytes are the same.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
import time
from collections.abc import Sequence
from typing import Any

from fairlane import _fairlane
from fairlane.base.errors import UserError
from fairlane.sweeps.executors import POLL_S, Done, Job

MOST_ATTEMPTS = 10
LOOK_AT_CLUSTER_EVERY_S = 2.0


def run_batch(jobs: Sequence[tuple[str, int]]) -> tuple[str, list[tuple[str, float]]]:
    """Executes jobs on a node; returns its engine version, and record and CPU time of every job in order."""
    batch = _fairlane.Batch(list(jobs), 1)
    runs = [("", 0.0)] * len(jobs)
    while batch.remaining:
        if (done := batch.next(POLL_S)) is not None:
            runs[done[0]] = done[1:]
    return _fairlane.engine_version(), runs


class Cluster:
    """A Ray cluster that runs one batch per CPU at a time."""

    batch_s = 2.0

    def __init__(self, address: str) -> None:
        """Connects to a cluster.

        Args:
            address: `auto` for the cluster of this machine or of $RAY_ADDRESS, `local` for a new cluster on this
                machine, or HOST:PORT or ray://HOST:PORT.

        Raises:
            UserError: Ray is not installed, or the cluster does not exist.
        """
        try:
            # Ray is optional. As Any, types are checked in the same way with and without it.
            self._ray: Any = importlib.import_module("ray")
        except ImportError as error:
            raise UserError("--ray: Ray is not installed; pip install 'fairlane[ray]'") from error
        # Ray reports dead nodes on standard output, which is reserved for our tables and JSON.
        self._redirected = contextlib.ExitStack()
        self._redirected.enter_context(contextlib.redirect_stdout(sys.stderr))
        try:
            self._ray.init(address=address, log_to_driver=False, logging_level="error")
        except (ConnectionError, ValueError, RuntimeError) as error:
            self._redirected.close()
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise UserError(
                f"--ray: {address}: no cluster there ({reason}); start one with `ray start --head`, "
                "or give HOST:PORT or local"
            ) from error
        self._run_batch = self._ray.remote(num_cpus=1, max_retries=MOST_ATTEMPTS)(run_batch)
        self._open: dict[Any, tuple[Sequence[Job], int]] = {}
        self._slots = 1
        self._looked_at = -LOOK_AT_CLUSTER_EVERY_S

    @property
    def slots(self) -> int:
        """Current number of CPUs of the cluster."""
        if time.monotonic() - self._looked_at >= LOOK_AT_CLUSTER_EVERY_S:
            self._slots = max(1, int(self._ray.cluster_resources().get("CPU", 1)))
            self._looked_at = time.monotonic()
        return self._slots

    @property
    def has_room(self) -> bool:
        """False if every CPU already has its next batch."""
        return len(self._open) < 2 * self.slots

    def submit(self, jobs: Sequence[Job]) -> None:
        """Submits a batch."""
        self._submit(jobs, attempt=1)

    def wait(self, timeout_s: float) -> list[Done]:
        """The runs of all finished batches."""
        if not self._open:
            return []
        ready, _ = self._ray.wait(list(self._open), num_returns=1, timeout=timeout_s)
        finished: list[Done] = []
        for reference in ready:
            jobs, attempt = self._open.pop(reference)
            try:
                engine, runs = self._ray.get(reference)
            except self._ray.exceptions.RayTaskError as error:
                raise self._explained(error) from error
            except self._ray.exceptions.RayError:
                # The node died and its records are lost.
                if attempt >= MOST_ATTEMPTS:
                    raise
                self._submit(jobs, attempt + 1)
                continue
            if engine != _fairlane.engine_version():
                raise UserError(
                    f"--ray: a node has engine {engine}, this machine has {_fairlane.engine_version()}; "
                    "install the same fairlane on every node"
                )
            finished.extend((job, *run) for job, run in zip(jobs, runs, strict=True))
        return finished

    def reached(self) -> list[tuple[float, float, int]]:
        """Empty, since nodes report nothing before a batch has finished."""
        return []

    def close(self) -> None:
        """Stops running batches and disconnects from the cluster."""
        for reference in self._open:
            self._ray.cancel(reference, force=True)
        self._ray.shutdown()
        self._redirected.close()

    def _submit(self, jobs: Sequence[Job], attempt: int) -> None:
        self._open[self._run_batch.remote([(job.scenario, job.replication) for job in jobs])] = (jobs, attempt)

    def _explained(self, error: Any) -> Exception:
        if isinstance(error.cause, ImportError):
            return UserError(f"--ray: a node cannot load fairlane: {error.cause}")
        return RuntimeError(str(error))
