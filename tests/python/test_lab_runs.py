"""Tests tables of measured runs, which one lab writes and another reuses."""

from pathlib import Path

import polars as pl
import pytest

from conftest import EXAMPLES, Cli
from fairlane.base.errors import ScenarioError, UserError
from fairlane.lab import experiments, schedule, table
from fairlane.lab.experiments import lab, made, write_runs
from fairlane.lab.page import page

ENGINE = "lab/forwarder/9/0.1.0"
WHAT = {"quick": True, "replications": 2, "settings": {"run.warmup": "1 s", "run.measure": "2 s"}}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lab") / "store"


@pytest.fixture(scope="module")
def simulated(store: Path) -> pl.DataFrame:
    """The table of simulated runs, as if measured with the forwarder."""
    lab("p4abc.fig5", planes=["simulator"], store=store, **WHAT)
    write_runs(made("p4abc.fig5", planes=["simulator"], store=store, known=[], **WHAT), store.parent / "out")
    return pl.read_csv(store.parent / "out" / "runs.csv").with_columns(plane=pl.lit("forwarder"), engine=pl.lit(ENGINE))


def written(frame: pl.DataFrame, file: Path) -> Path:
    frame.write_csv(file)
    return file


def test_a_row_has_the_point_the_metrics_and_what_decided_it(simulated: pl.DataFrame) -> None:
    # 2 schemes x 3 points of the quick grid x 2 replications
    assert simulated.height == 12
    assert simulated.columns[:5] == ["plane", "experiment", "scheme", "f0", "replication"]
    assert simulated.columns[-2:] == ["engine", "scenario"]
    assert set(simulated["window_s"]) == {2.0}
    row = simulated.filter(scheme="abc", f0=16, replication=1).row(0, named=True)
    assert row["G_R"] == pytest.approx(row["G0"] / row["G1"], rel=1e-6)


