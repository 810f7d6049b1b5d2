/* Columns wherever they may stand: in commits, in the changes of a query, in the changes of a query
 * of a commit, in rays and points. Each number of each column is spoilt in turn. */
#include "tests/proto/request/requests.h"

/* Where changes may stand, and the pointer to there. */
static const struct where {
    int route;
    const char *before, *after, *pointer;
    bool plane; /* the scene is 2-D */
} wheres[] = {
    {DUMP_COMMIT, "{", "}", "", false},
    {DUMP_COMMIT, "{\"dry_run\":true,", "}", "", false},
    {DUMP_QUERY + OBB_QUERY_ALL_PAIRS, "{\"with\":{", "}}", "/with", false},
    {DUMP_QUERY + OBB_QUERY_POINT, "{\"points\":[1,2,3],\"with\":{", "}}", "/with", false},
    {DUMP_COMMIT, "{\"queries\":[{\"kind\":\"ray\",\"rays\":[],\"with\":{", "}}]}",
     "/queries/0/with", false},
};
static int dimensions_of(const struct where *where) { return where->plane ? 2 : 3; }

enum { WHERES = sizeof wheres / sizeof wheres[0] };

/* ---- Numbers that are none ------------------------------------------------------------------- */

/* A column between what stands before and behind it, and how many numbers it holds. */
struct column {
    const char *before, *after, *pointer;
    size_t count;
    double good; /* allowed in each place */
};

#define NAMES "\"names\":[\"a\",\"b\"],"

static const struct column changes[] = {
    {"\"put\":{" NAMES "\"half_extents\":[1,1,1],\"centers\":[", "]}", "/put/centers/", 6, 2},
    {"\"put\":{" NAMES "\"centers\":[1,2,3,4,5,6],\"half_extents\":[", "]}", "/put/half_extents/",
     3, 2},
    {"\"put\":{" NAMES "\"centers\":[1,2,3,4,5,6],\"half_extents\":[", "]}", "/put/half_extents/",
     6, 2},
    {"\"put\":{" NAMES "\"centers\":[1,2,3,4,5,6],\"half_extents\":[1,1,1],\"rotations\":[", "]}",
     "/put/rotations/", 8, 0.5},
    {"\"put\":{" NAMES "\"centers\":[1,2,3,4,5,6],\"half_extents\":[1,1,1],\"ttl\":[", "]}",
     "/put/ttl/", 2, 2.5},
    {"\"put\":{" NAMES "\"centers\":[1,2,3,4,5,6],\"half_extents\":[1,1,1],\"category\":[", "]}",
     "/put/category/", 2, 3},
    {"\"put\":{" NAMES "\"centers\":[1,2,3,4,5,6],\"half_extents\":[1,1,1],\"mask\":[", "]}",
     "/put/mask/", 2, 3},
    {"\"put\":{" NAMES "\"centers\":[1,2,3,4,5,6],\"half_extents\":[1,1,1],\"group\":[", "]}",
     "/put/group/", 2, -3},
    {"\"pose\":{" NAMES "\"centers\":[", "]}", "/pose/centers/", 6, 2},
    {"\"pose\":{\"ids\":[7,8],\"centers\":[", "]}", "/pose/centers/", 6, 2},
    {"\"pose\":{\"centers\":[1,2,3,4,5,6],\"ids\":[", "]}", "/pose/ids/", 2, 2},
    {"\"pose\":{" NAMES "\"centers\":[1,2,3,4,5,6],\"rotations\":[", "]}", "/pose/rotations/", 8,
     0.5},
    {"\"frames\":{" NAMES "\"centers\":[", "]}", "/frames/centers/", 6, 2},
    {"\"frames\":{" NAMES "\"rotations\":[", "]}", "/frames/rotations/", 8, 0.5},
};

#define FLAT_PUT "\"centers\":[1,2,3,4],\"half_extents\":[1,1]"
static const struct column planar[] = {
    {"\"put\":{" NAMES "\"half_extents\":[1,1],\"centers\":[", "]}", "/put/centers/", 4, 2},
    {"\"put\":{" NAMES FLAT_PUT ",\"angles\":[", "]}", "/put/angles/", 2, 30},
    {"\"pose\":{" NAMES "\"centers\":[1,2,3,4],\"angles\":[", "]}", "/pose/angles/", 2, 30},
    {"\"frames\":{" NAMES "\"centers\":[", "]}", "/frames/centers/", 4, 2},
    {"\"frames\":{" NAMES "\"angles\":[", "]}", "/frames/angles/", 2, 30},
};

