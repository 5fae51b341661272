# The front door; meson is the engine, scripts/ does the work.
.DEFAULT_GOAL := all
.PHONY: all run test lint asan asan-build tsan tsan-build fuzz bench drill soak consistency sim cover install uninstall deb image clean help
MAKEFLAGS += --no-print-directory

ARGS         ?=
PREFIX       ?= /usr/local
FUZZ_SECONDS ?= 10
SEEDS        ?= 100
CONSISTENCY_SECONDS ?= 3600
SECONDS      ?= 600
ARCH         ?= amd64 arm64

# What end-to-end tests run under sanitizers: not those in which kubectl takes most of the time and asks
# for what the others ask for, too; and under ThreadSanitizer, as among unit tests, those in which threads meet.
# The node agent is not among the latter: libuv closes descriptors by a system call that ThreadSanitizer does not see, so it takes
# one that the agent's saving thread opens next for the old one, and dies of its own report.
ASAN_E2E = api_accounts api_authn api_authz api_client_node api_consistency api_crash api_crd api_flow api_gates \
	api_list api_policy api_protobuf api_rest api_scale api_security api_servers api_ssa api_ssa_claims api_surface \
	api_threads api_versions api_watch api_webhooks availability_faults claim_access claim_status \
	claims_controller cli cli_apply client_informer connect controller_client daemonsets deployments device_taints \
	driver_sim endpointslices grpc_client grpc_server http net_cni net_driver net_faults \
	network_endpoints node_faults node_health node_health_exact node_static podres podres_faults quota scheduler \
	scheduler_dra scheduler_extension services store ui_explain ui_session up up_faults
TSAN_E2E = api_consistency api_crd api_flow api_protobuf api_rest api_security api_servers api_threads api_watch grpc_client grpc_server http
TSAN_UNIT = base net grpc store server drivers
# The scheduler has one thread; its plugins may have more. These are its tests of the suite "threads".
TSAN_MORE = tests/abi/plugin_[a-z_]+\.so|tests/fake_nvml/libfake_[a-z]+\.so|tests/abi/scheduler_extension_test|src/scheduler/scheduler_cache_nodecache_stress_test

# Before version 16 the search for leaks takes seconds per process on arm64.
SANITIZER_CC = $(if $(shell command -v clang-16),clang-16,clang)
# One build for both: objects that fuzzers can follow are as good for tests.
SANITIZED = -Dfuzzing=true -Db_sanitize=address,undefined -Db_lundef=false
# Some 400 programs are linked, which takes as long as compiling; a third of that with lld.
SANITIZER = CC=$(SANITIZER_CC) CC_LD=lld

all: ## build build/devplane, installing what the build needs
	@scripts/deps build
	@scripts/build build
run: all ## start the demo cluster on out/data; ARGS="--flag .." is passed on
	@mkdir -p out
	@exec build/devplane up --demo --data-dir out/data $(ARGS)
test: all ## unit tests, fuzz corpora and end-to-end tests
	@scripts/deps test
	@scripts/test build
lint: all ## format, clang-tidy, layers, sizes, banned names, alerts
	@scripts/deps lint
	@scripts/lint build
# Corpora are replayed under the same sanitizers by `make fuzz`.
asan: asan-build ## unit tests and most end-to-end tests under AddressSanitizer and UBSan
	@scripts/deps test
	@BACKENDS=lmdb UNIT_EXCEPT=fuzz-corpus FRESH_SEEDS=20 scripts/test build-asan $(ASAN_E2E)
asan-build:
	@scripts/deps build fuzz
	@$(SANITIZER) scripts/build build-asan $(SANITIZED)
tsan: tsan-build ## tests in which threads meet under ThreadSanitizer
	@scripts/deps test
	@BACKENDS=lmdb UNIT_SUITES='$(TSAN_UNIT) threads' FRESH_SEEDS=0 scripts/test build-tsan $(TSAN_E2E)
tsan-build:
	@scripts/deps build fuzz
	@$(SANITIZER) TARGETS='devplane|src/($(subst $() ,|,$(TSAN_UNIT)))/[a-z0-9_]+_test|$(TSAN_MORE)' scripts/build build-tsan -Db_sanitize=thread -Db_lundef=false
fuzz: ## each fuzz target for FUZZ_SECONDS
	@scripts/deps build fuzz
	@$(SANITIZER) TARGETS='fuzz/fuzz_[a-z0-9_]+' scripts/build build-asan $(SANITIZED)
	@scripts/fuzz build-asan $(FUZZ_SECONDS)
bench: ## measure a release build
	@scripts/deps build bench
	@TARGETS='devplane|bench/[a-z0-9_]+' scripts/build build-bench -Dbuildtype=release
	@bench/run build-bench
drill: all ## a whole cluster under load and faults for DRILL_SECONDS, then late leaders for DRILL_LEADER_SECONDS, on each backend; needs root
	@scripts/deps test drill
	@tests/drill/run build/devplane
soak: all ## hostile and friendly tenants together for SECONDS; ARGS="--setup etcd .." is passed on
	@scripts/deps test
	@tests/drill/soak $(SECONDS) $(ARGS)
consistency: all ## CONSISTENCY_SECONDS of clients and faults on etcd and on LMDB, histories checked; cuts and disks need root
	@scripts/deps test consistency
	@tests/consistency/run build/devplane --seconds $(CONSISTENCY_SECONDS) $(ARGS)
sim: all ## the whole cluster in simulated worlds of SEEDS seeds, on all cores; resumable
	@scripts/sim build $(SEEDS)
cover: ## which lines the tests reach
	@scripts/deps build test cover
	@scripts/build build-cover -Db_coverage=true
	@FRESH_SEEDS=0 scripts/test build-cover
	@gcovr --root . --object-directory build-cover --exclude '.*_test\.c' --exclude 'build.*' --exclude 'fuzz/.*' build-cover
install: all ## the program, man pages, completions, systemd units, plugins, headers and documents, below $DESTDIR$PREFIX
	@scripts/install "$(DESTDIR)$(PREFIX)" "$(PREFIX)"
uninstall: ## remove what install put below $DESTDIR$PREFIX
	@scripts/uninstall "$(DESTDIR)$(PREFIX)"
deb: all ## Debian packages of the build, in out/
	@scripts/deps deb
	@scripts/deb out
image: ## container images for ARCH in build-image/, compiled from the sources; TAG=.. names them, ARGS="--flag .." is passed on
	@scripts/deps build image
	@scripts/image --arch "$(ARCH)" $(if $(TAG),--tag "$(TAG)") $(ARGS)
clean: ## remove everything that was built
	rm -rf build build-*
help: ## show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' Makefile
