"""Tests the adversary: its choices, admissible scenarios, results, and the continuation of an interrupted search."""

import json
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import jsonschema
import pytest

import fairlane
from conftest import Cli, ended, files, wait_until
from fairlane import UserError
from fairlane.base.checked_lines import checked_entries
from fairlane.search.adversary import adversary
from fairlane.search.bounds import DEFAULT_BOUNDS, read_bounds
from fairlane.search.optimiser import CmaOptimiser, Point
from fairlane.search.shrink import shrunk
from fairlane.search.space import Choice, Range, Space, read_choice, read_range
from fairlane.search.world import LIGHT, scenario

pytest.importorskip("cma", reason="needs pip install 'fairlane[search]'")

SHORT = (
    DEFAULT_BOUNDS.read_text()
    .replace('warmup = "2 s"', 'warmup = "1 s"')
    .replace('measure = "8 s"', 'measure = "3 s"')
    .replace("packets = 200\n", "packets = 50\n")
)
"""Bounds with short runs."""
SHORTEST = SHORT.replace('measure = "3 s"', 'measure = "1 s"').replace("packets = 50\n", "packets = 15\n")
"""Bounds for tests in which shares don't matter."""


@pytest.fixture
def bounds(workdir: Path) -> Path:
    file = workdir / "bounds.toml"
    file.write_text(SHORT)
    return file


@pytest.mark.parametrize(
    ("text", "places"),
    [
        # The coordinates 0, 0.5 and 1 give the ends and the middle of a range, which is arithmetic or (with :log)
        # geometric. Each of four whole numbers has a quarter of the coordinates.
        ("0.2..0.4", {0.0: 0.2, 0.5: 0.3, 1.0: 0.4}),
        ("1..100 ms:log", {0.0: "1 ms", 0.5: "10 ms", 1.0: "100 ms"}),
        ("1..4", {0.0: 1, 0.24: 1, 0.26: 2, 0.76: 4, 1.0: 4}),
        ("20..200 packets", {0.5: "110 packets", 1.0: "200 packets"}),
        ("1.0..3.0 packets", {0.25: "1.5 packets"}),
    ],
)
def test_a_range_gives_values_as_a_scenario_has_them(text: str, places: dict[float, object]) -> None:
    found = read_range("key", text)
    assert {x: found.at(x, 3) for x in places} == places


@pytest.mark.parametrize("text", ["1", "5..1", "0..1:log", "a..b", "1..2:lin", "..", "1...2"])
def test_what_is_no_range_is_refused_with_its_key(text: str) -> None:
    with pytest.raises(UserError, match=r"queue\.gamma: "):
        read_range("queue.gamma", text)


def test_a_point_has_a_coordinate_for_each_key_that_is_not_fixed() -> None:
    space = Space({"a": read_choice("a", "1..3"), "b": read_choice("b", "5 ms"), "c": read_choice("c", ["x", "y"])}, 2)
    assert space.dimensions == 2
    assert space.values([0.9, 0.6]) == {"a": 3, "b": "5 ms", "c": "y"}


@pytest.mark.parametrize(
    ("old", "new", "mentions"),
    [
        ('users = "1..8"', 'users = "0..8"', ["heavy.users", "from 1 up"]),
        ('"10 Mbit/s"', '"10 mbps"', ["link.rate", "10 mbps", "bit/s"]),
        ("[crowd]", "[crowds]", ["crowds.users", "unknown key"]),
        ('"cubic", "reno", "cbr"]', '"cubic", "bbr1"]', ["light.sender", "bbr1", "cubic, reno, cbr"]),
        ('"5..200 ms:log"', '"200..5 ms:log"', ["heavy.rtt", "ends below its start"]),
        ("ideal_share = 0.9", "ideal_share = 1.5", ["guard.ideal_share", "from 0 to 1"]),
        ("light.rate = 0.5", 'light.rate = "0.5"', ["plain.light.rate"]),
        ('warmup = "1 s"', "", ["run.warmup", "missing"]),
    ],
)
def test_wrong_bounds_are_one_line_and_leave_nothing(
    old: str, new: str, mentions: Sequence[str], cli: Cli, bounds: Path
) -> None:
    assert old in SHORT
    bounds.write_text(SHORT.replace(old, new))
    cli.refuses(["search", "adversary", "abc", "--bounds", "bounds.toml"], ["bounds.toml", *mentions])


