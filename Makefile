# obbd: networked collision queries on oriented boxes. `make help` lists the targets.
#
# This file builds and tests. The other targets stand in a .mk file of the folder that they serve;
# the list of those files is below.

##: config=debug    build in another way, into build/debug; also asan, tsan, scalar, coverage, fuzz
config ?= release
##: JOBS=2          compile two files at a time; by default one for each processor
JOBS ?= $(shell nproc)
ifeq ($(origin CC),default)
CC := gcc
endif
-include Makefile.local

ifeq ($(config),release)
B := build
else
B := build/$(config)
endif

# ---- Flags ------------------------------------------------------------------------------------

WARNINGS := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wdouble-promotion \
 -Wcast-qual -Wcast-align -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition -Wundef \
 -Wvla -Wformat=2 -Wwrite-strings -Wpointer-arith -Wredundant-decls -Wnull-dereference \
 -Wimplicit-fallthrough -Wswitch-enum
IS_CLANG := $(findstring clang,$(shell $(CC) --version 2>/dev/null))
ifeq ($(IS_CLANG),)
WARNINGS += -Wlogical-op -Wduplicated-cond -Wduplicated-branches -Warith-conversion
else
WARNINGS += -Wcomma -Wconditional-uninitialized -Wloop-analysis -Wassign-enum -Wunreachable-code
endif
##: CI=true         warnings are errors
ifneq ($(CI),)
WARNINGS += -Werror
endif

# Without contraction the scalar and the vector kernels agree to the last bit.
EXACT := -ffp-contract=off
HARDEN := -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fstack-clash-protection \
 $(if $(filter x86_64-% i686-%,$(shell $(CC) -dumpmachine 2>/dev/null)),-fcf-protection)

CFLAGS_release := -O2 -g $(HARDEN)
CFLAGS_debug := -O0 -g3
# -g1: a report of a sanitizer names functions and lines. Types and variables would take a fifth of
# the compiler's time.
CFLAGS_asan := -O1 -g1 -fno-omit-frame-pointer -fno-sanitize-recover=all \
 -fsanitize=address,undefined,float-divide-by-zero
CFLAGS_tsan := -O1 -g1 -fsanitize=thread
CFLAGS_scalar := -O2 -g $(HARDEN) -DOBB_ONLY_SCALAR
CFLAGS_coverage := -O0 -g --coverage
CFLAGS_fuzz := -O1 -g -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined
ifeq ($(origin CFLAGS_$(config)),undefined)
$(error config=$(config) is unknown: release debug asan tsan scalar coverage fuzz)
endif
LDFLAGS_release := -pie -Wl,-z,relro,-z,now
LDFLAGS_asan := -fsanitize=address,undefined
# With --as-needed a program tells which libraries it uses (tests/threads.sh).
LDFLAGS_tsan := -fsanitize=thread -Wl,--as-needed
LDFLAGS_coverage := --coverage
LDFLAGS_fuzz := -fsanitize=address,undefined

CFLAGS ?=
BUILD_CFLAGS := -std=c17 -D_POSIX_C_SOURCE=200809L -I. -I$(B) -fPIE -fno-common $(EXACT) $(WARNINGS) \
 $(CFLAGS_$(config)) $(CFLAGS)
BUILD_LDFLAGS := $(LDFLAGS_$(config)) $(LDFLAGS)

pkg_cflags = $(shell pkg-config --cflags $(1) 2>/dev/null)
pkg_libs = $(shell pkg-config --libs $(1) 2>/dev/null)
PROTO_LIBS := jansson libcbor
SERVER_LIBS := libmicrohttpd libuv gnutls sqlite3
TEST_LIBS := check libcurl gmp jansson

# ---- Sources, found by folder -----------------------------------------------------------------

CORE_SRC := $(sort $(wildcard core/*.c core/*/*.c))
PROTO_SRC := $(sort $(wildcard proto/*.c proto/*/*.c))
SERVER_SRC := $(sort $(wildcard server/*.c server/*/*.c))
SUPPORT_SRC := $(sort $(wildcard tests/support/*.c))
TEST_LAYERS := core proto server e2e
TEST_SRC := $(sort $(foreach layer,$(TEST_LAYERS),\
 $(wildcard tests/$(layer)/test_*.c tests/$(layer)/*/test_*.c)))
