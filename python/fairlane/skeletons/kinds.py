"""Content of each kind of skeleton: new files, new lines in lists, next steps."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Template

from fairlane.base.errors import UserError
from fairlane.base.text import quoted
from fairlane.skeletons.edits import after_last, sorted_module

CHECKOUT = Path(__file__).parents[3]
"""The checkout of Fairlane, if this package is in one."""
TEMPLATES = Path(__file__).parent / "templates"
KEYWORDS = frozenset(
    """
    abstract as async await become box break const continue crate do dyn else enum extern false final fn for gen if impl
    in let loop macro match mod move mut override priv pub ref return self static struct super trait true try type
    typeof unsafe unsized use virtual where while yield
    """.split()  # noqa: SIM905 a list of strings would be forty lines
)
"""Rust keywords, which cannot name a module."""


@dataclass(frozen=True)
class Skeleton:
    """Files of a skeleton with their complete new text, and the next commands."""

    files: Mapping[Path, str]
    commands: tuple[str, ...]


def skeleton(kind: str, name: str, root: Path) -> Skeleton:
    """The skeleton of a new scheme, congestion control, experiment or metric.

    Raises:
        UserError: There is no checkout, or the name is invalid or taken.
    """
    if not (root / "crates" / "schemes" / "Cargo.toml").is_file():
        raise UserError(f"new: {root} is not a checkout of Fairlane's source; clone it and call its .venv/bin/fairlane")
    return KINDS[kind](name, root)


def _scheme(name: str, root: Path) -> Skeleton:
    kind = _type_of("scheme", name)
    source = root / "crates" / "schemes" / "src"
    room, registry = source / "aqm" / "mod.rs", source / "registry" / "schemes.rs"
    chapter = root / "docs" / "schemes" / f"{name}.md"
    _check_free("scheme", name, [*source.glob(f"*/{name}.rs"), *source.glob(f"*/{name}/mod.rs"), chapter], registry)
    line = f'    {kind} = "{name}", "{kind}", aqm::{name}::{kind}Scheme;\n'
    return Skeleton(
        {
            source / "aqm" / f"{name}.rs": _filled("scheme.rs", name=name, Type=kind),
            room: sorted_module(room.read_text(encoding="utf-8"), f"pub mod {name};"),
            registry: after_last(registry, r"    \w+ = \"", line, within=r"schemes! \{"),
            chapter: _filled("scheme.md", name=name, Type=kind),
            _fragment(root, name): f"Scheme `{name}`: what it does (authors, year).\n",
        },
        (
            f"cargo test --package fairlane-schemes {name}",
            "make vectors screen",
            "make docs",
        ),
    )


def _congestion_control(name: str, root: Path) -> Skeleton:
    kind = _type_of("congestion-control", name)
    room = root / "crates" / "sim" / "src" / "traffic" / "tcp" / "congestion"
    registry = room / "mod.rs"
    _check_free("congestion-control", name, [room / f"{name}.rs", room / name], registry)
    line = f'    /// What it does (source).\n    {kind} = "{name}", {name}::{kind};\n'
    listed = after_last(registry, r"    \w+ = \"", line, within=r"congestion_controls! \{")
    return Skeleton(
        {
            room / f"{name}.rs": _filled("congestion_control.rs", name=name, Type=kind),
            registry: sorted_module(listed, f"mod {name};"),
        },
        (f"cargo test --package fairlane-sim {name}", "make docs"),
    )


def _experiment(name: str, root: Path) -> Skeleton:
    papers = root / "python" / "fairlane" / "papers"
    there = sorted(path.parent.name for path in papers.glob("*/claims.toml"))
    parts = re.fullmatch(r"([a-z][a-z0-9]*)\.([a-z][a-z0-9_]{0,31})", name)
    if not parts or parts[1] not in there:
        raise UserError(f"new experiment: {quoted(name)} is not PAPER.NAME; papers: {', '.join(there)}")
    claims = papers / parts[1] / "claims.toml"
    text = claims.read_text(encoding="utf-8")
    experiments = tomllib.loads(text)["experiments"]
    # The author replaces these copied values.
    own_runs = [one for one in experiments if "same_runs_as" not in one]
    sibling = next((one for one in own_runs if "sweep" in one), own_runs[0])
    of_paper = sibling["id"].partition(".")[0]  # noms2016 uses noms.
    made = f"{of_paper}.{parts[2]}"
    if any(one["id"] == made for one in experiments):
        raise _taken("experiment", name, claims)
    values = {"id": made, "paper": parts[1], "sibling": sibling["id"]}
    values |= {"schemes": json.dumps(sibling["schemes"]), "metric": sibling["metrics"][0]}
    values["topology"] = f'topology = "{sibling["topology"]}"\n' if "topology" in sibling else ""
    return Skeleton(
        {
            claims: text.rstrip("\n") + "\n" + _filled("experiment.toml", **values),
            _fragment(root, name): f"Experiment `{name}`: what it measures.\n",
        },
        (f".venv/bin/pytest tests/python/test_every_paper.py -k {made}", f".venv/bin/fairlane reproduce {name}"),
    )


def _metric(name: str, root: Path) -> Skeleton:
    _type_of("metric", name)
    measure = root / "crates" / "sim" / "src" / "measure"
    records, recorder = measure / "run_record.rs", measure / "recorder.rs"
    text = records.read_text(encoding="utf-8")
    if re.search(rf"\b{name}: ", text):
        raise _taken("metric", name, records)
    declared = (
        "        /// TODO: what it is, in one sentence.\n"
        f'        {name}: f64, unit "1", better "high", heading "{name.replace("_", " ")}",\n'
        '            shown "columns summary groups report criterion objective";\n'
    )
    head, field, rest = re.split(r"(        normalised_throughput: [^;]*;\n)", text, maxsplit=1)
    return Skeleton(
        {
            records: head + field + declared + rest,
            recorder: after_last(recorder, "            normalised_throughput:", f"            {name}: 0.0,\n"),
        },
        ("cargo test --package fairlane-sim catalogue", "make docs"),
    )


def _type_of(kind: str, name: str) -> str:
    """Name of the Rust type: `ToyRed` for `toy_red`."""
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,31}", name) or name in KEYWORDS:
        allowed = "a to z, 0 to 9 and _, from a letter on, 32 characters at most, no keyword of Rust"
        raise UserError(f"new {kind}: {quoted(name)} is not a name for a module: {allowed}")
    return "".join(part.capitalize() for part in name.split("_"))


def _check_free(kind: str, name: str, paths: list[Path], registry: Path) -> None:
    """Raises a UserError if a path exists, or the registry contains the name or its type."""
    for path in paths:
        if path.exists():
            raise _taken(kind, name, path)
    if re.search(rf"\b{_type_of(kind, name)}\b|= \"{name}\"", registry.read_text(encoding="utf-8")):
        raise _taken(kind, name, registry)


def _taken(kind: str, name: str, where: Path) -> UserError:
    return UserError(f"new {kind}: {name} is there already, in {where}")


def _fragment(root: Path, name: str) -> Path:
    """File for an entry of the next changelog (towncrier)."""
    return root / "changes" / f"+{name.replace('.', '-')}.added.md"


def _filled(template: str, **values: str) -> str:
    return Template((TEMPLATES / template).read_text(encoding="utf-8")).substitute(values)


KINDS: dict[str, Callable[[str, Path], Skeleton]] = {
    "scheme": _scheme,
    "experiment": _experiment,
    "congestion-control": _congestion_control,
    "metric": _metric,
}
