"""Generated tables of the documentation and of the README.

A Markdown file marks the position of a table:

    <!-- generated:scheme abc -->
    <!-- end -->

The content between these lines is generated from the simulator's declarations, and from the heads of Rust modules in
the folder `crates` next to `docs`. The number in `**34 schemes**` is generated, too. The marks are:

    schemes               the catalogue of schemes, with links to their chapters
    papers                the reproduced papers
    congestion-controls   the catalogue of congestion controls
    congestion-control X  catalogue entry and keys of the congestion control X
    scheme SCHEME         catalogue entry of a scheme, and its parameters except those of all schemes
    head MODULE           sentence, source and path of a Rust module, from its head
    rules MODULE          the rules in the head of a module
    deviations MODULE     the deviations in the head of a module
    limits MODULE         cost, deviations and missing parts, each with a heading
    module MODULE         a head with headings, in full
    enum NAME             the variants of a Rust enum
    shared                the parameters that all schemes have
    topology NAME         the parameters of a topology
    scenario KEY          the keys of a table of the scenario, such as `run` or `groups.sources.tcp`
    document NAME         all tables of a document of `fairlane schema`, such as `result`
    sweep                 the keys of a sweep file
    lab                   the keys of a scenario in the lab
    adversaries           the worst scenario of each scheme, from `examples/adversaries` next to `docs`
    pairs                 shares of all pairs of senders, from `figures/pairs.csv` in `docs`
    evaluation criteria   the criteria of the evaluation
    evaluation suite      the families of the suite with their scenarios
    evaluation choice     the fairest schemes without labels, without state for each flow, with marks
    evaluation advice     five questions that lead to three schemes
    evaluation first      the first entries by each criterion
    evaluation league     all entries by all criteria, with the data of the heat map
    evaluation pictures   the Pareto figures in `docs/figures`
    evaluation entries    strengths and weaknesses of each entry
    reproduction          number of reproduced claims of every paper
    reproduction summary  the same in a paragraph
    reproduction PAPER    outcome of every claim of a paper
    clauses               how many clauses of each RFC the code follows
    clauses all           every clause with the code that follows it
    data PAGE MARK        data that a bench recorded for a page, from `site/data/PAGE.json`

`<!-- site:MARK -->` marks a table that only the site has, for example one with hundreds of rows to sort and filter.
"""

from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from textwrap import fill
from typing import Any

import clauses
from fairlane.judge.library import papers
from fairlane.judge.paper import Paper
from fairlane.lab import keys as lab_keys
from fairlane.linux import disciplines
from fairlane.linux import keys as linux_keys
from fairlane.results.intervals import format_interval
from fairlane.results.metrics import shown, unit_of
from fairlane.schemas import SCHEMAS, schema
from fairlane.simulate.catalogue import Parameter, congestion_controls, schemes, topologies
from fairlane.simulate.honoured import IMPAIRMENTS, Honoured, Refused, Required
from fairlane.sweeps.keys import KEYS
from generators import adversaries, evaluation, module_heads
from generators import reproduction as report

_BLOCK = re.compile(r"^<!-- generated:(.*?) -->\n(.*?)^<!-- end -->$", re.MULTILINE | re.DOTALL)
_MARK = "<!-- generated:"
_SITE = re.compile(r"^<!-- site:(.*?) -->$", re.MULTILINE)
_COUNT = re.compile(r"\*\*\d+ schemes\*\*")
WIDTH = 120
"""Line width of paragraphs."""
DATA = Path(__file__).parents[2] / "site" / "data"
PAIRS = Path(__file__).parents[2] / "docs" / "figures" / "pairs.csv"
"""Output of `make figures`, in a checkout."""


class MarkError(Exception):
    """An unknown mark; the message names file and mark."""


def write(docs: Path, *, check: bool = False) -> int:
    """Writes every stale file below `docs`, or with `check` only prints its name; returns the exit code."""
    if not docs.is_dir():
        sys.stderr.write(f"error: {docs}: no such folder\n")
        return 2
    try:
        stale = {file: text for file, text in rewritten(docs) if text != file.read_text(encoding="utf-8")}
    except MarkError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    for file, text in stale.items():
        if check:
            sys.stderr.write(f"{file}: stale, run: make docs\n")
        else:
            file.write_text(text, encoding="utf-8")
    return 1 if check and stale else 0


