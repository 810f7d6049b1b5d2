#!/bin/sh
# layers.sh [ROOT] - holds every include below ROOT (the current folder) against the table of rooms,
# and every change of a store against the table of doors. Prints each breach as FILE:LINE: and how
# many files and includes it looked at; fails if there is a breach or nothing to look at.
#
# A room is a folder below core, proto or server. The row with the longest matching name holds for a
# file: the row proto/wire for proto/wire.h, the row server/journal/nats_library for the one noun that
# knows NATS, the row server for the other files at the top of the server. A file without a row is a
# breach.
set -u
cd "${1:-.}" || exit 1

# Files below proto/clients name headers of their own folder without it.
#
# A room stands on the rooms of its row and, inside its own layer, on all rooms that those stand on.
# It includes headers of its own room, and of the rooms it stands on headers that do not end in
# _body.h. Another layer is entered by its face only: core/obb.h, proto/wire.h. A name with /*
# stands for all rooms below.
# room                | stands on                              | libraries
rooms='
core/base             |                                        |
core/geometry         | core/base                              |
core/kernels          | core/geometry                          |
core/versions         | core/geometry                          |
core/index            | core/kernels core/versions             |
core/scene            | core/index                             |
core/query            | core/scene                             |
core/obb              | core/query                             |

proto/base            | core/obb                               |
proto/problem         | proto/base core/obb                    |
proto/codec           | proto/problem core/obb                 | jansson cbor
proto/request         | proto/codec core/obb                   |
proto/reply           | proto/request core/obb                 |
proto/contract        | proto/reply core/obb                   |
proto/record          | proto/base core/obb                    |
proto/contract/tools  | proto/base                             | jansson yaml
proto/clients         |                                        | curl
proto/wire            | proto/contract proto/record core/obb   |

server/base           | core/obb proto/wire                    | uv
server/http           | server/base core/obb proto/wire        | microhttpd
server/access         | server/http core/obb proto/wire        | gnutls
server/journal/nats_library |                                  | nats
server/journal        | server/base server/journal/nats_library core/obb proto/wire | sqlite3
server/scenes         | server/access server/journal core/obb proto/wire      |
server/events         | server/scenes core/obb proto/wire      |
server/log            | server/scenes core/obb proto/wire      |
server/routes         | server/events server/log core/obb proto/wire |
server                | server/routes core/obb proto/wire      | gnutls

tests/support         | core/* proto/contract/tools            | check curl gmp jansson cbor
tests/core            | tests/support core/*                   | check
tests/proto           | tests/support proto/* core/obb         | check gmp jansson cbor
tests/server          | tests/support server/* proto/wire core/obb | check curl sqlite3 gnutls
tests/clients         |                                        | jansson
tests/e2e             | tests/support tests/server proto/wire proto/contract/tools core/obb | check jansson
tests/fuzz            | tests/support tests/proto server/* proto/* core/* | jansson cbor
tests/soak            | tests/support proto/wire core/obb      |
tests/bench/core      | tests/support core/*                   |
tests/bench/service   | tests/support tests/proto core/obb     | jansson
tests/bench           | tests/support tests/proto tests/bench/service proto/* core/* | jansson
tests/peers           | tests/support core/*                   |
tests/cross           |                                        |
'

# library   | how its headers begin
libraries='
jansson    | jansson
cbor       | cbor.h cbor/
yaml       | yaml.h
microhttpd | microhttpd.h
uv         | uv.h uv/
gnutls     | gnutls/
sqlite3    | sqlite3.h
nats       | nats/ nats.h
check      | check.h
curl       | curl/
gmp        | gmp.h
'

# Only the parts of the writer change a store.
# symbol            | below  | the files that may name it
doors='
obb_edit_prepare    | server | server/scenes/write_edit.c server/log/verify.c
obb_edit_commit     | server | server/scenes/write_edit.c server/scenes/write_follow.c server/scenes/write_scene.c server/scenes/scene_loader.c server/log/verify.c
obb_edit_apply      | server | server/scenes/write_edit.c
obb_edit_publish    | server | server/scenes/write_edit.c
obb_edit_revert     | server | server/scenes/write_edit.c
obb_edit_discard    | server | server/scenes/write_base.c server/scenes/write_edit.c server/scenes/write_follow.c server/log/verify.c
obb_effects_prepare | server | server/scenes/write_follow.c server/scenes/write_scene.c server/scenes/scene_loader.c server/log/verify.c
obb_store_add       | server | server/scenes/write_base.c server/scenes/write_follow.c
obb_store_adopt     | server | server/scenes/write_copy.c server/scenes/write_follow.c server/scenes/restore.c
obb_store_remove    | server | server/scenes/write_base.c
'

files=$(for layer in core proto server tests; do
    [ -d "$layer" ] && find "$layer" -name node_modules -prune -o -type f -name '*.[ch]' -print \
        -o -type f -name '*.inc' -print -o -type f -name '*.def' -print -o -type f -name '*.cpp' -print
done | sort)
# /dev/null keeps awk from reading its standard input if there is no file.
# shellcheck disable=SC2086
awk -v rooms="$rooms" -v libraries="$libraries" -v doors="$doors" '
function trimmed(text) { gsub(/^[ \t]+|[ \t]+$/, "", text); return text }

function complain(text) { print text; bad++ }

# Reads the rows of a table into cell[row, column]; returns how many there are.
function rows_of(table, cell,   line, part, n, i, j, count, columns) {
    n = split(table, line, "\n")
    for (i = 1; i <= n; i++) {
        if (trimmed(line[i]) == "")
            continue
        count++
        columns = split(line[i], part, "|")
        for (j = 1; j <= 3; j++)
            cell[count, j] = j <= columns ? trimmed(part[j]) : ""
    }
    return count
}

function layer_of(name) { sub(/\/.*/, "", name); return name }

