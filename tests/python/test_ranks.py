"""Tests the comparison of rankings (benches/ranking.py), and the cells in ns-3 and on real packets."""

import csv
import io
import json
from collections import Counter
from pathlib import Path

import pytest

from benches import ranking
from benches.harness import blocks
from benches.linux_tcp import lab_rank_grid
from benches.ns3 import ns3, rank_grid
from benches.rank_cells import Cell
from fairlane._fairlane import canonical
from fairlane.evaluate.ranks import order
from fairlane.lab.keys import check
from fairlane.lab.setup import setup_of
from fairlane.results.intervals import Interval

DOCS = Path(__file__).parents[2] / "docs"
DATA = json.loads((DOCS.parent / "site" / "data" / "agreement-ranks.json").read_text(encoding="utf-8"))


def one(mean: float, half_width: float | None = 0.1) -> Interval:
    return Interval(mean, half_width, 3)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (one(1.0), one(0.7), 1),
        (one(0.7), one(1.0), -1),
        (one(1.0), one(0.9), 0),
        # 1 - 1/4 = 1/2 + 1/4: they touch.
        (one(1.0, 0.25), one(0.5, 0.25), 0),
        (one(1.0, None), one(1.0, 0.0), 0),
        (one(1.0, None), one(0.5, None), 1),
    ],
)
def test_intervals_have_an_order_if_they_do_not_touch(a: Interval, b: Interval, expected: int) -> None:
    assert order(a, b) == expected


def found(ours: dict[str, Interval], theirs: dict[str, Interval]) -> ranking.Found:
    return {"cell": {scheme: {"use": (ours[scheme], theirs[scheme])} for scheme in ours}}


def test_a_pair_disagrees_only_if_both_separate_it_the_other_way_round() -> None:
    ours = {"a": one(4), "b": one(3), "c": one(2), "d": one(1.95)}
    theirs = {"a": one(4), "b": one(2), "c": one(3), "d": one(2.95, 2.0)}
    pairs = {(pair.first, pair.second): pair for pair in ranking.pairs(found(ours, theirs))}
    assert {names: (pair.ours, pair.theirs) for names, pair in pairs.items()} == {
        ("a", "b"): (1, 1),
        ("a", "c"): (1, 1),
        ("a", "d"): (1, 0),
        ("b", "c"): (1, -1),
        ("b", "d"): (1, 0),
        ("c", "d"): (0, 0),
    }
    assert [names for names, pair in pairs.items() if not pair.agrees] == [("b", "c")]
    # On one side b is above d, on the other side below d. The interval of d allows both orders.
    assert [names for names, pair in pairs.items() if not pair.same_means] == [("b", "c"), ("b", "d")]
    assert ranking.count(pairs.values()) == ranking.Count(pairs=6, agree=5, both=3, both_same=2, one=2, one_same=1)


def test_equal_means_are_an_order_only_if_both_sides_have_them() -> None:
    ours = {"a": one(1, None), "b": one(1, None), "c": one(2, None)}
    theirs = {"a": one(1, None), "b": one(1, None), "c": one(1, None)}
    same = {(pair.first, pair.second): pair.same_means for pair in ranking.pairs(found(ours, theirs))}
    assert same == {("a", "b"): True, ("a", "c"): False, ("b", "c"): False}


def test_the_table_counts_by_measure_and_cell_and_names_what_disagrees() -> None:
    text = ranking.table(found({"a": one(4), "b": one(3), "c": one(2)}, {"a": one(4), "b": one(2), "c": one(3)}), "X")
    assert "**2 of 3 pairs (66.7 %) are in the same order within intervals**, in 1 cells." in text
    assert "of 3 pairs that both separate, 2 (66.7 %) are in the same order.\nOf 0 that one of them separates" in text
    rows = text.splitlines()
    assert "| use | 3 | 2 | 3 | 2 | 0 | 0 |" in rows
    assert "| cell | 3 | 2 | 3 | 2 | 0 | 0 |" in rows
    assert rows[-1] == "| cell | use | b, c | 3.00 ± 0.10, 2.00 ± 0.10 | 2.00 ± 0.10, 3.00 ± 0.10 |"


