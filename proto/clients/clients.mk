# The clients: packed into build/clients, and tested as they were packed.

CLIENTS := build/clients
CLIENTS_VERSION := $(shell sed -n 's/.*SRV_VERSION "\(.*\)"/\1/p' server/server.h)
CLIENTS_PACKAGES := $(PAGE_PACKAGES) python3
CLIENT_TESTS_NODE := tests/clients/node_modules/.package-lock.json
.PHONY: clients clients-deps check-clients

# ---- JavaScript -------------------------------------------------------------------------------

JS := proto/clients/js
JS_NODE := $(JS)/node_modules/.package-lock.json
JS_PACK := $(CLIENTS)/obbd-client-$(CLIENTS_VERSION).tgz
JS_INSTALLED := $(CLIENTS)/test/node_modules/.package-lock.json

$(JS_PACK): $(wildcard $(JS)/src/*.ts) $(JS)/package.json $(JS)/tsconfig.json $(JS)/README.md $(JS_NODE)
	@echo "npm pack $@"
	@rm -rf $(CLIENTS)/js && mkdir -p $(CLIENTS)/js
	@$(JS)/node_modules/.bin/tsc -p $(JS) --outDir $(CLIENTS)/js/dist
	@cp $(JS)/package.json $(JS)/README.md $(CLIENTS)/js
	@cd $(CLIENTS)/js && npm pack --silent --pack-destination .. >/dev/null
	@test -f $@ || { echo "$@: $(JS)/package.json has another version than the daemon, $(CLIENTS_VERSION)"; exit 1; }

# A package of somebody who installed the client, without a network.
$(JS_INSTALLED): $(JS_PACK)
	@rm -rf $(CLIENTS)/test && mkdir -p $(CLIENTS)/test && echo '{"private":true}' >$(CLIENTS)/test/package.json
	@cd $(CLIENTS)/test && npm install --silent --offline --no-audit --no-fund $(CURDIR)/$(JS_PACK) && touch $(CURDIR)/$@

# ---- All --------------------------------------------------------------------------------------

##@ Ship
clients: clients-deps ## pack the clients into build/clients, ready to be published
	@$(MAKE) --no-print-directory $(JS_PACK)
	@ls $(CLIENTS)/*-$(CLIENTS_VERSION)*

##@ Prepare
clients-deps: ## install what packing and testing the clients needs
	$(call install,$(CLIENTS_PACKAGES))

##@ Check
check-clients: $(JS_NODE) ## the types of the clients
	@$(JS)/node_modules/.bin/tsc -p $(JS) --noEmit && echo "check-clients: looked at $(words $(wildcard $(JS)/src/*.ts)) files, clean"

$(TEST_CLIENTS): $(B)/obbd $(TOOLS)/exchanges.ndjson
$(filter tests/clients/test_js_%,$(TEST_CLIENTS)): $(JS_INSTALLED) $(CLIENT_TESTS_NODE)
