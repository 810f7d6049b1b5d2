#!/bin/sh
# headers.sh CC FLAGS... - compiles every header alone. Fails on a warning.
set -u
looked=0 bad=0
for header in $(git ls-files -co --exclude-standard '*.h'); do
    [ -e "$header" ] || continue
    looked=$((looked + 1))
    echo "#include \"$header\"" | "$@" -Werror -fsyntax-only -x c - || bad=$((bad + 1))
done
echo "check-headers: looked at $looked headers, $bad bad"
[ "$looked" -gt 0 ] && [ "$bad" -eq 0 ]
