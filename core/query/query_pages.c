#include "core/query/query_pages.h"

#include "core/base/least.h"
#include "core/query/candidates.h"
#include "core/query/pairs.h"

/* All pairs, box by box in the order of ids. This way is slower than a join, but holds only the
 * listed pairs and those of one round. So it serves pages, and scenes with too many candidates for
 * a join.
 *
 * A round looks at the next boxes by id, cut into chunks. The lists of the chunks, one behind the
 * other, are in order. The number of boxes in a round follows from the number of pairs in the round
 * before. For a page no chunk keeps more pairs than the page still takes (twice as many while it
 * searches), however many pairs a box has. */

#define ROUND_PAIRS  262144 /* pairs that a round should find: 4 MiB */
#define ROUND_FIRST  16     /* boxes of the first round, which has none before it to learn from */
#define ROUND_MOST   16384  /* boxes; gathering them takes about a millisecond */
#define ROUND_CHUNKS 64
#define DETAIL_CHUNK 256 /* pairs listed with details */

enum phase { ROUNDS, DETAILS, DONE };

struct part {
    struct obb_task task;
    struct obb_pairs pairs;
    size_t candidates, doubts; /* as in obb_result */
};

struct obb_pages {
    struct obb_task task; /* copied to begin the task of every chunk */
    enum phase phase;
    const struct obb_version **boxes; /* of the round */
    size_t box_count, per_chunk, part_count;
    struct part parts[ROUND_CHUNKS];
    size_t next_count; /* boxes of the next round */
    uint64_t after;    /* id of the last box of the rounds so far */
    /* In the first round of a page the first box goes on after this partner; otherwise 0. */
    uint64_t partner;
    bool ended; /* no boxes are left */
    obb_box_pair *pairs;
    size_t count, capacity, total;
    size_t candidates, doubts; /* of all rounds */
    obb_details *details;
    struct obb_task *detail_tasks;
    size_t detail_chunks;
};

obb_status obb_pages_create(const struct obb_task *task, struct obb_pages **out)
{
    struct obb_pages *pages = obb_budget_calloc(task->budget, 1, sizeof *pages);
    if (pages == NULL)
        return OBB_NO_MEMORY;
    pages->task = *task;
    pages->next_count = ROUND_FIRST;
    if (task->query->paged) {
        pages->after = task->query->after[0];
        pages->partner = task->query->after[1];
    }
    pages->boxes =
        obb_budget_malloc(task->budget, ROUND_MOST + 1, sizeof(const struct obb_version *));
    if (pages->boxes == NULL) {
        obb_pages_destroy(pages);
        return OBB_NO_MEMORY;
    }
    *out = pages;
    return OBB_OK;
}

static void end_parts(struct obb_pages *pages)
{
    for (size_t i = 0; i < pages->part_count; i++)
        obb_task_end(&pages->parts[i].task);
    pages->part_count = 0;
}

void obb_pages_destroy(struct obb_pages *pages)
{
    if (pages == NULL)
        return;
    end_parts(pages);
    obb_budget_free((void *)pages->boxes);
    obb_budget_free(pages->pairs);
    obb_budget_free(pages->details);
    obb_budget_free(pages->detail_tasks);
    obb_budget_free(pages);
}

/* ---- Rounds ---------------------------------------------------------------------------------- */

/* Returns true if the list is full, so that further pairs are only counted. */
static bool is_full(const struct obb_pages *pages)
{
    return pages->task.query->count_only || pages->count >= pages->task.query->limit;
}

/* Returns true if the query ends with a full list and does not go on counting. */
static bool is_page(const obb_query *query) { return query->paged && !query->count_only; }

/* Returns true if no further round is needed. */
static bool is_over(const struct obb_pages *pages)
{
    return pages->ended || (is_page(pages->task.query) && is_full(pages));
}

/* Returns the number of pairs that are enough for the round. */
static size_t room_of(const struct obb_pages *pages)
{
    return is_page(pages->task.query) ? pages->task.query->limit - pages->count : SIZE_MAX;
}

