#include "core/query/explain.h"

#include "core/versions/version.h"

/* Returns the place of the box among the hits, or SIZE_MAX. */
static size_t place_among(const struct obb_hits *hits, const struct obb_version *box)
{
    for (size_t i = 0; i < hits->count; i++)
        if (hits->list[i].minor == box->id)
            return i;
    return SIZE_MAX;
}

static void explain_box(const struct obb_task *task, const struct obb_explaining *e,
                        const obb_answer *answer, const struct obb_version *box,
                        obb_explanation *out)
{
    out->by = obb_filter_reason(task->filter, box);
    if (out->by == OBB_FILTERED_NOT && box == e->itself)
        out->by = OBB_FILTERED_BY_SELF;
    if (out->by != OBB_FILTERED_NOT) {
        out->outcome = OBB_OUTCOME_FILTERED;
        return;
    }
    const size_t place = place_among(e->hits, box);
    if (place == SIZE_MAX)
        e->judge(e->context, box, out);
    else
        out->outcome = place < answer->hit_count ? OBB_OUTCOME_HIT : OBB_OUTCOME_CUT;
}

void obb_explain(struct obb_task *task, const struct obb_explaining *e, obb_answer *answer)
{
    const obb_query *query = task->query;
    if (!query->has_explain || task->status != OBB_OK)
        return;
    obb_explanation *list = obb_task_keep(task, query->explain_count, sizeof *list);
    if (list == NULL)
        return;
    for (size_t i = 0; i < query->explain_count; i++) {
        const obb_ref *asked = &query->explain[i];
        const struct obb_version *box = obb_task_find(task, asked);
        list[i] = (obb_explanation){.asked = asked, .box = box, .outcome = OBB_OUTCOME_ABSENT};
        if (!obb_task_spend(task, e->steps))
            return;
        if (box != NULL)
            explain_box(task, e, answer, box, &list[i]);
    }
    answer->explain = list;
}
