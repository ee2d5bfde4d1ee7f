"""Two schemes in Python, one of each kind. docs/howto/scheme-in-python.md explains them.

fairlane compare examples/two-poisson.toml --scheme-module examples/my_scheme.py --queues droptail,my-red,my-drr
"""

from collections import deque

import fairlane


@fairlane.register_scheme("my-red")
class MyRed:
    """A simple RED: the drop probability grows with the average queue (after Floyd and Jacobson 1993)."""

    weight, most = 0.002, 0.1

    def __init__(self, port: fairlane.Port) -> None:
        limit = port.limit_packets or 24
        self.low, self.high = limit / 4, limit * 3 / 4
        self.average = 0.0

    def admit(self, packet: fairlane.Packet, port: fairlane.Port, now: float) -> bool:
        self.average += self.weight * (port.packets - self.average)
        if self.average < self.low:
            return True
        if self.average >= self.high:
            return False
        return port.rng.random() >= self.most * (self.average - self.low) / (self.high - self.low)


@fairlane.register_scheme("my-drr")
class MyDrr:
    """Deficit round robin over the users (Shreedhar and Varghese 1996), for a limit in packets."""

    quantum = 1500

    def __init__(self, port: fairlane.Port) -> None:
        self.port = port
        self.queues: dict[int, deque[fairlane.Packet]] = {}
        self.deficit: dict[int, int] = {}
        self.turns: deque[int] = deque()

    def enqueue(self, packet: fairlane.Packet, now: float) -> None:
        if packet.user not in self.queues:
            self.queues[packet.user] = deque()
            self.deficit[packet.user] = self.quantum
            self.turns.append(packet.user)
        self.queues[packet.user].append(packet)
        if not self.port.has_room(packet):
            longest = max(self.queues, key=lambda user: len(self.queues[user]))
            self.port.drop(self.take(longest, tail=True))

    def dequeue(self, now: float) -> fairlane.Packet:
        while (head := self.queues[self.turns[0]][0]).size > self.deficit[head.user]:
            self.deficit[head.user] += self.quantum
            self.turns.rotate(-1)
        self.deficit[head.user] -= head.size
        return self.take(head.user)

    def take(self, user: int, *, tail: bool = False) -> fairlane.Packet:
        packet = self.queues[user].pop() if tail else self.queues[user].popleft()
        if not self.queues[user]:
            del self.queues[user], self.deficit[user]
            self.turns.remove(user)
        return packet
