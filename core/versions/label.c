#include "core/versions/label.h"

#include "core/base/alloc.h"

#include <assert.h>
#include <string.h>

void obb_labels_init(struct obb_labels *labels)
{
    obb_hash_table_init(&labels->table);
    labels->key = obb_hash_key_of_place(labels);
    labels->bytes = 0;
}

static struct obb_label *label_of(struct obb_link *link)
{
    return (struct obb_label *)link; /* its first member */
}

void obb_labels_fini(struct obb_labels *labels)
{
    for (struct obb_link *link = obb_hash_table_walk(&labels->table, NULL); link != NULL;) {
        struct obb_link *next = obb_hash_table_walk(&labels->table, link);
        obb_labels_free(labels, label_of(link));
        link = next;
    }
    obb_hash_table_fini(&labels->table);
}

static uint32_t hash_of(const struct obb_labels *labels, obb_str text)
{
    return (uint32_t)obb_hash(labels->key, text.bytes, text.length);
}

static struct obb_label *find(const struct obb_labels *labels, obb_str text, uint32_t hash)
{
    for (struct obb_link *link = obb_hash_table_find(&labels->table, hash); link != NULL;
         link = obb_hash_table_find_next(&labels->table, link))
        if (obb_str_equal(obb_label_text(label_of(link)), text))
            return label_of(link);
    return NULL;
}

obb_status obb_labels_take(struct obb_labels *labels, obb_str text, struct obb_label **out)
{
    if (text.length == 0) {
        *out = NULL;
        return OBB_OK;
    }
    const uint32_t hash = hash_of(labels, text);
    struct obb_label *label = find(labels, text, hash);
    if (label == NULL) {
        if (text.length > UINT32_MAX ||
            obb_hash_table_reserve(&labels->table, labels->table.count + 1) != OBB_OK)
            return OBB_NO_MEMORY;
        label = obb_malloc(1, sizeof *label + text.length);
        if (label == NULL)
            return OBB_NO_MEMORY;
        *label = (struct obb_label){.length = (uint32_t)text.length};
        memcpy(label->bytes, text.bytes, text.length);
        labels->bytes += sizeof *label + text.length;
        obb_hash_table_insert(&labels->table, &label->link, hash);
    }
    label->references++;
    *out = label;
    return OBB_OK;
}

void obb_labels_again(struct obb_label *label)
{
    if (label != NULL)
        label->references++;
}

void obb_labels_drop(struct obb_labels *labels, struct obb_label *label, struct obb_label **retired)
{
    if (label == NULL)
        return;
    assert(label->references > 0);
    if (--label->references > 0)
        return;
    obb_hash_table_remove(&labels->table, &label->link);
    label->retired = *retired;
    *retired = label;
}

void obb_labels_free(struct obb_labels *labels, struct obb_label *label)
{
    labels->bytes -= sizeof *label + label->length;
    obb_free(label);
}

const struct obb_label *obb_labels_find(const struct obb_labels *labels, obb_str text)
{
    return find(labels, text, hash_of(labels, text));
}
