# Requirements of a binary, by readelf; sourced by build.sh and test.sh.

libraries_of() { readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort; }
# The newest version symbol of glibc is the oldest glibc that the binary runs on.
glibc_of() { readelf --version-info --wide "$1" | grep -o 'GLIBC_[0-9.]*' | sort -Vu | tail -1 | sed s/GLIBC_//; }
# True if libelf is linked statically.
is_static() { ! libraries_of "$1" | grep '^libelf\.so' >/dev/null; }
# Prints the binary's line of the table in docs/node.md, "Install".
needs_of() {
    local linked=dynamically beyond_glibc
    ! is_static "$1" || linked=statically
    beyond_glibc=$(libraries_of "$1" | grep -vE '^(libc|libm|ld-linux.*)\.so' | sed 's/.*/`&`/' | paste -sd, | sed 's/,/, /g')
    echo "| linked $linked | $(glibc_of "$1") | $beyond_glibc |"
}
