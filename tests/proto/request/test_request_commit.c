#include "tests/proto/request/requests.h"

START_TEST(a_commit_is_read_whole)
{
    const wire_body body = json(WHOLE_TICK);
    const wire_commit commit = commit_of(&body, 3);
    const obb_edit *e = &commit.edit;
    ck_assert(e->has_time && e->time == 1234.5 && e->has_if_revision && e->if_revision == 41);
    ck_assert(e->restart && e->if_box_count == 2 && e->if_boxes[0].revision == 40);
    ck_assert(obb_str_equal(e->if_boxes[0].target.name, obb_str_of("b")) &&
              !e->if_boxes[0].target.has_id);
    ck_assert(obb_str_equal(e->if_boxes[1].target.name, obb_str_of("n")) &&
              e->if_boxes[1].revision == 0);
    ck_assert(e->ignore_missing && e->dimensions == 3 && !e->remove_must_exist && !e->replace_all);
    ck_assert(e->remove_count == 2 && obb_str_equal(e->removes[1].name, obb_str_of("x/y")));
    ck_assert(e->put_count == 2 && e->puts[0].parts == OBB_PUT_ALL);
    ck_assert(obb_str_equal(e->puts[0].target.name, obb_str_of("crate-8")));
    ck_assert(e->puts[0].box.center.y == 1);
    ck_assert(e->pose_count == 3 && e->poses[0].teleport && e->poses[0].has_center);
    ck_assert(e->poses[0].has_rotation && e->poses[0].center.z == 9);
    ck_assert(!e->poses[1].has_center && e->poses[1].has_rotation && e->poses[1].rotation.w == 1);
    ck_assert(!e->poses[2].has_center && !e->poses[2].has_rotation && !e->poses[2].teleport);
    ck_assert(e->transform_count == 1 && e->transforms[0].transform.local);
    ck_assert(commit.query_count == 2 && commit.queries[0].kind == OBB_QUERY_RAY);
    ck_assert(commit.queries[0].has_at && commit.queries[0].at.time == 1180.0);
    ck_assert(commit.queries[1].kind == OBB_QUERY_ALL_PAIRS && commit.queries[1].count_only);
    ck_assert(e->moment_count == 2 && e->moments[0].dimensions == 3);
    ck_assert(e->moments[0].at.kind == OBB_AT_TIME && e->moments[0].at.time == 1180.0);
    ck_assert(e->moments[1].at.kind == OBB_AT_NOW && e->moments[1].dimensions == 3);
    ck_assert(!commit.form.pose_ids && !commit.form.pose_names);
    check_taken(DUMP_COMMIT, 3, WHOLE_TICK);
    check_same(DUMP_COMMIT, 3, "", "{}");
    check_same(DUMP_COMMIT, 3,
               "{\"put\":{},\"pose\":{},\"transform\":{},\"remove\":[],\"queries\":[]}", "{}");
}
END_TEST

#define PLACE "\"center\":[1,2,3],\"rotation\":[0,0.6,0,0.8]"

