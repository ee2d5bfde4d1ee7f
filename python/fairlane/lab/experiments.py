"""The command `lab run` runs experiments of a paper on real packets, alongside the simulator."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from fairlane import _fairlane
from fairlane.base.errors import UserError
from fairlane.base.folders import staged
from fairlane.base.planes import FORWARDER, P4, SIMULATOR, VIRTUAL, problem_of_plane
from fairlane.judge.reproduce import Reproduction, plan, reproduce
from fairlane.lab import node, switch, table
from fairlane.lab.namespaces import clean
from fairlane.lab.page import page
from fairlane.lab.schedule import check, engines_of, run_in_lab
from fairlane.store import Store

SETTINGS = {"run.warmup": "5 s", "run.measure": "15 s"}
"""Warm-up and window are short, since the lab runs in real time. The warm-up exceeds the memory of meters, 3 s."""
REPLICATIONS = 5


def lab(
    *names: str,
    planes: Sequence[str] = (FORWARDER,),
    quick: bool = False,
    replications: int = REPLICATIONS,
    settings: Mapping[str, Any] | None = None,
    store: str | Path | None = None,
    known: Sequence[Path] = (),
    jobs: int | None = None,
    kernel: str | None = None,
    progress: bool = False,
) -> dict[str, Reproduction]:
    """Runs experiments of a paper on several planes and tests the paper's claims on each.

    Args:
        names: As for `reproduce`.
        planes: `forwarder`, `kernel`, `p4`, `linux`, `simulator`.
        quick: Run fewer points.
        replications: Runs of each point.
        settings: Scenario keys to change in every run, in addition to a warm-up of 5 s and a window of 15 s. A key
            prefixed with a plane, such as `p4:run.measure` or `p4:run.replications`, applies only there.
        store: Folder of finished runs, also those of the simulator.
        known: Tables of runs from other labs (see `table`). These runs are not repeated, except simulator runs.
        jobs: Concurrent runs; if None, one per core on `linux`, and one per two cores on planes in real time.
        kernel: Kernel version of the plane `linux`; if None, the newest kernel that was built.
        progress: Report progress on stderr.

    Returns:
        Results by plane.

    Raises:
        UserError: As for `reproduce`; or a plane is missing on this machine or does not support a scenario; or a table
            is invalid, or its runs do not match those of this machine.
        LabError: The lab failed.
    """
    check_planes(planes)
    wanted = {plane: _wanted(plane, quick, replications, settings or {}) for plane in planes}
    read = table.read(known)
    scenarios = {
        plane: [place.scenario for place in plan(*names, **wanted[plane])[1]] for plane in planes if plane != SIMULATOR
    }
    prepare({plane for plane, own in scenarios.items() if plane not in read or not read[plane].has_all(own)})
    for plane, own in scenarios.items():  # report what a plane lacks before another one runs for hours
        check(own, plane)
        engines_of(read.get(plane), own, plane, kernel)
    found = {}
    for plane in planes:
        how: dict[str, Any] = {"plane": plane, "known": read.get(plane), "jobs": jobs, "kernel": kernel}
        how["show_progress"] = progress
        runner = None if plane == SIMULATOR else partial(run_in_lab, **how)
        found[plane] = reproduce(*names, **wanted[plane], store=store, progress=progress, runner=runner)
    return found


def _wanted(plane: str, quick: bool, replications: int, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of `reproduce` for a plane."""
    own = settings_of(plane, settings)
    return {"quick": quick, "replications": own.pop("run.replications", replications), "settings": own}


def made(
    *names: str,
    planes: Sequence[str],
    quick: bool,
    replications: int,
    settings: Mapping[str, Any],
    store: str | Path | None,
    known: Sequence[Path],
    kernel: str | None = None,
) -> list[table.Row]:
    """All runs that `lab` has made or received so far with these arguments, one row each."""
    read = table.read(known)
    rows: list[table.Row] = []
    for plane in planes:
        paper, places = plan(*names, **_wanted(plane, quick, replications, settings))
        scenarios = [place.scenario for place in places]
        if plane == SIMULATOR:
            own, engines = None, dict.fromkeys(scenarios, _fairlane.engine_version())
        else:
            own = read.get(plane)
            engines = engines_of(own, scenarios, plane, kernel)
        rows += table.rows(plane, paper, places, engines, Store(store), own)
    return rows


def settings_of(plane: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Scenario keys to change on a plane, including a short warm-up and window.

    Raises:
        UserError: The prefix of a key is not a plane.
    """
    return {**SETTINGS, **own_settings(plane, settings)}


def own_settings(plane: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Scenario keys to change on a plane; keys for this plane override keys for all planes.

    Raises:
        UserError: The prefix of a key is not a plane.
    """
    common: dict[str, Any] = {}
    own: dict[str, Any] = {}
    for key, value in settings.items():
        where, colon, name = key.rpartition(":")
        if not colon:
            common[key] = value
        elif problem := problem_of_plane(where):
            raise UserError(f"{key}: {problem}")
        elif where == plane:
            own[name] = value
    return {**common, **own}


def write(found: Mapping[str, Reproduction], rows: Sequence[table.Row], folder: Path) -> list[Path]:
    """Writes points and claims of every plane, figures of all planes, `lab.md` and `runs.csv`.

    Args:
        found: Results by plane.
        rows: All runs, see `made`.
        folder: Folder to write into.

    Returns:
        The figures, as PNG.
    """
    from fairlane.lab.drawing import planes_in_one
    from fairlane.results import plots

    figures = []
    with staged(folder) as stage:
        for plane, reproduction in found.items():
            (stage / plane).mkdir()
            reproduction.write_into(stage / plane)
        for experiment in next(iter(found.values())).experiments:
            if experiment.kind == "figure":
                plots.save(planes_in_one(found, experiment.id), stage / experiment.name)
                figures.append(folder / f"{experiment.name}.png")
        (stage / "lab.md").write_text(page(found, rows), encoding="utf-8")
        if rows:
            table.write(rows, stage / table.NAME)
    return figures


def write_runs(rows: Sequence[table.Row], folder: Path) -> None:
    """Writes only the table of runs, after an interrupt."""
    if rows:
        with staged(folder) as stage:
            table.write(rows, stage / table.NAME)


def check_planes(planes: Sequence[str]) -> None:
    """Raises a UserError for a name that is not a plane."""
    for plane in planes:
        if problem := problem_of_plane(plane):
            raise UserError(f"--plane: {problem}")


def prepare(planes: Collection[str]) -> None:
    """Prepares the machine for runs on planes in real time, and removes leftovers of killed labs.

    Raises:
        UserError: The machine cannot run these planes; the message says what is missing.
    """
    if set(planes) - set(VIRTUAL):
        _check_machine()
        clean()
    if P4 in planes:
        switch.check()


def _check_machine() -> None:
    """Raises a UserError if namespaces cannot be created or a program is missing."""
    import shutil
    import sys

    if sys.platform != "linux":
        raise UserError("lab: real packets need Linux; --plane simulator does not")
    if os.geteuid() != 0:
        raise UserError("lab: real packets need root, for network namespaces; --plane linux and simulator do not")
    missing = [name for name in ("ip", "tc", "ethtool", "iperf3", "sysctl") if shutil.which(name) is None]
    if missing:
        raise UserError(
            f"lab: {', '.join(missing)} not installed; on Debian: apt install iproute2 ethtool iperf3 procps"
        )
    node.program()
