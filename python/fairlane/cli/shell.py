"""The commands `fairlane completions|man`: what shells and manuals are told of all commands."""

from __future__ import annotations

import click

PROGRAM = "fairlane"
SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
def completions(shell: str) -> None:
    """Print what makes a shell complete commands, options and names.

    For bash: eval "$(fairlane completions bash)" in ~/.bashrc; likewise for zsh in ~/.zshrc. For fish: fairlane
    completions fish > ~/.config/fish/completions/fairlane.fish
    """
    from click.shell_completion import get_completion_class

    made = get_completion_class(shell)
    assert made is not None
    group = click.get_current_context().find_root().command
    # Not `source`, which looks for a bash on this machine: the text may be for another one.
    complete = made(group, {}, PROGRAM, f"_{PROGRAM.upper()}_COMPLETE")
    click.echo(complete.source_template % complete.source_vars())


@click.command()
def man() -> None:
    """Print the manual page, as in: fairlane man | man -l -."""
    from fairlane.cli.manual import page

    click.echo(page(click.get_current_context().find_root()), nl=False)
