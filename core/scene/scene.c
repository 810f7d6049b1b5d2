#include "core/scene/scene.h"

#include "core/base/alloc.h"
#include "core/base/utf8.h"
#include "core/scene/edit.h"
#include "core/scene/scene_body.h"
#include "core/scene/view.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

/* ---- Names ------------------------------------------------------------------------------------------------ */

bool obb_name_valid(obb_str name)
{
    if (name.length == 0 || name.length > OBB_MAX_NAME)
        return false;
    if (name.bytes[0] == '.' && (name.length == 1 || (name.length == 2 && name.bytes[1] == '.')))
        return false;
    bool plain = true; /* as nearly all names are: bytes from 0x20 to 0x7e */
    size_t at = 0;
    for (; name.length - at >= 8; at += 8) {
        uint64_t v;
        memcpy(&v, name.bytes + at, sizeof v);
        /* The top bit of a byte that is not plain is set in one of the three; what it borrows or carries comes after that. */
        plain &= ((v | (v - 0x2020202020202020u) | (v + 0x0101010101010101u)) &
                  0x8080808080808080u) == 0;
    }
    for (; at < name.length; at++) {
        const unsigned char c = (unsigned char)name.bytes[at];
        plain &= c >= 0x20 && c < 0x7f;
    }
    const char *p = name.bytes, *end = p + name.length;
    while (p < end && !plain) {
        const unsigned char first = (unsigned char)*p;
        const size_t length = obb_utf8_length(p, end);
        /* C1 controls, U+0080 to U+009F, are the bytes c2 80 to c2 9f */
        const bool is_c1 = length == 2 && first == 0xc2 && (unsigned char)p[1] <= 0x9f;
        if (length == 0 || first < 0x20 || first == 0x7f || is_c1)
            return false;
        p += length;
    }
    return true;
}

uint32_t obb_scene_name_hash(const struct obb_scene *scene, obb_str name)
{
    return (uint32_t)obb_hash(scene->key, name.bytes, name.length);
}

static struct obb_record *record_of(struct obb_link *link)
{
    return (struct obb_record *)link; /* its first member */
}

struct obb_record *obb_scene_record(const struct obb_scene *scene, obb_str name, uint32_t hash)
{
    for (struct obb_link *link = obb_hash_table_find(&scene->names, hash); link != NULL;
         link = obb_hash_table_find_next(&scene->names, link))
        if (obb_str_equal(obb_record_name(record_of(link)), name))
            return record_of(link);
    return NULL;
}

/* Without the padding that would follow the struct. */
static size_t record_size(size_t name_length)
{
    return offsetof(struct obb_record, name) + name_length;
}

struct obb_record *obb_record_create(struct obb_scene *scene, obb_str name)
{
    struct obb_record *record = obb_malloc(1, record_size(name.length));
    if (record == NULL)
        return NULL;
    record->id = scene->next_id;
    record->length = (uint8_t)name.length;
    memcpy(record->name, name.bytes, name.length);
    atomic_init(&record->newest, OBB_NO_VERSION);
    scene->record_bytes += record_size(name.length);
    return record;
}

void obb_record_destroy(struct obb_scene *scene, struct obb_record *record)
{
    scene->record_bytes -= record_size(record->length);
    obb_free(record);
}

size_t obb_scene_bytes(const struct obb_scene *scene)
{
    return sizeof *scene + scene->name_length + obb_versions_bytes(&scene->versions) +
           obb_hash_table_bytes(&scene->names) + scene->record_bytes +
           scene->ids.nodes * sizeof(struct obb_id_tree_node) +
           obb_hash_table_bytes(&scene->interned.hash_table) + scene->interned.bytes;
}

/* ---- States ----------------------------------------------------------------------------------------------- */

struct obb_state *obb_state_create(uint64_t revision, size_t ended_capacity)
{
    struct obb_state *state = obb_calloc(1, sizeof *state);
    struct obb_ended *ended =
        ended_capacity > (PTRDIFF_MAX - sizeof *ended) / sizeof ended->versions[0]
            ? NULL
            : obb_malloc(1, sizeof *ended + ended_capacity * sizeof ended->versions[0]);
    if (state == NULL || ended == NULL) {
        obb_free(state);
        obb_free(ended);
        return NULL;
    }
    *ended = (struct obb_ended){.count = 0};
    state->revision = revision;
    state->ended = ended;
    return state;
}

