"""TCP between subscribers and a server; counts received bytes in an interval by address of the subscriber.

`traffic.py server FROM TO` and `traffic.py client FROM TO CONNECTIONS`; times are of the monotonic clock, which all
namespaces share. A connection is `[address, "upload" or "download", congestion control, start time]`. Prints JSON:
direction to address to bytes.

`traffic.py echo` answers datagrams. `traffic.py reach ADDRESSES` sends one from each address, waits for the answers and
prints their number.
"""

import json
import os
import selectors
import socket
import sys
import time
from collections.abc import Callable
from functools import partial

SERVER = "10.1.0.1"
UPLOAD, DOWNLOAD, ECHO = 5001, 5002, 5003
BLOCK = bytes(1 << 16)
CONGESTION_CONTROL_BYTES = 8

Counts = dict[str, dict[str, int]]


def congestion_control(connection: socket.socket, name: str) -> None:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())


class Traffic:
    """Connections that send or are read, and the number of bytes read."""

    def __init__(self) -> None:
        self.selector = selectors.DefaultSelector()
        self.counts: Counts = {"upload": {}, "download": {}}
        # Start times with their actions, the last one first.
        self.beginnings: list[tuple[float, Callable[[], None]]] = []

    def read(self, connection: socket.socket, direction: str, address: str) -> None:
        counts = self.counts[direction]
        counts.setdefault(address, 0)

        def ready() -> None:
            counts[address] += len(connection.recv(1 << 18))

        self.selector.register(connection, selectors.EVENT_READ, ready)

    def send(self, connection: socket.socket) -> None:
        self.selector.register(connection, selectors.EVENT_WRITE, lambda: connection.send(BLOCK))

    def until(self, end: float) -> Counts:
        """Runs until `end`; returns the bytes received so far."""
        while (now := time.monotonic()) < end:
            while self.beginnings and self.beginnings[-1][0] <= now:
                self.beginnings.pop()[1]()
            next_beginning = self.beginnings[-1][0] if self.beginnings else end
            for key, _ in self.selector.select(min(next_beginning, end) - now):
                try:
                    key.data()
                except (BlockingIOError, ConnectionError):
                    # Nothing to read or write, or the other side has ended.
                    pass
        return {direction: dict(counts) for direction, counts in self.counts.items()}

    def measure(self, first: float, last: float) -> None:
        before, after = self.until(first), self.until(last)
        print(
            json.dumps(
                {
                    direction: {address: count - before[direction].get(address, 0) for address, count in counts.items()}
                    for direction, counts in after.items()
                }
            ),
            flush=True,
        )


def listen(port: int) -> socket.socket:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((SERVER, port))
    listener.listen(512)
    listener.setblocking(False)
    return listener


def serve(first: float, last: float) -> None:
    traffic = Traffic()
    uploads, downloads = listen(UPLOAD), listen(DOWNLOAD)

    def upload() -> None:
        connection, (address, _) = uploads.accept()
        connection.setblocking(False)
        traffic.read(connection, "upload", address)

    def download() -> None:
        connection, _ = downloads.accept()
        connection.setblocking(False)

        def asked() -> None:
            name = connection.recv(CONGESTION_CONTROL_BYTES).decode().strip()
            traffic.selector.unregister(connection)
            congestion_control(connection, name)
            traffic.send(connection)

        traffic.selector.register(connection, selectors.EVENT_READ, asked)

    traffic.selector.register(uploads, selectors.EVENT_READ, upload)
    traffic.selector.register(downloads, selectors.EVENT_READ, download)
    print("ready", flush=True)
    traffic.measure(first, last)


def begin(traffic: Traffic, address: str, direction: str, name: str) -> None:
    """Connects; the connection is established when its socket is writable."""
    connection = socket.socket()
    connection.bind((address, 0))
    connection.setblocking(False)
    congestion_control(connection, name)
    connection.connect_ex((SERVER, UPLOAD if direction == "upload" else DOWNLOAD))
    if direction == "upload":
        traffic.send(connection)
        return

    def ready() -> None:
        connection.send(name.ljust(CONGESTION_CONTROL_BYTES).encode())
        traffic.selector.unregister(connection)
        traffic.read(connection, "download", address)

    traffic.selector.register(connection, selectors.EVENT_WRITE, ready)


def ask(first: float, last: float, connections: list[tuple[str, str, str, float]]) -> None:
    traffic = Traffic()
    for address, direction, name, beginning in connections:
        traffic.beginnings.append((beginning, partial(begin, traffic, address, direction, name)))
    traffic.beginnings.sort(key=lambda beginning: beginning[0], reverse=True)
    traffic.measure(first, last)


def echo() -> None:
    asked = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    asked.bind((SERVER, ECHO))
    print("ready", flush=True)
    while True:
        data, address = asked.recvfrom(2048)
        asked.sendto(data, address)


def reach(addresses: list[str]) -> None:
    answers = 0
    for address in addresses:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
            asking.bind((address, 0))
            asking.settimeout(2)
            asking.sendto(bytes(100), (SERVER, ECHO))
            try:
                answers += len(asking.recv(2048)) == 100
            except TimeoutError:
                pass
    print(answers)


def main() -> None:
    # The test measures shares of a link, not shares of a processor.
    os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    match sys.argv[1:]:
        case ["echo"]:
            echo()
        case ["reach", addresses]:
            reach(json.loads(addresses))
        case ["server", first, last]:
            serve(float(first), float(last))
        case ["client", first, last, connections]:
            ask(float(first), float(last), json.loads(connections))


main()
