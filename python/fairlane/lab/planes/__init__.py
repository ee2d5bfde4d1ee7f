"""Planes of the lab, which implement the bottleneck's queue."""

from __future__ import annotations

from fairlane.base.planes import FORWARDER, KERNEL, P4
from fairlane.lab.planes.forwarder import ForwarderPlane
from fairlane.lab.planes.kernel import KernelPlane
from fairlane.lab.planes.p4 import P4Plane
from fairlane.lab.planes.plane import Plane

PLANES: dict[str, type[Plane]] = {FORWARDER: ForwarderPlane, KERNEL: KernelPlane, P4: P4Plane}
"""The planes with real packets, by name."""
