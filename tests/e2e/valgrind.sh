#!/bin/sh
# valgrind.sh DAEMON PROGRAM... - runs the test programs against the daemon under memcheck. Fails if
# a test fails, or if a daemon that ended by itself had an error or lost a block.
set -u
daemon=$(realpath "$1")
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/obbd" <<END
#!/bin/sh
exec valgrind --quiet --leak-check=full --show-leak-kinds=definite,indirect --errors-for-leak-kinds=definite \
 --error-exitcode=99 --log-file="$folder/log.%p" "$daemon" "\$@"
END
chmod +x "$folder/obbd"
status=0
for program in "$@"; do
    echo "== $program"
    CK_EXCLUDE_TAGS=load OBBD="$folder/obbd" TIMEOUT_FACTOR="${TIMEOUT_FACTOR:-20}" "$program" >"$folder/said" 2>&1 || status=1
    grep -v ' info ' "$folder/said"
done
daemons=0 errors=0
for log in "$folder"/log.*; do
    [ -e "$log" ] || continue
    daemons=$((daemons + 1))
    [ -s "$log" ] || continue
    errors=$((errors + 1))
    cat "$log"
done
echo "valgrind: $daemons daemons looked at, $errors with errors or leaks"
[ "$daemons" -gt 0 ] && [ "$errors" -eq 0 ] && [ "$status" -eq 0 ]
