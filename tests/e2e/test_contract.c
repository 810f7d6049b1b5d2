/* The contract as a client sees it: every route, what it answers, and every way it refuses. Each
 * test has a daemon of its own. */
#include "tests/support/expect.h"
#include "tests/support/follower.h"
#include "tests/support/test.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static struct test_daemon daemon;
static struct http_client *client;

static void start(void)
{
    daemon_start(&daemon, NULL);
    client = http_open(daemon.url);
}

static void stop(void)
{
    http_close(client);
    ck_assert_int_eq(daemon_stop(&daemon), 0);
}

#define UNIT "{\"center\":[0,0,0],\"half_extents\":[1,1,1]}"

START_TEST(a_scene_is_made_changed_listed_and_deleted)
{
    expect(client, "GET", "/v1/scenes", NULL, 200, "{\"scenes\":[]}");
    expect(client, "PUT", "/v1/scenes/arena", "{}", 201,
           "{\"name\":\"arena\",\"dimensions\":3,\"history\":{\"span\":500,\"commits\":64},"
           "\"boxes\":0,\"revision\":0,\"bounds\":null}");
    expect(client, "PUT", "/v1/scenes/arena", "{}", 200, "{\"revision\":0}");
    expect(client, "PUT", "/v1/scenes/arena", "{\"history\":{\"span\":1000}}", 200,
           "{\"revision\":1,\"history\":{\"span\":1000,\"commits\":64}}");
    expect(client, "PUT", "/v1/scenes/flat", "{\"dimensions\":2}", 201, "{\"dimensions\":2}");
    expect(client, "GET", "/v1/scenes", NULL, 200,
           "{\"scenes\":[{\"name\":\"arena\",\"boxes\":0,\"revision\":1},"
           "{\"name\":\"flat\",\"boxes\":0,\"revision\":0}],\"cursor\":null}");
    expect(client, "PUT", "/v1/scenes/arena/boxes/a", UNIT, 201, NULL);
    expect(client, "GET", "/v1/scenes/arena", NULL, 200,
           "{\"boxes\":1,\"revision\":2,\"bounds\":{\"min\":[-1,-1,-1],\"max\":[1,1,1]},"
           "\"oldest\":{\"revision\":0}}");
    expect_problem(client, "PUT", "/v1/scenes/arena", "{\"dimensions\":2}", 409, "/dimensions");
    expect(client, "PUT", "/v1/scenes/flat", "{\"dimensions\":3}", 200, "{\"dimensions\":3}");
    expect(client, "DELETE", "/v1/scenes/arena", NULL, 204, "");
    expect_problem(client, "GET", "/v1/scenes/arena", NULL, 404, NULL);
    expect_problem(client, "DELETE", "/v1/scenes/arena", NULL, 404, NULL);
    expect(client, "PUT", "/v1/scenes/arena", "{}", 201, "{\"revision\":0,\"boxes\":0}");
}
END_TEST

START_TEST(boxes_are_put_in_columns)
{
    /* the first commit makes the scene */
    expect(client, "POST", "/v1/scenes/s/commit",
           "{\"put\":{\"names\":[\"b\",\"a\"],\"centers\":[1,2,3,4,5,6],\"half_extents\":[1,1,1],"
           "\"entities\":[\"e\",null]}}",
           200, "{\"revision\":1,\"put\":2,\"ids\":[1,2]}");
    expect(client, "GET", "/v1/scenes/s/boxes/b", NULL, 200,
           "{\"id\":1,\"center\":[1,2,3],\"entity\":\"e\",\"category\":1,\"mask\":4294967295}");
    /* ids of all rows, also of boxes that were there; a put forgets the attributes before it */
    expect(client, "POST", "/v1/scenes/s/commit",
           "{\"remove\":[\"a\"],\"put\":{\"names\":[\"c\",\"b\",\"a\"],\"centers\":[0,0,0,1,1,1,2,"
           "2,2],"
           "\"half_extents\":[1,1,1]}}",
           200, "{\"revision\":2,\"put\":3,\"removed\":1,\"ids\":[3,1,4]}");
    expect(client, "GET", "/v1/scenes/s/boxes/b", NULL, 200,
           "{\"center\":[1,1,1],\"entity\":null}");
    /* the same again changes nothing */
    expect(client, "POST", "/v1/scenes/s/commit",
           "{\"put\":{\"names\":[\"b\"],\"centers\":[1,1,1],\"half_extents\":[1,1,1]}}", 200,
           "{\"revision\":2,\"put\":1,\"ids\":[1]}");
    expect_problem(client, "POST", "/v1/scenes/s/commit",
                   "{\"put\":{\"names\":[\"d\",\"b\",\"d\"],\"centers\":[0,0,0,1,1,1,2,2,2],"
                   "\"half_extents\":[1,1,1]}}",
                   422, "/put/names/2");
    expect(client, "GET", "/v1/scenes/s", NULL, 200, "{\"revision\":2,\"boxes\":3}");
    /* one value for all rows: an entity alone, a ttl alone, and both */
    expect(client, "POST", "/v1/scenes/s/commit",
           "{\"time\":1e6,\"put\":{\"names\":[\"a\",\"new\"],\"centers\":[1,1,1,2,2,2],"
           "\"half_extents\":[1,1,1],\"entities\":\"e\"}}",
           200, "{\"revision\":3,\"put\":2,\"ids\":[4,5]}");
    expect(client, "GET", "/v1/scenes/s/boxes/a", NULL, 200, "{\"entity\":\"e\",\"ttl\":null}");
    expect(client, "GET", "/v1/scenes/s/boxes?entity=e", NULL, 200,
           "{\"boxes\":[{\"name\":\"a\",\"id\":4,\"center\":[1,1,1],\"half_extents\":[1,1,1],"
           "\"rotation\":[0,0,0,1],\"category\":1,\"mask\":4294967295,\"group\":0,\"entity\":\"e\","
           "\"changed\":3},{\"name\":\"new\",\"id\":5,\"center\":[2,2,2],\"half_extents\":[1,1,1],"
           "\"rotation\":[0,0,0,1],\"category\":1,\"mask\":4294967295,\"group\":0,\"entity\":\"e\","
           "\"changed\":3}]}");
    expect(client, "POST", "/v1/scenes/s/commit",
           "{\"put\":{\"names\":[\"a\",\"b\",\"last\"],\"centers\":[1,1,1,2,2,2,3,3,3],"
           "\"half_extents\":[1,1,1],\"ttl\":250}}",
           200, "{\"revision\":4,\"ids\":[4,1,6]}");
    static const char *const mortal[] = {"a", "b", "last"};
    for (int i = 0; i < 3; i++)
        expect(client, "GET", test_text("/v1/scenes/s/boxes/%s", mortal[i]), NULL, 200,
               "{\"entity\":null,\"ttl\":250,\"changed\":4}");
    expect(client, "POST", "/v1/scenes/s/commit",
           "{\"time\":1000200,\"put\":{\"names\":[\"last\",\"later\"],\"centers\":[3,3,3,4,4,4],"
           "\"half_extents\":[1,1,1],\"ttl\":100,\"entities\":\"f\",\"category\":6,\"mask\":7,"
           "\"group\":-8}}",
           200, "{\"ids\":[6,7],\"expired\":null}");
    expect(client, "GET", "/v1/scenes/s/boxes/later", NULL, 200,
           "{\"entity\":\"f\",\"ttl\":100,\"category\":6,\"mask\":7,\"group\":-8}");
    expect(client, "POST", "/v1/scenes/s/commit", "{\"time\":1000250}", 200, "{\"expired\":2}");
    expect(client, "POST", "/v1/scenes/s/commit", "{\"time\":1000300}", 200, "{\"expired\":2}");
    expect(client, "GET", "/v1/scenes/s", NULL, 200, "{\"boxes\":2}"); /* c and new */
    /* one that the scene refuses is named by its row */
    const char *const options[] = {"--box-limit", "4", NULL};
    struct test_daemon small;
    daemon_start(&small, options);
    struct http_client *other = http_open(small.url);
    expect_problem(other, "POST", "/v1/scenes/s/commit",
                   "{\"put\":{\"names\":[\"a\",\"b\",\"c\",\"d\",\"e\",\"f\"],\"centers\":"
                   "[0,0,0,1,1,1,2,2,2,3,3,3,4,4,4,5,5,5],\"half_extents\":[1,1,1]}}",
                   413, "/put/names/4");
    http_close(other);
    ck_assert_int_eq(daemon_stop(&small), 0);
}
END_TEST

