/* A batch: what an audience is told next. It is what one commit did, or what several commits did
 * together: of a box the newest pose counts, of a pair every begin and end. */
#ifndef SRV_BATCH_H
#define SRV_BATCH_H

#include "server/events/changes.h"

/* Zeroed: empty. */
struct srv_batch {
    size_t commits;    /* how many it joins */
    obb_committed sum; /* their counts together and the moment of the newest one, without lists */
    int dimensions;    /* of the newest one */
    wire_box_change *boxes; /* by id */
    size_t box_count;
    wire_pair_change *pairs; /* by (id, id) */
    size_t pair_count;
    obb_str *frames; /* made, moved or removed: by name, each once */
    size_t frame_count;
    struct obb_arena texts; /* of srv_batch_join */
};

/* Returns whether a filter lets the box pass. */
bool srv_box_matches(const wire_event_params *params, const struct obb_version *box);

/* Returns what one commit is to those who asked for `params`. The lists are in `arena`, and the
 * names are those of the versions. `prefix` is about frames, too; filters by entity or category
 * leave frames out. Returns false if there is no memory. */
bool srv_batch_of(const srv_changes *changes, const wire_event_params *params,
                  struct obb_arena *arena, struct srv_batch *out);

/* Joins the batch of a later commit to `sum`, which owns its lists and copies of all texts, drawn
 * from the budget. Returns false if there is no room; `sum` is then as it was. O(sum + next). */
bool srv_batch_join(struct srv_batch *sum, const struct srv_batch *next, struct obb_budget *budget);

/* Empties a batch that was joined to. */
void srv_batch_clear(struct srv_batch *sum);

/* Returns whether the batch is a message to those who asked for `params`. */
bool srv_batch_tells(const struct srv_batch *batch, const wire_event_params *params);

/* Appends the messages of the batch, at most one of each kind and reason. Check text->failed. */
void srv_batch_write(const struct srv_batch *batch, const wire_event_params *params, uint64_t epoch,
                     struct wire_buf *text);

#endif
