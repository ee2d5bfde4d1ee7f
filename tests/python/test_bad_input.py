"""Invalid input gives an error line that names the input, exit code 2, and no file."""

from pathlib import Path

import pytest

from conftest import Cli

RUN = ["run", "short.toml"]


VALUES = {
    "no replications": ("run.replications", "0", ["run.replications", "0", "1"]),
    "half a replication": ("run.replications", "2.5", ["run.replications", "2.5"]),
    "a word for a number": ("run.replications", '"ten"', ["run.replications", "ten"]),
    "negative seed": ("run.seed", "-1", ["run.seed", "-1"]),
    "seed not a number": ("run.seed", "nan", ["run.seed", "nan"]),
    "negative time": ("run.warmup", '"-1 s"', ["run.warmup", "-1 s"]),
    "time without unit": ("run.warmup", "100", ["run.warmup", "100"]),
    "nothing to measure": ("run.measure", '"0 s"', ["run.measure", "0 s"]),
    "unknown unit": ("run.measure", '"5 parsecs"', ["run.measure", "5 parsecs"]),
    "a date": ("run.measure", "1979-05-27", ["run.measure", "1979-05-27"]),
    "measurement too short": ("run.measure", '"0.1 ms"', ["run.measure", "0.1 ms", "1 ms"]),
    "start after the end": ("groups[0].start_until", '"3 s"', ["groups[0].start_until", "3 s", "2 s"]),
    "empty name": ("groups[0].name", '""', ["groups[0].name"]),
    "marker of another scheme": ("marker.scheme", '"none"', ["marker.scheme", "none", "abc"]),
    "misspelt key": ("run.mesure", '"1 s"', ["run.mesure", "measure"]),
    "misspelt table": ("tcpp.min_rto", '"1 s"', ["tcpp", "tcp"]),
    "unknown topology": ("topology.kind", '"ring"', ["topology.kind", "ring", "one_sided_dumbbell"]),
    "no rate": ("topology.bottleneck_rate", '"0 bit/s"', ["topology.bottleneck_rate", "0 bit/s"]),
    "half a bit": (
        "topology.bottleneck_rate",
        '"1234.5 bit/s"',
        ["topology.bottleneck_rate", "1234.5 bit/s", "whole number of bit/s", "1 kbit/s"],
    ),
    "below ps": ("topology.bottleneck_delay", '"0.1 ps"', ["bottleneck_delay", "whole number of ps"]),
    "half a byte": ("queue.limit", '"1500.5 B"', ["queue.limit", "whole number of B"]),
    "half a packet": ("queue.limit", '"2.5 packets"', ["queue.limit", "whole number of packets"]),
    "size for rate": ("topology.bottleneck_rate", '"10 MB"', ["topology.bottleneck_rate", "10 MB"]),
    "too long": ("topology.bottleneck_delay", '"2 h"', ["topology.bottleneck_delay", "2 h", "1 h"]),
    "schedule out of order": (
        "topology.bottleneck_schedule",
        '[{ at = "2 s", rate = "1 Mbit/s" }, { at = "1 s", rate = "2 Mbit/s" }]',
        ["topology.bottleneck_schedule", "1 s"],
    ),
    "unknown scheme": ("queue.scheme", '"red2"', ["queue.scheme", "red2", "abc"]),
    "misspelt scheme": ("queue.scheme", '"FQ-CoDel"', ["queue.scheme", "; did you mean fq_codel?"]),
    "half a name": ("tcp.congestion_control", '"bbr"', ["congestion_control", "; did you mean bbr1, bbr3?"]),
    "a protocol": ("groups[0].sources[0].kind", '"udp"', ["kind", "; did you mean poisson, cbr, on_off?"]),
    "no buffer": ("queue.limit", '"0 packets"', ["queue.limit", "0 packets"]),
    "limit without unit": ("queue.limit", "24", ["queue.limit", "24"]),
    "unknown scheduler": ("queue.scheduler", '"wfq"', ["queue.scheduler", "wfq", "fifo"]),
    "infinite offset": ("queue.be_offset", "inf", ["queue.be_offset", "inf"]),
    "threshold above its base": ("queue.q_min", '"30 packets"', ["q_min", "30 packets"]),
    "no memory": ("queue.averager_memory", '"0 s"', ["queue.averager_memory", "0 s"]),
    "unknown marker": ("marker.scheme", '"csfq"', ["marker.scheme", "csfq"]),
    "factor zero": ("marker.accounting_ef", "0", ["marker.accounting_ef", "0"]),
    "unknown profile": ("tcp.profile", '"bbr"', ["tcp.profile", "bbr", "ns3.26"]),
    "no acknowledgements": ("tcp.delayed_ack", "0", ["tcp.delayed_ack", "0"]),
    "word for a truth value": ("tcp.limited_transmit", '"yes"', ["tcp.limited_transmit", "yes"]),
    "a span that ends before it begins": (
        "tcp",
        '{ profile = "linux", app_rate = "1 Mbit/s", app_limited_from = "2 s", app_limited_until = "1 s" }',
        ["tcp.app_limited_until", "1 s", "after app_limited_from, 2 s"],
    ),
    "bins of no width": ("probes.series_interval", '"0 s"', ["probes.series_interval", "0 s"]),
    "no groups": ("groups", "[]", ["groups"]),
    "no users": ("groups[0].users", "0", ["groups[0].users", "0"]),
    "name taken": ("groups[1].name", '"heavy"', ["groups[1].name", "heavy"]),
    "unknown class": ("groups[0].traffic_class", '"AF"', ["groups[0].traffic_class", "AF", "EF"]),
    "start before time": ("groups[0].start_until", '"-1 s"', ["groups[0].start_until", "-1 s"]),
    "group that is silent": ("groups[0].sources", "[]", ["groups[0].sources"]),
    "unknown source": ("groups[0].sources[0].kind", '"quic"', ["groups[0].sources[0].kind", "quic"]),
    "negative flows": ("groups[0].sources[0].flows", "-3", ["groups[0].sources[0].flows", "-3"]),
    "rate for tcp": ("groups[0].sources[0].rate", '"1 Mbit/s"', ["groups[0].sources[0].rate"]),
    "rate zero": ("groups[1].sources[0].rate", '"0 bit/s"', ["groups[1].sources[0].rate"]),
    "loss of 150 %": (
        "topology.bottleneck_loss.probability",
        '"150 %"',
        ["bottleneck_loss.probability", "150 %", "100 %"],
    ),
    "unknown model of loss": ("groups[0].access_loss.model", '"markov"', ["access_loss.model", "markov", "random"]),
    "negative jitter": ("topology.bottleneck_jitter.deviation", '"-1 ms"', ["bottleneck_jitter.deviation", "-1 ms"]),
    "stop before the start": (
        "groups[0].sources[0].stop",
        '"0.4 s"',
        ["groups[0].sources[0].stop", "400 ms", "500 ms"],
    ),
    "RTT below the route's": ("groups[0].rtt", '"9 ms"', ["groups[0].rtt", "9 ms", "10 ms"]),
    "RTT and delay": (
        "groups[0]",
        '{start_until = "0 s", rtt = "90 ms", access_delay = "1 ms"}',
        ["groups[0].rtt", "access_delay"],
    ),
    "spread RTTs below the route's": (
        "groups[0]",
        '{start_until = "0 s", rtt = "20 ms", rtt_spread = 0.6}',
        ["groups[0].rtt_spread", "0.6", "20 ms", "0.5"],
    ),
    "a spread of nothing": ("groups[0].rtt_spread", "0.1", ["groups[0].rtt_spread", "0.1", "rtt"]),
    "RTTs of other users": (
        "groups[0].user_rtts",
        '["20 ms", "30 ms"]',
        ["groups[0].user_rtts", "2 values", "each of 1 user"],
    ),
    "superscript for a number": ("groups[²].users", "1", ["groups[²].users"]),
    "4000 digits": ("groups[0].users", 4000 * "9", ["groups[0].users", "out of range"]),
    "value of 5000 letters": ("queue.limit", f'"{5000 * "9"} packets"', ["queue.limit", "99…99"]),
    "arrays in arrays": ("queue.limit", f"{17 * '['}1{17 * ']'}", ["queue.limit", "nested"]),
    "key of 5000 letters": (5000 * "a", "1", ["aa…aa"]),
}


