/* Batches of random commits: what a filter lets pass, and what several of them are together,
 * against a slow model that looks at whole states and adds up one thing after the other. */
#include "server/events/batch.h"
#include "tests/support/fault.h"
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

enum { NAMES = 14, MOST_IDS = 4000 };

static struct world {
    test_rng rng;
    struct obb_scene *scene;
    struct obb_view *before, *after; /* around the last commit */
    struct obb_contacts *contacts;   /* of `after` */
    struct obb_arena arena;          /* of what is known of the last commit */
    srv_changes changes;
} w;

static char names[NAMES][4];
static const char *const entities[] = {"", "e", "f"};

static obb_put random_put(obb_target target)
{
    obb_put put = {.target = target, .parts = OBB_PUT_ALL};
    const obb_vec3 center = {test_uniform(&w.rng, 0, 6), test_uniform(&w.rng, 0, 6), 0};
    ck_assert_int_eq(
        obb_box_from_pose(center, (obb_vec3){1, 1, 1}, (obb_quat){0, 0, 0, 1}, 0, 3, &put.box),
        OBB_OK);
    put.attributes.category = 1 + (uint32_t)test_below(&w.rng, 3);
    put.attributes.mask = UINT32_MAX;
    put.attributes.entity = obb_str_of(entities[test_below(&w.rng, 3)]);
    return put;
}

/* Commits something that changes something, and gathers it. */
static void commit_next(void)
{
    static obb_target removes[NAMES];
    static obb_put puts[NAMES];
    static obb_pose poses[NAMES];
    obb_edit edit = {
        .dimensions = 3, .ignore_missing = true, .removes = removes, .puts = puts, .poses = poses};
    for (size_t i = 0; i < NAMES; i++) {
        const obb_target target = {.name = obb_str_of(names[i])};
        if (test_below(&w.rng, 9) == 0)
            removes[edit.remove_count++] = target;
        if (test_below(&w.rng, 6) == 0)
            puts[edit.put_count++] = random_put(target);
        if (test_below(&w.rng, 4) == 0)
            poses[edit.pose_count++] =
                (obb_pose){.target = target,
                           .has_center = true,
                           .center = {test_uniform(&w.rng, 0, 6), test_uniform(&w.rng, 0, 6), 0}};
    }
    struct obb_arena arena = {0};
    struct obb_prepared *prepared;
    obb_committed committed;
    obb_fault fault;
    ck_assert_int_eq(obb_edit_prepare(w.scene, &edit, 0, NAMES, &arena, &prepared, &fault), OBB_OK);
    obb_edit_commit(prepared, &committed);
    obb_arena_fini(&arena);
    if (!committed.changed) {
        commit_next();
        return;
    }
    obb_view_close(w.before);
    w.before = w.after;
    ck_assert_int_eq(obb_view_open(w.scene, NULL, &w.after, NULL, NULL), OBB_OK);
    obb_arena_fini(&w.arena); /* what was known before is gone: texts must have been copied */
    unsigned lost;
    ck_assert_int_eq(srv_changes_gather(w.before, w.after,
                                        &(srv_wanted){.topics = WIRE_TOPICS, .stayed = true},
                                        &w.contacts, NULL, &w.arena, &w.changes, &lost),
                     OBB_OK);
    ck_assert_uint_eq(lost, 0);
}

static void world_init(void)
{
    const obb_settings settings = {.dimensions = 3, .history_commits = 2, .history_span = 1e9};
    w = (struct world){.rng = {.s = 20261220}};
    for (size_t i = 0; i < NAMES; i++)
        (void)snprintf(names[i], sizeof names[i], "%c%zu", i % 3 == 0 ? 'a' : 'b', i);
    ck_assert_int_eq(obb_scene_create(obb_str_of("s"), &settings, 0, NULL, &w.scene), OBB_OK);
    ck_assert_int_eq(obb_view_open(w.scene, NULL, &w.after, NULL, NULL), OBB_OK);
    ck_assert_int_eq(obb_contacts_create(NULL, NULL, 0, NULL, &w.contacts), OBB_OK);
}

static void world_fini(void)
{
    obb_contacts_destroy(w.contacts);
    obb_arena_fini(&w.arena);
    obb_view_close(w.before);
    obb_view_close(w.after);
    obb_scene_destroy(w.scene);
}

