#!/bin/sh
# run.sh WORD PROGRAM... - runs the test programs whose path below tests/ contains WORD (all if it
# is empty) and sums up. Fails if a program failed or checked nothing, or if none ran.
set -u
# seconds that a test may take if it sets no limit of its own; Check's default is 4
CK_DEFAULT_TIMEOUT=$((30 * ${TIMEOUT_FACTOR:-1}))
export CK_DEFAULT_TIMEOUT
# and those that a whole program may take: one that never ends is a failure, and the rest still runs
limit=$(awk -v factor="${TIMEOUT_FACTOR:-1}" -v effort="${EFFORT:-1}" 'BEGIN { print 300 * factor * (effort > 1 ? effort : 1) }')
word=$1
shift
passed=0 failed=0 programs=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for program in "$@"; do
    case ${program#*tests/} in *"$word"*) ;; *) continue ;; esac
    programs=$((programs + 1))
    echo "== ${program#*tests/}"
    timeout -k 10 "$limit" "$program" >"$log" 2>&1
    status=$?
    cat "$log"
    [ "$status" -eq 124 ] && echo "run.sh: $program was ended after $limit s"
    # Check's own line: "83%: Checks: 12, Failures: 2, Errors: 0"
    sums=$(sed -n 's/.*Checks: \([0-9]*\), Failures: \([0-9]*\), Errors: \([0-9]*\).*/\1 \2 \3/p' "$log" | tail -n 1)
    read -r checks failures errors <<SUMS
${sums:-0 0 1}
SUMS
    bad=$((failures + errors))
    [ "$status" -ne 0 ] && [ "$bad" -eq 0 ] && bad=1
    [ "$checks" -eq 0 ] && [ "$bad" -eq 0 ] && bad=1 && echo "run.sh: $program checked nothing"
    passed=$((passed + (checks > bad ? checks - bad : 0)))
    failed=$((failed + bad))
done
echo "test programs run: $programs"
[ "$programs" -eq 0 ] && echo "run.sh: no test has '$word' in its name" && exit 1
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