#define RAYS(columns) "\"rays\":{\"origins\":[1,2,3,4,5,6]," columns
static const struct column of_queries[] = {
    {"\"rays\":{\"directions\":[1,0,0,0,1,0],\"origins\":[", "]}", "/rays/origins/", 6, 2},
    {RAYS("\"directions\":["), "]}", "/rays/directions/", 6, 2},
    {RAYS("\"targets\":["), "]}", "/rays/targets/", 6, 2},
    {RAYS("\"directions\":[1,0,0,0,1,0],\"max_distances\":["), "]}", "/rays/max_distances/", 2, 2},
    {RAYS("\"directions\":[1,0,0,0,1,0],\"times\":["), "]}", "/rays/times/", 2, 2},
};
static const struct column of_points[] = {{"\"points\":[", "]", "/points/", 6, 2}};

/* The text with `odd` as the number at that place of the column. */
static void write_text(char *out, size_t size, const struct where *where,
                       const struct column *column, size_t place, const char *odd)
{
    size_t length = (size_t)snprintf(out, size, "%s%s", where->before, column->before);
    for (size_t i = 0; i < column->count; i++) {
        char good[32];
        (void)snprintf(good, sizeof good, "%g", column->good);
        length += (size_t)snprintf(out + length, size - length, "%s%s", i > 0 ? "," : "",
                                   i == place ? odd : good);
    }
    (void)snprintf(out + length, size - length, "%s%s", column->after, where->after);
}

/* Decodes and expects a refusal of a value at the pointer. The detail says what was found. */
static void check_at(const struct where *where, const wire_body *body, const char *pointer,
                     const char *what)
{
    struct obb_arena own;
    wire_problem problem;
    char *got;
    obb_arena_init(&own);
    ck_assert_msg(!dump_decode(where->route, body, dimensions_of(where), &own, &got, &problem),
                  "%s is taken", what);
    ck_assert_msg(problem.status == 422 && problem.pointer != NULL &&
                      strcmp(problem.pointer, pointer) == 0,
                  "%s: %s instead of %s", what, got, pointer);
    check_sentence(problem.detail);
    ck_assert_msg(strncmp(problem.detail, "found ", 6) == 0 && strstr(problem.detail, "; ") != NULL,
                  "%s: %s", what, problem.detail);
    free(got);
    obb_arena_fini(&own);
}

static size_t spoil_json(const struct where *where, const struct column *column, size_t place)
{
    static const char *const odds[] = {"1e309", "-1e309", "\"1\"", "true", "[1]", "{}"};
    enum { ODDS = sizeof odds / sizeof odds[0] };
    char text[512], pointer[96];
    (void)snprintf(pointer, sizeof pointer, "%s%s%zu", where->pointer, column->pointer, place);
    for (size_t i = 0; i < ODDS; i++) {
        write_text(text, sizeof text, where, column, place, odds[i]);
        const wire_body body = json(text);
        check_at(where, &body, pointer, text);
        check_detail(where->route, dimensions_of(where), text);
    }
    return ODDS;
}

/* Typed arrays hold what JSON cannot say: the bytes of a number that stands nowhere else are
 * overwritten. */
static size_t spoil_typed(const struct where *where, const struct column *column, size_t place)
{
    static const double odds[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, 1.7e308, -1e17};
    /* quaternions and directions of any finite length are normalised; angles have no limit */
    const bool any = strstr(column->pointer, "angles") != NULL ||
                     strstr(column->pointer, "rotations") != NULL ||
                     strstr(column->pointer, "directions") != NULL;
    const size_t count = any ? 3 : sizeof odds / sizeof odds[0];
    const double number = 0.7234567890123;
    unsigned char mark[sizeof number];
    memcpy(mark, &number, sizeof mark);
    char text[512], pointer[96], what[600];
    (void)snprintf(pointer, sizeof pointer, "%s%s%zu", where->pointer, column->pointer, place);
    write_text(text, sizeof text, where, column, place, "0.7234567890123");
    for (size_t i = 0; i < count; i++) {
        struct cbor_maker m = {0};
        ck_assert(maker_from_json(&m, text, strlen(text), true));
        size_t at = 0;
        while (at + 8 <= m.length && memcmp(m.bytes + at, mark, sizeof mark) != 0)
            at++;
        ck_assert_msg(at + 8 <= m.length, "%s", text);
        memcpy(m.bytes + at, &odds[i], 8);
        const wire_body body = {
            .bytes = (const char *)m.bytes, .length = m.length, .media = WIRE_CBOR};
        (void)snprintf(what, sizeof what, "%s with %g", text, odds[i]);
        check_at(where, &body, pointer, what);
        free(m.bytes);
    }
    return count;
}