static const wire_event_params filters[] = {
    {.topics = WIRE_TOPICS},
    {.topics = WIRE_TOPICS, .pose = true},
    {.topics = WIRE_TOPICS, .prefix = {"a", 1}, .pose = true},
    {.topics = WIRE_TOPICS, .entity = {"e", 1}, .pose = true},
    {.topics = WIRE_TOPICS, .has_category = true, .category = 2, .pose = true},
    {.topics = WIRE_TOPICS, .has_category = true, .category = 0},
    {.topics = WIRE_TOPICS,
     .prefix = {"b", 1},
     .entity = {"f", 1},
     .has_category = true,
     .category = 3,
     .pose = true},
    {.topics = WIRE_TOPIC_COLLISIONS, .entity = {"e", 1}},
    {.topics = WIRE_TOPIC_BOXES, .entity = {"e", 1}},
    {.topics = WIRE_TOPIC_COMMITS, .entity = {"e", 1}},
};
enum { FILTERS = sizeof filters / sizeof filters[0] };

/* Whether the box of that id is in the state, and passes. */
static bool passes(const struct obb_view *view, uint64_t id, const wire_event_params *f)
{
    const struct obb_version *box = obb_view_find_id(view, id);
    if (box == NULL)
        return false;
    const obb_attributes is = obb_view_attributes(box);
    char name[8];
    (void)snprintf(name, sizeof name, "%.*s", (int)obb_view_name(box).length,
                   obb_view_name(box).bytes);
    return strncmp(name, f->prefix.bytes != NULL ? f->prefix.bytes : "", f->prefix.length) == 0 &&
           (f->entity.length == 0 || obb_str_equal(is.entity, f->entity)) &&
           (!f->has_category || (is.category & f->category) != 0);
}

static bool collide(const struct obb_view *view, uint64_t a, uint64_t b)
{
    const struct obb_version *x = obb_view_find_id(view, a), *y = obb_view_find_id(view, b);
    if (x == NULL || y == NULL)
        return false;
    const obb_solid p = obb_view_solid(view, x), q = obb_view_solid(view, y);
    return obb_sat_overlap(&p, &q);
}

static bool told(const struct obb_view *view, uint64_t a, uint64_t b, const wire_event_params *f)
{
    return collide(view, a, b) && (passes(view, a, f) || passes(view, b, f));
}

static uint64_t newest_id(void)
{
    uint64_t id = 0;
    for (const struct obb_version *box; (box = obb_view_next(w.after, id)) != NULL;)
        id = obb_view_id(box);
    for (const struct obb_version *box = NULL; (box = obb_view_next(w.before, id)) != NULL;)
        id = obb_view_id(box);
    return id;
}

static const wire_box_change *find_box(const struct srv_batch *batch, uint64_t id)
{
    for (size_t i = 0; i < batch->box_count; i++)
        if (batch->boxes[i].id == id)
            return &batch->boxes[i];
    return NULL;
}

static const wire_pair_change *find_pair(const struct srv_batch *batch, uint64_t a, uint64_t b)
{
    for (size_t i = 0; i < batch->pair_count; i++)
        if (batch->pairs[i].a_id == a && batch->pairs[i].b_id == b)
            return &batch->pairs[i];
    return NULL;
}

static size_t tally_boxes, tally_new, tally_entered, tally_pairs, tally_left;

static void check_boxes(const struct srv_batch *batch, const wire_event_params *f, uint64_t newest)
{
    size_t count = 0;
    for (uint64_t id = 1; id <= newest; id++) {
        const struct obb_version *was = obb_view_find_id(w.before, id);
        const struct obb_version *is = obb_view_find_id(w.after, id);
        const bool before = passes(w.before, id, f), after = passes(w.after, id, f);
        const bool expected =
            (f->topics & WIRE_TOPIC_BOXES) != 0 && was != is && (is != NULL ? after : before);
        const wire_box_change *c = find_box(batch, id);
        ck_assert_msg((c != NULL) == expected, "box %ld", (long)id);
        if (!expected)
            continue;
        count++;
        const unsigned done = is == NULL         ? WIRE_BOX_REMOVED
                              : obb_view_put(is) ? WIRE_BOX_PUT
                                                 : WIRE_BOX_POSED;
        ck_assert_uint_eq(c->what, done | (is != NULL && !before ? WIRE_BOX_NEW : 0));
        ck_assert(obb_str_equal(c->name, obb_view_name(is != NULL ? is : was)));
        if (f->pose && is != NULL) {
            const obb_box box = obb_view_pose(w.after, is);
            ck_assert_mem_eq(&c->box.center, &box.center, sizeof box.center);
            ck_assert(obb_str_equal(c->entity, obb_view_attributes(is).entity));
        }
        tally_boxes++;
        tally_new += (c->what & WIRE_BOX_NEW) != 0;
        tally_entered += (c->what & WIRE_BOX_NEW) != 0 && was != NULL;
    }
    ck_assert_uint_eq(count, batch->box_count);
}

