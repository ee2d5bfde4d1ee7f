# Fairlane: `make` lists what there is to do.

PYTHON  ?= $(shell command -v python3.11 || command -v python3)
VENV    := .venv
RELEASE := target/release-tools
PUBLISHED := fairlane-schemes fairlane-plugin fairlane-libreqos fairlane-sim fairlane-capi
BIN     := $(VENV)/bin
RUST    := $(shell find crates -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock
# The kernel programs are built and tested where their tools are: clang, and the libraries of libbpf.
export EBPF := $(shell command -v clang >/dev/null && pkg-config --exists libelf zlib 2>/dev/null && echo --features fairlane-node/ebpf)
SITE_ALONE := $(filter 0,$(PLAYGROUND))
LIVE_LANE := "test-live-rust test-live-python"
export VIRTUAL_ENV := $(CURDIR)/$(VENV)

.DEFAULT_GOAL := help
# All targets but files and patterns.
.PHONY: $(shell sed -nE '/^[a-z0-9 -]+:/s/:.*//p' Makefile)

help: ## List the targets
	@grep -hE '^[a-z0-9% -]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20

setup: $(VENV)/.extension ## Prepare .venv: afterwards the command is .venv/bin/fairlane

demo: setup ## Reproduce figure 4 (a) and (b) of abc2018 in full: claims table and figures
	$(BIN)/fairlane reproduce abc2018.fig4a abc2018.fig4b --replications 10 --out results/demo

reproduce: setup ## Reproduce all papers: claims, figures, points in results/; QUICK=1 for a first look, CHECK=1 to compare
	$(BIN)/fairlane reproduce all $(if $(QUICK),--quick) $(if $(CHECK),--check)

verdicts figures league: setup ## Write the verdicts of all papers, the figures of README and pairs, the league (an hour) into the repository
	tools/publish.sh $@

# Lanes run at the same time, so that compilers and tests share the processors; each step runs whatever became of those
# before it. Tests on real links mostly wait.
test: ## Run lint and tests, Rust and Python, and count them; LIVE=1 adds those of test-live; test-long has the longest
	@$(PYTHON) tools/run_tests.py "lint-rust test-rust" "setup lint-python test-python" $(if $(LIVE),$(LIVE_LANE))

test-live: setup ## Run the tests on real links and in real time (root, namespaces; skipped without)
	@$(PYTHON) tools/run_tests.py $(LIVE_LANE)

test-build test-rust test-live-rust test-stacks: ## Build the tests of Rust, or run them; those of QUIC stacks if the registry can be reached
	@tools/tests.sh $@

test-python test-live-python: setup ## Run the tests of Python
	@tools/tests.sh $@

test-long: setup test-stacks ## Run the tests that are too long for every change: once a night
	@tools/tests.sh $@
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

lock: ## Write all locks again after a change of dependencies; UPGRADE=1 takes the newest (needs uv)
	tools/lock.sh

playground: site/playground/dist/playground.html ## Build the playground, one page for browsers: site/playground/dist/playground.html (needs npm and Rust's wasm32-unknown-unknown)

# The page, again when the simulator, the page or the chapters that it quotes change.
site/playground/dist/playground.html: site/playground/node_modules/.installed site/playground/equations.json $(RUST) $(shell find site/playground/src site/playground/build docs/schemes -type f 2>/dev/null)
	site/playground/build.sh

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

lint: lint-rust lint-python ## Check format, lints, types and stubs

lint-rust:
	@tools/lint.sh $@

lint-python format: setup ## Check the Python code; format all code
	@tools/lint.sh $@

docs: setup ## Write the tables of the documentation and the modules of types that are generated from declarations
	$(BIN)/python tools/generate.py

pages: setup ## Write what the commands in README, tutorial and how-tos print today into them
	$(BIN)/python tests/python/pages.py
	$(BIN)/python tools/notebook.py

bench: ## Run the benchmarks: per packet of each scheme, per scenario of the engine
	cargo run --release --quiet --bin speed -- abc
	cargo bench --package fairlane-bench

bench-%: setup ## Run a bench: .venv/bin/python -m benches lists them; ARGS='...' has its options
	$(BIN)/python -m benches $* $(ARGS)

coverage: bench-coverage ## Show which part of each scheme its own tests run; below 90 % fails (some minutes; needs llvm-tools of rustup)

# These run the program that is built.
bench-linux-tcp bench-lab-ranks bench-kernel-htb bench-kernel-queue: node

node: ## Build target/release/fairlane-node, with the kernel data plane if clang, libelf and zlib are there
	cargo build --release --quiet --package fairlane-node $(EBPF)

kernel: setup ## Build the Linux kernel of the plane linux into ~/.cache/fairlane: VERSION=6.12, else the newest that apt has
	$(BIN)/fairlane kernel build $(VERSION)

deb: ## Build a Debian package of fairlane-node and try it: target/deb/ (needs clang, libelf-dev, zlib1g-dev); NODE=FILE is built already
	packaging/deb/package.sh $(NODE)

screen vectors bpf-headers p4-tables p4-vectors: ## Write what Rust computes for tests and planes again, after a change that is meant
	tools/record.sh $@

p4-extern: ## Build the externs of planes/p4/abc_extern.p4 for BMv2: BMV2_INCLUDE="DIR ..." has its headers
	@BMV2_INCLUDE="$(BMV2_INCLUDE)" planes/p4/extern/build.sh

clean: ## Remove what was built and simulated
	rm -rf target $(VENV) results python/fairlane/*.so site/playground/dist site/playground/node_modules

# Virtual environments, again when their lock changes: that of the package, what builds the site beside it, a release's.
$(VENV)/.packages: requirements/dev.txt
$(VENV)/.site: requirements/site.txt $(VENV)/.packages
$(RELEASE)/.packages: requirements/release.txt
$(VENV)/.packages $(VENV)/.site $(RELEASE)/.packages:
	@tools/install.sh $(PYTHON) $@ $<

# The package itself, editable, with the extension built in release mode: again when Rust code changes.
$(VENV)/.extension: $(VENV)/.packages $(RUST)
	$(BIN)/maturin develop --release --quiet
	@touch $@