START_TEST(frames_of_a_commit_are_read)
{
    static const char text[] =
        "{\"put\":{\"a\":{\"half_extents\":[1,1,1],\"frame\":\"ann\",\"local\":{" PLACE "}},"
        "\"b\":{" POSE ",\"frame\":null}},\"frames\":{\"ann\":{" PLACE ",\"teleport\":true},"
        "\"names\":{}},\"remove_frames\":[\"bob\",\"eve\"]}";
    const wire_body body = json(text);
    const wire_commit commit = commit_of(&body, 3);
    const obb_edit *e = &commit.edit;
    ck_assert(commit.form.frames && commit.form.remove_frames && !commit.form.frame_names);
    ck_assert(e->remove_frame_count == 2 && obb_str_equal(e->remove_frames[1], obb_str_of("eve")));
    ck_assert(e->frame_count == 2 && e->frames[0].teleport && e->frames[0].center.y == 2);
    ck_assert(e->frames[0].has_rotation && e->frames[0].rotation.y == 0.6);
    ck_assert(!e->frames[1].has_center && !e->frames[1].has_rotation);
    ck_assert(obb_str_equal(e->frames[1].target.name, obb_str_of("names")));
    ck_assert(e->put_count == 2 && obb_str_equal(e->puts[0].frame, obb_str_of("ann")));
    ck_assert(e->puts[0].parts == OBB_PUT_ALL && e->puts[0].box.center.z == 3);
    ck_assert(e->puts[0].box.rotation.w == 0.8 && e->puts[1].frame.length == 0);
    check_taken(DUMP_COMMIT, 3, text);
    check_same(DUMP_COMMIT, 3,
               "{\"frames\":{\"names\":[\"a\",\"b\"],\"centers\":[1,2,3,4,5,6],\"rotations\":"
               "[0,0.6,0,0.8,1,0,0,0]}}",
               "{\"frames\":{\"a\":{" PLACE "},\"b\":{\"center\":[4,5,6],\"rotation\":"
               "[1,0,0,0]}}}");
    check_same(DUMP_COMMIT, 2, "{\"frames\":{\"names\":[\"a\"],\"centers\":[1,2],\"angles\":[7]}}",
               "{\"frames\":{\"a\":{\"center\":[1,2],\"angle\":7}}}");
    check_same(DUMP_COMMIT, 3,
               "{\"frames\":{\"rotations\":[0,0.6,0,0.8,1,0,0,0],\"names\":[\"a\",\"b\"]}}",
               "{\"frames\":{\"a\":{\"rotation\":[0,0.6,0,0.8]},\"b\":{\"rotation\":[1,0,0,0]}}}");
    check_same(DUMP_COMMIT, 2, "{\"frames\":{\"names\":[\"a\"],\"angles\":[7]}}",
               "{\"frames\":{\"a\":{\"angle\":7}}}");
    check_same(DUMP_COMMIT, 3, "{\"frames\":{\"names\":[\"a\"]}}", "{\"frames\":{\"a\":{}}}");
    check_same(DUMP_COMMIT, 3,
               "{\"put\":{\"a\":{\"half_extents\":[1,1,1],\"frame\":\"f\",\"local\":{" PLACE "}}}}",
               "{\"put\":{\"a\":{\"half_extents\":[1,1,1],\"frame\":\"f\"," PLACE "}}}");
    check_same(DUMP_COMMIT, 3, "{\"frames\":{},\"remove_frames\":[]}", "{}");
}
END_TEST

