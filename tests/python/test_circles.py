"""No files import each other in a cycle. The check also finds cycles through re-exports, and ignores tests."""

import re
from pathlib import Path

import pytest

import circles

ROOT = Path(__file__).parents[2]
SCHEMES = {"label", "aqm", "fairqueue"}
PARTS = {"base", "flows", "measure", "queue", "contract"}
BELOW = {
    "base": set[str](),
    "flows": {"base"},
    "measure": {"base"},
    "fixed": {"base"},
    "contract": {"base"},
    "queue": {"base", "contract"},
    "port": {"base", "contract"},
    **dict.fromkeys(SCHEMES, PARTS | SCHEMES),
    "registry": PARTS | SCHEMES,
    "testing": PARTS | {"registry"},
}
"""Folders of crates/schemes/src, each with the folders from which it may import. The folder `contract` imports no
scheme, and no folder imports `testing`."""
LAYERS = {"lib.rs": "mod a; mod b;", "a.rs": "pub struct A;", "b.rs": "use crate::a::A;\npub struct B(A);"}


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.mark.parametrize(
    "a",
    [
        "use crate::b::B;",
        "use crate::{b::{B as Other}};",
        "use super::b;",
        "fn f() -> crate::b::B { todo!() }",
        "use crate::door::B;",
        "use crate::door;\nfn f(_: door::B) {}",
        "use crate::door::*;",
        "use crate::prelude::*;",
    ],
)
def test_a_circle_of_rust_files_is_found(tmp_path: Path, a: str) -> None:
    files = {
        **LAYERS,
        "a.rs": f"{a}\npub struct A;",
        "door.rs": "pub use crate::b::*;",
        "prelude.rs": "pub use crate::b::B;",
    }
    circle = circles.a_circle(written(tmp_path, files))
    assert circle is not None
    assert {path.name for path in circle} == {"a.rs", "b.rs"}


@pytest.mark.parametrize(
    "a",
    [
        "#[cfg(test)]\nmod tests;",
        "#[cfg(test)]\nmod tests { use crate::b::B; }",
        "#[cfg(test)]\nuse crate::b::B;",
        "// use crate::b::B;",
    ],
)
def test_tests_and_comments_are_no_part_of_the_house(tmp_path: Path, a: str) -> None:
    files = {**LAYERS, "a.rs": f"pub struct A;\n{a}", "a/tests.rs": "use crate::b::B;"}
    assert circles.a_circle(written(tmp_path, files)) is None


@pytest.mark.parametrize("room", circles.ROOMS)
def test_no_room_has_a_circle_of_files(room: str) -> None:
    assert circles.a_circle(ROOT / room) is None


def test_rooms_of_the_schemes_take_from_those_below_them_alone() -> None:
    folder = ROOT / "crates/schemes/src"
    found = {
        (path.relative_to(folder).parts[0], taken.relative_to(folder).parts[0])
        for path, others in circles.arrows(folder).items()
        for taken in others
        if taken.parent != folder
    }
    assert {(room, below) for room, below in found if room != below and below not in BELOW[room]} == set()
    assert ("registry", "label") in found


def test_every_file_of_tests_is_a_module_of_one_binary() -> None:
    roots = [main.parent for main in ROOT.glob("crates/*/tests/main.rs")]
    assert len(roots) == 4
    for root in roots:
        modules = [
            name for main in root.glob("main*.rs") for name in re.findall(r"^mod (\w+);", main.read_text(), re.M)
        ]
        files = [path.stem for path in root.glob("*.rs") if not path.stem.startswith("main")]
        assert [file for file in files if modules.count(file) != 1] == [], root
