#include "tests/support/model_layers.h"

#include "core/geometry/shape.h"
#include "core/index/rebuild.h"
#include "tests/support/test.h"

struct model_layers *model_layers_create(int dimensions, size_t versions)
{
    struct model_layers *model = calloc(1, sizeof *model);
    ck_assert_ptr_nonnull(model);
    boxes_world_init(&model->world, versions, dimensions);
    model->next_id = 1;
    model->side = dimensions == 3 ? 8 : 20;
    ck_assert_int_eq(obb_layers_create(dimensions, NULL, &model->layers), OBB_OK);
    return model;
}

void model_layers_free(struct model_layers *model)
{
    obb_layers_unref(model->layers);
    boxes_world_fini(&model->world);
    free(model);
}

/* Puts a version of the box near the old one in its place. */
static struct obb_version *moved(struct model_layers *model, struct obb_version *old)
{
    obb_box box = old->box;
    box.center = obb_add(box.center, obb_scale(box.half_extents, 0.2));
    return boxes_world_add(&model->world, &box, 0, model->revision + 1, old);
}

/* Makes the layers of the next revision. */
static void go_on(struct model_layers *model, const struct obb_version *const *added,
                  size_t added_count, const struct obb_version *const *ended, size_t ended_count)
{
    const uint64_t revision = model->revision + 1;
    struct obb_layers *next = NULL;
    ck_assert_int_eq(obb_layers_next(model->layers, added, added_count, ended, ended_count,
                                     revision, NULL, &next),
                     OBB_OK);
    for (size_t i = 0; i < ended_count; i++) {
        struct obb_version *version = &model->world.versions[ended[i]->self];
        atomic_store(&version->died, revision);
    }
    obb_layers_unref(model->layers);
    model->layers = next;
    model->revision = revision;
}

void model_layers_move(struct model_layers *model, size_t moves, test_rng *rng)
{
    const struct obb_version *added[MODEL_LAYERS_BOXES], *ended[MODEL_LAYERS_BOXES];
    bool touched[MODEL_LAYERS_BOXES] = {false};
    size_t count = 0;
    for (size_t k = 0; k < moves; k++) {
        const size_t slot = test_below(rng, MODEL_LAYERS_BOXES);
        struct obb_version *old = model->current[slot];
        if (touched[slot] || old == NULL)
            continue;
        touched[slot] = true;
        ended[count] = old;
        model->current[slot] = moved(model, old);
        added[count++] = model->current[slot];
    }
    go_on(model, added, count, ended, count);
}

void model_layers_commit(struct model_layers *model, size_t changes, test_rng *rng)
{
    const struct obb_version *added[MODEL_LAYERS_BOXES] = {NULL},
                             *ended[MODEL_LAYERS_BOXES] = {NULL};
    bool touched[MODEL_LAYERS_BOXES] = {false};
    size_t added_count = 0, ended_count = 0;
    const uint64_t revision = model->revision + 1;
    for (size_t k = 0; k < changes; k++) {
        const size_t slot = test_below(rng, MODEL_LAYERS_BOXES);
        struct obb_version *old = model->current[slot];
        if (touched[slot])
            continue;
        touched[slot] = true;
        obb_box box = boxes_random(rng, model->side, model->world.dimensions);
        const size_t what = test_below(rng, 8);
        if (old == NULL) {
            model->current[slot] =
                boxes_world_add(&model->world, &box, model->next_id++, revision, NULL);
            added[added_count++] = model->current[slot];
            model->alive++;
            continue;
        }
        ended[ended_count++] = old;
        if (what == 0) {
            model->current[slot] = NULL;
            model->alive--;
            continue;
        }
        model->current[slot] = what > 1 /* a short move; else a teleport */
                                   ? moved(model, old)
                                   : boxes_world_add(&model->world, &box, 0, revision, old);
        added[added_count++] = model->current[slot];
    }
    go_on(model, added, added_count, ended, ended_count);
}

