# Benchmarks. A figure is printed, never asserted; a wrong answer fails the run.

COMMIT = $(shell git describe --always --dirty 2>/dev/null)
##: QUICK=1         bench, bench-peers, bench-journal, bench-cluster: without the million boxes; bench-service: fewer connections and rounds
##: BASE=file.csv   bench: show ratios to an earlier run
BASE ?=
YARDSTICK ?=
##: YARDSTICK=prog  bench-peers: also beside a program that searches all pairs of a file (tests/bench/core/yardstick.h)
##: PART=ticks      bench-service: measure one part: ready, small, queries, ticks, bulk, beside, columns, pairs, questions, copies, rigs, events or memory; bench-cluster: touch or large
.PHONY: bench bench-peers bench-codecs bench-costs bench-service bench-journal bench-cluster codec-deps service-deps
##@ Measure

# ---- Core. Results are compared with tests/bench/core/golden.csv, the same on every CPU. -----------

FLOATS := $(patsubst core/kernels/batch_%.c,$(B)/tests/bench/core/floats_%.o,$(wildcard core/kernels/batch_avx*.c))
BENCH_CORE := $(addprefix $(B)/tests/bench/core/,crew.o ours.o report.o floats.o) $(FLOATS)
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

# ---- Core beside other engines, with their libraries as Debian builds them -----------------------

# Bullet is built in floats, in which it is fastest. No -march: core itself is built without.
BENCH_PEER_LIBS := fcl bullet ode
bench-peers: peer-deps ## the same boxes through Embree, Bullet, FCL, CGAL and ODE: the goals of core, and a chart; QUICK=1 without the million
	@$(MAKE) --no-print-directory $(B)/tests/bench/core/peers
	@mkdir -p $(B)/bench
	@COMMIT=$(COMMIT) YARDSTICK="$(YARDSTICK)" $(B)/tests/bench/core/peers $(B)/bench/peers.csv $(B)/bench/peers.svg
	@echo "as CSV: $(B)/bench/peers.csv, as a picture: $(B)/bench/peers.svg"

$(B)/tests/bench/core/peers.o: tests/bench/core/peers.cpp tests/bench/core/ours.h tests/bench/core/report.h tests/bench/core/yardstick.h
	@mkdir -p $(@D)
	@echo "c++ $@"
	@$(CXX) -std=c++17 -O2 -g -I. -Wall -Wextra \
	 $(patsubst -I%,-isystem %,$(filter -I%,$(call pkg_cflags,$(BENCH_PEER_LIBS)))) -c -o $@ $<

$(B)/tests/bench/core/peers: $(B)/tests/bench/core/peers.o $(B)/tests/bench/core/yardstick.o $(BENCH_CORE) $(B)/libsupport.a $(B)/libobb.a
	@echo "ld $@"
	@$(CXX) $(BUILD_LDFLAGS) -o $@ $^ -lembree3 $(call pkg_libs,$(BENCH_PEER_LIBS) $(TEST_LIBS)) -lm -pthread

# ---- Codecs. Bodies of 50 bytes to 2.5 MB; simdjson is C++ behind a C face. ----------------------

CODEC_PACKAGES := g++ libsimdjson-dev
bench-codecs: codec-deps ## requests from JSON and CBOR, beside jansson and simdjson, as CSV
	@$(MAKE) --no-print-directory $(B)/tests/bench/codecs
	@$(B)/tests/bench/codecs
codec-deps:
	$(call install,$(BUILD_PACKAGES) $(TEST_PACKAGES) $(CODEC_PACKAGES))

$(B)/tests/bench/simdjson_peer.o: tests/bench/simdjson_peer.cpp tests/bench/simdjson_peer.h
	@mkdir -p $(@D)
	@echo "c++ $@"
	@$(CXX) -std=c++17 -O2 -g -fPIE -I. -Wall -Wextra $(call pkg_cflags,simdjson) -c -o $@ $<
$(B)/tests/bench/codecs: $(B)/tests/bench/codecs.o $(B)/tests/bench/simdjson_peer.o $(B)/libsupport.a \
 $(B)/libwire.a $(B)/libobb.a
	@echo "ld $@"
	@$(CXX) $(BUILD_LDFLAGS) -o $@ $^ $(call pkg_libs,simdjson $(TEST_LIBS) $(PROTO_LIBS)) -lm -pthread

