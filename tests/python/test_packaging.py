"""Tests the contents of a release: version numbers, recipe, sdist and crates; the long tests also check the wheel."""

import re
import shutil
import tarfile
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement

import fairlane
import playground
from conftest import ROOT, execute

CARGO: dict[str, Any] = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
RECIPE = (ROOT / "packaging" / "conda" / "meta.yaml").read_text()
CONDA_NAMES = {"matplotlib": "matplotlib-base"}
"""Packages with another name on conda-forge; `-base` has no GUI toolkit."""


def published() -> dict[str, dict[str, Any]]:
    """Manifests of the crates for a registry."""
    manifests = {file: tomllib.loads(file.read_text()) for file in sorted((ROOT / "crates").glob("*/Cargo.toml"))}
    own = {file.parent.name: manifest for file, manifest in manifests.items() if "publish" not in manifest["package"]}
    assert own
    return own


def test_all_versions_are_one() -> None:
    version = CARGO["package"]["version"]
    assert fairlane.__version__ == version
    own = {name: told for name, told in CARGO["dependencies"].items() if name.startswith("fairlane-")}
    assert {told["version"] for told in own.values()} == {f"={version}"}
    assert f'{{% set version = "{version}" %}}' in RECIPE


def test_the_recipe_of_conda_needs_what_the_package_needs() -> None:
    (run,) = re.findall(r"^  run:\n((?:    - .*\n)+)", RECIPE, re.MULTILINE)
    needed = [line.removeprefix("    - ") for line in run.splitlines()]
    wanted = [Requirement(line) for line in PROJECT["dependencies"]]
    assert needed == ["python", *(f"{CONDA_NAMES.get(one.name, one.name)} {one.specifier}" for one in wanted)]
    build = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    for requirement in map(Requirement, build):
        bounds = ",".join(sorted(map(str, requirement.specifier), reverse=True))
        assert f"    - {requirement.name} {bounds}\n" in RECIPE
    assert f"python-abi3 {PROJECT['requires-python'].removeprefix('>=')}.*" in RECIPE
    for licence in re.findall(r"- (LICENSE-\S+)", RECIPE):
        assert (ROOT / licence).is_file()
    assert f"license: {PROJECT['license']}\n" in RECIPE
    assert PROJECT["description"] in RECIPE


@pytest.mark.skipif(shutil.which("cargo") is None, reason="no cargo")
@pytest.mark.parametrize("crate", published())
def test_a_published_crate_packs_what_it_is_built_from(crate: str) -> None:
    manifest = published()[crate]
    assert {"license", "description"} <= manifest["package"].keys()
    needs = {name for table in ("dependencies", "dev-dependencies") for name in manifest.get(table, {})}
    names = {own["package"]["name"] for own in published().values()}
    assert {name for name in needs if name.startswith("fairlane-")} <= names
    command = ["cargo", "package", "--list", "--allow-dirty", "--offline", "--package", manifest["package"]["name"]]
    done = execute(*command, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    packed = set(done.stdout.split())
    folder = ROOT / "crates" / crate
    sources = {str(file.relative_to(folder)) for file in (folder / "src").rglob("*.rs")}
    assert sources | {"Cargo.toml", "Cargo.lock"} <= packed


def test_the_sdist_has_the_sources_and_the_lock_of_the_engine(tmp_path: Path) -> None:
    done = execute(Path(shutil.which("maturin") or ROOT / ".venv/bin/maturin"), "sdist", "--out", tmp_path, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    (sdist,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    folder = tmp_path / sdist.name.removesuffix(".tar.gz")
    assert (folder / "Cargo.lock").read_bytes() == (ROOT / "Cargo.lock").read_bytes()
    for crate in ("schemes", "sim"):  # the engine's fingerprint covers these
        for file in (ROOT / "crates" / crate / "src").rglob("*.rs"):
            assert (folder / file.relative_to(ROOT)).read_bytes() == file.read_bytes()
    for file in (ROOT / "planes/linux").iterdir():  # symbolic links in the repository
        assert (folder / "python/fairlane/kernel/guest" / file.name).read_bytes() == file.read_bytes()
    for file in ("README.md", "LICENSE-MIT", "LICENSE-APACHE", "python/fairlane/suites/fairlane-1.0/cheats/flood.toml"):
        assert (folder / file).is_file()


@pytest.mark.skipif(shutil.which("cargo") is None, reason="no cargo")
def test_the_allocator_of_the_package_compiles_where_there_are_no_large_pages() -> None:
    target = "wasm32-unknown-unknown"
    sysroot = execute("rustc", "--print", "sysroot", cwd=ROOT).stdout.strip()
    if not (Path(sysroot) / "lib/rustlib" / target).is_dir():
        pytest.skip(f"no {target}: rustup target add {target}")
    done = execute("cargo", "check", "--package", "fairlane-memory", "--tests", "--target", target, cwd=ROOT)
    assert done.returncode == 0, done.stderr


@pytest.mark.long
def test_a_release_builds_and_its_wheel_runs() -> None:
    if reason := playground.missing():
        pytest.skip(reason)
    out = ROOT / "dist"
    done = execute("make", "wheels", cwd=ROOT, timeout_s=1800)
    if done.returncode and ("Could not find a version" in done.stderr or "Temporary failure" in done.stderr):
        pytest.skip("what builds a release cannot be fetched")
    if done.returncode and "rustup component add llvm-tools" in done.stderr:
        pytest.skip("the wheel is trained: rustup component add llvm-tools")
    assert done.returncode == 0, done.stderr
    kinds = {"".join(file.suffixes[-2:]) for file in out.iterdir()}
    assert len(list(out.glob("*.whl"))) == len(list(out.glob("*.tar.gz"))) == 1, kinds
    assert len(list(out.glob("*.cdx.json"))) == 2
    checked = execute("sha256sum", "--check", "--quiet", "SHA256SUMS", cwd=out)
    assert checked.returncode == 0, checked.stdout


@pytest.mark.long
def test_the_crates_can_be_published() -> None:
    done = execute("make", "crates", cwd=ROOT, timeout_s=1800)
    assert done.returncode == 0, done.stderr