void model_layers_import(struct model_layers *model, size_t changes, test_rng *rng)
{
    for (size_t slot = 0; slot < MODEL_LAYERS_BOXES; slot++)
        if (model->current[slot] != NULL) {
            atomic_store(&model->current[slot]->died, model->revision + 1);
            model->current[slot] = NULL;
        }
    model->alive = 0;
    obb_layers_unref(model->layers);
    ck_assert_int_eq(obb_layers_create(model->world.dimensions, NULL, &model->layers), OBB_OK);
    model_layers_commit(model, changes, rng);
}

obb_status model_layers_rebuild(const struct obb_layers *layers, uint64_t revision,
                                struct obb_layers **out)
{
    struct obb_rebuild *rebuild;
    const obb_status status = obb_rebuild_create(layers, revision, NULL, &rebuild);
    return status == OBB_OK ? obb_rebuild_finish(rebuild, out) : status;
}

static int by_id(const void *a, const void *b)
{
    const struct obb_version *const *p = a, *const *q = b;
    return ((*p)->id > (*q)->id) - ((*p)->id < (*q)->id);
}

struct model_layers_state *model_layers_state(const struct boxes_world *world, uint64_t revision)
{
    struct model_layers_state *state = calloc(1, sizeof *state);
    ck_assert_ptr_nonnull(state);
    for (size_t i = 0; i < world->count; i++) {
        const struct obb_version *version = &world->versions[i];
        if (obb_version_alive(version, revision, revision))
            state->boxes[state->count++] = version;
    }
    qsort(state->boxes, state->count, sizeof state->boxes[0], by_id);
    for (size_t i = 0; i < state->count; i++)
        state->solids[i] = obb_solid_from_box(&state->boxes[i]->box, world->dimensions);
    return state;
}

/* Returns whether the judge refuses a pair, overlapping or not. */
static bool refuses(const struct model_layers_join *join, const struct obb_version *a,
                    const struct obb_version *b)
{
    const bool plain = obb_version_plain(a) && obb_version_plain(b);
    return !(plain && join->plain_pass) && (a->id + b->id) % 5 == 0;
}

static bool judge(void *context, const struct obb_version *a, const struct obb_version *b,
                  obb_verdict verdict, size_t *doubts)
{
    const struct model_layers_join *join = context;
    const obb_solid solid_a = obb_solid_from_box(&a->box, join->dimensions),
                    solid_b = obb_solid_from_box(&b->box, join->dimensions);
    const bool overlap = obb_shape_boxes(&solid_a, &solid_b, join->margin);
    ck_assert(overlap || verdict == OBB_DOUBT);
    join->counts->sure += verdict == OBB_SURE;
    join->counts->doubt += verdict == OBB_DOUBT;
    *doubts += verdict == OBB_DOUBT;
    return overlap && !refuses(join, a, b);
}

obb_status model_layers_join(const struct obb_layers *layers, uint64_t revision,
                             struct model_layers_join *join)
{
    const obb_join_wish wish = {.margin = join->margin,
                                .list = join->list,
                                .limit = join->limit,
                                .plain_pass = join->plain_pass,
                                .cache_room = join->cache_room,
                                .judge = judge,
                                .context = join};
    struct obb_join *made = NULL;
    join->dimensions = obb_layers_dimensions(layers);
    obb_status status =
        join->moved == NULL
            ? obb_join_create(layers, revision, &wish, join->cancel, join->budget, &made)
            : obb_join_create_moved(layers, revision, &wish, join->moved, join->moved_count,
                                    join->cancel, join->budget, &made);
    while (status == OBB_OK) {
        const size_t chunks = obb_join_advance(made, &status);
        if (chunks == 0)
            break;
        for (size_t i = 0; i < chunks && status == OBB_OK; i++)
            status = obb_join_chunk(made, join->backwards ? chunks - 1 - i : i);
    }
    if (status == OBB_OK) {
        join->found = obb_join_count(made);
        join->counts->marked += obb_join_marked(made);
        join->counts->cached += obb_join_cached(made) > 0;
        join->boxes = obb_join_take_boxes(made);
        join->ranks = obb_join_take_ranks(made, &join->base);
        join->ids = obb_join_take_ids(made);
        ck_assert_ptr_null(obb_join_take_boxes(made));
        ck_assert((join->boxes != NULL) + (join->ranks != NULL) + (join->ids != NULL) <= 1);
        ck_assert(join->ids == NULL || join->list == OBB_JOIN_IDS);
        ck_assert(join->list != OBB_JOIN_COUNT ||
                  (join->boxes == NULL && join->ranks == NULL && join->ids == NULL));
        ck_assert_uint_le(join->found.pairs, join->found.candidates);
    }
    obb_join_destroy(made);
    return status;
}

