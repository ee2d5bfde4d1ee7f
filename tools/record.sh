#!/bin/sh
# record.sh TARGET: regenerates what Rust computes for tests and planes, after an intended change.
#   screen        table of shares of users under each scheme
#   vectors       golden vectors of all schemes
#   bpf-headers   tables and records of the kernel programs
#   p4-tables     tables of the integer arithmetic for the P4 programs
#   p4-vectors    golden vectors of the P4 programs on BMv2 (needs p4c, simple_switch and simple_switch_CLI)
set -eu
cd "$(dirname "$0")/.."
set -x
schemes="cargo run --quiet --package fairlane-schemes --example"
case $1 in
    screen)
        cargo test --quiet --package fairlane-sim --test integration screen -- --ignored ;;
    vectors)
        $schemes vectors -- tests/vectors ;;
    bpf-headers)
        $schemes c_header -- planes/bpf/generated/fixed_tables.h
        cargo run --quiet --package fairlane-node --example record_headers -- planes/bpf/generated ;;
    p4-tables)
        $schemes p4_tables -- planes/p4/generated ;;
    p4-vectors)
        $schemes p4_tables -- planes/p4/generated
        $schemes p4_vectors ;;
    *)
        echo "error: $1: no such target" >&2
        exit 2 ;;
esac
