/* Texts of a request's head: query strings, Content-Type and Accept. Whatever they are, the answer is a value in range or a
 * 400 whose sentence can be written as JSON. */
#include "proto/utf8.h"
#include "proto/wire.h"
#include "tests/fuzz/fuzz.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void check(bool good, const char *what)
{
    if (good)
        return;
    (void)fprintf(stderr, "%s\n", what);
    abort();
}

static void check_at(bool has_at, const obb_at *at)
{
    check(has_at == (at->kind != OBB_AT_NOW) && isfinite(at->time), "a state in range");
    check((double)at->revision <= OBB_MAX_WHOLE, "a revision in range");
}

static void check_params(const wire_param *params, size_t count)
{
    struct obb_arena arena;
    obb_arena_init(&arena);
    wire_box_params box;
    wire_list_params list;
    enum { READERS = 5 };
    wire_problem problem[READERS] = {{0}};
    bool good[READERS];
    good[0] = wire_read_box_params(params, count, &arena, &box, &problem[0]);
    if (good[0])
        check_at(box.has_at, &box.at);
    good[1] = wire_read_box_list_params(params, count, &arena, &list, &problem[1]);
    if (good[1]) {
        check_at(list.has_at, &list.at);
        check(list.limit >= 1 && list.limit <= 10000, "a limit in range");
    }
    good[2] = wire_read_scene_list_params(params, count, &arena, &list, &problem[2]);
    check(!good[2] || (list.limit >= 1 && list.limit <= 10000), "a limit in range");
    good[3] = wire_read_no_params(params, count, &arena, &problem[3]);
    check(good[3] == (count == 0), "no parameters are none");
    unsigned topics;
    good[4] = wire_read_event_params(params, count, &arena, &topics, &problem[4]);
    check(!good[4] || (topics != 0 && (topics & ~(unsigned)WIRE_TOPICS) == 0), "some topics");
    for (int i = 0; i < READERS; i++)
        check(good[i] || (problem[i].status == 400 && problem[i].detail != NULL &&
                          wire_utf8_valid(obb_str_of(problem[i].detail))),
              "a refusal that can be written");
    obb_arena_fini(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    enum { MOST = 16 };
    wire_param params[MOST];
    size_t count = 0;
    const char *text = (const char *)bytes, *end = text + length;
    for (const char *at = text; at < end && count < MOST; count++) {
        const char *stop = at, *equals = NULL;
        for (; stop < end && *stop != '&'; stop++)
            equals = equals == NULL && *stop == '=' ? stop : equals;
        const char *key_end = equals != NULL ? equals : stop;
        const char *value = equals != NULL ? equals + 1 : stop;
        params[count].key = (obb_str){at, (size_t)(key_end - at)};
        params[count].value = (obb_str){value, (size_t)(stop - value)};
        at = stop < end ? stop + 1 : end;
    }
    check_params(params, count);

    char *value = malloc(length + 1);
    if (value == NULL)
        return 0;
    (void)snprintf(value, length + 1, "%.*s", (int)length, text);
    static const wire_media offered[] = {WIRE_JSON, WIRE_CBOR, WIRE_NDJSON};
    wire_media media = WIRE_PROBLEM;
    check(!wire_media_from_content_type(value, &media) || media != WIRE_PROBLEM, "a type of ours");
    media = WIRE_PROBLEM;
    check(!wire_media_from_accept(value, offered, 3, &media) || media != WIRE_PROBLEM,
          "a type that was offered");
    free(value);
    return 0;
}
