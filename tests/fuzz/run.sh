#!/bin/sh
# run.sh SECONDS NAME... - runs the fuzzers, JOBS of them at a time, each for SECONDS, and prints how
# many inputs each tried. A finding lands in tests/fuzz/regress/NAME, and fails the run once all have
# ended.
set -u

# run_one SECONDS NAME - runs one fuzzer
run_one() {
    seconds=$1 name=$2
    learnt=build/fuzz/corpus/$name log=build/fuzz/$name.log regress=tests/fuzz/regress/$name
    mkdir -p "$learnt" "$regress"
    build/fuzz/tests/fuzz/"fuzz_$name" -max_total_time="$seconds" -max_len=4096 -timeout=10 -print_final_stats=1 \
        -artifact_prefix="$regress/" "$learnt" "tests/fuzz/corpus/$name" "$regress" >"$log" 2>&1
    status=$?
    rmdir "$regress" 2>/dev/null
    tried=$(sed -n 's/^stat::number_of_executed_units: //p' "$log")
    if [ "$status" -ne 0 ] || [ "${tried:-0}" -eq 0 ]; then
        cat "$log"
        echo "fuzz: $name has found something, or could not run"
        exit 1
    fi
    echo "fuzz: $name tried $tried inputs in $seconds s, nothing found"
}

if [ "$1" = --one ]; then
    run_one "$2" "$3"
    exit 0
fi
seconds=$1
shift
printf '%s\n' "$@" | xargs -n 1 -P "${JOBS:-1}" "$0" --one "$seconds"
