# Fuzz targets. With config=fuzz libFuzzer drives a target; otherwise the driver replays its corpus,
# as a test. Inputs that a fuzzer learns stay in build/; a finding lands in tests/fuzz/regress.

FUZZ_DRIVER := $(if $(filter fuzz,$(config)),,$(B)/tests/fuzz/driver.o)
$(B)/tests/fuzz/%: $(B)/tests/fuzz/%.o $(FUZZ_DRIVER) $(B)/libserver.a $(B)/libsupport.a $(B)/libwire.a $(B)/libobb.a
	@echo "ld $@"
	@$(CC) $(BUILD_LDFLAGS) $(if $(FUZZ_DRIVER),,-fsanitize=fuzzer) -o $@ $^ \
	 $(call pkg_libs,$(TEST_LIBS) $(SERVER_LIBS) $(PROTO_LIBS)) -lm -pthread

# Its allocations fail, see tests/support/fault.h.
$(B)/tests/fuzz/fuzz_service: BUILD_LDFLAGS += $(WRAP)

FUZZ_PACKAGES := clang libclang-rt-dev
FUZZERS := $(patsubst tests/fuzz/fuzz_%.c,%,$(FUZZ_SRC))
##: F=json          fuzz, fuzz-keep: the fuzzer to run, or several; by default all
F ?= $(FUZZERS)
##: SECONDS=60      fuzz, soak: how long to run; each fuzzer takes that long
SECONDS ?= 60
FUZZ = $(MAKE) -j$(JOBS) --no-print-directory config=fuzz CC=clang $(F:%=build/fuzz/tests/fuzz/fuzz_%)
.PHONY: fuzz fuzz-keep fuzz-deps
##@ Test
fuzz: fuzz-deps ## run the fuzzer F=json, or all, each for SECONDS=60
	@$(FUZZ)
	@JOBS=$(JOBS) tests/fuzz/run.sh $(SECONDS) $(F)
fuzz-keep: fuzz-deps ## keep the learnt inputs that reach new code: add them to tests/fuzz/corpus
	@$(FUZZ)
	@for f in $(F); do build/fuzz/tests/fuzz/fuzz_$$f -use_counters=0 -set_cover_merge=1 tests/fuzz/corpus/$$f \
	 build/fuzz/corpus/$$f || exit 1; done
fuzz-deps:
	$(call install,$(BUILD_PACKAGES) $(TEST_PACKAGES) $(FUZZ_PACKAGES))
