#!/bin/sh
# Builds dumbbell against the installed libns3-dev into target/ns3, and prints where it is. Exit 3: ns-3 is not here.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=$here/../../target/ns3
modules="ns3-core ns3-network ns3-internet ns3-point-to-point ns3-traffic-control ns3-applications"
if ! command -v pkg-config >/dev/null || ! pkg-config --exists $modules; then
    echo "ns-3 is not installed (on Debian and Ubuntu: apt install libns3-dev g++ pkg-config)" >&2
    exit 3
fi
if ! command -v "${CXX:-g++}" >/dev/null; then
    echo "no C++ compiler ${CXX:-g++}" >&2
    exit 3
fi
mkdir -p "$out"
program=$out/dumbbell
changed() { find "$here" \( -name '*.cc' -o -name '*.h' -o -name build.sh \) -newer "$program"; }
if [ ! -x "$program" ] || [ -n "$(changed)" ]; then
    # The package's own flags carry a broken -I and link twice; names of modules are all that is needed.
    ${CXX:-g++} -std=c++17 -O3 -DNDEBUG -Wall -Wextra -o "$program.new" "$here"/*.cc \
        $(for module in $modules; do printf -- '-l%s ' "$module"; done) >&2
    mv "$program.new" "$program"
fi
(cd "$out" && pwd)
