#!/bin/sh
# tidy.sh FLAGS... - runs clang-tidy on every source, one process for each processor at a time.
set -u
sources=$(git ls-files -co --exclude-standard 'core/*.c' 'proto/*.c' 'server/*.c' 'tests/*.c')
# shellcheck disable=SC2086
count=$(set -- $sources && echo $#)
# shellcheck disable=SC2016,SC2086
printf '%s\n' $sources | xargs -P "$(nproc)" -I{} sh -c 'file=$1; shift; [ -e "$file" ] || exit 0
    out=$(clang-tidy --quiet "$file" -- "$@" 2>/dev/null) && exit 0
    printf "%s\n" "$out"; exit 1' sh {} "$@"
status=$?
echo "tidy: looked at $count files, $([ $status -eq 0 ] && echo clean || echo found faults)"
[ "$count" -gt 0 ] && [ $status -eq 0 ]
