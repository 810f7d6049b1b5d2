#include "core/query/details.h"

#include "core/geometry/clip.h"

obb_details obb_details_of(unsigned want, const obb_solid *a, const obb_solid *b)
{
    obb_details details = {0};
    if ((want & OBB_WANT_RELATION) != 0)
        details.relation = obb_sat_relation(a, b);
    if ((want & (OBB_WANT_MTV | OBB_WANT_AXIS)) != 0)
        details.separation = obb_sat_separation(a, b);
    if ((want & OBB_WANT_DISTANCE) != 0)
        details.witness = obb_closest_boxes(a, b);
    if ((want & OBB_WANT_VOLUME) != 0) {
        details.volume = obb_clip_volume(a, b);
        const double together = obb_solid_volume(a) + obb_solid_volume(b) - details.volume;
        details.iou = details.volume <= 0.0       ? 0.0
                      : details.volume < together ? details.volume / together
                                                  : 1.0;
    }
    return details;
}