#define TIMED(times)                                                                           \
    "\"rays\":{\"origins\":[-9,0,0,-9,0,5],\"directions\":[1,0,0,1,0,0],\"times\":" times "}," \
    "\"columns\":true"

START_TEST(rays_in_columns_have_their_own_times)
{
    expect(client, "POST", "/v1/scenes/s/commit",
           "{\"time\":10,\"put\":{\"names\":[\"a\"],\"centers\":[0,0,0],\"half_extents\":[1,1,1]}}",
           200, "{\"revision\":1}");
    /* the queries of a commit see the state that it makes, and the way there */
    expect(
        client, "POST", "/v1/scenes/s/commit",
        "{\"time\":20,\"pose\":{\"a\":{\"center\":[0,0,10]}},\"queries\":[{\"kind\":\"ray\"," TIMED(
            "[10,15]") "},{\"kind\":\"ray\"," TIMED("[15,20]") "},{\"kind\":\"point\",\"points\":"
                                                               "[0,0,10]}]}",
        200,
        "{\"revision\":2,\"results\":[{\"columns\":{\"boxes\":[1,1],\"distances\":[8,8],"
        "\"revisions\":[1,1]}},{\"columns\":{\"boxes\":[0,0],\"revisions\":[1,2]}},"
        "{\"results\":[{\"boxes\":[\"a\"]}]}]}");
    expect(client, "POST", "/v1/scenes/s/query/ray", "{" TIMED("[15,15]") "}", 200,
           "{\"columns\":{\"boxes\":[0,1],\"clamped\":[0,0]}}");
    expect_problem(client, "POST", "/v1/scenes/s/query/ray", "{" TIMED("[15,21]") "}", 410,
                   "/rays/times/1");
    expect_problem(client, "POST", "/v1/scenes/s/query/ray",
                   "{" TIMED("[15,21]") ",\"at\":{\"time\":3}}", 422, "/at/time");
    expect(client, "POST", "/v1/scenes/s/query/ray",
           "{" TIMED("[9,21]") ",\"at\":{\"clamp\":true}}", 200,
           "{\"columns\":{\"boxes\":[1,0],\"times\":[10,20],\"clamped\":[1,1]}}");
    /* a time that the commit would not leave within reach: nothing of it is made */
    expect_problem(client, "POST", "/v1/scenes/s/commit",
                   "{\"time\":30,\"remove\":[\"a\"],\"queries\":[{\"kind\":\"all-pairs\"},"
                   "{\"kind\":\"ray\"," TIMED("[30,30.5]") "}]}",
                   410, "/queries/1/rays/times/1");
    expect_problem(client, "POST", "/v1/scenes/s/commit",
                   "{\"queries\":[{\"kind\":\"ray\"," TIMED("[20,1e17]") "}]}", 422,
                   "/queries/0/rays/times/1");
    expect(client, "GET", "/v1/scenes/s", NULL, 200, "{\"revision\":2,\"time\":20}");
    /* states before and after a change of dimensions */
    expect(client, "POST", "/v1/scenes/s/commit", "{\"time\":40,\"remove\":[\"a\"]}", 200, NULL);
    expect(client, "PUT", "/v1/scenes/s", "{\"dimensions\":2}", 200, NULL);
    expect(client, "POST", "/v1/scenes/s/query/ray",
           "{\"rays\":{\"origins\":[0,0,0,0],\"directions\":[1,0,1,0],\"times\":[40,15]}}", 409,
           "{\"pointer\":\"/rays/times/1\","
           "\"detail\":\"found time 15, which has 3 dimensions; the query has 2\"}");
    expect(client, "POST", "/v1/scenes/s/query/point",
           "{\"points\":[[0,0]],\"at\":{\"revision\":1},\"with\":{\"remove\":[\"a\"]}}", 409,
           "{\"pointer\":\"/at\","
           "\"detail\":\"found revision 1, which has 3 dimensions; the query has 2\"}");
    expect(client, "POST", "/v1/scenes/s/commit",
           "{\"queries\":[{\"kind\":\"point\",\"points\":[[0,0]],\"at\":{\"revision\":1}}]}", 409,
           "{\"pointer\":\"/queries/0/at\","
           "\"detail\":\"found revision 1, which has 3 dimensions; the query has 2\"}");
    expect(client, "PUT", "/v1/scenes/s/frames/f", "{\"center\":[0,0]}", 201, NULL);
    expect(
        client, "PUT", "/v1/scenes/s", "{\"dimensions\":3}", 409,
        "{\"pointer\":\"/dimensions\",\"detail\":\"found 3 dimensions; the scene has 2, which may "
        "change while it has no box and no frame\"}");
    expect(client, "DELETE", "/v1/scenes/s/frames/f", NULL, 204, NULL);
    expect_problem(client, "POST", "/v1/scenes/s/commit",
                   "{\"queries\":[{\"kind\":\"ray\",\"rays\":{\"origins\":[0,0,1,1],\"directions\":"
                   "[1,0,0,1],\"times\":[40,20]}}]}",
                   409, "/queries/0/rays/times/1");
}
END_TEST

/* In 2-D a point of the columns has two numbers. */
START_TEST(a_row_that_found_nothing_is_box_0_and_zeros)
{
    static const char box[] = "{\"center\":[0,0],\"half_extents\":[1,1]}";
    expect(client, "PUT", "/v1/scenes/p", "{\"dimensions\":2}", 201, NULL);
    expect(client, "PUT", "/v1/scenes/p/boxes/a", "{\"center\":[9,0],\"half_extents\":[1,1]}", 201,
           "{\"id\":1}");
    expect(
        client, "POST", "/v1/scenes/p/query/ray",
        "{\"columns\":true,\"rays\":{\"origins\":[0,5,0,0],\"directions\":[1,0,1,0]}}", 200,
        "{\"results\":null,\"columns\":{\"boxes\":[0,1],\"distances\":[0,8],\"points\":[0,0,8,0],"
        "\"normals\":[0,0,-1,0]}}");
    expect(client, "POST", "/v1/scenes/p/query/sweep",
           test_text("{\"columns\":true,\"sweeps\":[{\"box\":\"nobody\",\"motion\":[9,0]},"
                     "{\"box\":%s,\"motion\":[0,9]},{\"box\":%s,\"motion\":[14,0]}]}",
                     box, box),
           200,
           "{\"results\":null,\"columns\":{\"boxes\":[0,0,1],\"fractions\":[0,0,0.5],"
           "\"normals\":[0,0,0,0,-1,0]}}");
    expect(
        client, "POST", "/v1/scenes/p/query/nearest",
        "{\"columns\":true,\"points\":[0,0,5,0],\"max_distance\":4}", 200,
        "{\"results\":null,\"columns\":{\"boxes\":[0,1],\"distances\":[0,3],\"points\":[0,0,8,0],"
        "\"normals\":null}}");
}
END_TEST

