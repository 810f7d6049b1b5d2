/* Reads the input as JSON. Our cursor and jansson give the same verdict and the same values.
 * Captured text is JSON, and capturing it again does not change it. A request reads the same from
 * JSON, from CBOR and from CBOR with typed arrays. */
#include "tests/fuzz/fuzz.h"
#include "tests/proto/cbor_maker.h"
#include "tests/proto/dump.h"
#include "tests/proto/oracle_json.h"

#include <stdlib.h>

static void check_capture(const char *bytes, size_t length)
{
    struct obb_arena arena;
    struct wire_cursor c;
    obb_str text, again;
    obb_arena_init(&arena);
    wire_json_open(&c, bytes, length, &arena);
    if (wire_capture(&c, &text) && wire_finish(&c)) {
        const char *difference;
        fuzz_check(oracle_json(text.bytes, text.length, &difference) == ORACLE_TAKEN &&
                       *difference == '\0',
                   "what was captured is not JSON");
        wire_json_open(&c, text.bytes, text.length, &arena);
        fuzz_check(wire_capture(&c, &again) && wire_finish(&c) && obb_str_equal(text, again),
                   "what was captured changes when it is captured again");
    }
    obb_arena_fini(&arena);
}

/* `data` keeps its numbers as JSON wrote them, which CBOR cannot. */
static bool has_data(const char *bytes, size_t length)
{
    for (size_t i = 0; i + 4 <= length; i++)
        if (memcmp(bytes + i, "data", 4) == 0 || bytes[i] == '\\')
            return true;
    return false;
}

static void check_requests(const char *bytes, size_t length, int route, int dimensions)
{
    char *from_json, *from_cbor;
    const wire_body body = {.bytes = bytes, .length = length, .media = WIRE_JSON};
    (void)dump_request(route, &body, dimensions, &from_json);
    for (int typed = 0; typed < 2 && length > 0 && !has_data(bytes, length); typed++) {
        struct cbor_maker m = {0};
        if (maker_from_json(&m, bytes, length, typed == 1)) {
            const wire_body other = {
                .bytes = (const char *)m.bytes, .length = m.length, .media = WIRE_CBOR};
            (void)dump_request(route, &other, dimensions, &from_cbor);
            fuzz_check(strcmp(from_json, from_cbor) == 0, "JSON and CBOR say different things");
            free(from_cbor);
        }
        free(m.bytes);
    }
    free(from_json);
}

/* As the lines of an import: an edit in range, or a refusal. */
static void check_import(const char *bytes, size_t length)
{
    struct obb_arena arena;
    obb_arena_init(&arena);
    const wire_body body = {.bytes = bytes, .length = length, .media = WIRE_NDJSON};
    obb_edit edit;
    wire_problem problem = {0};
    if (wire_read_import(&body, &arena, &edit, &problem))
        for (size_t i = 0; i < edit.put_count; i++)
            fuzz_check(obb_name_valid(edit.puts[i].target.name), "a box without a name");
    else
        fuzz_check(problem.status == 400 || problem.status == 422, "a refusal of another kind");
    obb_arena_fini(&arena);
}

/* The first two bytes choose the request, the rest is its body. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    if (length < 2 || length > 1 << 16)
        return 0;
    const int route = dump_route_of(bytes), dimensions = 2 + bytes[1] % 2;
    const char *text = (const char *)bytes + 2;
    length -= 2;
    const char *difference;
    (void)oracle_json(text, length, &difference);
    fuzz_check(*difference == '\0', difference);
    check_capture(text, length);
    check_requests(text, length, route, dimensions);
    check_import(text, length);
    return 0;
}
