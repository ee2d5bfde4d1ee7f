"""Tests runs and sweeps on the plane `linux` with a script instead of a kernel."""

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from threading import Event
from typing import Any

import polars as pl
import pytest

import fairlane
from conftest import ROOT, Cli
from fairlane.base.errors import UserError
from fairlane.cli.main import commands
from fairlane.lab.comparison import compare
from fairlane.linux import guest, plan, runs
from linux_fake import Fake, nothing_runs, scenario


@pytest.mark.parametrize(
    ("mode", "message"),
    [
        ("panic", "the guest's kernel: Kernel panic - not syncing: out of memory"),
        ("hang", "the guest: no end within 0.5 s, last line: booting"),
        ("error", "the guest: tc qdisc add dev l0 root codel: no such thing"),
        ("nothing", "the guest: ended without a result, and said nothing"),
    ],
)
def test_a_guest_without_a_result_is_reported_in_a_line(fake: Fake, mode: str, message: str) -> None:
    made = plan.made(scenario().canonical(), 0)
    limit = 0.5 if mode == "hang" else 30.0
    with pytest.raises(guest.GuestError) as error:
        guest.run(fake.does(mode), made, Event(), limit=limit)
    assert str(error.value) == message
    assert nothing_runs(fake)


def test_a_kernel_that_cannot_be_started_is_reported(fake: Fake) -> None:
    fake.linux.chmod(0o644)
    with pytest.raises(guest.GuestError, match="linux: Permission denied"):
        guest.run(fake, plan.made(scenario().canonical(), 0), Event())


def test_runs_are_kept_and_resumed(fake: Fake, tmp_path: Path) -> None:
    store = tmp_path / "store"
    found = fairlane.run(scenario(), plane="linux", store=store)
    assert len(found.runs) == 2
    assert found.runs[0]["lab"]["plane"] == "linux"
    assert not store.exists()
    first = compare(scenario(), ["droptail"], planes=["linux"], store=store)
    fake.does("panic")
    again = compare(scenario(), ["droptail"], planes=["linux"], store=store)
    assert [run for one in again for run in one.result.runs] == [run for one in first for run in one.result.runs]
    with pytest.raises(guest.GuestError):
        compare(scenario(), ["pie"], planes=["linux"], store=store)
    fake.identity = "another"
    with pytest.raises(guest.GuestError):
        compare(scenario(), ["droptail"], planes=["linux"], store=store)


@pytest.mark.usefixtures("fake")
def test_a_scheme_may_have_parameters_of_its_own(tmp_path: Path) -> None:
    queues = ["fq_codel:short_queue=port", "red:profile=linux"]
    found = compare(scenario(), queues, planes=["linux"], store=tmp_path)
    assert [one.queue for one in found] == queues
    assert set(found[0].result.users_frame()["queue"]) == {queues[0]}
    frame = found.summary_frame()
    assert frame.columns[:2] == ["plane", "queue"]
    assert set(frame.select("plane", "queue").rows()) == {("linux", queue) for queue in queues}
    goodput = frame.filter(queue=queues[1], metric="goodput_bps")["mean"]
    assert list(goodput) == [found[1].metrics()[f"goodput_bps.{group}"].mean for group in "a"]
    with pytest.raises(UserError, match=r'queue\.short_queue: "own", Linux has "port"'):
        compare(scenario(), ["fq_codel"], planes=["linux"], store=tmp_path)


def test_ctrl_c_ends_all_guests_and_keeps_what_has_finished(fake: Fake, tmp_path: Path) -> None:
    store, code = tmp_path / "store", tmp_path / "code.py"
    code.write_text(
        textwrap.dedent(f"""\
        import sys
        from pathlib import Path
        from types import SimpleNamespace
        sys.path.insert(0, {str(ROOT / "tests" / "python")!r})
        from fairlane.linux import runs
        linux = Path({str(fake.linux)!r})
        runs.find = lambda _: SimpleNamespace(linux=linux, init=linux, release="fake", identity="fake")
        from fairlane.cli.main import main
        main()
        """)
    )
    toml = tmp_path / "small.toml"
    toml.write_text(scenario().to_toml())
    command = [sys.executable, str(code), "lab", "compare", str(toml), "--queues", "droptail", "--plane", "linux"]
    fake.does("hang")
    with subprocess.Popen([*command, "--store", str(store)], stderr=subprocess.PIPE, text=True) as process:
        until = time.monotonic() + 60
        while nothing_runs(fake) and time.monotonic() < until:
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=60)
    assert "interrupted: 0 of 2 runs" in said
    assert nothing_runs(fake)


def test_nothing_of_a_run_is_left(fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "tmp"
    own.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(own))
    fairlane.run(scenario(), plane="linux")
    fake.does("error")
    with pytest.raises(guest.GuestError):
        fairlane.run(scenario(), plane="linux")
    assert not list(own.iterdir())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"plane": "forwarder"}, 'plane: "forwarder" runs in real time; use `fairlane lab compare --plane forwarder`'),
        ({"plane": "lunix"}, 'plane: "lunix" is not one of linux, simulator'),
        ({"plane": "linux", "qlog": "t.qlog"}, "qlog: has no effect on the plane linux"),
        ({"plane": "linux", "trace": "t", "link": "bottleneck"}, "link: has no effect on the plane linux without pcap"),
        ({"plane": "linux", "pcap": "t", "link": "l0"}, "--link: l0 is not a link"),
        (
            {"plane": "linux", "trace": "t", "trace_interval": "0 s"},
            "trace_interval: 0 s, the plane linux takes samples",
        ),
        ({"kernel": "6.12"}, "kernel: has no effect without plane linux"),
    ],
)
@pytest.mark.usefixtures("fake")
def test_arguments_that_have_no_effect_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        fairlane.run(scenario(), **arguments)