START_TEST(a_box_is_put_read_patched_moved_and_deleted)
{
    expect(client, "PUT", "/v1/scenes/s/boxes/crate",
           "{\"center\":[1,2,3],\"half_extents\":[0.1,0.2,0.30000000000000004],\"category\":2,"
           "\"mask\":3,\"group\":-1,\"entity\":\"crates\",\"data\":{\"hp\":[1,2.5,null]}}",
           201, "{\"id\":1,\"revision\":1}");
    expect(client, "GET", "/v1/scenes/s/boxes/crate", NULL, 200,
           "{\"name\":\"crate\",\"id\":1,\"center\":[1,2,3],"
           "\"half_extents\":[0.1,0.2,0.30000000000000004],\"rotation\":[0,0,0,1],\"category\":2,"
           "\"mask\":3,\"group\":-1,\"entity\":\"crates\",\"data\":{\"hp\":[1,2.5,null]},"
           "\"revision\":1}");
    expect(
        client, "PATCH", "/v1/scenes/s/boxes/crate", "{\"center\":[5,2,3],\"data\":null}", 200,
        "{\"center\":[5,2,3],\"category\":2,\"data\":null,\"entity\":\"crates\",\"revision\":2}");
    expect(client, "PUT", "/v1/scenes/s/boxes/crate", UNIT, 200,
           "{\"id\":1,\"category\":1,\"mask\":4294967295,\"group\":0,\"entity\":null}");
    expect(client, "POST", "/v1/scenes/s/boxes/crate/transform", "{\"translate\":[0,10,0]}", 200,
           "{\"center\":[0,10,0],\"half_extents\":[1,1,1],\"revision\":4}");
    expect(client, "POST", "/v1/scenes/s/boxes/crate/transform",
           "{\"scale\":[2,1,1],\"space\":\"local\"}", 200,
           "{\"center\":[0,10,0],\"half_extents\":[2,1,1]}");
    expect(client, "GET", "/v1/scenes/s/boxes/crate?include=aabb,volume,corners", NULL, 200,
           "{\"aabb\":{\"min\":[-2,9,-1],\"max\":[2,11,1]},\"volume\":16,"
           "\"corners\":[[-2,9,-1],[2,9,-1],[-2,11,-1],[2,11,-1],[-2,9,1],[2,9,1],[-2,11,1],"
           "[2,11,1]]}");
    expect(client, "PUT", "/v1/scenes/s/boxes/other",
           "{\"min\":[-1,-1,-1],\"max\":[1,1,1],\"position\":[4,10,0]}", 201,
           "{\"id\":2,\"center\":[4,10,0]}");
    expect(client, "POST", "/v1/scenes/s/boxes/crate/merge", "{\"with\":[\"other\"]}", 200,
           "{\"center\":[1.5,10,0],\"half_extents\":[3.5,1,1]}");
    static const struct {
        const char *path, *body;
        long status;
        const char *pointer;
    } refusals[] = {
        {"boxes/crate/transform", "{\"translate\":[-1e9,0,0]}", 422, "/translate"},
        {"boxes/crate/transform", "{\"scale\":[1e9,1e9,1e9]}", 422, "/scale"},
        {"boxes/crate/transform", "{\"scale\":0}", 422, "/scale"},
        {"boxes/corner/transform", "{\"rotate\":{\"axis\":[0,0,1],\"degrees\":45}}", 422,
         "/rotate"},
        {"boxes/crate/transform", "{\"matrix\":[0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,1]}", 422, "/matrix"},
        {"boxes/crate/merge", "{\"with\":[\"other\",\"nobody\"]}", 404, "/with/1"},
        {"boxes/crate/merge", "{\"with\":[\"far\"]}", 422, "/with"},
        {"query/all-pairs", "{\"at\":{\"revision\":99}}", 410, "/at"},
    };
    expect(client, "PUT", "/v1/scenes/s/boxes/crate",
           "{\"center\":[-1e9,0,0],\"half_extents\":[1,1,1]}", 200, "{\"id\":1}");
    expect(client, "PUT", "/v1/scenes/s/boxes/far",
           "{\"center\":[1e9,0,0],\"half_extents\":[1,1,1]}", 201, "{\"id\":3}");
    expect(client, "PUT", "/v1/scenes/s/boxes/corner",
           "{\"center\":[1e9,1e9,0],\"half_extents\":[1,1,1]}", 201, "{\"id\":4}");
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        expect_problem(client, "POST", test_text("/v1/scenes/s/%s", refusals[i].path),
                       refusals[i].body, refusals[i].status, refusals[i].pointer);
    expect(client, "DELETE", "/v1/scenes/s/boxes/crate", NULL, 204, "");
    expect_problem(client, "GET", "/v1/scenes/s/boxes/crate", NULL, 404, NULL);
    expect_problem(client, "DELETE", "/v1/scenes/s/boxes/crate", NULL, 404, NULL);
    expect_problem(client, "PATCH", "/v1/scenes/s/boxes/crate", "{\"center\":[0,0,0]}", 404, NULL);
    expect(client, "PUT", "/v1/scenes/s/boxes/crate", UNIT, 201, "{\"id\":5}");
}
END_TEST

/* Also one that states all there is of a box, in each form. */
START_TEST(a_patch_makes_neither_a_box_nor_a_scene)
{
    static const char *const forms[] = {
        "\"center\":[0,0,0],\"half_extents\":[1,1,1],\"rotation\":[0,0,0,1]",
        "\"min\":[-1,-1,-1],\"max\":[1,1,1]",
        "\"matrix\":[1,0,0,0,0,1,0,0,0,0,1,0,0,0,0,1],\"half_extents\":[1,1,1]",
        "\"points\":[[-1,-1,-1],[1,1,1]],\"fit\":\"aabb\"",
    };
    static const char rest[] =
        "\"category\":1,\"mask\":1,\"group\":0,\"entity\":null,\"data\":null,"
        "\"frame\":null,\"ttl\":null";
    char all[400];
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        (void)snprintf(all, sizeof all, "{%s,%s}", forms[i], rest);
        expect_problem(client, "PATCH", "/v1/scenes/none/boxes/ghost", all, 404, NULL);
        expect_problem(client, "GET", "/v1/scenes/none", NULL, 404, NULL);
        expect(client, "PUT", test_text("/v1/scenes/s/boxes/there-%zu", i), all, 201, NULL);
        expect_problem(client, "PATCH", "/v1/scenes/s/boxes/ghost", all, 404, NULL);
        expect_problem(client, "GET", "/v1/scenes/s/boxes/ghost", NULL, 404, NULL);
        expect(client, "PATCH", test_text("/v1/scenes/s/boxes/there-%zu", i), all, 200,
               "{\"half_extents\":[1,1,1]}");
    }
    expect(client, "GET", "/v1/scenes", NULL, 200, "{\"scenes\":[{\"name\":\"s\",\"boxes\":4}]}");
}
END_TEST

/* Whatever the method, and whether the scene is there or not. */
START_TEST(what_is_no_name_is_told_first)
{
    static const char *const paths[] = {"none/boxes/%01", "none/frames/%01", "s/boxes/%01"};
    static const char *const methods[] = {"GET", "PUT", "DELETE"};
    expect(client, "PUT", "/v1/scenes/s", "{}", 201, NULL);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        for (size_t k = 0; k < sizeof methods / sizeof *methods; k++)
            expect_problem(client, methods[k], test_text("/v1/scenes/%s", paths[i]),
                           k == 1 ? "{}" : NULL, 422, NULL);
}
END_TEST

START_TEST(a_stream_of_events_begins_with_a_state_that_is_new_enough)
{
    expect(client, "PUT", "/v1/scenes/s/boxes/a", UNIT, 201, NULL);
    expect(client, "GET", "/v1/scenes/s/events?revision=2", NULL, 410,
           "{\"newest\":{\"revision\":1}}");
    expect_problem(client, "GET", "/v1/scenes/s/events?revision=x", NULL, 400, NULL);
    expect_problem(client, "GET", "/v1/scenes/s/events?fresh=x", NULL, 400, NULL);
    static struct follower follower;
    follower_open(&follower, daemon_dial(&daemon),
                  "/v1/scenes/s/events?topics=commits&revision=1&fresh", NULL);
    follower_close(&follower);
}
END_TEST

