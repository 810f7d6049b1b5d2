#!/bin/bash
# test.sh PROGRAM... - builds the image and runs it hardened: root file system read-only, no
# capabilities, no new privileges, limits on memory and processes. Checks the container from
# outside, then lets the end-to-end test PROGRAMs start the daemon in containers. podman's files
# stay in a temporary folder; KEEP=DIR keeps them in DIR for the next time.
set -euo pipefail
cd "$(dirname "$0")/.."

work=$(mktemp -d)
chmod 755 "$work"
ENGINE=$(docker/image.sh name)
export ENGINE STORE=${KEEP:-$work/store}
image=obbd-test label=obbd-test-$$
looked=0 failed=0

engine() { docker/image.sh engine "$@"; }

clean() {
    engine ps -aq --filter "label=$label" | while read -r container; do engine rm -f "$container" >/dev/null; done
    engine volume rm -f "$label" >/dev/null 2>&1 || true
    if [ "$ENGINE" = docker ]; then
        engine rmi -f "$image" >/dev/null
    else
        umount "$STORE/images/overlay" 2>/dev/null || true
    fi
    rm -rf "$work"
}
trap clean EXIT

# check WHAT COMMAND...: passes if the command does. Prints its output beside WHAT.
check() {
    local what=$1 said status=ok
    shift
    looked=$((looked + 1))
    said=$("$@" 2>&1) || { status=FAILED failed=$((failed + 1)); }
    printf '%-7s %s%s\n' "$status" "$what" "${said:+: $said}"
}

# ---- The image -----------------------------------------------------------------------------------

echo "== the image, by $ENGINE"
begun=$SECONDS
docker/image.sh build "$image" >"$work/build.log" 2>&1 || {
    tail -n 40 "$work/build.log"
    echo "test.sh: the image does not build"
    exit 1
}
echo "built in $((SECONDS - begun)) s"

LIMIT_MB=60
size() {
    local base all above
    base=$(engine image inspect --format '{{.Size}}' "$(docker/image.sh base)")
    all=$(engine image inspect --format '{{.Size}}' "$image")
    above=$((all - base)) # both sizes are uncompressed
    echo "$((all / 1000000)) MB, $((above / 1000000)).$((above / 100000 % 10)) MB above its base, allowed are $LIMIT_MB"
    [ "$above" -gt 0 ] && [ "$above" -lt $((LIMIT_MB * 1000000)) ]
}
check "size" size
config() { engine image inspect --format "{{json .Config.$1}}" "$image"; }
is() { echo "$1" && [ "$1" = "$2" ]; }
check "user" is "$(config User)" '"7480:7480"'
check "starts" is "$(config Entrypoint)" '["/usr/local/bin/obbd"]'

# ---- One container, looked at from outside -------------------------------------------------------

hardened=(--label "$label" --network host --read-only --cap-drop all --security-opt no-new-privileges --memory 1g --pids-limit 200)
[ "$ENGINE" = podman ] && hardened+=(--read-only-tmpfs=false)
sockets=$work/sockets
mkdir -m 777 "$sockets" && chmod 777 "$sockets"

# start OPTIONS...: starts a detached container with options of the engine; sets $container, $port
# and $pid.
start() {
    container=$(engine run -d "${hardened[@]}" "$@" "$image")
    local end=$((SECONDS + 30))
    port=
    while [ -z "$port" ]; do
        port=$(engine logs "$container" 2>/dev/null | sed -n 's|^obbd: listening on http://[0-9.]*:\([0-9]*\)$|\1|p')
        [ $SECONDS -lt $end ] || { engine logs "$container" && return 1; }
        [ -n "$port" ] || sleep 0.1
    done
    pid=$(engine inspect --format '{{.State.Pid}}' "$container")
}
get() { curl -sS --noproxy '*' "$@"; }