static void check_pairs(const struct srv_batch *batch, const wire_event_params *f, uint64_t newest)
{
    size_t count = 0;
    for (uint64_t a = 1; a <= newest; a++)
        for (uint64_t b = a + 1; b <= newest; b++) {
            const bool was = told(w.before, a, b, f), is = told(w.after, a, b, f);
            const bool gone =
                obb_view_find_id(w.after, a) == NULL || obb_view_find_id(w.after, b) == NULL;
            const bool expected = (f->topics & WIRE_TOPIC_COLLISIONS) != 0 && was != is;
            const wire_pair_change *c = find_pair(batch, a, b);
            ck_assert_msg((c != NULL) == expected, "pair %ld %ld", (long)a, (long)b);
            if (!expected)
                continue;
            count++;
            ck_assert(c->begun == is && c->ended == (was && !gone) && c->removed == (was && gone));
            const struct obb_view *view = is ? w.after : w.before;
            ck_assert(obb_str_equal(c->a, obb_view_name(obb_view_find_id(view, a))));
            ck_assert(obb_str_equal(c->b, obb_view_name(obb_view_find_id(view, b))));
            tally_pairs++;
            tally_left += was && collide(w.after, a, b); /* it collides, and the filter drops it */
        }
    ck_assert_uint_eq(count, batch->pair_count);
}

START_TEST(of_a_commit_a_filter_lets_pass_what_it_matches)
{
    const size_t commits = test_effort(150);
    world_init();
    for (size_t i = 0; i < commits; i++) {
        commit_next();
        const uint64_t newest = newest_id();
        for (size_t f = 0; f < FILTERS; f++) {
            struct srv_batch batch;
            struct obb_arena arena = {0};
            ck_assert(srv_batch_of(&w.changes, &filters[f], &arena, &batch));
            check_boxes(&batch, &filters[f], newest);
            check_pairs(&batch, &filters[f], newest);
            ck_assert(srv_batch_tells(&batch, &filters[f]) ==
                      (batch.box_count + batch.pair_count > 0 ||
                       (filters[f].topics & WIRE_TOPIC_COMMITS) != 0));
            obb_arena_fini(&arena);
        }
        if (newest > 150) { /* the model is slow */
            world_fini();
            const uint64_t seed = w.rng.s;
            world_init();
            w.rng.s = seed;
        }
    }
    printf(
        "%zu commits: %zu boxes told, %zu of them new, %zu came to match; %zu pairs, %zu ceased to "
        "match\n",
        commits, tally_boxes, tally_new, tally_entered, tally_pairs, tally_left);
    ck_assert_uint_gt(tally_boxes, commits * 5);
    ck_assert_uint_gt(tally_entered, commits / 2);
    ck_assert_uint_gt(tally_new, tally_entered);
    ck_assert_uint_gt(tally_pairs, commits * 5);
    ck_assert_uint_gt(tally_left, commits / 4);
    world_fini();
}
END_TEST

/* What several batches said, one after the other. */
static struct box_model {
    bool put, posed, new, removed, any;
    char name[4], entity[4];
    double x;
} box_models[MOST_IDS];

static struct pair_model {
    uint64_t a, b;
    unsigned begun, ended, removed;
} pair_models[MOST_IDS];
static size_t pair_model_count, unseen;