START_TEST(doubles_read_back_to_the_same_bits)
{
    static const char *const doubles[] = {"0.1",
                                          "-0.0",
                                          "1e-9",
                                          "123456789.12345679",
                                          "5e-324",
                                          "2.2250738585072014e-308",
                                          "0.30000000000000004",
                                          "999999999.9999999",
                                          "1e9",
                                          "-1e9"};
    size_t looked_at = 0;
    for (size_t i = 0; i < sizeof doubles / sizeof *doubles; i++, looked_at++) {
        expect(client, "PUT", "/v1/scenes/s/boxes/d",
               test_text("{\"center\":[%s,0,0],\"half_extents\":[1,1,1]}", doubles[i]),
               i == 0 ? 201 : 200, NULL);
        struct http_answer answer = {0};
        http_send(client, "GET", "/v1/scenes/s/boxes/d", NULL, NULL, &answer);
        const char *center = strstr(answer.body, "\"center\":[");
        ck_assert_ptr_nonnull(center);
        char *end = NULL;
        const double got = strtod(center + strlen("\"center\":["), &end);
        const double sent = strtod(doubles[i], NULL);
        ck_assert_msg(test_same_bits(got, sent), "%s reads back as %.*s", doubles[i], 30, center);
        http_answer_fini(&answer);
    }
    ck_assert_uint_gt(looked_at, 5);
}
END_TEST

START_TEST(a_box_slides_over_the_floor_on_which_it_stands)
{
    expect(client, "PUT", "/v1/scenes/flat", "{\"dimensions\":2}", 201, NULL);
    expect(client, "PUT", "/v1/scenes/flat/boxes/floor",
           "{\"center\":[0,0],\"half_extents\":[5,1],\"angle\":8}", 201, NULL);
    /* along the floor, off it, and into it */
    static const char box[] = "{\"center\":[-0.2783462019201309,1.9805361374831407],"
                              "\"half_extents\":[1,1],\"angle\":8}";
    expect(client, "POST", "/v1/scenes/flat/query/sweep",
           test_text("{\"sweeps\":[{\"box\":%s,\"motion\":[0.9902680687415704,"
                     "0.13917310096006544]},{\"box\":%s,\"motion\":[0,1]}]}",
                     box, box),
           200, "{\"results\":[{\"hits\":[]},{\"hits\":[]}]}");
    expect(client, "POST", "/v1/scenes/flat/query/sweep",
           test_text("{\"sweeps\":[{\"box\":%s,\"motion\":[0,-1]}]}", box), 200,
           "{\"results\":[{\"hits\":[{\"box\":\"floor\",\"fraction\":0,"
           "\"started_overlapping\":true}]}]}");
}
END_TEST

