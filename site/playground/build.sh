#!/bin/sh
# Builds the playground, dist/playground.html: the simulator as WebAssembly, and its page.
set -eu
cd "$(dirname "$0")"
[ -d "$(rustc --print sysroot)/lib/rustlib/wasm32-unknown-unknown" ] \
    || { echo "error: no target for browsers: rustup target add wasm32-unknown-unknown" >&2; exit 1; }
(cd ../.. && cargo build --quiet --package fairlane-wasm --target wasm32-unknown-unknown --profile playground)
node node_modules/typescript/bin/tsc
node build/page.mjs
