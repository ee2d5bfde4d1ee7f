"""Parts shared by several commands: options and their dependencies, settings, command groups."""

from __future__ import annotations

import sys
import tomllib
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from fairlane.base import toml
from fairlane.base.errors import ScenarioError, ScenarioWarning, UserError
from fairlane.base.files import written_below
from fairlane.base.planes import SIMULATOR, VIRTUAL, problem_of_virtual
from fairlane.base.text import near, quoted
from fairlane.cli.output import say
from fairlane.simulate.catalogue import schemes
from fairlane.simulate.replications import MOST_THREADS

if TYPE_CHECKING:
    from fairlane.results.result import Summarised

Function = Callable[..., Any]
Decorator = Callable[[Function], Function]


def options(*decorators: Decorator) -> Decorator:
    """Combines option decorators into one, in order."""

    def decorate(function: Function) -> Function:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return decorate


def path_option(name: str, *more: str, help: str, metavar: str = "DIR", **settings: Any) -> Decorator:
    """An option that takes a path."""
    return click.option(name, *more, type=click.Path(path_type=Path), metavar=metavar, help=help, **settings)


def _table_file(_context: click.Context, _option: click.Parameter, path: Path | None) -> Path | None:
    if path is not None and path.suffix not in {".csv", ".tex"}:
        raise UserError(f"--table: {quoted(str(path))}: the suffix is neither .csv nor .tex")
    return path


table_option = path_option(
    "--table",
    metavar="FILE",
    callback=_table_file,
    help="Write means with intervals as .csv, or a table for a paper as .tex (LaTeX).",
)

pdf_option = click.option("--pdf", is_flag=True, help="Also write figures as PDF, one paper column wide.")


def write_table(result: Summarised, path: Path | None) -> None:
    """Writes the file of `--table`, if there is one."""
    if path is not None:
        with written_below(path, "--table"):
            result.write_table(path)


@contextmanager
def written_out(folder: Path) -> Iterator[None]:
    """Reports errors of the folder of `--out`, and prints warnings about what is written as notes."""
    with written_below(folder, "--out"), warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always", ScenarioWarning)
        yield
    for note in notes:
        say(f"note: {note.message}", error=True)


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
LIBRARIES = "fairlane.libraries"
"""Key in a command's context, set if scheme libraries were loaded."""


def _without_libraries(context: click.Context, _option: click.Parameter, address: str | None) -> str | None:
    if address is not None and LIBRARIES in context.meta:
        raise UserError("--scheme-lib: cannot be combined with --ray: the nodes of the cluster do not have the library")
    return address


ray_option = click.option(
    "--ray",
    callback=_without_libraries,
    metavar="[ADDRESS]",
    is_flag=False,
    flag_value="auto",
    help="Run on a Ray cluster: auto (default ADDRESS), local, HOST:PORT or ray://HOST:PORT.",
)
settings_option = click.option(
    "--set", "settings", multiple=True, metavar="KEY=VALUE", help="Change a key of the scenario."
)
store_options = options(
    click.option("--replications", type=click.IntRange(min=1), metavar="N", help="Replications of every point."),
    click.option(
        "--threads", type=click.IntRange(1, MOST_THREADS), metavar="N", help="Simulator threads [default: all cores]."
    ),
    path_option("--store", help="Folder of finished runs [default: results/store]."),
    settings_option,
)
run_options = options(store_options, json_option)