START_TEST(penetration_is_what_parts_a_sphere_and_a_box)
{
    expect(client, "PUT", "/v1/scenes/deep/boxes/big",
           "{\"center\":[0,0,0],\"half_extents\":[10,10,10]}", 201, NULL);
    static const struct {
        const char *margin, *boxes;
    } cases[] = {{"-2", "\"big\""}, {"-11", "\"big\""}, {"-11.25", ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect(client, "POST", "/v1/scenes/deep/query/overlap",
               test_text("{\"shapes\":[{\"sphere\":{\"center\":[0,0,0],\"radius\":1}}],"
                         "\"margin\":%s}",
                         cases[i].margin),
               200, test_text("{\"results\":[{\"boxes\":[%s]}]}", cases[i].boxes));
}
END_TEST

START_TEST(a_transform_that_moves_nothing_is_none)
{
    expect(client, "PUT", "/v1/scenes/still", "{\"dimensions\":2}", 201, NULL);
    expect(client, "PUT", "/v1/scenes/still/boxes/a",
           "{\"center\":[-0.0,1],\"half_extents\":[1,1],\"angle\":730}", 201, "{\"revision\":1}");
    expect(client, "POST", "/v1/scenes/still/boxes/a/transform", "{\"rotate\":0}", 200,
           "{\"angle\":730,\"revision\":1}");
    expect(client, "POST", "/v1/scenes/still/boxes/a/transform", "{\"translate\":[0,0]}", 200,
           "{\"angle\":730,\"revision\":1}");
    expect(client, "POST", "/v1/scenes/still/boxes/a/transform", "{\"rotate\":-20}", 200,
           "{\"angle\":-10,\"revision\":2}");
}
END_TEST

START_TEST(points_nearly_on_a_line_have_a_tight_box)
{
    /* the square of a face's normal is denormal */
    expect(client, "POST", "/v1/scenes/thin/commit",
           "{\"put\":{\"a\":{\"points\":[[0,0,0],[2,0,0],[0,2,0],[0,0,2],[2,2,1e-161],"
           "[1,2,-1e-161],[2,0.5,3e-162],[1e-161,1,2]],\"fit\":\"tight\"}}}",
           200, "{\"revision\":1}");
    expect(client, "GET", "/v1/scenes/thin/boxes/a", NULL, 200,
           "{\"center\":[1,1,1],\"half_extents\":[1,1,1.0000000000000002]}");
}
END_TEST

START_TEST(names_are_any_text_and_paths_decode_them)
{
    expect(client, "PUT", "/v1/scenes/a%2Fb/boxes/%E2%98%83%20%25", UNIT, 201, "{\"id\":1}");
    expect(client, "GET", "/v1/scenes/a%2Fb/boxes/%e2%98%83%20%25", NULL, 200,
           "{\"name\":\"\\u2603 %\"}");
    expect_problem(client, "GET", "/v1/scenes/a%2", NULL, 400, NULL);
    expect_problem(client, "GET", "/v1/scenes/a%zz", NULL, 400, NULL);
    expect_problem(client, "GET", "/v1/scenes/%ff", NULL, 400, NULL);
    expect_problem(client, "PUT", "/v1/scenes/%00", "{}", 422, NULL);
    expect_problem(client, "PUT", "/v1/scenes/%0a", "{}", 422, NULL);
    expect_problem(client, "PUT", "/v1/scenes/..", "{}", 422, NULL);
    expect_problem(client, "PUT", "/v1/scenes/%2e", "{}", 422, NULL);
    char longest[129], path[256];
    memset(longest, 'n', 128);
    longest[128] = '\0';
    (void)snprintf(path, sizeof path, "/v1/scenes/%s", longest);
    expect(client, "PUT", path, "{}", 201, NULL);
    (void)snprintf(path, sizeof path, "/v1/scenes/%sn", longest);
    expect_problem(client, "PUT", path, "{}", 422, NULL);
}
END_TEST

START_TEST(a_commit_is_all_or_nothing)
{
    expect(client, "POST", "/v1/scenes/match/commit",
           "{\"time\":1000,\"put\":{\"a\":" UNIT
           ",\"b\":{\"center\":[1.5,0,0],\"half_extents\":[1,1,1]}},"
           "\"queries\":[{\"kind\":\"all-pairs\"},{\"kind\":\"point\",\"points\":[[2,0,0]]}]}",
           200,
           "{\"revision\":1,\"time\":1000,\"removed\":0,\"put\":2,\"posed\":0,\"transformed\":0,"
           "\"ids\":{\"a\":1,\"b\":2},\"results\":[{\"count\":1,\"pairs\":[[\"a\",\"b\"]],"
           "\"revision\":null},{\"results\":[{\"boxes\":[\"b\"]}]}]}");
    expect(client, "POST", "/v1/scenes/match/commit",
           "{\"time\":1010,\"remove\":[\"b\",\"nobody\"],\"put\":{\"c\":" UNIT "},"
           "\"pose\":{\"a\":{\"center\":[3,0,0]}},"
           "\"transform\":{\"c\":{\"translate\":[0,5,0]}}}",
           200,
           "{\"revision\":2,\"time\":1010,\"removed\":1,\"put\":1,\"posed\":1,\"transformed\":1}");
    expect(client, "GET", "/v1/scenes/match/boxes/c", NULL, 200, "{\"center\":[0,5,0],\"id\":3}");

    /* refusals: each names the first invalid entry, and nothing of it happens */
    static const struct {
        const char *body;
        long status;
        const char *pointer;
    } refusals[] = {
        {"{\"time\":1009}", 409, "/time"},
        {"{\"if_revision\":1,\"put\":{\"z\":" UNIT "}}", 412, "/if_revision"},
        {"{\"put\":{\"z\":" UNIT "},\"pose\":{\"ghost\":{\"center\":[0,0,0]}}}", 404,
         "/pose/ghost"},
        {"{\"put\":{\"z\":" UNIT "},\"transform\":{\"gh/o~st\":{\"translate\":[0,0,0]}}}", 404,
         "/transform/gh~1o~0st"},
        {"{\"remove\":[\"a\"],\"pose\":{\"a\":{\"center\":[0,0,0]}}}", 404, "/pose/a"},
        {"{\"put\":{\"z\":{\"center\":[0,0],\"half_extents\":[1,1,1]}}}", 422, "/put/z/center"},
        {"{\"put\":{\"z\":{\"center\":[0,0,0],\"half_extents\":[1,-1,1]}}}", 422,
         "/put/z/half_extents/1"},
        {"{\"put\":{\"z\":" UNIT "},\"queries\":[{\"kind\":\"all-pairs\"},{\"kind\":\"guess\"}]}",
         422, "/queries/1/kind"},
        {"{\"put\":{\"z\":" UNIT "},\"extra\":1}", 422, "/extra"},
        {"{\"put\":{\"z\":" UNIT ",\"z\":" UNIT "}}", 400, NULL},
        /* what the scene does not allow, before what no scene would */
        {"{\"put\":{\"z\":7},\"time\":1009}", 409, "/time"},
        {"{\"put\":{\"z\":7},\"if_revision\":1}", 412, "/if_revision"},
        {"{\"transform\":{\"a\":{\"scale\":\"z\"}},\"pose\":{\"ghost\":{\"center\":[0,0,0]}}}", 404,
         "/pose/ghost"},
        {"{\"pose\":{\"ghost\":{\"center\":[0,0,0]}},\"queries\":[{\"kind\":\"guess\"}]}", 404,
         "/pose/ghost"},
        {"{\"pose\":{\"ghost\":{\"center\":[0,0,0]},\"a\":{\"center\":[0,0]}}}", 404,
         "/pose/ghost"},
        {"{\"pose\":{\"a\":{\"center\":[0,0]},\"ghost\":{\"center\":[0,0,0]}}}", 422,
         "/pose/a/center"},
        {"{\"pose\":{\"names\":[\"a\",\"ghost\",7],\"centers\":[0,0,0,0,0,0,0,0,\"x\"]}}", 404,
         "/pose/names/1"},
        {"{\"pose\":{\"centers\":[0,0,0,0,0,0,\"x\",0,0],\"names\":[\"ghost\",\"a\",\"a\"]}}", 404,
         "/pose/names/0"},
        {"{\"queries\":[{\"kind\":\"all-pairs\",\"at\":{\"revision\":99}},{\"kind\":\"guess\"}]}",
         410, "/queries/0/at"},
        {"{\"put\":{\"z\":7},\"pose\":{\"ghost\":{\"center\":[0,0,0]}}}", 422, "/put/z"},
        {"{\"put\":{\"z\":" UNIT "},\"pose\":{\"z\":7}}", 422, "/pose/z"},
        {"{\"extra\":1,\"time\":1009}", 422, "/extra"},
    };
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        expect_problem(client, "POST", "/v1/scenes/match/commit", refusals[i].body,
                       refusals[i].status, refusals[i].pointer);
    expect(client, "GET", "/v1/scenes/match", NULL, 200,
           "{\"revision\":2,\"time\":1010,\"boxes\":2}");

    expect(client, "POST", "/v1/scenes/match/commit",
           "{\"ignore_missing\":true,\"pose\":{\"ghost\":{\"center\":[0,0,0]},\"a\":{\"center\":"
           "[4,0,0]}}}",
           200, "{\"posed\":1,\"missing\":[\"ghost\"],\"revision\":3,\"time\":1010}");
    expect(client, "POST", "/v1/scenes/match/commit", "{\"time\":1020}", 200,
           "{\"revision\":3,\"time\":1020}");
    expect_problem(client, "POST", "/v1/scenes/new/commit", "{\"remove\":[\"a\"]}", 404, NULL);
    expect_problem(client, "GET", "/v1/scenes/new", NULL, 404, NULL);
}
END_TEST

START_TEST(of_fifty_queries_the_bad_one_is_named)
{
    /* each fault is the only one of its batch, as decoded, and as asked of the scene */
    static const struct {
        const char *query;
        long status;
        const char *pointer;
    } faults[] = {
        {"{\"kind\":\"guess\"}", 422, "/queries/37/kind"},
        {"{\"kind\":\"ray\",\"rays\":[{\"origin\":[0,0,0],\"direction\":[0,0,0]}]}", 422,
         "/queries/37/rays/0/direction"},
        {"{\"kind\":\"point\",\"points\":[[0,0,0],[0,1]]}", 422, "/queries/37/points/1"},
        {"{\"kind\":\"all-pairs\",\"filter\":{\"masks\":1}}", 422, "/queries/37/filter/masks"},
        {"{\"kind\":\"all-pairs\",\"at\":{\"ago\":-1}}", 422, "/queries/37/at/ago"},
        {"{\"kind\":\"all-pairs\",\"at\":{\"revision\":99}}", 410, "/queries/37/at"},
    };
    expect(client, "POST", "/v1/scenes/f/commit", "{\"time\":0,\"put\":{\"a\":" UNIT "}}", 200,
           NULL);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        char body[4096];
        size_t length = 0;
        for (int q = 0; q < 50; q++)
            length +=
                (size_t)snprintf(body + length, sizeof body - length, "%s%s",
                                 q == 0 ? "{\"time\":9,\"remove\":[\"a\"],\"queries\":[" : ",",
                                 q == 37 ? faults[i].query : "{\"kind\":\"all-pairs\"}");
        (void)snprintf(body + length, sizeof body - length, "]}");
        expect_problem(client, "POST", "/v1/scenes/f/commit", body, faults[i].status,
                       faults[i].pointer);
    }
    expect(client, "GET", "/v1/scenes/f", NULL, 200, "{\"revision\":1,\"time\":0,\"boxes\":1}");
}
END_TEST

START_TEST(a_history_that_was_overrun_says_what_is_left)
{
    expect(client, "PUT", "/v1/scenes/h", "{\"history\":{\"span\":1000,\"commits\":2}}", 201, NULL);
    for (int i = 1; i <= 6; i++) /* revision i at time 10 i; of these 4, 5 and 6 are kept */
        expect(client, "POST", "/v1/scenes/h/commit",
               test_text("{\"time\":%d,\"put\":{\"a\":{\"center\":[%d,0,0],"
                         "\"half_extents\":[1,1,1]}}}",
                         10 * i, i),
               200, NULL);
#define LEFT                                      \
    "{\"status\":410,\"oldest\":{\"revision\":4," \
    "\"time\":40},\"newest\":{\"revision\":6,\"time\":60}}"
    static const char *const outside[] = {"{\"revision\":3}", "{\"revision\":7}", "{\"time\":39.5}",
                                          "{\"time\":60.5}", "{\"ago\":20.5}"};
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++)
        expect(client, "POST", "/v1/scenes/h/query/all-pairs", test_text("{\"at\":%s}", outside[i]),
               410, LEFT);
    expect(client, "GET", "/v1/scenes/h/boxes/a?at_revision=3", NULL, 410, LEFT);
    expect(client, "GET", "/v1/scenes/h/boxes?at_time=39", NULL, 410, LEFT);
    /* A commit that asks for more than it would leave is not made: newest is what is there, oldest
     * what it would have left. */
    expect(client, "POST", "/v1/scenes/h/commit",
           "{\"time\":70,\"remove\":[\"a\"],\"queries\":[{\"kind\":\"all-pairs\",\"at\":"
           "{\"revision\":4}}]}",
           410,
           "{\"pointer\":\"/queries/0/at\",\"oldest\":{\"revision\":5,\"time\":50},"
           "\"newest\":{\"revision\":6,\"time\":60}}");
    expect(client, "POST", "/v1/scenes/h/commit",
           "{\"time\":70,\"remove\":[\"a\"],\"queries\":[{\"kind\":\"all-pairs\",\"at\":"
           "{\"revision\":5}},{\"kind\":\"all-pairs\",\"at\":{\"revision\":7}}]}",
           200, "{\"revision\":7}");
}
END_TEST

