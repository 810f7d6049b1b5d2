#include "tests/proto/request/requests.h"

START_TEST(puts_in_columns_are_those_by_name)
{
    check_same(
        DUMP_COMMIT, 3,
        "{\"put\":{\"names\":[\"a\",\"b\"],\"centers\":[1,2,3,4.5,5,6],\"half_extents\":"
        "[1,2,3,0,0.1,1e9],\"rotations\":[0,0,0,1,0.6,0,0,0.8],\"entities\":[\"e\",null],"
        "\"category\":[0,4294967295],\"mask\":[7,8],\"group\":[-2147483648,2147483647]}}",
        "{\"put\":{\"a\":{\"center\":[1,2,3],\"half_extents\":[1,2,3],\"rotation\":[0,0,0,1],"
        "\"entity\":\"e\",\"category\":0,\"mask\":7,\"group\":-2147483648},"
        "\"b\":{\"center\":[4.5,5,6],\"half_extents\":[0,0.1,1e9],\"rotation\":[0.6,0,0,0.8],"
        "\"entity\":null,\"category\":4294967295,\"mask\":8,\"group\":2147483647}}}");
    /* one value for all, and the defaults of columns that are absent */
    check_same(
        DUMP_COMMIT, 3,
        "{\"put\":{\"entities\":\"e\",\"category\":5,\"mask\":6,\"group\":-7,\"half_extents\":"
        "[1,2,3],\"centers\":[1,2,3,4,5,6],\"names\":[\"a\",\"b\"]}}",
        "{\"put\":{\"a\":{\"center\":[1,2,3],\"half_extents\":[1,2,3],\"entity\":\"e\","
        "\"category\":5,\"mask\":6,\"group\":-7},\"b\":{\"center\":[4,5,6],\"half_extents\":"
        "[1,2,3],\"entity\":\"e\",\"category\":5,\"mask\":6,\"group\":-7}}}");
    check_same(DUMP_COMMIT, 3,
               "{\"put\":{\"entities\":null,\"names\":[\"a\"],\"centers\":[1,2,3],\"half_extents\":"
               "[1,2,3]}}",
               "{\"put\":{\"a\":{\"center\":[1,2,3],\"half_extents\":[1,2,3]}}}");
    check_same(DUMP_COMMIT, 3,
               "{\"put\":{\"names\":[\"a\",\"b\",\"c\"],\"centers\":[1,2,3,4,5,6,7,8,9],"
               "\"half_extents\":[1,1,1],\"ttl\":[0,null,9007199254740992],\"frames\":[null,\"f\","
               "\"g\"]}}",
               "{\"put\":{\"a\":{\"center\":[1,2,3],\"half_extents\":[1,1,1],\"ttl\":0},\"b\":{"
               "\"center\":[4,5,6],\"half_extents\":[1,1,1],\"ttl\":null,\"frame\":\"f\"},\"c\":{"
               "\"center\":[7,8,9],\"half_extents\":[1,1,1],\"ttl\":9007199254740992,\"frame\":"
               "\"g\"}}}");
    check_same(DUMP_COMMIT, 3,
               "{\"put\":{\"names\":[\"a\",\"b\"],\"centers\":[1,2,3,4,5,6],\"half_extents\":"
               "[1,1,1],\"ttl\":2.5,\"frames\":\"f\"}}",
               "{\"put\":{\"a\":{\"center\":[1,2,3],\"half_extents\":[1,1,1],\"ttl\":2.5,"
               "\"frame\":\"f\"},\"b\":{\"center\":[4,5,6],\"half_extents\":[1,1,1],\"ttl\":2.5,"
               "\"frame\":\"f\"}}}");
    check_same(DUMP_COMMIT, 3,
               "{\"put\":{\"names\":[\"a\",\"b\"],\"centers\":[1,2,3,4,5,6],\"half_extents\":"
               "[1,1,1],\"ttl\":null,\"frames\":null}}",
               "{\"put\":{\"a\":{\"center\":[1,2,3],\"half_extents\":[1,1,1]},\"b\":{\"center\":"
               "[4,5,6],\"half_extents\":[1,1,1]}}}");
    /* a quaternion is normalised as by name */
    check_same(
        DUMP_COMMIT, 3,
        "{\"put\":{\"names\":[\"a\"],\"centers\":[0,0,0],\"half_extents\":[1,1,1],"
        "\"rotations\":[1,2,3,4]}}",
        "{\"put\":{\"a\":{\"center\":[0,0,0],\"half_extents\":[1,1,1],\"rotation\":[1,2,3,4]}}}");
    check_same(DUMP_COMMIT, 2,
               "{\"put\":{\"names\":[\"a\",\"b\"],\"centers\":[1,2,3,4],\"half_extents\":[1,1],"
               "\"angles\":[5,-720.5]}}",
               "{\"put\":{\"a\":{\"center\":[1,2],\"half_extents\":[1,1],\"angle\":5},\"b\":"
               "{\"center\":[3,4],\"half_extents\":[1,1],\"angle\":-720.5}}}");
    check_same(DUMP_COMMIT, 3, "{\"put\":{\"names\":[],\"centers\":[],\"half_extents\":[]}}", "{}");
    check_same(DUMP_COMMIT, 3, "{\"put\":{\"names\":[],\"centers\":[],\"half_extents\":[1,1,1]}}",
               "{}");
}
END_TEST

