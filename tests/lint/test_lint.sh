#!/bin/sh
# test_lint.sh - tests layers.sh, circles.sh and contract.py: builds a small tree in a temporary
# folder, plants one fault at a time, and expects the check to fail with its message; the tree without
# a fault must pass. Prints how many expectations it looked at.
set -u
lint=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
looked=0 bad=0

put() { # FILE LINE... writes a file of the tree
    mkdir -p "$work/tree/$(dirname "$1")"
    file=$work/tree/$1
    shift
    printf '%s\n' "$@" >"$file"
}

# A tree without a fault. geometry/solid calls base/sum directly; base/walk calls geometry only
# through a pointer.
clean_tree() {
    rm -rf "$work/tree" "$work/objects"
    put core/base/sum.h 'int obb_sum(int a);'
    put core/base/sum.c '#include "core/base/sum.h"' 'int obb_sum(int a) { return a; }'
    put core/base/walk.h 'int obb_walk(int (*visit)(int));'
    put core/base/walk.c '#include "core/base/walk.h"' 'int obb_walk(int (*visit)(int)) { return visit(1); }'
    put core/geometry/solid.h '#include "core/base/sum.h"' 'int obb_solid(int a);'
    put core/geometry/solid_body.h '#include "core/geometry/solid.h"' 'int obb_inside(int a);'
    put core/geometry/solid.c '#include "core/geometry/solid.h"' '#include "core/geometry/solid_body.h"' \
        '#include "core/base/walk.h"' 'int obb_inside(int a) { return obb_sum(a); }' \
        'int obb_solid(int a) { return obb_walk(obb_inside) + a; }'
    put core/obb.h '#include "core/geometry/solid.h"'
    put proto/codec/json.h '#include "core/obb.h"' 'int wire_json(int a);'
    put proto/codec/json.c '#include "proto/codec/json.h"' '#include <jansson.h>' 'int wire_json(int a) { return obb_solid(a); }'
    put proto/wire.h '#include "core/obb.h"'
    put proto/clients/c/obbd.h 'int obbd_open(void);'
    put proto/clients/c/obbd.c '#include "obbd.h"' 'int obbd_open(void) { return 1; }'
    put server/scenes/write_base.c '#include "core/obb.h"' 'int obb_store_add(int a);' \
        'int srv_write(void);' 'int srv_write(void) { return obb_store_add(1); }'
    put server/main.c '#include "proto/wire.h"' '/* obb_store_add is named in a comment' ' * obb_store_add */' \
        'int main(void) { return "obb_store_add"[0]; }'
    put tests/core/geometry/test_solid.c '#include "core/geometry/solid_body.h"' '#include <check.h>'
    mkdir -p "$work/stubs"
    : >"$work/stubs/jansson.h"
}

compile() {
    (cd "$work/tree" && find core proto server -name '*.c') | while read -r source; do
        mkdir -p "$work/objects/$(dirname "$source")"
        (cd "$work/tree" && ${CC:-cc} -w -I. -I"$work/stubs" -c -o "$work/objects/${source%.c}.o" "$source") || exit 1
    done || exit 1
}

expect() { # WHAT passes|fails TEXT COMMAND... the command's verdict, and TEXT in its output
    what=$1 verdict=$2 text=$3
    shift 3
    looked=$((looked + 1))
    output=$("$@" 2>&1) && came=passes || came=fails
    case $came:$output in
    "$verdict:"*"$text"*) ;;
    *)
        echo "test_lint.sh: $what: expected that it $verdict with \"$text\", but it $came with:"
        printf '%s\n' "$output"
        bad=$((bad + 1))
        ;;
    esac
}

layers() { # WHAT TEXT: the planted tree fails check-layers with the text, and has no other breach
    expect "$1" fails "$2" "$lint/layers.sh" "$work/tree"
    expect "$1, and nothing else" fails ', 1 breaches' "$lint/layers.sh" "$work/tree"
    clean_tree
}

circles() { # WHAT TEXT: the planted tree fails check-circles with the text, and has no other circle
    compile
    expect "$1" fails "$2" "$lint/circles.sh" "$work/tree" "$work/objects"
    expect "$1, and nothing else" fails '; 1 circles' "$lint/circles.sh" "$work/tree" "$work/objects"
    clean_tree
}

clean_tree
compile
expect "a clean tree" passes 'looked at 16 files, 17 includes, 10 doors, 0 breaches' "$lint/layers.sh" "$work/tree"
expect "a clean tree" passes 'looked at 15 files, 9 units, 8 rooms, 12 symbols, 8 arrows of units, 7 of rooms' "$lint/circles.sh" "$work/tree" "$work/objects"
expect "the table of rooms" passes 'core/geometry          -> core/base              2' \
    "$lint/circles.sh" --table "$work/tree" "$work/objects"

mkdir "$work/empty"
expect "an empty tree" fails 'looked at 0 files' "$lint/layers.sh" "$work/empty"
expect "an empty tree" fails 'looked at 0 files' "$lint/circles.sh" "$work/empty" "$work/objects"