START_TEST(every_kind_of_query_answers)
{
    expect(client, "POST", "/v1/scenes/q/commit",
           "{\"put\":{\"a\":" UNIT ",\"b\":{\"center\":[2,0,0],\"half_extents\":[1,1,1],\"entity\":"
           "\"e\"},\"c\":{\"center\":[10,0,0],\"half_extents\":[1,1,1],\"entity\":\"e\"}}}",
           200, NULL);
    expect(
        client, "POST", "/v1/scenes/q/query/pairs",
        "{\"pairs\":[[\"a\",\"b\"],[\"a\",\"c\"],[\"a\",\"x\"],[\"a\"," UNIT "]]}", 200,
        "{\"revision\":1,\"results\":[{\"overlap\":true},{\"overlap\":false},{\"missing\":[\"x\"],"
        "\"overlap\":null},{\"overlap\":true}]}");
    expect(client, "POST", "/v1/scenes/q/query/pairs",
           "{\"pairs\":[[\"a\",\"b\"],[\"a\",\"c\"]],\"want\":[\"relation\",\"mtv\",\"distance\","
           "\"axis\",\"volume\"]}",
           200,
           "{\"results\":[{\"relation\":\"touching\",\"distance\":0,\"volume\":0,\"iou\":0},"
           "{\"relation\":\"separate\",\"mtv\":null,\"distance\":8,"
           "\"axis\":{\"name\":\"a.x\",\"normal\":[1,0,0],\"gap\":8}}]}");
    expect(client, "POST", "/v1/scenes/q/query/all-pairs", NULL, 200,
           "{\"count\":1,\"pairs\":[[\"a\",\"b\"]]}");
    expect(client, "POST", "/v1/scenes/q/query/all-pairs", "{\"by\":\"id\"}", 200,
           "{\"count\":1,\"pairs\":[1,2]}");
    expect(client, "POST", "/v1/scenes/q/query/all-pairs", "{\"count_only\":true}", 200,
           "{\"count\":1,\"pairs\":null}");
    expect(client, "POST", "/v1/scenes/q/query/all-pairs", "{\"margin\":6}", 200, "{\"count\":2}");
    expect(client, "POST", "/v1/scenes/q/query/all-pairs", "{\"margin\":-0.1}", 200,
           "{\"count\":0}");
    expect(client, "POST", "/v1/scenes/q/query/overlap",
           "{\"shapes\":[\"a\"," UNIT
           ",{\"sphere\":{\"center\":[6,0,0],\"radius\":3}},{\"capsule\":"
           "{\"a\":[0,3,0],\"b\":[10,3,0],\"radius\":2}},\"nobody\"]}",
           200,
           "{\"results\":[{\"boxes\":[\"b\"]},{\"boxes\":[\"a\",\"b\"]},{\"boxes\":[\"b\",\"c\"]},"
           "{\"boxes\":[\"a\",\"b\",\"c\"]},{\"missing\":[\"nobody\"]}]}");
    expect(client, "POST", "/v1/scenes/q/query/point", "{\"points\":[[1,0,0],[5,0,0]]}", 200,
           "{\"results\":[{\"boxes\":[\"a\",\"b\"]},{\"boxes\":[]}]}");
    expect(client, "POST", "/v1/scenes/q/query/ray",
           "{\"rays\":[{\"origin\":[-5,0,0],\"direction\":[2,0,0],\"max_distance\":8},{\"from\":"
           "[0,0,0],\"to\":[0,8,0]}]}",
           200,
           "{\"results\":[{\"hits\":[{\"box\":\"a\",\"distance\":4,\"fraction\":0.5,\"point\":"
           "[-1,0,0],\"normal\":[-1,0,0],\"started_inside\":null}]},{\"hits\":[{\"box\":\"a\","
           "\"distance\":0,\"started_inside\":true,\"normal\":[0,-1,0]}]}]}");
    expect(
        client, "POST", "/v1/scenes/q/query/ray",
        "{\"rays\":[{\"origin\":[-5,0,0],\"direction\":[1,0,0]}],\"mode\":\"all\"}", 200,
        "{\"results\":[{\"hits\":[{\"box\":\"a\",\"fraction\":null},{\"box\":\"b\",\"distance\":6},"
        "{\"box\":\"c\",\"distance\":14}]}]}");
    expect(client, "POST", "/v1/scenes/q/query/ray",
           "{\"rays\":[{\"origin\":[-5,0,0],\"direction\":[1,0,0]}],\"mode\":"
           "\"closest_per_entity\"}",
           200, "{\"results\":[{\"hits\":[{\"box\":\"a\"},{\"box\":\"b\"}]}]}");
    expect(client, "POST", "/v1/scenes/q/query/sweep",
           "{\"sweeps\":[{\"box\":{\"center\":[-6,0,0],\"half_extents\":[1,1,1]},\"motion\":"
           "[8,0,0]}]}",
           200,
           "{\"results\":[{\"hits\":[{\"box\":\"a\",\"fraction\":0.5,\"normal\":[-1,0,0]}]}]}");
    expect(
        client, "POST", "/v1/scenes/q/query/nearest", "{\"points\":[[5,0,0]],\"k\":2}", 200,
        "{\"results\":[{\"boxes\":[{\"box\":\"b\",\"distance\":2,\"point\":[3,0,0]},{\"box\":\"a\","
        "\"distance\":4}]}]}");
    expect(client, "POST", "/v1/scenes/q/query/all-pairs", "{\"filter\":{\"exclude\":[\"b\"]}}",
           200, "{\"count\":0}");
    expect(client, "POST", "/v1/scenes/q/query/point",
           "{\"points\":[[1,0,0]],\"limit\":1,\"want\":[\"entity\"]}", 200,
           "{\"results\":[{\"boxes\":[{\"box\":\"a\",\"entity\":null}],\"truncated\":true,"
           "\"count\":2}]}");
    expect_problem(client, "POST", "/v1/scenes/none/query/point", "{\"points\":[[1,0,0]]}", 404,
                   NULL);
    expect_problem(client, "POST", "/v1/scenes/q/query/guess", "{}", 404, NULL);
}
END_TEST