static void model_add(const struct srv_batch *batch)
{
    for (size_t i = 0; i < batch->box_count; i++) {
        const wire_box_change *c = &batch->boxes[i];
        ck_assert_uint_lt(c->id, MOST_IDS);
        struct box_model *m = &box_models[c->id];
        if (c->what ==
            0) { /* removed when it no longer matched: told if it was to be told before */
            unseen += m->any;
            m->removed = m->any;
            continue;
        }
        m->any = true;
        m->removed = (c->what & WIRE_BOX_REMOVED) != 0;
        m->put = m->put || (c->what & WIRE_BOX_PUT) != 0;
        m->posed = m->posed || (c->what & WIRE_BOX_POSED) != 0;
        m->new = m->new || (c->what & WIRE_BOX_NEW) != 0;
        (void)snprintf(m->name, sizeof m->name, "%.*s", (int)c->name.length, c->name.bytes);
        (void)snprintf(m->entity, sizeof m->entity, "%.*s", (int)c->entity.length,
                       c->entity.length > 0 ? c->entity.bytes : "");
        m->x = c->box.center.x;
    }
    for (size_t i = 0; i < batch->pair_count; i++) {
        const wire_pair_change *c = &batch->pairs[i];
        size_t k = 0;
        while (k < pair_model_count && (pair_models[k].a != c->a_id || pair_models[k].b != c->b_id))
            k++;
        ck_assert_uint_lt(k, MOST_IDS);
        pair_model_count += k == pair_model_count;
        struct pair_model *m = &pair_models[k];
        m->a = c->a_id;
        m->b = c->b_id;
        m->begun += c->begun;
        m->ended += c->ended;
        m->removed += c->removed;
    }
}

static void check_sum(const struct srv_batch *sum)
{
    size_t boxes = 0;
    for (uint64_t id = 0; id < MOST_IDS; id++) {
        const struct box_model *m = &box_models[id];
        const wire_box_change *c = find_box(sum, id);
        ck_assert((c != NULL) == m->any);
        if (c == NULL)
            continue;
        boxes++;
        const unsigned what =
            m->removed ? WIRE_BOX_REMOVED
                       : (m->put ? WIRE_BOX_PUT : WIRE_BOX_POSED) | (m->new ? WIRE_BOX_NEW : 0);
        ck_assert_uint_eq(c->what, what);
        ck_assert(obb_str_equal(c->name, obb_str_of(m->name)));
        if (!m->removed) {
            ck_assert(obb_str_equal(c->entity, obb_str_of(m->entity)));
            ck_assert(c->box.center.x == m->x);
        }
    }
    ck_assert_uint_eq(boxes, sum->box_count);
    ck_assert_uint_eq(pair_model_count, sum->pair_count);
    for (size_t i = 0; i < pair_model_count; i++) {
        const struct pair_model *m = &pair_models[i];
        const wire_pair_change *c = find_pair(sum, m->a, m->b);
        ck_assert_ptr_nonnull(c);
        /* nothing is lost, and how it stands is said */
        ck_assert((c->begun > 0) == (m->begun > 0) && (c->ended > 0) == (m->ended > 0));
        ck_assert(c->removed == (m->removed > 0) && m->removed < 2);
        ck_assert_int_eq((int)c->begun - (int)c->ended, (int)m->begun - (int)m->ended);
        ck_assert(c->begun <= 2 && c->ended <= 2);
    }
    for (size_t i = 1; i < sum->box_count; i++)
        ck_assert_uint_lt(sum->boxes[i - 1].id, sum->boxes[i].id);
    for (size_t i = 1; i < sum->pair_count; i++) {
        const wire_pair_change *p = &sum->pairs[i - 1], *q = &sum->pairs[i];
        ck_assert(p->a_id < q->a_id || (p->a_id == q->a_id && p->b_id < q->b_id));
    }
}

