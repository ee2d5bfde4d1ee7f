#!/bin/sh
# Builds dumbbell against the installed libns3-dev into target/ns3, and prints that path. Exit code 3: ns-3 is missing.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
"$root/planes/ns3/compile.sh" "$root/target/ns3/dumbbell" "$here"/*.cc
echo "$root/target/ns3"
