# The checks of the tree. Each prints how many things it looked at, and fails if it looked at none.

LINT_PACKAGES := clang clang-format clang-tidy shellcheck groff-base systemd python3 mypy
.PHONY: lint lint-deps format format-check tidy check-layers check-circles check-lint rooms check-headers check-symbols \
 check-openapi check-contract check-install check-watch check-arm64 check-page shellcheck compile_commands.json
# Is there a compiler for aarch64, with the headers of its C library?
CAN_CROSS = $(shell $(CROSS_CC) -include math.h -fsyntax-only -x c /dev/null 2>/dev/null && echo yes)
HAVE_PROMTOOL = $(shell command -v promtool)
# `make lint TIDY=` leaves clang-tidy to whoever runs `make tidy` beside.
TIDY := tidy
##@ Check
lint: lint-deps ## all checks of the tree; without node, promtool or a compiler for aarch64 those that need them are left out, and named
	@$(MAKE) --no-print-directory format-check check-lint check-layers check-circles check-headers check-symbols check-openapi \
	 check-contract check-install shellcheck $(TIDY) check-clients \
	 $(if $(HAVE_NODE),check-page) $(if $(HAVE_PROMTOOL),check-watch) $(if $(CAN_CROSS),check-arm64)
	@$(if $(HAVE_NODE),,echo "check-page: left out, for there is no node; so are the types of the JavaScript client in check-clients")
	@$(if $(HAVE_PROMTOOL),,echo "check-watch: left out, for there is no promtool")
	@$(if $(CAN_CROSS),,echo "check-arm64: left out, for there is no compiler for aarch64 (make cross-deps)")
lint-deps:
	$(call install,$(BUILD_PACKAGES) $(TEST_PACKAGES) $(LINT_PACKAGES))

format: ## rewrite the sources with clang-format
	@tests/lint/files.sh format '*.c' '*.h' -- clang-format -i

format-check:
	@tests/lint/files.sh format-check '*.c' '*.h' -- clang-format --dry-run -Werror

LIB_CFLAGS = $(call pkg_cflags,$(TEST_LIBS) $(SERVER_LIBS) $(PROTO_LIBS))
tidy: ## clang-tidy on every source
	@tests/lint/tidy.sh $(BUILD_CFLAGS) -Iproto/clients/c -Wno-unknown-warning-option $(LIB_CFLAGS)

check-layers: ## rooms include only the rooms they stand on, libraries stay in their rooms, stores change by one door
	@tests/lint/layers.sh

check-circles: libs $(B)/server/main.o $(B)/proto/clients/c/obbd.o ## no circle of files or rooms, by includes and by calls
	@tests/lint/circles.sh . $(B)

rooms: libs $(B)/server/main.o $(B)/proto/clients/c/obbd.o ## print the arrows between rooms, with how many files of each use the other
	@tests/lint/circles.sh --table . $(B)

check-lint: ## the checks of rooms, circles and the contract themselves, on small trees with planted faults
	@tests/lint/test_lint.sh

check-headers:
	@tests/lint/headers.sh $(CC) $(BUILD_CFLAGS) $(LIB_CFLAGS)

check-symbols: $(B)/libobb.a $(B)/libwire.a
	@tests/lint/symbols.sh $^

check-openapi: $(B)/tests/proto/contract/test_openapi
	@$<

check-contract: ## tests/CONTRACT.md and tests/CLAIMS.md name tests that exist, and all sentences of the pages of the clients
	@tests/lint/contract.py

check-install: all
	@tests/lint/install.sh $(B)/obbd

check-watch: all
	@tests/lint/watch.sh $(B)/obbd

# No other build on this machine compiles this source.
check-arm64:
	@$(CROSS) -W core/kernels/batch_neon.c CI=1 build/aarch64/core/kernels/batch_neon.o
	@echo "check-arm64: looked at 1 file, clean"

check-page: server/web/node_modules/.package-lock.json
	@cd server/web && npx tsc && echo "check-page: looked at $(words $(wildcard server/web/src/*.ts)) files, clean"

shellcheck: ## shellcheck on every script
	@tests/lint/files.sh shellcheck '*.sh' .ci/run -- shellcheck

compile_commands.json: ## the flags of each source, for editors
	@{ echo '['; for f in $(CORE_SRC) $(PROTO_SRC) $(SERVER_SRC) $(SUPPORT_SRC) $(TEST_SRC); do \
	 printf '{"directory":"%s","file":"%s","command":"$(CC) %s -c %s"},\n' "$(CURDIR)" "$$f" \
	 '$(subst ",\\",$(BUILD_CFLAGS) $(LIB_CFLAGS))' "$$f"; \
	 done | sed '$$ s/,$$//'; echo ']'; } > $@
