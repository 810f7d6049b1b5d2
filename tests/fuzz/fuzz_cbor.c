/* Reads the input as CBOR. libcbor's reader takes every document that our cursor takes, and all of
 * it. Captured data is JSON. No request does harm, and memory stays in proportion to the bytes. */
#include "proto/codec/cursor.h"
#include "proto/codec/walk.h"
#include "tests/fuzz/fuzz.h"
#include "tests/proto/dump.h"
#include "tests/proto/oracle_cbor.h"
#include "tests/proto/oracle_json.h"

#include <stdlib.h>

static void check_verdict(const char *bytes, size_t length)
{
    struct obb_arena arena;
    struct wire_cursor c;
    obb_arena_init(&arena);
    wire_cbor_open(&c, bytes, length, &arena);
    if (wire_skip(&c) && wire_finish(&c)) {
        fuzz_check(oracle_cbor(bytes, length), "libcbor refuses what we take");
    } else {
        fuzz_check(c.fault.cause == WIRE_MALFORMED && wire_cursor_explain(&c).status == 400,
                   "a walk fails, but not as malformed");
    }
    fuzz_check(arena.total <= 64 * length + (1 << 16), "memory out of proportion");
    obb_arena_fini(&arena);
}

static void check_capture(const char *bytes, size_t length)
{
    struct obb_arena arena;
    struct wire_cursor c;
    obb_str text;
    obb_arena_init(&arena);
    wire_cbor_open(&c, bytes, length, &arena);
    if (wire_capture(&c, &text)) {
        const char *difference;
        fuzz_check(oracle_json(text.bytes, text.length, &difference) == ORACLE_TAKEN &&
                       *difference == '\0',
                   "what was captured is not JSON");
    }
    obb_arena_fini(&arena);
}

/* The first two bytes choose the request, the rest is its body. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    if (length < 2 || length > 1 << 16)
        return 0;
    const char *text = (const char *)bytes + 2;
    const wire_body body = {.bytes = text, .length = length - 2, .media = WIRE_CBOR};
    char *request;
    check_verdict(text, length - 2);
    check_capture(text, length - 2);
    (void)dump_request(dump_route_of(bytes), &body, 2 + bytes[1] % 2, &request);
    free(request);
    return 0;
}
