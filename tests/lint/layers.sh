#!/bin/sh
# layers.sh - keeps the arrows server -> proto -> core. A folder is entered through its face alone, each library is known
# to the files named here alone, and a source includes its own header first.
set -u
looked=0 bad=0

complain() {
    echo "$1:$2: $3"
    bad=$((bad + 1))
}

# quoted FILE LINE PATH: may FILE include "PATH"?
quoted() {
    case "$1:$3" in
    core/*:core/*) ;;
    proto/contract/tools/*:*) ;;
    proto/*:proto/* | proto/*:core/obb.h) ;;
    server/*:server/* | server/*:proto/wire.h | server/*:core/obb.h) ;;
    tests/core/*:core/* | tests/proto/*:core/obb.h | tests/proto/*:proto/*) ;;
    tests/server/*:server/* | tests/server/*:proto/wire.h | tests/server/*:core/obb.h) ;;
    tests/e2e/*:proto/wire.h | tests/e2e/*:proto/contract/tools/exchange.h | tests/e2e/*:core/obb.h) ;;
    tests/support/*:core/* | tests/fuzz/*:core/* | tests/fuzz/*:proto/* | tests/fuzz/*:server/*) ;;
    tests/bench/*:core/* | tests/bench/*:proto/* | tests/peers/*:core/*) ;;
    tests/*:tests/*) ;;
    *) complain "$1" "$2" "may not include \"$3\"" ;;
    esac
}

# system FILE LINE NAME: libraries have a home each
system() {
    case "$3" in
    jansson.h) case $1 in proto/codec/json_*.c | proto/contract/tools/* | tests/*) return ;; esac ;;
    cbor.h | cbor/*) case $1 in proto/codec/cbor_*.c | tests/*) return ;; esac ;;
    yaml.h) case $1 in proto/contract/tools/*) return ;; esac ;;
    microhttpd.h) case $1 in server/http/http.c) return ;; esac ;;
    uv.h) case $1 in server/base/loop.c | server/base/pool.c | server/main.c) return ;; esac ;;
    gnutls/*) case $1 in server/access/auth.c) return ;; esac ;;
    *) return ;;
    esac
    complain "$1" "$2" "may not include <$3>"
}

for file in $(git ls-files -co --exclude-standard 'core/*.[ch]' 'proto/*.[ch]' 'server/*.[ch]' 'tests/*.[ch]'); do
    [ -e "$file" ] || continue
    looked=$((looked + 1))
    includes=$(sed -n 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*\([<"][^>"]*\)[>"].*/\1/p' "$file")
    header=${file%.c}.h
    if [ "$header" != "$file" ] && [ -e "$header" ]; then
        first=$(printf '%s\n' "$includes" | head -n 1)
        [ "$first" = "\"$header" ] || complain "$file" 1 "must include its own header first"
    fi
    line=0
    for include in $includes; do
        line=$((line + 1))
        case $include in
        \"*) quoted "$file" "$line" "${include#\"}" ;;
        \<*) system "$file" "$line" "${include#<}" ;;
        esac
    done
done
echo "check-layers: looked at $looked files, $bad breaches"
[ "$looked" -gt 0 ] && [ "$bad" -eq 0 ]
