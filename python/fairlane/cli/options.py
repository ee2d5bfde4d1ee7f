"""What several commands share: options, what options need, groups of commands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click
from click.core import ParameterSource

from fairlane.base.errors import UserError

Function = Callable[..., Any]
Decorator = Callable[[Function], Function]


def options(*decorators: Decorator) -> Decorator:
    """Several option decorators as one, in order."""

    def decorate(function: Function) -> Function:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


class Group(click.Group):
    """A group of commands; without a command it prints its help."""

    def parse_args(self, context: click.Context, arguments: list[str]) -> list[str]:
        """As click does, once there is something to read."""
        if not arguments:
            click.echo(context.get_help())
            context.exit()
        return super().parse_args(context, arguments)


def check_needs(needs: Mapping[str, Sequence[str]]) -> None:
    """Raises a UserError for an option of this command that was given without any of those that it needs."""
    given = given_options()
    names = {parameter.name: parameter.opts[-1] for parameter in click.get_current_context().command.params}
    for name, others in needs.items():
        if name in given and not given.keys() & others:
            raise UserError(f"{given[name]}: has no effect without {' or '.join(names[other] for other in others)}")


def given_options() -> dict[str, str]:
    """The options that stand in the command line, by parameter."""
    context = click.get_current_context()
    return {
        parameter.name: parameter.opts[-1]
        for parameter in context.command.params
        if isinstance(parameter, click.Option)
        and parameter.name
        and context.get_parameter_source(parameter.name) is ParameterSource.COMMANDLINE
    }
