#include "core/scene/edit.h"

#include "core/obb.h"
#include "tests/support/boxes.h"
#include "tests/support/test.h"
#include "tests/support/tick.h"

#include <stdio.h>
#include <string.h>

enum { PUTS = 60, MEMBERS = 6 };

/* The same random puts as a list and as columns. Each member but name and box has a column or is
 * the same in all puts, as the bits of `columnar` say. */
struct forms {
    char names[PUTS][24], entities[PUTS][24];
    obb_put list[PUTS];
    obb_str name_column[PUTS], entity_column[PUTS], frame_column[PUTS];
    obb_box boxes[PUTS];
    uint32_t categories[PUTS], masks[PUTS];
    int32_t groups[PUTS];
    double ttls[PUTS];
    obb_put_columns columns;
};

static void make_forms(struct forms *f, test_rng *rng, unsigned columnar)
{
    memset(f, 0, sizeof *f);
    for (size_t i = 0; i < PUTS; i++) {
        obb_put *put = &f->list[i];
        (void)snprintf(f->names[i], sizeof f->names[i], "box-%zu", i);
        (void)snprintf(f->entities[i], sizeof f->entities[i], "e%zu", i % 7);
        *put = i > 0 ? f->list[0] : (obb_put){.parts = OBB_PUT_ALL};
        put->target.name = f->name_column[i] = obb_str_of(f->names[i]);
        put->box = (obb_box){.center = {test_uniform(rng, -9, 9), test_uniform(rng, -9, 9), 1},
                             .half_extents = {1, 2, test_uniform(rng, 0, 3)},
                             .rotation = {0, 0, 0, 1}};
        f->boxes[i] = put->box;
        obb_attributes *attributes = &put->attributes;
        const bool empty = test_below(rng, 4) == 0;
        if (i == 0 || (columnar & 1) != 0)
            attributes->entity = empty ? (obb_str){0} : obb_str_of(f->entities[i]);
        if (i == 0 || (columnar & 2) != 0)
            put->frame = empty ? (obb_str){0} : obb_str_of(i % 2 == 0 ? "ann" : "bob");
        if (i == 0 || (columnar & 4) != 0)
            attributes->category = (uint32_t)test_random(rng);
        if (i == 0 || (columnar & 8) != 0)
            attributes->mask = (uint32_t)test_random(rng);
        if (i == 0 || (columnar & 16) != 0)
            attributes->group = (int32_t)test_below(rng, 9) - 4;
        if (i == 0 || (columnar & 32) != 0) {
            attributes->has_ttl = !empty;
            attributes->ttl = empty ? 0.0 : (double)test_below(rng, 3);
        }
        f->entity_column[i] = attributes->entity;
        f->frame_column[i] = put->frame;
        f->categories[i] = attributes->category;
        f->masks[i] = attributes->mask;
        f->groups[i] = attributes->group;
        f->ttls[i] = attributes->has_ttl ? attributes->ttl : -1.0;
    }
    f->columns = (obb_put_columns){
        .rest = f->list[0],
        .names = f->name_column,
        .make_boxes = boxes_copy,
        .maker = f->boxes,
        .entities = (columnar & 1) != 0 ? f->entity_column : NULL,
        .frames = (columnar & 2) != 0 ? f->frame_column : NULL,
        .categories = (columnar & 4) != 0 ? f->categories : NULL,
        .masks = (columnar & 8) != 0 ? f->masks : NULL,
        .groups = (columnar & 16) != 0 ? f->groups : NULL,
        .ttls = (columnar & 32) != 0 ? f->ttls : NULL,
    };
}

/* Takes entities, frames and ttls out of both forms: the columns are plain then. */
static void make_plain(struct forms *f)
{
    for (size_t i = 0; i < PUTS; i++) {
        obb_put *put = &f->list[i];
        put->frame = put->attributes.entity = (obb_str){0};
        put->attributes.has_ttl = false;
        put->attributes.ttl = 0.0;
    }
    obb_put_columns *columns = &f->columns;
    columns->rest = f->list[0];
    columns->entities = columns->frames = NULL;
    columns->ttls = NULL;
}

static void check_same_attributes(const obb_attributes *x, const obb_attributes *y)
{
    ck_assert(obb_str_equal(x->entity, y->entity) && obb_str_equal(x->data, y->data));
    ck_assert(x->category == y->category && x->mask == y->mask && x->group == y->group);
    ck_assert(x->has_ttl == y->has_ttl && x->ttl == y->ttl);
}

static void check_same(const obb_put *a, const obb_put *b)
{
    ck_assert(obb_str_equal(a->target.name, b->target.name) && !b->target.has_id);
    ck_assert_uint_eq(a->parts, b->parts);
    ck_assert(obb_box_same_bits(&a->box, &b->box) && obb_str_equal(a->frame, b->frame));
    check_same_attributes(&a->attributes, &b->attributes);
}

