"""Tests transfers, bursts and several links in frames, documents and captures."""

from pathlib import Path

import polars as pl
import pytest

import fairlane
from conftest import EXAMPLES
from fairlane import Scenario, UserError, group, on_off, tcp, web
from fairlane.results.intervals import interval

RUN = {"warmup": "1 s", "measure": "4 s", "replications": 3}


def mixed() -> Scenario:
    return Scenario(
        "mixed",
        group("web", web(interval="0.1 s"), users=2, start_until="0 s"),
        group("lasting", tcp(flows=2), users=2, start_until="0.5 s", route=["link2"]),
        group("bursts", on_off("5 Mbit/s", on="0.1 s", off="0.1 s"), start_until="0 s"),
        queue="droptail",
        topology={"kind": "parking_lot", "congested_links": 2},
        run=RUN,
    )


def test_frames_have_flows_transfers_and_every_link() -> None:
    result = fairlane.run(mixed())
    flows = result.flows_frame()
    assert flows.height == 3 * 4
    assert set(flows["group"]) == {"lasting"}
    transfers = result.transfers_frame()
    assert set(transfers["by"]) == {"time", "size"}
    by_time = transfers.filter((pl.col("by") == "time") & (pl.col("replication") == 0))
    assert by_time["class_from"].to_list() == [0, 0.05, 0.5, 1, 2, 5]
    runs = result.runs_frame()
    assert by_time["completed"].sum() == runs["transfers_completed.web"][0]
    assert result.links_frame()["link"].to_list() == ["link1", "link2"] * 3
    assert {"jain_index_flows", "delivered_share.bursts", "utilisation.link2"} <= set(runs.columns)
    # Jain's index by its definition.
    mine = flows.filter(pl.col("replication") == 0)["throughput_bps"].to_list()
    jain = sum(mine) ** 2 / len(mine) / sum(x * x for x in mine)
    assert runs["jain_index_flows"][0] == pytest.approx(jain, rel=1e-12)


def test_intervals_are_narrower_at_lower_confidence() -> None:
    # From a t table: t(0.95; 2) = 2.920 and t(0.975; 2) = 4.303.
    samples = [1.0, 2.0, 4.0]
    wide, narrow = interval(samples).half_width, interval(samples, 0.9).half_width
    assert wide
    assert narrow
    assert narrow / wide == pytest.approx(2.920 / 4.303, rel=1e-3)
    result = fairlane.run(mixed())
    widths = [
        result.document(confidence)["summary"]["links"][0]["utilisation"]["half_width"] for confidence in (0.9, 0.95)
    ]
    assert widths[0] / widths[1] == pytest.approx(2.920 / 4.303, rel=1e-3)
    with pytest.raises(ValueError, match=r"confidence: 1\.5 must lie between 0 and 1"):
        result.document(1.5)


def test_a_named_link_is_watched(tmp_path: Path) -> None:
    graph = Scenario.from_toml(EXAMPLES / "graph.toml")
    graph = graph.replace("run.warmup", "14 s").replace("run.measure", "1 s").replace("run.replications", 1)
    fairlane.run(graph, pcap=tmp_path / "core.pcapng", trace=tmp_path / "trace", link="core")
    assert set(pl.read_parquet(tmp_path / "trace" / "queue.parquet")["link"]) == {"core"}
    assert (tmp_path / "core.pcapng").stat().st_size > 100_000
    assert b"core" in (tmp_path / "core.pcapng").read_bytes()[:400]
    with pytest.raises(UserError, match="--link: south is not a link; there are west, east, core"):
        fairlane.run(graph, pcap=tmp_path / "south.pcapng", link="south")


def test_a_trace_follows_transfers_that_come_and_go(tmp_path: Path) -> None:
    fairlane.run(mixed(), pcap=tmp_path / "all.pcapng", trace=tmp_path / "trace")
    senders = pl.read_parquet(tmp_path / "trace" / "tcp.parquet")
    assert set(senders["group"]) == {"web", "lasting"}
    assert senders.filter(pl.col("group") == "web")["flow"].n_unique() > 20
    assert set(pl.read_parquet(tmp_path / "trace" / "queue.parquet")["link"]) == {"link1", "link2"}
