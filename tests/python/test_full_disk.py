"""A full disk or file size limit gives one line that names option and file, and leaves no partly written file."""

import os
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from conftest import Cli, files

SWEEP = """
scenario = "short.toml"
replications = 30
"""


def thorough(*case: object) -> ParameterSet:
    """A case for `make test-long`."""
    return pytest.param(*case, marks=pytest.mark.long)


def limited(kibibytes: int) -> list[str]:
    """Prefix that limits the size of a command's files; it acts like a full disk and needs no privileges."""
    return ["bash", "-c", f'ulimit -f {kibibytes}; exec "$@"', "bash"]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["run", "short.toml", "--out", "out"], "--out: cannot write to out/"),
        thorough(["compare", "short.toml", "--queues", "abc,red", "--out", "out"], "--out: cannot write to out/"),
        (["run", "short.toml", "--pcap", "x.pcapng"], "--pcap: cannot write to x.pcapng: "),
        (["run", "short.toml", "--qlog", "x.qlog"], "--qlog: cannot write to x.qlog: "),
        (["run", "short.toml", "--trace", "trace", "--trace-interval", "0 s"], "--trace: cannot write to trace: "),
        thorough(["reproduce", "noms2016.formula", "--out", "out"], "--out: cannot write to out/"),
        (["report", "noms2016.formula", "--out", "out"], "--out: cannot write to out/"),
        (["sweep", "sweep.toml", "--store", "other", "--out", "out"], "--store: cannot write to other/"),
        (["store", "export", "--store", "kept", "--out", "out"], "--out: cannot write to out/"),
        thorough(
            ["store", "export", "--store", "kept", "--out", "out", "--format", "csv"], "--out: cannot write to out/"
        ),
    ],
)
def test_a_file_that_cannot_grow_is_one_line(cli: Cli, workdir: Path, arguments: list[str], named: str) -> None:
    (workdir / "sweep.toml").write_text(SWEEP)
    if "export" in arguments:
        cli.output("sweep", "sweep.toml", "--store", "kept", "--out", "first")
    before = files(workdir)
    done = cli(*arguments, before=limited(0 if "noms2016.formula" in arguments else 8))
    errors = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert (done.returncode, len(errors)) == (2, 1), done.stderr
    assert errors[0].startswith(f"error: {named}")
    assert errors[0].endswith(": File too large")
    assert "Traceback" not in done.stderr
    after = files(workdir)
    assert [file for file in after if not file.startswith("other/")] == before


def test_a_sweep_on_a_full_disk_keeps_what_it_has_and_goes_on_later(cli: Cli, workdir: Path) -> None:
    (workdir / "sweep.toml").write_text(SWEEP)
    command = ["sweep", "sweep.toml", "--store", "kept", "--out", "out"]
    assert cli(*command, before=limited(32)).returncode == 2
    assert "30 runs" in cli.output(*command)
    assert cli.output("store", "verify", "--store", "kept") == "1 point with 30 runs: 0 damaged, 0 differ\n"


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_an_output_file_that_cannot_grow_is_one_line(cli: Cli, workdir: Path, unbuffered: str) -> None:
    environment = os.environ | {"PYTHONUNBUFFERED": unbuffered}
    with (workdir / "output").open("w") as output:
        done = cli("schema", "result", before=limited(1), stdout=output, env=environment)
    assert (done.returncode, done.stderr) == (2, "error: standard output: File too large\n")
