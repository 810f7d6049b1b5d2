/* The filters of section 5 of the contract, as truth tables. */
#include "core/obb.h"
#include "tests/support/fault.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

#define ALL UINT32_MAX

/* A box of the little scene: all of them stand in one place, so that filters alone decide. */
struct member {
    const char *name, *entity;
    uint32_t category, mask;
    int32_t group;
};

struct stage {
    struct obb_scene *scene;
    struct obb_view *view;
    size_t count;
    uint64_t ids[16];
};

static void put_all(struct stage *stage, const struct member *members, size_t count)
{
    obb_put puts[16] = {0};
    for (size_t i = 0; i < count; i++) {
        puts[i] = (obb_put){.target = {.name = obb_str_of(members[i].name)},
                            .parts = OBB_PUT_ALL,
                            .attributes = {.category = members[i].category,
                                           .mask = members[i].mask,
                                           .group = members[i].group,
                                           .entity = obb_str_of(members[i].entity)}};
        ck_assert_int_eq(obb_box_from_pose((obb_vec3){0, 0, 0}, (obb_vec3){1, 1, 1},
                                           (obb_quat){0, 0, 0, 1}, 0.0, 3, &puts[i].box),
                         OBB_OK);
    }
    const obb_edit edit = {.dimensions = 3, .puts = puts, .put_count = count};
    struct obb_arena arena = {0};
    struct obb_prepared *prepared;
    obb_fault fault;
    ck_assert_int_eq(obb_edit_prepare(stage->scene, &edit, 0.0, 1000, &arena, &prepared, &fault),
                     OBB_OK);
    obb_committed committed;
    obb_edit_commit(prepared, &committed);
    for (size_t i = 0; i < count; i++)
        stage->ids[i] = committed.new_ids[i];
    obb_arena_fini(&arena);
}

static struct stage staged(const struct member *members, size_t count)
{
    struct stage stage = {.count = count};
    const obb_settings settings = {.dimensions = 3};
    ck_assert_int_eq(obb_scene_create(obb_str_of("stage"), &settings, 0.0, NULL, &stage.scene),
                     OBB_OK);
    put_all(&stage, members, count);
    ck_assert_int_eq(obb_view_open(stage.scene, NULL, &stage.view, NULL, NULL), OBB_OK);
    return stage;
}

static void end(struct stage *stage)
{
    obb_view_close(stage->view);
    obb_scene_destroy(stage->scene);
}

/* The names that a query of the kind finds with the filter, as one text, in the order of the
 * answer. */
static void found_names(const struct stage *stage, obb_query_kind kind, const obb_filter *filter,
                        char out[static 200])
{
    const obb_vec3 origin = {0, 0, 0};
    obb_shape sphere;
    ck_assert_int_eq(obb_shape_sphere(origin, 1.0, &sphere), OBB_OK);
    const obb_query_shape shape = {.shape = &sphere};
    obb_ray ray;
    ck_assert_int_eq(obb_ray_make((obb_vec3){-5, 0, 0}, (obb_vec3){1, 0, 0}, 9.0, &ray), OBB_OK);
    obb_box box;
    ck_assert_int_eq(obb_box_from_pose((obb_vec3){-5, 0, 0}, (obb_vec3){1, 1, 1},
                                       (obb_quat){0, 0, 0, 1}, 0.0, 3, &box),
                     OBB_OK);
    const obb_query_sweep sweep = {.ref = {.kind = OBB_REF_INLINE, .box = &box},
                                   .motion = {9, 0, 0}};
    obb_query query = {.kind = kind,
                       .dimensions = 3,
                       .count = kind == OBB_QUERY_ALL_PAIRS ? 0 : 1,
                       .mode = OBB_ALL,
                       .k = 100,
                       .max_distance = HUGE_VAL,
                       .limit = 1000,
                       .filter = *filter};
    if (kind == OBB_QUERY_OVERLAP)
        query.items.shapes = &shape;
    else if (kind == OBB_QUERY_RAY)
        query.items.rays = &ray;
    else if (kind == OBB_QUERY_SWEEP)
        query.items.sweeps = &sweep;
    else
        query.items.points = &origin;
    struct obb_plan *plan;
    ck_assert_int_eq(obb_plan_create(stage->view, &query, NULL, NULL, &plan), OBB_OK);
    ck_assert_int_eq(obb_plan_run(plan), OBB_OK);
    const obb_result *result = obb_plan_result(plan);
    out[0] = '\0';
    for (size_t i = 0; i < result->pair_count; i++) {
        strncat(out, i > 0 ? " " : "", 2);
        strncat(out, obb_view_name(result->pairs[i].a).bytes,
                obb_view_name(result->pairs[i].a).length);
        strncat(out, "+", 2);
        strncat(out, obb_view_name(result->pairs[i].b).bytes,
                obb_view_name(result->pairs[i].b).length);
    }
    for (size_t i = 0; result->answer_count > 0 && i < result->answers[0].hit_count; i++) {
        const obb_str name = obb_view_name(result->answers[0].hits[i].box);
        strncat(out, i > 0 ? " " : "", 2);
        strncat(out, name.bytes, name.length);
    }
    obb_plan_destroy(plan);
}