/* Checks that each box of the list stands in the scene as its put says. */
static void check_boxes(struct obb_scene *scene, const obb_put *list)
{
    struct obb_view *view;
    ck_assert_int_eq(obb_view_open(scene, NULL, &view, NULL, NULL), OBB_OK);
    for (size_t i = 0; i < PUTS; i++) {
        const struct obb_version *box = obb_view_find(view, list[i].target.name);
        ck_assert_ptr_nonnull(box);
        const obb_attributes attributes = obb_view_attributes(box);
        check_same_attributes(&attributes, &list[i].attributes);
        obb_str frame = {.length = 0};
        obb_box pose = obb_view_pose(view, box);
        ck_assert_int_eq(obb_view_local(box, &frame, &pose), list[i].frame.length > 0);
        ck_assert(obb_str_equal(frame, list[i].frame) && obb_box_same_bits(&pose, &list[i].box));
    }
    obb_view_close(view);
}

/* Commits a box of that name in the frame "ann", which is made, with an entity and a ttl. */
static void put_with_extras(struct obb_scene *scene, const char *name, struct obb_arena *arena)
{
    const obb_pose frame = {.target.name = obb_str_of("ann"), .rotation = {0, 0, 0, 1}};
    const obb_put put = {.target.name = obb_str_of(name),
                         .parts = OBB_PUT_ALL,
                         .box = {.half_extents = {1, 1, 1}, .rotation = {0, 0, 0, 1}},
                         .frame = obb_str_of("ann"),
                         .attributes = {.entity = obb_str_of("old"), .has_ttl = true, .ttl = 99}};
    const obb_edit edit = {.dimensions = 3,
                           .frames = &frame,
                           .frame_count = 1,
                           .puts = &put,
                           .put_count = 1,
                           .has_time = true,
                           .time = 1.5};
    struct obb_prepared *prepared;
    obb_committed done;
    obb_fault fault;
    ck_assert_int_eq(obb_edit_prepare(scene, &edit, 0, 1000, arena, &prepared, &fault), OBB_OK);
    obb_edit_commit(prepared, &done);
}

/* Commits the edit, which states the puts of the list, over three boxes that are there, of which
 * one has a frame, an entity and a ttl. Returns the hash of the state. */
static uint64_t state_of(const obb_edit *edit, const obb_put *list, struct obb_arena *arena,
                         size_t *out_framed)
{
    const obb_pose frames[] = {{.target.name = obb_str_of("ann"), .rotation = {0, 0, 0, 1}},
                               {.target.name = obb_str_of("bob"),
                                .center = {5, 6, 7},
                                .has_center = true,
                                .rotation = {0, 0, 0, 1}}};
    struct obb_scene *scene = tick_scene(1e9, 8);
    tick(scene, 1, "+box-7:3 +other:4 +box-30:5");
    put_with_extras(scene, "box-30", arena);
    obb_edit whole = *edit;
    whole.frames = frames;
    whole.frame_count = 2;
    whole.has_time = true;
    whole.time = 2;
    struct obb_prepared *prepared;
    obb_committed done;
    obb_fault fault;
    ck_assert_int_eq(obb_edit_prepare(scene, &whole, 0, 1000, arena, &prepared, &fault), OBB_OK);
    obb_edit_commit(prepared, &done);
    ck_assert_uint_eq(done.put, PUTS);
    ck_assert_uint_eq(done.new_ids[7], edit->all_put_ids ? 1 : 0);
    ck_assert_uint_ne(done.new_ids[8], 0);
    ck_assert(done.new_ids[30] == 0 || edit->all_put_ids);
    for (size_t i = 0; i < done.made_count; i++) {
        obb_str frame;
        obb_box local;
        *out_framed += obb_view_local(done.made[i], &frame, &local);
    }
    check_boxes(scene, list);
    const uint64_t hash = obb_scene_hash(scene);
    obb_scene_destroy(scene);
    return hash;
}

START_TEST(puts_in_columns_are_those_of_the_list)
{
    test_rng rng = {.s = 20261123};
    static struct forms forms;
    struct obb_arena arena;
    obb_arena_init(&arena);
    size_t framed = 0, looked_at = 0;
    for (unsigned columnar = 0; columnar < 1u << MEMBERS; columnar++) {
        make_forms(&forms, &rng, columnar);
        const obb_edit list = {.dimensions = 3, .puts = forms.list, .put_count = PUTS};
        const obb_edit columns = {
            .dimensions = 3, .put_columns = &forms.columns, .put_count = PUTS};
        obb_put scratch;
        for (size_t i = 0; i < PUTS; i++, looked_at++) {
            check_same(&forms.list[i], obb_edit_put(&columns, i, &scratch));
            ck_assert_ptr_eq(obb_edit_put(&list, i, &scratch), &forms.list[i]);
        }
        ck_assert_uint_eq(state_of(&columns, forms.list, &arena, &framed),
                          state_of(&list, forms.list, &arena, &framed));
        struct obb_scene *scene = tick_scene(1e9, 8);
        ck_assert_uint_eq(obb_edit_bytes(scene, &columns), obb_edit_bytes(scene, &list));
        obb_scene_destroy(scene);
        obb_arena_reset(&arena);
    }
    printf("%zu puts, %zu of them in a frame\n", looked_at, framed);
    ck_assert_uint_gt(framed, looked_at / 2);
    obb_arena_fini(&arena);
}
END_TEST