@pytest.mark.parametrize(
    ("arguments", "mention"),
    [
        (["abd"], "abd"),
        (["abc", "abc"], "name each scheme once"),
        (["abc", "--evaluations", "0"], "evaluations"),
        (["abc", "--seed", "-1"], "seed"),
        (["abc", "--set", "queue.limit=5 packets"], "queue.limit"),
        (["abc", "--set", "queue.gama=5 packets"], "gamma"),
        (["abc", "--set", "topology.bottleneck_rate=5 Mbit/s"], "topology.bottleneck_rate"),
        (["abc", "--bounds", "missing.toml"], "missing.toml"),
    ],
)
def test_wrong_arguments_are_one_line_and_leave_nothing(arguments: Sequence[str], mention: str, cli: Cli) -> None:
    cli.refuses(["search", "adversary", *arguments], [mention])


def test_without_the_library_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch, workdir: Path) -> None:
    monkeypatch.setitem(sys.modules, "cma", None)
    with pytest.raises(UserError, match=r"pip install 'fairlane\[search\]'"):
        adversary(["abc"], out=workdir / "out")
    assert not (workdir / "out").exists()


def test_the_printed_bounds_are_those_of_the_search(cli: Cli) -> None:
    (cli.folder / "printed.toml").write_text(cli.output("search", "bounds"))
    assert read_bounds(cli.folder / "printed.toml").space == read_bounds(None).space


def sphere(point: Point) -> float:
    return sum((x - 0.3) ** 2 for x in point)


def test_equal_seeds_ask_for_equal_points_and_come_near_the_least() -> None:
    def asked(seed: int) -> list[Point]:
        optimiser, points = CmaOptimiser(4, seed), []
        for _ in range(40):
            generation = optimiser.ask()
            optimiser.tell(generation, [sphere(point) for point in generation])
            points += generation
        return points

    points = asked(7)
    assert points == asked(7)
    assert points != asked(8)
    assert all(0 <= x <= 1 for point in points for x in point)
    # A random search with a thousand points in four dimensions gets at best within 0.1 of the optimum in each.
    assert min(map(sphere, points)) < 1e-4


def test_one_dimension_is_enough() -> None:
    optimiser = CmaOptimiser(1, 1)
    for _ in range(10):
        generation = optimiser.ask()
        optimiser.tell(generation, [sphere(point[:1]) for point in generation])
    assert min(sphere(point[:1]) for point in optimiser.ask()) < 1e-2


def test_shrinking_takes_the_least_count_the_plain_value_and_the_first_choice_that_still_show_it() -> None:
    choices: dict[str, Range | Choice] = {
        "users": read_range("users", "1..20"),
        "rtt": read_range("rtt", "5..200 ms"),
        "sender": Choice(["cubic", "reno", "cbr"]),
        "rate": read_range("rate", "0.1..5.0"),
    }

    def shows(tried: Sequence[dict[str, object]]) -> list[bool]:
        return [one["users"] >= 3 and one["sender"] != "cubic" and 1.6 < one["rate"] < 3 for one in tried]  # type: ignore[operator]

    start = {"users": 17, "rtt": "137 ms", "sender": "cbr", "rate": 2.7}
    small = shrunk(Space(choices, 2), {"rtt": "20 ms"}, start, lambda _: set(), shows)  # type: ignore[arg-type]
    assert small == {"users": 3, "rtt": "20 ms", "sender": "reno", "rate": 2.0}