static void start_round(struct obb_pages *pages)
{
    const struct obb_view *view = pages->task.view;
    pages->box_count = 0;
    if (pages->partner > 0) {
        const struct obb_version *box = obb_view_find_id(view, pages->after);
        if (box != NULL)
            pages->boxes[pages->box_count++] = box;
    }
    for (size_t i = 0; i < pages->next_count && !pages->ended; i++) {
        const struct obb_version *box = obb_view_next(view, pages->after);
        pages->ended = box == NULL;
        if (box != NULL) {
            pages->boxes[pages->box_count++] = box;
            pages->after = box->id;
        }
    }
    pages->per_chunk = (pages->box_count + ROUND_CHUNKS - 1) / ROUND_CHUNKS;
    pages->part_count =
        pages->box_count == 0 ? 0 : (pages->box_count + pages->per_chunk - 1) / pages->per_chunk;
    for (size_t i = 0; i < pages->part_count; i++)
        pages->parts[i] =
            (struct part){.task = pages->task, .pairs = {.just_count = is_full(pages)}};
}

struct asking {
    struct part *part;
    const struct obb_version *box;
    uint64_t after; /* partners up to this id belong to other pairs */
    obb_solid solid;
    size_t before,
        room; /* pairs of the part before this box, and how many of this box may be needed */
};

/* Sorts the pairs of the box, and keeps only the first ones if there are more than may be
 * needed. */
static void order(struct asking *a)
{
    struct obb_pairs *pairs = &a->part->pairs;
    if (a->part->task.status != OBB_OK || pairs->just_count)
        return;
    obb_pairs_sort(&a->part->task, pairs->list + a->before, pairs->count - a->before);
    if (pairs->count - a->before > a->room)
        pairs->count = a->before + a->room;
}

static bool ask_visit(void *context, const struct obb_version *other, obb_verdict verdict)
{
    struct asking *a = context;
    struct obb_task *task = &a->part->task;
    if (!obb_task_goes_on(task))
        return false;
    if (other->id <= a->after)
        return true;
    a->part->candidates++;
    if (!obb_pairs_admit(task->filter, a->box, other))
        return true;
    if (verdict != OBB_SURE) {
        a->part->doubts++;
        const obb_solid solid = obb_view_solid(task->view, other);
        if (!obb_shape_boxes(&a->solid, &solid, task->query->margin))
            return true;
    }
    if (!obb_pairs_add(task, &a->part->pairs, a->box, other))
        return false;
    if ((a->part->pairs.count - a->before) / 2 > a->room)
        order(a);
    return task->status == OBB_OK;
}

static obb_status ask(struct obb_pages *pages, size_t chunk)
{
    struct part *part = &pages->parts[chunk];
    struct obb_task *task = &part->task;
    const size_t first = chunk * pages->per_chunk;
    const size_t end = obb_least(first + pages->per_chunk, pages->box_count), room = room_of(pages);
    for (size_t i = first; i < end && part->pairs.count < room && obb_task_goes_on(task); i++) {
        const struct obb_version *box = pages->boxes[i];
        if (!obb_filter_passes(task->filter, box))
            continue;
        struct asking a = {.part = part,
                           .box = box,
                           .after = i == 0 && pages->partner > box->id ? pages->partner : box->id,
                           .solid = obb_view_solid(task->view, box),
                           .before = part->pairs.count,
                           .room = room - part->pairs.count};
        obb_candidates_overlap(task->view, &a.solid, task->query->margin, &a, ask_visit);
        order(&a);
    }
    return task->status;
}