# ---- Costs ---------------------------------------------------------------------------------------

bench-costs: test-deps ## what queries and commits cost, beside what obb_query_cost says, as CSV
	@$(MAKE) --no-print-directory $(B)/tests/bench/costs
	@$(B)/tests/bench/costs

$(B)/tests/bench/costs: $(B)/tests/bench/costs.o $(addprefix $(B)/tests/bench/service/,load.o scene.o) \
 $(B)/libsupport.a $(B)/libwire.a $(B)/libobb.a
	@echo "ld $@"
	@$(CC) $(BUILD_LDFLAGS) -o $@ $^ $(call pkg_libs,$(TEST_LIBS) $(PROTO_LIBS)) -lm -pthread

# ---- The service beside other servers. The packages that npm fetches stay in build/. --------------

SERVICE := $(B)/bench/service
SERVICE_PACKAGES := nginx-light $(if $(shell command -v node),,nodejs) $(if $(shell command -v npm),,npm)
bench-service: service-deps ## obbd beside nginx, epoll, and Node with Rapier and three.js: the goals of the service; QUICK=1 is shorter, PART=word picks
	@$(MAKE) --no-print-directory $(B)/tests/bench/service/service $(B)/tests/bench/service/fixed $(B)/obbd $(SERVICE)/node/ready
	@$(B)/tests/bench/service/service $(SERVICE) $(B)/obbd $(B)/tests/bench/service/fixed
service-deps:
	$(call install,$(BUILD_PACKAGES) $(TEST_PACKAGES) $(SERVICE_PACKAGES))

NODE_FILES := $(addprefix tests/bench/service/node/,package.json package-lock.json .npmrc server.mjs)
$(SERVICE)/node/ready: $(NODE_FILES)
	@mkdir -p $(@D)
	@cp $^ $(@D)
	@echo "npm $(@D)"
	@cd $(@D) && npm ci --silent && touch ready
$(B)/tests/bench/service/service: $(addprefix $(B)/tests/bench/service/,service.o columns.o copies.o followers.o load.o meter.o pairs.o questions.o rigs.o scene.o servers.o) \
 $(B)/libsupport.a $(B)/libobb.a
	@echo "ld $@"
	@$(CC) $(BUILD_LDFLAGS) -o $@ $^ $(call pkg_libs,$(TEST_LIBS) libcbor) -lm -pthread
$(B)/tests/bench/service/fixed: $(B)/tests/bench/service/fixed.o
	@echo "ld $@"
	@$(CC) $(BUILD_LDFLAGS) -o $@ $^

# ---- Durable scenes. The files lie in build/, so build/ decides which disk is measured. -----------

JOURNAL := $(B)/bench/journal
bench-journal: test-deps ## obbd with --data beside obbd without: the goals of the journal; QUICK=1 is shorter
	@$(MAKE) --no-print-directory $(B)/tests/bench/journal $(B)/obbd
	@mkdir -p $(JOURNAL)
	@$(B)/tests/bench/journal $(JOURNAL) $(B)/obbd
JOURNAL_PARTS := $(addprefix $(B)/tests/bench/,goals.o small.o service/load.o service/meter.o service/scene.o service/servers.o)
$(B)/tests/bench/journal: $(B)/tests/bench/journal.o $(JOURNAL_PARTS) \
 $(B)/libsupport.a $(B)/libobb.a
	@echo "ld $@"
	@$(CC) $(BUILD_LDFLAGS) -o $@ $^ $(call pkg_libs,$(TEST_LIBS) libcbor) -lm -pthread

# ---- Daemons over one log. Three servers of NATS and the daemons share the processors. -------------

bench-cluster: test-deps ## three servers of NATS and obbd with --journal, on loopback: the goals of many daemons; QUICK=1 is shorter
	@$(MAKE) --no-print-directory $(B)/tests/bench/cluster $(B)/obbd
	@OBBD=$(B)/obbd $(B)/tests/bench/cluster
$(B)/tests/bench/cluster: $(B)/tests/bench/cluster.o $(JOURNAL_PARTS) $(B)/libsupport.a $(B)/libwire.a $(B)/libobb.a
	@echo "ld $@"
	@$(CC) $(BUILD_LDFLAGS) -o $@ $^ $(call pkg_libs,$(TEST_LIBS) $(PROTO_LIBS)) -lm -pthread
