"""Tests those parts of the comparison in benches/ns3 that work without ns-3."""

import json
import math

import pytest

from benches.ns3 import ns3, scenarios, sender_grid
from fairlane._fairlane import canonical
from fairlane.judge.ns3 import joint_half_width

TABLE = ns3.HERE / "scenarios.toml"
RACK = {"loss_detection": "rack"}


def scenario(**changes):
    base = {"queue": {"scheme": "abc"}, "groups": [{"name": "g", "sources": [{"kind": "tcp"}]}]}
    return json.loads(canonical(json.dumps(base | changes)))


def test_default_scenario_becomes_the_arguments_of_abc2018():
    arguments = ns3.arguments(json.loads(scenarios.default_case("abc").canonical))
    expected = {
        "--policy=abc", "--limit=24p", "--rate=10000000bps", "--delay=5000000ns", "--accessLimit=50p",
        "--qMin=12.0", "--qBase=20.0", "--gamma=16.0", "--averagerMemory=0.3", "--meterMemory=3.0",
        "--warmup=100.0", "--measure=100.0", "--sack=0", "--recovery=Classic", "--tcp=NewReno", "--mss=1446",
        "--initialWindow=1", "--delayedAck=2", "--minRto=1000000000ns", "--socketBuffer=2097152",
        "--groups=users=1,reference=10000.0,ef=0,from=0.0,until=15.0,control=NewReno,delayedAck=2,flows=10;"
        "users=10,reference=10000.0,ef=0,from=0.0,until=15.0,control=NewReno,delayedAck=2,flows=1",
    }  # fmt: skip
    assert expected <= set(arguments)


@pytest.mark.parametrize(
    ("changes", "key"),
    [
        ({"queue": {"scheme": "red", "forced_restarts": False, "scheduler": "strict"}}, "queue.scheduler"),
        ({"queue": {"scheme": "red", "forced_restarts": True}}, "queue.forced_restarts"),
        ({"queue": {"scheme": "cobalt", "keep_last": True, "spared_packets": 0}}, "queue.keep_last"),
        ({"queue": {"scheme": "fq_pie", "overflow": "arriving"}}, "queue.overflow"),
        ({"tcp": {"dupack_threshold": 4}}, "tcp.dupack_threshold"),
        ({"groups": [{"name": "g", "sources": [{"kind": "cbr", "rate": "1 Mbit/s"}]}]}, "groups"),
        ({"tcp": {"profile": "ns3", "congestion_control": "cubic", "hystart": "classic"} | RACK}, "tcp.hystart"),
        ({"tcp": {"profile": "ns3", "congestion_control": "bbr1"} | RACK}, "tcp.tso: ns-3 has it at 0 B only"),
        ({"tcp": {"profile": "ns3", "congestion_control": "copa"} | RACK}, "tcp.congestion_control: copa"),
    ],
)
def test_what_ns3_is_not_told_is_refused_by_key(changes, key):
    with pytest.raises(ns3.UntranslatableError, match=key):
        ns3.arguments(scenario(**changes))


def test_a_scheme_becomes_a_queue_disc_with_its_parameters():
    arguments = ns3.arguments(scenario(queue={"scheme": "red", "max_p": 0.1, "forced_restarts": False}))
    assert "--policy=disc" in arguments
    (disc,) = (argument for argument in arguments if argument.startswith("--disc="))
    assert disc.startswith("--disc=ns3::RedQueueDisc[MinTh=5|MaxTh=15|LInterm=10|")
    assert disc.endswith("|LinkBandwidth=10000000bps]")


def test_an_absent_threshold_of_blue_is_one_that_no_delay_reaches():
    queue = {"scheme": "cobalt", "ecn": False, "spared_packets": 0, "keep_last": False}
    (disc,) = (argument for argument in ns3.arguments(scenario(queue=queue)) if argument.startswith("--disc="))
    assert disc.endswith("|BlueThreshold=1000000s]")


def test_every_scenario_of_the_table_is_translated_or_named_as_missing():
    cases = scenarios.cases(TABLE)
    assert len(cases) >= 40
    for case in cases:
        assert case.missing or ns3.arguments(json.loads(case.canonical))


