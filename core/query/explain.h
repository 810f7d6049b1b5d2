/* Explanations: what the answer of an item says of a box that the client names, and why. Internal
 * to core. */
#ifndef OBB_EXPLAIN_H
#define OBB_EXPLAIN_H

#include "core/query/hits.h"

struct obb_explaining {
    /* All hits of the item in order, also those that the limit cuts. */
    const struct obb_hits *hits;
    const struct obb_version *itself; /* the box that asks, or NULL */
    uint32_t steps;                   /* of the task, that `judge` takes */
    void *context;
    /* Judges a box that takes part and is not among the hits: writes the outcome, and the members
     * that belong to it. */
    void (*judge)(void *context, const struct obb_version *box, obb_explanation *out);
};

/* Writes answer->explain if the query asks for explanations; otherwise does nothing. It changes
 * nothing else of the answer, which is complete. Cost: a look-up, a pass over the hits and `judge`
 * for each box. If memory fails or the task is cancelled, the task has failed. */
void obb_explain(struct obb_task *task, const struct obb_explaining *explaining,
                 obb_answer *answer);

#endif
