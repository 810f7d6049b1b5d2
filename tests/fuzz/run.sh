#!/bin/sh
# run.sh SECONDS NAME... - runs one fuzzer after the other, each for SECONDS, and prints how many
# inputs it tried. A finding ends the run and lands in tests/fuzz/regress/NAME.
set -u
seconds=$1
shift
for name in "$@"; do
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
done
