#!/usr/bin/env bash
# test.sh BINARY: installs, upgrades, removes and purges the package in a temporary folder, never on this machine.
set -euo pipefail
. "$(dirname "$0")/needs.sh"
binary=$(realpath "$1"); here=$(dirname "$(realpath "$0")")
root=$(mktemp -d); trap 'rm -rf "$root"' EXIT
packages=$root.packages; trap 'rm -rf "$root" "$packages"' EXIT
fail() { echo "test.sh: $*" >&2; exit 1; }
# An empty dpkg database. Package scripts run without chroot, since the folder contains no shell.
mkdir -p "$root/var/lib/dpkg/"{info,updates} && touch "$root/var/lib/dpkg/"{status,available}
dpkg() { command dpkg --root="$root" --force-script-chrootless --force-depends --force-not-root --log="$root/log" "$@" >/dev/null 2>"$root/error" || fail "dpkg $*: $(cat "$root/error")"; }
owned() { (cd "$root" && find . -name '*fairlane*' -not -path './var/lib/dpkg*' | sort); }
for version in 0.0.1 0.0.2; do "$here/build.sh" "$binary" "$packages" $version >/dev/null 2>&1 || fail "build of $version"; done
deb() { echo "$packages"/fairlane-node_"$1"_*.deb; }

dpkg --install "$(deb 0.0.1)"
"$root/usr/sbin/fairlane-node" --version >/dev/null || fail "the installed tool does not run"
for file in lib/systemd/system/fairlane-node.service usr/share/man/man8/fairlane-node.8.gz \
    usr/share/man/man8/fairlane-node-attach.8.gz usr/share/man/man5/node.toml.5.gz \
    usr/share/bash-completion/completions/fairlane-node usr/share/doc/fairlane-node/node.md \
    usr/share/doc/fairlane-node/howto/two-routers.md usr/share/doc/fairlane-node/examples/every-key.toml usr/share/doc/fairlane-node/copyright; do
    [[ -s $root/$file ]] || fail "no $file"
done
# Links between the node's pages work in the package, and it contains every how-to of the node.
for page in $(cd "$here/../../docs" && grep -l fairlane-node howto/*.md | grep -vE '/(lab|p4|release)\.md$'); do
    [[ -s $root/usr/share/doc/fairlane-node/$page ]] || fail "no $page"
done
# The package contains the licences of the libraries in the binary, or depends on the libraries.
grep -q '^Copyright.*The Libbpf Authors' "$root/usr/share/doc/fairlane-node/copyright" || fail "no licence of libbpf"
if is_static "$binary"; then
    readelf --wide --symbols "$binary" | grep -E ' FUNC .* elf_begin$' >/dev/null || fail "libelf is neither within the binary nor needed"
    grep -qE '^Built-Using: elfutils \(= .*\), zlib \(= .*\)$' "$root/var/lib/dpkg/status" || fail "no sources of libelf and zlib"
    [[ -s $root/usr/share/doc/fairlane-node/copyright.libelf-dev ]] || fail "no licence of libelf"
else
    grep -q '^Depends: .*libelf1.*zlib1g' "$root/var/lib/dpkg/status" || fail "no dependency on libelf and zlib"
fi
# docs/node.md lists the requirements of a binary that was built on Debian 12.
needs=$(needs_of "$binary")
if [[ $(. /etc/os-release && echo "$ID ${VERSION_ID-}") == "debian 12" ]]; then
    grep -qxF "$needs" "$here/../../docs/node.md" || fail "docs/node.md, Install, lacks the line: $needs"
else
    echo "package: needs $needs, which docs/node.md says of Debian 12 alone"
fi
(cd "$root" && md5sum --quiet --check var/lib/dpkg/info/fairlane-node.md5sums) || fail "sums"
"$root/usr/sbin/fairlane-node" p4-commands --help >/dev/null
first=$(owned)

# The operator's files and the node's state survive an upgrade.
echo "# mine" > "$root/etc/fairlane/node.toml"
mkdir -p "$root/var/lib/fairlane" && touch "$root/var/lib/fairlane/subscribers.jsonl"
dpkg --install "$(deb 0.0.2)"
grep -q '^Version: 0.0.2' "$root/var/lib/dpkg/status" || fail "not upgraded"
[[ $(cat "$root/etc/fairlane/node.toml") == "# mine" ]] || fail "the upgrade changed the configuration"
[[ -e $root/var/lib/fairlane/subscribers.jsonl ]] || fail "the upgrade lost the subscribers"
[[ $(owned | grep -v '^./var/lib/fairlane') == "$first" ]] || fail "the upgrade left other files: $(owned)"

dpkg --remove fairlane-node
left=$(cd "$root" && find . -type f -not -path './var/lib/dpkg*' -not -name log -not -name error | sort)
[[ $left == $'./etc/fairlane/node.toml\n./var/lib/fairlane/subscribers.jsonl' ]] || fail "the removal left $left"
dpkg --purge fairlane-node
[[ -z $(owned) ]] || fail "the purge left $(owned)"
echo "package: installed, upgraded, removed, purged"
