"""Draws cases: command lines from click's declarations, with their files."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

import click

import fairlane
from fairlane.cli.main import commands
from fairlane.cli.simulate import WATCHING, WRITING
from fairlane.judge.library import papers
from fuzzer.case import Arguments, Case
from fuzzer.draw import NUMBERS, Draw, Raw, document, junk, text
from fuzzer.imported import FILES
from fuzzer.scenarios import control_names, damaged, examples, scenario, scheme_names, setting, shorten
from fuzzer.schemas import FromSchema

WEIGHTS = {
    "run": 40,
    "compare": 10,
    "sweep": 16,
    "lab compare": 4,
    "lab run": 2,
    "lab clean": 0,
    "lab diff": 0,
    "kernel build": 0,
    "kernel remove": 0,
    "new": 0,
    "evaluate": 0,
    "search adversary": 0,
    "search designer": 0,
    "play": 0,
    "schemes": 2,
    "congestion-controls": 2,
    "topologies": 1,
    "schema": 2,
    "report": 3,
    "reproduce": 3,
    "store ls": 2,
    "store verify": 2,
    "store gc": 2,
    "store export": 3,
    "p4 commands": 3,
    "import flent": 0,
}
"""Weights with which commands are drawn; a command without an entry has weight 2. Some commands are excluded. `lab
clean` affects the whole machine. `lab diff` and `kernel` need or build a kernel. `new` writes into the checkout.
Evaluations and searches simulate for minutes. `play` opens a browser. `import flent` reads compressed files. Other
tests cover the errors of these commands (test_new.py, test_evaluate.py, test_search.py, test_playground.py,
test_lab_diff.py, test_imports.py).
"""
LEFT_OUT = {
    "--ray": "starts or waits for a cluster",
    "--write-verdicts": "writes into the package",
    "--write-league": "writes into the package",
    "--p4c": "another program",
    "--simple-switch": "another program",
    "--kernel": "of a plane that a machine may not have",
    "--help": "tested by itself",
}
"""Options that are not drawn, with reasons."""
CALM = 0.5
"""Fraction of cases without intended faults."""
EXPECTED = '\n[[expect]]\nmetric = "jain_index"\nmin = 0.5\n'
"""Expectation that is valid in any scenario."""
OWN_PROCESS = 0.02
"""Fraction of cases whose commands are separate processes."""
OUTPUTS = {"--qlog": "out.qlog", "--pcap": "out.pcapng", "--trace": "traced"}
"""Output options that need a file of some kind, or a folder different from that of `--out`."""
NOT_CALM = {
    "--scheme-lib",  # there is none
    "--plane",  # other planes need root
    "--jobs",  # only for other planes
    ("report", "--threads"),  # only with `--run`, which simulates a paper
}
"""Options (some of a single command) that fail or have no effect in a case without intended faults."""
FOLDERS = (
    *("out", "out/deep/er", ".", "s.toml", "s.toml/x", "/proc/fairlane"),
    *("", "x" * 300, "/dev/null", "a\nb", "\udcff"),
)


@cache
def command_names() -> dict[str, click.Command]:
    """All commands by their full names."""

    def walk(group: click.Group, words: str) -> Iterator[tuple[str, click.Command]]:
        context = click.Context(group)
        for name in group.list_commands(context):
            command = group.get_command(context, name)
            assert command
            if isinstance(command, click.Group):
                yield from walk(command, f"{words}{name} ")
            else:
                yield words + name, command

    return dict(walk(commands, ""))


def case(seed: int, number: int) -> Case:
    """Case `number` of a seed."""
    draw = Draw(f"{seed}/{number}")
    draw.calm = draw.chance(CALM)
    if draw.chance(0.03):
        return _process_of_its_own(draw, Case((_words(draw),)))
    names = command_names()
    name = draw.choices(list(names), [WEIGHTS.get(name, 2) for name in names])[0]
    files = _Files(draw)
    steps: tuple[Arguments, ...] = (_line(draw, name, names[name], files),)
    if name.startswith("store ") and draw.chance(0.8):
        files.sweep()  # it stores runs
        steps = (("sweep", "sweep.toml", "--store", "store"), (*steps[0], *(("--store", "store") if draw.calm else ())))
    if name == "run" and draw.chance(0.05):
        steps = (*steps, *steps)  # the second run uses the store
    return _process_of_its_own(draw, Case(steps, files.texts))


def _process_of_its_own(draw: Draw, plain: Case) -> Case:
    """Moves a case to a separate process if necessary or by chance; some get an unusual terminal."""
    steps = tuple(tuple(word.replace("\0", "0") for word in step) for step in plain.steps)  # NUL is not possible
    # A scheme in Python stays registered in its process.
    if not draw.chance(OWN_PROCESS) and not any("-module" in word for step in steps for word in step):
        environment = {"COLUMNS": str(draw.pick((1, 20, 80, 300)))} if draw.chance(0.2) else {}
        return Case(steps, plain.files, environment)
    environment = {}
    for name, values in {
        "COLUMNS": ("1", "20", "0", "x"),
        "PYTHONIOENCODING": ("ascii", "latin-1"),
        "LC_ALL": ("C", "POSIX"),
        "FAIRLANE_STORE": ("", "store", "s.toml", "/proc/x"),
        "NO_COLOR": ("1",),
        "TERM": ("dumb", ""),
    }.items():
        if draw.chance(0.15):
            environment[name] = draw.pick(values)
    streams = {name: draw.pick(("closed", "full")) for name in ("stdout", "stderr") if draw.chance(0.1)}
    return Case(steps, plain.files, environment, own_process=True, streams=streams)


class _Files:
    """The files of a case, drawn on demand."""

    def __init__(self, draw: Draw) -> None:
        self._draw = draw
        self.texts: dict[str, str] = {}

    def scenario(self) -> str:
        self.texts["s.toml"] = scenario(self._draw)
        return "s.toml"

    def sweep(self) -> str:
        self.texts["s.toml"] = scenario(self._draw, faults=self._draw.chance(0.2))
        self.texts["sweep.toml"] = _sweep(self._draw)
        return "sweep.toml"

    def node(self) -> str:
        names = ("switch.toml", "switch-csfq.toml") if self._draw.calm else tuple(examples("node"))
        written = examples("node")[self._draw.pick(names)]
        is_damaged = not self._draw.calm and self._draw.chance(0.7)
        self.texts["node.toml"] = damaged(self._draw, written) if is_damaged else written
        return "node.toml"

    def comparison(self) -> str:
        drawn = FromSchema(self._draw, wild=0.01, optional=0.9).value(fairlane.schema("comparison"))
        written = json.dumps(_plain(drawn))
        is_damaged = not self._draw.calm and self._draw.chance(0.3)
        self.texts["result.json"] = damaged(self._draw, written) if is_damaged else written
        return "result.json"

    def of_others(self, command: str) -> str:
        written = self._draw.pick(FILES[command])
        self.texts["data"] = written if self._draw.calm else damaged(self._draw, written)
        return "data"

    def module(self) -> str:
        good = "import fairlane\n@fairlane.register_scheme('mine')\nclass Mine:\n    def __init__(self, port): pass\n"
        bad = ("", "raise ValueError('[/x]')\n", "def (\n", good, f"{good}    def admit(self, *_): 1/0\n")
        right = good + "    def admit(self, *_): return True\n"
        self.texts["m.py"] = right if self._draw.calm else self._draw.pick(bad)
        return "m.py"

    def control_module(self) -> str:
        head = "import fairlane\n@fairlane.register_congestion_control('mine')\nclass Mine:\n"
        good = f"{head}    def __init__(self, connection): pass\n    def on_ack(self, ack): pass\n"
        self.texts["c.py"] = good if self._draw.calm else self._draw.pick((good, head, "", "1/0\n"))
        return "c.py"


def _plain(value: Any) -> Any:
    """The value without parts that JSON cannot represent."""
    match value:
        case Raw(text=written):
            return written
        case dict():
            return {name: _plain(inner) for name, inner in value.items()}
        case list():
            return [_plain(inner) for inner in value]
    return value


def _sweep(draw: Draw) -> str:
    if draw.calm:
        run = {"warmup": "1 ms", "measure": draw.pick(("1 ms", "20 ms"))}
        grid = {"queue.scheme": [draw.pick(scheme_names())], "run.seed": [1, draw.pick((2, 2**63 + 1))]}
        return document({"scenario": "s.toml", "set": {"run": run}, "grid": grid, "name": f"n{draw.few(9)}"})
    if draw.chance(0.15):
        return damaged(draw, examples("sweeps")["every-key.toml"])
    table = tomllib.loads(examples("sweeps")["every-key.toml"])
    if draw.chance(0.3):
        drawn = FromSchema(draw, wild=0.03, optional=0.4).value(fairlane.schema("sweep"))
        table = drawn if isinstance(drawn, dict) else {"set": drawn}
    else:
        table.pop(draw.pick(("zip", "grid", "stop", "set")), None)
    table["scenario"] = "s.toml" if draw.chance(0.95) else junk(draw)
    for axes in ("set", "grid"):
        if draw.chance(0.5) and isinstance(table.get(axes), dict):
            key, _, value = setting(draw).partition("=")
            table[axes][key] = Raw(value or "1") if axes == "set" else Raw(f"[{value or 1}, {value or 2}]")
    if draw.chance(0.9):
        short: dict[str, Any] = {}
        shorten(draw, short)
        if isinstance(table.setdefault("set", {}), dict):
            table["set"]["run"] = {name: short["run"][name] for name in ("warmup", "measure")}
        if isinstance(table.get("stop"), dict):
            table["stop"] |= {"min_replications": 2, "max_replications": 4}
        else:
            table["replications"] = draw.pick((1, 2))
    for name in list(table):
        if draw.chance(0.03):
            table[name] = junk(draw)
    return document(table)


def _words(draw: Draw) -> Arguments:
    """Random words instead of a valid command."""
    words = [word for name in command_names() for word in name.split()]
    kind = draw.random()
    if kind < 0.3:
        return (*draw.pick(list(command_names())).split(), draw.pick(("--help", "-h")))
    if kind < 0.4:
        return (draw.pick(("--version", "--help", "lab", "store", "p4")),)
    drawn = [draw.pick(words) if draw.chance(0.5) else text(draw) for _ in range(draw.few(4))]
    safe = [word for word in drawn if word not in ("clean", "report")]  # these work without arguments
    return tuple(safe)


def _line(draw: Draw, name: str, command: click.Command, files: _Files) -> Arguments:
    words: list[str] = []
    for parameter in command.params:
        if isinstance(parameter, click.Argument):
            words += _argument(draw, name, parameter, files)
        elif isinstance(parameter, click.Option) and not set(parameter.opts) & LEFT_OUT.keys():
            words += _option(draw, name, parameter, files)
    if draw.calm:
        words += _needed(draw, words, command)
    if name == "reproduce":
        words += draw.pick((("--quick", "--check"), ("--set", "queue.limit=x"), ("--set", setting(draw) + "?")))
    if not draw.calm and draw.chance(0.03):
        words.insert(draw.randrange(len(words) + 1), draw.pick(("--fast", "--", "-x", "--set", text(draw))))
    return (*name.split(), *words)


def _needed(draw: Draw, words: Sequence[str], command: click.Command) -> list[str]:
    """Options that the given options require to have an effect."""
    flags = {option.name: option.opts[-1] for option in command.params}
    found: list[str] = []
    for name, others in {**WATCHING, **WRITING}.items():
        needed = [flags[other] for other in others if other in flags]
        if needed and flags.get(name) in words and not set(needed) & {*words, *found}:
            other = draw.pick(needed)
            found += [other, OUTPUTS.get(other, "out")]
    return found


def _argument(draw: Draw, name: str, parameter: click.Argument, files: _Files) -> list[str]:
    match parameter.name:
        case "file" if name == "init":
            return ["new.toml"] if draw.calm else draw.pick(([], ["new.toml"], [files.scenario()], [text(draw)]))
        case "file" if name == "sweep":
            word = files.sweep()
        case "file" if name in FILES:
            word = files.of_others(name)
        case "file":
            word = files.scenario()
        case "files":
            word = files.scenario()
            files.texts[word] += EXPECTED if draw.calm else draw.pick((EXPECTED, ""))
        case "config":
            word = files.node()
        case "names":
            return [_experiment(draw, name) for _ in range(1 if draw.calm else max(name != "report", draw.few(3)))]
        case "name":
            names = control_names() if name == "congestion-controls" else scheme_names()
            return draw.pick(([], [draw.pick(names)], *([] if draw.calm else [[text(draw)]])))
        case "keys":
            return [draw.pick(("0", "a", "ff", text(draw))) for _ in range(draw.few(2))]
        case _ if isinstance(parameter.type, click.Choice):
            word = _choice(draw, parameter)
        case _:
            word = text(draw)
    return [word if draw.calm or draw.chance(0.97) else draw.pick((*FOLDERS, text(draw)))]


def _option(draw: Draw, name: str, option: click.Option, files: _Files) -> list[str]:
    flag = option.opts[0]
    if name.startswith("lab ") and flag == "--plane":
        return [flag, "simulator"] if draw.chance(0.9) else [flag, text(draw)]  # others need root and real time
    if name == "lab run" and flag == "--set":
        return [flag, "run.measure=1 ms", flag, "run.warmup=0 s", *([flag, setting(draw)] if draw.chance(0.7) else [])]
    likely = {
        "--scheme-module": 0.02,
        "--scheme-lib": 0.01,
        "--congestion-control-module": 0.02,
        "--out": 0.12,
        "--pcap": 0.05,
        "--trace": 0.05,
        "--set": 0.4,
        "--queues": 1.0,
        "--compare": 0.5,
    }
    if not option.required and not draw.chance(likely.get(flag, 0.15)):
        return []
    if draw.calm and (flag in NOT_CALM or (name, flag) in NOT_CALM):
        return []
    if option.is_flag:
        return [flag]
    words = [flag, _value(draw, name, option, files)]
    return words * 2 if option.multiple and not draw.calm and draw.chance(0.1) else words


def _value(draw: Draw, name: str, option: click.Option, files: _Files) -> str:
    if not draw.calm and draw.chance(0.05):
        return text(draw)
    match option.opts[0]:
        case "--set":
            return setting(draw)
        case "--senders" if draw.calm:
            return draw.pick(control_names())
        case "--qlog-flows" if draw.calm:
            return "0"
        case "--qlog" | "--pcap" | "--trace" as flag if draw.calm:
            return OUTPUTS[flag]
        case "--queues":
            drawn = [_likely(draw, scheme_names(), 0.97) for _ in range(1 + draw.few(4))]
            return ",".join(dict.fromkeys(drawn)) if draw.chance(0.98) else "all"
        case "--scheme-module":
            return files.module()
        case "--scheme-lib":
            return "none.so"
        case "--congestion-control-module":
            return files.control_module()
        case "--compare":
            return files.comparison()
        case "--replications":
            return str(draw.pick((1, 2, 2, 3) if draw.calm else (1, 2, 3, 0, -1, 10**23, "x", "\u00b2")))
        case "--threads" | "--jobs":
            return str(draw.pick((1, 2, 3) if draw.calm else (1, 2, 3, 64, 0, 100_000, 10**23, "9" * 5000)))
        case "--store":
            return "store" if draw.calm else draw.pick(("store", *FOLDERS))
        case "--station":
            return draw.pick(("02:00:00:00:00:01=eth0",) if draw.calm else ("02:00:00:00:00:01", "x=y", text(draw)))
        case "--trace-interval":
            return draw.pick(("0 s", "1 ms") if draw.calm else ("0 s", "1 ms", "10 ms", "1 ps", "x"))
        case "--link":
            return "bottleneck" if draw.calm else draw.pick(("bottleneck", "link1", text(draw)))
        case "--pcap-replication" if draw.calm:
            return "0"
        case "--rate" | "--rtt" | "--load" | "--tolerance" | "--unit" as flag if name.startswith("import "):
            likely = {"--rate": "20 Mbit/s", "--rtt": "4 ms", "--unit": "2 B"}.get(flag, "30 %")
            return likely if draw.calm else draw.pick((likely, "0 s", "-1 %", "1e999 B", "9e17 Mbit/s", text(draw)))
        case "--scheme":
            return _likely(draw, scheme_names(), 0.9)
        case "--pcap-snaplen" | "--seed" | "--simulate" if draw.calm:
            return str(draw.pick((0, 1, 64)))
    if isinstance(option.type, click.Choice):
        return _choice(draw, option)
    if isinstance(option.type, click.Path):
        return "out" if draw.calm else draw.pick(("out", *FOLDERS))
    if isinstance(option.type, click.types.IntParamType):
        number = draw.pick(NUMBERS)
        return number.text if isinstance(number, Raw) else str(number)
    return text(draw)


def _choice(draw: Draw, parameter: click.Parameter) -> str:
    assert isinstance(parameter.type, click.Choice)
    return _likely(draw, list(parameter.type.choices), 0.9)


def _likely(draw: Draw, choices: Sequence[str], probability: float) -> str:
    """One of the choices, or any text."""
    return draw.pick(choices) if draw.calm or draw.chance(probability) else text(draw)


def _experiment(draw: Draw, name: str) -> str:
    ids = [experiment for paper in papers().values() for experiment in (paper.key, *paper.experiments)]
    if draw.calm and name == "lab run":
        ids = list(papers()["p4abc"].experiments)
    drawn = draw.pick(ids)
    if not draw.calm and draw.chance(0.3):
        start = draw.randrange(len(drawn))
        drawn = drawn[:start] + draw.pick(("", "x", ".", "..", "[", text(draw))) + drawn[start + 1 :]
    return drawn
