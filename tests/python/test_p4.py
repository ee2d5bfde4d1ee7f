"""Tests `fairlane p4 commands`, and the plane `p4` of the lab."""

from pathlib import Path

import pytest

from conftest import EXAMPLES, Cli, execute, single_flow_goodput
from fairlane.base.errors import UserError
from fairlane.lab import node, switch
from fairlane.lab.experiments import _check_machine

GOLDEN = EXAMPLES.parent / "crates" / "node" / "tests" / "golden"


def missing_program() -> str:
    try:
        done = execute(node.program(), "p4-commands", "--help")
    except UserError as error:
        return str(error)
    return "" if done.returncode == 0 else "fairlane-node is older than p4-commands"


def missing_switch() -> str:
    try:
        _check_machine()
        switch.check()
    except UserError as error:
        return str(error)
    return missing_program()


needs_program = pytest.mark.skipif(bool(missing_program()), reason=missing_program() or "-")
needs_switch = pytest.mark.skipif(bool(missing_switch()), reason=missing_switch() or "-")


@needs_program
@pytest.mark.parametrize("name", ["switch", "switch-csfq"])
@pytest.mark.parametrize(("form", "suffix"), [("cli", "p4cli"), ("p4runtime", "p4runtime.json")])
def test_commands_are_those_of_the_program(cli: Cli, name: str, form: str, suffix: str) -> None:
    stations = ["--station", "02:00:00:00:00:01=eth0", "--station", "02:00:00:00:00:fe=eth1"]
    config = EXAMPLES / "node" / f"{name}.toml"
    done = cli("p4", "commands", config, "--format", form, *stations)
    assert done.stdout == (GOLDEN / f"{name}.{suffix}").read_text()
    assert (done.returncode, done.stderr) == (0, "")


@needs_program
def test_a_program_with_more_meters_is_told_by_an_option(cli: Cli) -> None:
    commands = cli.output("p4", "commands", EXAMPLES / "node" / "switch.toml", "--users", "65536")
    line = next(line for line in commands.splitlines() if "set_user_of_address" in line)
    # The prefix whose addresses have separate meters gets a sixteenth of the 65 536 meters.
    assert line.endswith(" 2 2 4096")


@needs_program
def test_mistakes_are_one_line(cli: Cli, workdir: Path) -> None:
    queue = 'scheme = "abc"\nq_min = "18 kB"\nq_base = "30 kB"\ngamma = "1 kB"\n'
    (workdir / "node.toml").write_text(f'[[ports]]\ninterface = "eth0"\n[ports.queue]\n{queue}')
    in_bytes = 'node.toml: line 5: ports[0].queue.q_min: "18000 B" is in bytes, a P4 switch has packets'
    assert cli.error("p4", "commands", "node.toml").startswith(in_bytes)
    assert "none.toml" in cli.error("p4", "commands", "none.toml")


@pytest.mark.parametrize(
    ("variable", "name"), [("FAIRLANE_P4C", "p4c-bm2-ss"), ("FAIRLANE_SIMPLE_SWITCH", "simple_switch")]
)
def test_a_tool_that_is_not_there_is_told_with_where_to_get_it(
    variable: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for known in ("FAIRLANE_P4C", "FAIRLANE_SIMPLE_SWITCH", "FAIRLANE_SIMPLE_SWITCH_CLI"):
        monkeypatch.delenv(known, raising=False)
    tool = switch.p4c if name == "p4c-bm2-ss" else switch.simple_switch
    with pytest.raises(UserError, match=f"--plane p4: {name}: not in the path; .*{variable}.*p4lang"):
        tool()
    monkeypatch.setenv(variable, str(tmp_path / "nothing"))
    with pytest.raises(UserError, match="nothing cannot be run"):
        tool()


def test_the_version_is_on_stdout_or_on_stderr_behind_the_name(tmp_path: Path) -> None:
    switch_like, compiler_like = tmp_path / "simple_switch", tmp_path / "p4c-bm2-ss"
    switch_like.write_text("#!/bin/sh\necho 1.15.5\n")
    compiler_like.write_text('#!/bin/sh\nprintf "$0\\nVersion 1.2.4.7\\n" >&2\n')
    for tool in (switch_like, compiler_like):
        tool.chmod(0o755)
    assert switch.version(str(switch_like)) == "1.15.5"
    assert switch.version(str(compiler_like)) == "Version 1.2.4.7"


def test_a_program_that_is_not_there_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRLANE_P4_PROGRAM", str(tmp_path / "no.p4"))
    with pytest.raises(UserError, match=r"no\.p4 is not there"):
        switch.program()


@needs_switch
@pytest.mark.live
def test_a_run_on_the_switch_gives_goodput_and_says_what_ran(cli: Cli) -> None:
    goodput = single_flow_goodput(cli, "p4")
    # One TCP flow over 4170 packets/s: more than nothing, and at most the payload's share.
    assert 10 < goodput < 4170 * 1448 * 8 / 1e6 + 1