START_TEST(several_batches_are_together_what_they_are_one_after_the_other)
{
    size_t both = 0, rounds = test_effort(60), removed = 0;
    world_init();
    for (size_t round = 0; round < rounds; round++) {
        wire_event_params rated = filters[round % 5];
        const wire_event_params *f = &rated;
        rated.rate = 1;
        struct obb_budget budget;
        obb_budget_init(&budget, SIZE_MAX);
        struct srv_batch sum = {0};
        size_t put = 0, gone = 0, posed = 0, length = 1 + test_below(&w.rng, 12);
        memset(box_models, 0, sizeof box_models);
        memset(pair_models, 0, sizeof pair_models);
        pair_model_count = 0;
        for (size_t i = 0; i < length; i++) {
            struct srv_batch batch;
            struct obb_arena arena = {0};
            commit_next();
            ck_assert(srv_batch_of(&w.changes, f, &arena, &batch));
            model_add(&batch);
            for (size_t n = 1; i % 4 == 0; n++) { /* without room, the sum stands */
                fault_arm(n);
                const bool good = srv_batch_join(&sum, &batch, &budget);
                const bool reached = fault_seen() >= n;
                fault_arm(0);
                ck_assert(good == !reached);
                ck_assert_uint_eq(sum.commits, i + good);
                if (good)
                    break;
            }
            ck_assert(i % 4 == 0 || srv_batch_join(&sum, &batch, &budget));
            obb_arena_fini(&arena);
            put += w.changes.committed.put;
            gone += w.changes.committed.removed;
            posed += w.changes.committed.posed;
        }
        check_sum(&sum);
        ck_assert_uint_eq(sum.commits, length);
        ck_assert_uint_eq(sum.sum.put, put);
        ck_assert_uint_eq(sum.sum.removed, gone);
        ck_assert_uint_eq(sum.sum.posed, posed);
        ck_assert_uint_eq(sum.sum.moment.revision, obb_view_info_get(w.after)->at.revision);
        for (size_t i = 0; i < sum.pair_count; i++) {
            both += sum.pairs[i].begun > 0 && sum.pairs[i].ended > 0;
            removed += sum.pairs[i].removed;
        }
        srv_batch_clear(&sum);
        ck_assert_uint_eq(obb_budget_used(&budget), 0);
        ck_assert(!srv_batch_tells(&sum, f));
    }
    printf("%zu sums: %zu pairs came and went, %zu went with a box\n", rounds, both, removed);
    ck_assert_uint_gt(both, rounds);
    ck_assert_uint_gt(removed, rounds);
    ck_assert_uint_gt(unseen, 0);
    world_fini();
}
END_TEST

/* Commits these frames at x, removes `gone` before, and writes what the batch names as one text. */
static void frames_told(struct obb_scene *scene, const char *const *made, size_t count,
                        const char *gone, double x, const wire_event_params *params,
                        struct srv_batch *sum, char *out)
{
    struct obb_arena arena = {0};
    obb_pose poses[8];
    for (size_t i = 0; i < count; i++)
        poses[i] = (obb_pose){
            .target = {.name = obb_str_of(made[i])}, .center = {x, 0, 0}, .has_center = true};
    const obb_str removed = obb_str_of(gone != NULL ? gone : "");
    const obb_edit edit = {.dimensions = 3,
                           .frames = poses,
                           .frame_count = count,
                           .remove_frames = &removed,
                           .remove_frame_count = gone != NULL};
    struct obb_prepared *prepared;
    obb_fault fault;
    struct obb_view *before, *after;
    srv_changes changes = {.box_count = 0};
    ck_assert_int_eq(obb_view_open(scene, NULL, &before, NULL, NULL), OBB_OK);
    ck_assert_int_eq(obb_edit_prepare(scene, &edit, 0, 99, &arena, &prepared, &fault), OBB_OK);
    obb_edit_commit(prepared, &changes.committed);
    ck_assert_int_eq(obb_view_open(scene, NULL, &after, NULL, NULL), OBB_OK);
    ck_assert_int_eq(obb_committed_read(before, after, &arena, &changes.committed), OBB_OK);
    changes.after = after;
    struct srv_batch batch;
    ck_assert(srv_batch_of(&changes, params, &arena, &batch));
    ck_assert(srv_batch_tells(&batch, params) == (batch.frame_count > 0));
    *out = '\0';
    for (size_t i = 0; i < batch.frame_count; i++)
        (void)sprintf(out + strlen(out), "%.*s ", (int)batch.frames[i].length,
                      batch.frames[i].bytes);
    ck_assert(sum == NULL || srv_batch_join(sum, &batch, NULL));
    obb_view_close(before);
    obb_view_close(after);
    obb_arena_fini(&arena);
}

