#include "proto/codec/out.h"
#include "tests/proto/written.h"

#include <stdio.h>

START_TEST(strings_of_every_length_and_content_read_back)
{
    test_rng rng = {.s = 11};
    size_t escaped = 0, plain = 0;
    for (size_t i = 0; i < test_effort(20000); i++) {
        char text[64];
        const size_t length = test_below(&rng, 40), kind = test_below(&rng, 4);
        for (size_t j = 0; j < length; j++) {
            text[j] = (char)('a' + test_below(&rng, 26));
            if (kind == 0)
                text[j] = (char)test_below(&rng, 128);
            if (kind == 1 && j == i % 40)
                text[j] = "\"\\\n\x01\x1f\x7f\x1b/"[test_below(&rng, 8)];
        }
        size_t size = length;
        if (kind == 2 && length >= 2) { /* two bytes at the end: bits 7 set */
            text[size - 2] = (char)0xc3;
            text[size - 1] = (char)(0x80 + test_below(&rng, 64));
        }
        const obb_str given = {text, size};
        struct wire_buf json = {0}, cbor = {0};
        struct wire_out to_json = wire_out_json(&json), to_cbor = wire_out_cbor(&cbor);
        wire_out_string(&to_json, given);
        wire_out_string(&to_cbor, given);
        json_t *value = read_json(&json);
        ck_assert_uint_eq(json_string_length(value), size);
        ck_assert_int_eq(memcmp(json_string_value(value), text, size), 0);
        escaped += json.length > size + 2;
        plain += json.length == size + 2;
        json_decref(value);
        value = cbor_read(cbor.bytes, cbor.length);
        ck_assert_uint_eq(json_string_length(value), size);
        ck_assert_int_eq(memcmp(json_string_value(value), text, size), 0);
        json_decref(value);
        wire_buf_fini(&json);
        wire_buf_fini(&cbor);

        /* two at once must be the same as one after the other */
        struct wire_buf two = {0}, pair = {0};
        struct wire_out out_two = wire_out_json(&two), out_pair = wire_out_json(&pair);
        const obb_str half = {text, size / 2};
        wire_out_array(&out_two, 2);
        wire_out_string(&out_two, given);
        wire_out_string(&out_two, half);
        wire_out_array_end(&out_two);
        wire_out_strings(&out_pair, given, half);
        ck_assert_uint_eq(two.length, pair.length);
        ck_assert_int_eq(memcmp(two.bytes, pair.bytes, two.length), 0);
        wire_buf_fini(&two);
        wire_buf_fini(&pair);
    }
    ck_assert_uint_gt(escaped, test_effort(20000) / 10);
    ck_assert_uint_gt(plain, test_effort(20000) / 4);
}
END_TEST

/* Any JSON value of up to `depth` levels. */
static json_t *random_value(test_rng *rng, int depth)
{
    static const char *const texts[] = {"", "x", "\"\\/\b\f\n\r\t\x01",
                                        "\xe2\x98\x83\xf0\x9f\x98\x80",
                                        "a string of more than twenty-three bytes"};
    switch (test_below(rng, depth > 0 ? 9 : 6)) {
    case 0:
        return json_null();
    case 1:
        return json_boolean(test_below(rng, 2));
    case 2:
        return json_integer((json_int_t)(test_random(rng) >> (1 + test_below(rng, 63))));
    case 3:
        return json_integer(-(json_int_t)(test_random(rng) >> (1 + test_below(rng, 63))));
    case 4:
        return json_real(test_uniform(rng, -1e6, 1e6));
    case 5:
        return json_string(texts[test_below(rng, 5)]);
    case 6:
    case 7: {
        json_t *array = json_array();
        for (size_t i = test_below(rng, 30); i > 0; i--)
            (void)json_array_append_new(array, random_value(rng, depth - 1));
        return array;
    }
    default: {
        json_t *object = json_object();
        for (size_t i = test_below(rng, 30); i > 0; i--) {
            char key[32];
            (void)snprintf(key, sizeof key, "\"%zu\\ \xc3\xa9", i);
            (void)json_object_set_new(object, key, random_value(rng, depth - 1));
        }
        return object;
    }
    }
}

