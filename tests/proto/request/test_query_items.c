#include "tests/proto/request/requests.h"

START_TEST(every_kind_is_read)
{
    obb_query q =
        query_of(OBB_QUERY_PAIRS,
                 "{\"pairs\":[[\"a\",\"b\"],[{" POSE "},\"c\"]],\"want\":[\"relation\",\"mtv\","
                 "\"distance\",\"axis\",\"volume\",\"data\",\"entity\",\"pose\"],\"margin\":-0.5}",
                 3);
    ck_assert(q.kind == OBB_QUERY_PAIRS && q.count == 2 && q.want == 255 && q.margin == -0.5);
    ck_assert(q.items.pairs[0][0].kind == OBB_REF_NAME &&
              q.items.pairs[1][0].kind == OBB_REF_INLINE);
    ck_assert(q.items.pairs[1][0].box->half_extents.x == 1 && q.limit == 10000 && !q.by_id);
    q = query_of(OBB_QUERY_PAIRS, "{\"pairs\":[1,2,3,9007199254740992],\"by\":\"id\"}", 3);
    ck_assert(q.count == 2 && q.by_id && q.items.pairs[1][1].kind == OBB_REF_ID);
    ck_assert(q.items.pairs[1][1].id == (uint64_t)1 << 53 && q.items.pairs[0][1].id == 2);
    q = query_of(OBB_QUERY_PAIRS, "{\"by\":\"id\",\"pairs\":[[1,\"b\"]]}", 3);
    ck_assert(q.count == 1 && q.items.pairs[0][1].kind == OBB_REF_NAME);

    q = query_of(OBB_QUERY_ALL_PAIRS, "", 3);
    ck_assert(q.kind == OBB_QUERY_ALL_PAIRS && q.limit == 1000000 && !q.count_only && q.count == 0);
    q = query_of(OBB_QUERY_ALL_PAIRS, "{\"count_only\":true,\"limit\":0,\"margin\":3}", 3);
    ck_assert(q.count_only && q.limit == 0 && q.margin == 3);

    q = query_of(OBB_QUERY_OVERLAP,
                 "{\"shapes\":[\"a\",{" POSE "},{\"sphere\":{\"center\":[1,2,3],\"radius\":4}},"
                 "{\"capsule\":{\"a\":[0,0,0],\"b\":[1,1,1],\"radius\":0}},"
                 "{\"frustum\":[1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1]}]}",
                 3);
    ck_assert(q.count == 5 && q.items.shapes[0].is_ref && q.items.shapes[1].is_ref);
    ck_assert(!q.items.shapes[2].is_ref && q.items.shapes[2].shape->kind == OBB_SHAPE_SPHERE);
    ck_assert(q.items.shapes[2].shape->radius == 4 && q.items.shapes[2].shape->a.y == 2);
    ck_assert(q.items.shapes[3].shape->kind == OBB_SHAPE_CAPSULE);
    ck_assert(q.items.shapes[4].shape->kind == OBB_SHAPE_FRUSTUM);

    q = query_of(OBB_QUERY_POINT, "{\"points\":[[1,2,3],[4,5,6]]}", 3);
    ck_assert(q.count == 2 && q.items.points[1].y == 5);
    q = query_of(OBB_QUERY_POINT, "{\"points\":[[1,2]]}", 2);
    ck_assert(q.count == 1 && q.items.points[0].z == 0 && q.dimensions == 2);

    q = query_of(OBB_QUERY_RAY,
                 "{\"rays\":[{\"origin\":[0,0,0],\"direction\":[0,0,2]},{\"direction\":[0,3,4],"
                 "\"origin\":[1,1,1],\"max_distance\":0},{\"from\":[1,2,3],\"to\":[1,2,13]}],"
                 "\"mode\":\"closest_per_entity\",\"inside\":\"exit\"}",
                 3);
    ck_assert(q.count == 3 && q.mode == OBB_CLOSEST_PER_ENTITY && q.inside == OBB_INSIDE_EXIT);
    ck_assert(isinf(q.items.rays[0].max_distance) && q.items.rays[0].direction.z == 1);
    ck_assert(q.items.rays[1].max_distance == 0);
    ck_assert(q.items.rays[2].max_distance == 10 && q.items.rays[2].direction.z == 1);

    q = query_of(
        OBB_QUERY_SWEEP,
        "{\"sweeps\":[{\"box\":\"a\",\"motion\":[1,0,0]},{\"motion\":[0,0,0],\"box\":{" POSE
        "}}],\"mode\":\"all\"}",
        3);
    ck_assert(q.count == 2 && q.mode == OBB_ALL && q.items.sweeps[0].motion.x == 1);
    ck_assert(q.items.sweeps[1].ref.kind == OBB_REF_INLINE);

    q = query_of(OBB_QUERY_NEAREST, "{\"points\":[[1,2,3]]}", 3);
    ck_assert(q.count == 1 && !q.of_boxes && q.k == 1 && isinf(q.max_distance));
    q = query_of(OBB_QUERY_NEAREST,
                 "{\"boxes\":[\"a\",7],\"by\":\"id\",\"k\":5,\"max_distance\":2.5}", 3);
    ck_assert(q.count == 2 && q.of_boxes && q.k == 5 && q.max_distance == 2.5);
    ck_assert(q.items.boxes[1].kind == OBB_REF_ID && q.items.boxes[1].id == 7);
    check_taken(DUMP_QUERY + OBB_QUERY_POINT, 3, "{\"kind\":\"point\",\"points\":[]}");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("query_items");
    TCase *tc = tcase_create("query_items");
    tcase_add_checked_fixture(tc, start, stop);
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, every_kind_is_read);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
