#include "tests/proto/reply/yard.h"

static bool holds(const struct wire_buf *buf, const char *bytes, size_t length)
{
    for (size_t i = 0; i + length <= buf->length; i++)
        if (memcmp(buf->bytes + i, bytes, length) == 0)
            return true;
    return false;
}
#define HOLDS(buf, literal) holds(buf, literal, sizeof literal - 1)

/* A hit, a miss, and an item whose box is missing. Negative zeros are none in answers. */
static const obb_ref ghost = {.kind = OBB_REF_ID, .id = 9};
static obb_hit hit;
static obb_answer answers[3];
static obb_result result;

static void make_result(void)
{
    make();
    hit = (obb_hit){.box = b,
                    .distance = 1.5,
                    .fraction = 0.1,
                    .point = {1.0, -0.0, 3.0},
                    .normal = {-1.0, 0.0, -0.0}};
    answers[0] = (obb_answer){.hits = &hit, .hit_count = 1, .count = 1};
    answers[1] = (obb_answer){.count = 0};
    answers[2] = (obb_answer){.missing_count = 1, .missing = {&ghost}};
    result = (obb_result){.answers = answers, .answer_count = 3};
}

static void write_both(const obb_query *query, struct wire_buf *json, struct wire_buf *cbor)
{
    wire_write_result(json, WIRE_JSON, view, query, &result);
    wire_write_result(cbor, WIRE_CBOR, view, query, &result);
}

START_TEST(each_kind_has_its_columns)
{
    struct wire_buf json = {0}, cbor = {0};
    obb_query query = {.kind = OBB_QUERY_RAY, .dimensions = 3, .columns = true, .by_id = true};
    write_both(&query, &json, &cbor);
    ck_assert(HOLDS(&cbor, "eboxes\xd8\x46\x4c\x02\0\0\0\0\0\0\0\0\0\0\0"));
    ck_assert(HOLDS(&cbor, "idistances\xd8\x56\x58\x18\0\0\0\0\0\0\xf8\x3f"));
    check_reply("RayAnswer", &json, &cbor,
                HEAD "\"columns\":{\"boxes\":[2,0,0],\"distances\":[1.5,0,0],"
                     "\"points\":[1,0,3,0,0,0,0,0,0],\"normals\":[-1,0,0,0,0,0,0,0,0]}}");
    query.kind = OBB_QUERY_SWEEP;
    write_both(&query, &json, &cbor);
    check_reply("SweepAnswer", &json, &cbor,
                HEAD "\"columns\":{\"boxes\":[2,0,0],\"fractions\":[0.1,0,0],"
                     "\"points\":[1,0,3,0,0,0,0,0,0],\"normals\":[-1,0,0,0,0,0,0,0,0]}}");
    query.kind = OBB_QUERY_NEAREST;
    query.has_tag = true;
    query.tag = obb_str_of("t");
    write_both(&query, &json, &cbor);
    check_reply("NearestAnswer", &json, &cbor,
                HEAD "\"tag\":\"t\",\"columns\":{\"boxes\":[2,0,0],\"distances\":[1.5,0,0],"
                     "\"points\":[1,0,3,0,0,0,0,0,0]}}");
    query = (obb_query){.kind = OBB_QUERY_RAY, .dimensions = 2, .columns = true, .by_id = true};
    write_both(&query, &json, &cbor);
    check_reply("RayAnswer", &json, &cbor,
                HEAD "\"columns\":{\"boxes\":[2,0,0],\"distances\":[1.5,0,0],"
                     "\"points\":[1,0,0,0,0,0],\"normals\":[-1,0,0,0,0,0]}}");
    result.answer_count = 0;
    write_both(&query, &json, &cbor);
    check_reply("RayAnswer", &json, &cbor,
                HEAD "\"columns\":{\"boxes\":[],\"distances\":[],\"points\":[],\"normals\":[]}}");
}
END_TEST

START_TEST(narrow_columns_are_float32_in_cbor_alone)
{
    struct wire_buf json = {0}, cbor = {0};
    const obb_query query = {
        .kind = OBB_QUERY_SWEEP, .dimensions = 3, .columns = true, .by_id = true, .narrow = true};
    write_both(&query, &json, &cbor);
    /* 0.1 as float32 is 3dcccccd */
    ck_assert(HOLDS(&cbor, "ifractions\xd8\x55\x4c\xcd\xcc\xcc\x3d\0\0\0\0\0\0\0\0"));
    ck_assert(HOLDS(&cbor, "fpoints\xd8\x55\x58\x24\0\0\x80\x3f\0\0\0\0\0\0\x40\x40"));
    ck_assert(HOLDS(&cbor, "gnormals\xd8\x55\x58\x24\0\0\x80\xbf"));
    ck_assert(holds(&json, "\"fractions\":[0.1,0,0]", 21));
    wire_buf_fini(&json);
    wire_buf_fini(&cbor);
}
END_TEST

