# The web editor and the reference of the API, each packed into one page and that page into a header.
# Without node, or if npm cannot fetch the packages of the editor, the header of a page says so and
# the daemon shows in its place how to build it. A header that was made without node is made again as
# soon as node is there; after a failure of npm `make page` tries again.

# The editor is packed together with the client that it uses.
DOCS_SRC := server/web/docs.mjs server/web/embed.mjs server/web/src/docs.css
PAGE_SRC := $(filter-out server/web/docs.mjs %/docs.css,\
 $(sort $(wildcard server/web/*.json server/web/*.mjs server/web/src/* proto/clients/js/src/*.ts)))
PAGE := build/server/routes/page_data.h
DOCS := build/server/routes/docs_data.h
HAVE_NODE := $(shell command -v node && command -v npm)
NPM_CI := npm ci --ignore-scripts --no-progress --loglevel=error \
 --fetch-retries=2 --fetch-retry-maxtimeout=5000 --fetch-retry-mintimeout=1000
PAGE_PACKAGES := $(if $(HAVE_NODE),,nodejs npm)
WEB_PACKAGES := chromium-headless-shell fonts-liberation $(PAGE_PACKAGES)
.PHONY: page page-deps web-deps

##@ Build and run
page: server/web/node_modules/.package-lock.json ## build the web editor, for the next `make` to embed
	@mkdir -p $(dir $(PAGE))
	@cd server/web && node build.mjs $(CURDIR)/$(PAGE)

# `make deps` as root copies the packages that npm fetched to NPM_SHARED. Every user of the machine
# finds them there, also without a network.
NPM_SHARED := /var/cache/obbd-npm
%/node_modules/.package-lock.json: %/package-lock.json %/package.json
	@echo "npm $*"
	@mkdir -p build/npm && { [ ! -d $(NPM_SHARED) ] || cp -rn $(NPM_SHARED)/. build/npm; }
	@cd $* && $(NPM_CI) --prefer-offline --cache $(CURDIR)/build/npm && touch node_modules/.package-lock.json

NO_NODE := made without node
MADE_WITHOUT_NODE := $(if $(HAVE_NODE),$(shell grep -ls '$(NO_NODE)' $(PAGE) $(DOCS)))
ifneq ($(MADE_WITHOUT_NODE),)
.PHONY: node-is-there
$(MADE_WITHOUT_NODE): node-is-there
endif

# The recipes look for node anew: a goal before them, as `clients`, may have installed it.
FIND_NODE := command -v node >/dev/null && command -v npm >/dev/null
$(PAGE): $(PAGE_SRC)
	@mkdir -p $(@D)
	@if ! { $(FIND_NODE); }; then \
	 echo "page: not built (no node here); the daemon will say under / how to"; echo '/* $(NO_NODE) */' >$@; \
	elif ! $(MAKE) --no-print-directory page; then \
	 echo "page: not built (see above); the daemon will say under / how to"; echo '/* npm failed */' >$@; fi
GUIDE := proto/contract/guide
$(DOCS): $(DOCS_SRC) $(TOOLS)/openapi.json $(TOOLS)/exchanges.ndjson $(GUIDE)/README.md $(wildcard $(GUIDE)/pictures/*)
	@mkdir -p $(@D)
	@if $(FIND_NODE); then node $< $@ $(TOOLS)/openapi.json $(TOOLS)/exchanges.ndjson $(GUIDE) && touch $@; else \
	 echo "docs: not built (no node here); the daemon will say under /docs how to"; echo '/* $(NO_NODE) */' >$@; fi
$(B)/server/routes/page.o: $(PAGE) $(DOCS)
$(B)/server/routes/page.o: BUILD_CFLAGS += -Ibuild

##@ Prepare
page-deps: ## install what building the web editor needs
	$(call install,$(PAGE_PACKAGES))
web-deps:
	$(call install,$(WEB_PACKAGES))
