"""Code and lists of RFC clauses agree, and the check finds disagreements."""

import shutil
from pathlib import Path

import clauses

ROOT = clauses.ROOT


def problems(folder: Path, code: str, text: str = "Half of it goes.", **more: str) -> list[str]:
    """Inconsistencies that the check finds between one file of code and a list with one clause."""
    shutil.rmtree(folder / "site", ignore_errors=True)
    (folder / "site" / "data" / "clauses").mkdir(parents=True)
    (folder / "crates").mkdir(exist_ok=True)
    clause = "".join(f', {key} = "{value}"' for key, value in {"text": text, **more}.items())
    (folder / "site" / "data" / "clauses" / "rfc1.toml").write_text(
        f'title = "One"\nread = "1"\n[clauses]\n"1-1" = {{ level = "MUST"{clause} }}\n'
    )
    (folder / "crates" / "a.rs").write_text(code)
    return clauses.compare(folder)[1]


def test_each_clause_is_claimed_with_its_words_or_says_why_not_and_is_counted() -> None:
    rfcs, wrong = clauses.compare(ROOT)
    assert wrong == []
    assert sum(int(number) for row in clauses.counts(rfcs) for number in row[3:]) == len(clauses.rows(rfcs))
    assert {(row[0], row[1]) for row in clauses.rows(rfcs)} == {
        (number, key) for number, rfc in rfcs.items() for key in rfc.clauses
    }


def test_a_clause_that_no_code_claims_is_found(tmp_path: Path) -> None:
    assert len(problems(tmp_path, "fn f() {}")) == 1
    assert problems(tmp_path, "fn f() {}", unclaimed="no links here") == []
    assert len(problems(tmp_path, "//= RFC 1 1-1: Half of it goes.", unclaimed="no links here")) == 1


def test_other_words_and_clauses_that_the_list_lacks_are_found(tmp_path: Path) -> None:
    assert problems(tmp_path, "//= RFC 1 1-1: Half of it goes.") == []
    assert problems(tmp_path, "    //= RFC 1 1-1: Half of\n    //= it goes.\n    // Not this.") == []
    (wrong, unclaimed) = problems(tmp_path, "//= RFC 1 1-1: A third of it goes.")
    assert "crates/a.rs" in wrong
    assert "1-1" in unclaimed
    assert len(problems(tmp_path, "//= RFC 1 1-1: Half of it goes.\n//= RFC 1 1-2: All of it goes.")) == 1
    assert len(problems(tmp_path, "//= RFC 1 1-1: Half of it goes.\n//= RFC 2 1-1: Half of it goes.")) == 1


def test_a_deviation_that_the_head_of_the_module_hides_is_found(tmp_path: Path) -> None:
    code = "fn f() {\n    //= RFC 1 1-1, deviation: Half of it goes.\n}\n"
    assert len(problems(tmp_path, code)) == 1
    assert len(problems(tmp_path, code.replace("deviation", "by share"))) == 1
    head = "//! Deviations:\n//! 1. A third goes, not half (RFC 1 section 1).\n"
    assert problems(tmp_path, head.replace("RFC 1", "RFC\n//!    1") + code) == []
    assert problems(tmp_path, head + code) == problems(tmp_path, head + code.replace("deviation", "by share")) == []
    assert clauses.compare(tmp_path)[0]["1"].clauses["1-1"].by == ["crates/a.rs: share"]
