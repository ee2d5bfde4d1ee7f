#!/bin/sh
# Updates the lock files of Python and of the separate workspaces after a change of dependencies; UPGRADE=1 upgrades
# all.
set -eu
cd "$(dirname "$0")/.."
command -v uv >/dev/null || { echo "error: make lock needs uv, such as from pip install uv" >&2; exit 1; }
export UV_CUSTOM_COMPILE_COMMAND='make lock'
lock() {
    name=$1; shift
    uv pip compile --quiet --universal --python-version 3.11 --generate-hashes ${UPGRADE:+--upgrade} "$@" \
        --output-file "requirements/$name.txt"
}
lock dev pyproject.toml --group dev
lock optional pyproject.toml --group dev --group optional --constraint requirements/dev.txt
lock site pyproject.toml --group site --constraint requirements/optional.txt
lock release --group release
for folder in fuzz examples/quic-stacks examples/scheme-lib; do
    cp Cargo.lock "$folder/"
    cargo metadata --quiet --manifest-path "$folder/Cargo.toml" --format-version 1 >/dev/null
done