START_TEST(commits_that_are_wrong_are_refused_at_the_first_fault)
{
    static const struct refusal refusals[] = {
        {"[]", 422, ""},
        {"{\"extra\":1}", 422, "/extra"},
        {"{\"time\":\"now\"}", 422, "/time"},
        {"{\"time\":1e16}", 422, "/time"},
        {"{\"time\":null}", 422, "/time"},
        {"{\"if_revision\":-1}", 422, "/if_revision"},
        {"{\"if_revision\":1.5}", 422, "/if_revision"},
        {"{\"if_revision\":9007199254740994}", 422, "/if_revision"},
        {"{\"restart\":true}", 422, "/restart"},
        {"{\"restart\":\"true\",\"time\":1}", 422, "/restart"},
        {"{\"if_revision\":\"x\",\"restart\":true}", 422, "/restart"},
        {"{\"if_box\":[]}", 422, "/if_box"},
        {"{\"if_box\":{\"a\":1,\"b\":-1}}", 422, "/if_box/b"},
        {"{\"if_box\":{\"a\":1.5}}", 422, "/if_box/a"},
        {"{\"if_box\":{\"a\":null}}", 422, "/if_box/a"},
        {"{\"if_box\":{\"a\":9007199254740994}}", 422, "/if_box/a"},
        {"{\"if_box\":{\"..\":null}}", 422, "/if_box/.."},
        {"{\"if_box\":{\"a\":1,\"b\":2,\"a\":1}}", 400, NULL},
        {"{\"ignore_missing\":1}", 422, "/ignore_missing"},
        {"{\"remove\":\"a\"}", 422, "/remove"},
        {"{\"remove\":[\"a\",7]}", 422, "/remove/1"},
        {"{\"remove_frames\":\"a\"}", 422, "/remove_frames"},
        {"{\"remove_frames\":[\"a\",\"..\"]}", 422, "/remove_frames/1"},
        {"{\"frames\":[]}", 422, "/frames"},
        {"{\"frames\":{\"ann\":7}}", 422, "/frames/ann"},
        {"{\"frames\":{\"..\":{}}}", 422, "/frames/.."},
        {"{\"frames\":{\"ann\":{\"half_extents\":[1,1,1]}}}", 422, "/frames/ann/half_extents"},
        {"{\"frames\":{\"ann\":{\"frame\":\"bob\"}}}", 422, "/frames/ann/frame"},
        {"{\"frames\":{\"ann\":{\"center\":[0,2e9,0]}}}", 422, "/frames/ann/center/1"},
        {"{\"frames\":{\"ann\":{\"rotation\":[0,0,0,0]}}}", 422, "/frames/ann/rotation"},
        {"{\"frames\":{\"ann\":{\"angle\":7}}}", 422, "/frames/ann/angle"},
        {"{\"frames\":{\"names\":[\"a\"],\"rotations\":[0,0,0]}}", 422, "/frames/rotations"},
        {"{\"frames\":{\"names\":[\"a\"],\"rotations\":[0,0,0,0]}}", 422, "/frames/rotations/0"},
        {"{\"frames\":{\"names\":[\"a\"],\"angles\":[1]}}", 422, "/frames/angles"},
        {"{\"frames\":{\"names\":[\"a\",7]}}", 422, "/frames/names/1"},
        {"{\"pose\":{\"names\":[\"a\"],\"rotations\":[0,0,0,1]}}", 422, "/pose"},
        {"{\"frames\":{\"names\":[\"a\"],\"ids\":[1],\"centers\":[0,0,0]}}", 422, "/frames/ids"},
        {"{\"frames\":{\"names\":[\"a\"],\"centers\":[0,0]}}", 422, "/frames/centers"},
        {"{\"frames\":{\"names\":[\"a\",\"\"],\"centers\":[0,0,0,0,0,0]}}", 422, "/frames/names/1"},
        {"{\"frames\":{\"ann\":{\"center\":7}},\"put\":{\"z\":7}}", 422, "/frames/ann/center"},
        {"{\"put\":{\"a\":{" POSE ",\"frame\":7}}}", 422, "/put/a/frame"},
        {"{\"put\":{\"a\":{" POSE ",\"frame\":\"f\",\"local\":{\"center\":[0,0,0]}}}}", 422,
         "/put/a/local"},
        {"{\"put\":{\"a\":{\"half_extents\":[1,1,1],\"local\":{\"center\":[0,0,0]}}}}", 422,
         "/put/a/local"},
        {"{\"put\":{\"a\":{\"half_extents\":[1,1,1],\"frame\":\"f\",\"local\":{}}}}", 422,
         "/put/a/local"},
        {"{\"put\":{\"a\":{\"half_extents\":[1,1,1],\"frame\":\"f\",\"local\":{\"center\":"
         "[0,0,0],\"scale\":1}}}}",
         422, "/put/a/local/scale"},
        {"{\"put\":{\"a\":{\"min\":[0,0,0],\"max\":[1,1,1],\"frame\":\"f\",\"local\":{"
         "\"center\":[0,0,0]}}}}",
         422, "/put/a/local"},
        {"{\"put\":[]}", 422, "/put"},
        {"{\"put\":{\"z\":null}}", 422, "/put/z"},
        {"{\"put\":{\"z\":{}}}", 422, "/put/z"},
        {"{\"put\":{\"\":{" POSE "}}}", 422, "/put/"},
        {"{\"put\":{\"..\":{" POSE "}}}", 422, "/put/.."},
        {"{\"put\":{\"a\\u0001\":{" POSE "}}}", 422, "/put/a\x01"},
        {"{\"put\":{\"a/b~c\":{\"center\":[0,0],\"half_extents\":[1,1,1]}}}", 422,
         "/put/a~1b~0c/center"},
        {"{\"put\":{\"a\":{" POSE "},\"z\":{\"center\":[0,0,0],\"half_extents\":[1,-1,1]}}}", 422,
         "/put/z/half_extents/1"},
        {"{\"pose\":{\"a\":{\"half_extents\":[1,1,1]}}}", 422, "/pose/a/half_extents"},
        {"{\"pose\":{\"a\":{\"rotation\":[0,0,0,0]}}}", 422, "/pose/a/rotation"},
        {"{\"pose\":{\"a\":{\"teleport\":1}}}", 422, "/pose/a/teleport"},
        {"{\"pose\":{\"a\":{\"center\":[0,0,0]},\"names\":[\"a\"]}}", 422, "/pose/names"},
        {"{\"pose\":{\"names\":[\"a\"],\"ids\":[1],\"centers\":[0,0,0]}}", 422, "/pose/ids"},
        {"{\"pose\":{\"centers\":[0,0,0]}}", 422, "/pose"},
        {"{\"pose\":{\"names\":[\"a\"]}}", 422, "/pose"},
        {"{\"pose\":{\"names\":[\"a\",1],\"centers\":[0,0,0,0,0,0]}}", 422, "/pose/names/1"},
        {"{\"pose\":{\"names\":[\"a\"],\"centers\":[0,0]}}", 422, "/pose/centers"},
        {"{\"pose\":{\"names\":[\"a\"],\"centers\":[0,0,0,0,0,0]}}", 422, "/pose/centers"},
        {"{\"pose\":{\"names\":[\"a\"],\"centers\":[0,2e9,0]}}", 422, "/pose/centers/1"},
        {"{\"pose\":{\"names\":[\"a\"],\"centers\":[0,\"0\",0]}}", 422, "/pose/centers/1"},
        {"{\"pose\":{\"names\":[\"a\"],\"centers\":[0,0,0],\"rotations\":[0,0,0]}}", 422,
         "/pose/rotations"},
        {"{\"pose\":{\"names\":[\"a\",\"b\"],\"centers\":[0,0,0,0,0,0],\"rotations\":[0,0,0,1,0,0,"
         "0,0]}}",
         422, "/pose/rotations/4"},
        {"{\"pose\":{\"names\":[\"a\"],\"centers\":[0,0,0],\"angles\":[0]}}", 422, "/pose/angles"},
        {"{\"pose\":{\"names\":[\"a\"],\"centers\":[0,0,0],\"teleport\":[true]}}", 422,
         "/pose/teleport"},
        {"{\"pose\":{\"ids\":[0],\"centers\":[0,0,0]}}", 422, "/pose/ids/0"},
        {"{\"pose\":{\"ids\":[1,1.5],\"centers\":[0,0,0,0,0,0]}}", 422, "/pose/ids/1"},
        {"{\"transform\":{\"a\":{\"scale\":[1]}}}", 422, "/transform/a/scale"},
        {"{\"transform\":{\"a\":{}}}", 422, "/transform/a"},
        {"{\"queries\":{}}", 422, "/queries"},
        {"{\"queries\":[{\"kind\":\"all-pairs\"},{\"kind\":\"guess\"}]}", 422, "/queries/1/kind"},
        {"{\"queries\":[{\"kind\":\"all-pairs\"},{\"count_only\":true}]}", 422, "/queries/1"},
        {"{\"queries\":[{\"kind\":7}]}", 422, "/queries/0/kind"},
        {"{\"queries\":[[]]}", 422, "/queries/0"},
        {"{\"queries\":[{\"points\":[[0,0]],\"kind\":\"point\"}]}", 422, "/queries/0/points/0"},
        {"{\"queries\":[{\"kind\":\"point\",\"points\":[],\"at\":{\"ago\":-1}}]}", 422,
         "/queries/0/at/ago"},
        /* the order of application, not of the text */
        {"{\"queries\":[1],\"transform\":1,\"pose\":1,\"put\":1,\"remove\":1,\"time\":\"x\"}", 422,
         "/time"},
        {"{\"queries\":[1],\"transform\":1,\"pose\":1,\"put\":1,\"remove\":[1]}", 422, "/remove/0"},
        {"{\"queries\":[1],\"transform\":1,\"pose\":{\"a\":1},\"put\":{\"b\":1}}", 422, "/put/b"},
        {"{\"queries\":[1],\"transform\":1,\"pose\":{\"a\":1}}", 422, "/pose/a"},
        {"{\"queries\":[1],\"transform\":{\"a\":1}}", 422, "/transform/a"},
        {"{\"pose\":{\"a\":1},\"put\":{\"b\":1},\"extra\":1}", 422, "/extra"},
        /* and what is malformed comes before all */
        {"{\"put\":{\"z\":{" POSE "},\"z\":{" POSE "}}}", 400, NULL},
        {"{\"put\":{\"z\":1},\"pose\":{\"a\":{},\"a\":{}}}", 400, NULL},
        {"{\"transform\":{\"a\":{\"scale\":1},\"\\u0061\":{\"scale\":1}}}", 400, NULL},
        {"{\"put\":{\"z\":1},\"pose\":{\"a\":{}}", 400, NULL},
        {"{\"put\":{},\"put\":{}}", 400, NULL},
        {"{\"queries\":[{\"kind\":\"all-pairs\",\"kind\":\"all-pairs\"}]}", 400, NULL},
        {"{\"queries\":[{\"x\":{\"a\":1,\"a\":1},\"kind\":\"all-pairs\"}]}", 400, NULL},
    };
    CHECK_REFUSALS(DUMP_COMMIT, 3, refusals);
    static const struct refusal planar[] = {
        {"{\"pose\":{\"names\":[\"a\"],\"centers\":[0,0],\"rotations\":[0,0,0,1]}}", 422,
         "/pose/rotations"},
        {"{\"pose\":{\"names\":[\"a\"],\"centers\":[0,0,0]}}", 422, "/pose/centers"},
        {"{\"pose\":{\"names\":[\"a\",\"b\"],\"centers\":[0,0,0,0],\"angles\":[0]}}", 422,
         "/pose/angles"},
        {"{\"pose\":{\"a\":{\"rotation\":[0,0,0,1]}}}", 422, "/pose/a/rotation"},
    };
    CHECK_REFUSALS(DUMP_COMMIT, 2, planar);
}
END_TEST

