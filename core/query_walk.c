/* All pairs, box by box in the order of ids: slower than a join, but it holds no more pairs than it lists and a round
 * of work besides. So it answers where there are too many candidates to hold, and a page at a time.
 *
 * A round looks at the next boxes by id, cut into chunks; the chunks' lists, one behind the other, are in order. How many
 * boxes a round takes follows from how many pairs the one before gave. */
#include "core/alloc.h"
#include "core/query_body.h"

#define ROUND_PAIRS  262144 /* what a round should find: 4 MiB */
#define ROUND_FIRST  64     /* boxes of the first round, which knows nothing yet */
#define ROUND_MOST   16384  /* boxes; gathering them takes about a millisecond */
#define ROUND_CHUNKS 64
#define DETAIL_CHUNK 256 /* pairs listed with details */

enum phase { ROUNDS, DETAILS, DONE };

struct part {
    struct obb_task task;
    struct obb_pairs pairs;
};

struct obb_walk {
    struct obb_task task; /* what every chunk's begins as */
    enum phase phase;
    const struct obb_version **boxes; /* of the round */
    size_t box_count, per_chunk, part_count;
    struct part parts[ROUND_CHUNKS];
    size_t next_count; /* boxes of the next round */
    uint64_t after;    /* id of the last box that was looked at */
    uint64_t
        partner; /* in the first round of a page: that box goes on after this partner; else 0 */
    bool ended;  /* no boxes are left */
    obb_found_pair *pairs;
    size_t count, capacity, total;
    obb_details *details;
    struct obb_task *detail_tasks;
    size_t detail_chunks;
};

static size_t at_most(size_t value, size_t limit) { return value < limit ? value : limit; }

obb_status obb_walk_create(const struct obb_task *task, struct obb_walk **out)
{
    struct obb_walk *walk = obb_calloc(1, sizeof *walk);
    if (walk == NULL)
        return OBB_NO_MEMORY;
    walk->task = *task;
    walk->next_count = ROUND_FIRST;
    if (task->query->paged) {
        walk->after = task->query->after[0];
        walk->partner = task->query->after[1];
    }
    walk->boxes = obb_malloc(ROUND_MOST + 1, sizeof(const struct obb_version *));
    if (walk->boxes == NULL) {
        obb_walk_destroy(walk);
        return OBB_NO_MEMORY;
    }
    *out = walk;
    return OBB_OK;
}

static void end_parts(struct obb_walk *walk)
{
    for (size_t i = 0; i < walk->part_count; i++)
        obb_task_end(&walk->parts[i].task);
    walk->part_count = 0;
}

void obb_walk_destroy(struct obb_walk *walk)
{
    if (walk == NULL)
        return;
    end_parts(walk);
    obb_free((void *)walk->boxes);
    obb_free(walk->pairs);
    obb_free(walk->details);
    obb_free(walk->detail_tasks);
    obb_free(walk);
}

/* ---- Rounds ----------------------------------------------------------------------------------------------- */

/* Is the list full, so that further pairs are only counted? */
static bool is_full(const struct obb_walk *walk)
{
    return walk->task.query->count_only || walk->count >= walk->task.query->limit;
}

/* Has the walk seen what it must? A page ends with its list; else the count goes on. */
static bool is_over(const struct obb_walk *walk)
{
    return walk->ended || (walk->task.query->paged && is_full(walk));
}

static void start_round(struct obb_walk *walk)
{
    const struct obb_view *view = walk->task.view;
    walk->box_count = 0;
    if (walk->partner > 0) {
        const struct obb_version *box = obb_view_find_id(view, walk->after);
        if (box != NULL)
            walk->boxes[walk->box_count++] = box;
    }
    for (size_t i = 0; i < walk->next_count && !walk->ended; i++) {
        const struct obb_version *box = obb_view_next(view, walk->after);
        walk->ended = box == NULL;
        if (box != NULL) {
            walk->boxes[walk->box_count++] = box;
            walk->after = box->id;
        }
    }
    walk->per_chunk = (walk->box_count + ROUND_CHUNKS - 1) / ROUND_CHUNKS;
    walk->part_count =
        walk->box_count == 0 ? 0 : (walk->box_count + walk->per_chunk - 1) / walk->per_chunk;
    for (size_t i = 0; i < walk->part_count; i++)
        walk->parts[i] = (struct part){.task = walk->task, .pairs = {.just_count = is_full(walk)}};
}

struct asking {
    struct part *part;
    const struct obb_version *box;
    uint64_t after; /* partners up to this id belong to other pairs */
    obb_solid solid;
};

static bool ask_visit(void *context, const struct obb_version *other, obb_verdict verdict)
{
    struct asking *a = context;
    struct obb_task *task = &a->part->task;
    if (!obb_task_goes_on(task))
        return false;
    if (other->id <= a->after || !obb_pairs_admit(task->sieve, a->box, other))
        return true;
    if (verdict != OBB_SURE) {
        const obb_solid solid = obb_view_solid(task->view, other);
        if (!obb_shape_boxes(&a->solid, &solid, task->query->margin))
            return true;
    }
    return obb_pairs_add(task, &a->part->pairs, a->box, other);
}