START_TEST(json_text_becomes_the_same_value_in_cbor)
{
    test_rng rng = {.s = 12};
    size_t containers = 0, looked_at = 0;
    for (size_t i = 0; i < test_effort(2000); i++) {
        json_t *value = random_value(&rng, 3);
        /* escapes in two spellings */
        char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(17) |
                                           (i % 2 ? JSON_ENSURE_ASCII : 0));
        struct wire_buf cbor = {0};
        struct wire_out out = wire_out_cbor(&cbor);
        wire_out_data(&out, obb_str_of(text));
        ck_assert(!cbor.failed);
        json_t *back = cbor_read(cbor.bytes, cbor.length);
        ck_assert_msg(back != NULL && json_equal(value, back), "%s", text);
        containers += json_is_array(value) || json_is_object(value);
        looked_at++;
        free(text);
        json_decref(value);
        json_decref(back);
        wire_buf_fini(&cbor);
    }
    ck_assert_uint_gt(containers, looked_at / 5);

    static const struct {
        const char *json, *cbor;
        size_t length;
    } known[] = {{"0", "\x00", 1},
                 {"-1", "\x20", 1},
                 {"18446744073709551615", "\x1b\xff\xff\xff\xff\xff\xff\xff\xff", 9},
                 {"-9223372036854775808", "\x3b\x7f\xff\xff\xff\xff\xff\xff\xff", 9},
                 {"18446744073709551616", "\xc2\x49\x01\0\0\0\0\0\0\0\0", 11},
                 {"1.0", "\xfb\x3f\xf0\0\0\0\0\0\0", 9},
                 {"1e0", "\xfb\x3f\xf0\0\0\0\0\0\0", 9},
                 {"-0.0", "\xfb\x80\0\0\0\0\0\0\0", 9},
                 {"-0", "\xfb\x80\0\0\0\0\0\0\0", 9},
                 {"\"\\u0000\"", "\x61\x00", 2},
                 {"\"\\ud83d\\ude00\"", "\x64\xf0\x9f\x98\x80", 5},
                 {"[]", "\x80", 1},
                 {"{}", "\xa0", 1},
                 {"[{},[],\"]\\\"[\"]", "\x83\xa0\x80\x63]\"[", 7}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        struct wire_buf cbor = {0};
        struct wire_out out = wire_out_cbor(&cbor);
        wire_out_data(&out, obb_str_of(known[i].json));
        ck_assert_msg(cbor.length == known[i].length &&
                          memcmp(cbor.bytes, known[i].cbor, cbor.length) == 0,
                      "%s", known[i].json);
        wire_buf_fini(&cbor);
    }
}
END_TEST

/* One byte of a head counts 23 members: up to there, and at each further length. */
START_TEST(heads_count_any_number_of_members)
{
    static const struct {
        size_t members, length; /* of the head */
        const char *array, *map;
    } heads[] = {{22, 1, "\x96", "\xb6"},
                 {23, 1, "\x97", "\xb7"},
                 {24, 2, "\x98\x18", "\xb8\x18"},
                 {255, 2, "\x98\xff", "\xb8\xff"},
                 {256, 3, "\x99\x01\0", "\xb9\x01\0"},
                 {65536, 5, "\x9a\0\x01\0\0", "\xba\0\x01\0\0"}};
    for (size_t i = 0; i < sizeof heads / sizeof heads[0]; i++)
        for (int shape = 0; shape < 3; shape++) { /* array in data, map in data, object */
            struct wire_buf text = {0}, cbor = {0};
            struct wire_out json = wire_out_json(&text), out = wire_out_cbor(&cbor);
            struct wire_out *const to = shape < 2 ? &json : &out;
            wire_out_scope object = {0};
            if (shape == 0)
                wire_out_array(to, heads[i].members);
            else
                object = wire_out_object(to);
            for (size_t k = 0; k < heads[i].members; k++) {
                char key[24];
                (void)snprintf(key, sizeof key, "%zu", k);
                if (shape > 0)
                    wire_out_key(to, key);
                if (k + 1 == heads[i].members) { /* the last one has members of its own */
                    const wire_out_scope last = wire_out_object(to);
                    wire_out_object_end(to, last);
                } else {
                    wire_out_integer(to, k);
                }
            }
            if (shape == 0)
                wire_out_array_end(to);
            else
                wire_out_object_end(to, object);
            if (shape < 2)
                wire_out_data(&out, (obb_str){text.bytes, text.length});
            ck_assert(!cbor.failed);
            ck_assert_mem_eq(cbor.bytes, shape == 0 ? heads[i].array : heads[i].map,
                             heads[i].length);
            json_t *value = cbor_read(cbor.bytes, cbor.length);
            ck_assert_ptr_nonnull(value);
            ck_assert_uint_eq(shape == 0 ? json_array_size(value) : json_object_size(value),
                              heads[i].members);
            json_decref(value);
            wire_buf_fini(&text);
            wire_buf_fini(&cbor);
        }
}
END_TEST