TEST_WEB := $(sort $(wildcard tests/web/test_*.mjs))
TEST_CLIENTS := $(sort $(wildcard tests/clients/test_*))
FUZZ_SRC := $(sort $(wildcard tests/fuzz/fuzz_*.c))

obj = $(patsubst %.c,$(B)/%.o,$(1))

# ---- Archives and the daemon ------------------------------------------------------------------

.DEFAULT_GOAL := all
.SECONDARY:
.PHONY: all libs run cluster-run test test-programs deps build-deps test-deps clean help

##@ Build and run
all: $(B)/obbd ## build the daemon, build/obbd

libs: $(B)/libobb.a $(B)/libwire.a $(if $(SERVER_SRC),$(B)/libserver.a)

$(B)/libobb.a: $(call obj,$(CORE_SRC))
	@rm -f $@ && $(AR) rcs $@ $^

$(B)/libwire.a: $(call obj,$(PROTO_SRC))
	@rm -f $@ && $(AR) rcs $@ $^

# The server without main, which the tests of the server link too.
$(B)/libserver.a: $(call obj,$(filter-out server/main.c,$(SERVER_SRC)))
	@rm -f $@ && $(AR) rcs $@ $^

$(B)/libsupport.a: $(call obj,$(SUPPORT_SRC) proto/contract/tools/exchange.c)
	@rm -f $@ && $(AR) rcs $@ $^

$(B)/obbd: $(B)/server/main.o $(B)/libserver.a $(B)/libwire.a $(B)/libobb.a
	@echo "ld $@"
	@$(CC) $(BUILD_LDFLAGS) -o $@ $^ $(call pkg_libs,$(SERVER_LIBS) $(PROTO_LIBS)) -lm -pthread

$(B)/%.o: %.c
	@mkdir -p $(@D)
	@echo "cc $@"
	@$(CC) $(BUILD_CFLAGS) $(call pkg_cflags,$(SERVER_LIBS) $(PROTO_LIBS)) -MMD -MP -c -o $@ $<

##: RUN_FLAGS=...   run: the options of the daemon; by default --demo
RUN_FLAGS ?= --demo
run: build-deps ## install what is missing, build, and run the daemon with a demo scene
	@$(MAKE) -j$(JOBS) --no-print-directory all
	@exec $(B)/obbd $(RUN_FLAGS)

##: CLUSTER_PORT=N  cluster-run: the first port of the daemons; by default 7480. NATS_PORT: 7422
cluster-run: ## three servers of NATS and two daemons over one log, on loopback, with the demo's scene
	$(call install,$(BUILD_PACKAGES) nats-server curl)
	@$(MAKE) -j$(JOBS) --no-print-directory all
	@exec server/install/cluster-run.sh $(B)/obbd

clean: ## remove build/
	rm -rf build

# ---- Tests ------------------------------------------------------------------------------------

# Each test_<noun>.c and each fuzz_<name>.c is a program, linked to the archives of its layer.
# malloc and its kin are wrapped, so that a test can make the n-th allocation fail
# (tests/support/fault.h).
WRAP := -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=aligned_alloc,--wrap=obb_cancel_poll,--undefined=__wrap_malloc
# The programs of e2e see the daemon from outside. With config=tsan those that start no thread
# themselves are of the release build: the threads to watch are the daemon's, and looking at its
# answers took most of the time.
E2E_SRC := $(filter tests/e2e/%,$(TEST_SRC))
E2E_RELEASE := $(if $(filter tsan,$(config)),$(patsubst %.c,build/%,$(filter-out \
 $(shell grep -lE 'pthread_create|support/writers.h' $(E2E_SRC)),$(E2E_SRC))))
E2E_BINS := $(E2E_RELEASE) $(filter-out $(E2E_RELEASE:build/%=$(B)/%),$(E2E_SRC:%.c=$(B)/%))
TEST_BINS := $(patsubst %.c,$(B)/%,$(filter-out tests/e2e/%,$(TEST_SRC)) $(FUZZ_SRC)) $(E2E_BINS) \
 $(TEST_CLIENTS) $(TEST_WEB)
