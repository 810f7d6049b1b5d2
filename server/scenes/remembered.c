#include "server/scenes/remembered.h"

#include <assert.h>
#include <string.h>

struct srv_remembered {
    struct obb_budget *budget;
    srv_remembered_commit *ring; /* the texts of each lie in one block, which the id begins */
    size_t capacity;             /* a power of two */
    size_t first, count;
    size_t pending; /* the last so many are */
    size_t bytes;   /* of the texts of the published ones */
};

struct srv_remembered *srv_remembered_create(struct obb_budget *budget)
{
    struct srv_remembered *r = obb_calloc(1, sizeof *r);
    if (r != NULL)
        r->budget = budget;
    return r;
}

static srv_remembered_commit *at(const struct srv_remembered *r, size_t i)
{
    return &r->ring[(r->first + i) & (r->capacity - 1)];
}

static size_t bytes_of(const srv_remembered_commit *commit)
{
    return commit->id.length + commit->outcome.length;
}

/* Returns a block that draws from the budget or, in any case, counts against it. */
static void *create_block(const struct srv_remembered *r, size_t bytes, bool in_any_case)
{
    if (in_any_case)
        obb_budget_charge(r->budget, bytes);
    else if (!obb_budget_take(r->budget, bytes))
        return NULL;
    void *block = obb_malloc(bytes, 1);
    if (block == NULL)
        obb_budget_give(r->budget, bytes);
    return block;
}

static void free_block(const struct srv_remembered *r, void *block, size_t bytes)
{
    obb_free(block);
    obb_budget_give(r->budget, bytes);
}

static void free_texts(const struct srv_remembered *r, const srv_remembered_commit *commit)
{
    free_block(r, (void *)(uintptr_t)commit->id.bytes, bytes_of(commit));
}

static size_t ring_bytes(size_t capacity) { return capacity * sizeof(srv_remembered_commit); }

void srv_remembered_destroy(struct srv_remembered *r)
{
    if (r == NULL)
        return;
    for (size_t i = 0; i < r->count; i++)
        free_texts(r, at(r, i));
    free_block(r, r->ring, ring_bytes(r->capacity));
    obb_free(r);
}

const srv_remembered_commit *srv_remembered_find(const struct srv_remembered *r, obb_str id,
                                                 double time)
{
    if (r == NULL)
        return NULL;
    for (size_t i = r->count; i-- > 0;) {
        const srv_remembered_commit *commit = at(r, i);
        if (obb_str_equal(commit->id, id))
            return commit->pending || time - commit->moment.time <= SRV_REMEMBERED_MS ? commit
                                                                                      : NULL;
    }
    return NULL;
}

static bool grow(struct srv_remembered *r, bool in_any_case)
{
    const size_t capacity = r->capacity == 0 ? 8 : 2 * r->capacity;
    srv_remembered_commit *ring = create_block(r, ring_bytes(capacity), in_any_case);
    if (ring == NULL)
        return false;
    for (size_t i = 0; i < r->count; i++)
        ring[i] = *at(r, i);
    free_block(r, r->ring, ring_bytes(r->capacity));
    r->ring = ring;
    r->capacity = capacity;
    r->first = 0;
    return true;
}

bool srv_remembered_push(struct srv_remembered *r, obb_str id, obb_str outcome, obb_moment moment,
                         bool in_any_case)
{
    if (r->count == r->capacity && !grow(r, in_any_case))
        return false;
    char *texts = create_block(r, id.length + outcome.length, in_any_case);
    if (texts == NULL)
        return false;
    memcpy(texts, id.bytes, id.length);
    if (outcome.length > 0)
        memcpy(texts + id.length, outcome.bytes, outcome.length);
    r->count++;
    r->pending++;
    *at(r, r->count - 1) = (srv_remembered_commit){.id = {texts, id.length},
                                                   .outcome = {texts + id.length, outcome.length},
                                                   .moment = moment,
                                                   .pending = true};
    return true;
}

void srv_remembered_publish(struct srv_remembered *r)
{
    assert(r->pending > 0);
    srv_remembered_commit *commit = at(r, r->count - r->pending);
    const double time = commit->moment.time;
    commit->pending = false;
    r->bytes += bytes_of(commit);
    r->pending--;
    while (r->count > r->pending) {
        const srv_remembered_commit *oldest = at(r, 0);
        if (r->count - r->pending <= SRV_REMEMBERED_COMMITS && r->bytes <= SRV_REMEMBERED_BYTES &&
            time - oldest->moment.time <= SRV_REMEMBERED_MS)
            break;
        r->bytes -= bytes_of(oldest);
        free_texts(r, oldest);
        r->first = (r->first + 1) & (r->capacity - 1);
        r->count--;
    }
}

void srv_remembered_revert(struct srv_remembered *r)
{
    assert(r->pending > 0);
    free_texts(r, at(r, r->count - 1));
    r->pending--;
    r->count--;
}

const srv_remembered_commit *srv_remembered_at(const struct srv_remembered *r, size_t i)
{
    return r != NULL && i < r->count - r->pending ? at(r, i) : NULL;
}

bool srv_remembered_resume(struct srv_remembered **remembered, struct obb_budget *budget,
                           const srv_restored_commit *commits, size_t count)
{
    if (count > 0 && *remembered == NULL)
        *remembered = srv_remembered_create(budget);
    if (count > 0 && *remembered == NULL)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!srv_remembered_push(*remembered, commits[i].id, commits[i].answer, commits[i].moment,
                                 true))
            return false;
        srv_remembered_publish(*remembered);
    }
    return true;
}