@pytest.mark.parametrize(("key", "value", "mentions"), VALUES.values(), ids=VALUES)
def test_a_wrong_value_is_named(cli: Cli, key: str, value: str, mentions: list[str]) -> None:
    cli.refuses([*RUN, "--out", "out", "--set", f"{key}={value}"], ["short.toml", *mentions])


CONTENTS = {
    "not TOML": (b"name = = 1\n", ["line 1"]),
    "key twice": (b"[run]\nseed = 1\nseed = 2\n", ["line 3"]),
    "not text": (b"\xff\xfe", ["UTF-8"]),
    "empty": (b"", ["queue"]),
    "value for a table": (b"run = 3\n", ["run", "3"]),
    "5000 digits": (b"name = 'x'\nseed = " + 5000 * b"9", ["line 2", "digits"]),
    "5000 arrays": (b"x = 1\ny = " + 5000 * b"[" + 5000 * b"]", ["line 2", "nested"]),
    "5000 tables": (b".".join(5000 * [b"run"]) + b" = 1", ["run.run", "nested"]),
}


@pytest.mark.parametrize(("content", "mentions"), CONTENTS.values(), ids=CONTENTS)
def test_an_unusable_file_is_named(cli: Cli, workdir: Path, content: bytes, mentions: list[str]) -> None:
    (workdir / "broken.toml").write_bytes(content)
    cli.refuses(["run", "broken.toml"], ["broken.toml", *mentions])


