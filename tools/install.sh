#!/bin/sh
# install.sh PYTHON MARK LOCK: installs the packages of a lock file into the virtual environment that contains MARK.
# Creates the environment first.
set -eu
python=$1 mark=$2 lock=$3
folder=$(dirname "$mark")
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
    || { echo "error: Fairlane needs Python 3.11 or newer, $python is older; set PYTHON=..." >&2; exit 1; }
[ -x "$folder/bin/python" ] || "$python" -m venv "$folder" \
    || { echo "error: Python has no venv module; on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
"$folder/bin/python" -m pip install --quiet --require-hashes --requirement "$lock"
touch "$mark"
