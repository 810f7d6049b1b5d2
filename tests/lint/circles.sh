#!/bin/sh
# circles.sh [--table] ROOT OBJECTS - finds circles of files and circles of rooms below core, proto
# and server.
#
# A unit is a file without its ending, so sat.c, sat.h and sat_body.h are one. An arrow runs from
# unit A to unit B if a file of A includes a file of B, or if the object of A needs a symbol that
# the object of B defines. A call through a function pointer is no arrow. A room is the folder of a
# unit; a unit at the top of a layer is a room of its own. OBJECTS is the folder of a build (build):
# OBJECTS/core/geometry/sat.o belongs to core/geometry/sat.
#
# Prints the shortest circle through each unit or room that is in one, with a cause for each arrow,
# and how many files, rooms and arrows it looked at. Fails if there is a circle, a source without an
# object, or nothing to look at. --table prints the arrows between rooms too: from, to, how many
# arrows of units.
set -u
table=0
[ "${1:-}" = --table ] && table=1 && shift
root=${1:?circles.sh [--table] ROOT OBJECTS} objects=${2:?circles.sh [--table] ROOT OBJECTS}

facts=$(mktemp)
trap 'rm -f "$facts"' EXIT
for layer in core proto server; do
    [ -d "$root/$layer" ] && (cd "$root" && find "$layer" -name node_modules -prune -o -type f \
        \( -name '*.[ch]' -o -name '*.inc' -o -name '*.def' \) -print)
done | sort | while read -r file; do
    echo "file $file"
    sed -n 's/^[[:space:]]*#[[:space:]]*include[[:space:]]*"\([^"]*\)".*/include \1/p' "$root/$file"
    # programs that run while building (tools/) have no object
    case $file in
    */tools/* | *.h | *.inc | *.def) ;;
    *)
        object=$objects/${file%.c}.o
        if [ -e "$object" ]; then
            nm -g -P "$object" | sed -n 's/^\([^ ]*\) \([A-Za-z]\).*/symbol \2 \1/p'
        else
            echo "missing $object"
        fi
        ;;
    esac
done >"$facts"

awk -v table="$table" '
function unit_of(file) { sub(/_(body|inside)\.h$|\.[a-z]+$/, "", file); return file }

# The folder of a unit; the unit itself at the top of a layer.
function room_of(unit,   folder) {
    folder = unit
    sub(/\/[^\/]*$/, "", folder)
    return folder ~ /\// ? folder : unit
}

function arrow(from, to, cause) {
    if (from == to || (from, to) in cause_of)
        return
    cause_of[from, to] = cause
    targets[from] = targets[from] " " to
    arrows++
}

# One shortest way from `start` back to itself inside the graph `next_of`, as "a b c a". "" if there
# is none.
function circle_of(start, next_of,   queue, from, head, tail, node, n, word, i, way) {
    queue[tail = 1] = start
    for (head = 1; head <= tail; head++) {
        node = queue[head]
        n = split(next_of[node], word, " ")
        for (i = 1; i <= n; i++) {
            if (word[i] == start) {
                way = start
                for (; node != start; node = from[node])
                    way = node " " way
                return start " " way
            }
            if (!(word[i] in from)) {
                from[word[i]] = node
                queue[++tail] = word[i]
            }
        }
    }
    return ""
}

# Marks in `mark` all nodes that can be reached from `start` in the graph `next_of`.
function reach(start, next_of, mark,   queue, head, tail, n, word, i) {
    queue[tail = 1] = start
    for (head = 1; head <= tail; head++) {
        n = split(next_of[queue[head]], word, " ")
        for (i = 1; i <= n; i++)
            if (!(word[i] in mark)) {
                mark[word[i]] = 1
                queue[++tail] = word[i]
            }
    }
}

# The same circle, begun at its first node in the order of the alphabet.
function turned(way,   word, n, first, i) {
    n = split(way, word, " ") - 1
    first = 1
    for (i = 2; i <= n; i++)
        if (word[i] < word[first])
            first = i
    way = word[first]
    for (i = 1; i <= n; i++)
        way = way " " word[(first + i - 1) % n + 1]
    return way
}

# Prints the shortest circle through each node that is in one; each circle once.
function report(what, list, count, next_of, causes,   printed, way, word, n, i, k) {
    for (i = 1; i <= count; i++) {
        way = circle_of(list[i], next_of)
        if (way == "")
            continue
        way = turned(way)
        if (way in printed)
            continue
        printed[way] = 1
        circles++
        n = split(way, word, " ")
        gsub(/ /, " -> ", way)
        print "circle of " what ": " way
        for (k = 1; k < n; k++)
            print "  " word[k] " -> " word[k + 1] ": " causes[word[k], word[k + 1]]
    }
}

$1 == "file" {
    files++
    unit = unit_of($2)
    if (!(unit in known)) {
        known[unit] = 1
        units[++unit_count] = unit
    }
    file = $2
}
$1 == "include" { includes[file] = includes[file] " " $2 }
$1 == "missing" { print "check-circles: no object " $2; missing++ }
$1 == "symbol" {
    symbols++
    if ($2 == "U" || $2 == "w" || $2 == "v")
        needs[unit] = needs[unit] " " $3
    else
        home[$3] = unit
}

END {
    for (file in includes) {
        n = split(includes[file], word, " ")
        for (i = 1; i <= n; i++)
            if (unit_of(word[i]) in known)
                arrow(unit_of(file), unit_of(word[i]), file " includes " word[i])
    }
    for (unit in needs) {
        n = split(needs[unit], word, " ")
        for (i = 1; i <= n; i++)
            if (word[i] in home)
                arrow(unit, home[word[i]], "needs " word[i])
    }
    for (i = 1; i <= unit_count; i++) {
        from = units[i]
        if (!(room_of(from) in room_known)) {
            room_known[room_of(from)] = 1
            rooms[++room_count] = room_of(from)
        }
        n = split(targets[from], word, " ")
        for (j = 1; j <= n; j++) {
            a = room_of(from)
            b = room_of(word[j])
            if (a == b)
                continue
            if (!((a, b) in room_cause)) {
                room_cause[a, b] = from " -> " word[j] ": " cause_of[from, word[j]]
                room_targets[a] = room_targets[a] " " b
                room_arrows++
            }
            how_many[a, b]++
        }
    }
    report("files", units, unit_count, targets, cause_of)
    report("rooms", rooms, room_count, room_targets, room_cause)
    if (table)
        for (i = 1; i <= room_count; i++)
            for (j = 1; j <= room_count; j++)
                if ((rooms[i], rooms[j]) in how_many)
                    printf "%-22s -> %-22s %d\n", rooms[i], rooms[j], how_many[rooms[i], rooms[j]]
    printf "check-circles: looked at %d files, %d units, %d rooms, %d symbols, %d arrows of units, %d of rooms; %d circles\n", \
        files, unit_count, room_count, symbols, arrows, room_arrows, circles
    exit files == 0 || symbols == 0 || arrows == 0 || missing > 0 || circles > 0
}' "$facts"