ifneq ($(E2E_RELEASE),)
.PHONY: e2e-programs
$(E2E_RELEASE): e2e-programs $(B)/obbd ;
e2e-programs:
	@$(MAKE) --no-print-directory config=release $(filter $(E2E_RELEASE),$(PICKED))
endif
$(B)/tests/core/%: $(B)/tests/core/%.o $(B)/libsupport.a $(B)/libobb.a
	@echo "ld $@"
	@$(CC) $(BUILD_LDFLAGS) $(WRAP) -o $@ $^ $(call pkg_libs,$(TEST_LIBS)) -lm -pthread
$(B)/tests/proto/%: $(B)/tests/proto/%.o $(B)/libsupport.a $(B)/libwire.a $(B)/libobb.a
	@echo "ld $@"
	@$(CC) $(BUILD_LDFLAGS) $(WRAP) -o $@ $^ $(call pkg_libs,$(TEST_LIBS) $(PROTO_LIBS)) -lm -pthread
$(B)/tests/server/%: $(B)/tests/server/%.o $(B)/libserver.a $(B)/libsupport.a $(B)/libwire.a $(B)/libobb.a
	@echo "ld $@"
	@$(CC) $(BUILD_LDFLAGS) $(WRAP) -o $@ $^ \
	 $(call pkg_libs,$(TEST_LIBS) $(SERVER_LIBS) $(PROTO_LIBS)) -lm -pthread
$(B)/tests/e2e/%: $(B)/tests/e2e/%.o $(B)/libsupport.a $(B)/libwire.a $(B)/libobb.a $(B)/obbd
	@echo "ld $@"
	@$(CC) $(BUILD_LDFLAGS) $(WRAP) -o $@ $(filter-out $(B)/obbd,$^) \
	 $(call pkg_libs,$(TEST_LIBS) $(PROTO_LIBS)) -lm -pthread
$(B)/tests/%.o: BUILD_CFLAGS += $(call pkg_cflags,$(TEST_LIBS))

##: T=word          test: run only the programs whose path below tests/ contains the word
T ?=
##: EFFORT=100      test, test-peers: try a hundred times as many random cases
EFFORT ?= 1
##: TIMEOUT_FACTOR=5 test, docker-test, valgrind: allow five times the usual time
TIMEOUT_FACTOR ?= $(if $(filter asan tsan,$(config)),10,2)
##: TEST_JOBS=2     test: run two programs at a time, but those of clients and web alone; by default JOBS
TEST_JOBS ?= $(JOBS)
PICKED = $(foreach bin,$(TEST_BINS),$(if $(findstring $(T),$(lastword $(subst tests/, ,$(bin)))),$(bin),$(if $(T),,$(bin))))
PICKED_WEB = $(filter $(TEST_WEB),$(PICKED))
PICKED_CLIENTS = $(filter $(TEST_CLIENTS),$(PICKED))
# A goal of its own: a secondary file that is missing is not made for a test newer than the daemon.
WEB_NODE := tests/web/node_modules/.package-lock.json
$(TEST_WEB): $(B)/obbd
##@ Test
test: test-deps $(if $(PICKED_WEB),web-deps) $(if $(PICKED_CLIENTS)$(filter %/test_copy.mjs,$(PICKED_WEB)),clients-deps) ## build and run all tests; T=word picks some, EFFORT=100 tries more cases
	$(if $(PICKED_WEB),@grep -qs PAGE_BYTES $(PAGE) || $(MAKE) --no-print-directory page)
	$(if $(PICKED),@$(MAKE) -j$(JOBS) --no-print-directory $(if $(PICKED_WEB),$(WEB_NODE)) $(PICKED))
	@EFFORT=$(EFFORT) TIMEOUT_FACTOR=$(TIMEOUT_FACTOR) TEST_JOBS=$(TEST_JOBS) OBBD=$(B)/obbd \
	 TEST_SECONDS=build/test-seconds $(if $(T),,$(if $(filter tsan,$(config)),ONLY_THREADS=1)) \
	 tests/run.sh '$(T)' $(TEST_BINS)
