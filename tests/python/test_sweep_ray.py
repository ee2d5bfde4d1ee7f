"""A sweep on a Ray cluster gives the same bytes as a local sweep, even if one of the two nodes dies."""

import importlib.util
import json
import os
import sys
from pathlib import Path

import pytest

from conftest import FAIRLANE, Cli, contents, execute, files

needs_ray = pytest.mark.skipif(
    importlib.util.find_spec("ray") is None, reason="Ray is not installed (pip install 'fairlane[ray]')"
)

SWEEP = """
scenario = "short.toml"

[set]
run.measure = "200 s"
probes.series_interval = "0.1 s"

[grid]
queue.scheme = ["droptail", "abc"]
topology.bottleneck_delay = ["5 ms", "50 ms"]

[stop]
min_replications = 12
max_replications = 24
relative_half_width = { utilisation.bottleneck = 0.0005 }
"""

CLUSTER = """
import json, os, subprocess, sys, time
from pathlib import Path
from ray.cluster_utils import Cluster

cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
second = cluster.add_node(num_cpus=1)
cluster.wait_for_nodes()
command = [sys.argv[1], "sweep", "ray.toml", "--ray", cluster.address, "--store", "ray", "--out", "ray-out", "--json"]
sweep = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
while sweep.poll() is None and not any(file.stat().st_size for file in Path("ray/journal").glob("*")):
    time.sleep(0.02)
runs = sum(file.read_bytes().count(b'"replication":') for file in Path("ray/journal").glob("*"))
running = sweep.poll() is None
cluster.remove_node(second, allow_graceful=False)
stdout, stderr = sweep.communicate(timeout=120)
print(json.dumps({"code": sweep.returncode, "stderr": stderr, "running": running, "runs": runs, "sweep": stdout}))
cluster.shutdown()
"""


@pytest.mark.long
@needs_ray
def test_a_node_that_dies_changes_no_byte(cli: Cli, workdir: Path) -> None:
    (workdir / "ray.toml").write_text(SWEEP)
    expected = cli.document("sweep", "ray.toml", "--store", "local", "--out", "local-out")
    environment = os.environ | {"RAY_USAGE_STATS_ENABLED": "0", "RAY_DEDUP_LOGS": "0"}
    done = execute(sys.executable, "-W", "ignore", "-c", CLUSTER, FAIRLANE, cwd=workdir, env=environment)
    assert done.returncode == 0, done.stderr
    outcome = json.loads(done.stdout.splitlines()[-1])
    assert outcome["code"] == 0, outcome["stderr"]
    document = json.loads(outcome["sweep"])
    # The node died during the sweep: some runs had finished, but not all.
    assert outcome["running"]
    assert outcome["runs"] < expected["runs"]
    counts, wanted = ([point["replications"] for point in of["points"]] for of in (document, expected))
    assert counts == wanted
    assert contents(workdir / "ray") == contents(workdir / "local")
    assert files(workdir / "ray" / "journal") == []


@needs_ray
@pytest.mark.long
def test_no_cluster_is_one_line(cli: Cli, workdir: Path) -> None:
    (workdir / "ray.toml").write_text('scenario = "short.toml"\n')
    assert cli.error("sweep", "ray.toml", "--ray", "nonsense").startswith("--ray: nonsense: no cluster there")


def test_without_ray_it_says_what_to_install(workdir: Path) -> None:
    (workdir / "ray.toml").write_text('scenario = "short.toml"\nreplications = 1\n')
    code = "import sys; sys.modules['ray'] = None; from fairlane.cli.main import main; main()"
    done = execute(sys.executable, "-c", code, "sweep", "ray.toml", "--ray", cwd=workdir)
    told = "error: --ray: Ray is not installed; pip install 'fairlane[ray]'\n"
    assert (done.returncode, done.stderr) == (2, told)
