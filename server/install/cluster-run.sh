#!/bin/sh
# cluster-run.sh OBBD: three servers of NATS and two daemons over one log, on loopback, with the
# scene of the demo. One interrupt ends them all. The log lies in a folder that goes at the end.
#
# CLUSTER_PORT, NATS_PORT: the first port of each kind; by default 7480 and 7422.
set -eu

obbd=$1
obbd_port=${CLUSTER_PORT:-7480}
nats_port=${NATS_PORT:-7422}
for program in nats-server curl; do
    command -v "$program" >/dev/null || {
        echo "cluster-run: $program is not installed" >&2
        exit 1
    }
done
folder=$(mktemp -d "${TMPDIR:-/tmp}/obbd-cluster-XXXXXX")
pids=

end() {
    trap - EXIT INT TERM
    # the daemons first: they say goodbye to their clients
    for pid in $pids; do
        kill "$pid" 2>/dev/null || :
        wait "$pid" 2>/dev/null || :
    done
    rm -rf "$folder"
}
trap end EXIT
trap 'exit 0' INT TERM

# wait_ready PORT NAME: waits until a daemon takes requests, at most a minute.
wait_ready() {
    n=0
    until curl -sf -o "$folder/ready" "http://127.0.0.1:$1/readyz"; do
        n=$((n + 1))
        if [ $n -ge 600 ]; then
            echo "cluster-run: no daemon answers at port $1:" >&2
            cat "$folder/$2.log" >&2
            exit 1
        fi
        sleep 0.1
    done
}

routes=
urls=
for i in 0 1 2; do
    routes="$routes${routes:+,}nats://127.0.0.1:$((nats_port + 100 + i))"
    urls="$urls --journal nats://127.0.0.1:$((nats_port + i))"
done
for i in 0 1 2; do
    nats-server -a 127.0.0.1 -p $((nats_port + i)) -n "n$i" -js -sd "$folder/nats-$i" \
        --cluster_name obbd --cluster "nats://127.0.0.1:$((nats_port + 100 + i))" \
        --routes "$routes" -l "$folder/nats-$i.log" &
    pids="$! $pids"
done
for i in 0 1; do
    # shellcheck disable=SC2086 # several options
    "$obbd" --listen "127.0.0.1:$((obbd_port + i))" $urls >"$folder/obbd-$i.out" 2>"$folder/obbd-$i.log" &
    pids="$! $pids"
done

# The scene of the demo comes from a daemon of its own, by export and import.
"$obbd" --demo=still --listen "127.0.0.1:$((obbd_port + 2))" >"$folder/demo.out" 2>"$folder/demo.log" &
demo=$!
pids="$demo $pids"
wait_ready $((obbd_port + 2)) demo
curl -sf -o "$folder/demo.json" "http://127.0.0.1:$((obbd_port + 2))/v1/scenes/demo/export"
kill $demo
wait $demo || :
for i in 0 1; do
    wait_ready $((obbd_port + i)) "obbd-$i"
done
curl -sf -o "$folder/import.json" -H 'Content-Type: application/x-ndjson' \
    --data-binary "@$folder/demo.json" "http://127.0.0.1:$obbd_port/v1/scenes/demo/import"

echo "obbd: http://127.0.0.1:$obbd_port/ and http://127.0.0.1:$((obbd_port + 1))/ have one log"
echo "logs are in $folder; Ctrl-C ends all"
while :; do
    sleep 1 &
    wait $!
done