START_TEST(plain_columns_are_those_of_the_list)
{
    enum { NUMBERS = 8 }; /* ways to say category, mask and group */
    test_rng rng = {.s = 20261126};
    static struct forms forms;
    struct obb_arena arena;
    obb_arena_init(&arena);
    for (unsigned way = 0; way < NUMBERS; way++) {
        make_forms(&forms, &rng, way << 2);
        make_plain(&forms);
        obb_edit list = {
            .dimensions = 3, .puts = forms.list, .put_count = PUTS, .puts_differ = true};
        obb_edit columns = list;
        columns.puts = NULL;
        columns.put_columns = &forms.columns;
        for (int ids = 0; ids < 2; ids++) {
            size_t framed = 0;
            list.all_put_ids = columns.all_put_ids = ids == 1;
            ck_assert_uint_eq(state_of(&columns, forms.list, &arena, &framed),
                              state_of(&list, forms.list, &arena, &framed));
            ck_assert_uint_eq(framed, 0); /* the box of the frame leaves it */
            obb_arena_reset(&arena);
        }
    }
    obb_arena_fini(&arena);
}
END_TEST

enum extra { ENTITY, FRAME, TTL, DATA, EXTRAS };

/* Gives both forms, which are plain, one extra. In a column, every third put has none. */
static void add_extra(struct forms *f, enum extra extra, bool in_column)
{
    obb_put_columns *columns = &f->columns;
    for (size_t i = 0; i < PUTS; i++) {
        obb_put *put = &f->list[i];
        obb_attributes *attributes = &put->attributes;
        f->frame_column[i] = f->entity_column[i] = (obb_str){0};
        f->ttls[i] = -1.0;
        if (in_column && i % 3 == 0)
            continue;
        if (extra == ENTITY)
            f->entity_column[i] = attributes->entity = obb_str_of(f->entities[in_column ? i : 0]);
        else if (extra == FRAME)
            f->frame_column[i] = put->frame = obb_str_of(in_column && i % 2 == 0 ? "bob" : "ann");
        else if (extra == DATA)
            attributes->data = obb_str_of("{\"hp\":3}");
        else
            attributes->ttl = f->ttls[i] = in_column ? 1.0 + (double)i : 7.0;
        attributes->has_ttl = extra == TTL;
    }
    if (!in_column)
        columns->rest = f->list[0];
    else if (extra == ENTITY)
        columns->entities = f->entity_column;
    else if (extra == FRAME)
        columns->frames = f->frame_column;
    else
        columns->ttls = f->ttls;
}

/* One extra is enough that columns are not plain, though their names differ. */
START_TEST(columns_with_one_extra_are_those_of_the_list)
{
    test_rng rng = {.s = 20261201};
    static struct forms forms;
    struct obb_arena arena;
    obb_arena_init(&arena);
    size_t looked_at = 0, framed = 0;
    for (int extra = 0; extra < EXTRAS; extra++)
        for (int in_column = 0; in_column <= (extra != DATA); in_column++, looked_at++) {
            make_forms(&forms, &rng, 1u << 2); /* each box has its category */
            make_plain(&forms);
            add_extra(&forms, (enum extra)extra, in_column == 1);
            const obb_edit list = {
                .dimensions = 3, .puts = forms.list, .put_count = PUTS, .all_put_ids = true};
            const obb_edit columns = {.dimensions = 3,
                                      .put_columns = &forms.columns,
                                      .put_count = PUTS,
                                      .puts_differ = true,
                                      .all_put_ids = true};
            ck_assert_uint_eq(state_of(&columns, forms.list, &arena, &framed),
                              state_of(&list, forms.list, &arena, &framed));
            obb_arena_reset(&arena);
        }
    printf("%zu columns with one extra, %zu boxes in a frame\n", looked_at, framed);
    ck_assert_uint_eq(looked_at, 7);
    /* as columns and as a list: all of them, and two of three */
    ck_assert_uint_eq(framed, (size_t)2 * (PUTS + PUTS * 2 / 3));
    obb_arena_fini(&arena);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("edit");
    TCase *tc = tcase_create("edit");
    tcase_set_timeout(tc, test_patience(60));
    tcase_add_test(tc, puts_in_columns_are_those_of_the_list);
    tcase_add_test(tc, plain_columns_are_those_of_the_list);
    tcase_add_test(tc, columns_with_one_extra_are_those_of_the_list);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
