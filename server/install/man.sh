#!/bin/sh
# man.sh OBBD TEMPLATE - the man page: the template with @OPTIONS@ and @COMMANDS@ filled from the daemon's own --help, and @VERSION@.
set -eu
obbd=$1 template=$2
version=$("$obbd" --version | cut -d ' ' -f 2)
"$obbd" --help | awk -v version="$version" -v template="$template" '
    BEGIN { list = 0 }
    function roff(text) { gsub(/\\/, "\\e", text); gsub(/-/, "\\-", text); sub(/^[.\047]/, "\\\\\\&&", text); return text }
    /^Instead of serving/ { list = 1 }
    /^  --/ {
        split($0, flag, " ")
        line = substr($0, 3)
        sub(/^--[a-z-]+/, "", line)
        argument = ""
        if (line ~ /^ [^ ]/) { argument = flag[2]; line = substr(line, length(argument) + 2) }
        sub(/^ +/, "", line)
        text[list] = text[list] sprintf(".TP\n\\fB%s\\fR%s\n%s.\n", roff(flag[1]), argument != "" ? " \\fI" roff(argument) "\\fR" : "", roff(line))
        count++
    }
    /^ +OBBD_/ { text[list] = text[list] sprintf(".br\n\\fB%s\\fR\n", $1) }
    END {
        if (count < 10) { print "man.sh: --help lists " count " options" >"/dev/stderr"; exit 1 }
        while ((getline row <template) > 0) {
            gsub(/@VERSION@/, version, row)
            if (row == "@OPTIONS@") printf "%s", text[0]
            else if (row == "@COMMANDS@") printf "%s", text[1]
            else print row
        }
    }'
