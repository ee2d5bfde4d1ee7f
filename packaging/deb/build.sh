#!/usr/bin/env bash
# build.sh BINARY FOLDER [VERSION]: packs fairlane-node into a Debian package in FOLDER; prints the libraries that it
# needs. Requires only dpkg, gzip and readelf, so that it runs wherever the binary was built. It must run there, since
# the package names the sources of the libraries in the binary.
set -euo pipefail
binary=$(realpath "$1"); out=$(realpath -m "$2"); cd "$(dirname "$0")/../.."
. packaging/deb/needs.sh
version=${3:-$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)}
architecture=$(dpkg --print-architecture)
package=fairlane-node
tree=$(mktemp -d); trap 'rm -rf "$tree"' EXIT
doc=$tree/usr/share/doc/$package

install -D -m 755 "$binary" "$tree/usr/sbin/fairlane-node"
[[ -z ${STRIP-yes} ]] || strip --strip-unneeded "$tree/usr/sbin/fairlane-node"
install -D -m 644 -t "$tree/lib/systemd/system" crates/node/share/*.service
install -D -m 644 -t "$doc/examples" examples/node/*.toml crates/node/share/grafana-dashboard.json \
    crates/node/share/prometheus-alerts.yml
# Same relative paths as in the repository, so that links work.
install -D -m 644 -t "$doc" docs/node.md docs/security.md
install -D -m 644 -t "$doc/howto" docs/howto/{failover,node-and-shaper,subscribers,two-routers}.md
man=$tree/usr/share/man
install -d -m 755 "$tree/etc/fairlane" "$man/man5" "$man/man8"
"$binary" man --out "$man/man8"
mv "$man"/man8/*.5 "$man/man5"
gzip -9n "$man"/man[58]/*
for shell in bash:bash-completion/completions/fairlane-node zsh:zsh/vendor-completions/_fairlane-node \
    fish:fish/vendor_completions.d/fairlane-node.fish; do
    install -d "$(dirname "$tree/usr/share/${shell#*:}")"
    "$binary" completions "${shell%%:*}" > "$tree/usr/share/${shell#*:}"
done
gzip -9nc CHANGELOG.md > "$doc/changelog.gz"
{
    echo "Fairlane is under the Apache License 2.0 or the MIT licence, at your choice."; echo
    cat LICENSE-MIT; echo; cat LICENSE-APACHE
    echo; echo "fairlane-node contains libbpf, under the two-clause BSD licence:"; echo
    cat packaging/deb/libbpf.BSD-2-Clause
} > "$doc/copyright"

glibc=$(glibc_of "$binary")
depends="libc6 (>= $glibc)" built_using=
for library in $(libraries_of "$binary"); do
    case $library in
    libelf.so.1) depends+=", libelf1 | libelf1t64" ;;
    libz.so.1) depends+=", zlib1g" ;;
    libgcc_s.so.1) depends+=", libgcc-s1" ;;
    libc.so.6 | libm.so.6 | ld-linux*) ;;
    *) echo "error: build.sh knows no package for $library" >&2; exit 1 ;;
    esac
done
# Statically linked libraries: their licences, and the versions of their sources, which the LGPL requires (version 3,
# section 4).
if is_static "$binary"; then
    source_of() { dpkg-query -W -f '${source:Package} (= ${source:Version})' "$1"; }
    built_using="Built-Using: $(source_of libelf-dev), $(source_of zlib1g-dev)"
    for library in libelf-dev zlib1g-dev; do install -m 644 "/usr/share/doc/$library/copyright" "$doc/copyright.$library"; done
    cat >> "$doc/copyright" <<END

It also contains libelf and zlib, unchanged, as packaged by Debian (${built_using#*: }).
libelf is used under the GNU Lesser General Public License, version 3 or later (/usr/share/common-licenses/LGPL-3, GPL-3),
zlib under its own licence. copyright.libelf-dev and copyright.zlib1g-dev in this folder name the copyright holders.
The sources of these versions are at https://snapshot.debian.org; the sources of this version of Fairlane are public
too. With them, "make deb" links fairlane-node again with any installed libelf. You may modify libelf, and reverse
engineer the program to debug such modifications.
END
fi

install -d "$tree/DEBIAN"
install -m 755 -t "$tree/DEBIAN" packaging/deb/postinst packaging/deb/prerm packaging/deb/postrm
cat > "$tree/DEBIAN/control" <<END
Package: $package
Version: $version
Architecture: $architecture
Maintainer: The Fairlane authors <fairlane@example.org>
Depends: $depends${built_using:+
$built_using}
Recommends: iproute2
Section: net
Priority: optional
Installed-Size: $(du -sk --exclude=DEBIAN "$tree" | cut -f1)
Description: share the links of a Linux node fairly among users
 Meters users where they enter a network, labels their packets, and drops those
 of the more active ones first where a queue grows (activity-based congestion
 management, core-stateless fair queueing). The work is done by programs in the
 kernel (eBPF).
END
(cd "$tree" && find . -path ./DEBIAN -prune -o -type f -printf '%P\0' | sort -z | xargs -0 md5sum > DEBIAN/md5sums)
mkdir -p "$out"
file=$out/${package}_${version}_$architecture.deb
dpkg-deb --root-owner-group --build "$tree" "$file" >/dev/null
echo "$file"
echo "needs: $depends" >&2
