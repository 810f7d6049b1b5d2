#!/bin/sh
# files.sh TOOL GLOB... -- COMMAND... - runs COMMAND once on all tracked and new files that match,
# and prints how many they are. Fails if COMMAND fails, or if no file matches.
set -u
tool=$1
shift
files=
while [ "$1" != -- ]; do
    for file in $(git ls-files -co --exclude-standard "$1"); do
        [ -e "$file" ] && files="$files $file"
    done
    shift
done
shift
# shellcheck disable=SC2086
count=$(set -- $files && echo $#)
if [ "$count" -eq 0 ]; then
    echo "$tool: found no file to look at"
    exit 1
fi
# shellcheck disable=SC2086
"$@" $files || {
    echo "$tool: looked at $count files, found faults"
    exit 1
}
echo "$tool: looked at $count files, clean"