START_TEST(columns_are_recognised_by_an_array_of_names)
{
    static const struct {
        const char *text;
        bool columnar;
    } cases[] = {
        {"{\"put\":{\"names\":[\"a\"],\"centers\":[1,2,3],\"half_extents\":[1,1,1]}}", true},
        {"{\"put\":{\"centers\":[1,2,3],\"category\":1,\"half_extents\":[1,1,1],"
         "\"names\":[\"a\"]}}",
         true},
        {"{\"put\":{\"n\\u0061mes\":[\"a\"],\"centers\":[1,2,3],\"half_extents\":[1,1,1]}}", true},
        {"{\"put\":{\"names\":{\"center\":[1,2,3],\"half_extents\":[1,1,1]}}}", false},
        {"{\"put\":{\"centers\":{\"center\":[1,2,3],\"half_extents\":[1,1,1]}}}", false},
        {"{\"put\":{}}", false},
        {"{}", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const wire_body body = json(cases[i].text);
        const wire_commit commit = commit_of(&body, 3);
        ck_assert_msg(commit.form.put_columns == cases[i].columnar, "%s", cases[i].text);
        ck_assert(commit.edit.all_put_ids == cases[i].columnar);
        ck_assert(!commit.form.pose_names && !commit.form.pose_ids);
    }
}
END_TEST

#define THREE   "\"names\":[\"a\",\"b\",\"c\"]"
#define CENTERS "\"centers\":[1,2,3,4,5,6,7,8,9]"
#define EXTENTS "\"half_extents\":[1,1,1]"
#define NO_ROWS "\"names\":[],\"centers\":[]"

START_TEST(columns_that_are_wrong_are_refused_at_the_first_fault)
{
    static const struct refusal refusals[] = {
        /* what no row can mend */
        {"{\"put\":{" THREE "," CENTERS "}}", 422, "/put"},
        {"{\"put\":{" THREE "," EXTENTS "}}", 422, "/put"},
        {"{\"put\":{" THREE "," CENTERS "," EXTENTS ",\"ids\":[1,2,3]}}", 422, "/put/ids"},
        {"{\"put\":{" THREE "," CENTERS "," EXTENTS ",\"data\":[1,2,3]}}", 422, "/put/data"},
        {"{\"put\":{" THREE "," CENTERS "," EXTENTS ",\"center\":[1,2,3]}}", 422, "/put/center"},
        {"{\"put\":{" THREE "," CENTERS "," EXTENTS ",\"angles\":[1,2,3]}}", 422, "/put/angles"},
        {"{\"put\":{" THREE "," EXTENTS ",\"centers\":[1,2,3,4,5,6,7,8]}}", 422, "/put/centers"},
        {"{\"put\":{" THREE "," EXTENTS ",\"centers\":[1,2,3]}}", 422, "/put/centers"},
        {"{\"put\":{" THREE "," EXTENTS ",\"centers\":[]}}", 422, "/put/centers"},
        {"{\"put\":{" THREE "," CENTERS ",\"half_extents\":[1,1]}}", 422, "/put/half_extents"},
        {"{\"put\":{" THREE "," CENTERS ",\"half_extents\":[1,1,1,1,1,1]}}", 422,
         "/put/half_extents"},
        {"{\"put\":{" THREE "," CENTERS ",\"half_extents\":1}}", 422, "/put/half_extents"},
        {"{\"put\":{" THREE "," CENTERS "," EXTENTS ",\"rotations\":[0,0,0,1]}}", 422,
         "/put/rotations"},
        {"{\"put\":{" THREE "," CENTERS "," EXTENTS ",\"rotations\":null}}", 422, "/put/rotations"},
        {"{\"put\":{" THREE "," CENTERS "," EXTENTS ",\"entities\":[\"e\"]}}", 422,
         "/put/entities"},
        {"{\"put\":{" THREE "," CENTERS "," EXTENTS ",\"entities\":7}}", 422, "/put/entities"},
        {"{\"put\":{" THREE "," CENTERS "," EXTENTS ",\"entities\":\"\"}}", 422, "/put/entities"},
        {"{\"put\":{" THREE "," CENTERS "," EXTENTS ",\"category\":[1,2]}}", 422, "/put/category"},
        {"{\"put\":{" THREE "," CENTERS "," EXTENTS ",\"category\":null}}", 422, "/put/category"},
        {"{\"put\":{" THREE "," CENTERS "," EXTENTS ",\"category\":\"1\"}}", 422, "/put/category"},
        {"{\"put\":{" THREE "," CENTERS "," EXTENTS ",\"mask\":{}}}", 422, "/put/mask"},
        {"{\"put\":{" THREE "," CENTERS "," EXTENTS ",\"group\":[]}}", 422, "/put/group"},
        {"{\"put\":{\"names\":[\"a\"],\"centers\":{},\"half_extents\":[1,1,1]}}", 422,
         "/put/centers"},
        /* of several wrong arrays, the first in the order names, centers, half_extents, … */
        {"{\"put\":{\"group\":[1],\"half_extents\":[],\"centers\":[1,2,3]," THREE "}}", 422,
         "/put/centers"},
        /* what stands for all rows, also where there is none */
        {"{\"put\":{" NO_ROWS ",\"half_extents\":[1,-1,1]}}", 422, "/put/half_extents/1"},
        {"{\"put\":{" NO_ROWS ",\"half_extents\":[1e10,1,1]}}", 422, "/put/half_extents/0"},
        {"{\"put\":{" NO_ROWS "," EXTENTS ",\"category\":-1}}", 422, "/put/category"},
        {"{\"put\":{" NO_ROWS "," EXTENTS ",\"mask\":1.5}}", 422, "/put/mask"},
        {"{\"put\":{" NO_ROWS "," EXTENTS ",\"group\":1e10}}", 422, "/put/group"},
        {"{\"put\":{" NO_ROWS "," EXTENTS ",\"ttl\":-1}}", 422, "/put/ttl"},
        /* rows, in their order */
        {"{\"put\":{\"names\":[\"a\",7,\"c\"]," CENTERS "," EXTENTS "}}", 422, "/put/names/1"},
        {"{\"put\":{\"names\":[\"a\",\"\",\"c\"]," CENTERS "," EXTENTS "}}", 422, "/put/names/1"},
        {"{\"put\":{\"names\":[\"a\",\"b\",\"a\"]," CENTERS "," EXTENTS "}}", 422, "/put/names/2"},
        {"{\"put\":{\"names\":[\"a\",\"a\",\"a\"]," CENTERS "," EXTENTS "}}", 422, "/put/names/1"},
        {"{\"put\":{" THREE ",\"centers\":[1,2,3,4,1e10,6,7,8,9]," EXTENTS "}}", 422,
         "/put/centers/4"},
        {"{\"put\":{" THREE ",\"centers\":[1,2,3,4,5,6,7,null,9]," EXTENTS "}}", 422,
         "/put/centers/7"},
        {"{\"put\":{" THREE ",\"centers\":[1,2,3,4,5,6,7,1e309,9]," EXTENTS "}}", 422,
         "/put/centers/7"},
        {"{\"put\":{" THREE "," CENTERS ",\"half_extents\":[1,-1,1]}}", 422, "/put/half_extents/1"},
        {"{\"put\":{" THREE "," CENTERS ",\"half_extents\":[1,1,1,1,1,1,1,1,-1]}}", 422,
         "/put/half_extents/8"},
        {"{\"put\":{" THREE "," CENTERS "," EXTENTS ",\"rotations\":[0,0,0,1,0,0,0,1,0,0,0,0]}}",
         422, "/put/rotations/8"},
        {"{\"put\":{" THREE "," CENTERS "," EXTENTS ",\"entities\":[\"e\",null,1]}}", 422,
         "/put/entities/2"},
        {"{\"put\":{" THREE "," CENTERS "," EXTENTS ",\"category\":[1,2,4294967296]}}", 422,
         "/put/category/2"},
        {"{\"put\":{" THREE "," CENTERS "," EXTENTS ",\"category\":-1}}", 422, "/put/category"},
        {"{\"put\":{" THREE "," CENTERS "," EXTENTS ",\"mask\":[1,1.5,1]}}", 422, "/put/mask/1"},
        {"{\"put\":{" THREE "," CENTERS "," EXTENTS ",\"group\":[1,2147483648,1]}}", 422,
         "/put/group/1"},
        {"{\"put\":{" THREE "," CENTERS "," EXTENTS ",\"group\":2147483648}}", 422, "/put/group"},
        {"{\"put\":{\"names\":[\"a\",\"b\",\"a\"],\"centers\":[1,2,3,4,5,1e10,7,8,9]," EXTENTS "}}",
         422, "/put/centers/5"},
        {"{\"put\":{\"names\":[\"a\",\"a\",\"b\"],\"centers\":[1,2,3,4,5,6,7,8,1e10]," EXTENTS "}}",
         422, "/put/names/1"},
        {"{\"put\":{\"names\":[\"a\",\"a\",\"b\"],\"centers\":[1,2,3,4,5,1e10,7,8,9]," EXTENTS "}}",
         422, "/put/names/1"},
        {"{\"put\":{" THREE "," CENTERS "," EXTENTS
         ",\"category\":[1,1,\"x\"],\"group\":[0,\"y\",0]}}",
         422, "/put/group/1"},
        {"{\"put\":{" THREE "," CENTERS "," EXTENTS ",\"ttl\":[1,2]}}", 422, "/put/ttl"},
        {"{\"put\":{" THREE "," CENTERS "," EXTENTS ",\"ttl\":[1,-1,2]}}", 422, "/put/ttl/1"},
        {"{\"put\":{" THREE "," CENTERS "," EXTENTS ",\"ttl\":[null,1,-0.5]}}", 422, "/put/ttl/2"},
        {"{\"put\":{" THREE "," CENTERS "," EXTENTS ",\"ttl\":[null,\"1\",-1]}}", 422,
         "/put/ttl/1"},
        {"{\"put\":{" THREE "," CENTERS "," EXTENTS ",\"ttl\":-1}}", 422, "/put/ttl"},
        {"{\"put\":{" THREE "," CENTERS "," EXTENTS ",\"ttl\":9007199254740994}}", 422, "/put/ttl"},
        {"{\"put\":{" THREE "," CENTERS "," EXTENTS ",\"ttl\":{}}}", 422, "/put/ttl"},
        {"{\"put\":{" THREE "," CENTERS "," EXTENTS ",\"frames\":[\"f\",null]}}", 422,
         "/put/frames"},
        {"{\"put\":{" THREE "," CENTERS "," EXTENTS ",\"frames\":[\"f\",null,\"..\"]}}", 422,
         "/put/frames/2"},
        /* boxes by name, with one that is called names */
        {"{\"put\":{\"a\":{" POSE "},\"names\":[\"a\"]}}", 422, "/put/names"},
        {"{\"put\":{\"a\":[1,2,3]}}", 422, "/put/a"},
        {"{\"put\":{\"entities\":\"e\"}}", 422, "/put/entities"},
        /* and what is malformed */
        {"{\"put\":{" THREE "," THREE "," CENTERS "," EXTENTS "}}", 400, NULL},
        {"{\"put\":{\"category\":{\"a\":1,\"a\":1}," THREE "," CENTERS "," EXTENTS "}}", 400, NULL},
    };
    CHECK_REFUSALS(DUMP_COMMIT, 3, refusals);
    static const struct refusal planar[] = {
        {"{\"put\":{\"names\":[\"a\"],\"centers\":[0,0],\"half_extents\":[1,1],\"rotations\":"
         "[0,0,0,1]}}",
         422, "/put/rotations"},
        {"{\"put\":{\"names\":[\"a\"],\"centers\":[0,0,0],\"half_extents\":[1,1]}}", 422,
         "/put/centers"},
        {"{\"put\":{\"names\":[\"a\"],\"centers\":[0,0],\"half_extents\":[1,1],\"angles\":[1,2]}}",
         422, "/put/angles"},
        {"{\"put\":{\"names\":[\"a\",\"b\"],\"centers\":[0,0,1,1],\"half_extents\":[1,1],"
         "\"angles\":"
         "[1,1e309]}}",
         422, "/put/angles/1"},
    };
    CHECK_REFUSALS(DUMP_COMMIT, 2, planar);
}
END_TEST

/* Typed arrays hold what JSON cannot say. */
START_TEST(a_typed_column_with_a_number_that_is_none_is_refused_at_it)
{
    static const double bad[] = {(double)NAN, (double)INFINITY, (double)-INFINITY};
    size_t looked_at = 0;
    for (size_t kind = 0; kind < 3; kind++) {
        for (size_t item = 0; item < 6; item++, looked_at++) {
            double centers[6] = {1, 2, 3, 4, 5, 6}, extents[3] = {1, 1, 1};
            struct cbor_maker m = {0};
            char *got, expected[64];
            centers[item] = bad[kind];
            maker_head(&m, 5, 1);
            maker_text(&m, "put", 3);
            maker_head(&m, 5, 3);
            maker_text(&m, "names", 5);
            maker_head(&m, 4, 2);
            maker_text(&m, "a", 1);
            maker_text(&m, "b", 1);
            maker_text(&m, "centers", 7);
            maker_typed(&m, item % 2 == 0 ? MAKER_F64 : MAKER_F32, centers, 6);
            maker_text(&m, "half_extents", 12);
            maker_typed(&m, MAKER_F64, extents, 3);
            ck_assert(!decode(DUMP_COMMIT, 3, (const char *)m.bytes, m.length, WIRE_CBOR, &got));
            (void)snprintf(expected, sizeof expected, "422 /put/centers/%zu", item);
            ck_assert_str_eq(got, expected);
            free(got);
            free(m.bytes);
        }
    }
    printf("%zu numbers\n", looked_at);
}
END_TEST

/* After a fault the commit holds the rows before it, because the scene may refuse one of those. */
START_TEST(the_rows_before_a_fault_are_kept)
{
    enum { ROWS = 100 };
    for (int fault = 0; fault < ROWS; fault++) {
        char *text;
        size_t length;
        FILE *f = open_memstream(&text, &length);
        ck_assert_ptr_nonnull(f);
        (void)fputs("{\"put\":{\"names\":[", f);
        for (int i = 0; i < ROWS; i++)
            (void)fprintf(f, "%s\"n%d\"", i > 0 ? "," : "", i);
        (void)fputs("],\"centers\":[", f);
        for (int i = 0; i < ROWS * 3; i++)
            (void)fprintf(f, "%s%s", i > 0 ? "," : "", i == fault * 3 + 1 ? "-2e9" : "5");
        (void)fputs("],\"half_extents\":[1,1,1]}}", f);
        (void)fclose(f);
        wire_commit commit;
        wire_problem problem;
        const wire_body body = {.bytes = text, .length = length, .media = WIRE_JSON};
        char pointer[64];
        (void)snprintf(pointer, sizeof pointer, "/put/centers/%d", fault * 3 + 1);
        ck_assert(!wire_read_commit(&body, 3, &arena, &commit, &problem));
        ck_assert_str_eq(problem.pointer, pointer);
        ck_assert_str_eq(problem.detail, "found -2e9; a coordinate is -1e9 to 1e9");
        ck_assert_uint_eq(commit.edit.put_count, (size_t)fault);
        free(text);
    }
    printf("%d faults\n", ROWS);
}
END_TEST

enum { COLUMNS, MAP, FORMS };

/* Writes a commit that puts random boxes, in one of two forms. Numbers have 17 digits. */
static char *random_puts(int form, uint64_t seed, size_t *out_length)
{
    enum { ROWS = 400, COLUMN_COUNT = 8 };
    static const char *const keys[FORMS][COLUMN_COUNT] = {
        {"names", "centers", "half_extents", "rotations", "entities", "category", "mask", "group"},
        {NULL, "center", "half_extents", "rotation", "entity", "category", "mask", "group"}};
    char *texts[COLUMN_COUNT] = {NULL}, *text;
    size_t lengths[COLUMN_COUNT];
    FILE *columns[COLUMN_COUNT], *f = open_memstream(&text, out_length);
    test_rng rng = {.s = seed};
    ck_assert_ptr_nonnull(f);
    (void)fputs("{\"put\":{", f);
    for (int i = 0; i < COLUMN_COUNT; i++)
        columns[i] = form == MAP ? f : open_memstream(&texts[i], &lengths[i]);
    for (int row = 0; row < ROWS; row++) {
        const char *comma = row > 0 ? "," : "", *key = form == MAP ? "," : "";
        (void)fprintf(columns[0], form == MAP ? "%s\"n%zu\":{" : "%s\"n%zu\"", comma,
                      (size_t)row * 2 + test_below(&rng, 2));
        for (int i = 1; i < COLUMN_COUNT; i++) {
            static const int widths[COLUMN_COUNT] = {0, 3, 3, 4, 0, 1, 1, 1};
            if (form == MAP)
                (void)fprintf(f, "%s\"%s\":%s", i > 1 ? key : "", keys[MAP][i],
                              widths[i] > 1 ? "[" : "");
            else
                (void)fputs(comma, columns[i]);
            const size_t entity = test_below(&rng, 20);
            const bool unit = i == 3 && entity < 10; /* a rotation that is kept as it came */
            if (i == 4)
                (void)fprintf(columns[i], entity < 10 ? "\"e%zu\"" : "null", entity);
            if (unit)
                (void)fputs("0.6,0,-0.8,0", columns[i]);
            for (int k = 0; k < widths[i] && !unit; k++)
                (void)fprintf(columns[i], i >= 5 ? "%s%.0f" : "%s%.17g", k > 0 ? "," : "",
                              i >= 5 ? (double)test_below(&rng, 1000)
                                     : test_uniform(&rng, i == 2 ? 0.0 : -50.0, 50.0));
            if (form == MAP && widths[i] > 1)
                (void)fputs("]", f);
        }
        if (form == MAP)
            (void)fputs("}", f);
    }
    for (int i = 0; i < COLUMN_COUNT && form == COLUMNS; i++) {
        (void)fclose(columns[i]);
        (void)fprintf(f, "%s\"%s\":[%s]", i > 0 ? "," : "", keys[COLUMNS][i], texts[i]);
        free(texts[i]);
    }
    (void)fputs("}}", f);
    (void)fclose(f);
    return text;
}

START_TEST(columns_make_the_boxes_of_the_puts_by_name_in_rounds_of_any_size)
{
    size_t kept = 0, normalised = 0;
    char *texts[FORMS];
    wire_commit commits[FORMS];
    for (int form = 0; form < FORMS; form++) {
        size_t length;
        texts[form] = random_puts(form, 20261123, &length);
        const wire_body body = {.bytes = texts[form], .length = length, .media = WIRE_JSON};
        commits[form] = commit_of(&body, 3);
    }
    const size_t count = commits[MAP].edit.put_count;
    const obb_put_columns *columns = commits[COLUMNS].edit.put_columns;
    const obb_put *puts = commits[MAP].edit.puts;
    ck_assert_uint_eq(commits[COLUMNS].edit.put_count, count);
    for (size_t size = 1; size <= count; size = size * 3 - 1 + (size == 1)) {
        static obb_box boxes[1000];
        for (size_t first = 0; first < count; first += size) {
            const size_t n = count - first < size ? count - first : size;
            columns->make_boxes(columns->maker, first, n, boxes);
            for (size_t i = 0; i < n; i++)
                ck_assert_msg(obb_box_same_bits(&boxes[i], &puts[first + i].box), "box %zu of %zu",
                              i, size);
        }
    }
    for (size_t i = 0; i < count; i++) {
        obb_put scratch;
        const obb_put *put = obb_edit_put(&commits[COLUMNS].edit, i, &scratch);
        ck_assert(obb_box_same_bits(&put->box, &puts[i].box));
        kept += put->box.rotation.x == 0.6;
        normalised += put->box.rotation.x != 0.6;
    }
    for (int form = 0; form < FORMS; form++)
        free(texts[form]);
    ck_assert_uint_gt(kept, count / 4);
    ck_assert_uint_gt(normalised, count / 4);
    printf("%zu rotations as they came, %zu normalised\n", kept, normalised);
}
END_TEST

START_TEST(puts_in_columns_make_the_state_that_puts_by_name_make)
{
    struct obb_scene *scenes[FORMS];
    const obb_settings settings = {.dimensions = 3, .history_commits = 4};
    size_t replaced = 0, made = 0;
    for (int form = 0; form < FORMS; form++)
        ck_assert_int_eq(obb_scene_create(obb_str_of("yard"), &settings, 0, NULL, &scenes[form]),
                         OBB_OK);
    for (uint64_t round = 0; round < 6; round++) {
        uint64_t hashes[FORMS];
        for (int form = 0; form < FORMS; form++) {
            size_t length;
            char *text = random_puts(form, 77 + round, &length);
            const wire_body body = {.bytes = text, .length = length, .media = WIRE_JSON};
            const wire_commit commit = commit_of(&body, 3);
            struct obb_prepared *prepared;
            obb_committed committed;
            obb_fault fault;
            ck_assert_int_eq(obb_edit_prepare(scenes[form], &commit.edit, 0, SIZE_MAX, &arena,
                                              &prepared, &fault),
                             OBB_OK);
            obb_edit_commit(prepared, &committed);
            for (size_t i = 0; form == MAP && i < commit.edit.put_count; i++) {
                replaced += committed.new_ids[i] == 0;
                made += committed.new_ids[i] != 0;
            }
            hashes[form] = obb_scene_hash(scenes[form]);
            free(text);
        }
        ck_assert_uint_eq(hashes[COLUMNS], hashes[MAP]);
    }
    ck_assert_uint_gt(replaced, 500);
    ck_assert_uint_gt(made, 500);
    printf("%zu boxes made, %zu replaced\n", made, replaced);
    for (int form = 0; form < FORMS; form++)
        obb_scene_destroy(scenes[form]);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("put_columns");
    TCase *tc = tcase_create("put_columns");
    tcase_add_checked_fixture(tc, start, stop);
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, puts_in_columns_are_those_by_name);
    tcase_add_test(tc, columns_are_recognised_by_an_array_of_names);
    tcase_add_test(tc, columns_that_are_wrong_are_refused_at_the_first_fault);
    tcase_add_test(tc, a_typed_column_with_a_number_that_is_none_is_refused_at_it);
    tcase_add_test(tc, the_rows_before_a_fault_are_kept);
    tcase_add_test(tc, columns_make_the_boxes_of_the_puts_by_name_in_rounds_of_any_size);
    tcase_add_test(tc, puts_in_columns_make_the_state_that_puts_by_name_make);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
