# Fairlane: `make` lists what there is to do.

PYTHON  ?= $(shell command -v python3.11 || command -v python3)
VENV    := .venv
RELEASE := target/release-tools
PUBLISHED := fairlane-schemes fairlane-plugin fairlane-libreqos fairlane-sim fairlane-capi
BIN     := $(VENV)/bin
PAPER_FIGURES := abc2018.fig4a
RUST    := $(shell find crates -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock
# The kernel programs are built and tested where their tools are: clang, and the libraries of libbpf.
EBPF    := $(shell command -v clang >/dev/null && pkg-config --exists libelf zlib 2>/dev/null && echo --features fairlane-node/ebpf)
# Controllers of QUIC stacks, in a workspace of its own with a configuration of cargo in its folder.
STACKS  := examples/quic-stacks
# The template of a library of schemes, in a workspace of its own as where it is copied to.
TEMPLATE := examples/scheme-lib
SITE_ALONE := $(filter 0,$(PLAYGROUND))
# Benchmarks, examples and the extension, which has no tests of its own, are compiled by the lints and not here again.
TESTED  := --workspace --exclude fairlane-bench --exclude fairlane-py
LOCK    := UV_CUSTOM_COMPILE_COMMAND='make lock' uv pip compile --quiet --universal --python-version 3.11 --generate-hashes $(if $(UPGRADE),--upgrade) pyproject.toml
export VIRTUAL_ENV := $(CURDIR)/$(VENV)

.DEFAULT_GOAL := help
.PHONY: help training wheels crates playground setup deb demo reproduce league test test-build test-live test-live-python test-live-rust test-python test-rust lint lint-python lint-rust format audit fuzz lock ns3 bench bpf-headers clauses coverage docs figures node p4-extern p4-tables p4-vectors screen site site-links test-long test-stacks vectors verdicts clean pages

help: ## List the targets
	@grep -hE '^[a-z0-9%-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20

setup: $(VENV)/.extension ## Prepare .venv: afterwards the command is .venv/bin/fairlane

demo: setup ## Reproduce figure 4 (a) and (b) of abc2018 in full: claims table and figures
	$(BIN)/fairlane reproduce abc2018.fig4a abc2018.fig4b --replications 10 --out results/demo

reproduce: setup ## Reproduce all papers: claims, figures, points in results/; QUICK=1 for a first look, CHECK=1 to compare
	$(BIN)/fairlane reproduce all $(if $(QUICK),--quick) $(if $(CHECK),--check)

verdicts: setup ## Reproduce all papers, make the verdicts the expected ones, write them into the documentation
	$(BIN)/fairlane reproduce all --write-verdicts
	$(BIN)/python tools/generate.py

figures: setup ## Draw the figure of a paper that the README shows, and that of all pairs of senders, into docs/figures/
	$(BIN)/fairlane report $(PAPER_FIGURES) --run --out results/figures
	cp $(PAPER_FIGURES:%=results/figures/%.png) docs/figures/
	$(BIN)/fairlane pairs --out results/pairs
	cp results/pairs/pairs.png results/pairs/pairs.csv docs/figures/
	$(BIN)/python tools/generate.py

league: setup ## Evaluate all schemes on the whole suite (an hour of both cores at most), make the results the committed ones, draw them
	$(BIN)/fairlane evaluate all --write-league --out results/evaluation
	for name in share-delay share-state edge-core; do cp results/evaluation/$$name.png docs/figures/evaluation-$$name.png || exit 1; done
	$(BIN)/python tools/generate.py

# Lanes run at the same time, so that compilers and tests share the processors; each step runs whatever became of those
# before it. Tests on real links mostly wait.
LIVE_LANE := "test-live-rust test-live-python"
test: ## Run lint and tests, Rust and Python, and count them; LIVE=1 adds those of test-live; test-long has the longest
	@$(PYTHON) tools/run_tests.py "lint-rust test-rust" "setup lint-python test-python" $(if $(LIVE),$(LIVE_LANE))

test-live: setup ## Run the tests on real links and in real time (root, namespaces; skipped without)
	@$(PYTHON) tools/run_tests.py $(LIVE_LANE)

test-build: ## Build the tests of Rust, and run none
	cargo test $(TESTED) $(EBPF) --lib --bins --tests --quiet --no-run
	cargo test --package fairlane-node $(EBPF) --test live --quiet --no-run

test-rust: ## Run the tests of Rust
	$(if $(EBPF),,@echo "kernel programs: not tested, needs clang, libelf, zlib and pkg-config")
	PROPTEST_RNG_SEED=1 cargo test $(TESTED) $(EBPF) --lib --bins --tests --no-fail-fast --quiet
	cargo test $(TESTED) $(EBPF) --doc --no-fail-fast --quiet

test-python: setup ## Run the tests of Python
	$(BIN)/pytest --quiet --numprocesses auto --maxprocesses 4 --dist loadfile --no-loadscope-reorder -m 'not long and not live'

test-live-rust:
	cargo test --package fairlane-node $(EBPF) --test live --no-fail-fast --quiet -- --test-threads 4

test-live-python: setup
	$(BIN)/pytest --quiet -m 'not long and live'

test-stacks: ## Run the controllers of published QUIC stacks as senders; skipped if the registry cannot be reached
	@cd $(STACKS); if cargo fetch --locked --quiet; then cargo test --locked --quiet; \
	else echo "$(STACKS): not tested, its packages cannot be fetched"; fi

test-long: setup test-stacks ## Run the tests that are too long for every change: once a night
	cd $(TEMPLATE) && cargo clippy --quiet --locked --target-dir $${CARGO_TARGET_DIR:-$(CURDIR)/target}/scheme-lib -- -D warnings
	$(if $(EBPF),FAIRLANE_KILLS=120 cargo test --package fairlane-node $(EBPF) --test integration kills --quiet)
	$(if $(EBPF),FAIRLANE_SOAK_SECONDS=600 cargo test --package fairlane-node $(EBPF) --test live soak --quiet)
	$(if $(EBPF),cargo test --package fairlane-node $(EBPF) --test live -- pop pilot --ignored --nocapture --test-threads 1)
	$(if $(EBPF),cargo test --package fairlane-node $(EBPF) --test live live_labels --quiet -- --ignored --test-threads 1)
	cargo test --package fairlane-sim --lib --quiet -- --ignored
	cargo test --package fairlane-schemes --test integration --quiet -- --ignored
	$(BIN)/pytest --quiet -m long
	@$(MAKE) --no-print-directory site $(if $(shell command -v npm),,PLAYGROUND=0)

fuzz: setup ## Draw scenarios, sweeps and commands for an hour and run them: MINUTES=60, SEED= to repeat; see docs/howto/fuzz.md
	PYTHONPATH=tests $(BIN)/python -m fuzzer --minutes $(or $(MINUTES),60) $(if $(SEED),--seed $(SEED))

audit: ## Look up all locked packages, of Python and Rust, in the advisories of OSV; says so if these cannot be had
	@$(PYTHON) tools/audit.py

training: setup ## Count what the engine does often, for a build that is optimised for it: see docs/benchmarks.md (needs rustup's llvm-tools)
	$(BIN)/python tools/training.py

wheels: setup $(RELEASE)/.packages ## Build what a release publishes, into dist/: wheel for old and new glibc, trained, sdist, SBOMs, checksums; checks them
	$(BIN)/python tools/training.py --out target/training-wheel --target "$$(rustc --print host-tuple)"
	$(RELEASE)/bin/python tools/wheels.py --counts target/training-wheel/engine.profdata

crates: ## Check the crates that a release publishes: pack each, build it from its package, upload nothing (needs cargo 1.90)
	cargo publish --dry-run --allow-dirty --quiet $(addprefix --package ,$(PUBLISHED))

lock: ## Write the locks of Python, of the fuzz targets and of QUIC stacks anew, after a change of dependencies; UPGRADE=1 takes the newest (needs uv)
	@command -v uv >/dev/null || { echo "error: make lock needs uv, such as from pip install uv" >&2; exit 1; }
	$(LOCK) --group dev --output-file requirements/dev.txt
	$(LOCK) --group dev --group optional --constraint requirements/dev.txt --output-file requirements/optional.txt
	$(LOCK) --group site --constraint requirements/optional.txt --output-file requirements/site.txt
	UV_CUSTOM_COMPILE_COMMAND='make lock' uv pip compile --quiet --universal --python-version 3.11 --generate-hashes $(if $(UPGRADE),--upgrade) --group release --output-file requirements/release.txt
	for folder in fuzz $(STACKS) $(TEMPLATE); do cp Cargo.lock $$folder/ && cargo metadata --quiet --manifest-path $$folder/Cargo.toml --format-version 1 >/dev/null || exit 1; done

playground: site/playground/dist/playground.html ## Build the playground, one page for browsers: site/playground/dist/playground.html (needs npm and Rust's wasm32-unknown-unknown)

# The page, again when the simulator, the page or the chapters that it quotes change.
site/playground/dist/playground.html: site/playground/node_modules/.installed site/playground/equations.json $(RUST) $(shell find site/playground/src site/playground/build docs/schemes -type f 2>/dev/null)
	@[ -d "$$(rustc --print sysroot)/lib/rustlib/wasm32-unknown-unknown" ] \
		|| { echo "error: no target for browsers: rustup target add wasm32-unknown-unknown" >&2; exit 1; }
	cargo build --quiet --package fairlane-wasm --target wasm32-unknown-unknown --profile playground
	cd site/playground && node node_modules/typescript/bin/tsc && node build/page.mjs

site/playground/node_modules/.installed: site/playground/package-lock.json
	@command -v npm >/dev/null || { echo "error: make playground needs Node.js with npm" >&2; exit 1; }
	cd site/playground && npm ci --no-audit --no-fund --silent
	@touch $@

site: setup $(VENV)/.site ## Build the site, which needs no server: target/site/index.html; its links are checked; PLAYGROUND=0 leaves that out
	$(if $(SITE_ALONE),,@$(MAKE) --no-print-directory playground || { echo "error: no playground for the site, for the reason above; make site PLAYGROUND=0 leaves it out" >&2; exit 1; })
	$(BIN)/python site/build.py $(if $(SITE_ALONE),--no-playground) --out target/site
	$(BIN)/python site/links.py target/site
	$(if $(SITE_ALONE),@echo "site: without the playground: PLAYGROUND=0")

site-links: ## Look up the links of the site that lead elsewhere; says so where there is no network
	$(PYTHON) site/links.py target/site --external

ns3: ## Build the module for ns-3 and run its test suite (needs libns3-dev)
	folder=$$(planes/ns3/build.sh) && "$$folder/fairlane-test" --suite=fairlane --verbose

clauses: ## Write docs/clauses.md: the clauses of RFCs that the code claims, departs from, and leaves (needs Python only)
	$(PYTHON) tools/clauses.py

coverage: bench-coverage ## Show which part of each scheme its own tests run; below 90 % fails (some minutes; needs llvm-tools of rustup)

lint: lint-rust lint-python ## Check format, lints, types and stubs

lint-rust:
	cargo fmt --all --check
	for folder in $(STACKS) $(TEMPLATE); do (cd $$folder && cargo fmt --check) || exit 1; done
	cargo clippy --workspace --all-targets $(EBPF) --quiet -- -D warnings
	cargo clippy --package fairlane-node --test live $(EBPF) --quiet -- -D warnings

lint-python: setup
	$(BIN)/ruff format --check --quiet python tests benches site tools
	$(BIN)/ruff check --quiet python tests benches site tools
	$(BIN)/mypy
	$(BIN)/mypy $(wildcard tools/*.py site/*.py)
	echo fairlane._fairlane.__all__ | $(BIN)/stubtest fairlane._fairlane --allowlist /dev/stdin
	$(BIN)/lint-imports
	$(BIN)/python tools/generate.py --check

docs: setup ## Write the tables of the documentation and the modules of types that are generated from declarations
	$(BIN)/python tools/generate.py

pages: setup ## Write what the commands in README, tutorial and how-tos print today into them
	$(BIN)/python tests/python/pages.py
	$(BIN)/python tools/notebook.py

format: setup ## Format all code
	cargo fmt --all
	for folder in $(STACKS) $(TEMPLATE); do (cd $$folder && cargo fmt) || exit 1; done
	$(BIN)/ruff format python tests benches site tools
	$(BIN)/python tools/generate.py
	$(BIN)/python tools/notebook.py
	$(BIN)/ruff check --fix python tests benches site tools

bench: ## Run the benchmarks: per packet of each scheme, per scenario of the engine
	cargo run --release --quiet --bin speed -- abc
	cargo bench --package fairlane-bench

bench-%: setup ## Run a bench: .venv/bin/python -m benches lists them; ARGS='...' has its options
	$(BIN)/python -m benches $* $(ARGS)

# These run the program that is built.
bench-linux-tcp bench-lab-ranks bench-kernel-htb bench-kernel-queue: node

node: ## Build target/release/fairlane-node, with the kernel data plane if clang, libelf and zlib are there
	cargo build --release --quiet --package fairlane-node $(EBPF)

deb: ## Build a Debian package of fairlane-node and try it: target/deb/ (needs clang, libelf-dev, zlib1g-dev); NODE=FILE is built already
	$(if $(NODE),,archives=$$(packaging/deb/archives.sh); LIBBPF_SYS_LIBRARY_PATH=$$archives cargo build --release --quiet --package fairlane-node --features $$(test "$$archives" && echo static || echo ebpf))
	packaging/deb/build.sh $(or $(NODE),target/release/fairlane-node) target/deb
	packaging/deb/test.sh $(or $(NODE),target/release/fairlane-node)

screen: ## Write the table of who gets what under each scheme anew, after a change that is meant
	cargo test --quiet --package fairlane-sim --test integration screen -- --ignored

vectors: ## Write the golden vectors of all schemes anew, after a change that is meant
	cargo run --quiet --package fairlane-schemes --example vectors -- tests/vectors

bpf-headers: ## Write the tables and the records of the kernel programs anew
	cargo run --quiet --package fairlane-schemes --example c_header -- planes/bpf/generated/fixed_tables.h
	cargo run --quiet --package fairlane-node --example record_headers -- planes/bpf/generated

p4-tables: ## Write the tables of the integer arithmetic for the P4 programs anew
	cargo run --quiet --package fairlane-schemes --example p4_tables -- planes/p4/generated

p4-vectors: p4-tables ## Record the golden vectors of the P4 programs on BMv2 (needs p4c, simple_switch and simple_switch_CLI)
	cargo run --quiet --package fairlane-schemes --example p4_vectors

p4-extern: ## Build the externs of planes/p4/abc_extern.p4 for BMv2: BMV2_INCLUDE="DIR ..." has its headers
	@found=; for dir in $(BMV2_INCLUDE) /usr/local/include /usr/include; do \
		[ ! -f $$dir/bm/bm_sim/extern.h ] || found=yes; done; \
	if [ -z "$$found" ]; then echo "p4-extern: skipped, no bm/bm_sim/extern.h of BMv2; set BMV2_INCLUDE to its folders"; exit 0; fi; \
	set -e; cargo build --release --quiet --package fairlane-capi; target=$${CARGO_TARGET_DIR:-target}/release; \
	$(CXX) -std=c++17 -O2 -Wall -Wextra -fPIC -shared $(addprefix -isystem ,$(BMV2_INCLUDE)) -I crates/capi/include \
		-o $$target/fairlane_extern.so planes/p4/extern/fairlane_extern.cpp $$target/libfairlane_capi.a; \
	echo $$target/fairlane_extern.so

clean: ## Remove what was built and simulated
	rm -rf target $(VENV) results python/fairlane/*.so site/playground/dist site/playground/node_modules

# The virtual environment and its packages, again when their lock changes.
$(VENV)/.packages: requirements/dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "error: Fairlane needs Python 3.11 or newer, $(PYTHON) is older; set PYTHON=..." >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) \
		|| { echo "error: Python has no venv module; on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	$(BIN)/python -m pip install --quiet --require-hashes --requirement requirements/dev.txt
	@touch $@

# What builds the site, beside them.
$(VENV)/.site: requirements/site.txt $(VENV)/.packages
	$(BIN)/python -m pip install --quiet --require-hashes --requirement requirements/site.txt
	@touch $@

# What builds a release has an environment of its own.
$(RELEASE)/.packages: requirements/release.txt
	@$(PYTHON) -m venv $(RELEASE)
	$(RELEASE)/bin/python -m pip install --quiet --require-hashes --requirement requirements/release.txt
	@touch $@

# The package itself, editable, with the extension built in release mode: again when Rust code changes.
$(VENV)/.extension: $(VENV)/.packages $(RUST)
	$(BIN)/maturin develop --release --quiet
	@touch $@
