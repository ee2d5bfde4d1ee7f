"""Tests scheme libraries, built and used as their author would."""

import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fairlane
from conftest import EXAMPLES, ROOT, Cli, contents, ended, wait_until
from fairlane.store import key

C_EXAMPLE = EXAMPLES / "scheme-lib-c" / "my_schemes.c"
HEADER = ROOT / "crates" / "capi" / "include"
COMPILER = os.environ.get("CC", "cc")

pytestmark = pytest.mark.skipif(shutil.which(COMPILER) is None, reason=f"no compiler {COMPILER}")

Build = Callable[..., Path]


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """Compiles the example in C, or another source, with parts of it replaced."""
    folder = tmp_path_factory.mktemp("libraries")

    def build(*replaced: tuple[str, str], source: str | None = None, options: tuple[str, ...] = ()) -> Path:
        text = source or C_EXAMPLE.read_text()
        for old, new in replaced:
            assert old in text
            text = text.replace(old, new)
        number = len(list(folder.iterdir()))
        code, library = folder / f"code{number}.c", folder / f"lib{number}.so"
        code.write_text(text)
        command = [COMPILER, "-O2", "-shared", "-fPIC", "-I", HEADER, *options, "-o", library, code]
        subprocess.run(command, check=True)
        return library

    return build


@pytest.fixture(scope="session")
def library(build: Build) -> Path:
    """The example in C."""
    return build(options=("-Wall", "-Wextra", "-Werror", "-std=c11"))


def scenario(queue: Any, seed: int = 1) -> fairlane.Scenario:
    """A heavy and a light user share 10 Mbit/s; each of them sends more than half of it."""
    return fairlane.Scenario(
        "two-users",
        fairlane.group("heavy", fairlane.poisson("15 Mbit/s"), fairlane.tcp(flows=3), start_until="0.5 s"),
        fairlane.group("light", fairlane.poisson("7 Mbit/s"), start_until="0.5 s"),
        queue=queue,
        run={"warmup": "1 s", "measure": "3 s", "replications": 2, "seed": seed},
    )


def records(queue: Any, seed: int = 1, **options: Any) -> list[dict[str, Any]]:
    """Run records without the scheme's state, since the state of an external scheme contains handles of packets."""
    runs = fairlane.run(scenario(queue, seed), **options).runs
    for run in runs:
        del run["links"][0]["state"]
    return runs


@pytest.mark.parametrize("limit", ["24 packets", "30 kB"])
@pytest.mark.parametrize("seed", range(1, 6))
def test_drop_tail_of_a_library_is_drop_tail(library: Path, limit: str, seed: int) -> None:
    ours = records({"scheme": "my-fifo", "limit": limit}, seed, scheme_lib=library)
    assert ours == records({"scheme": "droptail", "limit": limit}, seed)


def test_threads_do_not_matter(library: Path) -> None:
    assert records("my-fifo", scheme_lib=library, threads=1) == records("my-fifo", threads=4)


def test_a_parameter_of_a_library_is_a_key_of_the_scenario(cli: Cli, library: Path) -> None:
    fifo = ["--scheme-lib", library, "--set", "queue.scheme=my-fifo"]
    (run, *_) = cli.document("run", "short.toml", *fifo, "--set", "queue.most=5")["runs"]
    assert run["links"][0]["queue"]["max_packets"] == 5
    message = cli.error("run", "short.toml", *fifo, "--set", "queue.most=0")
    assert message.endswith("queue.most: 0 is out of range, it must be from 1 to 1000000")
    message = cli.error("run", "short.toml", *fifo, "--set", "queue.most=many")
    assert message.endswith('queue.most: "many" is not a count such as 10 from 1 to 1000000')
    message = cli.error("run", "short.toml", *fifo, "--set", "queue.mos=3")
    assert message.endswith("queue.mos: unknown key (value 3); did you mean most?")
    message = cli.error("run", "short.toml", *fifo, "--set", "queue.scheduler=strict")
    assert message.endswith("it must be fifo: my-fifo orders packets itself")


def test_compare_takes_schemes_of_a_library_with_their_parameters(cli: Cli, library: Path) -> None:
    queues = "droptail,my-fifo,my-fifo:most=5"
    results = cli.document("compare", "short.toml", "--queues", queues, "--scheme-lib", library)["results"]
    assert list(results) == queues.split(",")
    assert results["my-fifo:most=5"]["scenario"]["queue"]["most"] == 5
    for result in results.values():
        for run in result["runs"]:
            account = run["links"][0]["accounting"]
            assert account["arrived"] == account["departed"] + account["dropped"] + account["queued"]
    unknown = cli.error("compare", "short.toml", "--queues", "my-fifo:least=5", "--scheme-lib", library)
    assert unknown.endswith("'least' is no parameter of its own; there are limit, scheduler, be_offset, mtu, most")


