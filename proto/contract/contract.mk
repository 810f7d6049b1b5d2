# Files generated for proto: the contract as JSON, and the table of powers of ten. Small programs
# write them; those run on the machine that builds, so HOSTCC compiles them.

HOSTCC ?= $(CC)
TOOLS := build/tools
TOOL_LIBS := yaml-0.1 jansson
$(TOOLS)/%: proto/contract/tools/%.c
	@mkdir -p $(@D)
	@echo "cc $@"
	@$(HOSTCC) -std=c17 -D_POSIX_C_SOURCE=200809L -I. -O1 -g $(WARNINGS) $(call pkg_cflags,$(TOOL_LIBS)) \
	 -o $@ $(filter %.c,$^) $(call pkg_libs,$(TOOL_LIBS))
$(TOOLS)/powers: proto/base/powers.h
$(TOOLS)/openapi $(TOOLS)/exchanges: proto/contract/tools/exchange.c proto/contract/tools/exchange.h

$(B)/proto/base/powers_table.h: $(TOOLS)/powers
	@mkdir -p $(@D)
	@$< >$@.new && mv $@.new $@
$(B)/proto/base/powers.o: $(B)/proto/base/powers_table.h

EXAMPLES := $(sort $(wildcard proto/contract/examples/*.http))
$(TOOLS)/openapi.json: $(TOOLS)/openapi proto/contract/openapi.yaml $(EXAMPLES)
	@$^ >$@.new && mv $@.new $@

# The bytes of the document as a C array.
$(B)/proto/contract/openapi_json.h: $(TOOLS)/openapi.json
	@mkdir -p $(@D)
	@od -An -v -tu1 -w32 $< | sed 's/$$/,/; s/ \+/,/g; s/^,//' >$@.new && mv $@.new $@
$(B)/proto/contract/openapi.o: $(B)/proto/contract/openapi_json.h

# The exchanges as lines of JSON, which the tests of the clients replay.
$(TOOLS)/exchanges.ndjson: $(TOOLS)/exchanges $(EXAMPLES)
	@$^ >$@.new && mv $@.new $@
