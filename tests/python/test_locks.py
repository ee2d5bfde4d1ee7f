"""Development dependencies are locked to allowed versions with hashes, and audited."""

import json
import re
import sys
import threading
import tomllib
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from conftest import ROOT, Done, execute

DECLARED = tomllib.loads((ROOT / "pyproject.toml").read_text())
PIN = re.compile(r"([A-Za-z0-9._-]+)==(\S+)(?: ; .*)? \\")
LOCKS = {"dev": ["dev"], "optional": ["dev", "optional"], "site": ["site"], "release": ["release"]}


def pins(lock: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in (ROOT / "requirements" / f"{lock}.txt").read_text().splitlines():
        if pin := PIN.fullmatch(line):
            found.setdefault(canonicalize_name(pin[1]), []).append(pin[2])
    return found


@pytest.mark.parametrize("lock", LOCKS)
def test_what_is_declared_is_locked_in_a_version_that_fits(lock: str) -> None:
    declared = [] if lock == "release" else [*DECLARED["project"]["dependencies"]]
    declared += DECLARED["build-system"]["requires"] if lock != "site" else []
    declared += [line for group in LOCKS[lock] for line in DECLARED["dependency-groups"][group]]
    locked = pins(lock)
    for requirement in map(Requirement, declared):
        versions = locked.get(canonicalize_name(requirement.name), [])
        assert versions, f"{requirement}: run make lock"
        assert all(requirement.specifier.contains(version) for version in versions), f"{requirement}: run make lock"


@pytest.mark.parametrize(("lock", "other"), [("optional", "dev"), ("site", "dev"), ("site", "optional")])
def test_locks_have_the_same_versions(lock: str, other: str) -> None:
    one, two = pins(lock), pins(other)
    both = one.keys() & (two.keys() if lock == "site" else one.keys() | two.keys())
    assert both
    assert {name: one.get(name) for name in both if name in two} == {name: two[name] for name in both if name in two}


@pytest.mark.parametrize("lock", LOCKS)
def test_every_version_has_hashes_and_comes_from_nowhere_in_particular(lock: str) -> None:
    text = (ROOT / "requirements" / f"{lock}.txt").read_text()
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    digest = re.compile(r"    --hash=sha256:[0-9a-f]{64}(?: \\)?")
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        assert PIN.fullmatch(line) or digest.fullmatch(line), line
        if PIN.fullmatch(line):
            assert digest.fullmatch(following), line
    # No registry host and no local path.
    assert "://" not in text
    assert "--index-url" not in text
    assert not re.search(r"(^|\s)/\w", text)


def rust_lock(path: str) -> dict[str, dict[str, dict[str, Any]]]:
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for package in tomllib.loads((ROOT / path).read_text())["package"]:
        found.setdefault(package["name"], {})[package["version"]] = package
    return found


@pytest.mark.parametrize(("folder", "dependency"), [("fuzz", "libfuzzer-sys"), ("examples/quic-stacks", "quinn-proto")])
def test_workspaces_of_their_own_are_locked_to_what_the_workspace_has(folder: str, dependency: str) -> None:
    workspace, lock = rust_lock("Cargo.lock"), rust_lock(f"{folder}/Cargo.lock")
    assert {dependency, "fairlane-sim", "fairlane-schemes"} <= lock.keys()
    # A dependency may need another version of a crate, but the project's own versions must be equal in both locks.
    for name in lock.keys() & workspace.keys():
        assert lock[name].keys() & workspace[name].keys(), f"{name}: run make lock"
    for name in ("fairlane-sim", "fairlane-schemes"):
        own, theirs = (
            {one.split()[0] for one in next(iter(found[name].values()))["dependencies"]} for found in (lock, workspace)
        )
        declared = tomllib.loads((ROOT / "crates" / name.removeprefix("fairlane-") / "Cargo.toml").read_text())
        # The workspace's entry also has the dependencies of tests.
        assert declared["dependencies"].keys() <= own <= theirs, "run make lock"


Answer = Callable[[str, Any], Any]


@pytest.fixture
def advisories() -> Iterator[Callable[[Answer], str]]:
    """Serves answers like OSV; returns the address."""
    servers: list[ThreadingHTTPServer] = []

    def serve(answer: Answer) -> str:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer(None)

            def do_POST(self) -> None:
                self._answer(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

            def _answer(self, question: Any) -> None:
                body = answer(self.path, question)
                self.send_response(200 if isinstance(body, dict) else 500)
                self.end_headers()
                self.wfile.write(json.dumps(body).encode())

            def log_message(self, *_: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{server.server_port}/v1"

    yield serve
    for server in servers:
        server.shutdown()
        server.server_close()


def audit(address: str) -> Done:
    return execute(sys.executable, ROOT / "tools" / "audit.py", env={"OSV_API": address, "no_proxy": "*"})


UNMAINTAINED = [{"database_specific": {"informational": "unmaintained"}}]


@pytest.mark.parametrize(
    ("culprit", "advisory", "code"),
    [
        ("serde_json", {"summary": "Reads past the end."}, 1),
        ("click", {"summary": "Left alone.", "affected": UNMAINTAINED}, 0),
        ("numpy", {"summary": "An error.", "withdrawn": "2020-01-01T00:00:00Z"}, 0),
    ],
    ids=["vulnerable", "unmaintained", "withdrawn"],
)
def test_the_audit_fails_on_a_known_vulnerability_alone(
    culprit: str, advisory: dict[str, Any], code: int, advisories: Callable[[Answer], str]
) -> None:
    asked: list[tuple[str, str]] = []

    def answer(path: str, question: Any) -> Any:
        if path.startswith("/v1/vulns/"):
            return advisory
        packages = [(query["package"]["ecosystem"], query["package"]["name"]) for query in question["queries"]]
        asked.extend(packages)
        return {"results": [{"vulns": [{"id": "X-1"}]} if name == culprit else {} for _, name in packages]}

    done = audit(advisories(answer))
    assert done.returncode == code, done.stdout + done.stderr
    assert {("PyPI", "click"), ("PyPI", "ray"), ("crates.io", "serde"), ("crates.io", "libfuzzer-sys")} <= {*asked}
    assert ("X-1" in done.stdout) == ("withdrawn" not in advisory)


def test_an_audit_without_data_says_that_it_was_skipped(advisories: Callable[[Answer], str]) -> None:
    # Tries a port without a listener, a server that fails, and a server with an unexpected answer.
    for address in ("http://127.0.0.1:1/v1", advisories(lambda *_: []), advisories(lambda *_: {"no": "results"})):
        done = audit(address)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.startswith(f"audit: skipped, the advisories of {address} cannot be read: ")
