# The image, with docker or podman.

IMAGE ?= obbd
DOCKER_PACKAGES := $(if $(shell docker info >/dev/null 2>&1 && echo yes),,podman runc mmdebstrap netavark iptables) curl
.PHONY: docker docker-run docker-test docker-deps
##@ Ship
docker: docker-deps ## build the image, obbd, with docker or podman
	@docker/image.sh build $(IMAGE)
docker-run: docker ## run it with the demo scene on port 7480 of loopback
	docker/image.sh engine run --rm $(if $(shell test -t 0 && echo yes),-it) --read-only --cap-drop all --security-opt no-new-privileges \
	 -p 127.0.0.1:7480:7480 -e OBBD_ALLOW_ANONYMOUS=1 -e OBBD_DEMO=1 $(IMAGE)
docker-test: test-deps docker-deps ## build the image, look at it as it runs hardened, and run the end-to-end tests against it
	@$(MAKE) -j$(JOBS) --no-print-directory $(E2E_BINS)
	@TIMEOUT_FACTOR=$(TIMEOUT_FACTOR) docker/test.sh $(E2E_BINS)
docker-deps:
	$(call install,$(DOCKER_PACKAGES))
