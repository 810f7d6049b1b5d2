#include "tests/proto/request/requests.h"

enum { RAY = DUMP_QUERY + OBB_QUERY_RAY };

START_TEST(rays_in_columns_are_rays_one_by_one)
{
    check_same(RAY, 3,
               "{\"rays\":{\"origins\":[1,2,3,4,5,6],\"directions\":[0,0,2,-1,0.5,0],"
               "\"max_distances\":[7,0]}}",
               "{\"rays\":[{\"origin\":[1,2,3],\"direction\":[0,0,2],\"max_distance\":7},"
               "{\"origin\":[4,5,6],\"direction\":[-1,0.5,0],\"max_distance\":0}]}");
    check_same(RAY, 3,
               "{\"rays\":{\"max_distances\":1e9,\"directions\":[0,0,2,-1,0.5,0],\"origins\":"
               "[1,2,3,4,5,6]}}",
               "{\"rays\":[{\"origin\":[1,2,3],\"direction\":[0,0,2],\"max_distance\":1e9},"
               "{\"origin\":[4,5,6],\"direction\":[-1,0.5,0],\"max_distance\":1e9}]}");
    check_same(RAY, 3, "{\"rays\":{\"origins\":[1,2,3],\"directions\":[0,0,1e-300]}}",
               "{\"rays\":[{\"origin\":[1,2,3],\"direction\":[0,0,1e-300]}]}");
    check_same(
        RAY, 3, "{\"rays\":{\"origins\":[1,2,3,0,0,0],\"targets\":[1,2,9.25,-1,0,0]}}",
        "{\"rays\":[{\"from\":[1,2,3],\"to\":[1,2,9.25]},{\"from\":[0,0,0],\"to\":[-1,0,0]}]}");
    check_same(RAY, 2, "{\"rays\":{\"origins\":[1,2,3,4],\"directions\":[1,0,0,1]}}",
               "{\"rays\":[{\"origin\":[1,2],\"direction\":[1,0]},{\"origin\":[3,4],\"direction\":"
               "[0,1]}]}");
    check_same(RAY, 3, "{\"rays\":{\"origins\":[],\"directions\":[]}}", "{\"rays\":[]}");
    check_same(RAY, 3, "{\"rays\":{\"origins\":[],\"targets\":[]}}", "{\"rays\":[]}");
}
END_TEST

START_TEST(times_are_one_for_each_ray)
{
    static const char text[] = "{\"rays\":{\"origins\":[1,2,3,4,5,6],\"directions\":[0,0,1,0,1,0],"
                               "\"times\":[-2.5,9007199254740992]},\"at\":{\"clamp\":true}}";
    const obb_query q = query_of(OBB_QUERY_RAY, text, 3);
    ck_assert_uint_eq(q.count, 2);
    ck_assert(q.times[0] == -2.5 && q.times[1] == 9007199254740992.0);
    ck_assert(!q.has_at && q.at.clamp && !q.at.no_interpolation && q.at.kind == OBB_AT_TIME);
    ck_assert_uint_eq(obb_query_views(&q), 2);
    const obb_needed_moment moments = obb_query_moments(&q);
    ck_assert(obb_needed_count(&moments) == 2 && moments.dimensions == 3);
    const obb_at at = obb_needed_at(&moments, 1);
    ck_assert(at.kind == OBB_AT_TIME && at.time == q.times[1] && at.clamp);
    /* `at` before the rays, and empty */
    check_same(RAY, 3,
               "{\"at\":{},\"rays\":{\"times\":[1],\"origins\":[1,2,3],\"targets\":[0,0,0]}}",
               "{\"rays\":{\"origins\":[1,2,3],\"targets\":[0,0,0],\"times\":[1]}}");
    const obb_query none =
        query_of(OBB_QUERY_RAY, "{\"rays\":{\"origins\":[],\"targets\":[],\"times\":[]}}", 3);
    ck_assert(none.count == 0 && none.times != NULL && obb_query_views(&none) == 1);
    const obb_needed_moment now = obb_query_moments(&none);
    ck_assert(now.at.kind == OBB_AT_NOW && obb_needed_count(&now) == 1);
    const obb_query untimed =
        query_of(OBB_QUERY_RAY, "{\"rays\":{\"origins\":[1,2,3],\"targets\":[0,0,0]}}", 3);
    ck_assert(untimed.times == NULL && obb_query_views(&untimed) == 1);
}
END_TEST

