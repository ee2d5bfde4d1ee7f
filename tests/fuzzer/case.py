"""A case: files and the commands that run on them, in an empty folder."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

Arguments = tuple[str, ...]


@dataclass(frozen=True)
class Case:
    """Commands to run, with their files.

    Attributes:
        steps: Arguments of `fairlane`, one command after another in the same folder.
        files: Text by name; bytes that are not UTF-8 are surrogates, as in Python's arguments.
        environment: Changed environment variables.
        own_process: True if each step is a separate process instead of a call within a worker.
        streams: State of `stdout` and `stderr`: `closed` or `full`; needs a separate process.
    """

    steps: tuple[Arguments, ...]
    files: dict[str, str] = field(default_factory=dict)
    environment: dict[str, str] = field(default_factory=dict)
    own_process: bool = False
    streams: dict[str, str] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        """Writes the files into a folder."""
        for name, text in self.files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode("utf-8", "surrogateescape"))

    def to_json(self) -> str:
        """The case as a line for `from_json`."""
        always = {"steps": self.steps, "files": self.files}
        return json.dumps(always | {name: value for name, value in vars(self).items() if value})

    @classmethod
    def from_json(cls, text: str) -> Case:
        """Parses a line of `to_json`."""
        table = json.loads(text)
        steps = tuple(tuple(step) for step in table.pop("steps"))
        return cls(steps, **table)

    def shell(self) -> str:
        """The case as commands for a shell."""
        lines = []
        for name, text in self.files.items():
            lines.append(f"printf %b {shlex.quote(_escaped(text))} > {shlex.quote(name)}")
        variables = [f"{name}={shlex.quote(value)}" for name, value in self.environment.items()]
        lines += [" ".join([*variables, "fairlane", *map(_quoted, step), *self.redirections()]) for step in self.steps]
        return "\n".join(lines)

    def redirections(self) -> list[str]:
        """Shell redirections for a command's streams."""
        targets = {"closed": "&-", "full": "/dev/full"}
        numbers = {"stdout": 1, "stderr": 2}
        return [f"{numbers[name]}>{targets[state]}" for name, state in self.streams.items()]


def _quoted(word: str) -> str:
    return shlex.quote(word) if word.isprintable() else f"$'{_escaped(word)}'"


def _escaped(text: str) -> str:
    """Text for the shell's `printf %b` and $''."""
    shown: Sequence[str] = [
        character
        if character.isprintable() and character not in "\\'"
        else "".join(f"\\x{byte:02x}" for byte in character.encode("utf-8", "surrogateescape"))
        for character in text
    ]
    return "".join(shown)