@pytest.mark.usefixtures("fake")
def test_a_comparison_may_be_of_a_kernel() -> None:
    found = fairlane.compare(scenario(), ["droptail", "mine=codel:target=7 ms"], plane="linux", kernel="6.12")
    assert list(found) == ["droptail", "mine"]
    assert set(found.runs_frame()["lab_plane"]) == {"linux"}
    assert found["droptail"].runs_json == fairlane.run(scenario(), plane="linux").runs_json
    with pytest.raises(UserError, match=r"^kernel: has no effect without plane linux"):
        fairlane.compare(scenario(), ["droptail"], kernel="6.12")
    with pytest.raises(UserError, match=r"^plane: .* use `fairlane lab compare --plane p4`"):
        fairlane.compare(scenario(), ["droptail"], plane="p4")


@pytest.mark.parametrize("command", [["run"], ["compare", "--queues", "droptail"]])
def test_the_command_names_the_lab_for_planes_in_real_time(cli: Cli, command: list[str]) -> None:
    assert "use `fairlane lab compare --plane kernel`" in cli.error(*command, "x.toml", "--plane", "kernel")


@pytest.mark.usefixtures("fake")
def test_a_report_leaves_out_what_the_plane_does_not_measure(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(fairlane.run(scenario(), plane="linux").json())
    fairlane.report(tmp_path / "run.json", out=tmp_path / "pages")
    words = re.sub(r"<[^>]+>", " ", (tmp_path / "pages" / "run-small.html").read_text())
    assert not re.search(r"\b(None|nan|null)\b", words)
    assert re.search(r"plane\s+linux, kernel 6.12.0-fake", words)
    assert not (tmp_path / "pages" / "run-small-delay.svg").exists()


@pytest.mark.usefixtures("fake")
def test_printed_heads_and_written_frames_name_the_plane(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("small.toml").write_text(scenario().to_toml())
    for command in (["run"], ["compare", "--queues", "droptail,codel"]):
        commands.main([*command, "small.toml", "--plane", "linux"], standalone_mode=False)
        assert capsys.readouterr().out.startswith("small on linux, kernel 6.12.0-fake: 2 replications of 1 s after 1 s")
    both = ["--queues", "droptail", "--plane", "linux", "--plane", "simulator", "--out", "out"]
    commands.main(["lab", "compare", "small.toml", *both], standalone_mode=False)
    text = capsys.readouterr().out
    assert text.startswith("small: goodput on linux and simulator;")
    assert max(map(len, text.splitlines())) <= 120
    for file in Path("out").glob("*.parquet"):
        assert set(pl.read_parquet(file)["lab_plane"]) == {"linux", "simulator"}


SWEEP = {"grid": {"queue.scheme": ["droptail", "codel"]}, "plane": "linux"}


def test_a_sweep_on_a_kernel_is_kept_and_resumed(fake: Fake, tmp_path: Path) -> None:
    swept = fairlane.sweep(scenario(), **SWEEP, store=tmp_path)
    frame = swept.runs_frame()
    assert frame.height == 4
    assert set(frame["lab_plane"]) == {"linux"}
    assert swept.document()["engine"] == runs.engine(fake)
    fake.does("panic")
    assert fairlane.sweep(scenario(), **SWEEP, store=tmp_path).runs_frame().equals(frame)
    compare(scenario(), ["codel"], planes=["linux"], store=tmp_path)  # the same runs
    simulated = fairlane.sweep(scenario(), grid=SWEEP["grid"], store=tmp_path)
    assert "lab_plane" not in simulated.runs_frame().columns
    with pytest.raises(guest.GuestError):
        fairlane.sweep(scenario(), **SWEEP, store=tmp_path, replications=3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"grid": {"queue.scheme": ["codel", "abc"]}}, r'^queue\.scheme: "abc", the plane linux has '),
        (
            {"stop": {"relative_half_width": {"one_way_delay_p99_s.a": 0.1}}},
            r"^stop\.relative_half_width\.one_way_delay_p99_s\.a: the plane linux does not measure it",
        ),
        ({"ray": "auto"}, "^ray: has no effect on the plane linux"),
        ({"plane": "simulator", "kernel": "6.12"}, "^kernel: has no effect without plane linux"),
        ({"plane": "p4"}, '^plane: "p4" runs in real time'),
    ],
)
@pytest.mark.usefixtures("fake")
def test_a_sweep_that_a_kernel_cannot_have_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        fairlane.sweep(scenario(), **{**SWEEP, **arguments})


def test_a_preview_of_a_sweep_counts_runs_of_the_kernel(
    fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "small.toml").write_text(scenario().to_toml())
    (tmp_path / "sweep.toml").write_text('scenario = "small.toml"\n[grid]\n"queue.scheme" = ["droptail", "codel"]\n')
    monkeypatch.chdir(tmp_path)
    command = ["sweep", "sweep.toml", "--plane", "linux", "--store", "store", "--json"]
    for missing, words in ((4, ["--dry-run"]), (None, ["--out", "out"]), (0, ["--dry-run"])):
        commands.main([*command, *words], standalone_mode=False)
        found = json.loads(capsys.readouterr().out)
        assert found["engine"] == runs.engine(fake)
        assert found.get("missing") == missing