def rewritten(docs: Path) -> Iterator[tuple[Path, str]]:
    """Yields all Markdown files below `docs`, and the README next to `docs`, with the expected texts.

    Raises:
        MarkError: A mark is unknown or has no end.
    """
    for file in [*docs.parent.glob("README.md"), *sorted(docs.rglob("*.md"))]:
        try:
            yield file, rewrite(file.read_text(encoding="utf-8"), docs.parent / "crates")
        except (MarkError, module_heads.HeadError) as error:
            raise MarkError(f"{file}: {error}") from None


def rewrite(text: str, crates: Path = Path("crates")) -> str:
    """The text with all generated blocks regenerated.

    Raises:
        MarkError: A mark is unknown or has no end.
    """
    blocks = _BLOCK.findall(text)
    marks = sum(line.startswith(_MARK) for line in text.splitlines())
    if marks != len(blocks):
        raise MarkError("a generated block has no <!-- end --> line")
    text = _COUNT.sub(f"**{len(schemes())} schemes**", text)
    return _BLOCK.sub(
        lambda block: f"{_MARK}{block[1]} -->\n{generate(block[1], crates).rstrip()}\n\n<!-- end -->", text
    )


def expanded(text: str, crates: Path = Path("crates")) -> str:
    """The text with the tables for the site."""
    return _SITE.sub(lambda mark: generate(mark[1], crates), text)


def generate(mark: str, crates: Path = Path("crates")) -> str:
    """Markdown for a mark such as `scheme abc`.

    Raises:
        MarkError: The mark is unknown.
    """
    if mark in _CATALOGUES:
        return _CATALOGUES[mark]()
    if mark.startswith("file "):
        return _file(crates.parent / mark.removeprefix("file "))
    match mark.split():
        case ["congestion-control", name] if name in {control["name"] for control in congestion_controls()}:
            return _congestion_control(name)
        case ["scheme", name] if name in {scheme["name"] for scheme in schemes()}:
            return _scheme(name)
        case ["head" | "rules" | "deviations" | "limits" | "module" as part, name]:
            return _module(part, module_heads.module(name, crates), crates.parent)
        case ["enum", name]:
            return _table(["name", "meaning"], [(f"`{key}`", doc) for key, doc in module_heads.variants(name, crates)])
        case ["topology", name] if name in {topology["name"] for topology in topologies()}:
            (topology,) = (topology for topology in topologies() if topology["name"] == name)
            return _parameters(topology["params"])
        case ["scenario", key]:
            return _scenario(key)
        case ["document", name] if name in SCHEMAS:
            return _records(schema(name))
        case ["reproduction", key] if key in papers():
            return _reproduction(papers()[key])
        case ["data", page, *words] if blocks := _data(page).get(" ".join(words)):
            return "\n".join(_block(block, page) for block in blocks)
    raise MarkError(f"generated:{mark}: there is no such table")


def _file(path: Path) -> str:
    """A file of the repository, unchanged."""
    if not path.is_file():
        raise MarkError(f"generated:file {path}: there is no such file")
    kind = {".rs": "rust"}.get(path.suffix, path.suffix[1:])
    return f"```{kind}\n{path.read_text(encoding='utf-8').rstrip()}\n```"


def _data(page: str) -> dict[str, list[Any]]:
    """Returns the data recorded for a page, by mark."""
    file = DATA / f"{page}.json"
    found: dict[str, list[Any]] = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    return found


_PARTS = {
    ("agreement-linux", "cell"): (
        r"(?P<senders>.+), (?P<rate>.+), (?P<round_trip>.+), (?P<buffer>.+), (?P<queue>.+)",
        ("queue", "senders", "rate", "round trip", "buffer"),
    ),
    ("agreement-ns3", "scenario"): (
        r"(?P<queue>.+?), (?P<traffic>.+), (?P<delay>.+), (?P<buffer>.+)",
        ("queue", "traffic", "delay", "buffer"),
    ),
    ("agreement-ns3", "cell"): (
        r"(?P<sender>.+?), (?P<beside>.+?), (?P<rate>.+?), (?P<round_trip>.+?), (?P<buffer>.+?)(?:, (?P<queue>.+))?",
        ("sender", "beside", "rate", "round trip", "buffer", "queue"),
    ),
}
"""Tables whose first column is split into several, by page and heading of this column.

A value has the pattern of a cell in this column, and the names of the new columns.
"""