void obb_state_destroy(struct obb_state *state)
{
    if (state == NULL)
        return;
    obb_layers_unref(state->layers);
    obb_index_unref(state->interpolated_index);
    obb_free(state->ended);
    obb_free(state);
}

/* ---- The rim ---------------------------------------------------------------------------------------------- */

static const obb_bounds nothing = {.min = {HUGE_VAL, HUGE_VAL, HUGE_VAL},
                                   .max = {-HUGE_VAL, -HUGE_VAL, -HUGE_VAL}};

/* Does the box keep clear of the rim of `bounds`? Told from the sphere around it, which needs no axes: no is not sure. */
static bool clear_of(const obb_bounds *bounds, const obb_box *box, int dimensions)
{
    const obb_vec3 c = box->center;
    const double radius = obb_length(box->half_extents);
    const double reach =
        radius + 1e-14 * (radius + fabs(c.x) + fabs(c.y) + fabs(c.z)); /* rounding */
    return c.x - reach > bounds->min.x && c.x + reach < bounds->max.x &&
           c.y - reach > bounds->min.y && c.y + reach < bounds->max.y &&
           (dimensions == 2 || (c.z - reach > bounds->min.z && c.z + reach < bounds->max.z));
}

static void grow(obb_bounds *bounds, const obb_box *box, int dimensions)
{
    const obb_solid solid = obb_solid_from_box(box, dimensions);
    const obb_bounds b = obb_solid_bounds(&solid);
    bounds->min = obb_min(bounds->min, b.min);
    bounds->max = obb_max(bounds->max, b.max);
}

void obb_rim_add(struct obb_rim *rim, const obb_box *box, int dimensions)
{
    if (rim->known && !clear_of(&rim->bounds, box, dimensions))
        grow(&rim->bounds, box, dimensions);
}

void obb_rim_remove(struct obb_rim *rim, const obb_box *box, int dimensions)
{
    rim->known = rim->known && clear_of(&rim->bounds, box, dimensions);
}

/* ---- Life ------------------------------------------------------------------------------------------------- */

bool obb_settings_valid(const obb_settings *settings)
{
    return (settings->dimensions == 2 || settings->dimensions == 3) &&
           settings->history_span >= 0.0 && settings->history_span <= OBB_MAX_WHOLE;
}

obb_status obb_scene_create(obb_str name, const obb_settings *settings, double now_ms,
                            const struct obb_kernels *kernels, struct obb_scene **out)
{
    if (!obb_name_valid(name))
        return OBB_BAD_NAME;
    if (!obb_settings_valid(settings))
        return OBB_BAD_VALUE;
    struct obb_scene *scene = obb_malloc(1, sizeof *scene + name.length);
    struct obb_state *state = obb_state_create(0, 0);
    obb_status st = OBB_NO_MEMORY;
    if (scene == NULL || state == NULL)
        goto fail;
    state->dimensions = settings->dimensions;
    st = obb_layers_create(settings->dimensions, kernels, &state->layers);
    if (st != OBB_OK)
        goto fail;
    *scene = (struct obb_scene){
        .settings = *settings,
        .kernels = kernels,
        .next_id = 1,
        .rim = {.known = true, .bounds = nothing},
        .created_ms = now_ms,
        .fresh = {.versions = OBB_NO_VERSION},
        .waiting = {.versions = OBB_NO_VERSION},
        .name_length = name.length,
    };
    st = obb_history_init(&scene->history, state);
    if (st != OBB_OK)
        goto fail;
    memcpy(scene->name, name.bytes, name.length);
    obb_versions_init(&scene->versions);
    obb_hash_table_init(&scene->names);
    scene->key = obb_hash_key_of_place(scene);
    obb_interned_table_init(&scene->interned);
    scene->history.span = settings->history_span;
    scene->history.commits = settings->history_commits;
    *out = scene;
    return OBB_OK;

fail:
    obb_state_destroy(state);
    obb_free(scene);
    return st;
}

