// Compares our verdicts and distances with those of FCL, Bullet and ODE, on the pairs of
// tests/support/pairs.h. Exact arithmetic judges every disagreement; each is listed by its cause and
// must have one.

#include "tests/peers/cases.h"

#include <fcl/geometry/shape/box.h>
#include <fcl/math/bv/OBB.h>
#include <fcl/narrowphase/distance.h>

#include <BulletCollision/Gimpact/btBoxCollision.h>

#include <ode/ode.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace
{

fcl::Matrix3d rotation_of(const peer_box &box)
{
    fcl::Matrix3d r;
    for (int i = 0; i < 3; i++)
        for (int c = 0; c < 3; c++)
            r(c, i) = box.axis[i][c];
    return r;
}

fcl::Vector3d vector_of(const double v[3]) { return fcl::Vector3d(v[0], v[1], v[2]); }

// The separating-axis test of FCL's hierarchies; adds 1e-6 to |R|.
bool fcl_overlap(const peer_case &c)
{
    const fcl::OBB<double> a(rotation_of(c.box[0]), vector_of(c.box[0].center),
                             vector_of(c.box[0].half));
    const fcl::OBB<double> b(rotation_of(c.box[1]), vector_of(c.box[1].center),
                             vector_of(c.box[1].half));
    return a.overlap(b);
}

btTransform transform_of(const peer_box &box)
{
    const auto &x = box.axis;
    return btTransform(btMatrix3x3(x[0][0], x[1][0], x[2][0], x[0][1], x[1][1], x[2][1], x[0][2],
                                   x[1][2], x[2][2]),
                       btVector3(box.center[0], box.center[1], box.center[2]));
}

// The separating-axis test of Gimpact, in doubles; adds 1e-6 to |R|.
bool bullet_overlap(const peer_case &c)
{
    BT_BOX_BOX_TRANSFORM_CACHE cache;
    cache.calc_from_homogenic(transform_of(c.box[0]), transform_of(c.box[1]));
    btAABB own[2];
    for (int side = 0; side < 2; side++) {
        const double *h = c.box[side].half;
        own[side].m_min = btVector3(-h[0], -h[1], -h[2]);
        own[side].m_max = btVector3(h[0], h[1], h[2]);
    }
    return own[0].overlapping_trans_cache(own[1], cache, true);
}

// No tolerance at all: on nearly parallel edges rounding decides.
bool ode_overlap(const peer_case &c)
{
    dVector3 p[2], size[2];
    dMatrix3 r[2];
    for (int side = 0; side < 2; side++) {
        const peer_box &box = c.box[side];
        for (int k = 0; k < 3; k++) {
            p[side][k] = box.center[k];
            size[side][k] = 2.0 * box.half[k];
            for (int i = 0; i < 3; i++)
                r[side][4 * k + i] = box.axis[i][k];
            r[side][4 * k + 3] = 0.0;
        }
    }
    return dBoxTouchesBox(p[0], r[0], size[0], p[1], r[1], size[1]) != 0;
}

struct cause {
    const char *sentence;
    bool (*holds)(const peer_case &c, bool theirs);
};

bool at_the_edge(const peer_case &c, bool) { return std::fabs(c.gap) <= 1e-12 * c.extent; }

bool blurred(const peer_case &c, bool theirs)
{
    return theirs && c.gap > 0.0 && c.blur <= 1.001e-6;
}

// Without a tolerance a gap on a product of edges is a few ulp of the extent divided by the length of that product; where
// that is noise altogether, any overlap may be called a gap.
bool by_rounding(const peer_case &c, bool)
{
    return std::fabs(c.gap) * c.alike <= 2e-15 * c.extent;
}

struct peer {
    const char *name;
    bool (*overlap)(const peer_case &c);
    std::vector<cause> causes;
};

const cause edge = {"closer to contact than 1e-12 of the extent", at_the_edge};
const cause blur = {"apart, but adding 1e-6 to |R| makes an overlap of it", blurred};
const cause noise = {"rounding divided by the length of a product of nearly parallel edges",
                     by_rounding};

// Counts disagreements by cause; a case without one is printed.
size_t compare(const peer &peer, size_t cases)
{
    size_t disagreements = 0, unexplained = 0, looked_at = 0, faults = 0;
    std::vector<size_t> by_cause(peer.causes.size(), 0);
    std::vector<size_t> by_class(static_cast<size_t>(peer_classes()), 0);
    for (int kind = 0; kind < peer_classes(); kind++)
        for (size_t i = 0; i < cases; i++) {
            peer_case c;
            peer_case_make(kind, i, &c);
            looked_at++;
            const bool theirs = peer.overlap(c);
            if (!at_the_edge(c, theirs) && (c.ours != 0) != (c.gap <= 0.0))
                faults++;
            if (theirs == (c.ours != 0))
                continue;
            disagreements++;
            by_class[static_cast<size_t>(kind)]++;
            size_t k = 0;
            while (k < peer.causes.size() && !peer.causes[k].holds(c, theirs))
                k++;
            if (k < peer.causes.size()) {
                by_cause[k]++;
            } else if (unexplained++ < 5) {
                std::printf(
                    "  no cause: %s, case %zu: ours %d, theirs %d, gap %.3g of extent %.3g, "
                    "blur %.3g, edges alike %.3g\n",
                    peer_class_name(kind), i, c.ours, theirs, c.gap, c.extent, c.blur, c.alike);
            }
        }
    std::printf("%-24s %zu pairs, %zu disagreements, %zu without a cause, %zu where we are wrong\n",
                peer.name, looked_at, disagreements, unexplained, faults);
    for (size_t k = 0; k < peer.causes.size(); k++)
        std::printf("  %7zu  %s\n", by_cause[k], peer.causes[k].sentence);
    std::string where;
    for (size_t k = 0; k < by_class.size(); k++)
        if (by_class[k] > 0)
            where += std::string(where.empty() ? "" : "; ") + peer_class_name(static_cast<int>(k)) +
                     ": " + std::to_string(by_class[k]);
    if (!where.empty())
        std::printf("  by class: %s\n", where.c_str());
    return unexplained + faults + (looked_at == 0 ? 1 : 0);
}

fcl::Transform3d pose_of(const peer_box &box)
{
    fcl::Transform3d pose = fcl::Transform3d::Identity();
    pose.linear() = rotation_of(box);
    pose.translation() = vector_of(box.center);
    return pose;
}

// FCL's GJK has a tolerance of 1e-6, does not answer for boxes that touch, overlap or have no thickness, and now and
// then ends too early: its distance is too long then, against exact arithmetic as well.
size_t compare_distances(size_t cases)
{
    size_t looked_at = 0, early = 0, unexplained = 0;
    double worst = 0.0, longest = 0.0;
    for (int kind = 0; kind < peer_classes(); kind++)
        for (size_t i = 0; i < cases; i++) {
            peer_case c;
            peer_case_make(kind, i, &c);
            bool thick = true;
            for (const peer_box &box : c.box)
                thick = thick && box.half[0] > 1e-3 && box.half[1] > 1e-3 && box.half[2] > 1e-3;
            if (!thick || c.gap < 1e-3 * c.extent || vector_of(c.box[0].center).norm() > 1e3)
                continue;
            const auto a = std::make_shared<fcl::Boxd>(2.0 * vector_of(c.box[0].half));
            const auto b = std::make_shared<fcl::Boxd>(2.0 * vector_of(c.box[1].half));
            const fcl::CollisionObjectd oa(a, pose_of(c.box[0])), ob(b, pose_of(c.box[1]));
            fcl::DistanceRequestd request;
            request.gjk_solver_type = fcl::GST_LIBCCD;
            fcl::DistanceResultd result;
            const double theirs = fcl::distance(&oa, &ob, request, result);
            const double difference = (theirs - c.our_distance) / c.extent;
            looked_at++;
            if (std::fabs(difference) <= 1e-5) {
                worst = std::max(worst, std::fabs(difference));
                continue;
            }
            const double truth = peer_case_distance(kind, i);
            if (theirs > truth && std::fabs(c.our_distance - truth) <= 1e-12 * c.extent) {
                early++;
                longest = std::max(longest, difference);
            } else if (unexplained++ < 5) {
                std::printf("  no cause: %s, case %zu: ours %.17g, theirs %.17g, truth %.17g\n",
                            peer_class_name(kind), i, c.our_distance, theirs, truth);
            }
        }
    std::printf("%-24s %zu pairs, %zu disagreements, %zu without a cause, else within %.0e of the "
                "extent\n",
                "FCL distance (GJK)", looked_at, early + unexplained, unexplained, worst);
    std::printf("  %7zu  too long by up to %.0e of the extent: GJK ended early\n", early, longest);
    return unexplained + (looked_at == 0 ? 1 : 0);
}

} // namespace

int main()
{
    const char *effort = std::getenv("EFFORT");
    const double times = effort != nullptr && std::atof(effort) > 0.0 ? std::atof(effort) : 1.0;
    const auto cases = static_cast<size_t>(2000.0 * times);
    dInitODE2(0);
    size_t bad = 0;
    bad += compare({"FCL OBB", fcl_overlap, {edge, blur}}, cases);
    bad += compare({"Bullet Gimpact", bullet_overlap, {edge, blur}}, cases);
    bad += compare({"ODE dBoxTouchesBox", ode_overlap, {edge, noise}}, cases);
    bad += compare_distances(cases);
    dCloseODE();
    std::printf("%s\n", bad == 0 ? "every disagreement has its cause" : "FAILED");
    return bad == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
