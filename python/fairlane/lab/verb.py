"""The verb `lab run`: experiments of a paper on real packets, beside the simulator."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from fairlane.errors import UserError
from fairlane.files import staged
from fairlane.lab import node, switch
from fairlane.lab.namespaces import clean
from fairlane.lab.page import page
from fairlane.lab.planes import PLANES
from fairlane.lab.runner import run_in_lab
from fairlane.papers.reproduce import Reproduction, reproduce

SIMULATOR = "sim"
ALL_PLANES = (SIMULATOR, *PLANES)
SETTINGS = {"run.warmup": "5 s", "run.measure": "15 s"}
"""Real time is dear. Meters remember 3 s."""
REPLICATIONS = 5


def lab(
    *names: str,
    planes: Sequence[str] = ("user",),
    quick: bool = False,
    replications: int = REPLICATIONS,
    settings: Mapping[str, Any] | None = None,
    store: str | Path | None = None,
    jobs: int | None = None,
    progress: bool = False,
) -> dict[str, Reproduction]:
    """Runs experiments of a paper on several planes and tests the paper's claims on each.

    Args:
        names: As for `reproduce`.
        planes: `user`, `ebpf`, `p4`, `sim`.
        quick: Whether to run fewer points.
        replications: Runs of each point.
        settings: Scenario keys to change in every run, on top of a warm-up of 5 s and a window of 15 s; a key that
            begins with a plane, as in `p4:run.measure`, is changed on this plane only.
        store: Folder of finished runs, the simulator's too.
        jobs: Runs at once on real planes; one for every two processors if None.
        progress: Whether to report on stderr.

    Returns:
        What was found, by plane.

    Raises:
        UserError: As `reproduce`; or this machine or scenario has no such plane.
        LabError: The lab could not do it.
    """
    for plane in planes:
        if plane not in ALL_PLANES:
            raise UserError(f"--plane: {plane} is none of {', '.join(ALL_PLANES)}")
    if set(planes) - {SIMULATOR}:
        _check_machine()
        clean()
    if "p4" in planes:
        switch.check()
    changed = {plane: settings_of(plane, settings or {}) for plane in planes}
    found = {}
    for plane in planes:
        runner = None if plane == SIMULATOR else partial(run_in_lab, plane=plane, jobs=jobs, show_progress=progress)
        found[plane] = reproduce(
            *names,
            quick=quick,
            replications=replications,
            settings=changed[plane],
            store=store,
            progress=progress,
            runner=runner,
        )
    return found


def settings_of(plane: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """The keys that are changed on a plane; its own go before those of all.

    Raises:
        UserError: A key begins with something that is no plane.
    """
    common: dict[str, Any] = {}
    own: dict[str, Any] = {}
    for key, value in settings.items():
        where, colon, name = key.rpartition(":")
        if not colon:
            common[key] = value
        elif where not in ALL_PLANES:
            raise UserError(f'{key}: "{where}" is no plane; planes are {", ".join(ALL_PLANES)}')
        elif where == plane:
            own[name] = value
    return {**SETTINGS, **common, **own}


def write(found: Mapping[str, Reproduction], folder: Path) -> list[Path]:
    """Writes the points and claims of every plane, a figure for each experiment with all planes in it, and `lab.md`.

    Returns:
        The figures, as PNG.
    """
    from fairlane import plots
    from fairlane.lab.drawing import planes_in_one

    for plane, reproduction in found.items():
        reproduction.write(folder / plane)
    figures = []
    with staged(folder) as stage:
        for experiment in next(iter(found.values())).experiments:
            if experiment.kind == "figure":
                plots.save(planes_in_one(found, experiment.id), stage / experiment.name)
                figures.append(folder / f"{experiment.name}.png")
        (stage / "lab.md").write_text(page(found), encoding="utf-8")
    return figures


@contextmanager
def terminated_as_interrupted() -> Iterator[None]:
    """SIGTERM within the block is as Ctrl-C: what was built is removed."""
    import signal

    def interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _check_machine() -> None:
    """Raises a UserError unless namespaces can be made here and the programs are there."""
    import shutil
    import sys

    if sys.platform != "linux":
        raise UserError("lab: real packets need Linux; --plane sim does not")
    if os.geteuid() != 0:
        raise UserError("lab: real packets need root, for network namespaces; --plane sim does not")
    missing = [name for name in ("ip", "tc", "ethtool", "iperf3", "sysctl") if shutil.which(name) is None]
    if missing:
        raise UserError(
            f"lab: {', '.join(missing)} not installed; on Debian: apt install iproute2 ethtool iperf3 procps"
        )
    node.program()
