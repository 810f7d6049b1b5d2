/* Texts that many versions share (entities, data), kept once. Internal to core. */
#ifndef OBB_INTERNED_H
#define OBB_INTERNED_H

#include "core/base/hash.h"
#include "core/base/status.h"
#include "core/versions/version.h"

/* Lives in place and must not move. One writer; readers as in hash_table.h. */
struct obb_interned_table {
    struct obb_hash_table hash_table;
    obb_hash_key key;
    size_t bytes; /* of all strings, those that await their release included */
};

void obb_interned_table_init(struct obb_interned_table *table);
void obb_interned_table_fini(
    struct obb_interned_table *table); /* frees every string but the retired ones */

/* The interned string of a text, with one more reference, owned by the table; NULL for the empty text. OBB_NO_MEMORY. */
obb_status obb_interned_table_take(struct obb_interned_table *table, obb_str text,
                                   struct obb_interned **out);

/* One more and one less reference; NULL is fine. A string without references goes in front of the list *retired: readers may
 * still see it. */
void obb_interned_ref(struct obb_interned *interned);
void obb_interned_table_drop(struct obb_interned_table *table, struct obb_interned *interned,
                             struct obb_interned **retired);
void obb_interned_table_free(struct obb_interned_table *table,
                             struct obb_interned *interned); /* a retired one */

/* NULL: no version has that text. Any thread. */
const struct obb_interned *obb_interned_table_find(const struct obb_interned_table *table,
                                                   obb_str text);

#endif
