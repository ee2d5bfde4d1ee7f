"""Whatever a user gets wrong: one line that names it, exit code 2, nothing written."""

from pathlib import Path

import pytest

from conftest import Cli

RUN = ["run", "short.toml"]


@pytest.mark.parametrize(
    ("key", "value", "mentions"),
    [
        pytest.param("run.replications", "0", ["run.replications", "0", "1"], id="no replications"),
        pytest.param("run.replications", "2.5", ["run.replications", "2.5"], id="half a replication"),
        pytest.param("run.replications", '"ten"', ["run.replications", "ten"], id="a word for a number"),
        pytest.param("run.seed", "-1", ["run.seed", "-1"], id="negative seed"),
        pytest.param("run.seed", "nan", ["run.seed", "nan"], id="seed not a number"),
        pytest.param("run.warmup", '"-1 s"', ["run.warmup", "-1 s"], id="negative time"),
        pytest.param("run.warmup", "100", ["run.warmup", "100"], id="time without unit"),
        pytest.param("run.measure", '"0 s"', ["run.measure", "0 s"], id="nothing to measure"),
        pytest.param("run.measure", '"5 parsecs"', ["run.measure", "5 parsecs"], id="unknown unit"),
        pytest.param("run.measure", "1979-05-27", ["run.measure", "1979-05-27"], id="a date"),
        pytest.param("run.measure", '"0.1 ms"', ["run.measure", "0.1 ms", "1 ms"], id="measurement too short"),
        pytest.param(
            "groups[0].start_until", '"3 s"', ["groups[0].start_until", "3 s", "2 s"], id="start after the end"
        ),
        pytest.param("groups[0].name", '""', ["groups[0].name"], id="empty name"),
        pytest.param("marker.scheme", '"none"', ["marker.scheme", "none", "abc"], id="marker of another scheme"),
        pytest.param("run.mesure", '"1 s"', ["run.mesure", "measure"], id="misspelt key"),
        pytest.param("tcpp.min_rto", '"1 s"', ["tcpp", "tcp"], id="misspelt table"),
        pytest.param("topology.kind", '"ring"', ["topology.kind", "ring", "one_sided_dumbbell"], id="unknown topology"),
        pytest.param("topology.bottleneck_rate", '"0 bit/s"', ["topology.bottleneck_rate", "0 bit/s"], id="no rate"),
        pytest.param(
            "topology.bottleneck_rate",
            '"1234.5 bit/s"',
            ["topology.bottleneck_rate", "1234.5 bit/s", "whole number of bit/s", "1 kbit/s"],
            id="half a bit",
        ),
        pytest.param(
            "topology.bottleneck_delay", '"0.1 ps"', ["bottleneck_delay", "whole number of ps"], id="below ps"
        ),
        pytest.param("queue.limit", '"1500.5 B"', ["queue.limit", "whole number of B"], id="half a byte"),
        pytest.param("queue.limit", '"2.5 packets"', ["queue.limit", "whole number of packets"], id="half a packet"),
        pytest.param("topology.bottleneck_rate", '"10 MB"', ["topology.bottleneck_rate", "10 MB"], id="size for rate"),
        pytest.param("topology.bottleneck_delay", '"2 h"', ["topology.bottleneck_delay", "2 h", "1 h"], id="too long"),
        pytest.param(
            "topology.bottleneck_schedule",
            '[{ at = "2 s", rate = "1 Mbit/s" }, { at = "1 s", rate = "2 Mbit/s" }]',
            ["topology.bottleneck_schedule", "1 s"],
            id="schedule out of order",
        ),
        pytest.param("queue.scheme", '"red2"', ["queue.scheme", "red2", "abc"], id="unknown scheme"),
        pytest.param("queue.limit", '"0 packets"', ["queue.limit", "0 packets"], id="no buffer"),
        pytest.param("queue.limit", "24", ["queue.limit", "24"], id="limit without unit"),
        pytest.param("queue.scheduler", '"wfq"', ["queue.scheduler", "wfq", "fifo"], id="unknown scheduler"),
        pytest.param("queue.be_offset", "inf", ["queue.be_offset", "inf"], id="infinite offset"),
        pytest.param("queue.q_min", '"30 packets"', ["q_min", "30 packets"], id="threshold above its base"),
        pytest.param("queue.averager_memory", '"0 s"', ["queue.averager_memory", "0 s"], id="no memory"),
        pytest.param("marker.scheme", '"csfq"', ["marker.scheme", "csfq"], id="unknown marker"),
        pytest.param("marker.accounting_ef", "0", ["marker.accounting_ef", "0"], id="factor zero"),
        pytest.param("tcp.profile", '"bbr"', ["tcp.profile", "bbr", "ns3.26"], id="unknown profile"),
        pytest.param("tcp.delayed_ack", "0", ["tcp.delayed_ack", "0"], id="no acknowledgements"),
        pytest.param("tcp.limited_transmit", '"yes"', ["tcp.limited_transmit", "yes"], id="word for a truth value"),
        pytest.param("probes.series_interval", '"0 s"', ["probes.series_interval", "0 s"], id="bins of no width"),
        pytest.param("groups", "[]", ["groups"], id="no groups"),
        pytest.param("groups[0].users", "0", ["groups[0].users", "0"], id="no users"),
        pytest.param("groups[1].name", '"heavy"', ["groups[1].name", "heavy"], id="name taken"),
        pytest.param("groups[0].traffic_class", '"AF"', ["groups[0].traffic_class", "AF", "EF"], id="unknown class"),
        pytest.param("groups[0].start_until", '"-1 s"', ["groups[0].start_until", "-1 s"], id="start before time"),
        pytest.param("groups[0].sources", "[]", ["groups[0].sources"], id="group that is silent"),
        pytest.param("groups[0].sources[0].kind", '"quic"', ["groups[0].sources[0].kind", "quic"], id="unknown source"),
        pytest.param("groups[0].sources[0].flows", "-3", ["groups[0].sources[0].flows", "-3"], id="negative flows"),
        pytest.param("groups[0].sources[0].rate", '"1 Mbit/s"', ["groups[0].sources[0].rate"], id="rate for tcp"),
        pytest.param("groups[1].sources[0].rate", '"0 bit/s"', ["groups[1].sources[0].rate"], id="rate zero"),
        pytest.param("groups[²].users", "1", ["groups[²].users"], id="superscript for a number"),
        pytest.param("groups[0].users", 4000 * "9", ["groups[0].users", "out of range"], id="4000 digits"),
        pytest.param("queue.limit", f'"{5000 * "9"} packets"', ["queue.limit", "99…99"], id="value of 5000 letters"),
        pytest.param("queue.limit", f"{17 * '['}1{17 * ']'}", ["queue.limit", "nested"], id="arrays in arrays"),
        pytest.param(5000 * "a", "1", ["aa…aa"], id="key of 5000 letters"),
    ],
)
def test_a_wrong_value_is_named(cli: Cli, key: str, value: str, mentions: list[str]) -> None:
    cli.refuses([*RUN, "--out", "out", "--set", f"{key}={value}"], ["short.toml", *mentions])


