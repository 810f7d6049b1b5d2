#!/bin/sh
# install.sh OBBD - runs `make install` into a temporary folder and checks the result: the list of
# files, a daemon that starts, a man page without warnings that names every option, a unit that is
# valid and shields the system, and an uninstall that leaves nothing.
set -u
obbd=$1
most=2.0 # exposure, as systemd-analyze rates it from 0 to 10
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
looked=0 bad=0
PREFIX=$folder/usr SYSCONFDIR=$folder/etc
export PREFIX SYSCONFDIR

check() { # WHAT COMMAND...
    what=$1
    shift
    looked=$((looked + 1))
    said=$("$@" 2>&1) || {
        echo "$what: $said"
        bad=$((bad + 1))
    }
}
silent() {
    if said=$("$@" 2>&1) && [ -z "$said" ]; then return 0; fi
    echo "$said"
    return 1
}

list() { (cd "$1" && find . -type f | sort | tr '\n' ' '); }
expected='./bin/obbd ./lib/systemd/system/obbd.service ./share/doc/obbd/examples/obbd.env ./share/doc/obbd/examples/tokens.json ./share/man/man8/obbd.8 '
same() { [ "$1" = "$2" ] || { echo "$1" && return 1; }; }

check "install" make -s install
check "what is installed" same "$(list "$PREFIX")" "$expected"
check "install below DESTDIR" make -s install "DESTDIR=$folder/stage" PREFIX=/p
check "what is there" same "$(list "$folder/stage/p")" "$expected"
check "version" same "$("$PREFIX/bin/obbd" --version)" "$("$obbd" --version)"
check "the manual" silent groff -ww -man -Tutf8 -z "$PREFIX/share/man/man8/obbd.8"
for flag in $("$obbd" --help | sed -n 's/^  --\([a-z-]*\).*/\1/p'); do
    check "--$flag in the manual" grep -qF "\\-\\-$(echo "$flag" | sed 's/-/\\-/g')" "$PREFIX/share/man/man8/obbd.8"
done
unit=$PREFIX/lib/systemd/system/obbd.service
check "the unit" silent env MANPATH="$PREFIX/share/man:" systemd-analyze verify "$unit"
exposure=$(systemd-analyze security --offline=true "$unit" | sed -n 's/.*exposure level for obbd.service: \([0-9.]*\).*/\1/p')
check "exposure $exposure, at most $most" awk "BEGIN { exit !(\"$exposure\" != \"\" && \"$exposure\" + 0 < $most) }"
# With the example of a token file the daemon may listen beyond loopback. Starts it so, and ends it.
starts() {
    "$PREFIX/bin/obbd" --listen 0.0.0.0:0 --token-file "$PREFIX/share/doc/obbd/examples/tokens.json" >"$folder/out" 2>&1 &
    turns=0
    until grep -q '^obbd: listening' "$folder/out" || [ $turns -ge 100 ]; do
        turns=$((turns + 1))
        sleep 0.1
    done
    if kill -TERM $! && wait $! && grep -q '^obbd: listening' "$folder/out"; then return 0; fi
    cat "$folder/out"
    return 1
}
check "the example of a token file" starts
check "uninstall" make -s uninstall
check "what is left" same "$(find "$PREFIX" -type f)" ""
echo "check-install: looked at $looked things, $bad bad; exposure of the unit $exposure"
[ "$looked" -gt 0 ] && [ "$bad" -eq 0 ]
