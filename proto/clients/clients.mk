# The clients: packed into build/clients, and tested as they were packed.

CLIENTS := build/clients
CLIENTS_VERSION := $(shell sed -n 's/.*SRV_VERSION "\(.*\)"/\1/p' server/server.h)
# What packing each client and running a program with it needs, and what the tests need beyond that.
JS_PACKAGES := $(PAGE_PACKAGES)
PY_PACKAGES := python3 python3-setuptools python3-wheel
CS_PACKAGES := mono-mcs mono-runtime
C_PACKAGES := libcurl4-gnutls-dev pkg-config gcc
CLIENTS_PACKAGES := $(JS_PACKAGES) $(PY_PACKAGES) $(CS_PACKAGES) $(C_PACKAGES) g++ python3-pip python3-numpy libjansson-dev
CLIENT_TESTS_NODE := tests/clients/node_modules/.package-lock.json
.PHONY: clients clients-deps check-clients bench-clients client-js client-python client-c client-csharp

# ---- JavaScript -------------------------------------------------------------------------------

JS := proto/clients/js
JS_NODE := $(JS)/node_modules/.package-lock.json
JS_PACK := $(CLIENTS)/obbd-client-$(CLIENTS_VERSION).tgz
JS_INSTALLED := $(CLIENTS)/test/node_modules/.package-lock.json

$(JS_PACK): $(wildcard $(JS)/src/*.ts $(JS)/examples/*/*) $(JS)/package.json $(JS)/tsconfig.json $(JS)/README.md $(JS_NODE)
	@echo "npm pack $@"
	@rm -rf $(CLIENTS)/js && mkdir -p $(CLIENTS)/js
	@$(JS)/node_modules/.bin/tsc -p $(JS) --outDir $(CLIENTS)/js/dist
	@cp -r $(JS)/package.json $(JS)/README.md $(JS)/examples $(CLIENTS)/js
	@cd $(CLIENTS)/js && npm pack --silent --pack-destination .. >/dev/null
	@test -f $@ || { echo "$@: $(JS)/package.json has another version than the daemon, $(CLIENTS_VERSION)"; exit 1; }

# A package of somebody who installed the client, without a network.
$(JS_INSTALLED): $(JS_PACK)
	@rm -rf $(CLIENTS)/test && mkdir -p $(CLIENTS)/test && echo '{"private":true}' >$(CLIENTS)/test/package.json
	@cd $(CLIENTS)/test && npm install --silent --offline --no-audit --no-fund $(CURDIR)/$(JS_PACK) && touch $(CURDIR)/$@

# ---- Python -----------------------------------------------------------------------------------

