#!/bin/sh
# run.sh WORD PROGRAM... - runs the test programs whose path below tests/ contains WORD (all if it
# is empty), TEST_JOBS of them at a time, and sums up. What a program printed is shown when it has
# ended; what failed is shown once more at the end. Fails if a program failed or checked nothing, or
# if none ran.
set -u

# run_one FOLDER PROGRAM - runs one program; its sums become a line of FOLDER/sums
run_one() {
    folder=$1 program=$2
    log=$(mktemp -p "$folder")
    begun=$(date +%s)
    timeout -k 10 "$limit" "$program" >"$log" 2>&1
    status=$?
    [ "$status" -eq 124 ] && echo "run.sh: ${program#*tests/} was ended after $limit s" >>"$log"
    # Check's own line: "83%: Checks: 12, Failures: 2, Errors: 0"
    sums=$(sed -n 's/.*Checks: \([0-9]*\), Failures: \([0-9]*\), Errors: \([0-9]*\).*/\1 \2 \3/p' "$log" | tail -n 1)
    read -r checks failures errors <<SUMS
${sums:-0 0 1}
SUMS
    bad=$((failures + errors))
    [ "$status" -ne 0 ] && [ "$bad" -eq 0 ] && bad=1
    [ "$checks" -eq 0 ] && [ "$bad" -eq 0 ] && bad=1 && echo "run.sh: ${program#*tests/} checked nothing" >>"$log"
    {
        flock 9
        echo "== ${program#*tests/}, $(($(date +%s) - begun)) s"
        cat "$log"
        echo "$((checks > bad ? checks - bad : 0)) $bad" >>"$folder/sums"
        if [ "$bad" -ne 0 ]; then
            echo "== failed, status $status: ${program#*tests/}"
            grep -aE -A 8 ':[FE]:|: FAILED,|^run.sh: ' "$log" || tail -n 20 "$log"
        fi >>"$folder/failed"
    } 9>"$folder/lock"
    rm -f "$log"
}

# seconds that a test may take if it sets no limit of its own; Check's default is 4
CK_DEFAULT_TIMEOUT=$((30 * ${TIMEOUT_FACTOR:-1}))
export CK_DEFAULT_TIMEOUT
# and those that a whole program may take: one that never ends is a failure, and the rest still runs
limit=$(awk -v factor="${TIMEOUT_FACTOR:-1}" -v effort="${EFFORT:-1}" 'BEGIN { print 300 * factor * (effort > 1 ? effort : 1) }')
if [ "$1" = --one ]; then
    run_one "$2" "$3"
    exit 0
fi

word=$1
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
: >"$folder/sums"
: >"$folder/failed"
for program in "$@"; do
    case ${program#*tests/} in *"$word"*) printf '%s\0' "$program" ;; esac
done | xargs -0 -r -n 1 -P "${TEST_JOBS:-1}" "$0" --one "$folder"
programs=$(awk 'END { print NR }' "$folder/sums")
cat "$folder/failed"
echo "test programs run: $programs"
[ "$programs" -eq 0 ] && echo "run.sh: no test has '$word' in its name" && exit 1
awk '{ passed += $1; failed += $2 } END { print passed " passed, " failed + 0 " failed"; exit failed > 0 }' "$folder/sums"