/* Every kind but pairs (which ignores filters) must find the same. */
static size_t check_found(const struct stage *stage, const obb_filter *filter, const char *expected)
{
    const obb_query_kind kinds[] = {OBB_QUERY_OVERLAP, OBB_QUERY_POINT, OBB_QUERY_RAY,
                                    OBB_QUERY_SWEEP, OBB_QUERY_NEAREST};
    char names[200];
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        found_names(stage, kinds[i], filter, names);
        ck_assert_str_eq(names, expected);
    }
    return sizeof kinds / sizeof *kinds;
}

START_TEST(masks_and_categories_of_a_query)
{
    const struct member members[] = {
        /* name  entity category mask */
        {"a", "", 1, ALL, 0}, {"b", "", 2, ALL, 0}, {"c", "", 3, 1, 0},
        {"d", "", 4, 0, 0},   {"e", "", 0, 2, 0},
    };
    struct stage stage = staged(members, 5);
    const struct {
        bool has_mask;
        uint32_t mask; /* meets the box's category */
        bool has_category;
        uint32_t category; /* meets the box's mask */
        const char *takes_part;
    } rows[] = {
        {false, 0, false, 0, "a b c d e"}, /* without them every box does */
        {true, 1, false, 0, "a c"},
        {true, 2, false, 0, "b c"},
        {true, 3, false, 0, "a b c"},
        {true, 4, false, 0, "d"},
        {true, ALL, false, 0, "a b c d"}, /* category 0 meets no mask */
        {true, 0, false, 0, ""},          /* a stated 0 meets nothing */
        {false, 0, true, 1, "a b c"},
        {false, 0, true, 2, "a b e"},
        {false, 0, true, ALL, "a b c e"}, /* mask 0 meets no category */
        {false, 0, true, 0, ""},
        {true, 1, true, 1, "a c"},
        {true, 3, true, 2, "a b"}, /* both must hold */
        {true, 4, true, 1, ""},
        {true, ALL, true, ALL, "a b c"},
    };
    size_t checked = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const obb_filter filter = {.has_mask = rows[i].has_mask,
                                   .mask = rows[i].mask,
                                   .has_category = rows[i].has_category,
                                   .category = rows[i].category};
        checked += check_found(&stage, &filter, rows[i].takes_part);
    }
    printf("masks and categories: %zu answers\n", checked);
    ck_assert_uint_eq(checked, 75);
    end(&stage);
}
END_TEST