# The Python of the packages above; there may be another one on the PATH.
PYTHON3 := $(firstword $(wildcard /usr/bin/python3) python3)
PY := proto/clients/python
PY_SRC := $(wildcard $(PY)/obbd/*.py) $(PY)/obbd/py.typed $(PY)/pyproject.toml
PY_PACK := $(CLIENTS)/obbd-$(CLIENTS_VERSION)-py3-none-any.whl
PY_INSTALLED := $(CLIENTS)/python/obbd/__init__.py
PY_BUILD := import sys, setuptools.build_meta as meta; getattr(meta, sys.argv[1])(sys.argv[2])

# The wheel is made of the source package, so that one is complete.
$(PY_PACK): $(PY_SRC) $(PY)/README.md
	@echo "wheel $@"
	@rm -rf $(CLIENTS)/py && mkdir -p $(CLIENTS)/py && cp -r $(PY)/obbd $(PY)/pyproject.toml $(PY)/README.md $(CLIENTS)/py
	@cd $(CLIENTS)/py && $(PYTHON3) -c '$(PY_BUILD)' build_sdist .. >/dev/null 2>&1
	@cd $(CLIENTS)/py && tar xzf ../obbd-$(CLIENTS_VERSION).tar.gz && cd obbd-$(CLIENTS_VERSION) && \
	 $(PYTHON3) -c '$(PY_BUILD)' build_wheel ../.. >build.log 2>&1 || { cat build.log; exit 1; }
	@test -f $@ || { echo "$@: $(PY)/pyproject.toml has another version than the daemon, $(CLIENTS_VERSION)"; exit 1; }

$(PY_INSTALLED): $(PY_PACK)
	@rm -rf $(CLIENTS)/python
	@$(PYTHON3) -m pip install --quiet --no-index --no-deps --no-compile --disable-pip-version-check --root-user-action=ignore \
	 --target $(CLIENTS)/python $(PY_PACK) && touch $@

# ---- C# ---------------------------------------------------------------------------------------

CS := proto/clients/csharp
CS_PACK := $(CLIENTS)/com.obbd.client-$(CLIENTS_VERSION).tgz
CS_BUILT := $(CLIENTS)/csharp
CS_RUNTIME := $(CS_BUILT)/package/Runtime
CS_COMPILE := mcs -langversion:7 -unsafe -optimize -warn:4 -warnaserror -r:System.Core -r:System.Numerics

$(CS_PACK): $(shell find $(CS) -type f)
	@echo "tar $@"
	@grep -q '"version": "$(CLIENTS_VERSION)"' $(CS)/package.json || \
	 { echo "$@: $(CS)/package.json has another version than the daemon, $(CLIENTS_VERSION)"; exit 1; }
	@mkdir -p $(CLIENTS) && tar czf $@ --owner=0 --group=0 --sort=name --transform 's,^\.,package,' -C $(CS) .

# What somebody has who unpacked the package: the client as a library, and the driver of the tests, made of its sources.
$(CS_BUILT)/Obbd.dll: $(CS_PACK)
	@rm -rf $(CS_BUILT) && mkdir -p $(CS_BUILT) && tar xzf $(CS_PACK) -C $(CS_BUILT)
	@$(CS_COMPILE) -target:library -out:$@ $(CS_RUNTIME)/*.cs

$(CS_BUILT)/driver.exe: $(CS_BUILT)/Obbd.dll $(wildcard tests/clients/csharp/*.cs)
	@echo "mcs $@"
	@$(CS_COMPILE) -out:$@ tests/clients/csharp/*.cs $(CS_RUNTIME)/*.cs $(CS_RUNTIME)/Unity/*.cs $(CS_BUILT)/package/Samples~/*/*.cs

# ---- C ----------------------------------------------------------------------------------------

C := proto/clients/c
C_FILES := obbd.h obbd.c obbd.pc.in Makefile README.md
C_PACK := $(CLIENTS)/obbd-c-$(CLIENTS_VERSION).tar.gz
C_TREE := $(CLIENTS)/c/obbd-c-$(CLIENTS_VERSION)
C_INSTALLED := $(CLIENTS)/c/lib/pkgconfig/obbd.pc
C_CFLAGS := -std=c99 -Wall -Wextra -Werror -pedantic

$(C_PACK): $(addprefix $(C)/,$(C_FILES))
	@echo "tar $@"
	@grep -q '^#define OBBD_VERSION "$(CLIENTS_VERSION)"$$' $(C)/obbd.h || \
	 { echo "$@: $(C)/obbd.h has another version than the daemon, $(CLIENTS_VERSION)"; exit 1; }
	@mkdir -p $(CLIENTS)
	@tar czf $@ -C $(C) --transform 's|^|obbd-c-$(CLIENTS_VERSION)/|' $(C_FILES)

$(C_INSTALLED): $(C_PACK)
	@rm -rf $(CLIENTS)/c && mkdir -p $(CLIENTS)/c && tar xzf $(C_PACK) -C $(CLIENTS)/c
	@$(MAKE) -s -C $(C_TREE) install PREFIX=$(CURDIR)/$(CLIENTS)/c CFLAGS='-O2 -g -Werror'

$(CLIENTS)/c/client: C_WRAP := -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc

# Programs of the tests, each with the two files that a program may copy, under the sanitizers.
$(CLIENTS)/c/%: tests/clients/c_%.c $(C_INSTALLED)
	@echo "cc $@"
	@$(CC) $(C_CFLAGS) -D_POSIX_C_SOURCE=200809L -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -I$(C_TREE) \
	 $(call pkg_cflags,libcurl jansson) $(C_WRAP) \
	 -o $@ $< $(C_TREE)/obbd.c $(call pkg_libs,libcurl jansson) -lm

# ---- One language -----------------------------------------------------------------------------

# $(call client,PACKAGES,PACK) builds the daemon and packs one client, and installs what that needs.
define client
$(call install,$(BUILD_PACKAGES) $(1))
@$(MAKE) -j$(JOBS) --no-print-directory all $(2)
endef

##@ Build and run
client-js: ## build the daemon and pack the JavaScript client, installing what is missing
	$(call client,$(JS_PACKAGES),$(JS_PACK))
client-python: ## the same with the Python client
	$(call client,$(PY_PACKAGES),$(PY_PACK))
client-c: ## the same with the C client
	$(call client,$(C_PACKAGES),$(C_PACK))
client-csharp: ## the same with the C# client
	$(call client,$(CS_PACKAGES),$(CS_PACK))

# ---- All --------------------------------------------------------------------------------------

##@ Ship
clients: clients-deps ## pack the clients into build/clients, ready to be published
	@$(MAKE) --no-print-directory $(JS_PACK) $(PY_PACK) $(CS_PACK) $(C_PACK)
	@ls $(CLIENTS)/*-$(CLIENTS_VERSION)*

##@ Prepare
clients-deps: ## install what packing and testing the clients needs
	$(call install,$(CLIENTS_PACKAGES))

##@ Measure
bench-clients: clients-deps ## ticks and large commits with each client, as CSV
	@$(MAKE) --no-print-directory $(B)/obbd $(CLIENTS)/c/tick $(CS_BUILT)/csharp_tick.exe $(PY_INSTALLED) $(JS_INSTALLED)
	@tests/bench/clients/clients.sh $(B)/obbd $(CLIENTS)/c/tick "mono $(CS_BUILT)/csharp_tick.exe" \
	 "node tests/bench/clients/node_tick.mjs" "$(PYTHON3) tests/bench/clients/python_jobs.py"

$(CS_BUILT)/csharp_tick.exe: tests/bench/clients/csharp_tick.cs $(CS_BUILT)/Obbd.dll
	@echo "mcs $@"
	@$(CS_COMPILE) -out:$@ -r:$(CS_BUILT)/Obbd.dll $<

# A program of somebody who installed the library.
$(CLIENTS)/c/tick: tests/bench/clients/c_tick.c $(C_INSTALLED)
	@echo "cc $@"
	@$(CC) $(C_CFLAGS) -D_POSIX_C_SOURCE=200809L -O2 -o $@ $< \
	 $$(PKG_CONFIG_PATH=$(CLIENTS)/c/lib/pkgconfig pkg-config --cflags --libs obbd)

##@ Check
check-clients: $(if $(HAVE_NODE),$(JS_NODE)) ## the types of the clients
	@$(if $(HAVE_NODE),$(JS)/node_modules/.bin/tsc -p $(JS) --noEmit)
	@cd $(PY) && mypy --no-error-summary --python-version 3.9 --ignore-missing-imports --cache-dir=$(CURDIR)/$(CLIENTS)/mypy obbd
	@echo "check-clients: looked at $(words $(if $(HAVE_NODE),$(wildcard $(JS)/src/*.ts)) $(wildcard $(PY)/obbd/*.py)) files, clean"

# The phony prerequisite: a test that is newer than all sources is up to date for make, which then leaves out a missing package.
.PHONY: clients-wanted
$(TEST_CLIENTS): clients-wanted $(B)/obbd $(TOOLS)/exchanges.ndjson
$(filter tests/clients/test_python_%,$(TEST_CLIENTS)): $(PY_INSTALLED)
$(filter tests/clients/test_csharp_%,$(TEST_CLIENTS)): $(CS_BUILT)/driver.exe
$(filter tests/clients/test_c_%,$(TEST_CLIENTS)): $(C_INSTALLED) $(CLIENTS)/c/driver $(CLIENTS)/c/client
$(filter tests/clients/test_js_%,$(TEST_CLIENTS)): $(JS_INSTALLED) $(CLIENT_TESTS_NODE)
$(filter tests/web/test_client.mjs tests/web/test_copy.mjs tests/web/test_example_lag.mjs,$(TEST_WEB)): $(JS_INSTALLED)
$(filter tests/web/test_copy.mjs,$(TEST_WEB)): $(PY_INSTALLED) $(CS_BUILT)/Obbd.dll $(C_INSTALLED)
$(filter tests/clients/test_cluster.py tests/clients/test_no_delay.py,$(TEST_CLIENTS)): $(JS_INSTALLED) $(PY_INSTALLED) $(CS_BUILT)/driver.exe $(CLIENTS)/c/driver
$(filter tests/clients/test_first_shot.py,$(TEST_CLIENTS)): $(JS_INSTALLED) $(PY_INSTALLED) $(CS_PACK) $(C_PACK)