START_TEST(every_prefix_of_a_commit_is_refused)
{
    const size_t whole = strlen(WHOLE_TICK);
    size_t looked_at = 0;
    char *got;
    for (size_t length = 1; length < whole; length++, looked_at++) {
        ck_assert(!decode(DUMP_COMMIT, 3, WHOLE_TICK, length, WIRE_JSON, &got));
        ck_assert_str_eq(got, "400 none");
        free(got);
    }
    for (int typed = 0; typed < 2; typed++) {
        struct cbor_maker m = {0};
        ck_assert(maker_from_json(&m, WHOLE_TICK, whole, typed == 1));
        for (size_t length = 1; length < m.length; length++, looked_at++) {
            ck_assert(!decode(DUMP_COMMIT, 3, (const char *)m.bytes, length, WIRE_CBOR, &got));
            ck_assert_str_eq(got, "400 none");
            free(got);
        }
        free(m.bytes);
    }
    printf("%zu prefixes\n", looked_at);
}
END_TEST

/* ---- The order of faults --------------------------------------------------------------------- */

enum { ENTRIES = 4 };
typedef enum fault_kind { GOOD, OF_SCENE, OF_BODY } fault_kind;
enum { PUT, POSE_BY_NAME, POSE_COLUMNS, TRANSFORM, QUERY, GROUPS };