static obb_status ask(struct obb_walk *walk, size_t chunk)
{
    struct part *part = &walk->parts[chunk];
    struct obb_task *task = &part->task;
    const size_t first = chunk * walk->per_chunk;
    const size_t end = at_most(first + walk->per_chunk, walk->box_count);
    for (size_t i = first; i < end && obb_task_goes_on(task); i++) {
        const struct obb_version *box = walk->boxes[i];
        if (!obb_sieve_passes(task->sieve, box))
            continue;
        struct asking a = {.part = part,
                           .box = box,
                           .after = i == 0 && walk->partner > box->id ? walk->partner : box->id,
                           .solid = obb_view_solid(task->view, box)};
        const size_t before = part->pairs.count;
        obb_candidates_overlap(task->view, &a.solid, task->query->margin, &a, ask_visit);
        if (task->status == OBB_OK && !part->pairs.just_count)
            obb_pairs_sort(task, part->pairs.list + before, part->pairs.count - before);
    }
    return task->status;
}

/* Takes over what the round found. */
static obb_status end_round(struct obb_walk *walk)
{
    size_t found = 0;
    for (size_t i = 0; i < walk->part_count; i++)
        found += walk->parts[i].pairs.count;
    if (!is_full(walk) && found > 0) {
        const size_t need = at_most(walk->count + found, walk->task.query->limit);
        if (need > walk->capacity) {
            const size_t capacity = at_most(2 * need, walk->task.query->limit);
            obb_found_pair *pairs = obb_realloc(walk->pairs, capacity, sizeof *pairs);
            if (pairs == NULL)
                return OBB_NO_MEMORY;
            walk->pairs = pairs;
            walk->capacity = capacity;
        }
        for (size_t i = 0; i < walk->part_count; i++) {
            const struct obb_pairs *more = &walk->parts[i].pairs;
            const size_t fits = at_most(more->count, need - walk->count);
            if (fits > 0)
                memcpy(walk->pairs + walk->count, more->list, fits * sizeof *more->list);
            walk->count += fits;
        }
    }
    walk->total += found;
    /* At most four times as many boxes as the last round: the next may lie closer together. */
    const size_t fitting = (walk->box_count + 1) * ROUND_PAIRS / (found + 1);
    walk->next_count = at_most(at_most(fitting, 4 * walk->next_count), ROUND_MOST);
    walk->next_count += walk->next_count == 0;
    walk->partner = 0;
    end_parts(walk);
    return OBB_OK;
}

/* ---- Details ------------------------------------------------------------------------------------------------ */

static obb_status start_details(struct obb_walk *walk)
{
    if ((walk->task.query->want & OBB_WANT_OF_PAIR) == 0 || walk->count == 0)
        return OBB_OK;
    const size_t chunks = (walk->count + DETAIL_CHUNK - 1) / DETAIL_CHUNK;
    walk->details = obb_malloc(walk->count, sizeof *walk->details);
    walk->detail_tasks = obb_malloc(chunks, sizeof *walk->detail_tasks);
    if (walk->details == NULL || walk->detail_tasks == NULL)
        return OBB_NO_MEMORY;
    for (size_t i = 0; i < chunks; i++)
        walk->detail_tasks[i] = walk->task;
    walk->detail_chunks = chunks;
    return OBB_OK;
}

static obb_status write_details(struct obb_walk *walk, size_t chunk)
{
    struct obb_task *task = &walk->detail_tasks[chunk];
    const size_t first = chunk * DETAIL_CHUNK;
    obb_pairs_details(task, walk->pairs, walk->details, first,
                      at_most(first + DETAIL_CHUNK, walk->count));
    return task->status;
}

/* ---- From phase to phase ------------------------------------------------------------------------------------- */

size_t obb_walk_advance(struct obb_walk *walk, obb_status *out_status, obb_result *result)
{
    *out_status = OBB_OK;
    if (walk->phase == ROUNDS) {
        if (walk->part_count > 0)
            *out_status = end_round(walk);
        if (*out_status != OBB_OK)
            return 0;
        if (!is_over(walk))
            start_round(walk);
        if (walk->part_count > 0)
            return walk->part_count;
        walk->phase = DETAILS;
        *out_status = start_details(walk);
        if (*out_status != OBB_OK)
            return 0;
        if (walk->detail_chunks > 0)
            return walk->detail_chunks;
    }
    walk->phase = DONE;
    const obb_query *query = walk->task.query;
    *result = (obb_result){.pairs = walk->pairs,
                           .pair_details = walk->details,
                           .pair_count = walk->count,
                           .count = query->paged ? walk->count : walk->total,
                           .truncated =
                               !query->count_only && (walk->count < walk->total || !walk->ended)};
    return 0;
}

obb_status obb_walk_chunk(struct obb_walk *walk, size_t chunk)
{
    return walk->phase == ROUNDS ? ask(walk, chunk) : write_details(walk, chunk);
}