/* Returns whether the join lists that pair at that place. */
static bool lists_at(const struct model_layers_join *join, size_t at, const struct obb_version *a,
                     const struct obb_version *b)
{
    if (join->ranks != NULL)
        return join->base + (join->ranks[at] >> 32) == a->id &&
               join->base + (uint32_t)join->ranks[at] == b->id;
    if (join->ids != NULL)
        return join->ids[at].id[0] == a->id && join->ids[at].id[1] == b->id &&
               join->ids[at].boxes.a == a && join->ids[at].boxes.b == b;
    return join->boxes[at].a == a && join->boxes[at].b == b;
}

void model_layers_check_join(const struct model_layers_join *join,
                             const struct model_layers_state *state, const bool *moved)
{
    size_t at = 0;
    for (size_t i = 0; i < state->count; i++)
        for (size_t k = i + 1; k < state->count; k++) {
            join->counts->checked++;
            if ((moved != NULL && !moved[i] && !moved[k]) ||
                refuses(join, state->boxes[i], state->boxes[k]) ||
                !obb_shape_boxes(&state->solids[i], &state->solids[k], join->margin))
                continue;
            if (at < join->found.listed)
                ck_assert_msg(lists_at(join, at, state->boxes[i], state->boxes[k]),
                              "pair %zu of %zu: %zu %zu missing", at, join->found.listed, i, k);
            at++;
        }
    ck_assert_uint_eq(at, join->found.pairs);
    const size_t limit = join->list == OBB_JOIN_COUNT ? 0 : join->limit;
    ck_assert_uint_eq(join->found.listed, at < limit ? at : limit);
    join->counts->pairs += at;
    join->counts->listed += join->found.listed;
}

struct obb_layers *model_layers_of_scene(struct boxes_world *world, boxes_kind kind, size_t count,
                                         int dimensions, const struct obb_kernels *kernels)
{
    obb_box *boxes = malloc((count + 1) * sizeof *boxes);
    const struct obb_version **added = malloc((count + 1) * sizeof *added);
    ck_assert(boxes != NULL && added != NULL);
    boxes_make(kind, count, dimensions, 20261120 + count, boxes);
    boxes_world_init(world, count, dimensions);
    struct obb_layers *layers = NULL;
    ck_assert_int_eq(obb_layers_create(dimensions, kernels, &layers), OBB_OK);
    size_t made = 0;
    for (uint64_t revision = 1; made < count; revision++) {
        const size_t until = revision == 1 ? (count + 1) / 2 : made + (count - made + 3) / 4;
        size_t n = 0;
        for (; made < until; made++) {
            struct obb_version *version =
                boxes_world_add(world, &boxes[made], made + 1, revision, NULL);
            if (kind % 2 == 1 && revision % 2 == 0 && n == 0)
                version->group = -1;
            added[n++] = version;
        }
        struct obb_layers *next = NULL;
        ck_assert_int_eq(obb_layers_next(layers, added, n, NULL, 0, revision, NULL, &next), OBB_OK);
        obb_layers_unref(layers);
        layers = next;
    }
    free(boxes);
    free(added);
    return layers;
}
