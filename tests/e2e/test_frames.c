/* Frames, as a client sees them: what a pose of a frame does to the boxes in it, how a box is put
 * into a frame and taken out, and the routes of frames. The expected poses were computed by hand: a
 * quarter turn about y takes z to x and x to -z. */
#include "tests/support/cbor.h"
#include "tests/support/daemon.h"
#include "tests/support/expect.h"
#include "tests/support/test.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define SCENE   "/v1/scenes/s"
#define COMMIT  SCENE "/commit"
#define BOXES   SCENE "/boxes"
#define FRAMES  SCENE "/frames"
#define HALF    "\"half_extents\":[1,1,1]"
#define UNIT    "{\"center\":[0,0,0]," HALF "}"
#define QUARTER "\"axis_angle\":{\"axis\":[0,1,0],\"degrees\":90}"
#define TURNED  "[0,0.7071067811865476,0,0.7071067811865476]" /* the same as a quaternion */
#define UPRIGHT "[0,0,0,1]"

static struct test_daemon daemon;
static struct http_client *client;

/* A scene at time 1000: `ann` is turned a quarter about y and stands at x = 1, with the box `limb`
 * two before her. `free` is in no frame. */
static void setup(void)
{
    daemon_start(&daemon, NULL);
    client = http_open(daemon.url);
    expect(client, "POST", COMMIT,
           "{\"time\":1000,\"frames\":{\"ann\":{\"center\":[1,0,0]," QUARTER
           "}},\"put\":{\"limb\":{\"frame\":\"ann\",\"center\":[0,0,2]," HALF
           "},\"free\":{\"center\":[0,50,0]," HALF "}}}",
           200, "{\"revision\":1,\"frames\":1,\"put\":2,\"posed\":0,\"removed_frames\":null}");
}

static void teardown(void)
{
    http_close(client);
    ck_assert_int_eq(daemon_stop(&daemon), 0);
}

static void commit(const char *body, const char *holds)
{
    expect(client, "POST", COMMIT, body, 200, holds);
}

static void box_is(const char *box, const char *holds)
{
    expect(client, "GET", test_text(BOXES "/%s", box), NULL, 200, holds);
}

/* The pose of `limb` as it was put. */
#define LIMB                                                         \
    "{\"center\":[3,0,0],\"rotation\":" TURNED ",\"frame\":\"ann\"," \
    "\"local\":{\"center\":[0,0,2],\"rotation\":" UPRIGHT "}}"

START_TEST(a_pose_of_a_frame_is_one_of_each_of_its_boxes)
{
    box_is("limb", LIMB);
    box_is("free", "{\"center\":[0,50,0],\"frame\":null,\"local\":null}");
    /* her rotation stays, as it is not stated */
    commit("{\"time\":1010,\"frames\":{\"ann\":{\"center\":[11,0,0]}}}",
           "{\"revision\":2,\"frames\":1,\"put\":0,\"posed\":0}");
    box_is("limb", "{\"center\":[13,0,0],\"rotation\":" TURNED
                   ",\"changed\":2,\"local\":{\"center\":[0,0,2],\"rotation\":" UPRIGHT "}}");
    box_is("free", "{\"changed\":1}");
    /* and her place, when only the rotation is */
    commit("{\"time\":1020,\"frames\":{\"ann\":{\"rotation\":" UPRIGHT "}}}", "{\"revision\":3}");
    box_is("limb", "{\"center\":[11,0,2],\"rotation\":" UPRIGHT ",\"changed\":3}");
    commit("{\"time\":1020,\"frames\":{\"ann\":{\"center\":[11,0,0],\"rotation\":" UPRIGHT "}}}",
           "{\"revision\":3}"); /* the same pose again is no change */
    /* the pose of the box is one in the frame */
    commit("{\"frames\":{\"ann\":{" QUARTER "}},\"pose\":{\"limb\":{\"center\":[0,0,5]}}}",
           "{\"revision\":4,\"posed\":1}");
    box_is("limb", "{\"center\":[16,0,0],\"local\":{\"center\":[0,0,5],\"rotation\":" UPRIGHT "}}");
}
END_TEST