def test_drop_tail_is_beaten_and_the_file_is_what_check_judges(bounds: Path, workdir: Path) -> None:
    result = adversary(["droptail"], bounds=bounds, evaluations=1, out=workdir / "out")
    (found,) = result.found.values()
    # An unresponsive user sends at the link rate, so a shared queue leaves nothing for others.
    assert result.beaten == ["droptail"]
    assert found.ideal.mean >= read_bounds(bounds).ideal_share
    checked = fairlane.check(workdir / "out" / "droptail.toml")
    assert checked.passed
    assert [verdict.mean for verdict in checked.verdicts] == [found.share.mean]
    jsonschema.validate(result.document(), fairlane.schema("search-adversary"))


def test_what_the_ideal_scheduler_cannot_give_is_not_held_against_a_scheme(bounds: Path, workdir: Path) -> None:
    """WFQ is also the ideal scheduler, so both shares are equal. The guard requires at least `ideal_share`."""
    bounds.write_text(SHORTEST)
    result = adversary(["wfq"], bounds=bounds, evaluations=1, out=workdir / "out")
    (found,) = result.found.values()
    assert found.share == found.ideal
    assert found.first_share >= read_bounds(bounds).ideal_share


def test_bounds_in_which_no_light_user_can_have_its_share_are_refused(bounds: Path, workdir: Path) -> None:
    # 3 s of 10 Mbit/s have at most 18 750 packets (of 200 bytes), so no share of two or more users has 9500.
    bounds.write_text(SHORT.replace("packets = 50\n", "packets = 9500\n"))
    with pytest.raises(UserError, match="in none of 96 scenarios"):
        adversary(["droptail"], bounds=bounds, evaluations=1, out=workdir / "out")


class Corners:
    """An optimiser written by the user. It requests the middle of the cube and one of ten points on the diagonal."""

    def __init__(self, dimensions: int, seed: int) -> None:
        self.dimensions, self.told = dimensions, 0

    def ask(self) -> list[list[float]]:
        return [[(self.told + 1) % 10 / 10] * self.dimensions, [0.5] * self.dimensions]

    def tell(self, points: Sequence[Point], values: Sequence[float]) -> None:
        assert len(points) == len(values) == 2
        self.told += 1


def test_a_user_brings_an_optimiser_of_two_methods(bounds: Path, workdir: Path) -> None:
    result = adversary(["droptail"], bounds=bounds, evaluations=4, out=workdir / "out", optimiser=Corners)
    assert result.found["droptail"].evaluations == 4


def test_an_optimiser_that_leaves_the_cube_is_named(bounds: Path, workdir: Path) -> None:
    class Outside(Corners):
        def ask(self) -> list[list[float]]:
            return [[2.0] * self.dimensions]

    with pytest.raises(UserError, match="optimiser: asks for"):
        adversary(["droptail"], bounds=bounds, out=workdir / "out", optimiser=Outside)


def search(out: str, *more: str) -> list[str]:
    return [
        "search",
        "adversary",
        "droptail",
        "abc",
        "--bounds",
        "bounds.toml",
        "--evaluations",
        "60",
        "--out",
        out,
        *more,
    ]


def test_any_number_of_threads_and_a_kill_in_the_middle_give_the_same_bytes(cli: Cli, bounds: Path) -> None:
    bounds.write_text(SHORTEST)
    whole = cli.output(*search("whole", "--threads", "1", "--json"))
    journal = cli.folder / "killed" / "journal.jsonl"
    killed = cli.start(*search("killed", "--threads", "3"))
    wait_until(lambda: journal.exists() and journal.stat().st_size > 4000)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    known = sum(len(entry.get("values", {})) for entry in checked_entries(journal))
    assert cli.output(*search("killed", "--threads", "2", "--json")) == whole
    assert files(cli.folder / "killed") == files(cli.folder / "whole")
    for name in ("abc.toml", "droptail.toml", "adversary.json"):
        assert (cli.folder / "killed" / name).read_bytes() == (cli.folder / "whole" / name).read_bytes()
    # Known runs were not simulated again, so no run is in the journal twice.
    runs = [name for entry in checked_entries(journal) for name in entry.get("values", {})]
    assert len(runs) == len(set(runs)) > known > 0