def _block(block: Any, page: str) -> str:
    """Returns a paragraph or a table. A row with one cell becomes the first column of the rows below it."""
    if isinstance(block, str):
        return f"\n{block}\n"
    (name, *head), family, rows = block["columns"], "", []
    pattern, columns = _PARTS.get((page, name), (r"(?P<_>.*)", ("_",)))
    for first, *row in block["rows"]:
        if not any(row):
            family = first.strip("*")
        elif parts := re.fullmatch(pattern, first, re.DOTALL):
            rows.append([family, *(parts[column.replace(" ", "_")] or "–" for column in columns), *row])
        else:
            raise MarkError(f"{page}: {first}: lacks one of the parts {', '.join(columns)}")
    head = ["family", *([name] if columns == ("_",) else columns), *head]
    return _table(head, rows) if family else _table(head[1:], [row[1:] for row in rows])


def _pairs() -> str:
    """Returns a table with a row for each pair. A share is bold if its interval excludes equal shares."""
    shares: dict[tuple[str, str], dict[str, str]] = {}
    with PAIRS.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            text = format_interval(100 * float(row["share"]), 100 * float(row["share_half_width"]))
            shares.setdefault((row["row"], row["column"]), {})[row["queue"]] = f"**{text}**" if row["ahead"] else text
    queues = next(iter(shares.values()))
    rows = ([f"{row} : {column}", *of_pair.values()] for (row, column), of_pair in shares.items())
    return _table(["pair", *(f"`{queue}`" for queue in queues)], rows)


def _lab() -> str:
    """Returns a table in which keys with the same rule share a row."""
    rows: dict[tuple[str, str], list[str]] = {}
    for key, rule in lab_keys.KEYS.items():
        if lab_keys.KEYS.get(key.replace("groups[].sources[tcp]", "tcp")) is rule and key.startswith("groups"):
            continue  # TCP sources have the keys of [tcp] with the same rules
        if isinstance(rule, Honoured):
            effect = f"{rule.where}; only plane `{rule.only}`" if rule.only else rule.where
            rows.setdefault(("supported", effect), []).append(key)
        elif isinstance(rule, Refused):
            rows.setdefault(("rejected", rule.why), []).append(key)
    for scheme in ("droptail", *lab_keys.AQMS):
        for section, names in lab_keys.in_node(scheme).items():
            for name in names:
                both = rows.setdefault(("supported", "forwarder; planes `kernel` and `p4`, for their schemes"), [])
                if (key := f"{section}.{name}") not in both:
                    both.append(key)
    rows["supported", "forwarder; rejected on `kernel` and `p4`"] = ["all other keys of queue and marker"]
    return _of_rules(rows)


def _of_rules(rows: Mapping[tuple[str, str], Sequence[str]]) -> str:
    shown = [
        [what, ", ".join(f"`{key}`" if "." in key else key for key in keys), why] for (what, why), keys in rows.items()
    ]
    return _table(["", "keys", "effect or reason"], shown)


def _linux_keys() -> str:
    """Returns a table like that of `_lab`. Keys of sources with the same rule as in [tcp] are omitted."""
    rows: dict[tuple[str, str], list[str]] = {}
    for key, rule in linux_keys.RULES.items():
        if linux_keys.RULES.get(key.replace("groups[].sources[tcp]", "tcp")) is rule and key.startswith("groups"):
            continue
        match rule:
            case Honoured(where=where):
                rows.setdefault(("supported", where), []).append(key)
            case Refused(why=why):
                rows.setdefault(("rejected", why), []).append(key)
            case Required(values=values, why=why):
                rows.setdefault((f"must be {', '.join(f'`{value}`' for value in values)}", why), []).append(key)
    return _of_rules(rows)


