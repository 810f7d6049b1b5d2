#!/bin/sh
# contract.sh [ROOT] - checks that each test that tests/CONTRACT.md names exists and is added to its
# suite.
set -u
cd "${1:-.}" || exit 1
page=tests/CONTRACT.md
bad=0
rows=$(grep '^| ' $page | grep -v '^| what the contract says')
count=$(printf '%s\n' "$rows" | grep -c .)
named=$(printf '%s\n' "$rows" | awk -F '`' 'NF >= 5 { print $(NF - 3), $(NF - 1) }')
if [ "$(printf '%s\n' "$named" | grep -c .)" -ne "$count" ]; then
    echo "$page: a row names no test"
    bad=$((bad + 1))
fi
while read -r program test; do
    [ -n "$program" ] || continue
    source=tests/$program.c
    if ! grep -qs "^START_TEST($test)" "$source"; then
        echo "$page: $source has no test $test"
        bad=$((bad + 1))
    elif ! tr '\n' ' ' <"$source" | grep -q "tcase_add_[a-z_]*([^;]*[ (]${test}[,)]"; then
        echo "$page: $source does not add $test to its suite"
        bad=$((bad + 1))
    fi
done <<EOF
$named
EOF
echo "check-contract: looked at $count promises, $bad without their test"
[ "$count" -gt 0 ] && [ "$bad" -eq 0 ]
