# Some end-to-end tests against the daemon under memcheck.

VALGRIND_TESTS := $(addprefix $(B)/tests/e2e/test_,contract examples statuses abuse)
.PHONY: valgrind valgrind-deps
##@ Test
valgrind: valgrind-deps ## some end-to-end tests against the daemon under valgrind: no error, no leak
	@$(MAKE) -j$(JOBS) --no-print-directory $(VALGRIND_TESTS)
	@tests/e2e/valgrind.sh $(B)/obbd $(VALGRIND_TESTS)
valgrind-deps:
	$(call install,$(BUILD_PACKAGES) $(TEST_PACKAGES) valgrind)