def test_thresholds_of_abc_keep_their_share_of_the_limit():
    case = next(case for case in scenarios.cases(TABLE) if case.name.startswith("abc") and "100 packets" in case.name)
    queue = json.loads(case.canonical)["queue"]
    assert [queue[key] for key in ("q_min", "q_base", "gamma")] == ["50 packets", "83.3333 packets", "66.6667 packets"]


def test_interval_of_a_difference_is_welchs():
    # The variances are 1 and 4, with 4 runs each, so the standard error is sqrt(1/4 + 4/4) = sqrt(5/4). The degrees of
    # freedom are (5/4)^2 / ((1/4)^2/3 + 1/3) = 4.41, rounded down to 4; t(0.975, 4) = 2.776.
    a = [-math.sqrt(1.5), 0.0, 0.0, math.sqrt(1.5)]
    b = [2 * value for value in a]
    assert joint_half_width(a, b) == pytest.approx(2.776 * math.sqrt(5 / 4), rel=1e-3)
    assert joint_half_width([1.0, 1.0], [2.0, 2.0]) == 0.0


def test_classes_become_an_offset_and_a_surcharge():
    queue = {"scheme": "abc", "scheduler": "medf", "be_offset": 2.0}
    groups = [{"name": "g", "traffic_class": "EF", "sources": [{"kind": "tcp"}]}]
    arguments = ns3.arguments(scenario(queue=queue, groups=groups))
    # A link of 10 Mbit/s sends two full queues of 24 packets of 1500 bytes in 57.6 ms (abc2018 III-D2).
    assert {"--beOffset=0.0576", "--accountingBe=1.0", "--accountingEf=3.0"} <= set(arguments)
    assert any("users=1,reference=10000.0,ef=1," in argument for argument in arguments)
    strict = ns3.arguments(scenario(queue={"scheme": "droptail", "scheduler": "strict"}))
    assert "--beOffset=1000000000.0" in strict


def test_each_group_has_its_own_control_and_delay():
    cell = sender_grid.Cell("vegas", "with New Reno", 10, 40, 1.0)
    (groups,) = (argument for argument in arguments_of(cell) if argument.startswith("--groups="))
    vegas, reno = groups.split(";")
    assert "control=Vegas,delayedAck=1," in vegas
    assert "control=NewReno,delayedAck=2," in reno
    far = sender_grid.Cell("vegas", "two RTTs", 10, 40, 1.0)
    # 0.1 ms plus 20 ms in each direction give an RTT of 80 ms.
    assert any(argument.startswith("--groups=") and "access=0.0201," in argument for argument in arguments_of(far))


def arguments_of(cell):
    return ns3.arguments(json.loads(canonical(json.dumps(cell.scenario(mended=True)))))


def test_packets_without_time_stamps_are_asked_of_ns3():
    arguments = arguments_of(sender_grid.Cell("bbr1", "alone", 10, 40, 1.0))
    # The payload is 1500 bytes minus headers of PPP (2 bytes), IP (20) and TCP (20).
    assert {"--timestamps=0", "--mss=1458"} <= set(arguments)
    assert "--timestamps=1" in arguments_of(sender_grid.Cell("ledbat", "alone", 10, 40, 1.0))


def test_in_the_grid_of_senders_each_control_has_all_rates_with_all_buffers():
    cells = sender_grid.cells()
    assert len(set(cells)) == 48
    for control in sender_grid.GRID_CONTROLS:
        of_control = [cell for cell in cells if cell.control == control]
        assert len({(cell.rate_mbps, cell.buffer_bdp) for cell in of_control}) == 6
        assert len({(cell.rate_mbps, cell.rtt_ms) for cell in of_control}) == 6
    for cell in cells:
        assert all(ns3.arguments(json.loads(canonical(json.dumps(cell.scenario(mended=way))))) for way in (True, False))


def test_a_cell_whose_buffer_is_a_product_has_that_many_packets():
    # A buffer of 4 bandwidth-delay products has 4 * 10 Mbit/s * 40 ms / 12 000 bits = 133.3 packets.
    queue = sender_grid.Cell("bbr1", "alone", 10, 40, 4.0).scenario(mended=True)["queue"]
    assert queue == {"scheme": "droptail", "limit": "134 packets"}