START_TEST(every_refusal_says_what_is_wrong_and_where)
{
    static const struct {
        const char *body;
        long status;
        const char *pointer;
    } boxes[] = {
        {"{", 400, NULL},
        {"{\"center\":[0,0,0],\"half_extents\":[1,1,1]} x", 400, NULL},
        {"{\"center\":[NaN,0,0],\"half_extents\":[1,1,1]}", 400, NULL},
        {"\xef\xbb\xbf{\"center\":[0,0,0],\"half_extents\":[1,1,1]}", 400, NULL},
        {"{\"center\":[0,0,0],\"center\":[0,0,0],\"half_extents\":[1,1,1]}", 400, NULL},
        {"{\"data\":\"\\ud800\",\"center\":[0,0,0],\"half_extents\":[1,1,1]}", 400, NULL},
        {"[]", 422, ""},
        {"42", 422, ""},
        {"{}", 422, ""},
        {"{\"center\":[0,0,0]}", 422, ""},
        {"{\"centre\":[0,0,0],\"half_extents\":[1,1,1]}", 422, "/centre"},
        {"{\"center\":[0,0,0],\"half_extents\":[1,1]}", 422, "/half_extents"},
        {"{\"center\":[0,0,\"0\"],\"half_extents\":[1,1,1]}", 422, "/center/2"},
        {"{\"center\":[0,1e309,0],\"half_extents\":[1,1,1]}", 422, "/center/1"},
        {"{\"center\":[0,2e9,0],\"half_extents\":[1,1,1]}", 422, "/center/1"},
        {"{\"center\":[0,0,0],\"half_extents\":[1,1,-0.5]}", 422, "/half_extents/2"},
        {"{\"center\":[0,0,0],\"half_extents\":[1,1,1],\"rotation\":[0,0,0,0]}", 422, "/rotation"},
        {"{\"center\":[0,0,0],\"half_extents\":[1,1,1],\"axes\":[[1,0,0],[0.1,1,0],[0,0,1]]}", 422,
         "/axes"},
        {"{\"matrix\":[1,0,0,0,0.5,1,0,0,0,0,1,0,0,0,0,1]}", 422, "/matrix"},
        {"{\"points\":[]}", 422, "/points"},
        {"{\"points\":[[0,0,0]],\"fit\":\"loose\"}", 422, "/fit"},
        {"{\"corners\":[[0,0,0],[1,0,0],[0,1,0],[1,1,0],[0,0,1],[1,0,1],[0,1,1],[1,1,2]]}", 422,
         "/corners"},
        {"{\"min\":[0,0,0],\"max\":[1,-1,1]}", 422, "/max"},
        {"{\"center\":[0,0,0],\"half_extents\":[1,1,1],\"category\":4294967296}", 422, "/category"},
        {"{\"center\":[0,0,0],\"half_extents\":[1,1,1],\"group\":1.5}", 422, "/group"},
        {"{\"center\":[0,0,0],\"half_extents\":[1,1,1],\"entity\":\"\"}", 422, "/entity"},
    };
    for (size_t i = 0; i < sizeof boxes / sizeof *boxes; i++)
        expect_problem(client, "PUT", "/v1/scenes/s/boxes/b", boxes[i].body, boxes[i].status,
                       boxes[i].pointer);
    expect_problem(client, "GET", "/v1/scenes/s", NULL, 404,
                   NULL); /* nothing was made on the way */

    expect(client, "PUT", "/v1/scenes/s", "{}", 201, NULL);
    static const struct {
        const char *kind, *body;
        const char *pointer;
    } queries[] = {
        {"point", "{}", ""},
        {"point", "{\"points\":[[0,0]]}", "/points/0"},
        {"ray", "{\"rays\":[{\"origin\":[0,0,0],\"direction\":[0,0,0]}]}", "/rays/0/direction"},
        {"ray", "{\"rays\":[{\"origin\":[0,0,0],\"direction\":[0,0,1],\"max_distance\":-1}]}",
         "/rays/0/max_distance"},
        {"ray", "{\"rays\":[],\"mode\":\"some\"}", "/mode"},
        {"point", "{\"points\":[],\"mode\":\"all\"}", "/mode"},
        {"point", "{\"points\":[],\"margin\":1}", "/margin"},
        {"ray", "{\"rays\":[],\"want\":[\"mtv\"]}", "/want/0"},
        {"all-pairs", "{\"want\":[\"everything\"]}", "/want/0"},
        {"all-pairs", "{\"filter\":{\"categories\":1}}", "/filter/categories"},
        {"all-pairs", "{\"at\":{\"ago\":-1}}", "/at/ago"},
        {"all-pairs", "{\"limit\":-1}", "/limit"},
        {"nearest", "{\"points\":[[0,0,0]],\"k\":-1}", "/k"},
        {"overlap", "{\"shapes\":[{\"sphere\":{\"center\":[0,0,0],\"radius\":-1}}]}",
         "/shapes/0/sphere/radius"},
        {"pairs", "{\"pairs\":[[\"a\"]]}", "/pairs/0"},
    };
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++)
        expect_problem(client, "POST", test_text("/v1/scenes/s/query/%s", queries[i].kind),
                       queries[i].body, 422, queries[i].pointer);
    printf("%zu refusals checked\n",
           sizeof boxes / sizeof *boxes + sizeof queries / sizeof *queries);
}
END_TEST

START_TEST(http_manners)
{
    expect(client, "PUT", "/v1/scenes/s/boxes/a", UNIT, 201, NULL);
    struct http_answer answer = {0};
    http_send(client, "GET", "/v1/scenes/s/boxes/a", NULL, NULL, &answer);
    const char *tag = test_text("\"1.%s\"", http_header(&answer, "Obbd-Epoch"));
    ck_assert_str_eq(http_header(&answer, "ETag"), tag);
    ck_assert_str_eq(http_header(&answer, "Content-Type"), "application/json");
    http_send(client, "GET", "/v1/scenes/s/boxes/a", (const char *[]){"If-None-Match: \"1\"", NULL},
              NULL, &answer);
    ck_assert_int_eq(answer.status, 304);
    ck_assert_str_eq(http_header(&answer, "Vary"), "Accept"); /* JSON and CBOR have one ETag */
    http_send(client, "GET", "/v1/scenes/s/boxes/a", (const char *[]){"If-None-Match: \"0\"", NULL},
              NULL, &answer);
    ck_assert_int_eq(answer.status, 200);
    ck_assert_str_eq(http_header(&answer, "Vary"), "Accept");
    http_send(client, "GET", "/healthz", NULL, NULL, &answer);
    ck_assert_ptr_null(http_header(&answer, "Vary"));
    http_send(client, "HEAD", "/v1/scenes/s/boxes/a", NULL, NULL, &answer);
    ck_assert_int_eq(answer.status, 200);
    ck_assert_uint_eq(answer.length, 0);
    static const char *const streams[] = {"/v1/scenes/s/export", "/v1/scenes/s/events"};
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
        http_send(client, "HEAD", streams[i], NULL, NULL, &answer);
        ck_assert_int_eq(answer.status, 200);
        ck_assert_uint_eq(answer.length, 0);
        ck_assert_ptr_null(http_header(&answer, "Content-Length"));
        ck_assert_ptr_null(http_header(&answer, "Transfer-Encoding"));
    }
    http_send(client, "OPTIONS", "/v1/scenes/s/boxes/a", NULL, NULL, &answer);
    ck_assert_int_eq(answer.status, 204);
    const char *allow = http_header(&answer, "Allow");
    ck_assert_msg(allow != NULL && strstr(allow, "PATCH") != NULL, "Allow: %s", allow);
    http_send(client, "POST", "/v1/scenes/s", NULL, "{}", &answer);
    ck_assert_int_eq(answer.status, 405);
    ck_assert_ptr_nonnull(http_header(&answer, "Allow"));
    http_send(client, "GET", "/v1/scenes/s", (const char *[]){"Accept: image/png", NULL}, NULL,
              &answer);
    ck_assert_int_eq(answer.status, 406);
    http_send(client, "PUT", "/v1/scenes/s/boxes/b",
              (const char *[]){"Content-Type: text/plain", NULL}, UNIT, &answer);
    ck_assert_int_eq(answer.status, 415);
    http_send(client, "PUT", "/v1/scenes/s/boxes/a", (const char *[]){"If-Match: \"7\"", NULL},
              UNIT, &answer);
    ck_assert_int_eq(answer.status, 412);
    http_send(client, "GET", "/v1/scenes/s", (const char *[]){"Host: evil.example", NULL}, NULL,
              &answer);
    ck_assert_int_eq(answer.status, 403);
    http_answer_fini(&answer);

    expect_problem(client, "GET", "/nowhere", NULL, 404, NULL);
    expect_problem(client, "GET", "/v1/scenes?limit=0", NULL, 400, NULL);
    expect_problem(client, "GET", "/v1/scenes?limt=1", NULL, 400, NULL);
    expect_problem(client, "GET", "/v1/scenes?limit=1&limit=1", NULL, 400, NULL);
    expect(client, "GET", "/healthz", NULL, 200, NULL);
    expect(client, "GET", "/readyz", NULL, 200, NULL);
    expect(client, "GET", "/metrics", NULL, 200, NULL);
    expect(client, "GET", "/openapi.json", NULL, 200, "{\"openapi\":\"3.1.0\"}");
}
END_TEST

