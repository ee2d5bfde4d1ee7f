#!/usr/bin/env bash
# archives.sh: prints the folder of the static libraries of libelf and zlib, if they exist and need no other library.
# Otherwise prints the reason.
set -euo pipefail
folder=$(pkg-config --variable=libdir libelf)
for flag in $(pkg-config --static --libs-only-l libelf); do
    [[ $flag == -lelf || $flag == -lz ]] || { echo "libelf is linked dynamically: its archive needs $flag" >&2; exit 0; }
    [[ -e $folder/lib${flag#-l}.a ]] || { echo "libelf is linked dynamically: no $folder/lib${flag#-l}.a" >&2; exit 0; }
done
echo "$folder"