/* A commit of four entries in each group. Which way the body is wrong is one of `twist`. */
struct planted {
    fault_kind entry[GROUPS][ENTRIES];
    bool columns;
    uint64_t twist;
};

/* Returns the pointer that the rule asks for: of the first fault in the order of application. */
static const char *model_pointer(const struct planted *planted, char out[static 64])
{
    for (int g = 0; g < GROUPS; g++)
        for (int i = 0; i < ENTRIES; i++) {
            const bool scene = planted->entry[g][i] == OF_SCENE;
            if (planted->entry[g][i] == GOOD || (g == POSE_BY_NAME && planted->columns) ||
                (g == POSE_COLUMNS && !planted->columns))
                continue;
            const char *const before = g == PUT            ? "/put/p"
                                       : g == POSE_BY_NAME ? scene ? "/pose/ghost" : "/pose/p"
                                       : g == TRANSFORM
                                           ? scene ? "/transform/ghost" : "/transform/p"
                                       : g == QUERY                       ? "/queries/"
                                       : scene || planted->twist % 4 == 0 ? "/pose/names/"
                                       : planted->twist % 4 == 3          ? "/pose/rotations/"
                                                                          : "/pose/centers/";
            const char *const after = g == PUT                     ? "/half_extents/1"
                                      : g == QUERY                 ? scene ? "/at" : "/kind"
                                      : scene || g == POSE_COLUMNS ? ""
                                      : g == POSE_BY_NAME          ? "/center"
                                                                   : "/scale";
            const bool per_row = scene || planted->twist % 4 == 0;
            const int at = g != POSE_COLUMNS || per_row ? i
                           : planted->twist % 4 == 3    ? 4 * i
                                                        : 3 * i + 1;
            (void)snprintf(out, 64, "%s%d%s", before, at, after);
            return out;
        }
    return NULL;
}

