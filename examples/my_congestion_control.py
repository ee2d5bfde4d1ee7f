"""Two congestion controls in Python, one of each kind. docs/howto/own-congestion-control.md explains them.

fairlane run examples/two-users.toml --congestion-control-module examples/my_congestion_control.py \
    --set tcp.congestion_control=my-delay
"""

import fairlane


@fairlane.register_congestion_control("my-reno")
class MyReno:
    """Grows by a segment per round trip, and is halved by congestion (RFC 5681 3.1). The sender does the rest."""

    def __init__(self, connection: fairlane.Connection) -> None:
        self.mss = connection.mss

    def grow(self, window: int, segments: int, now: float, smoothed_rtt: float) -> int:
        return window + max(self.mss * self.mss // window, 1) * segments

    def reduce(self, window: int, outstanding: int, in_flight: int, cause: str) -> int:
        return max(min(outstanding, window) // 2, 1)


@fairlane.register_congestion_control("my-delay")
class MyDelay:
    """Keeps about four of its segments in the queue: the window is the bandwidth-delay product plus these segments."""

    segments = 4

    def __init__(self, connection: fairlane.Connection) -> None:
        self.connection = connection
        self.round_end = 0

    def on_ack(self, ack: fairlane.Ack) -> None:
        if ack.rtt is None or ack.min_rtt is None or ack.delivered_when_sent < self.round_end:
            return
        self.round_end = ack.total_delivered
        mss, window = self.connection.mss, self.connection.window
        queued = window * (1 - ack.min_rtt / ack.rtt)
        window += mss if queued < self.segments * mss else -mss
        self.connection.window = max(window, 2 * mss)

    def on_event(self, event: fairlane.Event) -> None:
        if event.name == "loss":
            self.connection.window = max(self.connection.window // 2, 2 * self.connection.mss)
