"""The planes of the lab: who queues at the bottleneck."""

from __future__ import annotations

from fairlane.lab.planes.ebpf import EbpfPlane
from fairlane.lab.planes.p4 import P4Plane
from fairlane.lab.planes.plane import Plane
from fairlane.lab.planes.user import UserPlane

PLANES: dict[str, type[Plane]] = {"user": UserPlane, "ebpf": EbpfPlane, "p4": P4Plane}
"""The planes with real packets, by name."""