def test_evaluate_places_a_scheme_of_a_library(cli: Cli, library: Path) -> None:
    options = ["--only", "cheats/flood", "--replications", "1", "--scheme-lib", library]
    (card,) = cli.document("evaluate", "my-fifo", *options)["entries"]
    assert card["entry"] == "my-fifo"


MISTAKES = {
    "int entry;": "is no library of schemes: it has no function fairlane_schemes",
    "const void *fairlane_schemes(unsigned version) { return 0; }": "offers nothing for version 1 of the interface",
    "static unsigned library[16] = {0}; const void *fairlane_schemes(unsigned version) { return library; }": (
        "has version 0 of the interface, this Fairlane has version 1: build it again with the present header"
    ),
    "static unsigned library[16] = {2}; const void *fairlane_schemes(unsigned version) { return library; }": (
        "has version 2 of the interface, this Fairlane has version 1: update Fairlane"
    ),
    "extern int missing(void); const void *fairlane_schemes(unsigned version) { missing(); return 0; }": (
        "cannot be loaded: "
    ),
}


@pytest.mark.parametrize(("source", "message"), MISTAKES.items())
def test_what_is_no_library_of_this_version_is_refused_with_one_line(
    cli: Cli, build: Build, source: str, message: str
) -> None:
    told = cli.error("run", "short.toml", "--scheme-lib", build(source=source))
    assert re.match(r"--scheme-lib: \S*lib\d+\.so: ", told)
    assert message in told


def test_a_library_is_not_taken_to_a_cluster(cli: Cli, library: Path) -> None:
    told = "--scheme-lib: cannot be combined with --ray: the nodes of the cluster do not have the library"
    assert cli.error("sweep", "sweep.toml", "--ray", "--scheme-lib", library) == told
    assert cli.error("evaluate", "abc", "--scheme-lib", library, "--ray", "local") == told


def with_bytes(library: Path, at: int, content: bytes, to: Path) -> Path:
    changed = bytearray(library.read_bytes())
    changed[at : at + len(content)] = content
    to.write_bytes(changed)
    return to


def test_a_file_that_is_none_is_refused_with_one_line(cli: Cli, workdir: Path, library: Path) -> None:
    for made, message in [
        (workdir / "none.so", "No such file or directory"),
        (workdir, "Is a directory"),
        (workdir / "short.toml", "is not a library (no ELF file)"),
        (with_bytes(library, 0x40, b"\xff" * 4000, workdir / "torn.so"), "cannot be loaded: "),
        (with_bytes(library, 4, b"\x01", workdir / "bits.so"), "cannot be loaded: "),
        # e_machine in the ELF header is AVR, on which Python does not run.
        (with_bytes(library, 18, b"\x53\x00", workdir / "avr.so"), "is for another machine: its ELF number is 83"),
    ]:
        told = cli.error("run", "short.toml", "--scheme-lib", made)
        assert told.startswith(f"--scheme-lib: {made}: "), told
        assert message in told
    with pytest.raises(fairlane.UserError, match=r"^scheme_lib: none\.so: No such file"):
        fairlane.run(scenario("droptail"), scheme_lib="none.so")


WRONG_TABLES = {
    (".size = sizeof(fairlane_scheme_library)", ".size = 8"): "size of the library's table: 8 must be at least",
    (".size = sizeof(fairlane_scheme),", ".size = 8,"): "schemes[0].size: 8 must be at least",
    ('.name = "my-fifo"', '.name = "My fifo"'): "schemes[0].name: must be lower-case letters, digits, - and _",
    ('.name = "my-fifo"', '.name = "droptail"'): "schemes[0].name: Fairlane has a scheme droptail",
    ('.name = "my_schemes"', '.name = "my schemes"'): "name of the library: must be a word of ASCII characters",
    (".scheme_count = 1", ".scheme_count = 0"): "has no schemes",
    (".enqueue = enqueue,", ".marker = 0,"): "schemes[0].enqueue: null, but it is needed",
    (".parameters = parameters", '.marker = "nobody", .parameters = parameters'): "schemes[0].marker: there is no",
    ('.kind = "count"', '.kind = "colour"'): 'parameters[0]: most: "colour" is not a kind of value, it must be one of',
    ('.name = "most"', '.name = "limit"'): "schemes[0].parameters[0].name: limit is taken",
    (".parameters = parameters", ".parameters = 0"): "schemes[0].parameters: null, but parameter_count is 1",
    ('.least = "1"', '.least = "2000000"'): "parameters[0]: most: its range is empty, from 2000000 to 1000000",
    ('.least = "1"', '.least = "one"'): 'parameters[0]: most: "one" is not a count such as 10',
    ('.least = "1"', '.default_value = "0", .least = "1"'): "most: 0 is out of range, it must be from 1 to 1000000",
}