START_TEST(rays_with_times_say_when_they_were_judged)
{
    struct wire_buf json = {0}, cbor = {0};
    struct obb_view *clamped;
    const obb_at late = {.kind = OBB_AT_TIME, .time = 2000.0, .clamp = true};
    ck_assert_int_eq(obb_view_open(scene, &late, &clamped, NULL, NULL), OBB_OK);
    const struct obb_view *const views[] = {view, clamped, view};
    static const double times[] = {1000.5, 2000.0, 1000.5};
    static const obb_ray rays[3] = {{.max_distance = 15.0}};
    obb_query query = {.kind = OBB_QUERY_RAY,
                       .dimensions = 3,
                       .count = 3,
                       .items = {.rays = rays},
                       .columns = true,
                       .by_id = true,
                       .narrow = true,
                       .times = times};
    result.views = views;
    write_both(&query, &json, &cbor);
    /* times stay float64, clamped is of bytes */
    ck_assert(HOLDS(&cbor, "etimes\xd8\x56\x58\x18\0\0\0\0\0\x44\x8f\x40"));
    ck_assert(HOLDS(&cbor, "irevisions\xd8\x46\x4c\x01\0\0\0\x01\0\0\0\x01\0\0\0"));
    ck_assert(HOLDS(&cbor, "gclamped\xd8\x40\x43\0\x01\0"));
    check_reply("RayAnswer", &json, &cbor,
                HEAD
                "\"columns\":{\"boxes\":[2,0,0],\"distances\":[1.5,0,0],"
                "\"points\":[1,0,3,0,0,0,0,0,0],\"normals\":[-1,0,0,0,0,0,0,0,0],"
                "\"times\":[1000.5,1000.5,1000.5],\"revisions\":[1,1,1],\"clamped\":[0,1,0]}}");
    query.columns = query.narrow = false;
    query.count = result.answer_count = 2;
    write_both(&query, &json, &cbor);
    check_reply("RayAnswer", &json, &cbor,
                HEAD "\"results\":[{\"at\":{\"revision\":1,\"time\":1000.5,\"clamped\":false},"
                     "\"hits\":[{\"box\":2,\"distance\":1.5,\"fraction\":0.1,\"point\":[1,0,3],"
                     "\"normal\":[-1,0,0]}]},"
                     "{\"at\":{\"revision\":1,\"time\":1000.5,\"clamped\":true},\"hits\":[]}]}");
    obb_view_close(clamped);
}
END_TEST

/* Longer than a block of rows. */
START_TEST(long_columns_are_written_whole)
{
    enum { ROWS = 1000 };
    static obb_answer many[ROWS];
    static obb_hit hits[ROWS];
    for (size_t i = 0; i < ROWS; i++) {
        hits[i] =
            (obb_hit){.box = i % 2 == 0 ? a : c, .distance = (double)i, .point = {(double)i, 0, 1}};
        many[i] = (obb_answer){.hits = &hits[i], .hit_count = i % 3 != 0, .count = 1};
    }
    result = (obb_result){.answers = many, .answer_count = ROWS};
    const obb_query query = {
        .kind = OBB_QUERY_NEAREST, .dimensions = 3, .columns = true, .by_id = true};
    struct wire_buf json = {0}, cbor = {0}, expected = {0};
    char number[64];
    wire_buf_append(&expected, HEAD "\"columns\":{\"boxes\":[", strlen(HEAD) + 20);
    for (int column = 0; column < 3; column++) {
        static const char *const keys[] = {"", "],\"distances\":[", "],\"points\":["};
        wire_buf_append(&expected, keys[column], strlen(keys[column]));
        for (size_t i = 0; i < ROWS; i++) {
            const size_t n = many[i].hit_count;
            const int length =
                column == 0   ? snprintf(number, sizeof number, ",%zu", n * (i % 2 == 0 ? 1 : 3))
                : column == 1 ? snprintf(number, sizeof number, ",%zu", n * i)
                              : snprintf(number, sizeof number, ",%zu,0,%zu", n * i, n);
            wire_buf_append(&expected, number + (i == 0), (size_t)length - (i == 0));
        }
    }
    wire_buf_append(&expected, "]}}", 4);
    write_both(&query, &json, &cbor);
    check_reply("NearestAnswer", &json, &cbor, expected.bytes);
    wire_buf_fini(&expected);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("reply_columns");
    TCase *tc = tcase_create("reply_columns");
    tcase_add_checked_fixture(tc, make_result, discard);
    tcase_add_test(tc, each_kind_has_its_columns);
    tcase_add_test(tc, narrow_columns_are_float32_in_cbor_alone);
    tcase_add_test(tc, rays_with_times_say_when_they_were_judged);
    tcase_add_test(tc, long_columns_are_written_whole);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