class Plane(click.Choice[str]):
    """The name of a plane that has no problem."""

    def __init__(self, names: Sequence[str], problem_of: Callable[[str], str | None]) -> None:
        super().__init__(names)
        self._problem_of = problem_of

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Fails with the problem of a name."""
        if problem := self._problem_of(value):
            self.fail(problem, param, ctx)
        return value


plane_options = options(
    click.option(
        "--plane",
        type=Plane(VIRTUAL, problem_of_virtual),
        default=SIMULATOR,
        show_default=True,
        help="What runs it: linux is a kernel, see `fairlane kernel build`.",
    ),
    click.option("--kernel", metavar="VERSION", help="Kernel of the plane linux [default: the newest that was built]."),
)


class NeedsAWord(click.Command):
    """A command whose arguments and options are all optional, but which needs at least one of them."""


class Group(click.Group):
    """A command group that prints its help if called without arguments.

    On a terminal, its commands also print their help if called without arguments that they need.
    """

    def parse_args(self, context: click.Context, arguments: list[str]) -> list[str]:
        """Prints the help if there are no arguments."""
        if not arguments and not context.resilient_parsing:  # this is set for shell completion
            click.echo(context.get_help())
            context.exit()
        return super().parse_args(context, arguments)

    def resolve_command(
        self, context: click.Context, arguments: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Finds a command by name; an error for an unknown name suggests similar names.

        On a terminal, a command without its required arguments prints its help.
        """
        asked = arguments[0]
        if not (context.resilient_parsing or asked.startswith("-") or self.get_command(context, asked)):
            meant = near(asked, self.list_commands(context), most=5)
            raise click.UsageError(f"No such command {quoted(asked)}; {meant}", context)
        name, command, rest = super().resolve_command(context, arguments)
        if (
            command
            and not rest
            and sys.stdout.isatty()
            and not context.resilient_parsing
            and (isinstance(command, NeedsAWord) or any(parameter.required for parameter in command.params))
        ):
            rest = ["--help"]
        return name, command, rest


def completing(names: Callable[[], Iterable[str]]) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """Completes the last of several comma-separated names."""

    def complete(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[str]:
        before, comma, last = begun.rpartition(",")
        return [f"{before}{comma}{name}" for name in names() if name.startswith(last)]

    return complete


def scheme_names() -> list[str]:
    """Names of all schemes, for completion."""
    return [scheme["name"] for scheme in schemes()]


def check_needs(needs: Mapping[str, Sequence[str]]) -> None:
    """Raises a UserError for an option that was given without any of the options it needs."""
    given = given_options()
    names = {parameter.name: parameter.opts[-1] for parameter in click.get_current_context().command.params}
    for name, others in needs.items():
        if name in given and not given.keys() & others:
            raise UserError(f"{given[name]}: has no effect without {' or '.join(names[other] for other in others)}")


def given_options() -> dict[str, str]:
    """Options given on the command line, by parameter."""
    context = click.get_current_context()
    return {
        parameter.name: parameter.opts[-1]
        for parameter in context.command.params
        if isinstance(parameter, click.Option)
        and parameter.name
        and context.get_parameter_source(parameter.name) is ParameterSource.COMMANDLINE
    }


@contextmanager
def from_origin(origin: str | Path) -> Iterator[None]:
    """Prefixes an error in a scenario's key with the origin of the key: a file, or an option such as `--set`."""
    try:
        yield
    except ScenarioError as error:
        raise UserError(f"{origin}: {error}") from error


@contextmanager
def named_as_options() -> Iterator[None]:
    """Renames arguments in errors to their options: `qlog_flows` in Python is `--qlog-flows` here."""
    try:
        yield
    except UserError as error:
        argument, colon, problem = str(error).partition(": ")
        option = given_options().get(argument)
        if not colon or option is None:
            raise
        raise UserError(f"{option}: {problem}") from error


def parse_settings(texts: tuple[str, ...]) -> dict[str, Any]:
    """Parses KEY=VALUE pairs. A value is TOML, or a string without quotes."""
    settings = {}
    for text in texts:
        key, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not key:
            raise UserError(f"--set: {quoted(text)} is not KEY=VALUE")
        settings[key] = _value(key, value)
    return settings


def _value(key: str, text: str) -> Any:
    try:
        parsed = toml.parse(f"value = {text}")
    except tomllib.TOMLDecodeError as error:
        if error.__cause__ is not None:
            raise UserError(f"--set: {key}: {error}") from error
        return text
    if len(parsed) > 1:
        raise UserError(f"--set: {key}: {quoted(text)} sets several keys; repeat --set for each")
    return parsed["value"]


def split_names(text: str) -> list[str]:
    """Splits comma-separated names."""
    return [name.strip() for name in text.split(",")]