@pytest.mark.parametrize(("replaced", "message"), WRONG_TABLES.items())
def test_a_wrong_table_is_refused_with_one_line(
    cli: Cli, build: Build, replaced: tuple[str, str], message: str
) -> None:
    assert message in cli.error("run", "short.toml", "--scheme-lib", build(replaced))


MISBEHAVIOUR = {
    ("FAIRLANE_DROP_OVERLIMIT", "7"): "my-fifo: enqueue dropped a packet for reason 7, it must be 0, 1, 2 or 3",
    ("fifo->packets--;", "fifo->first--;"): "gave a packet that does not wait: it was given or dropped before",
    ("*found = fifo->packets > 0;", "*found = 0;"): "my-fifo: dequeue gave nothing although packets wait: 1",
    ("fifo->packets >= fifo->most_packets", "0"): "enqueue left Backlog { packets: 25, bytes: ",
    ("fifo->bytes -= packet->bytes;", "packet->label = NAN;"): "gave a packet with the label NaN, it must be finite",
    ("*found = fifo->packets > 0;", "return 7;"): "my-fifo: dequeue failed with 7",
    ("*state = fifo;", "return 3;"): "my-fifo: create failed with 3",
}


@pytest.mark.parametrize(("replaced", "message"), MISBEHAVIOUR.items())
def test_a_mistake_of_a_scheme_ends_the_run_with_one_line(
    cli: Cli, build: Build, replaced: tuple[str, str], message: str
) -> None:
    options = ["--set", "queue.scheme=my-fifo", "--scheme-lib", build(replaced)]
    assert message in cli.error("run", "short.toml", *options)


def test_messages_of_a_scheme_reach_the_user(cli: Cli, build: Build) -> None:
    check = """
static int check(const fairlane_port *port, char *message, size_t message_size)
{
	if (port->values[0].number == 13)
		snprintf(message, message_size, "most: %s is unlucky\\nhere", port->values[0].text);
	return port->values[0].number == 13;
}

static void failure(const void *state, char *message, size_t message_size)
{
	snprintf(message, message_size, "as planned after %d", (int)((const struct fifo *)state)->packets);
}

static const fairlane_parameter"""
    failing = build(
        ("static const fairlane_parameter", check),
        (".create = create,", ".create = create, .check = check, .failure = failure,"),
        ("*found = fifo->packets > 0;", "return 7;"),
        ("#include <math.h>", "#include <math.h>\n#include <stdio.h>"),
    )
    options = ["--set", "queue.scheme=my-fifo", "--scheme-lib", failing]
    refused = cli.error("run", "short.toml", *options, "--set", "queue.most=13")
    assert refused.endswith("queue.most: 13 is unlucky here")
    assert "my-fifo: dequeue failed with 7: as planned after 1" in cli.error("run", "short.toml", *options)


def test_an_exception_that_leaves_a_library_ends_the_process(cli: Cli, build: Build, tmp_path: Path) -> None:
    compiler = os.environ.get("CXX", "c++")
    if shutil.which(compiler) is None:
        pytest.skip(f"no compiler {compiler}")
    source = tmp_path / "thrower.cpp"
    source.write_text('extern "C" const void *fairlane_schemes(unsigned) { throw 3; }')
    library = tmp_path / "libthrower.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True)
    done = cli("run", "short.toml", "--scheme-lib", library)
    assert (done.returncode, done.stderr) == (-6, "error: an exception left a function of a scheme library\n")


EXITS = {
    "an enqueue": ("*found = fifo->packets > 0;", "exit(0);"),
    "a create": ("*state = fifo;", "exit(0);"),
    "the entry": ("return &library;", "exit(0);"),
}


@pytest.mark.parametrize("where", EXITS)
def test_an_exit_in_a_library_is_no_success(cli: Cli, build: Build, where: str) -> None:
    library = build(EXITS[where])
    done = cli("run", "short.toml", "--set", "queue.scheme=my-fifo", "--scheme-lib", library)
    assert done.returncode == -6
    assert done.stderr.endswith("error: a function of a scheme library called exit\n")


def test_a_library_that_never_returns_holds_up_no_signal(cli: Cli, build: Build) -> None:
    endless = build(
        ("*found = fifo->packets > 0;", 'fclose(fopen("reached", "w")); for (;;) now_ps++;'),
        ("#include <math.h>", "#include <math.h>\n#include <stdio.h>"),
    )
    process = cli.start("run", "short.toml", "--set", "queue.scheme=my-fifo", "--scheme-lib", endless)
    wait_until((cli.folder / "reached").exists)
    assert ended(process, signal.SIGTERM).startswith("interrupted: 0 of 3 runs")


@pytest.fixture
def two_builds(build: Build) -> tuple[Path, Path]:
    """Two builds of a library; the second handles a full queue differently."""
    return build(), build(("fifo->packets >= fifo->most_packets", "fifo->packets + 1 >= fifo->most_packets"))