START_TEST(exclusions_and_prefixes_of_a_query)
{
    const struct member members[] = {
        {"door", "", 1, ALL, 0},          {"p1-head", "p1", 1, ALL, 0},
        {"p1-body", "p1", 1, ALL, 0},     {"p2-head", "p2", 1, ALL, 0},
        {"\xc3\xa4-wall", "", 1, ALL, 0}, {"p1", "", 1, ALL, 0},
    };
    struct stage stage = staged(members, 6);
    const obb_str names[] = {obb_str_of("p1-head"), obb_str_of("door"), obb_str_of("nobody"),
                             obb_str_of("door")};
    const obb_str entities[] = {obb_str_of("p1"), obb_str_of("p3"), obb_str_of("p2")};
    const uint64_t ids[] = {stage.ids[5], 999, stage.ids[0], stage.ids[5]};
    const char *const aunt = "\xc3\xa4-wall";
    char expected[200];
#define EXPECT(filter, ...)                                     \
    do {                                                        \
        (void)snprintf(expected, sizeof expected, __VA_ARGS__); \
        const obb_filter it = filter;                           \
        checked += check_found(&stage, &it, expected);          \
    } while (0)
    size_t checked = 0;
    EXPECT(((obb_filter){.exclude = names, .exclude_count = 1}), "door p1-body p2-head %s p1",
           aunt);
    EXPECT(((obb_filter){.exclude = names, .exclude_count = 4}), "p1-body p2-head %s p1", aunt);
    EXPECT(((obb_filter){.exclude = names + 2, .exclude_count = 1}),
           "door p1-head p1-body p2-head %s p1", aunt);
    EXPECT(((obb_filter){.exclude_ids = ids, .exclude_id_count = 4}), "p1-head p1-body p2-head %s",
           aunt);
    /* An entity excludes its boxes, not the box of that name. */
    EXPECT(((obb_filter){.exclude_entities = entities, .exclude_entity_count = 1}),
           "door p2-head %s p1", aunt);
    EXPECT(((obb_filter){.exclude_entities = entities, .exclude_entity_count = 3}), "door %s p1",
           aunt);
    EXPECT(((obb_filter){.prefix = obb_str_of("p1")}), "p1-head p1-body p1");
    EXPECT(((obb_filter){.prefix = obb_str_of("p1-")}), "p1-head p1-body");
    EXPECT(((obb_filter){.prefix = obb_str_of("p1-head-and-more")}), "%s", "");
    EXPECT(((obb_filter){.prefix = obb_str_of("\xc3")}), "%s", aunt);
    /* All at once: each takes its part away. */
    EXPECT(((obb_filter){.prefix = obb_str_of("p"),
                         .exclude = names,
                         .exclude_count = 1,
                         .exclude_ids = ids,
                         .exclude_id_count = 1,
                         .exclude_entities = entities + 2,
                         .exclude_entity_count = 1,
                         .has_mask = true,
                         .mask = 1,
                         .has_category = true,
                         .category = 4}),
           "p1-body");
#undef EXPECT
    printf("exclusions and prefixes: %zu answers\n", checked);
    ck_assert_uint_eq(checked, 55);
    end(&stage);
}
END_TEST

START_TEST(groups_and_masks_of_pairs)
{
    const struct {
        uint32_t category_a, mask_a;
        int32_t group_a;
        uint32_t category_b, mask_b;
        int32_t group_b;
        bool allowed;
    } rows[] = {
        {1, ALL, 0, 1, ALL, 0, true},    /* the defaults */
        {1, 2, 0, 2, 1, 0, true},        /* each is in the other's mask */
        {1, 2, 0, 2, 4, 0, false},       /* b does not want a */
        {1, 4, 0, 2, 1, 0, false},       /* a does not want b */
        {1, 4, 0, 2, 4, 0, false},       /* neither does */
        {0, ALL, 0, 1, ALL, 0, false},   /* category 0 is in no mask */
        {1, 0, 0, 1, ALL, 0, false},     /* mask 0 wants nothing */
        {1, 0, 7, 1, 0, 7, true},        /* equal positive groups: always */
        {1, ALL, -7, 1, ALL, -7, false}, /* equal negative groups: never */
        {1, ALL, -7, 1, ALL, -8, true},  /* other groups leave it to the masks */
        {1, ALL, 7, 1, ALL, -7, true},
        {1, 0, 7, 1, 0, 8, false},
        {1, 0, 0, 1, 0, 0, false}, /* group 0 is none */
        {1, ALL, 7, 1, ALL, 0, true},
        {1, ALL, INT32_MIN, 1, ALL, INT32_MIN, false},
        {1, 0, INT32_MAX, 1, 0, INT32_MAX, true},
        {0x80000000u, 0x80000000u, 0, 0x80000000u, 0x80000000u, 0, true}, /* the highest bit */
    };
    size_t checked = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int swapped = 0; swapped < 2; swapped++, checked++) {
            struct member members[] = {
                {"a", "", rows[i].category_a, rows[i].mask_a, rows[i].group_a},
                {"b", "", rows[i].category_b, rows[i].mask_b, rows[i].group_b}};
            if (swapped != 0) {
                const struct member first = members[0];
                members[0] = members[1];
                members[1] = first;
            }
            struct stage stage = staged(members, 2);
            const obb_filter none = {0};
            char names[200];
            found_names(&stage, OBB_QUERY_ALL_PAIRS, &none, names);
            const char *pair = swapped != 0 ? "b+a" : "a+b"; /* the smaller id first */
            ck_assert_msg(strcmp(names, rows[i].allowed ? pair : "") == 0, "row %zu: %s", i, names);
            end(&stage);
        }
    printf("groups and masks: %zu pairs\n", checked);
    ck_assert_uint_eq(checked, 34);
}
END_TEST

