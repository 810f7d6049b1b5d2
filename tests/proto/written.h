/* Reading back what the writers wrote, and holding it against what was expected. */
#ifndef TEST_PROTO_WRITTEN_H
#define TEST_PROTO_WRITTEN_H

#include "proto/base/buf.h"
#include "tests/support/cbor.h"
#include "tests/support/schema.h"
#include "tests/support/test.h"

#include <string.h>

static inline json_t *read_json(struct wire_buf *buf)
{
    ck_assert(!buf->failed);
    json_error_t error;
    json_t *value = json_loadb(buf->bytes, buf->length,
                               JSON_DECODE_ANY | JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
    ck_assert_msg(value != NULL, "%s: %.*s", error.text, (int)buf->length, buf->bytes);
    return value;
}

/* Equal by value: 1 and 1.0 are. */
static inline bool same(json_t *one, json_t *other)
{
    const char *key;
    json_t *member;
    size_t i;
    if (json_is_number(one) && json_is_number(other))
        return json_number_value(one) == json_number_value(other);
    if (json_is_array(one)) {
        if (!json_is_array(other) || json_array_size(one) != json_array_size(other))
            return false;
        json_array_foreach(one, i,
                           member) if (!same(member, json_array_get(other, i))) return false;
        return true;
    }
    if (json_is_object(one)) {
        if (!json_is_object(other) || json_object_size(one) != json_object_size(other))
            return false;
        json_object_foreach(one, key,
                            member) if (!same(member, json_object_get(other, key))) return false;
        return true;
    }
    return json_equal(one, other) != 0;
}

/* The JSON is valid and, if `expected` is given, equal to it byte for byte; it fits the schema
 * of that name, if one is given; and the CBOR, if there is any, says the same. Empties both
 * buffers. */
static inline void check_written(struct schema *schema, const char *schema_name,
                                 struct wire_buf *json, struct wire_buf *cbor, const char *expected)
{
    json_t *value = read_json(json);
    if (expected != NULL)
        ck_assert_msg(json->length == strlen(expected) &&
                          memcmp(json->bytes, expected, json->length) == 0,
                      "wrote\n%.*s\ninstead of\n%s", (int)json->length, json->bytes, expected);
    if (schema_name != NULL) {
        const char *fault = schema_check_value(schema, schema_name, value, true);
        ck_assert_msg(fault == NULL, "%s: %.*s", fault, (int)json->length, json->bytes);
    }
    if (cbor != NULL) {
        ck_assert(!cbor->failed);
        json_t *other = cbor_read(cbor->bytes, cbor->length);
        ck_assert_ptr_nonnull(other);
        char *text = json_dumps(other, JSON_ENCODE_ANY);
        ck_assert_msg(same(value, other), "CBOR says %s", text);
        free(text);
        json_decref(other);
        wire_buf_fini(cbor);
    }
    json_decref(value);
    wire_buf_fini(json);
}

#endif