@pytest.mark.usefixtures("undrawn")
def test_results_name_the_build_and_a_store_never_mixes_two(
    cli: Cli, workdir: Path, two_builds: tuple[Path, Path]
) -> None:
    keys = set()
    for library in two_builds:
        sweep = workdir / "sweep.toml"
        sweep.write_text('scenario = "short.toml"\nreplications = 2\n[grid]\nqueue.scheme = ["my-fifo", "droptail"]\n')
        cli.output("sweep", "sweep.toml", "--scheme-lib", library, "--store", "store")
        result = cli.document("run", "short.toml", "--set", "queue.scheme=my-fifo", "--scheme-lib", library)
        built = result["scenario"]["queue"]["library"]
        assert re.fullmatch(r"my_schemes 0\.1\.0 sha256:[0-9a-f]{64}", built)
        keys.add(built)
    assert len(keys) == 2
    # Two points of my-fifo, and one of drop-tail, which does not depend on the library.
    assert len(contents(workdir / "store")) == 3
    for library in two_builds:
        planned = cli.document("sweep", "sweep.toml", "--scheme-lib", library, "--store", "store", "--dry-run")
        assert planned["missing"] == 0


def test_two_builds_in_one_process_do_not_mix(two_builds: tuple[Path, Path]) -> None:
    first = fairlane.run(scenario("my-fifo"), scheme_lib=two_builds[0])
    second = fairlane.run(scenario("my-fifo"), scheme_lib=two_builds[1])
    assert first.runs != second.runs
    one, other = json.loads(first.json()), json.loads(second.json())  # reads both scenarios again
    assert one["scenario"]["queue"]["library"] != other["scenario"]["queue"]["library"]
    again = fairlane.run(fairlane.Scenario.from_dict(one["scenario"]))
    assert again.runs == first.runs
    assert key(first.scenario_json) != key(second.scenario_json)


def test_a_scenario_of_a_build_that_is_not_loaded_is_refused(library: Path) -> None:
    fairlane.load_scheme_lib(library)
    table = json.loads(scenario("my-fifo").canonical())
    table["queue"]["library"] = "my_schemes 0.1.0 sha256:0"
    with pytest.raises(fairlane.ScenarioError, match=r'queue\.library: "my_schemes .* is another build than "my_sch'):
        fairlane.Scenario.from_dict(table).canonical()


def test_a_library_that_is_overwritten_in_place_is_not_taken_for_its_new_build(
    two_builds: tuple[Path, Path], tmp_path: Path
) -> None:
    mine = tmp_path / "libmine.so"
    shutil.copy(two_builds[0], mine)
    fairlane.run(scenario("my-fifo"), scheme_lib=mine)
    with mine.open("r+b") as file:  # like `cp`: overwrites the file while it is in use
        file.seek(0, os.SEEK_END)
        file.write(b"new build")
    with pytest.raises(fairlane.UserError, match=r"libmine\.so: was overwritten since it was loaded: start again"):
        fairlane.run(scenario("my-fifo"), scheme_lib=mine)


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Rust template, copied, and built in the project's target folder."""
    if shutil.which("cargo") is None:
        pytest.skip("no cargo")
    folder = tmp_path_factory.mktemp("template") / "my-schemes"
    shutil.copytree(EXAMPLES / "scheme-lib", folder, ignore=shutil.ignore_patterns("target"))
    manifest = folder / "Cargo.toml"
    manifest.write_text(manifest.read_text().replace("../../crates", str(ROOT / "crates")))
    target = ROOT / "target" / "scheme-lib"
    command = ["cargo", "build", "--quiet", "--locked", "--target-dir", target]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode and "failed to" in done.stderr and "network" in done.stderr:
        pytest.skip("the packages of the template cannot be fetched")
    assert done.returncode == 0, done.stderr
    return target / "debug" / "libmy_schemes.so"


@pytest.mark.long
def test_the_template_in_rust_runs_as_it_is(cli: Cli, template: Path) -> None:
    half = ["--set", "queue.scheme=half-full", "--scheme-lib", template]
    result = cli.document("run", "short.toml", *half)
    assert result["scenario"]["queue"]["library"].startswith("my-schemes 0.1.0 sha256:")
    for run in result["runs"]:
        (link,) = run["links"]
        # The default limit is 24 packets; packets that find 12 waiting are dropped.
        assert link["queue"]["max_packets"] == 12
        drops = {drop["reason"]: drop["packets"] for drop in link["drops"]}
        assert drops["aqm"] > 0
        assert drops["overlimit"] == drops["pushed_out"] == 0
    refused = cli.error("run", "short.toml", *half, "--set", "queue.part=0")
    assert refused.endswith("queue.part: 0 is out of range, it must be from 0.01 to 1.0")