def test_known_runs_are_drawn_and_judged_without_a_lab(
    simulated: pl.DataFrame, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_lab(*_: object) -> None:
        pytest.fail("nothing has to be run")

    monkeypatch.setattr(experiments, "_check_machine", no_lab)
    monkeypatch.setattr(schedule, "engine_of", no_lab)
    whole = written(simulated, tmp_path / "whole.csv")
    halves = [written(simulated.filter(replication=n), tmp_path / f"{n}.csv") for n in (1, 0)]
    (sim,) = lab("p4abc.fig5", planes=["simulator"], store=store, **WHAT).values()
    for known in ([whole], halves, [whole, *halves]):  # equal rows are one run
        (found,) = lab("p4abc.fig5", planes=["forwarder"], store=tmp_path / "none", known=known, **WHAT).values()
        cells, simulated_cells = (one.tables["p4abc.fig5"].cells(["abc"], ["G0", "G1"]) for one in (found, sim))
        for cell, other in zip(cells, simulated_cells, strict=True):
            assert cell.samples == pytest.approx(other.samples, rel=1e-6)
        assert [verdict.verdict for verdict in found.verdicts] == [verdict.verdict for verdict in sim.verdicts]
    # The given rows are in the new table, byte for byte.
    write_runs(
        made("p4abc.fig5", planes=["forwarder"], store=tmp_path / "none", known=halves, **WHAT), tmp_path / "out"
    )
    assert (tmp_path / "out" / "runs.csv").read_bytes() == whole.read_bytes()


def test_the_page_says_how_late_the_worst_links_were(simulated: pl.DataFrame, store: Path) -> None:
    late = simulated.with_columns(
        late_mean_us=pl.when(pl.col("replication") == 0).then(40.0).otherwise(60.0),
        late_p99_us=pl.when(pl.col("replication") == 0).then(310.0).otherwise(120.0),
        switch_wait_mean_us=12.0,
    )
    found = lab("p4abc.fig5", planes=["simulator"], store=store, **WHAT)
    expected = (
        "Emulated links: forwarder: 50 µs late on average, 310 µs at the 99th percentile of the worst run, the switch "
        "waited 12 µs each time for a processor."
    )
    assert expected in page(found, late.to_dicts())
    assert "Emulated links" not in page(found, simulated.to_dicts())


def test_a_plane_can_have_fewer_runs_than_the_others(simulated: pl.DataFrame, store: Path, tmp_path: Path) -> None:
    first = written(simulated.filter(replication=0), tmp_path / "first.csv")
    once = {**WHAT, "settings": {**WHAT["settings"], "forwarder:run.replications": 1}}  # type: ignore[dict-item]
    found = lab("p4abc.fig5", planes=["simulator", "forwarder"], store=store, known=[first], **once)
    assert [one.replications["p4abc.fig5"] for one in found.values()] == [2, 1]
    with pytest.raises(ScenarioError, match=r"run\.replications: .*0"):
        lab("p4abc.fig5", planes=["simulator"], store=store, settings={"run.replications": 0})


def test_new_runs_must_go_with_the_known_ones(simulated: pl.DataFrame, tmp_path: Path) -> None:
    part = written(simulated.filter(replication=0), tmp_path / "part.csv")
    expected = f"part.csv: has runs of {ENGINE}, new ones would be of {schedule.engine_of('forwarder', 'abc')}"
    with pytest.raises(UserError, match=expected):
        made("p4abc.fig5", planes=["forwarder"], store=tmp_path / "none", known=[part], **WHAT)
    # Runs of other scenarios do not matter.
    other = {**WHAT, "settings": {"run.warmup": "1 s", "run.measure": "3 s"}}
    assert made("p4abc.fig5", planes=["forwarder"], store=tmp_path / "none", known=[part], **other) == []


def test_published_runs_can_be_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiments, "_check_machine", lambda: pytest.fail("nothing has to be run"))
    known = [EXAMPLES.parent / "docs" / "figures" / "lab.p4abc.csv"]
    settings = {"run.measure": "10 s", "p4:run.measure": "60 s"}
    names = [f"p4abc.fig{number}" for number in (4, 5, 6)]
    measured = {"planes": ["forwarder", "kernel", "p4"], "replications": 3, "settings": settings, "known": known}
    found = lab(*names, store=tmp_path, **measured)
    assert {count for one in found.values() for count in one.replications.values()} == {3}
    differing = {
        plane: [(verdict.claim, verdict.verdict) for verdict in one.verdicts if verdict.verdict != "reproduced"]
        for plane, one in found.items()
    }
    # The first numbers are those of docs/howto/lab.md, for the claims that existed when the lab was run.
    fig4 = [f"p4abc.fig4.droptail_proportional{of}" for of in ("", "_g1")]
    fig6 = [(f"p4abc.fig6.abc_{what}", "differs") for what in ("reaches", "rises", "fair")]
    assert differing == {
        "forwarder": [*((claim, "inconclusive") for claim in fig4), *fig6],
        "kernel": [(fig4[0], "inconclusive"), (fig4[1], "differs"), *fig6],
        "p4": [*((claim, "differs") for claim in fig4), *fig6],
    }


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda frame: frame.drop("scenario"), "no table of runs, it has no column scenario"),
        (lambda frame: frame.with_columns(replication=pl.lit("first")), "replication"),
        (
            lambda frame: pl.concat([frame, frame[:1].with_columns(G0=pl.lit(1.5))]),
            "line 14: replication 0 is there already, and differs",
        ),
        (
            lambda frame: pl.concat([frame[:1], frame[1:].with_columns(engine=pl.lit("lab/forwarder/8/0.1.0"))]),
            "line 3: engine: lab/forwarder/8/0.1.0, .* have lab/forwarder/9/0.1.0",
        ),
        (lambda frame: frame.with_columns(scheme=pl.lit(None)), "line 2: scheme: is empty"),
        (lambda frame: frame.with_columns(plane=pl.lit("user")), 'line 2: plane: "user" is now "forwarder"'),
    ],
)
def test_a_wrong_table_is_refused(change: object, message: str, simulated: pl.DataFrame, tmp_path: Path) -> None:
    file = written(change(simulated), tmp_path / "wrong.csv")  # type: ignore[operator]
    with pytest.raises(UserError, match=message):
        table.read([file])


def test_the_command_says_what_is_wrong_in_one_line(cli: Cli) -> None:
    cli.refuses(["lab", "run", "p4abc.single", "--known", "no.csv", "--out", "out"], ["no.csv"])