def test_files_hold_values_and_pairs(tmp_path: Path) -> None:
    ranking.save(tmp_path, found({"a": one(4), "b": one(3, None)}, {"a": one(4), "b": one(2)}), "ns-3", "head")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "ranks.csv").read_text(encoding="utf-8"))))
    assert rows[1] == {
        "cell": "cell",
        "scheme": "b",
        "measure": "use",
        "fairlane_mean": "3",
        "fairlane_half_width": "0",
        "fairlane_runs": "3",
        "ns-3_mean": "2",
        "ns-3_half_width": "0.1",
        "ns-3_runs": "3",
    }
    document = json.loads((tmp_path / "ranks.json").read_text(encoding="utf-8"))
    assert document["total"]["pairs"] == len(document["pairs"]) == 1
    assert document["pairs"][0]["agrees"]
    assert (tmp_path / "ranks.md").read_text(encoding="utf-8").startswith("head\n\n**1 of 1 pairs")


def test_the_least_share_is_that_of_an_equal_part() -> None:
    # One of four users has 2 of 10 Mbit/s; an equal share is 2.5 Mbit/s.
    assert Cell("any", 10, 20, 1.0).worst_share([2e6, 3e6, 2.5e6, 2.5e6]) == pytest.approx(0.8)


def test_cells_beside_ns3_are_24_and_dumbbell_can_run_all_schemes_in_them() -> None:
    cells = rank_grid.cells()
    assert len(set(cells)) == 24
    assert sorted(Counter((cell.rate_mbps, cell.buffer_bdp) for cell in cells).values()) == [3, 3, 4, 4, 5, 5]
    for mix in rank_grid.MIXES:
        of_mix = [cell for cell in cells if cell.mix == mix]
        assert {cell.buffer_bdp for cell in of_mix} == set(rank_grid.BUFFERS_BDP)
        assert {cell.rate_mbps for cell in of_mix} == set(rank_grid.RATES_MBPS)
    for cell in cells:
        for scheme in rank_grid.SCHEMES:
            assert ns3.arguments(json.loads(canonical(json.dumps(rank_grid.scenario(cell, scheme)))))


def test_cells_on_real_packets_are_ten_and_the_lab_can_build_all_schemes_in_them() -> None:
    cells = lab_rank_grid.cells()
    assert len(set(cells)) == 10
    for mix in lab_rank_grid.MIXES:
        of_mix = [cell for cell in cells if cell.mix == mix]
        assert {cell.buffer_bdp for cell in of_mix} == set(lab_rank_grid.BUFFERS_BDP)
        assert {cell.rate_mbps for cell in of_mix} == set(lab_rank_grid.RATES_MBPS)
    for cell in cells:
        for scheme in lab_rank_grid.SCHEMES:
            scenario = canonical(json.dumps(lab_rank_grid.scenario(cell, scheme)))
            setup_of(scenario)
            check(scenario, "forwarder")


def committed(mark: str, other: str) -> ranking.Found:
    """The data of the page."""
    values: dict[str, dict[str, dict[str, ranking.Sides]]] = {}
    with (DOCS / "figures" / f"agreement-ranks.{mark}.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            ours, theirs = (
                Interval(float(row[f"{side}_mean"]), float(row[f"{side}_half_width"]), int(row[f"{side}_runs"]))
                for side in ("fairlane", other)
            )
            values.setdefault(row["cell"], {}).setdefault(row["scheme"], {})[row["measure"]] = ours, theirs
    return values


@pytest.mark.parametrize(("mark", "other", "grid"), [("ns3", "ns-3", rank_grid), ("lab", "kernel", lab_rank_grid)])
def test_the_data_and_the_page_say_what_follows_from_the_committed_values(mark: str, other: str, grid) -> None:
    values = committed(mark, other)
    assert list(values) == [cell.name for cell in grid.cells()]
    assert all(list(of_cell) == list(grid.SCHEMES) for of_cell in values.values())
    page = (DOCS / "agreement-ranks.md").read_text(encoding="utf-8")
    assert DATA[mark][1:] == blocks(ranking.table(values, other))
    of = ranking.count(ranking.pairs(values))
    assert f"{of.agree} of {of.pairs} " in page
    assert f"{of.both_same} of {of.both} " in page
    assert of.pairs == len(values) * len(grid.SCHEMES) * (len(grid.SCHEMES) - 1) // 2 * 3
    # The required agreement.
    assert of.agree >= 0.9 * of.pairs


@pytest.mark.parametrize("grid", [rank_grid, lab_rank_grid])
def test_every_user_asks_for_more_than_an_equal_part(grid) -> None:
    for cell in grid.cells():
        table = json.loads(canonical(json.dumps(grid.scenario(cell, "droptail"))))
        users = sum(group["users"] for group in table["groups"])
        for source in (source for group in table["groups"] for source in group["sources"]):
            rate = source.get("rate", f"{cell.rate_mbps} Mbit/s")
            assert float(rate.removesuffix(" Mbit/s")) > cell.rate_mbps / users
