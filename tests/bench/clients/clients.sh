#!/bin/sh
# clients.sh OBBD PROGRAM... - runs each program with the unix socket of a daemon, and ends the daemon.
#
# The columns: the goal; the least and the median time with the client; the least time of the same
# bytes over a bare socket in the same minute; and what the client itself takes, which is the
# difference of both least times. All are microseconds, unless the job says bytes.
set -eu
daemon=$1
shift
folder=$(mktemp -d)
"$daemon" --log-level warn --listen "unix:$folder/socket" >"$folder/log" &
child=$!
trap 'kill "$child"; wait "$child" || true; rm -rf "$folder"' EXIT
tries=0
until grep -qs listening "$folder/log"; do
    tries=$((tries + 1))
    [ "$tries" -lt 100 ] || exit 1
    sleep 0.1
done
echo job,must,least,median,bare,own
for program in "$@"; do
    # shellcheck disable=SC2086 # a program may have words before it
    $program "$folder/socket"
done
