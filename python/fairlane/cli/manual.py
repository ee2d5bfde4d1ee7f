"""The manual page as roff, generated from the commands."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click

from fairlane import _fairlane

_EXIT_CODES = (
    ("0", "Success."),
    ("1", "A check failed, or the reader of standard output closed it."),
    ("2", "An argument or an input is wrong; one line on standard error says why."),
    ("130, 143, 129", "Ctrl-C, SIGTERM or SIGHUP ended the command; finished runs are kept."),
)


def page(root: click.Context) -> str:
    """The page of a command and of all its subcommands."""
    name = root.info_name or ""
    lines = [
        f'.TH {name.upper()} 1 "" "{name} {_fairlane.version()}"',
        ".SH NAME",
        f"{_text(name)} \\- {_text(_sentences(root.command)[0].rstrip('.'))}",
        ".SH SYNOPSIS",
        f".B {_text(name)}",
        "COMMAND [ARGUMENT]...",
        ".SH COMMANDS",
        *_commands(root),
        ".SH EXIT STATUS",
    ]
    for code, words in _EXIT_CODES:
        lines += [".TP", f".B {code}", _text(words)]
    lines += [".SH ENVIRONMENT", ".TP", ".B FAIRLANE_STORE", "Folder of finished runs, instead of results/store."]
    return "\n".join([*lines, ""])


def _commands(context: click.Context) -> Iterator[str]:
    """Every command of a group, depth first."""
    group = context.command
    assert isinstance(group, click.Group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        inner = click.Context(command, info_name=name, parent=context)
        yield f".SS {_text(inner.command_path)}"
        yield ".nf"
        yield _text(f"{inner.command_path} {' '.join(command.collect_usage_pieces(inner))}")
        yield ".fi"
        for sentence in _sentences(command):
            yield ".PP"
            yield _text(sentence)
        if isinstance(command, click.Group):
            yield from _commands(inner)
            continue
        for parameter in command.get_params(inner):
            record = parameter.get_help_record(inner)
            if record and record[1] and "--help" not in parameter.opts:
                yield ".TP"
                yield f".B {_text(record[0])}"
                yield _text(record[1])


def _sentences(command: click.Command) -> list[str]:
    """Paragraphs of a command's help."""
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n", command.help or "")]


def _text(words: str) -> str:
    """Escapes the characters that roff interprets."""
    escaped = words.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    return f"\\&{escaped}" if escaped.startswith((".", "\\(aq")) else escaped
