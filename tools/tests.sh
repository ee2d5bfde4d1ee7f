#!/bin/sh
# tests.sh TARGET: runs the tests of a Makefile target. $EBPF has the features of the kernel programs.
set -eu
cd "$(dirname "$0")/.."
set -x
# Benchmarks and examples are compiled by the lints and not here again. All tests select the same packages, since another
# selection would make cargo compile libraries again with other features. The extension has no tests, but is selected
# for its features, so that it can use the libraries of the tests.
tested="--workspace --exclude fairlane-bench ${EBPF:=}"
case $1 in
    test-build)
        cargo test $tested --tests --quiet --no-run
        cargo test $tested --test live --quiet --no-run ;;
    test-rust)
        [ -n "$EBPF" ] || echo "kernel programs: not tested, needs clang, libelf, zlib and pkg-config"
        PROPTEST_RNG_SEED=1 PROPTEST_CASES=64 cargo test $tested --tests --no-fail-fast --quiet
        cargo test $tested --doc --no-fail-fast --quiet ;;
    test-live-rust)
        cargo test $tested --test live --no-fail-fast --quiet -- --test-threads 4 ;;
    test-python)
        .venv/bin/pytest --quiet --numprocesses auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder \
            -m 'not long and not live' ;;
    test-live-python)
        .venv/bin/pytest --quiet -m 'not long and live' ;;
    test-stacks)
        cd examples/quic-stacks
        if cargo fetch --locked --quiet; then cargo test --locked --quiet; \
        else echo "examples/quic-stacks: not tested, its packages cannot be fetched"; fi ;;
    test-long)
        target=${CARGO_TARGET_DIR:-$PWD/target}/scheme-lib
        (cd examples/scheme-lib && cargo clippy --quiet --locked --target-dir "$target" -- -D warnings)
        if [ -n "$EBPF" ]; then
            FAIRLANE_KILLS=120 cargo test $tested --test integration kills --quiet
            cargo test $tested --test integration --quiet -- --ignored sweep parsers
            FAIRLANE_SOAK_SECONDS=600 cargo test $tested --test live soak --quiet
            FAIRLANE_SUBSCRIBERS=20000 cargo test $tested --test live thousands --quiet -- --nocapture
            cargo test $tested --test live -- pop pilot --ignored --nocapture --test-threads 1
            cargo test $tested --test live live_labels --quiet -- --ignored --test-threads 1
            cargo test $tested --test live qdisc --quiet -- --ignored --nocapture
        fi
        cargo test $tested --tests --no-fail-fast --quiet
        cargo test --package fairlane-sim --lib --quiet -- --ignored
        PROPTEST_CASES=1500 cargo test --package fairlane-sim --lib --quiet any_loss_reordering_and_marking
        cargo test --package fairlane-sim --test integration --quiet -- --ignored
        cargo test --package fairlane-schemes --test integration --quiet -- --ignored
        .venv/bin/pytest --quiet -m long ;;
    *)
        echo "error: $1: no such target" >&2
        exit 2 ;;
esac