static void free_limbo(struct obb_scene *scene, struct obb_limbo *limbo, size_t budget);

void obb_scene_destroy(struct obb_scene *scene)
{
    if (scene == NULL)
        return;
    assert(scene->first_view == NULL);
    free_limbo(scene, &scene->waiting, SIZE_MAX);
    free_limbo(scene, &scene->fresh, SIZE_MAX);
    for (struct obb_record *record = obb_id_tree_seek(&scene->ids, 1); record != NULL;) {
        struct obb_record *next = obb_id_tree_seek(&scene->ids, record->id + 1);
        obb_record_destroy(scene, record); /* in the order they were made: fast on large scenes */
        record = next;
    }
    obb_hash_table_fini(&scene->names);
    obb_id_tree_fini(&scene->ids);
    obb_interned_table_fini(&scene->interned);
    obb_versions_fini(&scene->versions);
    while (scene->waste != NULL) {
        struct obb_ended *next = scene->waste->next;
        obb_free(scene->waste);
        scene->waste = next;
    }
    for (size_t i = 0; i < scene->history.count; i++)
        obb_state_destroy(obb_history_state(&scene->history, i));
    obb_history_fini(&scene->history);
    obb_free(scene);
}

struct obb_scene *obb_scene_detach(struct obb_scene *scene)
{
    scene->detached = true;
    scene->total = NULL;
    return scene->first_view == NULL ? scene : NULL;
}

obb_str obb_scene_name(const struct obb_scene *scene)
{
    return (obb_str){.bytes = scene->name, .length = scene->name_length};
}

/* ---- What nobody needs any longer ---------------------------------------------------------------------------- */

/* States leave in order; what the next one ended was held by the one that left, and by none that stays. */
static void let_states_go(struct obb_scene *scene)
{
    struct obb_state *gone;
    while ((gone = obb_history_pop(&scene->history)) != NULL) {
        obb_state_destroy(gone);
        struct obb_state *front = obb_history_state(&scene->history, 0);
        obb_index_unref(front->interpolated_index);
        front->interpolated_index = NULL;
        if (scene->waste == NULL)
            scene->waste = front->ended;
        else
            scene->waste_end->next = front->ended;
        scene->waste_end = front->ended;
        front->ended = NULL;
    }
}

void obb_scene_exile(struct obb_scene *scene, struct obb_record *record)
{
    obb_hash_table_remove(&scene->names, &record->link);
    obb_id_tree_remove(&scene->ids, record, &scene->fresh.nodes);
    const uint32_t newest = atomic_load_explicit(&record->newest, memory_order_relaxed);
    struct obb_version *version = obb_versions_slot(&scene->versions, newest);
    atomic_store_explicit(&version->newer, scene->fresh.versions, memory_order_relaxed);
    scene->fresh.versions = newest;
}

static void reclaim(struct obb_scene *scene, uint32_t index)
{
    struct obb_version *version = obb_versions_slot(&scene->versions, index);
    obb_interned_table_drop(&scene->interned, version->entity, &scene->fresh.interned);
    obb_interned_table_drop(&scene->interned, version->data, &scene->fresh.interned);
    if (atomic_load_explicit(&version->newer, memory_order_relaxed) == OBB_NO_VERSION)
        obb_scene_exile(scene, version->record);
    else
        obb_versions_give(&scene->versions, version);
}

#define AHEAD 16 /* versions brought into the cache before it is their turn */

static size_t clear_waste(struct obb_scene *scene, size_t budget)
{
    while (scene->waste != NULL) {
        struct obb_ended *block = scene->waste;
        for (; block->done < block->count && budget > 0; budget--) {
            if (block->count - block->done > AHEAD)
                obb_version_prefetch(
                    obb_versions_slot(&scene->versions, block->versions[block->done + AHEAD]));
            reclaim(scene, block->versions[block->done++]);
        }
        if (block->done < block->count)
            break;
        scene->waste = block->next;
        obb_free(block);
    }
    return budget;
}

