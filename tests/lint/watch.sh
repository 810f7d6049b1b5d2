#!/bin/sh
# watch.sh OBBD - lets promtool, the checker of Prometheus, judge a real answer of /metrics, the
# configuration beside the compose file, the alerts, and the tests of the alerts.
set -u
obbd=$1
looked=0 bad=0
said=$(mktemp)
"$obbd" --listen 127.0.0.1:0 --demo >"$said" 2>/dev/null &
daemon=$!
trap 'kill $daemon; rm -f "$said"' EXIT
turns=0
until url=$(sed -n 's/^obbd: listening on //p' "$said") && [ -n "$url" ]; do
    turns=$((turns + 1))
    [ $turns -lt 100 ] || { echo "check-watch: no daemon" && exit 1; }
    sleep 0.1
done

check() { # COMMAND...
    looked=$((looked + 1))
    "$@" 2>&1 || bad=$((bad + 1))
}
metrics() {
    curl -sf --noproxy '*' "$url/v1/scenes" >/dev/null # a request that the metrics can count
    curl -sf --noproxy '*' "$url/metrics" | tee "$said" | promtool check metrics
}
check metrics
families=$(grep -c '^# TYPE' "$said")
check promtool check config --syntax-only docker/prometheus/prometheus.yml
check promtool check config --syntax-only docker/prometheus/cluster.yml
check promtool check rules docker/prometheus/alerts.yml
check promtool test rules docker/prometheus/alerts_test.yml
echo "check-watch: looked at $families metrics and $looked things in all, $bad bad"
[ "$families" -gt 0 ] && [ "$bad" -eq 0 ]