@pytest.mark.parametrize(
    ("content", "mentions"),
    [
        pytest.param(b"name = = 1\n", ["line 1"], id="not TOML"),
        pytest.param(b"[run]\nseed = 1\nseed = 2\n", ["line 3"], id="key twice"),
        pytest.param(b"\xff\xfe", ["UTF-8"], id="not text"),
        pytest.param(b"", ["queue"], id="empty"),
        pytest.param(b"run = 3\n", ["run", "3"], id="value for a table"),
        pytest.param(b"name = 'x'\nseed = " + 5000 * b"9", ["line 2", "digits"], id="5000 digits"),
        pytest.param(b"x = 1\ny = " + 5000 * b"[" + 5000 * b"]", ["line 2", "nested"], id="5000 arrays"),
        pytest.param(b".".join(5000 * [b"run"]) + b" = 1", ["run.run", "nested"], id="5000 tables"),
    ],
)
def test_an_unusable_file_is_named(cli: Cli, workdir: Path, content: bytes, mentions: list[str]) -> None:
    (workdir / "broken.toml").write_bytes(content)
    cli.refuses(["run", "broken.toml"], ["broken.toml", *mentions])


@pytest.mark.parametrize(
    ("arguments", "mentions"),
    [
        pytest.param(["run", "missing.toml"], ["missing.toml"], id="missing file"),
        pytest.param(["run", "."], [".", "directory"], id="folder for a file"),
        pytest.param(["run"], ["SCENARIO.toml"], id="no file"),
        pytest.param(["walk", "short.toml"], ["walk"], id="unknown command"),
        pytest.param([*RUN, "--fast"], ["--fast"], id="unknown option"),
        pytest.param([*RUN, "--replications", "0"], ["--replications", "0", "1"], id="no replications"),
        pytest.param([*RUN, "--threads", "0"], ["--threads", "0", "1"], id="no threads"),
        pytest.param([*RUN, "--seed", "x"], ["--seed", "x"], id="seed is a word"),
        pytest.param([*RUN, "--seed", "-5"], ["run.seed", "-5"], id="negative seed"),
        pytest.param([*RUN, "--set", "tcp.delayed_ack"], ["--set", "tcp.delayed_ack", "KEY=VALUE"], id="no value"),
        pytest.param([*RUN, "--set", "tcp.foo=1"], ["tcp.foo"], id="unknown key"),
        pytest.param([*RUN, "--set", "groups[7].users=1"], ["groups[7].users"], id="no such group"),
        pytest.param([*RUN, "--set", "run.seed.x=1"], ["run.seed"], id="key below a value"),
        pytest.param([*RUN, "--out", "short.toml"], ["--out", "short.toml"], id="output is a file"),
        pytest.param([*RUN, "--out", "short.toml/x"], ["--out", "short.toml"], id="output below a file"),
        pytest.param([*RUN, "--out", "/proc/fairlane"], ["--out", "/proc/fairlane"], id="output not writable"),
        pytest.param(["compare", "short.toml"], ["--queues"], id="compare what"),
        pytest.param(["compare", "short.toml", "--queues", "droptail,foo"], ["foo", "droptail", "abc"], id="queue"),
        pytest.param(["compare", "short.toml", "--queues", "abc,abc"], ["abc,abc"], id="queue twice"),
        pytest.param(["compare", "short.toml", "--queues", ""], ["queues"], id="no queue"),
        pytest.param(["reproduce", "abc2019"], ["abc2019", "abc2018"], id="unknown paper"),
        pytest.param(["reproduce", "abc2018.fig99"], ["abc2018.fig99", "fig4a"], id="unknown figure"),
        pytest.param(["reproduce", "abc2018.fig4a", "--replications", "0"], ["--replications", "0"], id="no runs"),
        pytest.param(["reproduce", "abc2018.fig4a", "--set", "tcp.foo=1"], ["--set", "tcp.foo"], id="setting"),
        pytest.param(["reproduce", "abc2018.fig4a", "--set", "queue.limit=x"], ["queue.limit", "x"], id="bad setting"),
        pytest.param(["reproduce", "abc2018.fig4a", "--store", "short.toml"], ["--store", "short.toml"], id="store"),
        pytest.param(["reproduce", "abc2018.fig4a", "--out", "short.toml"], ["--out", "short.toml"], id="output"),
        pytest.param(["schemes", "foo"], ["foo", "abc"], id="unknown scheme"),
        pytest.param([*RUN, "--set", f"run.seed={5000 * '9'}"], ["--set", "run.seed", "digits"], id="5000 digits"),
        pytest.param([*RUN, "--set", f"run.seed={5000 * '['}"], ["--set", "run.seed", "nested"], id="5000 arrays"),
        pytest.param([*RUN, "--set", "run.seed=1\nname='x'"], ["--set", "run.seed", "other keys"], id="second line"),
        pytest.param([*RUN, "--threads", "100000"], ["--threads", "100000", "1024"], id="too many threads"),
        pytest.param([*RUN, "--threads", 23 * "9"], ["--threads", 23 * "9", "1024"], id="far too many threads"),
        pytest.param([*RUN, "--threads", 5000 * "9"], ["--threads", "99…99"], id="number of 5000 digits"),
        pytest.param([*RUN, "--pcap-drops"], ["--pcap-drops", "--pcap"], id="drops of no capture"),
        pytest.param([*RUN, "--pcap-snaplen", "0"], ["--pcap-snaplen", "--pcap"], id="length of no capture"),
        pytest.param([*RUN, "--trace-interval", "10 ms"], ["--trace-interval", "--trace"], id="interval of no trace"),
        pytest.param([*RUN, "--pcap-replication", "0"], ["--pcap-replication", "--pcap or --trace"], id="watch what"),
        pytest.param([*RUN, "--link", "bottleneck"], ["--link", "--pcap or --trace"], id="link of nothing"),
        pytest.param(["reproduce", "--quick"], ["--quick", "name"], id="reproduce what"),
        pytest.param(["report", "--threads", "2"], ["--threads", "--run"], id="threads for nothing"),
        pytest.param(
            ["lab", "run", "p4abc.fig5", "--plane", "simulator", "--jobs", "2"], ["--jobs", "simulator"], id="jobs"
        ),
        pytest.param(["lab", "run", "p4abc.fig5", "--plane", "ebpf"], ['"ebpf" is now "kernel"'], id="old plane"),
        pytest.param(["lab", "run", "p4abc.fig5", "--p4c", "x"], ["--p4c", "--plane p4"], id="compiler for nothing"),
        pytest.param(["schema", "foo"], ["foo", "scenario"], id="unknown schema"),
    ],
)
def test_a_wrong_command_is_named(cli: Cli, arguments: list[str], mentions: list[str]) -> None:
    cli.refuses(arguments, mentions)


def test_a_sweep_names_a_path_that_no_file_can_have(cli: Cli, workdir: Path) -> None:
    (workdir / "sweep.toml").write_text('scenario = "a\\u0000b"\n')
    cli.refuses(["sweep", "sweep.toml"], ["sweep.toml", r"a\x00b"])


def test_a_preview_refuses_options_of_the_work(cli: Cli, workdir: Path) -> None:
    (workdir / "sweep.toml").write_text('scenario = "short.toml"\n')
    for option in (["--threads", "2"], ["--out", "x"], ["--ray", "local"]):
        cli.refuses(["sweep", "sweep.toml", "--dry-run", *option], [option[0], "--dry-run"])


@pytest.mark.parametrize("options", [["run"], ["compare", "--queues", "droptail,abc"]])
def test_a_system_that_starts_no_thread_is_named(cli: Cli, monkeypatch: pytest.MonkeyPatch, options: list[str]) -> None:
    # A stack of an exbibyte: Linux refuses the thread, as it does beyond RLIMIT_NPROC.
    monkeypatch.setenv("RUST_MIN_STACK", str(2**60))
    verb, *others = options
    cli.refuses([verb, "short.toml", *others], ["the system starts no thread for a run: "])