#define TWO        "\"origins\":[1,2,3,4,5,6]"
#define DIRECTIONS "\"directions\":[0,0,1,0,1,0]"

START_TEST(columns_that_are_wrong_are_refused_at_the_first_fault)
{
    static const struct refusal refusals[] = {
        {"{\"rays\":{}}", 422, "/rays"},
        {"{\"rays\":{" TWO "}}", 422, "/rays"},
        {"{\"rays\":{" DIRECTIONS "}}", 422, "/rays"},
        {"{\"rays\":{" TWO "," DIRECTIONS ",\"targets\":[0,0,0,0,0,0]}}", 422, "/rays/targets"},
        {"{\"rays\":{\"targets\":[0,0,0,0,0,0]," TWO "," DIRECTIONS "}}", 422, "/rays/directions"},
        {"{\"rays\":{" TWO ",\"targets\":[0,0,0,0,0,0],\"max_distances\":5}}", 422,
         "/rays/max_distances"},
        {"{\"rays\":{" TWO ",\"max_distances\":5,\"targets\":[0,0,0,0,0,0]}}", 422,
         "/rays/targets"},
        {"{\"rays\":{" TWO "," DIRECTIONS ",\"origin\":[1,2,3]}}", 422, "/rays/origin"},
        {"{\"rays\":{" TWO "," DIRECTIONS ",\"from\":[1,2,3]}}", 422, "/rays/from"},
        /* lengths: origins say how many, and are wrong themselves when they are no multiple */
        {"{\"rays\":{\"origins\":[1,2,3,4]," DIRECTIONS "}}", 422, "/rays/origins"},
        {"{\"rays\":{\"origins\":[1,2]," DIRECTIONS "}}", 422, "/rays/origins"},
        {"{\"rays\":{" TWO ",\"directions\":[0,0,1]}}", 422, "/rays/directions"},
        {"{\"rays\":{" TWO ",\"directions\":[0,0,1,0,1]}}", 422, "/rays/directions"},
        {"{\"rays\":{" TWO ",\"targets\":[0,0,1,0,1,0,1,1,1]}}", 422, "/rays/targets"},
        {"{\"rays\":{\"origins\":[],\"directions\":[],\"max_distances\":-1}}", 422,
         "/rays/max_distances"},
        {"{\"rays\":{" TWO "," DIRECTIONS ",\"max_distances\":[1]}}", 422, "/rays/max_distances"},
        {"{\"rays\":{" TWO "," DIRECTIONS ",\"max_distances\":[]}}", 422, "/rays/max_distances"},
        {"{\"rays\":{" TWO "," DIRECTIONS ",\"max_distances\":null}}", 422, "/rays/max_distances"},
        {"{\"rays\":{" TWO "," DIRECTIONS ",\"times\":[1,2,3]}}", 422, "/rays/times"},
        {"{\"rays\":{" TWO "," DIRECTIONS ",\"times\":[]}}", 422, "/rays/times"},
        {"{\"rays\":{" TWO "," DIRECTIONS ",\"times\":1}}", 422, "/rays/times"},
        {"{\"rays\":{\"origins\":[]," DIRECTIONS "}}", 422, "/rays/directions"},
        {"{\"rays\":{\"origins\":7," DIRECTIONS "}}", 422, "/rays/origins"},
        {"{\"rays\":7}", 422, "/rays"},
        /* rows, in their order */
        {"{\"rays\":{\"origins\":[1,2,3,4,-2e9,6]," DIRECTIONS "}}", 422, "/rays/origins/4"},
        {"{\"rays\":{\"origins\":[1,2,3,4,\"5\",6]," DIRECTIONS "}}", 422, "/rays/origins/4"},
        {"{\"rays\":{" TWO ",\"directions\":[0,0,1,0,0,0]}}", 422, "/rays/directions/3"},
        {"{\"rays\":{" TWO ",\"directions\":[0,0,1,0,0,1e309]}}", 422, "/rays/directions/5"},
        {"{\"rays\":{" TWO ",\"targets\":[0,0,1,4,5,6]}}", 422, "/rays/targets/3"},
        {"{\"rays\":{" TWO ",\"targets\":[0,0,1,4,5,1e10]}}", 422, "/rays/targets/5"},
        {"{\"rays\":{" TWO "," DIRECTIONS ",\"max_distances\":[1,-1]}}", 422,
         "/rays/max_distances/1"},
        {"{\"rays\":{" TWO "," DIRECTIONS ",\"max_distances\":-1}}", 422, "/rays/max_distances"},
        {"{\"rays\":{" TWO "," DIRECTIONS ",\"max_distances\":2e9}}", 422, "/rays/max_distances"},
        {"{\"rays\":{" TWO "," DIRECTIONS ",\"times\":[1,1e16]}}", 422, "/rays/times/1"},
        {"{\"rays\":{" TWO "," DIRECTIONS ",\"times\":[1,null]}}", 422, "/rays/times/1"},
        {"{\"rays\":{\"origins\":[1,2,3,4,5,null],\"directions\":[0,0,1,0,0,1],\"times\":[1e16,1]}"
         "}",
         422, "/rays/times/0"},
        /* `at` beside times */
        {"{\"rays\":{" TWO "," DIRECTIONS ",\"times\":[1,2]},\"at\":{\"time\":1}}", 422,
         "/at/time"},
        {"{\"at\":{\"clamp\":true,\"ago\":1},\"rays\":{" TWO "," DIRECTIONS ",\"times\":[1,2]}}",
         422, "/at/ago"},
        {"{\"at\":{\"revision\":1},\"rays\":{" TWO "," DIRECTIONS ",\"times\":[1,2]}}", 422,
         "/at/revision"},
        {"{\"at\":{\"clamp\":1},\"rays\":{" TWO "," DIRECTIONS ",\"times\":[1,2]}}", 422,
         "/at/clamp"},
        {"{\"at\":{\"clamp\":true},\"rays\":{" TWO "," DIRECTIONS "}}", 422, "/at"},
        {"{\"at\":{},\"rays\":[]}", 422, "/at"},
        {"{\"rays\":[{\"times\":[1]}]}", 422, "/rays/0/times"},
        /* and what is malformed */
        {"{\"rays\":{" TWO "," TWO "," DIRECTIONS "}}", 400, NULL},
        {"{\"rays\":{" TWO ",\"directions\":[0,0,1,0,1,0}}", 400, NULL},
    };
    CHECK_REFUSALS(RAY, 3, refusals);
    static const struct refusal planar[] = {
        {"{\"rays\":{\"origins\":[1,2,3],\"directions\":[0,1,0]}}", 422, "/rays/origins"},
        {"{\"rays\":{\"origins\":[1,2],\"directions\":[0,1,0]}}", 422, "/rays/directions"},
        {"{\"rays\":{\"origins\":[1,2,1,2],\"directions\":[0,1,0,0]}}", 422, "/rays/directions/2"},
    };
    CHECK_REFUSALS(RAY, 2, planar);
}
END_TEST

