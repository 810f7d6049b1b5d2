#include "core/scene/edit.h"

const obb_put *obb_edit_put(const obb_edit *edit, size_t i, obb_put *scratch)
{
    const obb_put *put = obb_edit_put_without_box(edit, i, scratch);
    if (put == scratch)
        edit->put_columns->make_boxes(edit->put_columns->maker, i, 1, &scratch->box);
    return put;
}

const obb_put *obb_edit_put_without_box(const obb_edit *edit, size_t i, obb_put *scratch)
{
    if (edit->puts != NULL)
        return &edit->puts[i];
    *scratch = edit->put_columns->rest;
    obb_put_columns_row(edit->put_columns, i, scratch);
    return scratch;
}

void obb_put_columns_row(const obb_put_columns *columns, size_t i, obb_put *put)
{
    put->target.name = columns->names[i];
    if (columns->frames != NULL)
        put->frame = columns->frames[i];
    obb_attributes *attributes = &put->attributes;
    if (columns->entities != NULL)
        attributes->entity = columns->entities[i];
    if (columns->categories != NULL)
        attributes->category = columns->categories[i];
    if (columns->masks != NULL)
        attributes->mask = columns->masks[i];
    if (columns->groups != NULL)
        attributes->group = columns->groups[i];
    if (columns->ttls != NULL) {
        attributes->has_ttl = columns->ttls[i] >= 0.0;
        attributes->ttl = attributes->has_ttl ? columns->ttls[i] : 0.0;
    }
}
