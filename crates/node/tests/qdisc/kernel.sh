#!/bin/sh
# Prints the folder of an unpacked Debian kernel that has BPF qdiscs. Downloads it into the cache the first time, with
# apt's archive keys. Renew the pin when Debian no longer has this version.
set -eu
package=linux-image-6.18.15+deb13-cloud-amd64
sha256=5a507681ea8c978d02265a7fec2f02c9588fb48b54b7f71edc1059e86007f3ec
suites="trixie-backports sid"

cache=${XDG_CACHE_HOME:-$HOME/.cache}/fairlane/machine
folder=$cache/$package
if [ ! -e "$folder/complete" ]; then
    work=$cache/work.$$
    trap 'rm -rf "$work"' EXIT
    mkdir -p "$work/lists/partial" "$work/apt/archives/partial"
    for suite in $suites; do
        echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian $suite main"
    done > "$work/sources.list"
    cd "$work"
    apt="-o Dir::Etc::SourceList=$work/sources.list -o Dir::Etc::SourceParts=/dev/null \
        -o Dir::State::Lists=$work/lists -o Dir::Cache=$work/apt -o APT::Sandbox::User=root"
    # shellcheck disable=SC2086 # the options are words
    apt-get $apt -qq update >&2
    # shellcheck disable=SC2086
    apt-get $apt -qq download "$package" >&2
    echo "$sha256 $(echo ./*.deb)" | sha256sum --check --quiet >&2
    rm -rf "$folder"
    dpkg-deb -x ./*.deb "$folder"
    touch "$folder/complete"
fi
echo "$folder"
