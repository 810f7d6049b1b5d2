# The daemon at full load for as long as one likes.

.PHONY: soak
##@ Test
soak: test-deps ## the daemon at full load for SECONDS=60: memory, descriptors and threads must not grow
	@$(MAKE) --no-print-directory $(B)/tests/soak/soak
	@SECONDS=$(SECONDS) OBBD=$(B)/obbd $(B)/tests/soak/soak

$(B)/tests/soak/soak: $(addprefix $(B)/tests/soak/,soak.o peer.o) $(B)/libsupport.a $(B)/libwire.a $(B)/libobb.a $(B)/obbd
	@echo "ld $@"
	@$(CC) $(BUILD_LDFLAGS) -o $@ $(filter-out $(B)/obbd,$^) $(call pkg_libs,$(TEST_LIBS) $(PROTO_LIBS)) -lm -pthread
