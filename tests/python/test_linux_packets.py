"""A flow alone on a link sends the packets that it sends on a Linux kernel, one by one."""

import pytest

from fairlane.lab.difference import simulated
from linux_flows import COUNT, FLOWS, STEP, TOLERANCE_S, recorded, rows


@pytest.mark.parametrize("name", FLOWS)
def test_a_lone_flow_sends_the_packets_of_linux(name: str) -> None:
    of_linux = recorded()[name]
    ours = rows(simulated(FLOWS[name].canonical(), 0, 0, COUNT))
    # A few of the flows part from the kernel, but after many packets.
    assert STEP * len(of_linux) > 500
    assert len(ours) >= len(of_linux)
    for one, other in zip(of_linux, ours, strict=False):
        assert one[2:] == other[2:], one
        assert abs(one[1] - other[1]) <= 1e6 * TOLERANCE_S, one
