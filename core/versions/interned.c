#include "core/versions/interned.h"

#include "core/base/alloc.h"

#include <assert.h>
#include <string.h>

void obb_interned_table_init(struct obb_interned_table *table)
{
    obb_hash_table_init(&table->hash_table);
    table->key = obb_hash_key_of_place(table);
    table->bytes = 0;
}

static struct obb_interned *interned_of(struct obb_link *link)
{
    return (struct obb_interned *)link; /* the link is the first member */
}

void obb_interned_table_fini(struct obb_interned_table *table)
{
    for (struct obb_link *link = obb_hash_table_walk(&table->hash_table, NULL); link != NULL;) {
        struct obb_link *next = obb_hash_table_walk(&table->hash_table, link);
        obb_interned_table_free(table, interned_of(link));
        link = next;
    }
    obb_hash_table_fini(&table->hash_table);
}

static uint32_t hash_of(const struct obb_interned_table *table, obb_str text)
{
    return (uint32_t)obb_hash(table->key, text.bytes, text.length);
}

static struct obb_interned *find(const struct obb_interned_table *table, obb_str text,
                                 uint32_t hash)
{
    for (struct obb_link *link = obb_hash_table_find(&table->hash_table, hash); link != NULL;
         link = obb_hash_table_find_next(&table->hash_table, link))
        if (obb_str_equal(obb_interned_text(interned_of(link)), text))
            return interned_of(link);
    return NULL;
}

obb_status obb_interned_table_take(struct obb_interned_table *table, obb_str text,
                                   struct obb_interned **out)
{
    if (text.length == 0) {
        *out = NULL;
        return OBB_OK;
    }
    const uint32_t hash = hash_of(table, text);
    struct obb_interned *interned = find(table, text, hash);
    if (interned == NULL) {
        if (text.length > UINT32_MAX ||
            obb_hash_table_reserve(&table->hash_table, table->hash_table.count + 1) != OBB_OK)
            return OBB_NO_MEMORY;
        interned = obb_malloc(1, sizeof *interned + text.length);
        if (interned == NULL)
            return OBB_NO_MEMORY;
        *interned = (struct obb_interned){.length = (uint32_t)text.length};
        memcpy(interned->bytes, text.bytes, text.length);
        table->bytes += obb_heap_bytes(sizeof *interned + text.length);
        obb_hash_table_insert(&table->hash_table, &interned->link, hash);
    }
    interned->references++;
    *out = interned;
    return OBB_OK;
}

void obb_interned_ref(struct obb_interned *interned)
{
    if (interned != NULL)
        interned->references++;
}

void obb_interned_table_drop(struct obb_interned_table *table, struct obb_interned *interned,
                             struct obb_interned **retired)
{
    if (interned == NULL)
        return;
    assert(interned->references > 0);
    if (--interned->references > 0)
        return;
    obb_hash_table_remove(&table->hash_table, &interned->link);
    interned->retired = *retired;
    *retired = interned;
}

void obb_interned_table_free(struct obb_interned_table *table, struct obb_interned *interned)
{
    table->bytes -= obb_heap_bytes(sizeof *interned + interned->length);
    obb_free(interned);
}

const struct obb_interned *obb_interned_table_find(const struct obb_interned_table *table,
                                                   obb_str text)
{
    return find(table, text, hash_of(table, text));
}