COMMANDS = {
    "missing file": (["run", "missing.toml"], ["missing.toml"]),
    "folder for a file": (["run", "."], [".", "directory"]),
    "no file": (["run"], ["SCENARIO.toml"]),
    "unknown command": (["walk", "short.toml"], ["walk"]),
    "unknown option": ([*RUN, "--fast"], ["--fast"]),
    "no replications": ([*RUN, "--replications", "0"], ["--replications", "0", "1"]),
    "no threads": ([*RUN, "--threads", "0"], ["--threads", "0", "1"]),
    "seed is a word": ([*RUN, "--seed", "x"], ["--seed", "x"]),
    "negative seed": ([*RUN, "--seed", "-5"], ["run.seed", "-5"]),
    "no value": ([*RUN, "--set", "tcp.delayed_ack"], ["--set", "tcp.delayed_ack", "KEY=VALUE"]),
    "unknown key": ([*RUN, "--set", "tcp.foo=1"], ["tcp.foo"]),
    "no such group": ([*RUN, "--set", "groups[7].users=1"], ["groups[7].users"]),
    "key below a value": ([*RUN, "--set", "run.seed.x=1"], ["run.seed"]),
    "output not writable": ([*RUN, "--out", "/proc/fairlane"], ["--out", "/proc/fairlane"]),
    "compare what": (["compare", "short.toml"], ["--queues"]),
    "queue": (["compare", "short.toml", "--queues", "droptail,foo"], ["foo", "droptail", "abc"]),
    "queue twice": (["compare", "short.toml", "--queues", "abc,abc"], ["abc,abc"]),
    "no queue": (["compare", "short.toml", "--queues", ""], ["queues"]),
    "unknown paper": (["reproduce", "abc2019"], ["abc2019", "abc2018"]),
    "unknown figure": (["reproduce", "abc2018.zzz"], ["abc2018.zzz", "fig4a"]),
    "misspelt figure": (["reproduce", "abc2018.fig4aa"], ["abc2018.fig4aa", "did you mean fig4a"]),
    "misspelt queue": (["compare", "short.toml", "--queues", "codle"], ["codle: no such scheme; did you mean codel"]),
    "no runs": (["reproduce", "abc2018.fig4a", "--replications", "0"], ["--replications", "0"]),
    "setting": (["reproduce", "abc2018.fig4a", "--set", "tcp.foo=1"], ["--set", "tcp.foo"]),
    "bad setting": (["reproduce", "abc2018.fig4a", "--set", "queue.limit=x"], ["queue.limit", "x"]),
    "store": (["reproduce", "abc2018.fig4a", "--store", "short.toml"], ["--store", "short.toml"]),
    "output": (["reproduce", "abc2018.fig4a", "--out", "short.toml"], ["--out", "short.toml"]),
    "unknown scheme": (["schemes", "foo"], ["foo", "abc"]),
    "misspelt scheme": (["schemes", "codle"], ["codle: no such scheme; did you mean codel"]),
    "misspelt congestion control": (
        ["congestion-controls", "bbr9"],
        ["bbr9: no such congestion control; did you mean bbr1, bbr3?"],
    ),
    "a million subscribers of each access point": (
        [*RUN, "--set", "topology.kind=access", "--set", "topology.subscribers=1000000"],
        ["topology.subscribers: 1000000 is out of range, it must be from 1 to 31250 with 4 sites of 8 access points"],
    ),
    "5000 digits": ([*RUN, "--set", f"run.seed={5000 * '9'}"], ["--set", "run.seed", "digits"]),
    "5000 arrays": ([*RUN, "--set", f"run.seed={5000 * '['}"], ["--set", "run.seed", "nested"]),
    "second line": ([*RUN, "--set", "run.seed=1\nname='x'"], ["--set", "run.seed", "several keys"]),
    "too many threads": ([*RUN, "--threads", "100000"], ["--threads", "100000", "1024"]),
    "far too many threads": ([*RUN, "--threads", 23 * "9"], ["--threads", 23 * "9", "1024"]),
    "number of 5000 digits": ([*RUN, "--threads", 5000 * "9"], ["--threads", "99…99"]),
    "drops of no capture": ([*RUN, "--pcap-drops"], ["--pcap-drops", "--pcap"]),
    "length of no capture": ([*RUN, "--pcap-snaplen", "0"], ["--pcap-snaplen", "--pcap"]),
    "interval of no trace": ([*RUN, "--trace-interval", "10 ms"], ["--trace-interval", "--trace"]),
    "watch what": ([*RUN, "--pcap-replication", "0"], ["--pcap-replication", "--pcap or --trace or --qlog"]),
    "link of nothing": ([*RUN, "--link", "bottleneck"], ["--link", "--pcap or --trace"]),
    "reproduce what": (["reproduce", "--quick"], ["--quick", "name"]),
    "threads for nothing": (["report", "--threads", "2"], ["--threads", "--run"]),
    "jobs": (["lab", "run", "p4abc.fig5", "--plane", "simulator", "--jobs", "2"], ["--jobs", "simulator"]),
    "old plane": (["lab", "run", "p4abc.fig5", "--plane", "ebpf"], ['"ebpf" is now "kernel"']),
    "old plane in a list": (
        ["lab", "run", "p4abc.fig5", "--planes", "p4,ebpf"],
        ["--planes", '"ebpf" is now "kernel"'],
    ),
    "compiler for nothing": (["lab", "run", "p4abc.fig5", "--p4c", "x"], ["--p4c", "--plane p4"]),
    "unknown schema": (["schema", "foo"], ["foo", "scenario"]),
}


@pytest.mark.parametrize(("arguments", "mentions"), COMMANDS.values(), ids=COMMANDS)
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
    # With a stack of one exbibyte, Linux refuses the thread, as it does above RLIMIT_NPROC.
    monkeypatch.setenv("RUST_MIN_STACK", str(2**60))
    verb, *others = options
    cli.refuses([verb, "short.toml", *others], ["the system starts no thread for a run: "])