def test_ctrl_c_says_how_much_is_done(cli: Cli, bounds: Path) -> None:
    journal = cli.folder / "out" / "journal.jsonl"
    process = cli.start(*search("out", "--evaluations", "100000"))
    wait_until(lambda: journal.exists() and journal.stat().st_size > 5000)
    assert ended(process) == "interrupted: 0 of 2 searches finished; the same command goes on from here"


def test_two_searches_do_not_write_one_journal(cli: Cli, bounds: Path) -> None:
    journal = cli.folder / "out" / "journal.jsonl"
    process = cli.start(*search("out", "--evaluations", "100000"))
    wait_until(lambda: journal.exists() and journal.stat().st_size > 5000)
    assert "another search is writing it" in cli.error(*search("out"))
    ended(process)


def kept_values(folder: Path) -> int:
    return sum(len(entry.get("values", {})) for entry in checked_entries(folder / "journal.jsonl"))


def test_a_scheme_of_the_users_is_searched_and_never_kept(bounds: Path, workdir: Path) -> None:
    @fairlane.register_scheme("no_queue")
    class NoQueue:
        def __init__(self, port: fairlane.Port) -> None:
            pass

        def admit(self, packet: fairlane.Packet, port: fairlane.Port, now: float) -> bool:
            return port.packets == 0

    result = adversary(["no_queue"], bounds=bounds, evaluations=1, out=workdir / "out", optimiser=Corners)
    # Every scenario runs once under the scheme and once under the ideal one, whose runs all searches share.
    assert kept_values(workdir / "out") == result.cost.runs / 2
    assert result.document()["found"][0]["shares_by"] == "what its own code says"


def test_a_congestion_control_of_the_users_is_a_heavy_sender_and_never_kept(
    cli: Cli, bounds: Path, workdir: Path
) -> None:
    (workdir / "greedy.py").write_text(
        """
import fairlane

@fairlane.register_congestion_control("greedy", marks="ect1")
class Greedy:
    def __init__(self, connection):
        connection.window = 100 * connection.mss

    def on_ack(self, ack):
        pass
"""
    )
    old = 'sender = ["cubic", "cbr", "reno", "bbr1", "bbr3", "dctcp", "prague", "poisson", "on_off"]'
    few = SHORTEST.replace(old, 'sender = "greedy"').replace('users = "0..16"', "users = 0").replace('"1..8"', '"1..2"')
    bounds.write_text(few.replace("1..32:log", "1..2:log"))
    command = ["search", "adversary", "droptail", "--bounds", "bounds.toml", "--evaluations", "1", "--out", "out"]
    own = ["--congestion-control-module", "greedy.py"]
    (found,) = cli.document(*command, *own)["found"]
    heavy = found["scenario"]["groups"][1]["sources"][0]
    assert (heavy["congestion_control"], heavy["ecn"]) == ("greedy", True)
    assert "greedy flow" in found["groups"]["heavy"]
    assert kept_values(workdir / "out") == 0
    cli.output("check", "out/droptail.toml", *own)
    assert "heavy.sender: 'greedy' is not one of reno, cubic, " in cli.error(*command)


def test_the_light_user_is_first_alone_and_honest() -> None:
    space = read_bounds(None).space
    for x in (0.0, 0.3, 0.6, 0.99):
        table = scenario("x", space.values([x] * space.dimensions), {"queue": {"scheme": "abc"}}, 1, 1)
        light = table["groups"][0]
        (source,) = light["sources"]
        assert (light["name"], light.get("users", 1), source.get("flows", 1)) == (LIGHT, 1, 1)
        assert source["kind"] == "cbr" or source["congestion_control"] in {"cubic", "reno"}
        assert json.loads(fairlane.Scenario.from_dict(table).canonical())["groups"][0]["weight"] == 1
