#!/bin/sh
# compile.sh PROGRAM ARGUMENT...: compiles and links the sources and libraries given against the installed libns3-dev, if
# one of them, or a header beside them, has changed. Exit 3: ns-3 or a compiler is not here.
set -eu
program=$1
shift
modules="ns3-core ns3-network ns3-internet ns3-point-to-point ns3-traffic-control ns3-applications"
if ! command -v pkg-config >/dev/null || ! pkg-config --exists $modules; then
    echo "ns-3 is not installed (on Debian and Ubuntu: apt install libns3-dev g++ pkg-config)" >&2
    exit 3
fi
if ! command -v "${CXX:-g++}" >/dev/null; then
    echo "no C++ compiler ${CXX:-g++}" >&2
    exit 3
fi
mkdir -p "$(dirname "$program")"
changed() {
    for argument in "$@"; do
        case $argument in
            *.cc) find "$(dirname "$argument")" -name '*.h' -newer "$program" ;;
        esac
        case $argument in
            *.cc | *.a | *.sh) find "$argument" -newer "$program" ;;
        esac
    done
}
if [ ! -x "$program" ] || [ -n "$(changed "$0" "$@")" ]; then
    # The package's own flags carry a broken -I and link twice; names of modules are all that is needed.
    ${CXX:-g++} -std=c++17 -O3 -DNDEBUG -Wall -Wextra -o "$program.new" "$@" \
        $(for module in $modules; do printf -- '-l%s ' "$module"; done) >&2
    mv "$program.new" "$program"
fi