/* More members than one byte of a head of CBOR can count. */
START_TEST(a_box_with_all_its_members_is_the_same_in_both_media)
{
    commit("{\"put\":{\"all\":{\"frame\":\"ann\",\"center\":[0,0,0]," HALF
           ",\"entity\":\"e\",\"data\":{\"a\":1},\"ttl\":1e6}}}",
           "{\"revision\":2}");
    const char *path = BOXES "/all?include=axes,corners,planes,edges,aabb,matrix,volume"
                             "&at_revision=2";
    static struct http_answer json, cbor;
    http_send(client, "GET", path, NULL, NULL, &json);
    http_send(client, "GET", path, (const char *[]){"Accept: application/cbor", NULL}, NULL, &cbor);
    ck_assert_int_eq(json.status, 200);
    ck_assert_int_eq(cbor.status, 200);
    json_t *one = json_loadb(json.body, json.length, 0, NULL);
    json_t *other = cbor_read(cbor.body, cbor.length);
    ck_assert(one != NULL && other != NULL);
    ck_assert_uint_gt(json_object_size(one), 23);
    ck_assert_uint_eq(json_object_size(other), json_object_size(one));
    const char *name;
    json_t *member;
    json_object_foreach(one, name, member)
        ck_assert_int_eq(json_is_null(json_object_get(other, name)), json_is_null(member));
    json_decref(one);
    json_decref(other);
}
END_TEST

START_TEST(the_past_shows_boxes_where_they_were)
{
    commit("{\"time\":1010,\"frames\":{\"ann\":{\"center\":[11,0,0]}},"
           "\"pose\":{\"limb\":{\"center\":[0,0,4]}}}",
           "{\"revision\":2}");
    box_is("limb?at_time=1000", LIMB);
    box_is("limb?at_time=1010",
           "{\"center\":[15,0,0],\"local\":{\"center\":[0,0,4],\"rotation\":" UPRIGHT "}}");
    /* in between, center and rotation are those of the way, frame and local those of before */
    box_is("limb?at_time=1002.5", "{\"center\":[6,0,0],\"frame\":\"ann\",\"local\":{\"center\":"
                                  "[0,0,2],\"rotation\":" UPRIGHT "}}");
    expect(client, "GET", FRAMES "/ann?at_time=1002.5", NULL, 200,
           "{\"center\":[3.5,0,0],\"rotation\":" TURNED "}");
    /* who shot at it then has hit it there */
    expect(client, "POST", SCENE "/query/ray",
           "{\"at\":{\"time\":1002.5},\"rays\":[{\"from\":[6,9,0],\"to\":[6,0,0]}]}", 200,
           "{\"results\":[{\"hits\":[{\"box\":\"limb\",\"distance\":8,\"fraction\":"
           "0.8888888888888888,\"point\":[6,1,0],\"normal\":[0,1,0]}]}]}");
    /* a frame that is moved at once is not seen on its way, and neither are its boxes */
    commit("{\"time\":1020,\"frames\":{\"ann\":{\"center\":[31,0,0],\"teleport\":true}}}",
           "{\"revision\":3}");
    box_is("limb?at_time=1015", "{\"center\":[15,0,0]}");
    box_is("limb?at_time=1020", "{\"center\":[35,0,0]}");
    commit("{\"time\":1030,\"remove_frames\":[\"ann\"]}", "{\"removed\":1,\"removed_frames\":1}");
    box_is("limb?at_time=1025", "{\"center\":[35,0,0],\"frame\":\"ann\"}");
}
END_TEST

