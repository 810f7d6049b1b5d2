#include "server/events/changes.h"

#include <stdlib.h>

static int by_id(const void *a, const void *b)
{
    const struct obb_version *const *x = a, *const *y = b;
    return obb_view_id(*x) < obb_view_id(*y) ? -1 : obb_view_id(*x) > obb_view_id(*y);
}

/* Returns a sorted copy in the arena, or NULL if there is no memory. */
static const struct obb_version **sorted(const struct obb_version *const *boxes, size_t count,
                                         struct obb_arena *arena)
{
    const struct obb_version **list =
        (const struct obb_version **)obb_arena_alloc(arena, count, sizeof *list);
    if (list == NULL)
        return NULL;
    bool ordered = true; /* mostly: clients name boxes in the order in which they made them */
    for (size_t i = 0; i < count; i++) {
        list[i] = boxes[i];
        ordered = ordered && (i == 0 || by_id(&list[i - 1], &list[i]) < 0);
    }
    if (!ordered)
        qsort((void *)list, count, sizeof *list, by_id);
    return list;
}

/* Pairs the versions that the commit ended with those that it made. Returns false if there is no
 * memory. */
static bool list_boxes(struct obb_arena *arena, srv_changes *out)
{
    const obb_committed *c = &out->committed;
    const struct obb_version **ended = sorted(c->ended, c->ended_count, arena);
    const struct obb_version **made = sorted(c->made, c->made_count, arena);
    srv_box_change *list = obb_arena_alloc(arena, c->ended_count + c->made_count, sizeof *list);
    if (ended == NULL || made == NULL || list == NULL)
        return false;
    size_t count = 0;
    for (size_t i = 0, j = 0; i < c->ended_count || j < c->made_count; count++) {
        const int order = i == c->ended_count  ? 1
                          : j == c->made_count ? -1
                                               : by_id(&ended[i], &made[j]);
        list[count] = (srv_box_change){.before = order <= 0 ? ended[i] : NULL,
                                       .after = order >= 0 ? made[j] : NULL};
        list[count].expired =
            list[count].after == NULL && obb_committed_expired(c, obb_view_id(list[count].before));
        i += order <= 0;
        j += order >= 0;
    }
    out->boxes = list;
    out->box_count = count;
    return true;
}

obb_status srv_changes_gather(const struct obb_view *before, const struct obb_view *after,
                              const srv_wanted *wanted, struct obb_contacts **contacts,
                              const atomic_bool *cancel, struct obb_arena *arena, srv_changes *out,
                              unsigned *out_lost)
{
    *out = (srv_changes){.after = after};
    *out_lost = 0;
    const bool read = obb_committed_read(before, after, arena, &out->committed) == OBB_OK;
    if (!read)
        *out_lost = WIRE_TOPICS;
    obb_status status = OBB_OK;
    if (*contacts != NULL)
        status =
            read ? obb_contacts_advance(*contacts, before, after, &out->committed, wanted->stayed,
                                        cancel, arena, &out->contacts, &out->contact_count)
                 : OBB_NO_MEMORY;
    if (status != OBB_OK) {
        obb_contacts_destroy(*contacts);
        *contacts = NULL;
        *out_lost |= WIRE_TOPIC_COLLISIONS;
    }
    if (status == OBB_CANCELLED)
        return status;
    if (read && (wanted->topics & WIRE_TOPIC_BOXES) != 0 && !list_boxes(arena, out))
        *out_lost |= WIRE_TOPIC_BOXES;
    return OBB_OK;
}