START_TEST(both_boxes_of_a_pair_must_take_part)
{
    const struct member members[] = {
        {"a", "x", 1, ALL, 3}, {"b", "y", 2, ALL, 3}, {"c", "x", 4, ALL, 3}, {"d", "", 8, 0, 3}};
    struct stage stage = staged(members, 4);
    const obb_str x = obb_str_of("x"), d = obb_str_of("d");
    const struct {
        obb_filter filter;
        const char *pairs;
    } rows[] = {
        {{0}, "a+b a+c a+d b+c b+d c+d"},
        {{.has_mask = true, .mask = 5}, "a+c"},
        {{.has_category = true, .category = 1}, "a+b a+c b+c"},
        {{.exclude_entities = &x, .exclude_entity_count = 1}, "b+d"},
        {{.exclude = &d, .exclude_count = 1}, "a+b a+c b+c"},
        {{.prefix = obb_str_of("a")}, ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char names[200];
        found_names(&stage, OBB_QUERY_ALL_PAIRS, &rows[i].filter, names);
        ck_assert_str_eq(names, rows[i].pairs);
    }
    end(&stage);
}
END_TEST

START_TEST(pairs_ignore_every_filter)
{
    const struct member members[] = {{"a", "x", 0, 0, -1}, {"b", "x", 0, 0, -1}};
    struct stage stage = staged(members, 2);
    const obb_ref pair[1][2] = {{{.kind = OBB_REF_NAME, .name = obb_str_of("a")},
                                 {.kind = OBB_REF_NAME, .name = obb_str_of("b")}}};
    const obb_str x = obb_str_of("x");
    const obb_query query = {.kind = OBB_QUERY_PAIRS,
                             .dimensions = 3,
                             .count = 1,
                             .limit = 1000,
                             .items = {.pairs = pair},
                             .filter = {.has_mask = true,
                                        .has_category = true,
                                        .exclude_entities = &x,
                                        .exclude_entity_count = 1,
                                        .prefix = obb_str_of("z")}};
    struct obb_plan *plan;
    ck_assert_int_eq(obb_plan_create(stage.view, &query, NULL, NULL, &plan), OBB_OK);
    ck_assert_int_eq(obb_plan_run(plan), OBB_OK);
    ck_assert(obb_plan_result(plan)->answers[0].overlap);
    ck_assert_uint_eq(obb_plan_result(plan)->answers[0].missing_count, 0);
    obb_plan_destroy(plan);
    end(&stage);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("filter");
    TCase *tc = tcase_create("filter");
    tcase_add_test(tc, masks_and_categories_of_a_query);
    tcase_add_test(tc, exclusions_and_prefixes_of_a_query);
    tcase_add_test(tc, groups_and_masks_of_pairs);
    tcase_add_test(tc, both_boxes_of_a_pair_must_take_part);
    tcase_add_test(tc, pairs_ignore_every_filter);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