put core/base/up.c '#include "core/geometry/solid.h"'
layers "an include upwards" 'core/base/up.c:1: may not include "core/geometry/solid.h": core/base does not stand on core/geometry'
put core/index/tree.c '#include "core/geometry/solid_body.h"'
layers "the inside of another room" 'core/index/tree.c:1: may not include "core/geometry/solid_body.h", the inside of core/geometry'
put tests/core/base/test_sum.c '#include "core/geometry/solid_body.h"'
layers "the inside of another room, in a test" 'the inside of core/geometry'
put core/base/wire.c '#include "proto/wire.h"'
layers "a layer above" 'core/base does not stand on proto/wire'
put server/base/sum.c '#include "core/base/sum.h"'
layers "a layer below, beside its face" 'server/base does not stand on core/base'
put proto/clients/c/more.c '#include "proto/wire.h"'
layers "a client that includes the server's side" 'proto/clients does not stand on proto/wire'
put core/base/attic.c '#include "core/attic/attic.h"'
layers "a header of no room" 'which is in no room of the table'
put core/attic/attic.c '#include <stddef.h>'
layers "a file of no room" 'core/attic/attic.c:1: stands in no room of the table'
put server/attic/attic.c '#include <stddef.h>'
layers "a file of no room, where the layer has a row" 'server/attic/attic.c:1: stands in no room of the table'
put server/lag.c '#include "server/lag_body.h"'
put server/lag_body.h '#include "proto/wire.h"'
put server/base/up.c '#include "server/lag_body.h"'
layers "the inside of the top, below it" 'server/base/up.c:1: may not include "server/lag_body.h", the inside of server'
put server/base/up.c '#include "server/lag.h"'
layers "the top, below it" 'server/base does not stand on server'
put proto/request/json.c '#include <stddef.h>' '#include <jansson.h>'
layers "a library in a wrong room" 'proto/request/json.c:2: may not include <jansson.h>: proto/request does not know jansson'
put server/journal/shared.c '#include <stddef.h>' '#include <nats/nats.h>'
layers "a library beside the file that knows it" 'server/journal/shared.c:2: may not include <nats/nats.h>: server/journal does not know nats'
put core/base/sum.c '#include "core/base/walk.h"' '#include "core/base/sum.h"'
layers "own header second" 'core/base/sum.c:1: must include its own header first, core/base/sum.h'
put core/base/sum.c '#include <stddef.h>' '#include "core/base/sum.h"'
layers "own header behind a library" 'core/base/sum.c:1: must include its own header first, core/base/sum.h'
put server/routes/do_scene.c 'int obb_store_add(int a);'
layers "a store changed by another door" 'server/routes/do_scene.c:1: may not name obb_store_add: stores change in server/scenes/write_base.c server/scenes/write_follow.c only'

put server/scenes/restore.c 'void obb_edit_discard(int a);'
layers "an edit thrown away by another door" 'server/scenes/restore.c:1: may not name obb_edit_discard'

put core/base/sum.c '#include "core/base/sum.h"' 'int obb_more(int a);' 'int obb_sum(int a) { return obb_more(a); }'
put core/base/more.c 'int obb_sum(int a);' 'int obb_more(int a) { return obb_sum(a); }'
circles "two files, by calls" 'circle of files: core/base/more -> core/base/sum -> core/base/more'
put core/base/one.h '#include "core/base/two.h"'
put core/base/two.h '#pragma once' '#include "core/base/one.h"'
circles "two files, by includes" 'circle of files: core/base/one -> core/base/two -> core/base/one'
put core/base/one.h 'int obb_one(void);'
put core/base/two.h '#include "core/base/one.h"'
put core/base/two.c 'int obb_two(void) { return 2; }'
put core/base/one.c 'int obb_two(void);' 'int obb_one(void) { return obb_two(); }'
circles "two files, one way by an include and back by a call" 'core/base/one -> core/base/two: needs obb_two'
put core/base/one.c 'int obb_two(void);' 'int obb_one(void) { return obb_two(); }'
put core/base/two.c 'int obb_three(void);' 'int obb_two(void) { return obb_three(); }'
put core/base/three.c 'int obb_one(void);' 'int obb_three(void) { return obb_one(); }'
circles "three files" 'circle of files: core/base/one -> core/base/two -> core/base/three -> core/base/one'
put core/base/up.c 'int obb_depth(void);' 'int obb_up(void) { return obb_depth(); }'
put core/geometry/depth.c 'int obb_depth(void) { return 1; }'
circles "two rooms without a circle of files" 'circle of rooms: core/base -> core/geometry -> core/base'
put server/server.c 'int srv_write(void);' 'int srv_serve(void) { return srv_write(); }'
put server/scenes/up.c 'int srv_serve(void);' 'int srv_up(void) { return srv_serve(); }'
circles "a room and a unit above it" 'circle of rooms: server/scenes -> server/server -> server/scenes'
compile
put core/base/new.c 'int obb_new(void);'
expect "a source without an object" fails "no object $work/objects/core/base/new.o" "$lint/circles.sh" "$work/tree" "$work/objects"

