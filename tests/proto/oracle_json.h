/* jansson as the oracle of our JSON: the same verdict and the same values on every input. Used by
 * tests and fuzzers. */
#ifndef TEST_PROTO_ORACLE_JSON_H
#define TEST_PROTO_ORACLE_JSON_H

#include "proto/codec/cursor.h"
#include "proto/codec/walk.h"

#include <jansson.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

/* Walks our cursor beside jansson's tree. An empty string when they agree, else what differs. */
static inline const char *oracle_compare(struct wire_cursor *c, json_t *expected)
{
    double number = 0.0, wanted = 0.0;
    bool truth = false;
    obb_str text = {0};
    const char *difference = "";
    switch (json_typeof(expected)) {
    case JSON_NULL:
        return wire_peek(c) == WIRE_KIND_NULL && wire_read_null(c) ? "" : "null";
    case JSON_TRUE:
    case JSON_FALSE:
        return wire_peek(c) == WIRE_KIND_BOOL && wire_read_bool(c, &truth) &&
                       truth == json_is_true(expected)
                   ? ""
                   : "truth";
    case JSON_INTEGER: /* the documents are read with integers as reals */
    case JSON_REAL:
        wanted = json_number_value(expected);
        return wire_peek(c) == WIRE_KIND_NUMBER && wire_read_number(c, &number) &&
                       number == wanted && signbit(number) == signbit(wanted)
                   ? ""
                   : "number";
    case JSON_STRING:
        return wire_peek(c) == WIRE_KIND_STRING && wire_read_string(c, &text) &&
                       text.length == json_string_length(expected) &&
                       (text.length == 0 ||
                        memcmp(text.bytes, json_string_value(expected), text.length) == 0)
                   ? ""
                   : "string";
    case JSON_ARRAY: {
        size_t count = 0;
        if (wire_peek(c) != WIRE_KIND_ARRAY || !wire_enter_array(c))
            return "array";
        for (; *difference == '\0' && wire_next_item(c); count++) {
            json_t *item = json_array_get(expected, count);
            difference = item == NULL ? "items" : oracle_compare(c, item);
        }
        return *difference != '\0' || (!c->failed && count == json_array_size(expected))
                   ? difference
                   : "number of items";
    }
    case JSON_OBJECT: {
        /* jansson keeps the order of keys */
        void *iter = json_object_iter(expected);
        if (wire_peek(c) != WIRE_KIND_OBJECT || !wire_enter_object(c))
            return "object";
        while (*difference == '\0' && wire_next_key(c, &text)) {
            if (iter == NULL || text.length != json_object_iter_key_len(iter) ||
                (text.length != 0 &&
                 memcmp(text.bytes, json_object_iter_key(iter), text.length) != 0))
                return "key";
            difference = oracle_compare(c, json_object_iter_value(iter));
            iter = json_object_iter_next(expected, iter);
        }
        return *difference != '\0' || (!c->failed && iter == NULL) ? difference : "number of keys";
    }
    }
    return "type";
}

/* Whether a value is too deep as we count levels, of a text that both take for JSON; jansson bounds
 * them elsewhere. It lies in `depth` containers, of which there may be `most`. */
static inline bool oracle_too_deep(json_t *value, unsigned depth, unsigned most)
{
    size_t index;
    const char *key;
    json_t *item;
    if ((json_is_array(value) || json_is_object(value)) && ++depth > most)
        return true;
    if (json_is_array(value))
        json_array_foreach(value, index, item)
        {
            if (oracle_too_deep(item, depth, most))
                return true;
        }
    if (json_is_object(value))
        json_object_foreach(value, key, item)
        {
            const bool data = strcmp(key, "data") == 0 && depth + WIRE_DEPTH > most;
            const unsigned own = depth < WIRE_DEPTH ? depth + WIRE_DEPTH : WIRE_LEVELS;
            if (oracle_too_deep(item, depth, data ? own : most))
                return true;
        }
    return false;
}

typedef enum oracle_verdict { ORACLE_TAKEN, ORACLE_OUT_OF_RANGE, ORACLE_REFUSED } oracle_verdict;

/* What we make of the bytes: taken, refused as malformed, or well-formed with a number out of
 * range. Writes an empty string, or what jansson thinks otherwise. */
static inline oracle_verdict oracle_json(const char *bytes, size_t length,
                                         const char **out_difference)
{
    struct obb_arena arena;
    obb_arena_init(&arena);
    struct wire_cursor c;
    wire_json_open(&c, bytes, length, &arena);
    const bool ours = wire_skip(&c) && wire_finish(&c);

    json_error_t error;
    json_t *theirs = json_loadb(bytes, length,
                                JSON_REJECT_DUPLICATES | JSON_DECODE_ANY | JSON_DECODE_INT_AS_REAL |
                                    JSON_ALLOW_NUL,
                                &error);
    const bool overflow = theirs == NULL && json_error_code(&error) == json_error_numeric_overflow;
    oracle_verdict verdict = ours ? ORACLE_TAKEN : ORACLE_REFUSED;
    *out_difference = "";
    if (length > 0 && memchr(bytes, '\0', length) != NULL) {
        if (ours) /* jansson 2.14 loses a zero byte behind a number, and so takes it */
            *out_difference = "a zero byte, yet taken";
    } else if (theirs != NULL && oracle_too_deep(theirs, 0, WIRE_DEPTH)) {
        if (ours)
            *out_difference = "too deep, yet taken";
    } else if (theirs != NULL) {
        if (!ours) {
            *out_difference = "jansson takes what we refuse";
        } else {
            wire_json_open(&c, bytes, length, &arena);
            *out_difference = oracle_compare(&c, theirs);
        }
    } else if (overflow) {
        /* jansson stops there; what follows may be malformed or not */
        verdict = ours ? ORACLE_OUT_OF_RANGE : ORACLE_REFUSED;
    } else if (ours &&
               json_error_code(&error) != json_error_null_byte_in_key) { /* JSON has those */
        *out_difference = "jansson refuses what we take";
    }
    json_decref(theirs);
    obb_arena_fini(&arena);
    return verdict;
}

#endif
