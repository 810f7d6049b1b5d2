/* Requests as text: read from JSON, from CBOR, and from CBOR with typed arrays, and held against
 * each other. */
#ifndef TEST_PROTO_REQUESTS_H
#define TEST_PROTO_REQUESTS_H

#include "proto/wire.h"
#include "tests/proto/cbor_maker.h"
#include "tests/proto/dump.h"
#include "tests/proto/exact.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

static struct obb_arena arena;

static inline void start(void) { obb_arena_init(&arena); }

static inline void stop(void) { obb_arena_fini(&arena); }

static inline wire_body json(const char *text)
{
    return (wire_body){.bytes = text, .length = strlen(text), .media = WIRE_JSON};
}

/* ---- Both media ------------------------------------------------------------------------------ */

/* Decodes the bytes in a block of exactly their size. */
static inline bool decode(int route, int dimensions, const char *bytes, size_t length,
                          wire_media media, char **out_text)
{
    char *block = exact_copy(bytes, length);
    const wire_body body = {.bytes = block, .length = length, .media = media};
    const bool good = dump_request(route, &body, dimensions, out_text);
    exact_free(block, length);
    return good;
}

/* Decodes the text as JSON, as CBOR, and as CBOR with typed arrays, as far as CBOR can say it. All
 * must give the same request, or the same refusal, "status pointer". The caller frees the text. */
static inline bool decode_all(int route, int dimensions, const char *text, char **out_text)
{
    const bool good = decode(route, dimensions, text, strlen(text), WIRE_JSON, out_text);
    for (int typed = 0; typed < 2; typed++) {
        struct cbor_maker m = {0};
        char *other = NULL;
        if (!maker_from_json(&m, text, strlen(text), typed == 1))
            break;
        const bool as_good =
            decode(route, dimensions, (const char *)m.bytes, m.length, WIRE_CBOR, &other);
        ck_assert_msg(good == as_good && strcmp(*out_text, other) == 0, "%s\nJSON: %s\nCBOR%s: %s",
                      text, *out_text, typed ? ", typed" : "", other);
        free(other);
        free(m.bytes);
    }
    return good;
}

struct refusal {
    const char *text;
    int status;
    const char *pointer; /* NULL: none */
};

static inline void check_refusals(int route, int dimensions, const struct refusal *refusals,
                                  size_t count)
{
    for (size_t i = 0; i < count; i++) {
        char *got, expected[1024];
        (void)snprintf(expected, sizeof expected, "%d %s", refusals[i].status,
                       refusals[i].pointer != NULL ? refusals[i].pointer : "none");
        const bool good = decode_all(route, dimensions, refusals[i].text, &got);
        ck_assert_msg(!good && strcmp(got, expected) == 0, "%s\nexpected %s, got %s",
                      refusals[i].text, expected, got);
        free(got);
    }
    printf("%zu refusals\n", count);
}

#define CHECK_REFUSALS(route, dimensions, list) \
    check_refusals(route, dimensions, list, sizeof(list) / sizeof *(list))

/* The two texts are the same request. */
static inline void check_same(int route, int dimensions, const char *a, const char *b)
{
    char *left, *right;
    ck_assert_msg(decode_all(route, dimensions, a, &left), "%s: %s", a, left);
    ck_assert_msg(decode_all(route, dimensions, b, &right), "%s: %s", b, right);
    ck_assert_msg(strcmp(left, right) == 0, "%s\n%s\n%s\n%s", a, b, left, right);
    free(left);
    free(right);
}

static inline void check_taken(int route, int dimensions, const char *text)
{
    char *got;
    ck_assert_msg(decode_all(route, dimensions, text, &got), "%s: %s", text, got);
    free(got);
}

static inline wire_commit commit_of(const wire_body *body, int dimensions)
{
    wire_commit commit;
    wire_problem problem;
    ck_assert_msg(wire_read_commit(body, dimensions, &arena, &commit, &problem), "%d %s %s",
                  problem.status, problem.detail, problem.pointer);
    return commit;
}

static inline obb_query query_of(obb_query_kind kind, const char *text, int dimensions)
{
    obb_query query;
    wire_problem problem;
    const wire_body body = json(text);
    ck_assert_msg(wire_read_query(&body, kind, dimensions, &arena, &query, &problem),
                  "%s: %d %s %s", text, problem.status, problem.detail, problem.pointer);
    char *dump;
    ck_assert(decode_all(DUMP_QUERY + (int)kind, dimensions, text, &dump));
    free(dump);
    return query;
}

#define POSE "\"center\":[0,0,0],\"half_extents\":[1,1,1]"
#define FLAT "\"center\":[0,0],\"half_extents\":[1,1]"

#define WHOLE_TICK                                                                                \
    "{\"time\":1234.5,\"if_revision\":41,\"remove\":[\"crate-7\",\"x\\/y\"],"                     \
    "\"put\":{\"crate-8\":{\"center\":[0,1,0],\"half_extents\":[1,1,1]},\"b\":{\"points\":[[0,0," \
    "0]]}},"                                                                                      \
    "\"pose\":{\"player-1\":{\"center\":[3,0,9],\"rotation\":[0,0,0,1],\"teleport\":true},"       \
    "\"p2\":{\"rotation\":[0,0,0,2]},\"p3\":{}},"                                                 \
    "\"transform\":{\"door\":{\"rotate\":{\"axis\":[0,1,0],\"degrees\":5},\"space\":\"local\"}}," \
    "\"ignore_missing\":true,"                                                                    \
    "\"queries\":[{\"kind\":\"ray\",\"rays\":[{\"origin\":[0,1,0],\"direction\":[0,0,1],"         \
    "\"max_distance\":50}],\"at\":{\"time\":1180.0},\"filter\":{\"exclude_entities\":[\"player-"  \
    "1\"]}},"                                                                                     \
    "{\"count_only\":true,\"kind\":\"all-pairs\"}]}"

#endif