function folder_of(file) { sub(/[^\/]*$/, "", file); return file }

# The row for a file: of the room whose name is its longest prefix. "" if there is none.
function room_of(file,   name) {
    name = file
    sub(/\.[a-z]+$/, "", name)
    while (!(name in stands_on) && sub(/\/[^\/]*$/, "", name))
        ;
    if (!(name in stands_on))
        return ""
    if (name !~ /\// && file ~ /\/.*\//) # the row of a layer holds for files at its top only
        return ""
    return name
}

# Notes all that `room` stands on because of its row; `below` is the room whose row is read.
function stand(room, below,   word, n, i) {
    n = split(stands_on[below], word, " ")
    for (i = 1; i <= n; i++) {
        if ((room, word[i]) in may)
            continue
        may[room, word[i]] = 1
        if (word[i] !~ /\*$/ && !(word[i] in stands_on))
            complain("layers.sh: the row of " below " names " word[i] ", which has no row")
        else if (layer_of(word[i]) == layer_of(room) && word[i] !~ /\*$/)
            stand(room, word[i])
    }
}

# May a file of room `from` include `header`, which is of room `to`?
function allowed(from, to, header) {
    if (from == to)
        return 1
    if (to == "" || from == "")
        return 0
    if (header ~ /_body\.h$/)
        return index(FILENAME, "tests/" to "/") == 1 # the tests of a room see the inside of it
    if ((from, to) in may || (from, layer_of(to) "/*") in may)
        return 1
    return 0
}

# The code of a line: without comments and strings. A comment may go on from the line before.
function code_of(line,   out, at) {
    out = ""
    while (line != "") {
        if (in_comment) {
            at = index(line, "*/")
            if (at == 0)
                return out
            line = substr(line, at + 2)
            in_comment = 0
        } else if (match(line, /\/\*|\/\/|"([^"\\]|\\.)*"/)) {
            out = out substr(line, 1, RSTART - 1) " "
            if (substr(line, RSTART, 2) == "//")
                return out
            in_comment = substr(line, RSTART, 2) == "/*"
            line = substr(line, RSTART + RLENGTH)
        } else {
            return out line
        }
    }
    return out
}

function begins_with_one_of(name, list,   word, n, i) {
    n = split(list, word, " ")
    for (i = 1; i <= n; i++)
        if (index(name, word[i]) == 1)
            return 1
    return 0
}

function look_at_include(line,   name, to, i) {
    name = line
    sub(/^[ \t]*#[ \t]*include[ \t]*/, "", name)
    includes++
    if (name ~ /^"/) {
        sub(/^"/, "", name)
        sub(/".*/, "", name)
        if (FILENAME ~ /^proto\/clients\// && name !~ /\//) # programs copy these files beside their own
            name = folder_of(FILENAME) name
        if (!include_seen && own_header != "" && name != own_header)
            complain(FILENAME ":" FNR ": must include its own header first, " own_header)
        to = room_of(name)
        if (room != "" && !allowed(room, to, name))
            complain(FILENAME ":" FNR ": may not include \"" name "\"" \
                (to == "" ? ", which is in no room of the table" : \
                 name ~ /_body\.h$/ ? ", the inside of " to : ": " room " does not stand on " to))
    } else {
        sub(/^</, "", name)
        sub(/>.*/, "", name)
        if (!include_seen && own_header != "")
            complain(FILENAME ":" FNR ": must include its own header first, " own_header)
        for (i = 1; i <= library_count; i++)
            if (begins_with_one_of(name, library[i, 2]) && !((room, library[i, 1]) in knows))
                complain(FILENAME ":" FNR ": may not include <" name ">: " room " does not know " library[i, 1])
    }
    include_seen = 1
}

BEGIN {
    count = rows_of(rooms, row)
    for (i = 1; i <= count; i++)
        stands_on[row[i, 1]] = row[i, 2]
    for (i = 1; i <= count; i++) {
        stand(row[i, 1], row[i, 1])
        n = split(row[i, 3], word, " ")
        for (j = 1; j <= n; j++)
            knows[row[i, 1], word[j]] = 1
    }
    library_count = rows_of(libraries, library)
    door_count = rows_of(doors, door)
}

FILENAME == "/dev/null" { next }

FNR == 1 {
    looked++
    in_comment = include_seen = 0
    room = room_of(FILENAME)
    if (room == "")
        complain(FILENAME ":1: stands in no room of the table")
    own_header = FILENAME
    if (!sub(/\.c$/, ".h", own_header) || (getline text < own_header) < 0)
        own_header = ""
    else
        close(own_header)
    guarded = 0
    for (i = 1; i <= door_count; i++)
        if (index(FILENAME, door[i, 2] "/") == 1) {
            guarded = 1
            open_for[i] = index(" " door[i, 3] " ", " " FILENAME " ") > 0
        } else {
            open_for[i] = 1
        }
}

/^[ \t]*#[ \t]*include[ \t]*["<]/ { look_at_include($0); next }

guarded {
    code = code_of($0)
    for (i = 1; i <= door_count; i++)
        if (!open_for[i] && code ~ "(^|[^A-Za-z0-9_])" door[i, 1] "([^A-Za-z0-9_]|$)")
            complain(FILENAME ":" FNR ": may not name " door[i, 1] ": stores change in " door[i, 3] " only")
}

END {
    printf "check-layers: looked at %d files, %d includes, %d doors, %d breaches\n", looked, includes, door_count, bad
    exit looked == 0 || includes == 0 || bad > 0
}' /dev/null $files
