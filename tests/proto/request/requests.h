/* Requests as text: read from JSON, from CBOR, and from CBOR with typed arrays, and held against
 * each other. */
#ifndef TEST_PROTO_REQUESTS_H
#define TEST_PROTO_REQUESTS_H

#include "proto/wire.h"
#include "tests/proto/cbor_maker.h"
#include "tests/proto/dump.h"
#include "tests/proto/exact.h"
#include "tests/support/sentence.h"
#include "tests/support/test.h"

#include <jansson.h>
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

/* Returns the value that a JSON pointer names in a document, or NULL. Writes its key, or "". */
static inline json_t *value_at(json_t *document, const char *pointer, char out_key[static 1024])
{
    json_t *value = document;
    *out_key = '\0';
    while (value != NULL && *pointer == '/') {
        size_t length = 0;
        for (pointer++; *pointer != '\0' && *pointer != '/'; pointer++) {
            char c = *pointer;
            if (c == '~') {
                pointer++;
                c = '/';
                if (*pointer == '0')
                    c = '~';
            }
            out_key[length++] = c;
        }
        out_key[length] = '\0';
        value = json_is_array(value) ? json_array_get(value, strtoul(out_key, NULL, 10))
                                     : json_object_get(value, out_key);
    }
    return value;
}

/* Checks that a detail begins with what was found: the key, the number of elements or the value,
 * all shortened. jansson reads the document, as an oracle. */
static inline void check_found(const char *text, const wire_problem *problem)
{
    enum { SURE = 16 }; /* bytes that are shown in any case */
    char key[1024], begin[1100];
    json_t *document = json_loads(text, JSON_DECODE_ANY, NULL);
    json_t *value = document != NULL ? value_at(document, problem->pointer, key) : NULL;
    if (value == NULL) { /* a number beyond doubles, which jansson refuses */
        ck_assert_msg(strncmp(problem->detail, "found ", 6) == 0, "%s", problem->detail);
        json_decref(document);
        return;
    }
    char *shown = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    const char *const detail = problem->detail;
    const bool field =
        strcmp(problem->type, "unknown-field") == 0 || strcmp(problem->type, "field-conflict") == 0;
    const bool count =
        strcmp(problem->type, "bad-length") == 0 || strcmp(problem->type, "bad-count") == 0;
    if (field)
        (void)snprintf(begin, sizeof begin, "found the field \"%.16s", key);
    else if (count && json_is_array(value))
        (void)snprintf(begin, sizeof begin, "found %zu element", json_array_size(value));
    else
        (void)snprintf(begin, sizeof begin, "found %.*s", json_is_array(value) ? 1 : SURE,
                       shown); /* jansson writes numbers in other ways */
    if (json_is_number(value) && !field)
        ck_assert_msg(strtod(detail + 6, NULL) == json_number_value(value), "%s: %s", text, detail);
    else if (strcmp(problem->type, "bad-name") == 0 && !json_is_string(value))
        ck_assert_msg(strncmp(detail, "found \"", 7) == 0, "%s: %s", text, detail);
    else if (strcmp(problem->type, "too-long") == 0)
        ck_assert_msg(strncmp(detail, "found 1", 7) == 0, "%s: %s", text, detail);
    else
        ck_assert_msg(strncmp(detail, begin, strlen(begin)) == 0, "%s: %s", text, detail);
    free(shown);
    json_decref(document);
}

/* Checks the detail of a request that is refused, in both media. */
static inline void check_detail(int route, int dimensions, const char *text)
{
    for (int media = 0; media < 3; media++) {
        struct cbor_maker m = {0};
        struct obb_arena own;
        wire_problem problem;
        char *got;
        if (media > 0 && !maker_from_json(&m, text, strlen(text), media == 2))
            break;
        const wire_body body = media == 0 ? json(text)
                                          : (wire_body){.bytes = (const char *)m.bytes,
                                                        .length = m.length,
                                                        .media = WIRE_CBOR};
        obb_arena_init(&own);
        ck_assert(!dump_decode(route, &body, dimensions, &own, &got, &problem));
        check_sentence(problem.detail);
        ck_assert(obb_utf8_valid(obb_str_of(problem.detail)));
        if (problem.status == 400)
            ck_assert_msg(strstr(problem.detail, ", at byte ") != NULL, "%s", problem.detail);
        else if (strcmp(problem.type, "missing-field") == 0)
            ck_assert_msg(strstr(problem.detail, "\" is missing") != NULL, "%s", problem.detail);
        else if (media == 0)
            check_found(text, &problem);
        else
            ck_assert_msg(strncmp(problem.detail, "found ", 6) == 0, "%s", problem.detail);
        if (strcmp(problem.type, "unknown-field") == 0)
            ck_assert_msg(strstr(problem.detail, "; ") != NULL, "%s", problem.detail);
        free(got);
        free(m.bytes);
        obb_arena_fini(&own);
    }
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
        check_detail(route, dimensions, refusals[i].text);
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
    "{\"time\":1234.5,\"restart\":true,\"if_revision\":41,\"if_box\":{\"b\":40,\"n\":0},"         \
    "\"remove\":[\"crate-7\",\"x\\/y\"],"                                                         \
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
