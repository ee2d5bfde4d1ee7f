"""Tests output on terminals: help, shell completions, the manual page, `init`, and tables within 80 columns."""

import os
import pty
import re
import shutil
import subprocess
from pathlib import Path

import click
import pytest

import fairlane
from conftest import FAIRLANE, Cli, daily, execute, files
from fairlane import Scenario
from fairlane.cli.main import commands
from fairlane.cli.terminal import Terminal, lines, texts
from fairlane.skeletons.scenario_file import profiles, scenario_file


def every_command(group: click.Group, before: tuple[str, ...] = ()) -> dict[tuple[str, ...], click.Command]:
    found: dict[tuple[str, ...], click.Command] = {}
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command
        words = (*before, name)
        found |= every_command(command, words) if isinstance(command, click.Group) else {words: command}
    return found


COMMANDS = every_command(commands)
NEEDY = [words for words, command in COMMANDS.items() if any(parameter.required for parameter in command.params)]


def on_terminal(cli: Cli, *arguments: str, typed: str = "", columns: int = 80) -> str:
    """Output of a command on a terminal with `columns` columns and the given input."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "COLUMNS": str(columns), "LINES": "40", "TERM": "xterm", "NO_COLOR": "1"}
    process = subprocess.Popen(
        [FAIRLANE, *arguments], cwd=cli.folder, stdin=theirs, stdout=theirs, stderr=theirs, env=environment
    )
    os.close(theirs)
    os.write(ours, typed.encode())
    shown = b""
    try:
        while part := os.read(ours, 65536):
            shown += part
    except OSError:  # Linux reports a closed terminal in this way
        pass
    os.close(ours)
    assert process.wait(60) == 0, shown.decode()
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode()).replace("\r\n", "\n")


@pytest.mark.parametrize("words", daily(NEEDY, *NEEDY[::5]), ids=" ".join)
def test_a_bare_command_shows_its_help_on_a_terminal_and_is_refused_in_a_script(
    words: tuple[str, ...], cli: Cli
) -> None:
    assert "Usage: fairlane" in (shown := on_terminal(cli, *words))
    assert shown == on_terminal(cli, *words, "--help")
    assert "Missing" in cli.error(*words)


@pytest.mark.parametrize("group", [(), *sorted({words[:1] for words in COMMANDS if len(words) > 1})], ids=" ".join)
def test_no_summary_is_cut_at_eighty_columns(group: tuple[str, ...], cli: Cli) -> None:
    shown = on_terminal(cli, *group, "--help")
    listed = shown.partition("Commands:")[2]
    assert listed
    assert "..." not in listed


def test_bare_evaluate_shows_its_help_on_a_terminal_and_is_refused_in_a_script(cli: Cli) -> None:
    assert on_terminal(cli, "evaluate") == on_terminal(cli, "evaluate", "--help")
    assert "schemes: none given" in cli.error("evaluate")


def test_an_option_alone_is_no_bare_command(cli: Cli) -> None:
    assert "Missing argument" in cli.error("run", "--json")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completions_are_what_the_shell_can_read(shell: str, cli: Cli) -> None:
    text = cli.output("completions", shell)
    assert "_FAIRLANE_COMPLETE" in text
    if found := shutil.which(shell):
        assert execute(found, "-n", "-c", text).returncode == 0


@pytest.mark.parametrize(
    ("line", "completed"),
    [
        ("fairlane comp", {"compare", "completions"}),
        ("fairlane schemes fq_", {"fq_codel", "fq_pie"}),
        ("fairlane congestion-controls bbr", {"bbr1", "bbr3"}),
        ("fairlane compare s.toml --queues droptail,fq_", {"droptail,fq_codel", "droptail,fq_pie"}),
        ("fairlane compare --qu", {"--queues"}),
    ],
)
def test_commands_options_and_names_are_completed(line: str, completed: set[str], cli: Cli) -> None:
    words = line.split()
    asked = {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1), "_FAIRLANE_COMPLETE": "bash_complete"}
    done = cli(env={**os.environ, **asked})
    assert {answer.removeprefix("plain,") for answer in done.stdout.splitlines()} == completed


def test_the_manual_page_has_every_command_and_option(cli: Cli) -> None:
    page = cli.output("man")
    assert page.startswith(f'.TH FAIRLANE 1 "" "fairlane {fairlane.__version__}"\n.SH NAME\n')
    plain = page.replace("\\-", "-")
    for words, command in COMMANDS.items():
        (section,) = re.findall(rf"^\.SS fairlane {' '.join(words)}$(.*?)(?=^\.S[SH] |\Z)", plain, re.M | re.S)
        for parameter in command.params:
            if isinstance(parameter, click.Option) and not parameter.hidden:
                assert parameter.opts[-1] in section, words
    if groff := shutil.which("groff"):
        checked = subprocess.run(
            [groff, "-man", "-Tutf8", "-ww"], input=page, text=True, capture_output=True, check=True
        )
        assert checked.stderr == ""
        assert "fairlane compare" in checked.stdout


def test_figures_are_written_as_pdf_if_asked_for(cli: Cli, workdir: Path) -> None:
    arguments = ["compare", "short.toml", "--queues", "abc,droptail", "--replications", "1"]
    cli.output(*arguments, "--out", "out", "--pdf")
    assert {"queue.pdf", "queue.png", "queue.svg", "throughput.pdf"} <= set(files(workdir / "out"))
    assert cli.error(*arguments, "--pdf") == "--pdf: has no effect without --out"


def test_init_writes_a_scenario_that_runs(cli: Cli, workdir: Path) -> None:
    printed = cli.output("init", "mine.toml", "--buffer", "50 ms", "--profile", "ns3", "--rtt", "40 ms")
    assert printed.splitlines()[0] == "written: mine.toml"
    scenario = Scenario.from_toml(workdir / "mine.toml").to_dict()
    # 50 ms at 10 Mbit/s are 62500 bytes; an RTT of 40 ms is a one-way delay of 19.9 ms at the bottleneck plus 0.1 ms at
    # the access link.
    assert scenario["queue"] == {"scheme": "abc", "limit": "62500 B"}
    assert scenario["topology"]["bottleneck_delay"] == "19900 us"
    assert scenario["tcp"] == {"profile": "ns3"}
    short = ["--set", "run.warmup=15 s", "--set", "run.measure=0.1 s"]
    assert "mine: 1 replication of " in cli.output("run", "mine.toml", *short, "--replications", "1")


@pytest.mark.parametrize("every", [6, pytest.param(1, marks=pytest.mark.long)])
def test_keys_in_its_comments_have_their_defaults(every: int) -> None:
    for scheme in fairlane.schemes()[::every]:
        text = scenario_file("x", "x.toml", scheme=scheme["name"])
        uncommented = re.sub(r"^# (\w+ = )", r"\1", text, flags=re.MULTILINE)
        assert uncommented.count(" = ") >= text.count(" = ") - 1
        given, without = (Scenario.from_dict(fairlane.base.toml.parse(one)).canonical() for one in (uncommented, text))
        assert given == without, scheme["name"]


def test_init_writes_a_file_of_any_name(cli: Cli, workdir: Path) -> None:
    name = 'two\nlines " \x1b[31m.toml'
    cli.output("init", name)
    assert Scenario.from_toml(workdir / name).name == name.removesuffix(".toml")


def test_init_never_overwrites(cli: Cli, workdir: Path) -> None:
    (workdir / "scenario.toml").write_text("mine")
    assert cli.error("init") == "scenario.toml: exists already and is not overwritten"
    assert (workdir / "scenario.toml").read_text() == "mine"


@pytest.mark.parametrize(
    ("options", "mentions"),
    [
        (["--profile", "linus"], ["tcp.profile", "linus", "linux"]),
        (["--buffer", "3 apples"], ["queue.limit", "3 apples"]),
        (["--rtt", "0 s"], ["rtt", "0 s", "from 0.2 ms up"]),
        (["--scheme", "abd"], ["abd: no such scheme"]),
        (["--rate", "10", "--buffer", "5 ms"], ["rate", "10 Mbit/s"]),
    ],
)
def test_init_refuses_what_no_scenario_takes(cli: Cli, options: list[str], mentions: list[str]) -> None:
    cli.refuses(["init", *options], mentions)


def test_init_asks_on_a_terminal(cli: Cli, workdir: Path) -> None:
    shown = on_terminal(cli, "init", typed="quic\n100 packets\n")
    assert all(profile in shown for profile in profiles()[0])
    written = Scenario.from_toml(workdir / "scenario.toml").to_dict()
    assert (written["tcp"]["profile"], written["queue"]["limit"]) == ("quic", "100 packets")
    before = files(workdir)
    assert "TCP profile" not in on_terminal(cli, "init", "b.toml", "--profile", "ns3", "--buffer", "30 packets")
    assert set(files(workdir)) - set(before) == {"b.toml"}


@pytest.mark.parametrize("width", range(40, 81))
def test_no_line_of_a_text_ends_between_a_number_and_its_interval(width: int) -> None:
    out = Terminal()
    out.width = width
    table = texts("claim", "measured")
    said = "worst at Db_ms = 5: 15.08 ± 0.11 at f0 = 1 to 16.569 ± 0.088 at f0 = 20"
    table.add_row("rises", lines(said, "12% ± 3"))
    with out.capture() as captured:
        out.print(said)
        out.print(table)
    shown = captured.get()
    assert all(shown.count(number) == 2 for number in ("15.08 ± 0.11", "16.569 ± 0.088")), shown
    assert "12% ± 3" in shown
    assert "\ue000" not in shown


def test_tables_of_eighty_columns_have_every_number_whole(cli: Cli) -> None:
    arguments = ["compare", "short.toml", "--queues", "droptail,abc,red,pie", "--set", "run.measure=0.5 s", "--all"]
    wide, narrow = on_terminal(cli, *arguments, columns=300), on_terminal(cli, *arguments)
    assert all(len(line) <= 80 for line in narrow.splitlines())
    assert all(len(line) <= 80 for line in cli.output(*arguments).splitlines() if "droptail" in line)
    numbers = re.compile(r"\d+\.\d+ ± \d+\.\d+")
    assert sorted(numbers.findall(narrow)) == sorted(numbers.findall(wide)) != []
    assert "…" not in narrow
    # Columns that do not fit follow below, after the names of their rows.
    assert len(re.findall(r"^ *droptail ", narrow, re.MULTILINE)) > len(re.findall(r"^ *droptail ", wide, re.MULTILINE))
