"""Reads the length of a kernel queue over netlink, often enough for a mean over time.

`tc` shows the same number, but takes longer to start than a queue takes to change. Lengths at the arrivals of packets
would give another mean: arrivals are not evenly spaced, and a scheme drops some of them because of the queue.
"""

from __future__ import annotations

import ctypes
import os
import random
import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path

from fairlane.lab.namespaces import LabError

GAPS_S = (0.002, 0.008)
"""Range of the time between two readings, drawn uniformly so that readings do not synchronise with packets."""

# linux/netlink.h, linux/rtnetlink.h, linux/gen_stats.h
_HEADER = struct.Struct("=IHHII")
_TCMSG = struct.Struct("=B3xiIII")
_RTM_NEWQDISC, _RTM_GETQDISC = 36, 38
_REQUEST_DUMP = 0x301
_ERROR, _DONE = 2, 3
_STATS2, _STATS_QUEUE = 7, 3
_NEW_NETWORK = 0x40000000


class Sampler(threading.Thread):
    """Reads the length of one queue repeatedly, from within its namespace.

    Args:
        namespace: Name of the namespace.
        interface: Name of the interface that has the queue.
        handle: Handle of the queue, such as 0x100000 for `10:`.
    """

    def __init__(self, namespace: str, interface: str, handle: int) -> None:
        super().__init__(daemon=True)
        self._namespace, self._interface, self._handle = namespace, interface, handle
        self._over = threading.Event()
        self._lengths: list[int] = []
        self._error: OSError | None = None

    def run(self) -> None:
        """Reads until `stop`."""
        gaps = random.Random(1)
        try:
            _enter(self._namespace)
            with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as route:
                index = socket.if_nametoindex(self._interface)
                while not self._over.wait(gaps.uniform(*GAPS_S)):
                    self._lengths.append(_length(route, index, self._handle))
        except OSError as error:
            self._error = error

    def stop(self) -> list[int]:
        """Stops the readings; returns the lengths.

        Raises:
            LabError: The queue could not be read.
        """
        self._over.set()
        self.join()
        if self._error or not self._lengths:
            raise LabError(f"queue of {self._interface}: {self._error or 'never read'}")
        return self._lengths


def _enter(namespace: str) -> None:
    """Moves only the calling thread into a network namespace."""
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = os.open(Path("/run/netns") / namespace, os.O_RDONLY)
    try:
        if libc.setns(descriptor, _NEW_NETWORK):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    finally:
        os.close(descriptor)


def _length(route: socket.socket, index: int, handle: int) -> int:
    """Current number of packets in the queue."""
    size = _HEADER.size + _TCMSG.size
    route.send(_HEADER.pack(size, _RTM_GETQDISC, _REQUEST_DUMP, 0, 0) + _TCMSG.pack(0, index, 0, 0, 0))
    found = None
    while True:
        answer = memoryview(route.recv(65536))
        while answer:
            length, kind, *_ = _HEADER.unpack_from(answer)
            body, answer = answer[_HEADER.size : length], answer[_aligned(length) :]
            if kind == _DONE:
                if found is None:
                    raise OSError("no such queue")
                return found
            if kind == _ERROR:
                code = -struct.unpack_from("=i", body)[0]
                raise OSError(code, os.strerror(code))
            if kind == _RTM_NEWQDISC and _TCMSG.unpack_from(body)[1:3] == (index, handle):
                found = _queue_length(body[_TCMSG.size :])


def _queue_length(attributes: memoryview) -> int:
    for kind, statistics in _attributes(attributes):
        if kind == _STATS2:
            for inner, value in _attributes(statistics):
                if inner == _STATS_QUEUE:
                    return int(struct.unpack_from("=I", value)[0])
    raise OSError("no statistics")


def _attributes(data: memoryview) -> Iterator[tuple[int, memoryview]]:
    while len(data) >= 4:
        length, kind = struct.unpack_from("=HH", data)
        yield kind & 0x3FFF, data[4:length]
        data = data[_aligned(length) :]


def _aligned(length: int) -> int:
    return (length + 3) & ~3