static bool limbo_empty(const struct obb_limbo *limbo)
{
    return limbo->versions == OBB_NO_VERSION && limbo->nodes == NULL && limbo->interned == NULL;
}

static void free_limbo(struct obb_scene *scene, struct obb_limbo *limbo, size_t budget)
{
    for (; limbo->versions != OBB_NO_VERSION && budget > 0; budget--) {
        struct obb_version *version = obb_versions_slot(&scene->versions, limbo->versions);
        limbo->versions = atomic_load_explicit(&version->newer, memory_order_relaxed);
        obb_record_destroy(scene, version->record);
        obb_versions_give(&scene->versions, version);
    }
    for (; limbo->nodes != NULL && budget > 0; budget--) {
        struct obb_id_tree_node *node = limbo->nodes;
        limbo->nodes = node->retired;
        obb_id_tree_node_free(&scene->ids, node);
    }
    for (; limbo->interned != NULL && budget > 0; budget--) {
        struct obb_interned *interned = limbo->interned;
        limbo->interned = interned->retired;
        obb_interned_table_free(&scene->interned, interned);
    }
}

void obb_scene_settle(struct obb_scene *scene, size_t budget)
{
    let_states_go(scene);
    (void)clear_waste(scene, budget);
    /* Twice, since without open views what was waste a moment ago can go at once. */
    for (int i = 0; i < 2; i++) {
        const bool held =
            scene->first_view != NULL && scene->first_view->ticket <= scene->waiting.ticket;
        if (!held)
            free_limbo(scene, &scene->waiting, budget);
        if (limbo_empty(&scene->waiting)) {
            scene->waiting = scene->fresh;
            scene->waiting.ticket = scene->ticket;
            scene->fresh = (struct obb_limbo){.versions = OBB_NO_VERSION};
        }
    }
}

/* ---- What a scene says of itself ------------------------------------------------------------------------------ */

/* The next record from `from` on whose box is there now. */
static struct obb_version *current_from(struct obb_scene *scene, uint64_t from)
{
    for (struct obb_record *record = obb_id_tree_seek(&scene->ids, from); record != NULL;
         record = obb_id_tree_seek(&scene->ids, record->id + 1)) {
        struct obb_version *version = obb_scene_current(scene, record);
        if (version != NULL)
            return version;
    }
    return NULL;
}

/* The first current version from slot *i on, or NULL; *i moves behind it. Goes through the pool in the order of memory;
 * versions of a commit that is only prepared are not there yet. */
static const struct obb_version *current_slot(const struct obb_scene *scene, uint32_t *i)
{
    const uint64_t now = obb_history_now(&scene->history).revision;
    while (*i < scene->versions.count) {
        const struct obb_version *version = obb_version_at(&scene->versions, (*i)++);
        if (atomic_load_explicit(&version->died, memory_order_relaxed) == OBB_NEVER &&
            atomic_load_explicit(&version->born, memory_order_relaxed) <= now)
            return version;
    }
    return NULL;
}

/* Centres first: axes are needed only of boxes that may reach beyond all centres. */
static void measure(struct obb_scene *scene)
{
    const int dimensions = scene->settings.dimensions;
    obb_bounds centers = nothing;
    const struct obb_version *version;
    for (uint32_t i = 0; (version = current_slot(scene, &i)) != NULL;) {
        centers.min = obb_min(centers.min, version->box.center);
        centers.max = obb_max(centers.max, version->box.center);
    }
    scene->rim = (struct obb_rim){.known = true, .bounds = nothing};
    for (uint32_t i = 0; (version = current_slot(scene, &i)) != NULL;)
        if (!clear_of(&centers, &version->box, dimensions))
            obb_rim_add(&scene->rim, &version->box, dimensions);
}

void obb_scene_info_without_bounds(const struct obb_scene *scene, obb_scene_info *out)
{
    *out = (obb_scene_info){
        .settings = scene->settings,
        .boxes = obb_scene_boxes(scene),
        .now = obb_history_now(&scene->history),
        .oldest = obb_history_oldest(&scene->history),
    };
}

bool obb_scene_measured(const struct obb_scene *scene) { return scene->rim.known; }

