#include "tests/support/cbor.h"

#include <cbor.h>
#include <stdint.h>
#include <string.h>

static _Thread_local size_t typed_arrays;

size_t cbor_typed_arrays(void) { return typed_arrays; }

static json_t *read_typed(uint64_t tag, const cbor_item_t *content)
{
    if (!cbor_isa_bytestring(content) || !cbor_bytestring_is_definite(content))
        return NULL;
    const unsigned char *bytes = cbor_bytestring_handle(content);
    const size_t length = cbor_bytestring_length(content), size = tag == 86 ? 8 : tag == 64 ? 1 : 4;
    if ((tag != 64 && tag != 70 && tag != 85 && tag != 86) || length % size != 0)
        return NULL;
    typed_arrays++;
    json_t *array = json_array();
    for (size_t i = 0; i < length; i += size) {
        uint64_t bits = 0;
        for (size_t byte = 0; byte < size; byte++)
            bits |= (uint64_t)bytes[i + byte] << (8 * byte);
        const uint32_t narrow = (uint32_t)bits;
        float single;
        double value;
        memcpy(&single, &narrow, sizeof single);
        memcpy(&value, &bits, sizeof value);
        (void)json_array_append_new(array, tag == 70 || tag == 64 ? json_integer((json_int_t)bits)
                                           : tag == 85            ? json_real((double)single)
                                                                  : json_real(value));
    }
    return array;
}

static json_t *convert(const cbor_item_t *item)
{
    switch (cbor_typeof(item)) {
    case CBOR_TYPE_UINT:
        if (cbor_get_int(item) > INT64_MAX)
            return json_real((double)cbor_get_int(item));
        return json_integer((json_int_t)cbor_get_int(item));
    case CBOR_TYPE_NEGINT:
        if (cbor_get_int(item) > INT64_MAX)
            return json_real(-1.0 - (double)cbor_get_int(item));
        return json_integer(-1 - (json_int_t)cbor_get_int(item));
    case CBOR_TYPE_STRING:
        if (!cbor_string_is_definite(item))
            return NULL;
        return json_stringn((const char *)cbor_string_handle(item), cbor_string_length(item));
    case CBOR_TYPE_ARRAY: {
        json_t *array = json_array();
        for (size_t i = 0; cbor_array_is_definite(item) && i < cbor_array_size(item); i++) {
            json_t *member = convert(cbor_array_handle(item)[i]);
            if (member == NULL || json_array_append_new(array, member) != 0) {
                json_decref(array);
                return NULL;
            }
        }
        return array;
    }
    case CBOR_TYPE_MAP: {
        json_t *object = json_object();
        for (size_t i = 0; cbor_map_is_definite(item) && i < cbor_map_size(item); i++) {
            const struct cbor_pair pair = cbor_map_handle(item)[i];
            json_t *value = convert(pair.value);
            char key[256] = "";
            const size_t length = cbor_isa_string(pair.key) ? cbor_string_length(pair.key) : 0;
            if (cbor_isa_string(pair.key) && length < sizeof key)
                memcpy(key, cbor_string_handle(pair.key), length);
            if (value == NULL || !cbor_isa_string(pair.key) || length >= sizeof key ||
                json_object_get(object, key) != NULL ||
                json_object_set_new(object, key, value) != 0) {
                json_decref(object);
                return NULL;
            }
        }
        return object;
    }
    case CBOR_TYPE_TAG: {
        cbor_item_t *content = cbor_tag_item(item);
        json_t *array = read_typed(cbor_tag_value(item), content);
        cbor_decref(&content);
        return array;
    }
    case CBOR_TYPE_FLOAT_CTRL:
        if (cbor_is_float(item)) /* the others may be asked about no float */
            return json_real(cbor_float_get_float(item));
        if (cbor_is_bool(item))
            return json_boolean(cbor_get_bool(item));
        return cbor_is_null(item) ? json_null() : NULL;
    case CBOR_TYPE_BYTESTRING:
        return NULL;
    }
    return NULL;
}

json_t *cbor_read(const void *bytes, size_t length)
{
    typed_arrays = 0;
    struct cbor_load_result result;
    cbor_item_t *item = cbor_load(bytes, length, &result);
    if (item == NULL)
        return NULL;
    json_t *value = result.read == length ? convert(item) : NULL;
    cbor_decref(&item);
    return value;
}

static cbor_item_t *item_of(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT: {
        cbor_item_t *map = cbor_new_definite_map(json_object_size(value));
        const char *key;
        json_t *member;
        json_object_foreach((json_t *)(uintptr_t)value, key, member)
        {
            (void)cbor_map_add(map, (struct cbor_pair){.key = cbor_move(cbor_build_string(key)),
                                                       .value = cbor_move(item_of(member))});
        }
        return map;
    }
    case JSON_ARRAY: {
        cbor_item_t *array = cbor_new_definite_array(json_array_size(value));
        for (size_t i = 0; i < json_array_size(value); i++)
            (void)cbor_array_push(array, cbor_move(item_of(json_array_get(value, i))));
        return array;
    }
    case JSON_STRING:
        return cbor_build_stringn(json_string_value(value), json_string_length(value));
    case JSON_INTEGER: {
        const json_int_t integer = json_integer_value(value);
        return integer >= 0 ? cbor_build_uint64((uint64_t)integer)
                            : cbor_build_negint64((uint64_t)(-1 - integer));
    }
    case JSON_REAL:
        return cbor_build_float8(json_real_value(value));
    case JSON_TRUE:
    case JSON_FALSE:
        return cbor_build_bool(json_is_true(value));
    case JSON_NULL:
        break;
    }
    return cbor_new_null();
}

char *cbor_written(const json_t *value, size_t *out_length)
{
    cbor_item_t *item = item_of(value);
    unsigned char *bytes = NULL;
    size_t room;
    *out_length = cbor_serialize_alloc(item, &bytes, &room);
    cbor_decref(&item);
    return (char *)bytes;
}
