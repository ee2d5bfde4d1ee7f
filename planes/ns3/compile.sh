#!/bin/sh
# compile.sh PROGRAM ARGUMENT...: compiles the given sources that have changed or are next to a changed header. Links
# them with the given libraries against the installed libns3-dev. $CXXFLAGS replaces -O3. Exit code 3: ns-3 or a compiler
# is missing.
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
folder=$(dirname "$program")
mkdir -p "$folder"

# is_older RESULT FILE...: true if RESULT is missing, or older than a file or a header next to it.
is_older() {
    result=$1
    shift
    [ -e "$result" ] || return 0
    for file in "$@"; do
        case $file in
            *.cc) [ -z "$(find "$(dirname "$file")" -name '*.h' -newer "$result")" ] || return 0 ;;
        esac
        case $file in
            *.cc | *.a | *.o | *.sh) [ -z "$(find "$file" -newer "$result")" ] || return 0 ;;
        esac
    done
    return 1
}

# compile SOURCE OBJECT ARGUMENT...
compile() {
    source=$1 object=$2
    shift 2
    for argument; do
        shift
        case $argument in
            *.cc | *.a) ;;
            *) set -- "$@" "$argument" ;;
        esac
    done
    ${CXX:-g++} -std=c++17 ${CXXFLAGS:--O3} -DNDEBUG -Wall -Wextra "$@" -c -o "$object.new" "$source" >&2
    mv "$object.new" "$object"
}

# Programs of one folder share object files of common sources. All necessary compilations run concurrently.
jobs=
for source; do
    case $source in
        *.cc)
            object=$folder/$(basename "$source" .cc).o
            if is_older "$object" "$0" "$source"; then
                compile "$source" "$object" "$@" &
                jobs="$jobs $!"
            fi
            ;;
    esac
done
for job in $jobs; do
    wait "$job"
done

for argument; do
    shift
    case $argument in
        *.cc) set -- "$@" "$folder/$(basename "$argument" .cc).o" ;;
        *.a) set -- "$@" "$argument" ;;
    esac
done
if is_older "$program" "$0" "$@"; then
    # The package's own flags contain a broken -I and link twice; the names of the modules suffice.
    ${CXX:-g++} -o "$program.new" "$@" $(for module in $modules; do printf -- '-l%s ' "$module"; done) >&2
    mv "$program.new" "$program"
fi