static size_t spoil(const struct where *where, const struct column *columns, size_t count)
{
    size_t looked_at = 0;
    for (size_t c = 0; c < count; c++) {
        char text[512];
        write_text(text, sizeof text, where, &columns[c], columns[c].count, "");
        check_taken(where->route, dimensions_of(where), text);
        for (size_t place = 0; place < columns[c].count; place++)
            looked_at +=
                spoil_json(where, &columns[c], place) + spoil_typed(where, &columns[c], place);
    }
    return looked_at;
}

START_TEST(a_number_that_is_none_is_refused_where_it_stands)
{
    static const struct where ray = {DUMP_QUERY + OBB_QUERY_RAY, "{", "}", "", false};
    static const struct where flat[] = {
        {DUMP_COMMIT, "{", "}", "", true},
        {DUMP_QUERY + OBB_QUERY_ALL_PAIRS, "{\"with\":{", "}}", "/with", true}};
    static const struct where of_commit = {DUMP_COMMIT, "{\"queries\":[{\"kind\":\"ray\",", "}]}",
                                           "/queries/0", false};
    static const struct where point = {DUMP_QUERY + OBB_QUERY_POINT, "{", "}", "", false};
    static const struct where nearest = {DUMP_QUERY + OBB_QUERY_NEAREST, "{\"columns\":true,", "}",
                                         "", false};
    size_t looked_at = 0;
    for (size_t w = 0; w < WHERES; w++)
        looked_at += spoil(&wheres[w], changes, sizeof changes / sizeof changes[0]);
    for (size_t w = 0; w < 2; w++)
        looked_at += spoil(&flat[w], planar, sizeof planar / sizeof planar[0]);
    looked_at += spoil(&ray, of_queries, sizeof of_queries / sizeof of_queries[0]);
    looked_at += spoil(&of_commit, of_queries, sizeof of_queries / sizeof of_queries[0]);
    looked_at += spoil(&point, of_points, 1) + spoil(&nearest, of_points, 1);
    printf("%zu numbers\n", looked_at);
    ck_assert_uint_gt(looked_at, 3000);
}
END_TEST

/* ---- Lengths and names ----------------------------------------------------------------------- */

#define PUT(columns)   "\"put\":{\"names\":[\"a\",\"b\"]," columns "}"
#define CENTERS        "\"centers\":[1,2,3,4,5,6]"
#define EXTENTS        "\"half_extents\":[1,1,1]"
#define POSES(columns) "\"pose\":{\"names\":[\"a\",\"b\"]," columns "}"
#define RIGS(columns)  "\"frames\":{\"names\":[\"a\",\"b\"]," columns "}"