START_TEST(frames_are_told_by_name_and_each_once)
{
    const obb_settings settings = {.dimensions = 3, .history_span = 100, .history_commits = 10};
    struct obb_scene *scene;
    ck_assert_int_eq(obb_scene_create(obb_str_of("s"), &settings, 0, NULL, &scene), OBB_OK);
    const wire_event_params all = {.topics = WIRE_TOPIC_BOXES},
                            a = {.topics = WIRE_TOPIC_BOXES, .prefix = {"a", 1}},
                            entity = {.topics = WIRE_TOPIC_BOXES, .entity = {"e", 1}},
                            commits = {.topics = WIRE_TOPIC_COLLISIONS};
    struct srv_batch sum = {.commits = 0};
    char told[256];
    frames_told(scene, (const char *const[]){"zoe", "ann", "al"}, 3, NULL, 1, &all, &sum, told);
    ck_assert_str_eq(told, "al ann zoe ");
    frames_told(scene, (const char *const[]){"ann", "bob"}, 2, "ann", 2, &all, &sum, told);
    ck_assert_str_eq(told, "ann bob "); /* ann went and came again */
    frames_told(scene, (const char *const[]){"bob"}, 1, "al", 3, &a, NULL, told);
    ck_assert_str_eq(told, "al ");
    frames_told(scene, (const char *const[]){"bob"}, 1, NULL, 4, &entity, NULL, told);
    ck_assert_str_eq(told, "");
    frames_told(scene, (const char *const[]){"bob"}, 1, NULL, 5, &commits, NULL, told);
    ck_assert_str_eq(told, "");
    ck_assert_uint_eq(sum.frame_count, 4);
    const char *const joined[] = {"al", "ann", "bob", "zoe"};
    for (size_t i = 0; i < 4; i++)
        ck_assert(obb_str_equal(sum.frames[i], obb_str_of(joined[i])));
    srv_batch_clear(&sum);
    obb_scene_destroy(scene);
}
END_TEST

START_TEST(removed_boxes_that_nobody_saw_take_no_memory)
{
    struct obb_budget budget;
    obb_budget_init(&budget, 1 << 20);
    struct srv_batch sum = {.commits = 0};
    size_t first = 0;
    for (uint64_t id = 1; id <= 1000; id++) {
        wire_box_change gone = {.id = id, .name = {"a name of some length", 21}, .what = 0};
        const struct srv_batch batch = {.commits = 1, .boxes = &gone, .box_count = 1};
        ck_assert(srv_batch_join(&sum, &batch, &budget));
        ck_assert_uint_eq(sum.box_count, 0);
        first = id == 1 ? obb_budget_used(&budget) : first;
    }
    ck_assert_uint_eq(obb_budget_used(&budget), first);
    srv_batch_clear(&sum);
    ck_assert_uint_eq(obb_budget_used(&budget), 0);
}
END_TEST

