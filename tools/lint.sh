#!/bin/sh
# lint.sh lint-rust|lint-python|format: checks or formats the code; $EBPF: features of the kernel programs.
set -eu
cd "$(dirname "$0")/.."
set -x
bin=$PWD/.venv/bin
python="python tests benches site tools"
alone="examples/quic-stacks examples/scheme-lib"
case $1 in
    lint-rust)
        cargo fmt --all --check
        for folder in $alone; do (cd "$folder" && cargo fmt --check); done
        cargo clippy --workspace --all-targets ${EBPF:=} --quiet -- -D warnings
        cargo clippy --workspace --test live $EBPF --quiet -- -D warnings ;;
    lint-python)
        "$bin/ruff" format --check --quiet $python
        "$bin/ruff" check --quiet $python
        "$bin/mypy"
        "$bin/mypy" tools/*.py site/*.py
        echo fairlane._fairlane.__all__ | "$bin/stubtest" fairlane._fairlane --allowlist /dev/stdin
        "$bin/lint-imports"
        "$bin/python" tools/line_lengths.py
        "$bin/python" tools/generate.py --check ;;
    format)
        cargo fmt --all
        for folder in $alone; do (cd "$folder" && cargo fmt); done
        "$bin/ruff" format $python
        "$bin/python" tools/generate.py
        "$bin/python" tools/notebook.py
        "$bin/ruff" check --fix $python ;;
    *)
        echo "error: $1: no such target" >&2
        exit 2 ;;
esac