/* Refused wherever changes may stand; the pointer begins behind the place. */
static const struct refusal wrong_changes[] = {
    {PUT("\"centers\":[1,2,3,4,5]," EXTENTS), 422, "/put/centers"},
    {PUT("\"centers\":[]," EXTENTS), 422, "/put/centers"},
    {PUT("\"centers\":[1,2,3,4,5,6,7]," EXTENTS), 422, "/put/centers"},
    {PUT(CENTERS ",\"half_extents\":[1,1]"), 422, "/put/half_extents"},
    {PUT(CENTERS ",\"half_extents\":[]"), 422, "/put/half_extents"},
    {PUT(CENTERS "," EXTENTS ",\"rotations\":[0,0,0,1]"), 422, "/put/rotations"},
    {PUT(CENTERS "," EXTENTS ",\"rotations\":[0,0,0,1,0,0,0,0]"), 422, "/put/rotations/4"},
    {PUT(CENTERS "," EXTENTS ",\"angles\":[1,2]"), 422, "/put/angles"},
    {PUT(CENTERS "," EXTENTS ",\"entities\":[\"e\"]"), 422, "/put/entities"},
    {PUT(CENTERS "," EXTENTS ",\"entities\":[\"e\",\"\"]"), 422, "/put/entities/1"},
    {PUT(CENTERS "," EXTENTS ",\"frames\":[\"f\"]"), 422, "/put/frames"},
    {PUT(CENTERS "," EXTENTS ",\"frames\":[null,7]"), 422, "/put/frames/1"},
    {PUT(CENTERS "," EXTENTS ",\"frames\":\"..\""), 422, "/put/frames"},
    {PUT(CENTERS "," EXTENTS ",\"ttl\":[1]"), 422, "/put/ttl"},
    {PUT(CENTERS "," EXTENTS ",\"ttl\":[1,-1]"), 422, "/put/ttl/1"},
    {PUT(CENTERS "," EXTENTS ",\"ttl\":-0.5"), 422, "/put/ttl"},
    {PUT(CENTERS "," EXTENTS ",\"category\":[1]"), 422, "/put/category"},
    {PUT(CENTERS "," EXTENTS ",\"category\":[1,4294967296]"), 422, "/put/category/1"},
    {PUT(CENTERS "," EXTENTS ",\"mask\":[1,-1]"), 422, "/put/mask/1"},
    {PUT(CENTERS "," EXTENTS ",\"group\":[0.5,1]"), 422, "/put/group/0"},
    {PUT(CENTERS "," EXTENTS ",\"colour\":[1,2]"), 422, "/put/colour"},
    {PUT(CENTERS "," EXTENTS "," CENTERS), 400, NULL},
    {PUT("\"centers\":[1,2,3,4,5,1.1e9]," EXTENTS), 422, "/put/centers/5"},
    {PUT(CENTERS ",\"half_extents\":[1,-1,1]"), 422, "/put/half_extents/1"},
    {"\"put\":{\"names\":[\"a\",\"a\"]," CENTERS "," EXTENTS "}", 422, "/put/names/1"},
    {"\"put\":{\"names\":[\"a\",\"\"]," CENTERS "," EXTENTS "}", 422, "/put/names/1"},
    {"\"put\":{\"names\":[\"a\",7]," CENTERS "," EXTENTS "}", 422, "/put/names/1"},
    {"\"put\":{\"names\":[\"a\",\"..\"]," CENTERS "," EXTENTS "}", 422, "/put/names/1"},
    {"\"put\":{\"names\":[\"a\",null]," CENTERS "," EXTENTS "}", 422, "/put/names/1"},
    {POSES("\"centers\":[1,2,3,4,5]"), 422, "/pose/centers"},
    {POSES("\"centers\":[]"), 422, "/pose/centers"},
    {POSES(CENTERS ",\"rotations\":[0,0,0,1]"), 422, "/pose/rotations"},
    {POSES(CENTERS ",\"rotations\":[]"), 422, "/pose/rotations"},
    {POSES(CENTERS ",\"colour\":[]"), 422, "/pose/colour"},
    {POSES(CENTERS ",\"ids\":[1,2]"), 422, "/pose/ids"},
    {POSES("\"centers\":[1,2,3,4,5,-1.1e9]"), 422, "/pose/centers/5"},
    {"\"pose\":{\"ids\":[1,0]," CENTERS "}", 422, "/pose/ids/1"},
    {"\"pose\":{\"names\":[\"a\",\"\"]," CENTERS "}", 422, "/pose/names/1"},
    {RIGS("\"centers\":[1,2,3,4,5]"), 422, "/frames/centers"},
    {RIGS("\"centers\":[]"), 422, "/frames/centers"},
    {RIGS("\"rotations\":[0,0,0,1]"), 422, "/frames/rotations"},
    {RIGS("\"rotations\":[0,0,0,1,0,0,0,0]"), 422, "/frames/rotations/4"},
    {RIGS(EXTENTS), 422, "/frames/half_extents"},
    {RIGS("\"teleport\":[true,true]"), 422, "/frames/teleport"},
    {"\"frames\":{\"names\":[\"a\",\"..\"]}", 422, "/frames/names/1"},
    {"\"frames\":{\"f\":{},\"f\":{}}", 400, NULL},
    {"\"remove_frames\":[\"f\",7]", 422, "/remove_frames/1"},
    {"\"remove_frames\":{}", 422, "/remove_frames"},
    {"\"remove\":\"a\"", 422, "/remove"},
    {"\"remove\":[\"a\",\"\"]", 422, "/remove/1"},
    {"\"put\":{\"a\":{\"center\":[1,2,3],\"half_extents\":[1,1,1],\"ttl\":9007199254740994}}", 422,
     "/put/a/ttl"},
    {"\"put\":{\"a\":{\"center\":[1,2,3],\"half_extents\":[1,1,1],\"frame\":\"\"}}", 422,
     "/put/a/frame"},
    {"\"colour\":1", 422, "/colour"},
};

START_TEST(what_does_not_fit_is_refused_wherever_it_stands)
{
    size_t looked_at = 0;
    for (size_t w = 0; w < WHERES; w++)
        for (size_t i = 0; i < sizeof wrong_changes / sizeof wrong_changes[0]; i++, looked_at++) {
            const struct refusal *wrong = &wrong_changes[i];
            char text[512], pointer[96];
            (void)snprintf(text, sizeof text, "%s%s%s", wheres[w].before, wrong->text,
                           wheres[w].after);
            (void)snprintf(pointer, sizeof pointer, "%s%s", wheres[w].pointer,
                           wrong->pointer != NULL ? wrong->pointer : "");
            const struct refusal one = {text, wrong->status,
                                        wrong->pointer != NULL ? pointer : NULL};
            check_refusals(wheres[w].route, 3, &one, 1);
        }
    printf("%zu changes\n", looked_at);
}
END_TEST