# The page of the contract, and a program with three tests, of which two are in its suite.
promises() { # ROW...
    rm -rf "$work/tree"
    mkdir -p "$work/tree/proto/clients/c"
    put tests/e2e/test_moon.c 'START_TEST(it_rises)' 'END_TEST' 'START_TEST(it_sets)' 'END_TEST' \
        'START_TEST(it_waits)' 'END_TEST' '/* it_waits is named in a comment */' \
        'int main(void) {' '    tcase_add_test(' '        tc, it_rises);' \
        '    tcase_add_loop_test(tc, it_sets, 0, 3);' '}'
    put tests/CONTRACT.md '# A page' '' '| what the contract says | test |' '|---|---|' "$@"
    put proto/clients/behaviour.json '{"rows": [{"name": "it is new, then full"}]}'
    put tests/clients/test_c_moon.py '@test' 'def it_sets():' '    pass'
    put tests/clients/test_js_moon.mjs 'test("it sets", () => {});'
    cat >"$work/tree/proto/clients/c/README.md" <<'END'
# A moon

For poets and tides. It sets behind
the [hill](x), e.g. `A. B.`.

```c
It is a program.
```

| thing | rule |
|---|---|
| face | It is new, then full. Ever |
END
    cat >"$work/tree/tests/CLAIMS.md" <<'END'
- [`proto/clients/c/README.md`](x)

| what is said | test |
|---|---|
| It sets behind the hill, e.g. `A. B.`. | `clients/test_js_moon` `it sets` `clients/test_c_moon` `it_sets` |
| It is new, then full. Ever | `behaviour` `it is new, then full` |

* For poets and tides.
END
}

plant() { # FILE EXPRESSION WHAT FAULTS TEXT: the claims fail with the text if the file is edited so
    promises "$(row 'it rises' e2e/test_moon it_rises)"
    sed -i "$2" "$work/tree/$1"
    contract "$3" fails "$5"
    contract "$3, and nothing else" fails ", $4 faults"
}

contract() { # WHAT verdict TEXT
    expect "$1" "$2" "$3" "$lint/contract.py" "$work/tree"
}

row() { # SENTENCE PROGRAM TEST: a row of the page
    # shellcheck disable=SC2016 # the page has names in backquotes
    printf '| %s | `%s` `%s` |' "$1" "$2" "$3"
}

promises "$(row 'it rises' e2e/test_moon it_rises)" "$(row 'it sets' e2e/test_moon it_sets)"
contract "promises with their tests" passes 'looked at 2 promises, 0 without their test; at 3 sentences of 1 pages, of which 1 claim nothing, 0 faults'
promises "$(row 'it rises' e2e/test_moon it_rises)" "$(row 'it shines' e2e/test_moon it_shines)"
contract "a test that is not there" fails 'e2e/test_moon has no test it_shines in its suite'
contract "a test that is not there, and nothing else" fails 'looked at 2 promises, 1 without'
promises "$(row 'it rises' e2e/test_moon it_rise)"
contract "the beginning of a name" fails 'has no test it_rise'
promises "$(row 'it rises' e2e/test_sun it_rises)"
contract "a program that is not there" fails 'there is no program tests/e2e/test_sun'
promises "$(row 'it waits' e2e/test_moon it_waits)"
contract "a test outside its suite" fails 'has no test it_waits in its suite'
promises "$(row 'it rises' e2e/test_moon it_rises)" '| it is round | none |'
contract "a promise without a test" fails 'a row names no test'
promises
contract "a page without promises" fails 'looked at 0 promises'
rm "$work/tree/tests/CONTRACT.md"
contract "no page" fails 'looked at 0 promises'

page=proto/clients/c/README.md
plant $page 's/behind/before/' "a sentence that was changed" 2 "does not list, of $page: It sets before the hill"
plant $page 's/Ever/Always/' "a cell that was changed" 2 'It is new, then full. Always'
plant $page 's/It sets/Nobody knows it yet. It sets/' "a sentence that was added" 1 'of proto/clients/c/README.md: Nobody knows it yet.'
plant tests/CLAIMS.md 's/ .clients.test_c_moon. .it_sets.//' "a sentence without a test of its client" 1 "no test of the client of $page"
plant tests/CLAIMS.md 's/^\* .*/&\n* It shines all night./' "a claim that no page makes" 1 'no page says: It shines all night.'
plant tests/clients/test_c_moon.py 's/@test//' "a function that is no test" 1 'clients/test_c_moon has no test it_sets'
plant tests/clients/test_js_moon.mjs 's/it sets/it sets down/' "a test of another name" 1 'clients/test_js_moon has no test it sets'
plant proto/clients/behaviour.json 's/}]/}, {"name": "it is half"}]/' "a row that shows nothing" 1 'nothing is shown by the row of behaviour.json: it'

echo "check-lint: looked at $looked verdicts of three checks, $bad wrong"
[ "$looked" -gt 0 ] && [ "$bad" -eq 0 ]
