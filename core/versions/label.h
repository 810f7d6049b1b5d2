/* Texts that many versions share (entities, data), kept once. Internal to core. */
#ifndef OBB_LABEL_H
#define OBB_LABEL_H

#include "core/base/hash.h"
#include "core/base/status.h"
#include "core/versions/version.h"

/* Lives in place and must not move. One writer; readers as in hash_table.h. */
struct obb_labels {
    struct obb_hash_table table;
    obb_hash_key key;
    size_t bytes; /* of all labels, those that await their release included */
};

void obb_labels_init(struct obb_labels *labels);
void obb_labels_fini(struct obb_labels *labels); /* frees every label but the retired ones */

/* The label of a text, with one more reference, owned by the table; NULL for the empty text. OBB_NO_MEMORY. */
obb_status obb_labels_take(struct obb_labels *labels, obb_str text, struct obb_label **out);

/* One more and one less reference; NULL is fine. A label without references goes in front of the list *retired: readers may
 * still see it. */
void obb_labels_again(struct obb_label *label);
void obb_labels_drop(struct obb_labels *labels, struct obb_label *label,
                     struct obb_label **retired);
void obb_labels_free(struct obb_labels *labels, struct obb_label *label); /* a retired one */

/* NULL: no version has that text. Any thread. */
const struct obb_label *obb_labels_find(const struct obb_labels *labels, obb_str text);

#endif
