#!/usr/bin/env bash
# package.sh [BINARY]: builds the Debian package into target/deb and tests it; without BINARY builds fairlane-node
# first.
set -euo pipefail
cd "$(dirname "$0")/../.."
binary=${1:-target/release/fairlane-node}
if [[ $# == 0 ]]; then
    archives=$(packaging/deb/archives.sh)
    LIBBPF_SYS_LIBRARY_PATH=$archives cargo build --release --quiet --package fairlane-node \
        --features "$([[ $archives ]] && echo static || echo ebpf)"
fi
packaging/deb/build.sh "$binary" target/deb
packaging/deb/test.sh "$binary"
