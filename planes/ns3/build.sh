#!/bin/sh
# Builds the module's tests and example against the installed libns3-dev and Fairlane's C interface into
# target/ns3-module, and prints their paths. $FAIRLANE_CAPI: an existing static library of that interface. Exit code 3:
# ns-3 is missing.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$(dirname "$here")")
target=${CARGO_TARGET_DIR:-$root/target}
# ns-3 has the headers of all modules in one folder.
include=$target/ns3-module/include
mkdir -p "$include/ns3"
ln -sf "$here"/model/*.h "$root/crates/capi/include/fairlane.h" "$include/ns3/"
library=${FAIRLANE_CAPI:-$target/release/libfairlane_capi.a}
[ -n "${FAIRLANE_CAPI:-}" ] || cargo build --quiet --release --manifest-path "$root/Cargo.toml" --package fairlane-capi >&2
build() {
    program=$target/ns3-module/$1
    shift
    "$here/compile.sh" "$program" -I "$include" "$@" \
        "$here"/model/*.cc "$library"
}
build fairlane-sharing "$here/examples/fairlane-sharing.cc"
build fairlane-test "$here"/test/*.cc "$here"/test/standalone/main.cc
(cd "$target/ns3-module" && pwd)