def _linux_schemes() -> str:
    rows = []
    for scheme, discipline in disciplines.DISCIPLINES.items():
        for name, rule in discipline.rules.items():
            if name in {"scheduler", "be_offset", "mtu"}:
                continue
            match rule:
                case disciplines.Option(text=text):
                    rows.append([f"`{scheme}`", f"`{name}`", text])
                case disciplines.Fixed(values=values, why=why):
                    rows.append([f"`{scheme}`", f"`{name}`", f"must be `{_plain(values[0])}`: {why}"])
                case disciplines.Unused(why=why):
                    rows.append([f"`{scheme}`", f"`{name}`", f"no effect: {why}"])
    rows += [[f"`{scheme}`", "", f"rejected: {why}"] for scheme, why in disciplines.WITHOUT.items()]
    return _table(["scheme", "parameter", "in Linux"], rows)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _schemes() -> str:
    rows = [
        [f"[`{scheme['name']}`](schemes/{scheme['name']}.md)", scheme["title"], scheme["summary"]]
        for scheme in schemes()
    ]
    return _table(["name", "title", "what it does"], rows)


def _congestion_controls() -> str:
    rows = [
        [f"[`{control['name']}`](congestion-controls/{control['module']}.md)", control["summary"]]
        for control in congestion_controls()
    ]
    return _table(["name", "what it does"], rows)


def _congestion_control(name: str) -> str:
    (control,) = congestion_controls(name)
    when, codepoint = control["marks"].split(", ")
    marks = when if control["every_mark"] else f"marks {when}"
    about = (
        f"\nControls: {control['decides']}. With `ecn` it sends {codepoint} and sees {marks}. "
        f"Supported `loss_detection`: {control['loss_detection']}.\n"
    )
    # Unlike the catalogue, the schema has the defaults of each profile.
    keys = schema("scenario")["properties"]["tcp"]["properties"]
    rows = [_key(param["name"], keys[param["name"]], required=False) for param in control["params"]]
    return about + (_table(_PARAMETER, rows) if rows else "\nIt has no keys.\n")


def _papers() -> str:
    return _table(["name", "paper"], [[paper.key, paper.title] for paper in papers().values()])


def _scheme(name: str) -> str:
    (scheme,) = schemes(name)
    about = (
        f'\n`scheme = "{name}"`, marker `{scheme["marker"]}`. Type: {scheme["kind"]}. '
        f"Memory of an idle port: {scheme['idle_bytes']} bytes.\n"
    )
    own = [param for param in scheme["params"] if not param["shared"]]
    if not own:
        return f"{about}\nParameters: only those of [all schemes](../scenario.md#queue).\n"
    owners = _owners()
    rows = [_parameter(param) for param in own if owners[_rule(param)]["name"] == name]
    others: dict[str, list[str]] = {}
    for param in own:
        if (owner := owners[_rule(param)])["name"] != name:
            key, _, default, *_ = _cells(param)
            others.setdefault(f"[{owner['title']}]({owner['name']}.md#parameters)", []).append(f"{key} ({default})")
    same = "".join(f"\nKeys of {owner} (defaults): {', '.join(keys)}.\n" for owner, keys in others.items())
    return f"{about}{_table(_PARAMETER, rows) if rows else ''}{same}"


def _rule(param: Parameter) -> tuple[str, ...]:
    """Returns the fields that must be equal in parameters with a shared explanation."""
    return tuple(str(dict(param).get(key)) for key in ("table", "name", "doc", "type", "choices", "min", "max"))


@cache
def _owners() -> dict[tuple[str, ...], Mapping[str, Any]]:
    """Returns, for each parameter (as identified by `_rule`), the first scheme in the catalogue that has it."""
    found: dict[tuple[str, ...], Mapping[str, Any]] = {}
    for scheme in schemes():
        for param in scheme["params"]:
            found.setdefault(_rule(param), scheme)
    return found


