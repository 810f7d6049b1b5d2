/* Interned strings: texts that many versions share (entities and data), each kept once.
 * Internal to core. */
#ifndef OBB_INTERNED_H
#define OBB_INTERNED_H

#include "core/base/hash.h"
#include "core/base/status.h"
#include "core/versions/version.h"

/* Lives in the caller's memory and must not move. Has one writer, and readers as in
 * hash_table.h. */
struct obb_interned_table {
    struct obb_hash_table hash_table;
    obb_hash_key key;
    size_t bytes; /* of all strings, including retired ones */
};

void obb_interned_table_init(struct obb_interned_table *table);

/* Frees every string except the retired ones. */
void obb_interned_table_fini(struct obb_interned_table *table);

/* Adds one reference to the interned string of a text, and makes the string if it is new. *out is
 * the string, owned by the table; NULL for the empty text. OBB_NO_MEMORY adds nothing. The
 * writer's. */
obb_status obb_interned_table_take(struct obb_interned_table *table, obb_str text,
                                   struct obb_interned **out);

/* Adds one reference. NULL is fine. The writer's. */
void obb_interned_ref(struct obb_interned *interned);

/* Drops one reference. NULL is fine. A string without references leaves the table and is pushed to
 * the front of the list *retired, because readers may still see it. The writer's. */
void obb_interned_table_drop(struct obb_interned_table *table, struct obb_interned *interned,
                             struct obb_interned **retired);

/* Frees a retired string once no reader can see it. The writer's. */
void obb_interned_table_free(struct obb_interned_table *table, struct obb_interned *interned);

/* Returns the string with that text, or NULL if no version has it. Any thread. */
const struct obb_interned *obb_interned_table_find(const struct obb_interned_table *table,
                                                   obb_str text);

#endif
