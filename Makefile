# Fairlane: `make` lists the targets.

PYTHON  ?= $(shell command -v python3.11 || command -v python3)
VENV    := .venv
RELEASE := target/release-tools
PUBLISHED := fairlane-schemes fairlane-plugin fairlane-libreqos fairlane-sim fairlane-capi
BIN     := $(VENV)/bin
RUST    := $(shell find crates -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock
# The kernel programs are built and tested if clang and the libraries of libbpf are installed.
export EBPF := $(shell command -v clang >/dev/null && pkg-config --exists libelf zlib 2>/dev/null && echo --features fairlane-node/ebpf)
SITE_ALONE := $(filter 0,$(PLAYGROUND))
LIVE_LANE := "test-live-rust test-live-python"
# Tests use the extension of `make setup`. If there is none, as on a fresh clone, they build one from the crates that the
# Rust tests have compiled, which a later `make setup` replaces.
EXTENSION := $(if $(wildcard $(VENV)/.extension),setup,quick)
export VIRTUAL_ENV := $(CURDIR)/$(VENV)

.DEFAULT_GOAL := help
# All targets except files and patterns.
.PHONY: $(shell sed -nE '/^[a-z0-9 -]+:/s/:.*//p' Makefile)

help: ## List the targets
	@grep -hE '^[a-z0-9% -]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20

setup: $(VENV)/.extension ## Prepare .venv: afterwards the command is .venv/bin/fairlane

demo: $(or $(DEMO_EXTENSION),setup) ## Reproduce figures 4 (a) and (b) of abc2018 in full: claims table and figures
	$(BIN)/fairlane reproduce abc2018.fig4a abc2018.fig4b --replications 10 --out results/demo

reproduce: setup ## Reproduce all papers: claims, figures, points in results/; QUICK=1 for a preview, CHECK=1 to compare
	$(BIN)/fairlane reproduce all $(if $(QUICK),--quick) $(if $(CHECK),--check)

verdicts figures league: setup ## Regenerate the verdicts of all papers, the figures of README and pairs, the league (an hour)
	tools/publish.sh $@

# Lanes run concurrently, so that compilers and tests share the processors. A step runs even if earlier steps failed.
# Tests on real links spend most of their time waiting.
# The ns-3 module links the library that test-build has built, instead of one in release mode.
test: export FAIRLANE_CAPI := $(or $(CARGO_TARGET_DIR),$(CURDIR)/target)/debug/deps/libfairlane_capi.a
test: ## Run lints and tests, Rust and Python, and count them; LIVE=1 adds test-live
	@$(PYTHON) tools/run_tests.py "test-build lint-rust test-rust" "$(EXTENSION) lint-python test-build test-python" \
		$(if $(LIVE),$(LIVE_LANE))

test-live: $(EXTENSION) ## Run the tests on real links and in real time (root, namespaces; skipped without)
	@$(PYTHON) tools/run_tests.py $(LIVE_LANE)

test-build test-rust test-live-rust test-stacks: ## Build or run the Rust tests; those of QUIC stacks need the registry
	@tools/tests.sh $@

test-python test-live-python: $(EXTENSION) ## Run the Python tests
	@tools/tests.sh $@

test-long: setup test-stacks ## Run the longest tests, once a night
	@tools/tests.sh $@
	@$(MAKE) --no-print-directory site $(if $(shell command -v npm),,PLAYGROUND=0)

fuzz: setup ## Fuzz scenarios, sweeps and commands for an hour: MINUTES=60, SEED= to repeat; see docs/howto/fuzz.md
	PYTHONPATH=tests $(BIN)/python -m fuzzer --minutes $(or $(MINUTES),60) $(if $(SEED),--seed $(SEED))

audit: ## Look up all locked Python and Rust packages in the OSV advisories
	@$(PYTHON) tools/audit.py

training: setup ## Profile the engine for an optimised build: see docs/benchmarks.md (needs rustup's llvm-tools)
	$(BIN)/python tools/training.py

wheels: setup playground $(RELEASE)/.packages ## Build and check release artifacts in dist/: optimised wheel for old and new glibc, sdist, SBOMs, checksums
	$(BIN)/python tools/training.py --out target/training-wheel --target "$$(rustc --print host-tuple)"
	$(RELEASE)/bin/python tools/wheels.py --counts target/training-wheel/engine.profdata

crates: ## Check the crates of a release: package and build each, upload nothing (needs cargo 1.90)
	cargo publish --dry-run --allow-dirty --quiet $(addprefix --package ,$(PUBLISHED))

lock: ## Update all lock files after a change of dependencies; UPGRADE=1 upgrades all (needs uv)
	tools/lock.sh

playground: site/playground/dist/playground.html ## Build the playground, a page for browsers: site/playground/dist/playground.html (needs npm and Rust's wasm32-unknown-unknown)

# Depends on the simulator, the page and the chapters that the page quotes.
site/playground/dist/playground.html: site/playground/node_modules/.installed site/playground/equations.json $(RUST) $(shell find site/playground/src site/playground/build docs/schemes -type f 2>/dev/null)
	site/playground/build.sh

site/playground/node_modules/.installed: site/playground/package-lock.json
	@command -v npm >/dev/null || { echo "error: make playground needs Node.js with npm" >&2; exit 1; }
	cd site/playground && npm ci --no-audit --no-fund --silent
	@touch $@

site: setup $(VENV)/.site ## Build the site and check its links: target/site/index.html; PLAYGROUND=0 omits the playground
	$(if $(SITE_ALONE),,@$(MAKE) --no-print-directory playground || { echo "error: no playground for the site, for the reason above; make site PLAYGROUND=0 leaves it out" >&2; exit 1; })
	$(BIN)/python site/build.py $(if $(SITE_ALONE),--no-playground) --out target/site
	$(BIN)/python site/links.py target/site
	$(if $(SITE_ALONE),@echo "site: without the playground: PLAYGROUND=0")

site-links: ## Check the external links of the site (needs a network)
	$(PYTHON) site/links.py target/site --external

ns3: ## Build the module for ns-3 and run its test suite (needs libns3-dev)
	folder=$$(planes/ns3/build.sh) && "$$folder/fairlane-test" --suite=fairlane --verbose

lint: lint-rust lint-python ## Check formatting, lints, types and stubs

lint-rust:
	@tools/lint.sh $@

lint-python format: $(EXTENSION) ## Check the Python code; format all code
	@tools/lint.sh $@

docs: setup ## Generate documentation tables and typed modules from declarations
	$(BIN)/python tools/generate.py

pages: setup ## Update the output of commands in README, tutorial and how-tos
	$(BIN)/python tests/python/pages.py
	$(BIN)/python tools/notebook.py

bench: ## Run the benchmarks: per packet of each scheme, per scenario of the engine
	cargo run --release --quiet --bin speed -- abc
	cargo bench --package fairlane-bench

bench-%: setup ## Run a bench: .venv/bin/python -m benches lists them; ARGS='...' passes options
	$(BIN)/python -m benches $* $(ARGS)

coverage: bench-coverage ## Show the coverage of each scheme by its own tests; below 90 % fails (some minutes; needs llvm-tools of rustup)

# These benches run the built program.
bench-linux-tcp bench-lab-ranks bench-kernel-htb bench-kernel-queue: node

node: ## Build target/release/fairlane-node, with the kernel data plane if clang, libelf and zlib are installed
	cargo build --release --quiet --package fairlane-node $(EBPF)

kernel: setup ## Build the Linux kernel of the plane linux into ~/.cache/fairlane: VERSION=6.12 [default: the newest in apt]
	$(BIN)/fairlane kernel build $(VERSION)

deb: ## Build and test a Debian package of fairlane-node: target/deb/ (needs clang, libelf-dev, zlib1g-dev); NODE=FILE packs an existing binary
	packaging/deb/package.sh $(NODE)

screen vectors bpf-headers p4-tables p4-vectors: ## Regenerate the files that Rust computes for tests and planes, after an intended change
	tools/record.sh $@

p4-extern: ## Build the externs of planes/p4/abc_extern.p4 for BMv2: BMV2_INCLUDE="DIR ..." has its headers
	@BMV2_INCLUDE="$(BMV2_INCLUDE)" planes/p4/extern/build.sh

clean: ## Remove build outputs and results
	rm -rf target $(VENV) results python/fairlane/*.so site/playground/dist site/playground/node_modules

# Virtual environments of the package, of the site and of a release. Updated when their lock files change.
$(VENV)/.packages: requirements/dev.txt
$(VENV)/.site: requirements/site.txt $(VENV)/.packages
$(RELEASE)/.packages: requirements/release.txt
$(VENV)/.packages $(VENV)/.site $(RELEASE)/.packages:
	@tools/install.sh $(PYTHON) $@ $<

# The package, editable, with the extension built in release mode. Updated when Rust code changes.
$(VENV)/.extension: $(VENV)/.packages $(RUST)
	$(BIN)/maturin develop --release --quiet
	@touch $@

quick: $(VENV)/.quick
$(VENV)/.quick: $(VENV)/.packages $(RUST)
	$(BIN)/maturin develop --quiet
	@touch $@
