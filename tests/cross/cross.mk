# Core and its tests for aarch64, under emulation; tests/cross/check.h stands in for Check.

CROSS_TESTS := kernels/test_batch index/test_index
CROSS_PACKAGES := gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static
CROSS_BINS := $(CROSS_TESTS:%=build/aarch64/cross/%)
CROSS_CC := aarch64-linux-gnu-gcc
CROSS = $(MAKE) -j$(JOBS) --no-print-directory CC=$(CROSS_CC) B=build/aarch64 CFLAGS=-Itests/cross TEST_LIBS= PROTO_LIBS= \
 SERVER_LIBS=
.PHONY: check-neon cross-deps
##@ Test
check-neon: cross-deps ## the tests of kernels and index for aarch64, under qemu: NEON against the scalar kernels
	@$(CROSS) $(CROSS_BINS)
	@printf '%s\n' $(CROSS_BINS) | xargs -n 1 -P $(JOBS) qemu-aarch64-static
	@echo "check-neon: looked at $(words $(CROSS_BINS)) programs, clean"
cross-deps:
	$(call install,$(CROSS_PACKAGES))

build/aarch64/cross/%: $(B)/tests/core/%.o $(call obj,$(CORE_SRC)) \
 $(addprefix $(B)/tests/support/,test.o boxes.o fault.o model_scene.o)
	@mkdir -p $(@D)
	@echo "ld $@"
	@$(CC) -static $(WRAP) -o $@ $^ -lm -pthread
