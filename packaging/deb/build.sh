#!/usr/bin/env bash
# build.sh BINARY FOLDER [VERSION]: puts fairlane-node into a Debian package in FOLDER; says which libraries it needs.
# Needs dpkg-deb, gzip and readelf only, so that it runs wherever the binary was built.
set -euo pipefail
binary=$(realpath "$1"); out=$(realpath -m "$2"); cd "$(dirname "$0")/../.."
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
install -d -m 755 "$tree/etc/fairlane" "$tree/usr/share/man/man8"
"$binary" man --out "$tree/usr/share/man/man8"
gzip -9n "$tree"/usr/share/man/man8/*.8
for shell in bash:bash-completion/completions/fairlane-node zsh:zsh/vendor-completions/_fairlane-node \
    fish:fish/vendor_completions.d/fairlane-node.fish; do
    install -d "$(dirname "$tree/usr/share/${shell#*:}")"
    "$binary" completions "${shell%%:*}" > "$tree/usr/share/${shell#*:}"
done
gzip -9nc CHANGELOG.md > "$doc/changelog.gz"
{ echo "Fairlane is under the Apache License 2.0 or the MIT licence, as you like."; echo; cat LICENSE-MIT; echo; cat LICENSE-APACHE; } > "$doc/copyright"

# Version symbols of glibc: the newest one is the oldest glibc that it runs on.
glibc=$(readelf --version-info --wide "$binary" | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -1 | sed s/GLIBC_//)
needed=$(readelf -d "$binary" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
depends="libc6 (>= $glibc)"
for library in $needed; do
    case $library in
    libelf.so.1) depends+=", libelf1 | libelf1t64" ;;
    libz.so.1) depends+=", zlib1g" ;;
    libgcc_s.so.1) depends+=", libgcc-s1" ;;
    libc.so.6 | libm.so.6 | ld-linux*) ;;
    *) echo "error: build.sh knows no package for $library" >&2; exit 1 ;;
    esac
done

install -d "$tree/DEBIAN"
install -m 755 -t "$tree/DEBIAN" packaging/deb/postinst packaging/deb/prerm packaging/deb/postrm
cat > "$tree/DEBIAN/control" <<END
Package: $package
Version: $version
Architecture: $architecture
Maintainer: The Fairlane authors <fairlane@example.org>
Depends: $depends
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
echo "glibc $glibc or newer; needs: $(echo $needed)" >&2