test-programs: test-deps ## build the test programs of `make test`, and run none
	@$(MAKE) -j$(JOBS) --no-print-directory $(filter-out $(TEST_WEB) $(TEST_CLIENTS),$(TEST_BINS))

# ---- Dependencies -----------------------------------------------------------------------------

BUILD_PACKAGES := gcc libc6-dev make pkg-config libmicrohttpd-dev libgnutls28-dev libjansson-dev libuv1-dev libcbor-dev libyaml-dev libsqlite3-dev libnats-dev
TEST_PACKAGES := check libcurl4-gnutls-dev libgmp-dev curl nats-server strace

# $(call install,PACKAGES) installs the missing packages with apt. If this user may not do that, it
# prints the one line to run as root and fails.
define install
@missing=; for p in $(1); do \
  dpkg-query -W -f '$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || missing="$$missing $$p"; done; \
if [ -n "$$missing" ]; then \
  if [ "$$(id -u)" = 0 ]; then as=; \
  elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then as=sudo; \
  else echo "missing:$$missing"; echo "run as root: apt-get install -y --no-install-recommends$$missing"; exit 1; fi; \
  echo "installing:$$missing"; \
  $$as env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing >/dev/null || \
  { $$as apt-get update -qq && \
    $$as env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing >/dev/null; }; \
fi
endef

##@ Prepare
deps: ## install what building and testing need
	$(call install,$(BUILD_PACKAGES) $(TEST_PACKAGES) $(WEB_PACKAGES) $(CLIENTS_PACKAGES))
	@$(MAKE) --no-print-directory server/web/node_modules/.package-lock.json \
	 $(WEB_NODE) $(JS_NODE) $(CLIENT_TESTS_NODE)
	@if [ "$$(id -u)" = 0 ]; then mkdir -p $(NPM_SHARED) && cp -r build/npm/. $(NPM_SHARED) && \
	 chmod -R a+rX $(NPM_SHARED); fi
build-deps: ## install what building the daemon needs
	$(call install,$(BUILD_PACKAGES))
test-deps:
	$(call install,$(BUILD_PACKAGES) $(TEST_PACKAGES))

# ---- The targets of the folders ---------------------------------------------------------------

# An image is built from a part of the tree only, so each of these files may be absent.
include $(wildcard \
 proto/contract/contract.mk server/web/web.mk proto/clients/clients.mk \
 tests/e2e/e2e.mk tests/fuzz/fuzz.mk tests/soak/soak.mk tests/peers/peers.mk tests/cross/cross.mk \
 tests/lint/lint.mk tests/bench/bench.mk \
 server/install/install.mk docker/docker.mk)

# A group of targets begins with a line "##@ GROUP". A target is listed if "## TEXT" follows it, a
# setting by a line "##: NAME TEXT".
HELP_GROUPS := Build and run|Test|Check|Measure|Ship|Prepare
##@ Build and run
help: ## list the targets and the settings
	@awk -v groups='$(HELP_GROUPS)' ' \
	 function row(name, does) { return sprintf("  %-22s %s\n", name, does) } \
	 /^##@ / { group = substr($$0, 5) } \
	 /^##: / { name = $$2; sub(/^##: [^ ]+ +/, ""); settings = settings row(name, $$0) } \
	 /^[a-z_.-]+:.*## / { name = does = $$0; sub(/:.*/, "", name); sub(/.*## /, "", does); \
	  targets[group] = targets[group] row(name, does) } \
	 END { n = split(groups, group_of, "|"); \
	  for (i = 1; i <= n; i++) printf "%s\n%s\n", group_of[i], targets[group_of[i]]; \
	  printf "Settings, as in make config=asan T=sat test\n%s", settings }' $(filter-out %.d Makefile.local,$(MAKEFILE_LIST))

# `make page` compiles no C. The build runs it beside compilers that are writing these files.
ifneq ($(MAKECMDGOALS),page)
-include $(shell find $(B) -name '*.d' 2>/dev/null)
endif