/* Typed arrays hold what JSON cannot say. */
START_TEST(a_time_that_is_no_number_is_refused_at_it)
{
    static const double bad[] = {(double)NAN, (double)INFINITY, (double)-INFINITY, 1e16};
    const double origins[6] = {1, 2, 3, 4, 5, 6};
    for (size_t kind = 0; kind < 4; kind++) {
        const double times[2] = {5, bad[kind]};
        struct cbor_maker m = {0};
        char *got;
        maker_head(&m, 5, 1);
        maker_text(&m, "rays", 4);
        maker_head(&m, 5, 3);
        maker_text(&m, "origins", 7);
        maker_typed(&m, MAKER_F32, origins, 6);
        maker_text(&m, "directions", 10);
        maker_typed(&m, MAKER_U32, origins, 6);
        maker_text(&m, "times", 5);
        maker_typed(&m, MAKER_F64, times, 2);
        ck_assert(!decode(RAY, 3, (const char *)m.bytes, m.length, WIRE_CBOR, &got));
        ck_assert_str_eq(got, "422 /rays/times/1");
        free(got);
        free(m.bytes);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ray_columns");
    TCase *tc = tcase_create("ray_columns");
    tcase_add_checked_fixture(tc, start, stop);
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, rays_in_columns_are_rays_one_by_one);
    tcase_add_test(tc, times_are_one_for_each_ray);
    tcase_add_test(tc, columns_that_are_wrong_are_refused_at_the_first_fault);
    tcase_add_test(tc, a_time_that_is_no_number_is_refused_at_it);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
