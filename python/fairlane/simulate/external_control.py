"""Congestion controls written in Python: classes registered under a name that scenarios can use.

    @fairlane.register_congestion_control("half-rate")
    class HalfRate:
        def __init__(self, connection: fairlane.Connection) -> None:
            self.connection = connection

        def on_ack(self, ack: fairlane.Ack) -> None:
            if ack.delivery_rate_bps and ack.min_rtt:
                self.connection.window = max(ack.delivery_rate_bps * ack.min_rtt / 16, 2 * self.connection.mss)

docs/howto/own-congestion-control.md describes the contract.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Literal, Protocol, TypeAlias, TypeVar

from fairlane import _fairlane
from fairlane._fairlane import Ack, Connection, Event, Segment
from fairlane.base.errors import UserError
from fairlane.simulate.catalogue import answers_every_mark
from fairlane.simulate.modules import Registry

__all__ = ["Ack", "CongestionControl", "Connection", "Event", "Growth", "Segment", "register_congestion_control"]

Marks: TypeAlias = Literal["classic", "ect0", "ect1"]
"""Feedback on congestion marks if the connection uses ECN. `classic` reports one mark per round trip. `ect0` and `ect1`
report all marks; packets carry ECT(0) or ECT(1), respectively."""

CONTROLS = Registry("congestion control", "register_congestion_control", "--congestion-control-module")
_MARKS: dict[str, Marks] = {}
"""Feedback that each registered control needs."""


class CongestionControl(Protocol):
    """A congestion control that always sets window and pacing rate itself, on its connection.

    Besides `on_ack`, a class may have `on_sent(segment)`, `on_delivered(segment)`, `on_lost(segment)`,
    `on_event(event)`.
    """

    def on_ack(self, ack: Ack, /) -> None:
        """Processes an ACK, after the callbacks of the segments that it acknowledges or shows to be lost."""


class Growth(Protocol):
    """A congestion control that leaves slow start and recovery to the sender."""

    def grow(self, window: int, segments: int, now: float, smoothed_rtt: float, /) -> float:
        """Window in bytes after an ACK of `segments` in congestion avoidance."""

    def reduce(
        self, window: int, outstanding: int, in_flight: int, cause: Literal["loss", "mark", "timeout"], /
    ) -> float:
        """Window after congestion, in bytes."""


_Class = TypeVar("_Class", bound=Callable[[Connection], CongestionControl | Growth])


def register_congestion_control(name: str, *, marks: Marks = "classic") -> Callable[[_Class], _Class]:
    """Decorator: registers a class for `congestion_control = name`, replacing an earlier class of that name.

    Args:
        name: Name in scenarios.
        marks: Feedback on congestion marks that the class needs.

    Raises:
        UserError: The name is invalid or belongs to a congestion control of Fairlane; the class lacks methods.
    """
    CONTROLS.check(name)

    def register(made: _Class) -> _Class:
        grows = _check_methods(name, made)
        CONTROLS.add(name, lambda: _fairlane.register_congestion_control(name, made, grows, marks))
        _MARKS[name] = marks
        return made

    return register


def asks_for_every_mark(name: str) -> bool:
    """True if a catalogued or registered congestion control responds to every mark, not once per round trip."""
    return _MARKS[name] != "classic" if name in _MARKS else answers_every_mark(name)


def _check_methods(name: str, made: object) -> bool:
    """True if a class has the methods of `Growth`, false if those of `CongestionControl`."""
    if not inspect.isclass(made):
        raise UserError(f"{name}: {made!r} is not a class")
    has = {method for method in ("on_ack", "grow", "reduce") if callable(getattr(made, method, None))}
    if has not in ({"on_ack"}, {"grow", "reduce"}):
        given = ", ".join(sorted(has)) or "none of them"
        raise UserError(f"{name}: {made.__qualname__} must have the method on_ack, or grow and reduce; it has {given}")
    return "grow" in has
