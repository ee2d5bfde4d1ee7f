"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Function = Callable[..., Any]
Decorator = Callable[[Function], Function]


def options(*decorators: Decorator) -> Decorator:
    """Several option decorators as one, in order."""

    def decorate(function: Function) -> Function:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate
