#!/bin/bash
# image.sh build TAG      builds the image with the engine of this machine
# image.sh engine ARGS... runs the engine: docker if one answers, else podman
# image.sh base           prints the name of the base image, which it makes if it must
# image.sh name           prints the name of the engine
#
# ENGINE=docker|podman    chooses the engine
# BASE=IMAGE              the base image, debian:bookworm-slim by default. If the default cannot be
#                         fetched, mmdebstrap makes a base from this machine's apt sources.
# STORE=DIR               podman keeps all its files there, apart from the user's own images
set -euo pipefail
cd "$(dirname "$0")/.."

die() {
    echo "image.sh: $*" >&2
    exit 1
}

if [ -z "${ENGINE:-}" ]; then
    if command -v docker >/dev/null && docker info >/dev/null 2>&1; then ENGINE=docker; else ENGINE=podman; fi
fi

engine=("$ENGINE")
if [ "$ENGINE" = podman ]; then
    command -v podman >/dev/null || die "neither a Docker engine nor podman is here; as root: make docker-deps"
    if [ -n "${STORE:-}" ]; then
        mkdir -p "$STORE"
        engine+=(--root "$STORE/images" --runroot "$STORE/run" --tmpdir "$STORE/tmp")
    fi
    if [ "$(id -u)" = 0 ] && [ ! -d /run/systemd/system ]; then
        # Without systemd nobody makes cgroups or keeps a journal. If root may not raise limits, the
        # engine cannot set its own default of open files.
        settings=${STORE:-build}/podman.conf
        mkdir -p "$(dirname "$settings")"
        {
            printf '[containers]\ndefault_ulimits = ["nofile=%s:%s", "nproc=4096:4096"]\n[engine]\n%s\n%s\n' \
                "$(ulimit -Hn)" "$(ulimit -Hn)" 'cgroup_manager = "cgroupfs"' 'events_logger = "file"'
            ! command -v runc >/dev/null || echo 'runtime = "runc"'
        } >"$settings.$$"
        mv "$settings.$$" "$settings"
        CONTAINERS_CONF=$(realpath "$settings")
        export CONTAINERS_CONF
        export BUILDAH_ISOLATION=chroot DISABLE_HC_SYSTEMD=true
    fi
fi

# Prints the name of an image to build on.
base() {
    local wanted=${BASE:-debian:bookworm-slim} made=localhost/obbd-base
    if "${engine[@]}" image inspect "$wanted" >/dev/null 2>&1 ||
        timeout 300 "${engine[@]}" pull -q "$wanted" >/dev/null 2>&1; then
        echo "$wanted"
        return
    fi
    [ -z "${BASE:-}" ] || die "there is no image $BASE"
    if ! "${engine[@]}" image inspect "$made" >/dev/null 2>&1; then
        echo "image.sh: $wanted cannot be fetched; mmdebstrap makes a base" >&2
        command -v mmdebstrap >/dev/null || die "mmdebstrap is missing; as root: make docker-deps"
        local folder sources=()
        folder=$(mktemp -d)
        # shellcheck disable=SC2064
        trap "rm -rf '$folder'" EXIT
        apt-config dump | grep -E '^Acquire::(https?::|Check-|Retries|AllowInsecure)' >"$folder/apt.conf" || true
        if grep -qs '^VERSION_CODENAME=bookworm$' /etc/os-release; then
            local file
            for file in /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list; do
                [ -s "$file" ] && sources+=("$file")
            done
        fi
        # shellcheck disable=SC2016
        mmdebstrap --quiet --variant=minbase --aptopt="$folder/apt.conf" --dpkgopt='path-exclude=/usr/share/man/*' \
            --dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
            --dpkgopt='path-include=/usr/share/doc/*/copyright' \
            --customize-hook='rm -rf "$1"/var/lib/apt/lists/* "$1"/var/cache/apt/archives/*.deb' \
            bookworm "$folder/base.tar" "${sources[@]}" >&2
        "${engine[@]}" import "$folder/base.tar" "$made" >/dev/null 2>&1 || die "$ENGINE import failed"
        rm -rf "$folder"
    fi
    echo "$made"
}

build() { # TAG
    local arguments=() from certificates=/etc/ssl/certs
    from=$(base)
    arguments=(--build-arg "BASE=$from" --network host -f docker/Dockerfile -t "$1")
    local registry
    registry=$(npm config get registry 2>/dev/null) && arguments+=(--build-arg "NPM_CONFIG_REGISTRY=$registry")
    if [ "$ENGINE" = podman ]; then # the format of docker keeps HEALTHCHECK; the build trusts this machine's certificates
        arguments+=(--format docker --layers)
        [ -s $certificates/ca-certificates.crt ] &&
            arguments+=(--volume "$certificates:/etc/ssl/host:ro" --build-arg NODE_EXTRA_CA_CERTS=/etc/ssl/host/ca-certificates.crt)
    fi
    "${engine[@]}" build "${arguments[@]}" .
}

case ${1:-} in
build) build "${2:?image.sh build TAG}" ;;
engine) exec "${engine[@]}" "${@:2}" ;;
base) base ;;
name) echo "$ENGINE" ;;
*) sed -n '2,11s/^# \{0,1\}//p' "$0" && exit 2 ;;
esac
