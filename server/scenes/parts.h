/* The effects of a commit, some at a time. A commit of very many effects is written down in parts:
 * records of kind WIRE_RECORD_PART, and then a record of the commit without a list. So neither the
 * list nor its bytes are ever whole in memory. Any thread. */
#ifndef SRV_PARTS_H
#define SRV_PARTS_H

#include "proto/wire.h"

enum {
    SRV_PART_EFFECTS = 2500,
    SRV_PART_BYTES = 250000,   /* of texts, or of a piece of parts: it ends when it is as long */
    SRV_WHOLE_EFFECTS = 10000, /* a record that was asked for holds so many at most */
    SRV_WHOLE_BYTES = 1 << 20  /* of texts */
};

/* Zeroed except for the first group. */
struct srv_parts {
    /* The next effect of the place's kind, as obb_step_next. */
    bool (*next)(const void *source, obb_effect_place *place, obb_effect *out);
    const void *source;

    obb_effect_place place;
    uint64_t count; /* parts that were written */
    bool over;      /* no effect is left */
};

/* Returns the effects of a step, or those of a prepared commit (see obb_prepared_next). The source
 * must live as long as the parts. */
struct srv_parts srv_parts_of_step(const obb_step *step);
struct srv_parts srv_parts_of_commit(const struct obb_prepared *prepared);

/* Lists the next effects: at most `most`, and no more once their texts take `bytes`. Writes the
 * list and its length, which lies in the arena, to *out. Returns false without memory. */
bool srv_parts_list(struct srv_parts *parts, size_t most, size_t bytes, struct obb_arena *arena,
                    obb_effects *out);

/* Appends a record with effects that were listed: the next part. Without memory out->failed is
 * set. */
void srv_parts_write(struct srv_parts *parts, const obb_effects *listed, uint64_t epoch,
                     int dimensions, struct wire_buf *out);

#endif
