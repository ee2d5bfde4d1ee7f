"""The manual page, in the language of man, made from the commands."""

from __future__ import annotations

import re
from collections.abc import Iterator

import click

from fairlane import _fairlane

_EXIT_CODES = (
    ("0", "What was asked for is done."),
    ("1", "A check failed, or nobody reads the output any more."),
    ("2", "Something that was given cannot be used; one line says what."),
    ("130, 143, 129", "Ctrl-C, SIGTERM or SIGHUP ended the command; what had finished is kept."),
)


def page(root: click.Context) -> str:
    """The page of a command with all that are below it."""
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
    lines += [".SH ENVIRONMENT", ".TP", ".B FAIRLANE_STORE", "Folder of finished runs, in place of results/store."]
    return "\n".join([*lines, ""])


def _commands(context: click.Context) -> Iterator[str]:
    """Every command below a group, those of groups within it after them."""
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
    """The paragraphs of its help."""
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n", command.help or "")]


def _text(words: str) -> str:
    """Words that mean nothing to man."""
    escaped = words.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    return f"\\&{escaped}" if escaped.startswith((".", "\\(aq")) else escaped