START_TEST(columns_without_rows_are_no_changes)
{
    static const char *const taken[] = {
        "\"put\":{\"names\":[],\"centers\":[],\"half_extents\":[]}",
        /* NOLINTNEXTLINE(bugprone-suspicious-missing-comma) */
        "\"put\":{\"names\":[],\"centers\":[],\"half_extents\":[1,1,1],\"rotations\":[],\"ttl\":[],"
        "\"frames\":[],\"entities\":[],\"category\":[],\"mask\":7,\"group\":[]}",
        "\"pose\":{\"names\":[],\"centers\":[],\"rotations\":[]}",
        "\"pose\":{\"ids\":[],\"centers\":[]}",
        "\"frames\":{\"names\":[]}",
        "\"frames\":{\"names\":[],\"centers\":[],\"rotations\":[]}",
    };
    for (size_t w = 0; w < WHERES; w++)
        for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++) {
            char text[512], empty[256];
            (void)snprintf(text, sizeof text, "%s%s%s", wheres[w].before, taken[i],
                           wheres[w].after);
            check_taken(wheres[w].route, 3, text);
            (void)snprintf(empty, sizeof empty, "%s\"remove\":[]%s", wheres[w].before,
                           wheres[w].after);
            check_same(wheres[w].route, 3, text, empty);
        }
}
END_TEST

/* What belongs to a commit alone is no change of a query. */
START_TEST(a_query_takes_changes_only)
{
    static const struct refusal refusals[] = {
        {"{\"with\":[]}", 422, "/with"},
        {"{\"with\":null}", 422, "/with"},
        {"{\"with\":7}", 422, "/with"},
        {"{\"with\":{\"time\":5}}", 422, "/with/time"},
        {"{\"with\":{\"if_revision\":5}}", 422, "/with/if_revision"},
        {"{\"with\":{\"if_box\":{}}}", 422, "/with/if_box"},
        {"{\"with\":{\"restart\":true}}", 422, "/with/restart"},
        {"{\"with\":{\"dry_run\":true}}", 422, "/with/dry_run"},
        {"{\"with\":{\"queries\":[]}}", 422, "/with/queries"},
        {"{\"with\":{\"with\":{}}}", 422, "/with/with"},
        {"{\"with\":{\"put\":{}},\"with\":{}}", 400, NULL},
        {"{\"with\":{\"put\":{},\"put\":{}}}", 400, NULL},
        {"{\"with\":{\"put\":{\"a\":1,\"a\":1}}}", 400, NULL},
        {"{\"with\":{\"pose\":{\"a\":{}}", 400, NULL},
    };
    CHECK_REFUSALS(DUMP_QUERY + OBB_QUERY_ALL_PAIRS, 3, refusals);
}
END_TEST

/* Each name of columns is an entry. */
START_TEST(a_query_takes_a_thousand_changes)
{
    static char text[65536];
    for (int more = 0; more < 2; more++)
        for (int columns = 0; columns < 2; columns++) {
            size_t length =
                (size_t)snprintf(text, sizeof text, "{\"with\":{\"remove\":[\"x\"],\"frames\":{%s",
                                 columns ? "\"names\":[" : "");
            for (int i = 0; i < 999 + more; i++)
                length +=
                    (size_t)snprintf(text + length, sizeof text - length,
                                     columns ? "%s\"f%d\"" : "%s\"f%d\":{}", i > 0 ? "," : "", i);
            (void)snprintf(text + length, sizeof text - length, columns ? "]}}}" : "}}}");
            if (more == 0) {
                check_taken(DUMP_QUERY + OBB_QUERY_ALL_PAIRS, 3, text);
                continue;
            }
            char *got;
            ck_assert(!decode_all(DUMP_QUERY + OBB_QUERY_ALL_PAIRS, 3, text, &got));
            ck_assert_str_eq(got, "422 /with");
            free(got);
        }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("columns");
    TCase *tc = tcase_create("columns");
    tcase_add_checked_fixture(tc, start, stop);
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, a_number_that_is_none_is_refused_where_it_stands);
    tcase_add_test(tc, what_does_not_fit_is_refused_wherever_it_stands);
    tcase_add_test(tc, columns_without_rows_are_no_changes);
    tcase_add_test(tc, a_query_takes_changes_only);
    tcase_add_test(tc, a_query_takes_a_thousand_changes);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
