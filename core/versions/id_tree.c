#include "core/versions/id_tree.h"

#include "core/base/alloc.h"

#include <assert.h>

#define BITS   6
#define DIGITS 11 /* of an id of 64 bits */

static unsigned digit(uint64_t id, unsigned shift) { return (unsigned)(id >> shift) & 63; }

/* Returns whether a root of that shift has a slot for the id. */
static bool covers(unsigned shift, uint64_t id)
{
    return shift + BITS >= 64 || id >> (shift + BITS) == 0;
}

static void *child_at(const struct obb_id_tree_node *node, unsigned i)
{
    return atomic_load_explicit(&node->children[i], memory_order_acquire);
}

static uint64_t used_of(const struct obb_id_tree_node *node)
{
    return atomic_load_explicit(&node->used, memory_order_acquire);
}

static void put_child(struct obb_id_tree_node *node, unsigned i, void *child)
{
    atomic_store_explicit(&node->children[i], child, memory_order_release);
    atomic_store_explicit(&node->used, used_of(node) | (uint64_t)1 << i, memory_order_release);
}

static void drop_child(struct obb_id_tree_node *node, unsigned i)
{
    atomic_store_explicit(&node->used, used_of(node) & ~((uint64_t)1 << i), memory_order_release);
    atomic_store_explicit(&node->children[i], NULL, memory_order_release);
}

static struct obb_id_tree_node *root_of(const struct obb_id_tree *tree)
{
    return atomic_load_explicit(&tree->root, memory_order_acquire);
}

static void free_below(struct obb_id_tree *tree, struct obb_id_tree_node *node)
{
    for (unsigned i = 0; i < 64 && node->shift > 0; i++)
        if (child_at(node, i) != NULL)
            free_below(tree, child_at(node, i));
    obb_id_tree_node_free(tree, node);
}

void obb_id_tree_fini(struct obb_id_tree *tree)
{
    if (root_of(tree) != NULL)
        free_below(tree, root_of(tree));
    atomic_store_explicit(&tree->root, NULL, memory_order_relaxed);
    tree->last = NULL;
}

void obb_id_tree_node_free(struct obb_id_tree *tree, struct obb_id_tree_node *node)
{
    tree->nodes--;
    obb_free(node);
}

/* Allocates a list of `count` zeroed nodes, linked through `retired`. Returns false, and no node,
 * if there is no memory. */
static bool take_nodes(struct obb_id_tree *tree, size_t count, struct obb_id_tree_node **out_list)
{
    struct obb_id_tree_node *list = NULL;
    for (size_t i = 0; i < count; i++) {
        struct obb_id_tree_node *node = obb_calloc(1, sizeof *node);
        if (node == NULL) {
            while (list != NULL) {
                struct obb_id_tree_node *next = list->retired;
                obb_id_tree_node_free(tree, list);
                list = next;
            }
            return false;
        }
        tree->nodes++;
        node->retired = list;
        list = node;
    }
    *out_list = list;
    return true;
}

/* Takes the first node of the list and gives it its only child. */
static struct obb_id_tree_node *parent_of(struct obb_id_tree_node **list, unsigned shift,
                                          unsigned i, void *child)
{
    struct obb_id_tree_node *node = *list;
    assert(node != NULL);
    *list = node->retired;
    node->retired = NULL;
    node->shift = shift;
    put_child(node, i, child);
    return node;
}

