#include "tests/peers/cases.h"

#include "tests/support/pairs.h"

#include <math.h>

int peer_classes(void) { return PAIRS_CLASSES; }

const char *peer_class_name(int kind) { return pairs_name((enum pairs_class)kind); }

static void set_box(struct peer_box *out, const obb_solid *solid)
{
    for (int c = 0; c < 3; c++) {
        out->center[c] = obb_component(solid->center, c);
        out->half[c] = obb_component(solid->half_extents, c);
        for (int i = 0; i < 3; i++)
            out->axis[i][c] = obb_component(solid->axis[i], c);
    }
}

static double sum_of(obb_vec3 v) { return v.x + v.y + v.z; }

/* A seed a case, so that any can be made alone. */
static struct pairs_case make(int kind, size_t index)
{
    test_rng rng = {.s = 20261127u + (uint64_t)kind * 1000003u + index * 977u};
    return pairs_make((enum pairs_class)kind, 3, index, &rng);
}

double peer_case_distance(int kind, size_t index)
{
    const struct pairs_case c = make(kind, index);
    return exact_distance(&c.a, &c.b, 3);
}

void peer_case_make(int kind, size_t index, struct peer_case *out)
{
    const struct pairs_case c = make(kind, index);
    const exact_gaps truth = exact_gaps_of(&c.a, &c.b, 3);
    set_box(&out->box[0], &c.solid_a);
    set_box(&out->box[1], &c.solid_b);
    out->ours = obb_sat_overlap(&c.solid_a, &c.solid_b);
    out->our_distance = obb_closest_boxes(&c.solid_a, &c.solid_b).distance;
    out->gap = truth.largest;
    out->extent = truth.extent;
    out->alike = 1.0;
    /* |R| + e adds at most e times all half extents to the radius on an axis, times the length of
     * that axis. */
    const double reach = sum_of(c.a.half_extents) + sum_of(c.b.half_extents);
    double most = 0.0;
    for (int k = 0; k < OBB_AXES; k++) {
        double length = 1.0;
        if (k >= 6) {
            length =
                obb_length(obb_cross(c.solid_a.axis[(k - 6) / 3], c.solid_b.axis[(k - 6) % 3]));
            out->alike = fmin(out->alike, length);
        }
        if (truth.counts[k])
            most = fmax(most, truth.gap[k] * length);
    }
    out->blur = most > 0.0 ? most / reach : 0.0;
}