def _module(part: str, file: Path, root: Path) -> str:
    """A part of the head of a module."""
    chapters = root / "docs" / "schemes"
    if part == "module":
        return "\n" + re.sub(r"^#", "##", module_heads.text(file, chapters), flags=re.MULTILINE) + "\n"
    head = module_heads.head(file, chapters)
    place = file.relative_to(root).as_posix().removesuffix("mod.rs")
    parts = {
        "head": [head.summary, f"Source: {head.source}", f"Code: `{place}`."],
        "rules": [head.rules],
        "deviations": [head.deviations],
        "limits": [
            f"## {title}\n\n{text[0].upper()}{text[1:]}"
            for title, text in zip(("Cost", "Deviations", "Not implemented"), head[3:], strict=True)
            if text
        ],
    }
    return "\n" + "\n\n".join(parts[part]) + "\n"


_PARAMETER = ["key", "default", "allowed", "meaning"]


def _parameters(params: Iterable[Parameter]) -> str:
    return _table(_PARAMETER, [_parameter(param) for param in params])


def _parameter(param: Parameter) -> list[str]:
    return _row(*_cells(param))


def _cells(param: Parameter) -> tuple[str, str, str, str, str, str]:
    default = "none" if param["default"] is None else _code(param["default"])
    allowed = _allowed(param["type"], param["choices"], param["min"], param["max"])
    table = "marker." if param.get("table") == "marker" else ""
    return f"`{table}{param['name']}`", param["symbol"], default, allowed, param["doc"], param["source"]


def _row(key: str, symbol: str, default: str, allowed: str, doc: str, source: str) -> list[str]:
    """Returns a table row: key with symbol, default, allowed values, and meaning with source."""
    same = symbol.lower() == key.strip("`").rpartition(".")[2].lower()
    where = f" ({source})" if source and source != "our choice" else ""
    return [key if same or not symbol else f"{key}, {_code(symbol)}", default, allowed, f"{doc}{where}"]


def _allowed(kind: str, choices: Sequence[str] | None, low: Any, high: Any) -> str:
    """Allowed values of a key."""
    if choices is not None:
        return ", ".join(_code(choice) for choice in choices)
    if kind in {"flag", "boolean"}:
        return "`true`, `false`"
    return kind if low is None else f"{kind}, {_code(low)} to {_code(high)}"


def _scenario(key: str) -> str:
    """The keys of a table of the scenario, from the JSON Schema."""
    whole = schema("scenario")
    table = whole
    for part in key.split("."):
        table = _step(table, part, key)
    properties = table.get("properties", {})
    if key.endswith(
        ("sources.rpm", "sources.tcp", "sources.transfers", "sources.video", "sources.web")
    ):  # it also has all keys of [tcp]
        of_tcp = whole["properties"]["tcp"]["properties"]
        properties = {name: value for name, value in properties.items() if name not in of_tcp}
    if key == "tcp":  # the chapter of a congestion control lists the keys that only this control reads
        of_controls = {param["name"] for control in congestion_controls() for param in control["params"]}
        properties = {name: value for name, value in properties.items() if name not in of_controls}
    if key.startswith("topology.bottleneck_"):  # the page explains these keys of all impairments together
        properties = {name: value for name, value in properties.items() if name not in ("from", "until")}
    # A table of their own lists the impairments of links and access links.
    prefix = {"topology.links": "", "groups": "access_"}.get(key)
    of_impairments = [] if prefix is None else [f"{prefix}{name}" for name in IMPAIRMENTS]
    properties = {name: value for name, value in properties.items() if name not in of_impairments}
    if key.startswith("groups.sources"):
        common = _of_every_source(whole)
        is_common = key == "groups.sources"
        properties = common if is_common else {k: v for k, v in properties.items() if k not in common}
        table = {"required": []} if is_common else table
    names = sorted(properties, key=lambda name: (name not in _FIRST, name not in table["required"]))
    rows = [_key(name, properties[name], name in table["required"]) for name in names]
    return _table(_PARAMETER, rows)


def _of_every_source(whole: Mapping[str, Any]) -> dict[str, Any]:
    """Keys that sources of every kind have, with the same description."""
    first, *others = (kind["properties"] for kind in _step(_step(whole, "groups", ""), "sources", "")["items"]["oneOf"])
    return {name: value for name, value in first.items() if all(other.get(name) == value for other in others)}


