# obbd: networked collision queries on oriented boxes. `make help` lists the targets.
#
# config=release (default), debug, asan, tsan, scalar, coverage or fuzz builds any target in another way;
# everything but release lands in build/<config>/.

config ?= release
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
ifneq ($(CI),)
WARNINGS += -Werror
endif

# Without contraction the scalar and the vector kernels agree to the last bit.
EXACT := -ffp-contract=off
HARDEN := -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fstack-clash-protection \
 $(if $(filter x86_64-% i686-%,$(shell $(CC) -dumpmachine 2>/dev/null)),-fcf-protection)

CFLAGS_release := -O2 -g $(HARDEN)
CFLAGS_debug := -O0 -g3
CFLAGS_asan := -O1 -g -fno-omit-frame-pointer -fno-sanitize-recover=all \
 -fsanitize=address,undefined,float-divide-by-zero
CFLAGS_tsan := -O1 -g -fsanitize=thread
CFLAGS_scalar := -O2 -g $(HARDEN) -DOBB_ONLY_SCALAR
CFLAGS_coverage := -O0 -g --coverage
CFLAGS_fuzz := -O1 -g -fno-omit-frame-pointer -fsanitize=fuzzer-no-link,address,undefined
ifeq ($(origin CFLAGS_$(config)),undefined)
$(error config=$(config) is unknown: release debug asan tsan scalar coverage fuzz)
endif
LDFLAGS_release := -pie -Wl,-z,relro,-z,now
LDFLAGS_asan := -fsanitize=address,undefined
LDFLAGS_tsan := -fsanitize=thread
LDFLAGS_coverage := --coverage
LDFLAGS_fuzz := -fsanitize=address,undefined

CFLAGS ?=
BUILD_CFLAGS := -std=c17 -D_POSIX_C_SOURCE=200809L -I. -I$(B) -fPIE -fno-common $(EXACT) $(WARNINGS) \
 $(CFLAGS_$(config)) $(CFLAGS)
BUILD_LDFLAGS := $(LDFLAGS_$(config)) $(LDFLAGS)

pkg_cflags = $(shell pkg-config --cflags $(1) 2>/dev/null)
pkg_libs = $(shell pkg-config --libs $(1) 2>/dev/null)

# ---- Sources, found by folder -------------------------------------------------------------------

CORE_SRC := $(sort $(wildcard core/*.c core/*/*.c))
PROTO_SRC := $(sort $(wildcard proto/*.c proto/*/*.c))
SERVER_SRC := $(sort $(wildcard server/*.c server/*/*.c))
SUPPORT_SRC := $(sort $(wildcard tests/support/*.c))
TEST_LAYERS := core proto server e2e
TEST_SRC := $(sort $(foreach layer,$(TEST_LAYERS),$(wildcard tests/$(layer)/test_*.c tests/$(layer)/*/test_*.c)))

obj = $(patsubst %.c,$(B)/%.o,$(1))
PROTO_LIBS := jansson libcbor
SERVER_LIBS := libmicrohttpd libuv
TEST_LIBS := check libcurl gmp jansson

.DEFAULT_GOAL := all
.SECONDARY:
.PHONY: all libs run test lint clean help deps build-deps page-deps test-deps web-deps lint-deps

libs: $(B)/libobb.a $(B)/libwire.a $(if $(SERVER_SRC),$(B)/libserver.a)

all: $(B)/obbd ## build the daemon, build/obbd

$(B)/libobb.a: $(call obj,$(CORE_SRC))
	@rm -f $@ && $(AR) rcs $@ $^

$(B)/libwire.a: $(call obj,$(PROTO_SRC))
	@rm -f $@ && $(AR) rcs $@ $^

# What the server is made of beside main: the tests of the server link it too.
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

RUN_FLAGS ?= --demo
run: build-deps ## install what is missing, build, and run the daemon with a demo scene
	@$(MAKE) -j$(JOBS) --no-print-directory all
	@exec $(B)/obbd $(RUN_FLAGS)