/* Takes over the pairs of the round. */
static obb_status end_round(struct obb_pages *pages)
{
    size_t found = 0;
    for (size_t i = 0; i < pages->part_count; i++) {
        found += pages->parts[i].pairs.count;
        pages->candidates += pages->parts[i].candidates;
        pages->doubts += pages->parts[i].doubts;
    }
    if (!is_full(pages) && found > 0) {
        const size_t need = obb_least(pages->count + found, pages->task.query->limit);
        if (need > pages->capacity) {
            const size_t capacity = obb_least(2 * need, pages->task.query->limit);
            obb_box_pair *pairs =
                obb_budget_realloc(pages->task.budget, pages->pairs, capacity, sizeof *pairs);
            if (pairs == NULL)
                return OBB_NO_MEMORY;
            pages->pairs = pairs;
            pages->capacity = capacity;
        }
        for (size_t i = 0; i < pages->part_count; i++) {
            const struct obb_pairs *more = &pages->parts[i].pairs;
            const size_t fits = obb_least(more->count, need - pages->count);
            if (fits > 0)
                memcpy(pages->pairs + pages->count, more->list, fits * sizeof *more->list);
            pages->count += fits;
        }
    }
    pages->total += found;
    /* At most four times as many boxes as in the last round: the next boxes may lie closer
     * together. */
    const size_t wanted = obb_least(room_of(pages), ROUND_PAIRS);
    const size_t fitting = (pages->box_count + 1) * wanted / (found + 1);
    pages->next_count = obb_least(obb_least(fitting, 4 * pages->next_count), ROUND_MOST);
    pages->next_count += pages->next_count == 0;
    pages->partner = 0;
    end_parts(pages);
    return OBB_OK;
}

/* ---- Details --------------------------------------------------------------------------------- */

static obb_status start_details(struct obb_pages *pages)
{
    if ((pages->task.query->want & OBB_WANT_OF_PAIR) == 0 || pages->count == 0)
        return OBB_OK;
    const size_t chunks = (pages->count + DETAIL_CHUNK - 1) / DETAIL_CHUNK;
    pages->details = obb_budget_malloc(pages->task.budget, pages->count, sizeof *pages->details);
    pages->detail_tasks =
        obb_budget_malloc(pages->task.budget, chunks, sizeof *pages->detail_tasks);
    if (pages->details == NULL || pages->detail_tasks == NULL)
        return OBB_NO_MEMORY;
    for (size_t i = 0; i < chunks; i++)
        pages->detail_tasks[i] = pages->task;
    pages->detail_chunks = chunks;
    return OBB_OK;
}

static obb_status write_details(struct obb_pages *pages, size_t chunk)
{
    struct obb_task *task = &pages->detail_tasks[chunk];
    const size_t first = chunk * DETAIL_CHUNK;
    obb_pairs_details(task, pages->pairs, pages->details, first,
                      obb_least(first + DETAIL_CHUNK, pages->count));
    return task->status;
}

/* ---- From phase to phase --------------------------------------------------------------------- */

size_t obb_pages_advance(struct obb_pages *pages, obb_status *out_status, obb_result *result)
{
    *out_status = OBB_OK;
    if (pages->phase == ROUNDS) {
        if (pages->part_count > 0)
            *out_status = end_round(pages);
        if (*out_status != OBB_OK)
            return 0;
        if (!is_over(pages))
            start_round(pages);
        if (pages->part_count > 0)
            return pages->part_count;
        pages->phase = DETAILS;
        *out_status = start_details(pages);
        if (*out_status != OBB_OK)
            return 0;
        if (pages->detail_chunks > 0)
            return pages->detail_chunks;
    }
    pages->phase = DONE;
    const obb_query *query = pages->task.query;
    *result = (obb_result){.pairs = pages->pairs,
                           .ids_below = pages->task.view->next_id,
                           .pair_details = pages->details,
                           .pair_count = pages->count,
                           .count = is_page(query) ? pages->count : pages->total,
                           .candidates = pages->candidates,
                           .doubts = pages->doubts,
                           .truncated = is_page(query)
                                            ? is_full(pages)
                                            : !query->count_only && pages->count < pages->total};
    return 0;
}

obb_status obb_pages_chunk(struct obb_pages *pages, size_t chunk)
{
    return pages->phase == ROUNDS ? ask(pages, chunk) : write_details(pages, chunk);
}
