"""The commands `fairlane completions|man`."""

from __future__ import annotations

import click

PROGRAM = "fairlane"
SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
def completions(shell: str) -> None:
    """Print the completion script for a shell.

    For bash: eval "$(fairlane completions bash)" in ~/.bashrc; likewise for zsh in ~/.zshrc. For fish: fairlane
    completions fish > ~/.config/fish/completions/fairlane.fish
    """
    from click.shell_completion import get_completion_class

    made = get_completion_class(shell)
    assert made is not None
    group = click.get_current_context().find_root().command
    # `complete.source()` would require bash here; the script may be for another machine.
    complete = made(group, {}, PROGRAM, f"_{PROGRAM.upper()}_COMPLETE")
    click.echo(complete.source_template % complete.source_vars())


@click.command()
def man() -> None:
    """Print the manual page.

    To read it: fairlane man | man -l -
    """
    from fairlane.cli.manual import page

    click.echo(page(click.get_current_context().find_root()), nl=False)