echo "== closed by default"
without_tokens() {
    local said status=0
    said=$(engine run --rm "${hardened[@]}" -e OBBD_LISTEN=0.0.0.0:0 "$image" 2>&1) || status=$?
    echo "status $status, $said"
    [ $status = 1 ] && [[ $said = *--token-file* ]]
}
check "without tokens it does not start" without_tokens
made=$(engine run --rm "${hardened[@]}" "$image" --new-token test --scopes read)
token=$(sed -n 's/^token: //p' <<<"$made")
printf '{"tokens":[%s]}\n' "$(sed -n 's/^entry: //p' <<<"$made")" >"$work/tokens.json"
chmod 644 "$work/tokens.json"
start -e OBBD_LISTEN=0.0.0.0:0 -e OBBD_TOKEN_FILE=/etc/obbd/tokens.json -v "$work/tokens.json:/etc/obbd/tokens.json:ro"
answer() { is "$(get -o /dev/null -w '%{http_code}' "${@:2}")" "$1"; }
check "with a token file, without a token" answer 401 "127.0.0.1:$port/v1/scenes"
check "with its token" answer 200 -H "Authorization: Bearer $token" "127.0.0.1:$port/v1/scenes"
engine rm -f "$container" >/dev/null

echo "== hardened"
start -e OBBD_LISTEN=unix:/run/obbd/obbd.sock,127.0.0.1:0 -e OBBD_DEMO=1 -v "$sockets:/run/obbd"
status() { is "$(sed -n "s/^$1:[[:space:]]*//p" "/proc/$pid/status")" "$2"; }
check "user and group, real, effective, saved, of files" status Uid $'7480\t7480\t7480\t7480'
check "capabilities in effect" status CapEff 0000000000000000
check "capabilities ever to be had" status CapBnd 0000000000000000
check "no new privileges" status NoNewPrivs 1
check "system calls filtered" status Seccomp 2
refused() {
    local said
    said=$(engine exec "$container" "$@" 2>&1) && return 1
    echo "$said" | head -n 1
    [[ $said = *"Read-only file system"* ]]
}
check "its root cannot be written" refused /usr/bin/touch /usr/local/bin/more
check "nor /tmp" refused /usr/bin/touch /tmp/more

echo "== served"
page() { get --compressed "127.0.0.1:$port/" | grep -o '<title>[^<]*</title>' && ! get --compressed "127.0.0.1:$port/" | grep -q 'not built in'; }
check "the page, its editor embedded" page
check "the editor's own policy" grep -o "script-src 'sha256-" <(get -D - -o /dev/null "127.0.0.1:$port/")

echo "== healthy"
mapfile -t probe < <(engine image inspect --format '{{range .Config.Healthcheck.Test}}{{println .}}{{end}}' "$image")
healthy() { engine exec "$container" "${probe[@]:1}"; }
unhealthy() { ! healthy; }
check "health check without a shell" is "${probe[*]}" "CMD /usr/local/bin/obbd --probe "
probe=("${probe[@]:0:3}")
check "while it serves" healthy
engine kill --signal STOP "$container" >/dev/null
check "while it hangs" unhealthy
engine kill --signal CONT "$container" >/dev/null
check "when it goes on" healthy

echo "== stopped"
get -N "127.0.0.1:$port/v1/scenes/demo/events" >"$work/events" &
follower=$!
end=$((SECONDS + 30))
until [ -s "$work/events" ] || [ $SECONDS -ge $end ]; do sleep 0.1; done
begun=$(date +%s%N)
engine stop -t 10 "$container" >/dev/null
took=$((($(date +%s%N) - begun) / 1000000))
check "exit status, after $took ms" is "$(engine inspect --format '{{.State.ExitCode}}' "$container")" 0
check "its event stream came to an end of its own" wait "$follower"
check "its socket is gone" test ! -e "$sockets/obbd.sock"
check "the last line of its log" grep -o '"event":"stopped"' <(engine logs "$container" 2>&1 | tail -n 1)

echo "== kept"
volume=(-e OBBD_LISTEN=127.0.0.1:0 -e OBBD_DATA=/var/lib/obbd -v "$label:/var/lib/obbd")
# start_kept: starts a container on the volume, and waits until it has its scenes.
start_kept() {
    start "${volume[@]}"
    local end=$((SECONDS + 30))
    until [ "$(get -o /dev/null -w '%{http_code}' "127.0.0.1:$port/readyz")" = 200 ]; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.1
    done
}
box() { get -D - "127.0.0.1:$port/v1/scenes/kept/boxes/a" | tr -d '\r' | grep -i '^etag:\|^obbd-epoch:\|^{'; }
kept() { is "$(box | tr '\n' ' ')" "$before"; }
start_kept
made=$(get -o /dev/null -w '%{http_code}' -X PUT -H 'Content-Type: application/json' \
    -d '{"center":[1,2,3],"half_extents":[1,1,1]}' "127.0.0.1:$port/v1/scenes/kept/boxes/a")
check "a scene is made in the volume" is "$made" 201
before=$(box | tr '\n' ' ')
taken() {
    local said status=0
    said=$(engine run --rm "${hardened[@]}" "${volume[@]}" "$image" 2>&1) || status=$?
    echo "status $status, $said"
    [ $status = 1 ] && [[ $said = *"another obbd uses it"* ]]
}
check "a second container on the volume does not start" taken
engine stop -t 10 "$container" >/dev/null
check "exit status" is "$(engine inspect --format '{{.State.ExitCode}}' "$container")" 0
engine rm -f "$container" >/dev/null
start_kept
check "after a stop, a new container has it, its epoch and its revision" kept
engine kill --signal KILL "$container" >/dev/null
engine rm -f "$container" >/dev/null
start_kept
check "after a kill, too" kept
engine rm -f "$container" >/dev/null

# ---- The end-to-end tests, with a container for each daemon --------------------------------------

echo "== end to end"
# The wrapper sends signals to the container by name. An engine's own forwarding loses a signal that
# comes before the engine knows that the container runs. The container sees the files that the
# arguments name, such as logs to be verified.
cat >"$work/obbd" <<WRAPPER
#!/bin/bash
engine() { $(printf '%q ' "$PWD/docker/image.sh") engine "\$@"; }
name=$label-\$\$
files=()
for argument; do
    [ ! -f "\$argument" ] || { chmod a+r "\$argument" && files+=(--volume "\$argument:\$argument:ro"); }
done
engine run --rm --name "\$name" --sig-proxy=false $(printf '%q ' "${hardened[@]}") "\${files[@]}" -e OBBD_LOG_FORMAT=text $image "\$@" &
run=\$!
forward() {
    signalled=1
    until engine kill --signal TERM "\$name" >/dev/null 2>&1 || ! kill -0 \$run 2>/dev/null; do sleep 0.1; done
}
trap forward TERM
while signalled=; wait \$run; status=\$?; [ -n "\$signalled" ]; do :; done
exit \$status
WRAPPER
chmod 755 "$work/obbd"
# test_end tests the process itself: its socket, signals and standard error. "stopped" above tests
# these for the container. test_data, test_durable and test_readme start daemons on folders of the
# host. test_abuse counts the daemon's descriptors, which only root and the container's user can see.
programs=()
for program; do
    case ${program##*/} in
    test_end | test_data | test_durable | test_readme) continue ;;
    test_abuse)
        [ "$(id -u)" = 0 ] || {
            echo "test_abuse is left out: it needs root"
            continue
        }
        ;;
    esac
    programs+=("$program")
done
looked=$((looked + ${#programs[@]}))
OBBD=$work/obbd tests/run.sh '' "${programs[@]}" || failed=$((failed + 1))

echo "docker-test: $looked looked at, $failed failed"
[ "$failed" = 0 ]