static void write_columns(FILE *out, const struct planted *planted, size_t order)
{
    const fault_kind *entry = planted->entry[POSE_COLUMNS];
    for (int k = 0; k < 3; k++) {
        const size_t column = (order + (size_t)k) % 3;
        (void)fprintf(out, "%s\"%s\":[", k > 0 ? "," : "",
                      column == 0   ? "names"
                      : column == 1 ? "centers"
                                    : "rotations");
        for (int i = 0; i < ENTRIES; i++) {
            const uint64_t twist = entry[i] == OF_BODY ? planted->twist % 4 : 4;
            (void)fprintf(out, "%s", i > 0 ? "," : "");
            if (column == 0 && twist == 0)
                (void)fprintf(out, "7");
            else if (column == 0)
                (void)fprintf(out, "\"%s%d\"", entry[i] == OF_SCENE ? "ghost" : "p", i);
            else if (column == 1)
                (void)fprintf(out, "0,%s,0", twist == 1 ? "\"x\"" : twist == 2 ? "2e9" : "1");
            else
                (void)fprintf(out, "0,0,0,%d", twist != 3);
        }
        (void)fprintf(out, "]");
    }
}

static void write_entry(FILE *out, int group, int i, fault_kind kind)
{
    const char *name = kind == OF_SCENE ? "ghost" : "p";
    if (group == PUT)
        (void)fprintf(out, "\"p%d\":{\"center\":[0,0,0],\"half_extents\":[1,%d,1]}", i,
                      kind == OF_BODY ? -1 : 1);
    else if (group == POSE_BY_NAME)
        (void)fprintf(out, "\"%s%d\":{\"center\":[0,0%s]}", name, i, kind == OF_BODY ? "" : ",0");
    else if (group == TRANSFORM)
        (void)fprintf(out, "\"%s%d\":{\"scale\":%s}", name, i, kind == OF_BODY ? "null" : "1");
    else
        (void)fprintf(out, "{\"at\":{\"revision\":%d},\"kind\":\"%s\"}", kind == OF_SCENE ? 99 : 1,
                      kind == OF_BODY ? "guess" : "all-pairs");
}

static char *write_planted(const struct planted *planted, test_rng *rng)
{
    static const char *const names[] = {"put", "pose", "pose", "transform", "queries"};
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    ck_assert_ptr_nonnull(out);
    const int skipped = planted->columns ? POSE_BY_NAME : POSE_COLUMNS;
    const size_t turn = test_below(rng, GROUPS), step = 1 + test_below(rng, GROUPS - 1);
    (void)fprintf(out, "{\"ignore_missing\":false");
    for (size_t k = 0; k < GROUPS; k++) { /* a prime number of groups: every order of some kind */
        const int group = (int)((turn + k * step) % GROUPS);
        if (group == skipped)
            continue;
        (void)fprintf(out, ",\"%s\":%c", names[group], group == QUERY ? '[' : '{');
        if (group == POSE_COLUMNS)
            write_columns(out, planted, test_below(rng, 3));
        for (int i = 0; i < ENTRIES && group != POSE_COLUMNS; i++) {
            (void)fprintf(out, "%s", i > 0 ? "," : "");
            write_entry(out, group, i, planted->entry[group][i]);
        }
        (void)fprintf(out, "%c", group == QUERY ? ']' : '}');
    }
    (void)fprintf(out, "}");
    (void)fclose(out);
    return text;
}

