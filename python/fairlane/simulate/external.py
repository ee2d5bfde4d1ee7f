"""Schemes written in Python: a class, registered under a name that scenarios can use.

    @fairlane.register_scheme("half-full")
    class HalfFull:
        def __init__(self, port: fairlane.Port) -> None:
            self.threshold = (port.limit_packets or 24) / 2

        def admit(self, packet: fairlane.Packet, port: fairlane.Port, now: float) -> bool:
            return port.packets < self.threshold

    fairlane.run(fairlane.Scenario("mine", ..., queue="half-full"))

docs/howto/scheme-in-python.md has the contract.
"""

from __future__ import annotations

import importlib.util
import inspect
import json
import re
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Literal, Protocol, TypeAlias, TypeVar

from fairlane import _fairlane
from fairlane._fairlane import Packet, Port
from fairlane.base.errors import UserError
from fairlane.simulate.scenario import leaves

__all__ = ["EarlyDrop", "Packet", "Port", "QueueDiscipline", "SchemeFactory", "register_scheme"]

Admission: TypeAlias = bool | Literal["accept", "mark", "drop"]
"""True or "accept": enqueue the packet if there is room; "mark": with a congestion mark, or drop it if its transport
does not understand marks; False or "drop": drop it."""

_registrations: list[str] = []
"""Names in the order of their registration, one registered again again."""

_NAME = re.compile(r"[a-z][a-z0-9_-]*")


class EarlyDrop(Protocol):
    """A scheme that only decides whether a packet may join the queue, which is first-in-first-out."""

    def admit(self, packet: Packet, port: Port, now: float, /) -> Admission:
        """Judges a packet that arrives at `now` (s) before the limit is looked at."""


class QueueDiscipline(Protocol):
    """A scheme that keeps the packets, drops and orders them itself."""

    def enqueue(self, packet: Packet, now: float, /) -> None:
        """Stores a packet that arrives at `now` (s), or drops it or others (`port.drop`) so that the limit holds."""

    def dequeue(self, now: float, /) -> Packet | None:
        """Gives one of the waiting packets; asked only if there is one. None only if all were dropped just now."""


SchemeFactory: TypeAlias = Callable[[Port], EarlyDrop | QueueDiscipline]
"""A class or function that makes the scheme of a port. It is called once in each run."""

_Factory = TypeVar("_Factory", bound=SchemeFactory)


def register_scheme(name: str) -> Callable[[_Factory], _Factory]:
    """Decorator: makes a class the scheme `name`, for `queue.scheme` and for `compare`. The last one of a name counts.

    Raises:
        UserError: The name is not one, or taken by a scheme of Fairlane; the class lacks methods of a scheme.
    """
    if not _NAME.fullmatch(name):
        raise UserError(f"{name!r} is not a name for a scheme: lower-case letters, digits, - and _, a letter first")

    def register(factory: _Factory) -> _Factory:
        if inspect.isclass(factory):
            _check_methods(name, factory)
        try:
            _fairlane.register_scheme(name, factory)
        except ValueError as error:
            raise UserError(str(error)) from error
        _registrations.append(name)
        return factory

    return register


def load_schemes(path: Path) -> None:
    """Runs a Python file that registers schemes.

    Raises:
        UserError: It cannot be read or run, or registers nothing.
    """
    before = len(_registrations)
    spec = importlib.util.spec_from_file_location(f"fairlane_schemes_{path.stem}", path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise UserError(f"--scheme-module: {path} is not a Python file")
    try:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
    except UserError:
        raise
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        message = f"{type(error).__name__}: {error} ({place.filename}, line {place.lineno})"
        raise UserError(f"--scheme-module: {path}: {message}") from error
    if len(_registrations) == before:
        raise UserError(f"--scheme-module: {path} registers no scheme; decorate a class with @fairlane.register_scheme")


def external_queue(scenario: str) -> tuple[str, str] | None:
    """Key and name of the first registered scheme that a canonical scenario names, wherever it has a queue."""
    registered = set(_fairlane.registered_schemes())
    queues = ((key, name) for key, name in leaves(json.loads(scenario)) if f".{key}".endswith(".queue.scheme"))
    return next((queue for queue in queues if queue[1] in registered), None)


def _check_methods(name: str, scheme: type) -> None:
    has = {method for method in ("admit", "enqueue", "dequeue") if callable(getattr(scheme, method, None))}
    if has not in ({"admit"}, {"enqueue", "dequeue"}):
        given = ", ".join(sorted(has)) or "none of them"
        raise UserError(
            f"{name}: {scheme.__qualname__} must have the method admit, or enqueue and dequeue; it has {given}"
        )