START_TEST(a_box_enters_and_leaves_a_frame)
{
    /* what was read can be put back */
    expect(client, "PUT", BOXES "/limb",
           "{\"frame\":\"ann\",\"local\":{\"center\":[0,0,2],\"rotation\":" UPRIGHT "}," HALF "}",
           200, LIMB);
    box_is("limb", "{\"revision\":1,\"changed\":1}"); /* to the bit: it is no change */
    static const struct {
        const char *body, *pointer;
    } wrong[] = {
        {"{\"frame\":\"ann\",\"local\":{\"center\":[0,0,2]},\"center\":[0,0,2]," HALF "}",
         "/center"},
        {"{\"frame\":\"ann\",\"center\":[0,0,2],\"local\":{\"center\":[0,0,2]}," HALF "}",
         "/local"},
        {"{\"frame\":\"ann\",\"local\":{\"center\":[0,0,2]},\"rotation\":" UPRIGHT "," HALF "}",
         "/rotation"},
        {"{\"local\":{\"center\":[0,0,2]}," HALF "}", "/local"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        expect_problem(client, "PUT", BOXES "/limb", wrong[i].body, 422, wrong[i].pointer);
    box_is("limb", LIMB);

    commit("{\"frames\":{\"bob\":{\"center\":[0,0,9]}}}", "{\"revision\":2}");
    /* another frame, the same place in the scene: seen from bob it is turned, and at z = -9 */
    expect(client, "PATCH", BOXES "/limb", "{\"frame\":\"bob\"}", 200,
           "{\"center\":[3,0,0],\"rotation\":" TURNED ",\"frame\":\"bob\",\"local\":{\"center\":"
           "[3,0,-9],\"rotation\":" TURNED "}}");
    /* a pose that is stated with the frame is one in it */
    expect(client, "PATCH", BOXES "/limb", "{\"frame\":\"ann\",\"center\":[0,0,1]}", 200,
           "{\"center\":[2,0,0],\"frame\":\"ann\"}");
    expect(client, "PATCH", BOXES "/limb", "{\"center\":[0,0,7]}", 200,
           "{\"center\":[8,0,0],\"frame\":\"ann\"}");
    expect(client, "PATCH", BOXES "/limb", "{\"frame\":null}", 200,
           "{\"center\":[8,0,0],\"frame\":null,\"local\":null}");
    commit("{\"frames\":{\"ann\":{\"center\":[99,0,0]}}}", NULL);
    box_is("limb", "{\"center\":[8,0,0]}"); /* it is hers no more */
    expect(client, "PUT", BOXES "/limb", "{\"frame\":\"bob\",\"center\":[0,0,1]," HALF "}", 200,
           "{\"center\":[0,0,10],\"frame\":\"bob\"}");
    expect(client, "PUT", BOXES "/limb", UNIT, 200, "{\"center\":[0,0,0],\"frame\":null}");
}
END_TEST

/* `x` was put into a frame in some form, which is about (2, 3, 5) of the frame. It must lie in the
 * scene as `holds` says, and be where the probe of that name is when it stands there for a question
 * only. */
static void lies(const char *scene, const char *frame, const char *form, const char *holds,
                 const char *probe)
{
    char path[64], body[512];
    (void)snprintf(path, sizeof path, "/v1/scenes/%s/boxes/x", scene);
    (void)snprintf(body, sizeof body, "{\"frame\":\"%s\",%s}", frame, form);
    expect(client, "PUT", path, body, 201, NULL); /* a new one */
    expect(client, "GET", test_text("%s?include=aabb", path), NULL, 200, holds);
    expect(client, "PATCH", path, "{\"frame\":null}", 200, NULL);
    expect(client, "PUT", path, body, 200, NULL); /* and one that is there */
    expect(client, "GET", test_text("%s?include=aabb", path), NULL, 200, holds);
    (void)snprintf(path, sizeof path, "/v1/scenes/%s/query/overlap", scene);
    (void)snprintf(body, sizeof body,
                   "{\"filter\":{\"prefix\":\"a\"},\"shapes\":[{\"frame\":\"%s\",%s}]}", frame,
                   form);
    expect(client, "POST", path, body, 200,
           test_text("{\"results\":[{\"boxes\":[\"%s\"]}]}", probe));
    (void)snprintf(path, sizeof path, "/v1/scenes/%s/commit", scene);
    (void)snprintf(body, sizeof body, "{\"remove\":[\"x\"],\"put\":{\"x\":{\"frame\":\"%s\",%s}}}",
                   frame, form);
    expect(client, "POST", path, body, 200, "{\"removed\":1,\"put\":1}");
    (void)snprintf(path, sizeof path, "/v1/scenes/%s/boxes/x", scene);
    expect(client, "GET", test_text("%s?include=aabb", path), NULL, 200, holds);
    expect(client, "DELETE", path, NULL, 204, "");
}

#define EIGHT "[[1,1,2],[3,1,2],[1,5,2],[3,5,2],[1,1,8],[3,1,8],[1,5,8],[3,5,8]]" /* of the box */

/* In the frame of ann, (x, y, z) is (1 + z, y, -x) of the scene: (2, 3, 5) is (6, 3, -2). A box of
 * half extents 1, 2 and 3 along her axes has 3, 2 and 1 along those of the scene. */
START_TEST(every_form_of_a_box_may_stand_in_a_frame)
{
    static const char along[] = "{\"center\":[6,3,-2],\"frame\":\"ann\",\"aabb\":{\"min\":"
                                "[3,1,-3],\"max\":[9,5,-1]}}",
                      across[] = "{\"center\":[6,3,-2],\"frame\":\"ann\",\"aabb\":{\"min\":"
                                 "[5,1,-5],\"max\":[7,5,1]}}";
    static const struct {
        const char *form;
        bool across; /* a quarter turn about y in the frame, too */
    } rows[] = {
        {"\"center\":[2,3,5],\"half_extents\":[1,2,3]", false},
        {"\"center\":[2,3,5],\"half_extents\":[1,2,3],\"rotation\":[0,1,0,0]", false},
        {"\"center\":[2,3,5],\"half_extents\":[1,2,3]," QUARTER, true},
        {"\"center\":[2,3,5],\"half_extents\":[1,2,3],\"axes\":[[0,0,-1],[0,1,0]]", true},
        {"\"center\":[2,3,5],\"half_extents\":[1,2,3],\"axes\":[[0,0,-1],[0,1,0],[1,0,0]]", true},
        {"\"local\":{\"center\":[2,3,5]},\"half_extents\":[1,2,3]", false},
        {"\"local\":{\"center\":[2,3,5]," QUARTER "},\"half_extents\":[1,2,3]", true},
        {"\"min\":[1,1,2],\"max\":[3,5,8]", false},
        {"\"min\":[-1,-2,-3],\"max\":[1,2,3],\"position\":[2,3,5]," QUARTER, true},
        /* turned half about y, the corners are those from (1, 1, 2) to (3, 5, 8) */
        {"\"min\":[0,0,0],\"max\":[2,4,6],\"position\":[3,1,8],\"rotation\":[0,1,0,0]", false},
        {"\"matrix\":[1,0,0,0,0,2,0,0,0,0,3,0,2,3,5,1]", false},
        {"\"matrix\":[2,0,0,0,0,2,0,0,0,0,3,0,2,3,5,1],\"half_extents\":[0.5,1,1]", false},
        {"\"matrix\":[-1,0,0,0,0,2,0,0,0,0,3,0,2,3,5,1]", false}, /* a mirror */
        {"\"matrix\":[0,0,-1,0,0,2,0,0,3,0,0,0,2,3,5,1]", true},
        {"\"points\":[[1,1,2],[3,5,8]],\"fit\":\"aabb\"", false},
        {"\"points\":" EIGHT ",\"fit\":\"pca\"", false},
        {"\"points\":" EIGHT ",\"fit\":\"tight\"", false},
        {"\"corners\":" EIGHT, false},
    };
    commit("{\"put\":{\"along\":{\"center\":[8.5,4.5,-1.5],\"half_extents\":[0.25,0.25,0.25]},"
           "\"across\":{\"center\":[6.5,4.5,0.5],\"half_extents\":[0.25,0.25,0.25]}}}",
           NULL);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        lies("s", "ann", rows[i].form, rows[i].across ? across : along,
             rows[i].across ? "across" : "along");
    printf("%zu forms in a frame\n", sizeof rows / sizeof rows[0]);
}
END_TEST

#define FOUR "[[1,1],[3,1],[1,5],[3,5]]"

/* In the frame g, (x, y) is (1 - y, x) of the scene: (2, 3) is (-2, 2). */
START_TEST(every_form_of_a_box_of_the_plane_may_stand_in_a_frame)
{
    static const char along[] = "{\"center\":[-2,2],\"frame\":\"g\",\"aabb\":{\"min\":[-4,1],"
                                "\"max\":[0,3]}}",
                      across[] = "{\"center\":[-2,2],\"frame\":\"g\",\"aabb\":{\"min\":[-3,0],"
                                 "\"max\":[-1,4]}}";
    static const struct {
        const char *form;
        bool across;
    } rows[] = {
        {"\"center\":[2,3],\"half_extents\":[1,2]", false},
        {"\"center\":[2,3],\"half_extents\":[1,2],\"angle\":90", true},
        {"\"local\":{\"center\":[2,3],\"angle\":90},\"half_extents\":[1,2]", true},
        {"\"min\":[1,1],\"max\":[3,5]", false},
        {"\"min\":[-1,-2],\"max\":[1,2],\"position\":[2,3],\"angle\":90", true},
        {"\"points\":[[1,1],[3,5]],\"fit\":\"aabb\"", false},
        {"\"points\":" FOUR ",\"fit\":\"pca\"", false},
        {"\"points\":" FOUR ",\"fit\":\"tight\"", false},
        {"\"corners\":" FOUR, false},
    };
    expect(client, "PUT", "/v1/scenes/p", "{\"dimensions\":2}", 201, NULL);
    expect(client, "POST", "/v1/scenes/p/commit",
           "{\"frames\":{\"g\":{\"center\":[1,0],\"angle\":90}},\"put\":{"
           "\"along\":{\"center\":[-3.5,1.5],\"half_extents\":[0.25,0.25]},"
           "\"across\":{\"center\":[-1.5,3.5],\"half_extents\":[0.25,0.25]}}}",
           200, NULL);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        lies("p", "g", rows[i].form, rows[i].across ? across : along,
             rows[i].across ? "across" : "along");
    printf("%zu forms in a frame of the plane\n", sizeof rows / sizeof rows[0]);
}
END_TEST

START_TEST(boxes_in_columns_stand_in_their_frames)
{
    commit("{\"frames\":{\"bob\":{\"center\":[0,0,9]}}}", NULL);
    /* limb leaves its frame, free comes into one, and two are new */
    commit("{\"put\":{\"names\":[\"hand\",\"limb\",\"free\",\"foot\"],"
           "\"centers\":[0,0,2,4,5,6,1,2,3,2,3,5],\"half_extents\":[1,1,1,1,1,1,1,1,1,1,2,3],"
           "\"rotations\":[0,0,0,1,0,0,0,1,0,0,0,1,0,1,0,0],"
           "\"frames\":[\"ann\",null,\"bob\",\"ann\"]}}",
           "{\"put\":4,\"ids\":[3,1,2,4]}");
    box_is("hand", "{\"center\":[3,0,0],\"rotation\":" TURNED ",\"frame\":\"ann\",\"local\":{"
                   "\"center\":[0,0,2],\"rotation\":" UPRIGHT "}}");
    box_is("limb", "{\"center\":[4,5,6],\"rotation\":" UPRIGHT ",\"frame\":null,\"local\":null}");
    box_is("free", "{\"center\":[1,2,12],\"rotation\":" UPRIGHT ",\"frame\":\"bob\",\"local\":{"
                   "\"center\":[1,2,3],\"rotation\":" UPRIGHT "}}");
    /* a quarter and a half turn */
    box_is("foot?include=aabb",
           "{\"center\":[6,3,-2],\"rotation\":[0,0.7071067811865476,0,-0.7071067811865476],"
           "\"half_extents\":[1,2,3],\"aabb\":{\"min\":[3,1,-3],\"max\":[9,5,-1]},\"frame\":"
           "\"ann\",\"local\":{\"center\":[2,3,5],\"rotation\":[0,1,0,0]}}");
    /* one frame for all, in which they are moved */
    commit("{\"put\":{\"names\":[\"limb\",\"free\"],\"centers\":[0,0,2,0,1,3],"
           "\"half_extents\":[1,1,1],\"frames\":\"ann\"}}",
           "{\"put\":2,\"ids\":[1,2]}");
    box_is("limb", LIMB);
    box_is("free", "{\"center\":[4,1,0],\"rotation\":" TURNED ",\"frame\":\"ann\"}");
    commit("{\"frames\":{\"ann\":{\"center\":[11,0,0]}}}", "{\"posed\":0}");
    box_is("free", "{\"center\":[14,1,0],\"local\":{\"center\":[0,1,3],\"rotation\":" UPRIGHT "}}");
    box_is("hand", "{\"center\":[13,0,0]}");
    /* columns that state no frame take their boxes out */
    commit("{\"put\":{\"names\":[\"hand\"],\"centers\":[0,0,2],\"half_extents\":[1,1,1]}}",
           "{\"ids\":[3]}");
    box_is("hand", "{\"center\":[0,0,2],\"frame\":null,\"local\":null}");
    /* in the plane */
    expect(client, "PUT", "/v1/scenes/p", "{\"dimensions\":2}", 201, NULL);
    expect(client, "POST", "/v1/scenes/p/commit",
           "{\"frames\":{\"g\":{\"center\":[1,0],\"angle\":90}},\"put\":{\"names\":[\"b\",\"c\"],"
           "\"centers\":[2,3,2,3],\"half_extents\":[1,2],\"angles\":[350,10],"
           "\"frames\":[\"g\",null]}}",
           200, "{\"ids\":[1,2]}");
    expect(client, "GET", "/v1/scenes/p/boxes/b", NULL, 200,
           "{\"center\":[-2,2],\"angle\":440,\"local\":{\"center\":[2,3],\"angle\":350}}");
    expect(client, "GET", "/v1/scenes/p/boxes/c", NULL, 200,
           "{\"center\":[2,3],\"angle\":10,\"frame\":null,\"local\":null}");
}
END_TEST

START_TEST(what_frames_forbid_is_refused_where_it_stands)
{
    static const struct {
        const char *path, *body;
        long status;
        const char *pointer;
    } rows[] = {
        {COMMIT, "{\"put\":{\"a\":" UNIT ",\"b\":{\"frame\":\"bob\",\"center\":[0,0,0]," HALF "}}}",
         404, "/put/b/frame"},
        {COMMIT,
         "{\"put\":{\"names\":[\"a\",\"b\",\"c\"],\"centers\":[0,0,0,0,0,0,0,0,0]," HALF
         ",\"frames\":[null,\"ann\",\"bob\"]}}",
         404, "/put/frames/2"},
        {COMMIT,
         "{\"put\":{\"names\":[\"a\",\"b\"],\"centers\":[0,0,0,0,0,0]," HALF
         ",\"frames\":\"bob\"}}",
         404, "/put/frames"},
        {COMMIT,
         "{\"put\":{\"names\":[\"a\",\"b\"],\"centers\":[0,0,0,0,0,0]," HALF
         ",\"frames\":[\"ann\"]}}",
         422, "/put/frames"},
        {COMMIT,
         "{\"remove_frames\":[\"ann\"],\"put\":{\"a\":{\"frame\":\"ann\",\"center\":[0,0,0]," HALF
         "}}}",
         404, "/put/a/frame"},
        {COMMIT,
         "{\"transform\":{\"free\":{\"translate\":[1,0,0]},\"limb\":{\"translate\":[1,0,0]}}}", 409,
         "/transform/limb"},
        {BOXES "/limb/transform", "{\"translate\":[1,0,0]}", 409, NULL},
        {BOXES "/limb/merge", "{\"with\":[\"free\"]}", 409, NULL},
        {COMMIT, "{\"frames\":{\"ann\":{\"center\":[1,0]}}}", 422, "/frames/ann/center"},
        {COMMIT, "{\"frames\":{\"names\":[\"x\",\"y\"],\"centers\":[1,0,0]}}", 422,
         "/frames/centers"},
        {COMMIT, "{\"frames\":{\"ann\":{\"center\":[1e9,0,0]}}}", 422, "/frames/ann"},
        {SCENE "/query/point",
         "{\"points\":[[0,0,0]],\"with\":{\"put\":{\"names\":[\"a\",\"b\"],\"centers\":[0,0,0,0,0,"
         "0]," HALF ",\"frames\":[\"ann\",\"bob\"]}}}",
         404, "/with/put/frames/1"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        expect_problem(client, "POST", rows[i].path, rows[i].body, rows[i].status, rows[i].pointer);
    /* where the body is a single pose, it is at fault as a whole */
    expect_problem(client, "PUT", FRAMES "/ann", "{\"center\":[1e9,0,0]}", 422, "");
    expect_problem(client, "PATCH", BOXES "/limb", "{\"center\":[1e9,1e9,1e9]}", 422, "");
    expect_problem(client, "PUT", BOXES "/new",
                   "{\"frame\":\"ann\",\"center\":[1e9,1e9,1e9]," HALF "}", 422, "");
    box_is("limb", LIMB);
    expect(client, "GET", SCENE, NULL, 200, "{\"revision\":1,\"boxes\":2}");
    /* but a framed box may be one of those that another box is merged with */
    expect(client, "POST", BOXES "/free/merge", "{\"with\":[\"limb\"]}", 200, NULL);
}
END_TEST

START_TEST(the_groups_of_a_commit_are_applied_in_their_order)
{
    commit("{\"frames\":{\"f\":{\"center\":[0,0,1]}},\"put\":{\"old\":{\"frame\":\"f\",\"center\":"
           "[0,0,0]," HALF "}}}",
           NULL);
    /* written from the last to the first */
    commit("{\"transform\":{\"alone\":{\"translate\":[0,1,0]}},"
           "\"pose\":{\"new\":{\"center\":[2,0,0]}},"
           "\"put\":{\"new\":{\"frame\":\"f\",\"center\":[9,9,9]," HALF "},\"alone\":" UNIT "},"
           "\"frames\":{\"f\":{\"center\":[7,0,0]}},"
           "\"remove_frames\":[\"f\",\"nobody\"],\"remove\":[\"limb\"]}",
           "{\"removed\":2,\"removed_frames\":1,\"frames\":1,\"put\":2,\"posed\":1,"
           "\"transformed\":1}");
    box_is("new", "{\"center\":[9,0,0],\"local\":{\"center\":[2,0,0],\"rotation\":" UPRIGHT "}}");
    box_is("alone", "{\"center\":[0,1,0]}");
    expect_problem(client, "GET", BOXES "/old", NULL, 404, NULL);
    expect_problem(client, "GET", BOXES "/limb", NULL, 404, NULL);
}
END_TEST

START_TEST(frames_have_routes_of_their_own)
{
    expect(client, "GET", FRAMES "/ann", NULL, 200,
           "{\"name\":\"ann\",\"center\":[1,0,0],\"rotation\":" TURNED
           ",\"revision\":1,\"time\":1000}");
    /* a new frame begins at 0 */
    expect(client, "PUT", FRAMES "/b", "{}", 201,
           "{\"name\":\"b\",\"center\":[0,0,0],\"rotation\":" UPRIGHT ",\"revision\":2}");
    expect(client, "PUT", FRAMES "/b", "{\"center\":[0,4,0]}", 200, "{\"revision\":3}");
    expect(client, "PUT", FRAMES "/b", "{\"center\":[0,4,0]}", 200, "{\"revision\":3}");
    commit("{\"frames\":{\"names\":[\"aa\",\"c\"],\"centers\":[1,2,3,4,5,6],\"rotations\":[0,0,0,1,"
           "0,1,0,0]}}",
           "{\"frames\":2,\"revision\":4}");
    expect(client, "GET", FRAMES, NULL, 200,
           "{\"cursor\":null,\"revision\":4,\"time\":1000,\"frames\":["
           "{\"name\":\"aa\",\"center\":[1,2,3],\"rotation\":" UPRIGHT "},"
           "{\"name\":\"ann\",\"center\":[1,0,0],\"rotation\":" TURNED "},"
           "{\"name\":\"b\",\"center\":[0,4,0],\"rotation\":" UPRIGHT "},"
           "{\"name\":\"c\",\"center\":[4,5,6],\"rotation\":[0,1,0,0]}]}");
    expect(
        client, "GET", FRAMES "?prefix=a&limit=1", NULL, 200,
        "{\"cursor\":\"aa\",\"frames\":[{\"name\":\"aa\",\"center\":[1,2,3],\"rotation\":" UPRIGHT
        "}]}");
    expect(client, "GET", FRAMES "?prefix=a&limit=1&cursor=aa", NULL, 200,
           "{\"cursor\":null,\"frames\":[{\"name\":\"ann\",\"center\":[1,0,0],\"rotation\":" TURNED
           "}]}");
    expect(client, "DELETE", FRAMES "/ann", NULL, 204, "");
    expect_problem(client, "GET", FRAMES "/ann", NULL, 404, NULL);
    expect_problem(client, "GET", BOXES "/limb", NULL, 404, NULL);
    expect(client, "GET", SCENE, NULL, 200, "{\"boxes\":1,\"revision\":5}");
}
END_TEST

/* A box that nobody stores stands in a frame of the state that is asked. */
START_TEST(a_question_may_be_asked_from_a_frame)
{
    static const char probe[] =
        "\"shapes\":[{\"frame\":\"ann\",\"center\":[0,0,2],\"half_extents\":[0.5,0.5,0.5]}]";
    commit("{\"time\":1010,\"frames\":{\"ann\":{\"center\":[11,0,0]}},\"remove\":[\"limb\"],"
           "\"put\":{\"here\":{\"center\":[13,0,0]," HALF "},\"there\":{\"center\":[3,0,0]," HALF
           "}}}",
           "{\"revision\":2}");
    expect(client, "POST", SCENE "/query/overlap", test_text("{%s}", probe), 200,
           "{\"results\":[{\"boxes\":[\"here\"]}]}");
    expect(client, "POST", SCENE "/query/overlap", test_text("{\"at\":{\"time\":1000},%s}", probe),
           200, "{\"results\":[{\"boxes\":[\"limb\"]}]}");
    /* A frame that is not there, and one that places the box out of range: that may depend on the
     * state that is asked, so the question itself is no fault. */
    expect(client, "POST", SCENE "/query/overlap",
           "{\"shapes\":[{\"frame\":\"bob\",\"center\":[0,0,2]," HALF
           "},{\"frame\":\"ann\",\"center\":[1e9,1e9,1e9]," HALF "},\"here\"]}",
           200,
           "{\"results\":[{\"missing\":[\"bob\"],\"boxes\":null},{\"missing\":[\"ann\"],"
           "\"boxes\":null},{\"boxes\":[]}]}");
}
END_TEST

START_TEST(in_the_plane_angles_add_up)
{
    expect(client, "PUT", "/v1/scenes/p", "{\"dimensions\":2}", 201, NULL);
    expect(client, "POST", "/v1/scenes/p/commit",
           "{\"frames\":{\"g\":{\"center\":[1,0],\"angle\":90}},\"put\":{\"b\":{\"frame\":\"g\","
           "\"center\":[1,0],\"half_extents\":[1,1],\"angle\":350}}}",
           200, NULL);
    expect(client, "GET", "/v1/scenes/p/boxes/b", NULL, 200,
           "{\"center\":[1,1],\"angle\":440,\"local\":{\"center\":[1,0],\"angle\":350}}");
    expect(client, "POST", "/v1/scenes/p/commit",
           "{\"frames\":{\"names\":[\"g\"],\"centers\":[0,5],\"angles\":[-90]}}", 200, NULL);
    expect(client, "GET", "/v1/scenes/p/boxes/b", NULL, 200,
           "{\"center\":[0,4],\"angle\":260,\"local\":{\"center\":[1,0],\"angle\":350}}");
}
END_TEST

START_TEST(an_export_has_the_frames_before_the_boxes)
{
    static const char expected[] =
        "{\"frame\":\"ann\",\"center\":[1,0,0],\"rotation\":" TURNED "}\n"
        "{\"name\":\"limb\",\"id\":1," HALF ",\"frame\":\"ann\",\"local\":{\"center\":[0,0,2],"
        "\"rotation\":" UPRIGHT "},\"category\":1,\"mask\":4294967295,\"group\":0}\n";
    struct http_answer answer = {0};
    http_send(client, "GET", SCENE "/export", NULL, NULL, &answer);
    ck_assert_int_eq(answer.status, 200);
    ck_assert_ptr_nonnull(strstr(answer.body, "\"version\":2"));
    const char *second = strchr(answer.body, '\n') + 1;
    ck_assert_msg(strncmp(second, expected, sizeof expected - 1) == 0, "%s", answer.body);
    http_answer_fini(&answer);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("frames");
    TCase *tc = tcase_create("frames");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_set_timeout(tc, test_timeout(30));
    tcase_add_test(tc, a_pose_of_a_frame_is_one_of_each_of_its_boxes);
    tcase_add_test(tc, a_box_with_all_its_members_is_the_same_in_both_media);
    tcase_add_test(tc, the_past_shows_boxes_where_they_were);
    tcase_add_test(tc, a_box_enters_and_leaves_a_frame);
    tcase_add_test(tc, every_form_of_a_box_may_stand_in_a_frame);
    tcase_add_test(tc, every_form_of_a_box_of_the_plane_may_stand_in_a_frame);
    tcase_add_test(tc, boxes_in_columns_stand_in_their_frames);
    tcase_add_test(tc, what_frames_forbid_is_refused_where_it_stands);
    tcase_add_test(tc, the_groups_of_a_commit_are_applied_in_their_order);
    tcase_add_test(tc, frames_have_routes_of_their_own);
    tcase_add_test(tc, a_question_may_be_asked_from_a_frame);
    tcase_add_test(tc, in_the_plane_angles_add_up);
    tcase_add_test(tc, an_export_has_the_frames_before_the_boxes);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