/* A filter by category sees the box that expires, one by prefix only the pair that it ends. */
START_TEST(boxes_that_expired_are_told_among_the_removed_and_end_their_pairs)
{
    const obb_settings settings = {.dimensions = 3, .history_span = 100, .history_commits = 10};
    struct obb_arena arena = {0};
    struct obb_scene *scene;
    struct obb_view *before, *after;
    struct obb_contacts *contacts;
    struct obb_prepared *prepared;
    obb_committed committed;
    obb_fault fault;
    unsigned lost;
    ck_assert_int_eq(obb_scene_create(obb_str_of("s"), &settings, 0, NULL, &scene), OBB_OK);
    obb_put puts[4];
    static const char *const called[] = {"shot", "wall", "door", "far"};
    for (size_t i = 0; i < 4; i++) {
        puts[i] = (obb_put){.target = {.name = obb_str_of(called[i])},
                            .parts = OBB_PUT_ALL,
                            .box = {.center = {i == 3 ? 90.0 : 0, 0, 0},
                                    .half_extents = {1, 1, 1},
                                    .rotation = {0, 0, 0, 1}},
                            .attributes = {.category = 1u << i, .mask = UINT32_MAX}};
        puts[i].attributes.has_ttl = i == 0;
        puts[i].attributes.ttl = 10;
    }
    const obb_target removes[] = {{.name = obb_str_of("door")}};
    const obb_edit edits[] = {
        {.dimensions = 3, .has_time = true, .time = 0, .puts = puts, .put_count = 4},
        {.dimensions = 3, .has_time = true, .time = 10, .removes = removes, .remove_count = 1}};
    srv_changes changes[2];
    ck_assert_int_eq(obb_contacts_create(NULL, NULL, 0, NULL, &contacts), OBB_OK);
    ck_assert_int_eq(obb_view_open(scene, NULL, &before, NULL, NULL), OBB_OK);
    obb_view_keep_later(before);
    for (size_t i = 0; i < 2; i++) {
        ck_assert_int_eq(obb_edit_prepare(scene, &edits[i], 0, 99, &arena, &prepared, &fault),
                         OBB_OK);
        obb_edit_commit(prepared, &committed);
    }
    struct obb_view *middle;
    ck_assert_int_eq(obb_view_open_later(before, 1, &middle), OBB_OK);
    ck_assert_int_eq(obb_view_open_later(before, 2, &after), OBB_OK);
    const srv_wanted wanted = {.topics = WIRE_TOPICS};
    ck_assert_int_eq(
        srv_changes_gather(before, middle, &wanted, &contacts, NULL, &arena, &changes[0], &lost),
        OBB_OK);
    ck_assert_int_eq(
        srv_changes_gather(middle, after, &wanted, &contacts, NULL, &arena, &changes[1], &lost),
        OBB_OK);
    static const struct {
        wire_event_params params;
        const char *has, *lacks;
    } rows[] = {
        {{.topics = WIRE_TOPICS},
         "event: end\ndata: {\"revision\":2,\"time\":10,\"pairs\":[[\"shot\",\"wall\"],[\"shot\","
         "\"door\"]],\"reason\":\"expired\"}\n\n",
         NULL},
        {{.topics = WIRE_TOPICS},
         "event: end\ndata: {\"revision\":2,\"time\":10,\"pairs\":[[\"wall\",\"door\"]],"
         "\"reason\":\"removed\"}\n\n",
         NULL},
        {{.topics = WIRE_TOPICS}, "\"removed\":[\"shot\",\"door\"],\"expired\":[\"shot\"]}", NULL},
        {{.topics = WIRE_TOPICS}, "\"removed\":1,\"expired\":1}", NULL},
        {{.topics = WIRE_TOPICS, .has_category = true, .category = 1},
         "\"removed\":[\"shot\"],\"expired\":[\"shot\"]}",
         "\"removed\"}"},
        {{.topics = WIRE_TOPIC_BOXES, .has_category = true, .category = 4},
         "\"removed\":[\"door\"]}",
         "expired"},
        {{.topics = WIRE_TOPIC_COLLISIONS, .prefix = {"w", 1}},
         "\"pairs\":[[\"shot\",\"wall\"]],\"reason\":\"expired\"}",
         NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int joined = 0; joined < 2; joined++) {
            struct wire_buf text = {0};
            struct srv_batch first, batch, sum = {.commits = 0};
            const wire_event_params *params = &rows[i].params;
            ck_assert(srv_batch_of(&changes[0], params, &arena, &first));
            ck_assert(srv_batch_of(&changes[1], params, &arena, &batch));
            ck_assert(srv_batch_join(&sum, &first, NULL) && srv_batch_join(&sum, &batch, NULL));
            srv_batch_write(joined ? &sum : &batch, params, 1, &text);
            wire_buf_append(&text, "", 1);
            ck_assert(!text.failed);
            ck_assert_msg(strstr(text.bytes, rows[i].has) != NULL, "%zu: %s", i, text.bytes);
            ck_assert_msg(rows[i].lacks == NULL || strstr(text.bytes, rows[i].lacks) == NULL,
                          "%zu: %s", i, text.bytes);
            srv_batch_clear(&sum);
            wire_buf_fini(&text);
        }
    obb_contacts_destroy(contacts);
    obb_view_close(after);
    obb_view_close(middle);
    obb_view_close(before);
    obb_arena_fini(&arena);
    obb_scene_destroy(scene);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("batch");
    TCase *tc = tcase_create("batch");
    tcase_set_timeout(tc, test_timeout(60));
    tcase_add_test(tc, of_a_commit_a_filter_lets_pass_what_it_matches);
    tcase_add_test(tc, several_batches_are_together_what_they_are_one_after_the_other);
    tcase_add_test(tc, frames_are_told_by_name_and_each_once);
    tcase_add_test(tc, removed_boxes_that_nobody_saw_take_no_memory);
    tcase_add_test(tc, boxes_that_expired_are_told_among_the_removed_and_end_their_pairs);
    suite_add_tcase(suite, tc);
    return test_main(suite);
}