_FIRST = {"name", "scheme", "kind", "model", "profile"}


def _step(table: Mapping[str, Any], part: str, key: str) -> dict[str, Any]:
    """Resolves a key to its table or array of tables, or to the alternative for a scheme, kind or model."""
    table = table.get("items", table)
    inner: dict[str, Any] | None = table.get("properties", {}).get(part)
    if inner is not None:
        return inner.get("items", inner) if "properties" in inner.get("items", inner) else inner
    for alternative in table.get("oneOf", table.get("anyOf", [])):
        for name in ("kind", "scheme", "model"):
            which = alternative.get("properties", {}).get(name, {})
            if part == which.get("const") or part in which.get("enum", []):
                return dict(alternative)
    raise MarkError(f"generated:scenario {key}: the scenario has no {part}")


def _key(name: str, value: Mapping[str, Any], required: bool) -> list[str]:
    default = "required" if required else _code(value["default"]) if "default" in value else "none"
    profiles: dict[str, list[str]] = {}
    for profile, own in value.get("x-profiles", {}).items():
        profiles.setdefault(_code(own), []).append(profile)
    default = "; ".join([default, *(f"{', '.join(names)}: {own}" for own, names in profiles.items())])
    symbol, source = (value.get(f"x-{annotation}", "") for annotation in ("symbol", "source"))
    return _row(f"`{name}`", symbol, default, _schema_allowed(value), value.get("description", ""), source)


def _schema_allowed(value: Mapping[str, Any]) -> str:
    if "const" in value:
        return _code(value["const"])
    if (either := value.get("anyOf")) and "type" in either[-1]:
        # A number or a text with a unit is shown as the text.
        return _schema_allowed({**value, **either[-1], "anyOf": []})
    if "type" not in value:
        return _allowed("", value.get("enum"), None, None)
    if "examples" in value:
        bounds = (value.get("x-minimum"), value.get("x-maximum"))
        return _allowed(f"such as {_code(value['examples'][0])}", None, *bounds)
    if value["type"] == "array" and (items := value["items"].get("type")) in {"string", "number"}:
        return "array of text" if items == "string" else "array of numbers"
    kind = {"string": "text", "array": "array of tables", "integer": "count", "object": "table"}.get(
        value["type"], value["type"]
    )
    return _allowed(kind, None, value.get("minimum"), value.get("maximum"))


def _sweep() -> str:
    """Returns a table of the keys of a sweep file."""
    kinds = {
        "axes": "arrays of values by key",
        "list of axes": "array of such tables",
        "settings": "values by key",
        "targets": "numbers by metric",
    }
    rows = []
    for key in KEYS:
        default = f"`{key.default}`" if isinstance(key.default, int) else key.default
        allowed = _allowed(kinds.get(key.kind, key.kind), None, key.least, key.most)
        rows.append([f"`{key.name}`", default, allowed, key.doc])
    return _table(["key", "default", "allowed", "meaning"], rows)


def _league(found: evaluation.Table | str) -> str:
    return found if isinstance(found, str) else _table(*found)


def _metrics() -> str:
    """Returns a table with a row for each metric that is a column of `runs`."""
    rows = [
        [
            f"`{one.name}`",
            one.by or one.scope,
            one.unit,
            one.better,
            _code(one.symbol),
            f"{one.about} {one.doc}",
            one.source,
        ]
        for one in shown("columns")
    ]
    return _table(["metric", "of", "unit", "better", "symbol", "meaning", "source"], rows)


def _summary() -> str:
    return "\n" + fill(report.summary(list(papers().values())), width=WIDTH, break_on_hyphens=False) + "\n"


def _clauses() -> str:
    head = ["RFC", "title", "sections read", *clauses.TITLES.values()]
    return _table(head, clauses.counts(clauses.compare(clauses.ROOT)[0]))


def _all_clauses() -> str:
    head = ["RFC", "clause", "level", "text", "verdict", "code, or reason for none"]
    return _table(head, clauses.rows(clauses.compare(clauses.ROOT)[0]))


