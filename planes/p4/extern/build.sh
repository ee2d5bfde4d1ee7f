#!/bin/sh
# Builds the externs of abc_extern.p4 for BMv2 and prints the library; $BMV2_INCLUDE: folders of its headers.
set -eu
cd "$(dirname "$0")/../../.."
found=
for folder in ${BMV2_INCLUDE:-} /usr/local/include /usr/include; do
    [ ! -f "$folder/bm/bm_sim/extern.h" ] || found=yes
done
if [ -z "$found" ]; then
    echo "p4-extern: skipped, no bm/bm_sim/extern.h of BMv2; set BMV2_INCLUDE to its folders"
    exit 0
fi
cargo build --release --quiet --package fairlane-capi
target=${CARGO_TARGET_DIR:-target}/release
for folder in ${BMV2_INCLUDE:-}; do set -- "$@" -isystem "$folder"; done
${CXX:-c++} -std=c++17 -O2 -Wall -Wextra -fPIC -shared "$@" -I crates/capi/include \
    -o "$target/fairlane_extern.so" planes/p4/extern/fairlane_extern.cpp "$target/libfairlane_capi.a"
echo "$target/fairlane_extern.so"
