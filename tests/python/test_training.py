"""The program that counts for trained builds: counts come where they are looked for."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
import training

WORKSPACE = {
    "Cargo.toml": '[workspace]\nmembers = ["bench", "py"]\nresolver = "3"\n',
    "bench/Cargo.toml": '[package]\nname = "fairlane-bench"\nedition = "2024"\n',
    "bench/src/bin/measure.rs": "fn main() {}\n",
    "py/Cargo.toml": '[package]\nname = "fairlane-py"\nedition = "2024"\n',
    "py/src/lib.rs": "",
}
"""As small as a workspace with these packages can be."""


@pytest.mark.skipif(shutil.which("cargo") is None, reason="no cargo")
def test_counts_may_lie_in_a_folder_with_a_space_in_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        training.llvm_profdata()
    except SystemExit as missing:
        pytest.skip(str(missing))
    for name, content in WORKSPACE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    monkeypatch.setattr(training, "ROOT", tmp_path)
    out = tmp_path / "my counts"
    program = training.counting_program(out, out / "raw", None)
    subprocess.run([program], check=True)
    assert list((out / "raw").glob("*.profraw"))