/* Returns the pointer of the refusal, as the service makes it of a decoder and of a scene. */
static const char *refusal_of(struct obb_scene *scene, const char *text)
{
    const wire_body body = json(text);
    wire_commit commit;
    wire_problem problem = {0};
    struct obb_prepared *prepared;
    obb_fault fault;
    const bool read = wire_read_commit(&body, 3, &arena, &commit, &problem);
    const obb_status status =
        obb_edit_prepare(scene, &commit.edit, 0, 100, &arena, &prepared, &fault);
    if (status != OBB_OK)
        problem = wire_problem_of_edit(status, &fault, &commit, &commit.edit, &arena);
    else
        obb_edit_discard(prepared);
    ck_assert(read || problem.status != 0);
    return problem.pointer;
}

START_TEST(the_first_of_two_faults_counts_wherever_each_lies)
{
    test_rng rng = {.s = 20261122};
    const obb_settings settings = {.dimensions = 3, .history_span = 500, .history_commits = 64};
    struct obb_scene *scene;
    struct obb_prepared *prepared;
    obb_committed committed;
    obb_fault fault;
    ck_assert_int_eq(obb_scene_create(obb_str_of("s"), &settings, 0, NULL, &scene), OBB_OK);
    const struct planted none = {.columns = true};
    char *text = write_planted(&none, &rng);
    const wire_body body =
        json("{\"put\":{\"p0\":{" POSE "},\"p1\":{" POSE "},\"p2\":{" POSE "},\"p3\":{" POSE "}}}");
    const wire_commit begin = commit_of(&body, 3);
    ck_assert_int_eq(obb_edit_prepare(scene, &begin.edit, 0, 100, &arena, &prepared, &fault),
                     OBB_OK);
    obb_edit_commit(prepared, &committed);
    ck_assert_ptr_null(refusal_of(scene, text));
    free(text);
    const size_t cases = test_effort(20000);
    size_t of_scene = 0;
    for (size_t n = 0; n < cases; n++) {
        struct planted planted = {.columns = test_below(&rng, 2) == 0, .twist = test_random(&rng)};
        for (int f = 0; f < 2; f++) {
            int group = (int)test_below(&rng, GROUPS);
            const size_t i = test_below(&rng, ENTRIES);
            if (group == POSE_BY_NAME || group == POSE_COLUMNS)
                group = planted.columns ? POSE_COLUMNS : POSE_BY_NAME;
            planted.entry[group][i] = group == PUT || test_below(&rng, 2) == 0 ? OF_BODY : OF_SCENE;
        }
        char room[64];
        text = write_planted(&planted, &rng);
        const char *expected = model_pointer(&planted, room), *got = refusal_of(scene, text);
        ck_assert_msg(got != NULL && strcmp(got, expected) == 0, "%s\nexpected %s, got %s", text,
                      expected, got);
        of_scene += strstr(got, "ghost") != NULL;
        free(text);
        obb_arena_reset(&arena);
    }
    ck_assert(of_scene > cases / 20);
    printf("%zu commits, %zu times the scene's fault was first\n", cases, of_scene);
    obb_scene_destroy(scene);
}
END_TEST

/* After a fault the entries before it are used, so they must be whole also if memory runs out
 * behind the fault: with every budget of a wide range, for commits of many lengths. */
START_TEST(what_comes_before_a_fault_is_whole_whatever_the_budget)
{
    static const char query[] = "{\"kind\":\"all-pairs\"},";
    static const size_t counts[] = {1, 5, 30, 100, 257, 400, 700, 1000, 2000};
    char *text = malloc(sizeof query * 2000 + 100);
    ck_assert_ptr_nonnull(text);
    size_t empty = 0, kept = 0;
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        size_t length = (size_t)sprintf(text, "{\"queries\":[");
        for (size_t i = 0; i < counts[k]; i++, length += sizeof query - 1)
            memcpy(text + length, query, sizeof query);
        (void)sprintf(text + length, "{\"kind\":\"guess\"}]}");
        const wire_body body = json(text);
        for (size_t limit = 1024; limit < (size_t)2 << 20; limit += 1024) {
            wire_commit commit;
            wire_problem problem;
            struct obb_budget budget;
            obb_budget_init(&budget, limit);
            struct obb_arena own = {.budget = &budget};
            ck_assert(!wire_read_commit(&body, 3, &own, &commit, &problem));
            ck_assert_uint_eq(commit.edit.moment_count, commit.query_count);
            ck_assert(commit.query_count == 0 || commit.edit.moments != NULL);
            empty += commit.query_count == 0;
            kept += commit.query_count == counts[k];
            obb_arena_fini(&own);
        }
    }
    printf("%zu times no query was kept, %zu times all of them\n", empty, kept);
    ck_assert(empty > 100 && kept > 100);
    free(text);
}
END_TEST

