#!/usr/bin/env bash
# archives.sh: prints the folder of the archives of libelf and zlib if they are there and need nothing beside, else why not.
set -euo pipefail
folder=$(pkg-config --variable=libdir libelf)
for flag in $(pkg-config --static --libs-only-l libelf); do
    [[ $flag == -lelf || $flag == -lz ]] || { echo "libelf stays beside the binary: its archive needs $flag" >&2; exit 0; }
    [[ -e $folder/lib${flag#-l}.a ]] || { echo "libelf stays beside the binary: no $folder/lib${flag#-l}.a" >&2; exit 0; }
done
echo "$folder"