_CATALOGUES: Mapping[str, Callable[[], str]] = {
    "schemes": _schemes,
    "congestion-controls": _congestion_controls,
    "papers": _papers,
    "sweep": _sweep,
    "shared": lambda: _parameters(param for param in schemes()[0]["params"] if param["shared"]),
    "lab": _lab,
    "linux keys": _linux_keys,
    "linux schemes": _linux_schemes,
    "adversaries": lambda: _table(adversaries.HEAD, adversaries.rows()),
    "pairs": _pairs,
    "metrics": _metrics,
    "evaluation criteria": lambda: _table(*evaluation.criteria()),
    "evaluation suite": lambda: _table(*evaluation.suite()),
    "evaluation advice": lambda: evaluation.ADVICE,
    "evaluation choice": lambda: _table(*evaluation.choice()),
    "evaluation first": lambda: _table(*evaluation.first()),
    "evaluation league": lambda: evaluation.embedded() + _league(evaluation.league()),
    "evaluation pictures": evaluation.pictures,
    "evaluation entries": evaluation.entries,
    "reproduction": lambda: _table(report.COUNT_HEAD, report.counts(list(papers().values()))),
    "reproduction summary": _summary,
    "clauses": _clauses,
    "clauses all": _all_clauses,
}


def _reproduction(paper: Paper) -> str:
    """Returns a paper's experiments with fewer replications, choices that the paper's numbers decided, and claims."""
    fewer = report.fewer_runs(paper)
    runs = (
        _table(report.RUNS_HEAD, fewer) if fewer else "\nEvery experiment runs as often and as long as in the paper.\n"
    )
    chosen = report.readings(paper)
    readings = _table(report.READINGS_HEAD, chosen) if chosen else ""
    claims = _table(report.CLAIM_HEAD, report.claims(paper))
    rest = _table(report.NOT_TESTABLE_HEAD, [list(row) for row in paper.not_testable]) if paper.not_testable else ""
    return f"\n{paper.title}.\n{runs}{readings}{claims}{rest}"


def _records(whole: Mapping[str, Any]) -> str:
    """Returns all records of a document, each with a heading and a table."""
    result = schema("result")
    # Records of the result document are in the tables of the result document.
    elsewhere = set() if whole["title"] == result["title"] else {result["title"], *result["$defs"]}
    inner = {name: record for name, record in whole["$defs"].items() if name not in elsewhere}
    records = {whole["title"]: whole, **inner}
    return "".join(f"\n### {name}\n\n{record['description']}\n{_record(record)}" for name, record in records.items())


def _record(record: Mapping[str, Any]) -> str:
    rows = [
        [f"`{name}`", _type(value), value.get("x-unit") or unit_of(f"_{name}") or "", value.get("description", "")]
        for name, value in record["properties"].items()
    ]
    return _table(["field", "type", "unit", "meaning"], rows)


def _type(value: Mapping[str, Any]) -> str:
    """Text about the type of a field, with links to records."""
    if "$ref" in value:
        name = value["$ref"].rsplit("/", 1)[-1]
        return f"[{name}](#{name.lower()})"
    if "anyOf" in value:
        return " or ".join(_type(alternative) for alternative in value["anyOf"])
    if "enum" in value:
        return ", ".join(_code(choice) for choice in value["enum"])
    if isinstance(value.get("additionalProperties"), dict) and value["additionalProperties"]:
        return f"object of {_type(value['additionalProperties'])}"
    kinds = value.get("type", "object")
    words = [
        f"array of {_type(value['items'])}" if kind == "array" else {"string": "text"}.get(kind, kind)
        for kind in ([kinds] if isinstance(kinds, str) else kinds)
    ]
    return " or ".join(words)


def _code(value: Any) -> str:
    """A value in TOML notation; texts have no quotes, and an empty text gives nothing."""
    text = value if isinstance(value, str) else json.dumps(value)
    return f"`{text}`" if text else ""


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table between empty lines."""
    lines = [head, ["---"] * len(head), *rows]
    cells = [[re.sub(r"(?<!\\)\|", r"\|", " ".join(cell.split())) for cell in line] for line in lines]
    return "\n" + "".join(f"| {' | '.join(line)} |\n" for line in cells)
