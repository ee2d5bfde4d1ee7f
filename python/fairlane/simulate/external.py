"""Schemes written in Python: classes registered under a name that scenarios can use.

    @fairlane.register_scheme("half-full")
    class HalfFull:
        def __init__(self, port: fairlane.Port) -> None:
            self.threshold = (port.limit_packets or 24) / 2

        def admit(self, packet: fairlane.Packet, port: fairlane.Port, now: float) -> bool:
            return port.packets < self.threshold

    fairlane.run(fairlane.Scenario("mine", ..., queue="half-full"))

docs/howto/scheme-in-python.md describes the contract.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal, Protocol, TypeAlias, TypeVar

from fairlane import _fairlane
from fairlane._fairlane import Packet, Port
from fairlane.base.errors import UserError, check_kind
from fairlane.simulate.modules import Registry
from fairlane.simulate.scenario import leaves

__all__ = ["EarlyDrop", "Packet", "Port", "QueueDiscipline", "SchemeFactory", "register_scheme"]

SchemeLib: TypeAlias = str | Path | Iterable[str | Path] | None
"""Path or paths of scheme libraries."""

Admission: TypeAlias = bool | Literal["accept", "mark", "drop"]
"""True or "accept": enqueue the packet if it fits into the buffer. "mark": enqueue it with a congestion mark, or drop
it if its transport does not support ECN. False or "drop": drop it."""

SCHEMES = Registry("scheme", "register_scheme", "--scheme-module")


class EarlyDrop(Protocol):
    """A scheme that only decides whether a packet may join the FIFO queue."""

    def admit(self, packet: Packet, port: Port, now: float, /) -> Admission:
        """Decides on a packet that arrives at `now` (s), before the limit is checked."""


class QueueDiscipline(Protocol):
    """A scheme that stores, drops and orders the packets itself."""

    def enqueue(self, packet: Packet, now: float, /) -> None:
        """Stores a packet that arrives at `now` (s). Drops this or other packets (`port.drop`) to respect the limit."""

    def dequeue(self, now: float, /) -> Packet | None:
        """Returns a waiting packet, or None if all have just been dropped. Called only if a packet waits."""


SchemeFactory: TypeAlias = Callable[[Port], EarlyDrop | QueueDiscipline]
"""A class or function that creates the scheme of a port; called once per run."""

_Factory = TypeVar("_Factory", bound=SchemeFactory)


def register_scheme(name: str) -> Callable[[_Factory], _Factory]:
    """Decorator: registers a class as scheme `name` for `queue.scheme` and `compare`. Replaces an earlier class.

    Raises:
        UserError: The name is invalid or belongs to a scheme of Fairlane; the class lacks methods of a scheme.
    """
    SCHEMES.check(name)

    def register(factory: _Factory) -> _Factory:
        if inspect.isclass(factory):
            _check_methods(name, factory)
        SCHEMES.add(name, lambda: _fairlane.register_scheme(name, factory))
        return factory

    return register


def load_scheme_lib(given: SchemeLib, origin: str = "scheme_lib") -> None:
    """Loads libraries, so that scenarios can name their schemes. A scheme replaces an earlier scheme of the same name.

    Args:
        given: Path or paths of libraries with the C interface of docs/howto/scheme-library.md.
        origin: Origin of the paths, for messages.

    Raises:
        UserError: A library cannot be loaded, or lacks this interface.
    """
    for path in [given] if isinstance(given, str | Path) else given or ():
        check_kind(origin, path, (str, Path), "the path of a library")
        try:
            loaded = _fairlane.load_scheme_library(Path(path))
        except ValueError as error:
            raise UserError(f"{origin}: {error}") from error
        if taken := set(loaded) & set(_fairlane.registered_schemes()):
            raise UserError(f"{origin}: {path}: a scheme in Python is called {min(taken)}, too")


def external_part(scenario: str) -> tuple[str, str] | None:
    """Key and name of the first registered scheme or congestion control that a canonical scenario names."""
    schemes, controls = set(_fairlane.registered_schemes()), set(_fairlane.registered_congestion_controls())
    for key, name in leaves(json.loads(scenario)):
        if f".{key}".endswith(".queue.scheme") and name in schemes:
            return key, name
        if key.endswith(".congestion_control") and name in controls:
            return key, name
    return None


def _check_methods(name: str, scheme: type) -> None:
    has = {method for method in ("admit", "enqueue", "dequeue") if callable(getattr(scheme, method, None))}
    if has not in ({"admit"}, {"enqueue", "dequeue"}):
        given = ", ".join(sorted(has)) or "none of them"
        raise UserError(
            f"{name}: {scheme.__qualname__} must have the method admit, or enqueue and dequeue; it has {given}"
        )
