# The web editor, packed into one page and that page into a header. Without node, or if npm cannot
# fetch its packages, the header is empty and the daemon says under / how to build the page.

PAGE_SRC := $(sort $(wildcard server/web/*.json server/web/*.mjs server/web/src/*))
PAGE := build/server/routes/page_data.h
HAVE_NODE := $(shell command -v node && command -v npm)
NPM_CI := npm ci --ignore-scripts --no-progress --loglevel=error \
 --fetch-retries=2 --fetch-retry-maxtimeout=5000 --fetch-retry-mintimeout=1000
PAGE_PACKAGES := $(if $(HAVE_NODE),,nodejs npm)
WEB_PACKAGES := chromium fonts-liberation $(PAGE_PACKAGES)
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

$(PAGE): $(PAGE_SRC)
	@mkdir -p $(@D)
	@if [ -n "$(HAVE_NODE)" ] && $(MAKE) --no-print-directory page; then :; else \
	 echo "page: not built ($(if $(HAVE_NODE),see above,no node here)); the daemon will say under / how to"; : >$@; fi
$(B)/server/routes/page.o: $(PAGE)
$(B)/server/routes/page.o: BUILD_CFLAGS += -Ibuild

##@ Prepare
page-deps: ## install what building the web editor needs
	$(call install,$(PAGE_PACKAGES))
web-deps:
	$(call install,$(WEB_PACKAGES))