void obb_scene_info_get(struct obb_scene *scene, obb_scene_info *out)
{
    if (!scene->rim.known)
        measure(scene);
    obb_scene_info_without_bounds(scene, out);
    out->has_bounds = out->boxes > 0;
    if (out->has_bounds)
        out->bounds = scene->rim.bounds;
}

obb_status obb_scene_configure(struct obb_scene *scene, const obb_settings *settings, double now_ms,
                               bool *out_changed)
{
    struct obb_arena arena;
    obb_arena_init(&arena);
    const obb_edit edit = {.dimensions = settings->dimensions, .settings = settings};
    struct obb_prepared *prepared = NULL;
    obb_fault fault;
    const obb_status st = obb_edit_prepare(scene, &edit, now_ms, 0, &arena, &prepared, &fault);
    if (st == OBB_OK) {
        obb_committed committed;
        obb_edit_commit(prepared, &committed);
        *out_changed = committed.changed;
    }
    obb_arena_fini(&arena);
    return st;
}

bool obb_scene_decayed(const struct obb_scene *scene)
{
    return obb_layers_decayed(obb_history_newest(&scene->history)->layers);
}

obb_status obb_scene_rebase(struct obb_scene *scene, struct obb_layers *fresh)
{
    struct obb_state *newest = obb_history_newest(&scene->history);
    struct obb_layers *rebased = NULL;
    const obb_status st = obb_layers_rebased(newest->layers, fresh, &rebased);
    if (st == OBB_OK) {
        obb_layers_unref(newest->layers);
        newest->layers = rebased;
    }
    obb_layers_unref(fresh);
    return st;
}

/* ---- The hash of a state --------------------------------------------------------------------------------------- */

/* Numbers as 8 little-endian bytes each, so that the hash is the same on every CPU. */
struct numbers {
    unsigned char bytes[8 * 20];
    size_t length;
};

static void add_whole(struct numbers *numbers, uint64_t value)
{
    assert(numbers->length + 8 <= sizeof numbers->bytes);
    for (int i = 0; i < 8; i++)
        numbers->bytes[numbers->length++] = (unsigned char)(value >> (8 * i));
}

static void add_double(struct numbers *numbers, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    add_whole(numbers, bits);
}

static uint64_t with_bytes(uint64_t hash, const void *bytes, size_t length)
{
    return obb_hash((obb_hash_key){.k0 = hash, .k1 = length}, bytes, length);
}

static uint64_t with_text(uint64_t hash, obb_str text)
{
    return with_bytes(hash, text.bytes, text.length);
}

static uint64_t with_version(uint64_t hash, const struct obb_version *v)
{
    const obb_box *box = &v->box;
    const double parts[] = {box->center.x,       box->center.y,       box->center.z,
                            box->half_extents.x, box->half_extents.y, box->half_extents.z,
                            box->rotation.x,     box->rotation.y,     box->rotation.z,
                            box->rotation.w,     box->angle};
    struct numbers numbers = {.length = 0};
    add_whole(&numbers, v->record->id);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++)
        add_double(&numbers, parts[i]);
    add_whole(&numbers, v->category);
    add_whole(&numbers, v->mask);
    add_whole(&numbers, (uint64_t)(int64_t)v->group);
    hash = with_bytes(hash, numbers.bytes, numbers.length);
    hash = with_text(hash, obb_record_name(v->record));
    hash = with_text(hash, obb_interned_text(v->entity));
    return with_text(hash, obb_interned_text(v->data));
}

uint64_t obb_scene_hash(struct obb_scene *scene)
{
    const obb_moment now = obb_history_now(&scene->history);
    struct numbers numbers = {.length = 0};
    add_whole(&numbers, (uint64_t)scene->settings.dimensions);
    add_double(&numbers, scene->settings.history_span);
    add_whole(&numbers, scene->settings.history_commits);
    add_whole(&numbers, now.revision);
    add_double(&numbers, now.time);
    uint64_t hash = with_bytes(0, numbers.bytes, numbers.length);
    for (const struct obb_version *v = current_from(scene, 1); v != NULL;
         v = current_from(scene, v->record->id + 1))
        hash = with_version(hash, v);
    return hash;
}
