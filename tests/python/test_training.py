"""The profiles for profile-guided optimisation have the path at which the build of the wheel looks for them."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import training
import wheels

WORKSPACE = {
    "Cargo.toml": '[workspace]\nmembers = ["bench", "py"]\nresolver = "3"\n',
    "bench/Cargo.toml": '[package]\nname = "fairlane-bench"\nedition = "2024"\n',
    "bench/src/bin/measure.rs": "#[inline(never)]\nfn often() { std::hint::black_box(1); }\nfn main() { often() }\n",
    "py/Cargo.toml": '[package]\nname = "fairlane-py"\nedition = "2024"\n',
    "py/src/lib.rs": "",
}
"""A minimal workspace with these packages."""


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The workspace in a folder with a space in its name, instead of the repository."""
    if shutil.which("cargo") is None:
        pytest.skip("no cargo")
    try:
        training.llvm_profdata()
    except SystemExit as missing:
        pytest.skip(str(missing))
    root = tmp_path / "my sources"
    for name, content in WORKSPACE.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content)
    monkeypatch.setattr(training, "ROOT", root)
    return root


def test_what_is_private_has_its_counts_in_a_trained_build_and_would_not_in_an_incremental_one(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CARGO_INCREMENTAL", "1")
    monkeypatch.setattr(training, "documents", lambda: iter([{}]))
    settings = wheels.trained(training.counts(workspace / "target"))
    settings["CARGO_ENCODED_RUSTFLAGS"] += "\x1f-Cllvm-args=-pgo-warn-missing-function"

    def lacks_counts(**changes: str) -> bool:
        command = ["cargo", "build", "--release", "--package", "fairlane-bench"]
        environment = os.environ | settings | changes
        done = subprocess.run(command, cwd=workspace, env=environment, check=True, capture_output=True, text=True)
        assert "Compiling fairlane-bench" in done.stderr
        return re.search("no profile data available for function .*often", done.stderr) is not None

    assert not lacks_counts()
    assert lacks_counts(CARGO_INCREMENTAL="1")
