# The daemon under the worst that clients can do, for as long as one likes.

##: KIND=3          soak: only that kind of the worst requests; NOISY=1: times are printed, not held against their bounds
SOAK := $(addprefix $(B)/tests/soak/,soak bounds cluster)
.PHONY: soak
##@ Test
soak: test-deps ## full load, then the worst requests, each for SECONDS=60: nothing may grow, memory and loop keep their bounds; then 100 kills; then many daemons over one log while nodes and servers end
	@$(MAKE) --no-print-directory $(SOAK) $(B)/tests/e2e/test_durable
	@SECONDS=$(SECONDS) OBBD=$(B)/obbd $(B)/tests/soak/soak
	@SECONDS=$(SECONDS) OBBD=$(B)/obbd $(B)/tests/soak/bounds
	@SECONDS=$(SECONDS) OBBD=$(B)/obbd $(B)/tests/soak/cluster
	@EFFORT=20 TIMEOUT_FACTOR=20 OBBD=$(B)/obbd $(B)/tests/e2e/test_durable # 100 kills

$(SOAK): %: %.o $(addprefix $(B)/tests/soak/,peer.o worst.o history.o) $(B)/libsupport.a $(B)/libwire.a $(B)/libobb.a $(B)/obbd
	@echo "ld $@"
	@$(CC) $(BUILD_LDFLAGS) -o $@ $(filter-out $(B)/obbd,$^) $(call pkg_libs,$(TEST_LIBS) $(PROTO_LIBS)) -lm -pthread
