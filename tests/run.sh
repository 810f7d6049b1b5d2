#!/bin/sh
# run.sh WORD PROGRAM... - runs the test programs whose path below tests/ contains WORD (all if it
# is empty), TEST_JOBS of them at a time, and sums up. Those of tests/clients and tests/web, which
# start node and browsers, run after the others, one at a time. What a program printed is shown when
# it has ended; what failed is shown once more at the end. Fails if a program failed or checked
# nothing, or if none ran.
# The programs start in the order of the file TEST_SECONDS, where each run leaves how long they
# took: first those that are not in it, then the longest first. So the last ones to end are short.
# With ONLY_THREADS set, the programs that start no thread are left out (tests/threads.sh), and of
# the others the cases that say so of themselves (test_starts_no_thread).
set -u

# run_one FOLDER PROGRAM - runs one program; its sums become a line of FOLDER/sums
run_one() {
    folder=$1 program=$2
    log=$(mktemp -p "$folder")
    begun=$(date +%s)
    timeout -k 10 "$limit" "$program" >"$log" 2>&1
    status=$?
    seconds=$(($(date +%s) - begun))
    # The second line is of the children that ended: "0m1.230000s 0m0.100000s", user and system.
    times >"$log.times"
    processor=$(awk 'NR == 2 { split($1, u, "m"); split($2, s, "m"); printf "%.1f", (u[1] + s[1]) * 60 + u[2] + s[2] }' "$log.times")
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
        echo "== ${program#*tests/}, $seconds s, $processor s of a processor"
        echo "$seconds ${program#*tests/}" >>"$folder/seconds"
        cat "$log"
        echo "$((checks > bad ? checks - bad : 0)) $bad" >>"$folder/sums"
        if [ "$bad" -ne 0 ]; then
            echo "== failed, status $status: ${program#*tests/}"
            grep -aE -A 8 ':[FE]:|: FAILED,|^run.sh: ' "$log" || tail -n 20 "$log"
        fi >>"$folder/failed"
    } 9>"$folder/lock"
    rm -f "$log" "$log.times"
}

# longest_first FILE - copies program names from input to output: first those that FILE does not
# know, then the others, the one with most seconds first. FILE holds lines "SECONDS NAME".
longest_first() {
    awk -v file="$1" 'BEGIN { while ((getline <file) > 0) seconds[$2] = $1 }
        { name = $0; sub(/.*tests\//, "", name); print (name in seconds ? seconds[name] : 999999), $0 }' |
        sort -s -k1,1nr | cut -d' ' -f2-
}

# keep_seconds FILE NEW - sets the seconds of the programs of NEW in FILE, and keeps the others
keep_seconds() {
    awk '{ seconds[$2] = $1 } END { for (name in seconds) print seconds[name], name }' "$1" "$2" >"$2.all" &&
        mv "$2.all" "$1"
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
    case ${program#*tests/} in *"$word"*) printf '%s\n' "$program" ;; esac
done >"$folder/picked"
if [ -n "${ONLY_THREADS:-}" ]; then
    export CK_EXCLUDE_TAGS=one_thread
    mv "$folder/picked" "$folder/all"
    xargs -r "$(dirname "$0")/threads.sh" <"$folder/all" >"$folder/picked"
    all=$(wc -l <"$folder/all") kept=$(wc -l <"$folder/picked")
    echo "programs left out, as they start no thread: $((all - kept)) of $all"
fi
known=${TEST_SECONDS:-$folder/known}
mkdir -p "$(dirname "$known")"
touch "$known" "$folder/seconds"
longest_first "$known" <"$folder/picked" >"$folder/ordered"
alone='^tests/(clients|web)/'
grep -vE "$alone" "$folder/ordered" | tr '\n' '\0' |
    xargs -0 -r -n 1 -P "${TEST_JOBS:-1}" "$0" --one "$folder"
grep -E "$alone" "$folder/ordered" | tr '\n' '\0' | xargs -0 -r -n 1 "$0" --one "$folder"
keep_seconds "$known" "$folder/seconds"
programs=$(awk 'END { print NR }' "$folder/sums")
cat "$folder/failed"
echo "test programs run: $programs"
[ "$programs" -eq 0 ] && echo "run.sh: no test has '$word' in its name, or none starts a thread" && exit 1
awk '{ passed += $1; failed += $2 } END { print passed " passed, " failed + 0 " failed"; exit failed > 0 }' "$folder/sums"