START_TEST(a_commit_takes_a_hundred_thousand_queries_and_no_more)
{
    enum { MOST = 100000 };
    static const char query[] = "{\"kind\":\"all-pairs\"},";
    char *text = malloc(sizeof query * (MOST + 2));
    ck_assert_ptr_nonnull(text);
    for (int more = 0; more < 2; more++) {
        size_t length = (size_t)sprintf(text, "{\"queries\":[");
        for (int i = 0; i < MOST + more; i++, length += sizeof query - 1)
            memcpy(text + length, query, sizeof query);
        memcpy(text + length - 1, "]}", sizeof "]}");
        const wire_body body = json(text);
        wire_commit commit;
        wire_problem problem;
        ck_assert_int_eq(wire_read_commit(&body, 3, &arena, &commit, &problem), more == 0);
        if (more == 0) {
            ck_assert_uint_eq(commit.query_count, MOST);
            continue;
        }
        ck_assert_int_eq(problem.status, 422);
        ck_assert_str_eq(problem.pointer, "/queries");
        ck_assert_str_eq(problem.detail,
                         "found 100001 elements; a commit takes at most 100,000 queries");
    }
    free(text);
}
END_TEST

START_TEST(the_query_at_fault_tags_the_problem)
{
    static const struct {
        const char *text, *tag; /* NULL: none */
    } cases[] = {
        {"{\"queries\":[{\"kind\":\"point\",\"points\":[],\"tag\":\"a\"},"
         "{\"kind\":\"point\",\"points\":[[1]],\"tag\":\"b\"},"
         "{\"kind\":\"point\",\"points\":[],\"tag\":\"c\"}]}",
         "b"},
        {"{\"queries\":[{\"kind\":\"point\",\"points\":[],\"tag\":\"a\"},"
         "{\"kind\":\"point\",\"points\":[[1]]}]}",
         NULL},
        {"{\"queries\":[{\"kind\":\"point\",\"points\":[[1]],\"tag\":\"a\"}],"
         "\"put\":{\"b\":{}}}",
         NULL}, /* the put is applied before, so it is at fault */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        wire_commit commit;
        wire_problem problem;
        const wire_body body = json(cases[i].text);
        ck_assert(!wire_read_commit(&body, 3, &arena, &commit, &problem));
        ck_assert_msg(problem.has_tag == (cases[i].tag != NULL), "%s", cases[i].text);
        if (cases[i].tag != NULL)
            ck_assert(obb_str_equal(problem.tag, obb_str_of(cases[i].tag)));
    }
    const wire_body body = json("{\"queries\":[{\"kind\":\"all-pairs\"},"
                                "{\"kind\":\"all-pairs\",\"tag\":\"\"},"
                                "{\"kind\":\"all-pairs\",\"tag\":\"c\"}]}");
    const wire_commit commit = commit_of(&body, 3);
    ck_assert(commit.has_tag && commit.tag.length == 0 && commit.queries[2].has_tag);
    printf("%zu problems\n", sizeof cases / sizeof *cases);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("request_commit");
    TCase *tc = tcase_create("request_commit");
    tcase_add_checked_fixture(tc, start, stop);
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, frames_of_a_commit_are_read);
    tcase_add_test(tc, a_commit_is_read_whole);
    tcase_add_test(tc, commits_that_are_wrong_are_refused_at_the_first_fault);
    tcase_add_test(tc, the_first_of_two_faults_counts_wherever_each_lies);
    tcase_add_test(tc, every_prefix_of_a_commit_is_refused);
    tcase_add_test(tc, what_comes_before_a_fault_is_whole_whatever_the_budget);
    tcase_add_test(tc, a_commit_takes_a_hundred_thousand_queries_and_no_more);
    tcase_add_test(tc, the_query_at_fault_tags_the_problem);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