# What is generated for the build comes from small programs, which run on the machine that builds.
HOSTCC ?= $(CC)
TOOLS := build/tools
TOOL_LIBS := yaml-0.1 jansson
$(TOOLS)/%: proto/contract/tools/%.c
	@mkdir -p $(@D)
	@echo "cc $@"
	@$(HOSTCC) -std=c17 -D_POSIX_C_SOURCE=200809L -I. -O1 -g $(WARNINGS) $(call pkg_cflags,$(TOOL_LIBS)) \
	 -o $@ $(filter %.c,$^) $(call pkg_libs,$(TOOL_LIBS))
$(TOOLS)/powers: proto/base/powers.h
$(TOOLS)/openapi: proto/contract/tools/exchange.c proto/contract/tools/exchange.h

$(B)/proto/base/powers_table.h: $(TOOLS)/powers
	@mkdir -p $(@D)
	@$< >$@.new && mv $@.new $@
$(B)/proto/base/powers.o: $(B)/proto/base/powers_table.h

EXAMPLES := $(sort $(wildcard proto/contract/examples/*.http))
$(B)/proto/contract/openapi_json.h: $(TOOLS)/openapi proto/contract/openapi.yaml $(EXAMPLES)
	@mkdir -p $(@D)
	@$^ >$@.new && mv $@.new $@
$(B)/proto/contract/openapi.o: $(B)/proto/contract/openapi_json.h

# The web editor, packed into one page and that into a header. Without node (or without what npm would fetch) the header is empty
# and the daemon says under / how to build it; `make page` tries again, and says what is wrong.
PAGE_SRC := $(sort $(wildcard server/web/*.json server/web/*.mjs server/web/src/*))
PAGE := build/server/routes/page_data.h
HAVE_NODE := $(shell command -v node && command -v npm)
NPM_CI := npm ci --ignore-scripts --no-progress --loglevel=error --fetch-retries=2 --fetch-retry-maxtimeout=5000 --fetch-retry-mintimeout=1000
.PHONY: page
page: server/web/node_modules/.package-lock.json ## build the web editor, for the next `make` to embed
	@mkdir -p $(dir $(PAGE))
	@cd server/web && node build.mjs $(CURDIR)/$(PAGE)

# `make deps` as root leaves what it fetched where every user of the machine finds it again, without a network too.
NPM_SHARED := /var/cache/obbd-npm
%/node_modules/.package-lock.json: %/package-lock.json %/package.json
	@echo "npm $*"
	@mkdir -p build/npm && { [ ! -d $(NPM_SHARED) ] || cp -rn $(NPM_SHARED)/. build/npm; }
	@cd $* && $(NPM_CI) --prefer-offline --cache $(CURDIR)/build/npm && touch node_modules/.package-lock.json

$(PAGE): $(PAGE_SRC)
	@mkdir -p $(@D)
	@if [ -n "$(HAVE_NODE)" ] && $(MAKE) --no-print-directory page; then :; else \
	 echo "page: not built ($(if $(HAVE_NODE),see above,no node here)); the daemon will say under / how to"; : >$@; fi
$(B)/server/routes/page.o: $(PAGE)
$(B)/server/routes/page.o: BUILD_CFLAGS += -Ibuild

# ---- Tests --------------------------------------------------------------------------------------

# Each tests/<layer>/test_<noun>.c is a program; malloc and its kin are wrapped so that tests can make the
# n-th allocation of our own code fail (tests/support/fault.h).
WRAP := -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--undefined=__wrap_malloc
FUZZ_SRC := $(sort $(wildcard tests/fuzz/fuzz_*.c))
TEST_WEB := $(sort $(wildcard tests/web/test_*.mjs))
TEST_BINS := $(patsubst %.c,$(B)/%,$(TEST_SRC) $(FUZZ_SRC)) $(TEST_WEB)
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
$(B)/tests/soak/soak: $(B)/tests/soak/soak.o $(B)/libsupport.a $(B)/libwire.a $(B)/libobb.a $(B)/obbd
	@echo "ld $@"
	@$(CC) $(BUILD_LDFLAGS) -o $@ $(filter-out $(B)/obbd,$^) $(call pkg_libs,$(TEST_LIBS) $(PROTO_LIBS)) -lm -pthread
# A fuzz target alone is driven by libFuzzer; with the driver it replays its corpus as a test.
FUZZ_DRIVER := $(if $(filter fuzz,$(config)),,$(B)/tests/fuzz/driver.o)
$(B)/tests/fuzz/%: $(B)/tests/fuzz/%.o $(FUZZ_DRIVER) $(B)/libserver.a $(B)/libsupport.a $(B)/libwire.a $(B)/libobb.a
	@echo "ld $@"
	@$(CC) $(BUILD_LDFLAGS) $(if $(FUZZ_DRIVER),,-fsanitize=fuzzer) -o $@ $^ \
	 $(call pkg_libs,$(TEST_LIBS) $(SERVER_LIBS) $(PROTO_LIBS)) -lm -pthread
$(B)/tests/%.o: BUILD_CFLAGS += $(call pkg_cflags,$(TEST_LIBS))

T ?=
EFFORT ?= 1
TIMEOUT_FACTOR ?= $(if $(filter asan tsan,$(config)),10,2)
PICKED = $(foreach bin,$(TEST_BINS),$(if $(findstring $(T),$(bin:$(B)/tests/%=%)),$(bin),$(if $(T),,$(bin))))
PICKED_WEB = $(filter $(TEST_WEB),$(PICKED))
E2E_BINS := $(filter $(B)/tests/e2e/%,$(TEST_BINS))
$(TEST_WEB): $(B)/obbd tests/web/node_modules/.package-lock.json
test: test-deps $(if $(PICKED_WEB),web-deps) ## build and run all tests; T=word picks those whose name has it, EFFORT=100 tries more cases
	$(if $(PICKED_WEB),@grep -qs PAGE_BYTES $(PAGE) || $(MAKE) --no-print-directory page)
	$(if $(PICKED),@$(MAKE) -j$(JOBS) --no-print-directory $(PICKED))
	@EFFORT=$(EFFORT) TIMEOUT_FACTOR=$(TIMEOUT_FACTOR) OBBD=$(B)/obbd tests/run.sh '$(T)' $(TEST_BINS)

# Core and its tests for aarch64, under emulation; tests/cross/check.h stands in for Check.
CROSS_TESTS := kernels/test_batch index/test_index
CROSS_PACKAGES := gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static
CROSS_BINS := $(CROSS_TESTS:%=build/aarch64/cross/%)
CROSS_CC := aarch64-linux-gnu-gcc
CROSS = $(MAKE) -j$(JOBS) --no-print-directory CC=$(CROSS_CC) B=build/aarch64 CFLAGS=-Itests/cross TEST_LIBS= PROTO_LIBS= \
 SERVER_LIBS=
.PHONY: check-neon cross-deps
check-neon: cross-deps ## the tests of kernels and index for aarch64, under qemu: NEON against the scalar kernels
	@$(CROSS) $(CROSS_BINS)
	@for t in $(CROSS_BINS); do qemu-aarch64-static $$t || exit 1; done
	@echo "check-neon: looked at $(words $(CROSS_BINS)) programs, clean"
build/aarch64/cross/%: $(B)/tests/core/%.o $(call obj,$(CORE_SRC)) \
 $(addprefix $(B)/tests/support/,test.o boxes.o fault.o model_scene.o)
	@mkdir -p $(@D)
	@echo "ld $@"
	@$(CC) -static $(WRAP) -o $@ $^ -lm -pthread

# What a fuzzer learns stays in build/; a finding lands in tests/fuzz/regress. fuzz-keep adds to the corpus of the tree what
# reaches code that it does not reach yet.
FUZZERS := $(patsubst tests/fuzz/fuzz_%.c,%,$(FUZZ_SRC))
F ?= $(FUZZERS)
SECONDS ?= 60
FUZZ = $(MAKE) -j$(JOBS) --no-print-directory config=fuzz CC=clang $(F:%=build/fuzz/tests/fuzz/fuzz_%)
.PHONY: fuzz fuzz-keep fuzz-deps
fuzz: fuzz-deps ## run the fuzzer F=json, or each in turn, for SECONDS=60
	@$(FUZZ)
	@tests/fuzz/run.sh $(SECONDS) $(F)
fuzz-keep: fuzz-deps
	@$(FUZZ)
	@for f in $(F); do build/fuzz/tests/fuzz/fuzz_$$f -use_counters=0 -set_cover_merge=1 tests/fuzz/corpus/$$f \
	 build/fuzz/corpus/$$f || exit 1; done

# Core alone; results are held against those kept in the tree, the same on every CPU. BASE=file.csv shows ratios to an earlier run.
FLOATS := $(patsubst core/kernels/batch_%.c,$(B)/tests/bench/core/floats_%.o,$(wildcard core/kernels/batch_avx*.c))
BENCH_CORE := $(addprefix $(B)/tests/bench/core/,crew.o ours.o report.o floats.o) $(FLOATS)
COMMIT = $(shell git describe --always --dirty 2>/dev/null)
BASE ?=
.PHONY: bench
bench: test-deps ## core: kernels, all pairs, queries, ticks, loads; QUICK=1 without the million, BASE=file.csv to compare
	@$(MAKE) --no-print-directory $(B)/tests/bench/core/benchmark
	@mkdir -p $(B)/bench
	@COMMIT=$(COMMIT) BASE=$(BASE) $(B)/tests/bench/core/benchmark $(B)/bench/core.csv tests/bench/core/golden.csv
	@echo "as CSV: $(B)/bench/core.csv"

$(B)/tests/bench/core/floats_%.o: core/kernels/batch_%.c core/kernels/batch_body.inc
	@mkdir -p $(@D)
	@echo "cc $@"
	@$(CC) $(BUILD_CFLAGS) -DOBB_JUST_FLOATS -Dobb_kernels_$*=floats_$* -c -o $@ $<
$(B)/tests/bench/core/benchmark: $(B)/tests/bench/core/benchmark.o $(BENCH_CORE) $(B)/libsupport.a $(B)/libobb.a
	@echo "ld $@"
	@$(CC) $(BUILD_LDFLAGS) -o $@ $^ $(call pkg_libs,$(TEST_LIBS)) -lm -pthread

.PHONY: soak valgrind valgrind-deps
soak: test-deps ## the daemon at full load for SECONDS=60: memory, descriptors and threads must not grow
	@$(MAKE) --no-print-directory $(B)/tests/soak/soak
	@SECONDS=$(SECONDS) OBBD=$(B)/obbd $(B)/tests/soak/soak

# The real daemon under memcheck, while some of the end-to-end tests speak to it.
VALGRIND_TESTS := $(addprefix $(B)/tests/e2e/test_,contract examples statuses abuse)
valgrind: valgrind-deps ## some end-to-end tests against the daemon under valgrind: no error, no leak
	@$(MAKE) -j$(JOBS) --no-print-directory $(VALGRIND_TESTS)
	@tests/valgrind.sh $(B)/obbd $(VALGRIND_TESTS)

# Bodies of 50 bytes to 2.5 MB; simdjson is C++ behind a C face.
CODEC_PACKAGES := g++ libsimdjson-dev
.PHONY: bench-codecs codec-deps
bench-codecs: codec-deps ## requests from JSON and CBOR, beside jansson and simdjson, as CSV
	@$(MAKE) --no-print-directory $(B)/tests/bench/codecs
	@$(B)/tests/bench/codecs

$(B)/tests/bench/simdjson_peer.o: tests/bench/simdjson_peer.cpp tests/bench/simdjson_peer.h
	@mkdir -p $(@D)
	@echo "c++ $@"
	@$(CXX) -std=c++17 -O2 -g -fPIE -I. -Wall -Wextra $(call pkg_cflags,simdjson) -c -o $@ $<
$(B)/tests/bench/codecs: $(B)/tests/bench/codecs.o $(B)/tests/bench/simdjson_peer.o $(B)/libsupport.a \
 $(B)/libwire.a $(B)/libobb.a
	@echo "ld $@"
	@$(CXX) $(BUILD_LDFLAGS) -o $@ $^ $(call pkg_libs,simdjson $(TEST_LIBS) $(PROTO_LIBS)) -lm -pthread

.PHONY: bench-costs
bench-costs: test-deps ## what queries and commits cost, beside what obb_query_cost says, as CSV
	@$(MAKE) --no-print-directory $(B)/tests/bench/costs
	@$(B)/tests/bench/costs

$(B)/tests/bench/costs: $(B)/tests/bench/costs.o $(addprefix $(B)/tests/bench/service/,load.o scene.o) \
 $(B)/libsupport.a $(B)/libwire.a $(B)/libobb.a
	@echo "ld $@"
	@$(CC) $(BUILD_LDFLAGS) -o $@ $^ $(call pkg_libs,$(TEST_LIBS) $(PROTO_LIBS)) -lm -pthread

# The service beside other servers; QUICK=1 takes less than a minute. What npm brings stays in build/.
SERVICE := $(B)/bench/service
SERVICE_PACKAGES := nginx-light $(if $(shell command -v node),,nodejs) $(if $(shell command -v npm),,npm)
.PHONY: bench-service service-deps
bench-service: service-deps ## obbd beside nginx, epoll, and Node with Rapier and three.js: the goals of the service; QUICK=1 is shorter
	@$(MAKE) --no-print-directory $(B)/tests/bench/service/service $(B)/tests/bench/service/fixed $(B)/obbd $(SERVICE)/node/ready
	@$(B)/tests/bench/service/service $(SERVICE) $(B)/obbd $(B)/tests/bench/service/fixed

NODE_FILES := $(addprefix tests/bench/service/node/,package.json package-lock.json .npmrc server.mjs)
$(SERVICE)/node/ready: $(NODE_FILES)
	@mkdir -p $(@D)
	@cp $^ $(@D)
	@echo "npm $(@D)"
	@cd $(@D) && npm ci --silent && touch ready
$(B)/tests/bench/service/service: $(addprefix $(B)/tests/bench/service/,service.o load.o scene.o servers.o) \
 $(B)/libsupport.a $(B)/libobb.a
	@echo "ld $@"
	@$(CC) $(BUILD_LDFLAGS) -o $@ $^ $(call pkg_libs,$(TEST_LIBS) libcbor) -lm -pthread
$(B)/tests/bench/service/fixed: $(B)/tests/bench/service/fixed.o
	@echo "ld $@"
	@$(CC) $(BUILD_LDFLAGS) -o $@ $^

# The same pairs through other engines of Debian: the one program that is C++.
PEER_LIBS := fcl bullet ode
PEER_CXXFLAGS := -std=c++17 -O2 -g -I. -Wall -Wextra -DBT_USE_DOUBLE_PRECISION
.PHONY: test-peers peer-deps
test-peers: peer-deps ## verdicts and distances beside FCL, Bullet and ODE; every disagreement must have a cause
	@$(MAKE) --no-print-directory $(B)/tests/peers/peers
	@EFFORT=$(EFFORT) $(B)/tests/peers/peers

$(B)/tests/peers/peers.o: tests/peers/peers.cpp
	@mkdir -p $(@D)
	@echo "c++ $@"
	@$(CXX) $(PEER_CXXFLAGS) $(patsubst -I%,-isystem %,$(filter -I%,$(call pkg_cflags,$(PEER_LIBS)))) -MMD -MP -c -o $@ $<

$(B)/tests/peers/peers: $(B)/tests/peers/peers.o $(B)/tests/peers/cases.o $(B)/libsupport.a $(B)/libobb.a
	@echo "ld $@"
	@$(CXX) $(LDFLAGS_$(config)) $(WRAP) -o $@ $^ $(call pkg_libs,fcl ode $(TEST_LIBS)) -lm -pthread

# ---- Installing, and the image ------------------------------------------------------------------

PREFIX ?= /usr/local
SYSCONFDIR ?= /etc
BINDIR = $(PREFIX)/bin
MANDIR = $(PREFIX)/share/man/man8
UNITDIR = $(PREFIX)/lib/systemd/system
EXAMPLEDIR = $(PREFIX)/share/doc/obbd/examples
EXAMPLES_INSTALLED := obbd.env tokens.json
.PHONY: install uninstall docker docker-run docker-test docker-deps

# The page of the manual and the unit say where things are, and the options are those of --help.
FILL = sed -e 's|@BINDIR@|$(BINDIR)|g' -e 's|@SYSCONFDIR@|$(SYSCONFDIR)|g'
install: all ## daemon, man page, systemd unit and examples; PREFIX=/usr/local, SYSCONFDIR=/etc, DESTDIR=
	install -D -m 755 $(B)/obbd $(DESTDIR)$(BINDIR)/obbd
	@server/install/man.sh $(B)/obbd server/install/obbd.8.in | $(FILL) >$(B)/obbd.8
	install -D -m 644 $(B)/obbd.8 $(DESTDIR)$(MANDIR)/obbd.8
	@$(FILL) server/install/obbd.service.in >$(B)/obbd.service
	install -D -m 644 $(B)/obbd.service $(DESTDIR)$(UNITDIR)/obbd.service
	install -d $(DESTDIR)$(EXAMPLEDIR)
	install -m 644 $(addprefix server/install/,$(EXAMPLES_INSTALLED)) $(DESTDIR)$(EXAMPLEDIR)

uninstall: ## remove what install put there; settings stay
	rm -f $(DESTDIR)$(BINDIR)/obbd $(DESTDIR)$(MANDIR)/obbd.8 $(DESTDIR)$(UNITDIR)/obbd.service \
	 $(addprefix $(DESTDIR)$(EXAMPLEDIR)/,$(EXAMPLES_INSTALLED))
	@rmdir -p $(DESTDIR)$(EXAMPLEDIR) 2>/dev/null || true

IMAGE ?= obbd
docker: docker-deps ## build the image, obbd, with docker or podman
	@docker/image.sh build $(IMAGE)
docker-run: docker ## run it with the demo scene on port 7480 of loopback
	docker/image.sh engine run --rm $(if $(shell test -t 0 && echo yes),-it) --read-only --cap-drop all --security-opt no-new-privileges \
	 -p 127.0.0.1:7480:7480 -e OBBD_ALLOW_ANONYMOUS=1 -e OBBD_DEMO=1 $(IMAGE)
docker-test: test-deps docker-deps ## build the image, look at it as it runs hardened, and run the end-to-end tests against it
	@$(MAKE) -j$(JOBS) --no-print-directory $(E2E_BINS)
	@TIMEOUT_FACTOR=$(TIMEOUT_FACTOR) docker/test.sh $(E2E_BINS)

# Their libraries as Debian builds them; Bullet in floats, as it is fastest. Without -march: as core itself is built.
BENCH_PEER_LIBS := fcl bullet ode
.PHONY: bench-peers
bench-peers: peer-deps ## the same boxes through Embree, Bullet, FCL, CGAL and ODE: the goals of core, and a chart; QUICK=1 without the million
	@$(MAKE) --no-print-directory $(B)/tests/bench/core/peers
	@mkdir -p $(B)/bench
	@COMMIT=$(COMMIT) $(B)/tests/bench/core/peers $(B)/bench/peers.csv $(B)/bench/peers.svg
	@echo "as CSV: $(B)/bench/peers.csv, as a picture: $(B)/bench/peers.svg"

$(B)/tests/bench/core/peers.o: tests/bench/core/peers.cpp tests/bench/core/ours.h tests/bench/core/report.h
	@mkdir -p $(@D)
	@echo "c++ $@"
	@$(CXX) -std=c++17 -O2 -g -I. -Wall -Wextra \
	 $(patsubst -I%,-isystem %,$(filter -I%,$(call pkg_cflags,$(BENCH_PEER_LIBS)))) -c -o $@ $<

$(B)/tests/bench/core/peers: $(B)/tests/bench/core/peers.o $(BENCH_CORE) $(B)/libsupport.a $(B)/libobb.a
	@echo "ld $@"
	@$(CXX) $(BUILD_LDFLAGS) -o $@ $^ -lembree3 $(call pkg_libs,$(BENCH_PEER_LIBS) $(TEST_LIBS)) -lm -pthread

# ---- Dependencies ---------------------------------------------------------------------------------

BUILD_PACKAGES := gcc libc6-dev make pkg-config libmicrohttpd-dev libjansson-dev libuv1-dev libcbor-dev libyaml-dev
TEST_PACKAGES := check libcurl4-gnutls-dev libgmp-dev curl
PAGE_PACKAGES := $(if $(HAVE_NODE),,nodejs npm)
WEB_PACKAGES := chromium fonts-liberation $(PAGE_PACKAGES)
PEER_PACKAGES := g++ libfcl-dev libbullet-dev libode-dev libembree-dev libcgal-dev
DOCKER_PACKAGES := $(if $(shell docker info >/dev/null 2>&1 && echo yes),,podman runc mmdebstrap netavark iptables) curl
LINT_PACKAGES := clang clang-format clang-tidy shellcheck groff-base systemd
FUZZ_PACKAGES := clang libclang-rt-dev

# $(call install,PACKAGES): installs what is missing with apt where that may be done, else says the one line to run.
define install
@missing=; for p in $(1); do \
  dpkg-query -W -f '$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || missing="$$missing $$p"; done; \
if [ -n "$$missing" ]; then \
  if [ "$$(id -u)" = 0 ]; then as=; \
  elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then as=sudo; \
  else echo "missing:$$missing"; echo "run as root: apt-get install -y$$missing"; exit 1; fi; \
  echo "installing:$$missing"; \
  $$as env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing >/dev/null || \
  { $$as apt-get update -qq && \
    $$as env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $$missing >/dev/null; }; \
fi
endef

deps: ## install what building and testing need
	$(call install,$(BUILD_PACKAGES) $(TEST_PACKAGES) $(WEB_PACKAGES))
	@$(MAKE) --no-print-directory server/web/node_modules/.package-lock.json \
	 tests/web/node_modules/.package-lock.json
	@if [ "$$(id -u)" = 0 ]; then mkdir -p $(NPM_SHARED) && cp -r build/npm/. $(NPM_SHARED) && \
	 chmod -R a+rX $(NPM_SHARED); fi
build-deps: ## install what building the daemon needs
	$(call install,$(BUILD_PACKAGES))
test-deps:
	$(call install,$(BUILD_PACKAGES) $(TEST_PACKAGES))
page-deps: ## install what building its page needs
	$(call install,$(PAGE_PACKAGES))
web-deps:
	$(call install,$(WEB_PACKAGES))
peer-deps:
	$(call install,$(BUILD_PACKAGES) $(TEST_PACKAGES) $(PEER_PACKAGES))
docker-deps:
	$(call install,$(DOCKER_PACKAGES))
codec-deps:
	$(call install,$(BUILD_PACKAGES) $(TEST_PACKAGES) $(CODEC_PACKAGES))
service-deps:
	$(call install,$(BUILD_PACKAGES) $(TEST_PACKAGES) $(SERVICE_PACKAGES))
cross-deps:
	$(call install,$(CROSS_PACKAGES))
valgrind-deps:
	$(call install,$(BUILD_PACKAGES) $(TEST_PACKAGES) valgrind)
fuzz-deps:
	$(call install,$(BUILD_PACKAGES) $(TEST_PACKAGES) $(FUZZ_PACKAGES))
lint-deps:
	$(call install,$(BUILD_PACKAGES) $(TEST_PACKAGES) $(LINT_PACKAGES))

-include $(shell find $(B) -name '*.d' 2>/dev/null)

# ---- Checks -----------------------------------------------------------------------------------------

.PHONY: format format-check tidy check-layers check-headers check-symbols check-openapi check-install check-watch check-arm64 shellcheck check-page
lint: lint-deps ## format-check tidy check-layers check-headers check-symbols check-openapi check-install shellcheck, and where node, promtool and a compiler for aarch64 are there check-page, check-watch and check-arm64
	@$(MAKE) --no-print-directory format-check check-layers check-headers check-symbols check-openapi check-install shellcheck tidy \
	 $(if $(HAVE_NODE),check-page) $(if $(shell command -v promtool),check-watch) $(if $(shell command -v $(CROSS_CC)),check-arm64)

format: ## rewrite the sources with clang-format
	@tests/lint/files.sh format '*.c' '*.h' -- clang-format -i

format-check:
	@tests/lint/files.sh format-check '*.c' '*.h' -- clang-format --dry-run -Werror

TIDY_FLAGS = $(filter-out $(GCC_ONLY),$(BUILD_CFLAGS)) -Wno-unknown-warning-option \
 $(call pkg_cflags,$(TEST_LIBS) $(SERVER_LIBS) $(PROTO_LIBS))
tidy:
	@tests/lint/tidy.sh $(TIDY_FLAGS)

check-layers:
	@tests/lint/layers.sh

check-headers:
	@tests/lint/headers.sh $(CC) $(BUILD_CFLAGS) $(call pkg_cflags,$(TEST_LIBS) $(SERVER_LIBS) $(PROTO_LIBS))

check-symbols: $(B)/libobb.a $(B)/libwire.a
	@tests/lint/symbols.sh $^

check-openapi: $(B)/tests/proto/contract/test_openapi
	@$<

check-install: all
	@tests/lint/install.sh $(B)/obbd

check-watch: all
	@tests/lint/watch.sh $(B)/obbd

# The one source that no other build looks at.
check-arm64:
	@$(CROSS) -W core/kernels/batch_neon.c CI=1 build/aarch64/core/batch_neon.o
	@echo "check-arm64: looked at 1 file, clean"

check-page: server/web/node_modules/.package-lock.json
	@cd server/web && npx tsc && echo "check-page: looked at $(words $(wildcard server/web/src/*.ts)) files, clean"

shellcheck:
	@tests/lint/files.sh shellcheck '*.sh' .ci/run -- shellcheck

compile_commands.json: ## for editors and clang-tidy
	@{ echo '['; for f in $(CORE_SRC) $(PROTO_SRC) $(SERVER_SRC) $(SUPPORT_SRC) $(TEST_SRC); do \
	 printf '{"directory":"%s","file":"%s","command":"$(CC) %s -c %s"},\n' "$(CURDIR)" "$$f" \
	 '$(subst ",\\",$(BUILD_CFLAGS) $(call pkg_cflags,$(TEST_LIBS) $(SERVER_LIBS) $(PROTO_LIBS)))' "$$f"; \
	 done | sed '$$ s/,$$//'; echo ']'; } > $@

clean: ## remove build/
	rm -rf build

help: ## list the targets
	@sed -n 's/^\([a-z_.-]*\):.*## \(.*\)/\1|\2/p' Makefile | \
	 while IFS='|' read -r target does; do printf '%-24s %s\n' "$$target" "$$does"; done
