# The same pairs of boxes through other engines of Debian. This program is C++.

PEER_PACKAGES := g++ libfcl-dev libbullet-dev libode-dev libembree-dev libcgal-dev
PEER_LIBS := fcl bullet ode
PEER_CXXFLAGS := -std=c++17 -O2 -g -I. -Wall -Wextra -DBT_USE_DOUBLE_PRECISION
.PHONY: test-peers peer-deps
##@ Test
test-peers: peer-deps ## verdicts and distances beside FCL, Bullet and ODE; every disagreement must have a cause
	@$(MAKE) --no-print-directory $(B)/tests/peers/peers
	@EFFORT=$(EFFORT) $(B)/tests/peers/peers
peer-deps:
	$(call install,$(BUILD_PACKAGES) $(TEST_PACKAGES) $(PEER_PACKAGES))

$(B)/tests/peers/peers.o: tests/peers/peers.cpp
	@mkdir -p $(@D)
	@echo "c++ $@"
	@$(CXX) $(PEER_CXXFLAGS) $(patsubst -I%,-isystem %,$(filter -I%,$(call pkg_cflags,$(PEER_LIBS)))) -MMD -MP -c -o $@ $<

$(B)/tests/peers/peers: $(B)/tests/peers/peers.o $(B)/tests/peers/cases.o $(B)/libsupport.a $(B)/libobb.a
	@echo "ld $@"
	@$(CXX) $(LDFLAGS_$(config)) $(WRAP) -o $@ $^ $(call pkg_libs,fcl ode $(TEST_LIBS)) -lm -pthread