obb_status obb_id_tree_insert(struct obb_id_tree *tree, struct obb_record *record)
{
    const uint64_t id = record->id;
    if (tree->last != NULL && tree->last_id >> BITS == id >> BITS) {
        put_child(tree->last, digit(id, 0), record);
        return OBB_OK;
    }
    struct obb_id_tree_node *root = root_of(tree);
    unsigned top = root == NULL ? 0 : root->shift;
    while (!covers(top, id))
        top += BITS;

    /* Nodes to add: `above` the root until it covers the id, and `below` the lowest node that is
     * there on the way down to the id. */
    struct obb_id_tree_node *lowest = NULL;
    size_t above = 0, below = top / BITS;
    if (root == NULL) {
        below++;
    } else if (top > root->shift) {
        above = (top - root->shift) / BITS;
    } else {
        lowest = root;
        while (lowest->shift > 0 && child_at(lowest, digit(id, lowest->shift)) != NULL)
            lowest = child_at(lowest, digit(id, lowest->shift));
        below = lowest->shift / BITS;
    }
    struct obb_id_tree_node *fresh = NULL;
    if (!take_nodes(tree, above + below, &fresh))
        return OBB_NO_MEMORY;

    void *child = record;
    unsigned shift = 0;
    tree->last = lowest != NULL && lowest->shift == 0 ? lowest : NULL;
    tree->last_id = id;
    for (size_t i = 0; i < below; i++, shift += BITS) {
        child = parent_of(&fresh, shift, digit(id, shift), child);
        if (shift == 0)
            tree->last = child;
    }
    if (lowest != NULL) {
        put_child(lowest, digit(id, shift), child);
        return OBB_OK;
    }
    for (size_t i = 0; i < above; i++)
        root = parent_of(&fresh, root->shift + BITS, 0, root);
    if (root == NULL)
        root = child;
    else
        put_child(root, digit(id, top), child);
    atomic_store_explicit(&tree->root, root, memory_order_release);
    return OBB_OK;
}

void obb_id_tree_remove(struct obb_id_tree *tree, const struct obb_record *record,
                        struct obb_id_tree_node **retired)
{
    struct obb_id_tree_node *way[DIGITS];
    size_t depth = 0;
    tree->last = NULL;
    for (struct obb_id_tree_node *node = root_of(tree);;
         node = child_at(node, digit(record->id, node->shift))) {
        way[depth++] = node;
        if (node->shift == 0)
            break;
    }
    while (depth > 0) {
        struct obb_id_tree_node *node = way[--depth];
        drop_child(node, digit(record->id, node->shift));
        if (used_of(node) != 0)
            return;
        node->retired = *retired;
        *retired = node;
    }
    atomic_store_explicit(&tree->root, NULL, memory_order_release);
}

struct obb_record *obb_id_tree_find(const struct obb_id_tree *tree, uint64_t id)
{
    const struct obb_id_tree_node *node = root_of(tree);
    if (node == NULL || !covers(node->shift, id))
        return NULL;
    while (node != NULL && node->shift > 0)
        node = child_at(node, digit(id, node->shift));
    return node == NULL ? NULL : child_at(node, digit(id, 0));
}

static struct obb_record *seek(const struct obb_id_tree_node *node, uint64_t from)
{
    const unsigned first = digit(from, node->shift);
    for (uint64_t left = used_of(node) & ~(uint64_t)0 << first; left != 0; left &= left - 1) {
        const unsigned i = (unsigned)__builtin_ctzll(left);
        void *child = child_at(node, i);
        if (child == NULL) /* the writer has just dropped it */
            continue;
        struct obb_record *record = node->shift == 0 ? child : seek(child, i == first ? from : 0);
        if (record != NULL)
            return record;
    }
    return NULL;
}

struct obb_record *obb_id_tree_seek(const struct obb_id_tree *tree, uint64_t from)
{
    const struct obb_id_tree_node *root = root_of(tree);
    return root == NULL || !covers(root->shift, from) ? NULL : seek(root, from);
}

static bool node_valid(const struct obb_id_tree_node *node, uint64_t prefix, size_t *count)
{
    for (unsigned i = 0; i < 64; i++) {
        const void *child = child_at(node, i);
        if ((child != NULL) != ((used_of(node) >> i & 1) != 0))
            return false;
        const uint64_t id = prefix | (uint64_t)i << node->shift;
        if (child == NULL)
            continue;
        if (node->shift == 0) {
            const struct obb_record *record = child;
            (*count)++;
            if (record->id != id)
                return false;
        } else {
            const struct obb_id_tree_node *below = child;
            if (below->shift + BITS != node->shift || !node_valid(below, id, count))
                return false;
        }
    }
    return used_of(node) != 0;
}

bool obb_id_tree_validate(const struct obb_id_tree *tree, size_t *out_count)
{
    *out_count = 0;
    return root_of(tree) == NULL || node_valid(root_of(tree), 0, out_count);
}