START_TEST(levels_of_one_member_have_heads_of_one_byte)
{
    enum { LEVELS = 60, REST = 900 };
    char text[2 * LEVELS + REST + 3];
    struct wire_buf cbor = {0};
    struct wire_out out = wire_out_cbor(&cbor);
    memset(text, '[', LEVELS);
    memset(text + LEVELS, 'x', REST + 2);
    text[LEVELS] = text[LEVELS + REST + 1] = '"';
    memset(text + LEVELS + REST + 2, ']', LEVELS);
    wire_out_data(&out, (obb_str){text, 2 * LEVELS + REST + 2});
    ck_assert_uint_eq(cbor.length, LEVELS + 3 + REST);
    for (size_t i = 0; i < LEVELS; i++)
        ck_assert_uint_eq((unsigned char)cbor.bytes[i], 0x81);
    wire_buf_fini(&cbor);
}
END_TEST

START_TEST(numbers_and_lists_of_ids_come_out_in_both_media)
{
    struct wire_buf json = {0}, cbor = {0};
    for (int media = 0; media < 2; media++) {
        struct wire_out out = media == 0 ? wire_out_json(&json) : wire_out_cbor(&cbor);
        wire_out_map(&out, 9);
        wire_out_name_key(&out, obb_str_of("numbers"));
        wire_out_doubles(&out, (const double[3]){1.0, -0.5, 1e300}, 3);
        wire_out_name_key(&out, obb_str_of("none"));
        wire_out_doubles(&out, NULL, 0);
        wire_out_name_key(&out, obb_str_of("small ids"));
        wire_out_ids(&out, 2, UINT32_MAX);
        wire_out_ids_part(&out, (const uint64_t[]){1, UINT32_MAX}, 2);
        wire_out_ids_end(&out);
        wire_out_name_key(&out, obb_str_of("large ids"));
        wire_out_ids(&out, 2, UINT64_C(1) << 32);
        wire_out_id(&out, 1);
        wire_out_ids_part(&out, (const uint64_t[]){UINT64_C(1) << 32}, 1);
        wire_out_ids_end(&out);
        wire_out_name_key(&out, obb_str_of("small pairs"));
        wire_out_ids(&out, 4, UINT32_MAX);
        wire_out_id_pairs(&out, 3, (const uint64_t[]){0, UINT64_C(0x7fffffff) << 32 | 0xfffffffc},
                          2);
        wire_out_ids_end(&out);
        wire_out_name_key(&out, obb_str_of("large pairs"));
        wire_out_ids(&out, 2, UINT64_C(2) << 32);
        wire_out_id_pairs(&out, UINT64_C(1) << 32, (const uint64_t[]){UINT64_C(1) << 32 | 7}, 1);
        wire_out_ids_end(&out);
        wire_out_name_key(&out, obb_str_of("signed"));
        wire_out_signed(&out, INT32_MIN);
        wire_out_name_key(&out, obb_str_of("true"));
        wire_out_bool(&out, true);
        wire_out_name_key(&out, obb_str_of("\""));
        wire_out_null(&out);
        wire_out_map_end(&out);
    }
    json_t *value = cbor_read(cbor.bytes, cbor.length);
    ck_assert_uint_eq(cbor_typed_arrays(), 4);
    json_decref(value);
    check_written(NULL, NULL, &json, &cbor,
                  "{\"numbers\":[1,-0.5,1e300],\"none\":[],\"small ids\":[1,4294967295],"
                  "\"large ids\":[1,4294967296],\"small pairs\":[3,3,2147483650,4294967295],"
                  "\"large pairs\":[4294967297,4294967303],\"signed\":-2147483648,\"true\":true,"
                  "\"\\\"\":null}");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("out");
    TCase *tc = tcase_create("out");
    tcase_set_timeout(tc, test_patience(30));
    tcase_add_test(tc, strings_of_every_length_and_content_read_back);
    tcase_add_test(tc, json_text_becomes_the_same_value_in_cbor);
    tcase_add_test(tc, heads_count_any_number_of_members);
    tcase_add_test(tc, levels_of_one_member_have_heads_of_one_byte);
    tcase_add_test(tc, numbers_and_lists_of_ids_come_out_in_both_media);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