START_TEST(lists_go_on_where_they_stopped_while_the_scene_changes)
{
    for (int i = 0; i < 25; i++)
        expect(client, "PUT", test_text("/v1/scenes/s/boxes/%s-%02d", i % 2 ? "odd" : "even", i),
               UNIT, 201, NULL);
    struct http_answer answer = {0};
    char path[512] = "/v1/scenes/s/boxes?limit=10&prefix=odd-";
    http_send(client, "GET", path, NULL, NULL, &answer);
    ck_assert_int_eq(answer.status, 200);
    const char *cursor = strstr(answer.body, "\"cursor\":\"");
    ck_assert_ptr_nonnull(cursor);
    cursor += strlen("\"cursor\":\"");
    (void)snprintf(path, sizeof path, "/v1/scenes/s/boxes?limit=10&prefix=odd-&cursor=%.*s",
                   (int)strcspn(cursor, "\""), cursor);
    http_answer_fini(&answer);
    expect(client, "DELETE", "/v1/scenes/s/boxes/odd-03", NULL, 204, NULL);
    expect(client, "DELETE", "/v1/scenes/s/boxes/odd-21", NULL, 204, NULL);
    expect(client, "PUT", "/v1/scenes/s/boxes/odd-99", UNIT, 201, NULL);
    expect(client, "GET", path, NULL, 200,
           "{\"boxes\":[{\"name\":\"odd-23\"},{\"name\":\"odd-99\"}],\"cursor\":null}");
    expect_problem(client, "GET", "/v1/scenes/s/boxes?cursor=!", NULL, 400, NULL);
    expect_problem(client, "GET", "/v1/scenes/s/boxes?limit=10001", NULL, 400, NULL);
}
END_TEST

START_TEST(a_client_over_its_rate_waits_as_long_as_it_is_told)
{
    struct test_daemon strict;
    daemon_start(&strict, (const char *const[]){"--client-rate", "5", NULL});
    struct http_client *eager = http_open(strict.url);
    struct http_answer answer = {0};
    long admitted = 0, refused = 0;
    for (; refused < 3 && admitted < 10000; refused += answer.status == 429) {
        http_send(eager, "GET", "/v1/scenes", NULL, NULL, &answer);
        admitted += answer.status == 200;
    }
    ck_assert_int_ge(admitted, 5);
    ck_assert_int_eq(refused, 3);
    ck_assert_ptr_nonnull(strstr(answer.body, "\"/problems/too-many-requests\""));
    const char *wait = http_header(&answer, "Retry-After");
    ck_assert_ptr_nonnull(wait);
    char *end;
    const long seconds = strtol(wait, &end, 10);
    ck_assert(*end == '\0' && seconds >= 1 && seconds <= 60);
    for (int i = 0; i < 50; i++) {
        expect(eager, "GET", "/healthz", NULL, 200, NULL);
        expect(eager, "GET", "/readyz", NULL, 200, NULL);
    }
    nanosleep(&(struct timespec){.tv_sec = seconds}, NULL);
    expect(eager, "GET", "/v1/scenes", NULL, 200, NULL);
    http_send(eager, "GET", "/metrics", NULL, NULL, &answer);
    ck_assert_int_eq(answer.status, 200);
    ck_assert_ptr_nonnull(strstr(answer.body, "\nobbd_client_rate_exceeded_total 3\n"));
    ck_assert_ptr_nonnull(strstr(answer.body, "\nobbd_client_rate_limit 5\n"));
    printf("%ld admitted, %ld refused\n", admitted, refused);
    http_answer_fini(&answer);
    http_close(eager);
    ck_assert_int_eq(daemon_stop(&strict), 0);
}
END_TEST

/* Status 1, nothing on stdout, and on stderr one line, in which nothing could move the cursor of a
 * terminal. */
static void expect_refusal(const char *const *arguments, char *out, size_t out_size, char *err,
                           size_t err_size)
{
    ck_assert_int_eq(daemon_run(arguments, out, out_size, err, err_size), 1);
    ck_assert_msg(out[0] == '\0', "%s: %s", arguments[0], out);
    size_t length = 0;
    while (err[length] != '\0' && !iscntrl((unsigned char)err[length]))
        length++;
    ck_assert_msg(length > 0 && strcmp(err + length, "\n") == 0, "%s: not one line: %s",
                  arguments[0], err);
}

START_TEST(options_that_are_wrong_end_at_once_with_one_line)
{
    const char *fifo = test_text("%s/obbd-fifo-%d", test_folder(), (int)getpid());
    const char *const wrong[][4] = {
        {"--bogus", NULL},
        {"--listen", "127.0.0.1:notaport", NULL},
        {"--listen", "127.0.0.1:70000", NULL},
        {"--listen", NULL},
        {"--workers", "0", NULL},
        {"--workers", "many", NULL},
        {"--listen", "0.0.0.0:0", NULL}, /* beyond loopback needs tokens or a word of consent */
        {"--data", "/dev/null", NULL},
        {"--host", "a b", NULL},
        {"--cors-origin", "https://editor.example/", NULL},
        {"--scopes", "read", NULL},
        {"--new-token", "a\nb", NULL},
        {"--a\nb", NULL},
        {"--listen", "a\nb", NULL},
        {"--listen", "unix:/nowhere/a\r\x1b[31m\n", NULL},
        {"--probe", "--listen", "unix:/nowhere/a\nb", NULL},
        {"--token-file", "/nowhere/a\nb", NULL},
        {"--token-file", "/", NULL},
        {"--token-file", "/dev/zero", NULL},
        {"--tls-cert=/dev/zero", "--tls-key=/dev/zero", NULL},
        {"--token-file", fifo, NULL},
    };
    char out[65536], err[65536];
    ck_assert_int_eq(mkfifo(fifo, 0600), 0);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        expect_refusal(wrong[i], out, sizeof out, err, sizeof err);
    ck_assert_int_eq(unlink(fifo), 0);
    ck_assert_int_eq(daemon_run((const char *[]){"--help", NULL}, out, sizeof out, err, sizeof err),
                     0);
    ck_assert_msg(strstr(out, "--listen") != NULL && strstr(out, "OBBD_LISTEN") != NULL, "%s", out);
    ck_assert_str_eq(err, "");
    ck_assert_int_eq(
        daemon_run((const char *[]){"--version", NULL}, out, sizeof out, err, sizeof err), 0);
    ck_assert_msg(strncmp(out, "obbd ", 5) == 0, "%s", out);
    const char *taken = test_text("127.0.0.1:%d", daemon.port);
    expect_refusal((const char *[]){"--listen", taken, NULL}, out, sizeof out, err, sizeof err);
    ck_assert_msg(strstr(err, "in use") != NULL, "%s", err);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("contract");
    TCase *tc = tcase_create("contract");
    tcase_add_checked_fixture(tc, start, stop);
    tcase_set_timeout(tc, test_timeout(60));
    tcase_add_test(tc, a_scene_is_made_changed_listed_and_deleted);
    tcase_add_test(tc, boxes_are_put_in_columns);
    tcase_add_test(tc, rays_in_columns_have_their_own_times);
    tcase_add_test(tc, a_row_that_found_nothing_is_box_0_and_zeros);
    tcase_add_test(tc, a_box_is_put_read_patched_moved_and_deleted);
    tcase_add_test(tc, a_patch_makes_neither_a_box_nor_a_scene);
    tcase_add_test(tc, what_is_no_name_is_told_first);
    tcase_add_test(tc, a_stream_of_events_begins_with_a_state_that_is_new_enough);
    tcase_add_test(tc, doubles_read_back_to_the_same_bits);
    tcase_add_test(tc, a_box_slides_over_the_floor_on_which_it_stands);
    tcase_add_test(tc, penetration_is_what_parts_a_sphere_and_a_box);
    tcase_add_test(tc, a_transform_that_moves_nothing_is_none);
    tcase_add_test(tc, points_nearly_on_a_line_have_a_tight_box);
    tcase_add_test(tc, names_are_any_text_and_paths_decode_them);
    tcase_add_test(tc, a_commit_is_all_or_nothing);
    tcase_add_test(tc, of_fifty_queries_the_bad_one_is_named);
    tcase_add_test(tc, a_history_that_was_overrun_says_what_is_left);
    tcase_add_test(tc, every_kind_of_query_answers);
    tcase_add_test(tc, every_refusal_says_what_is_wrong_and_where);
    tcase_add_test(tc, http_manners);
    tcase_add_test(tc, lists_go_on_where_they_stopped_while_the_scene_changes);
    tcase_add_test(tc, a_client_over_its_rate_waits_as_long_as_it_is_told);
    tcase_add_test(tc, options_that_are_wrong_end_at_once_with_one_line);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
