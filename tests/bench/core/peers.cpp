// Gives the same boxes to Bullet, ODE, FCL, CGAL and Embree as Debian builds them, and to core.
// Measures all pairs that touch, from boxes to pairs of numbers, on one thread; then boxes that
// move, single queries, and tests of one pair. Compares every answer with ours: a pair on which a
// peer differs must be within 1e-5 of touching. Prints the goals and draws the times.
//
// Usage: peers OUT.csv CHART.svg. Environment: QUICK (without the million), COMMIT, YARDSTICK (a program that
// searches all pairs of a file, see yardstick.h).

#include "tests/bench/core/ours.h"
#include "tests/bench/core/report.h"
#include "tests/bench/core/yardstick.h"

#include <embree3/rtcore.h>

#include <BulletCollision/BroadphaseCollision/btDbvt.h>
#include <BulletCollision/Gimpact/btBoxCollision.h>

#include <CGAL/Box_intersection_d/Box_with_info_d.h>
#include <CGAL/box_intersection_d.h>
#include <CGAL/version.h>

#include <fcl/broadphase/broadphase_dynamic_AABB_tree.h>
#include <fcl/config.h>
#include <fcl/geometry/shape/box.h>
#include <fcl/math/bv/OBB.h>
#include <fcl/narrowphase/collision_object.h>

#include <ode/ode.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace
{

// Verdicts may differ below this distance from touching, in scene units: some peers add 1e-6 to |R|; floats lose more far out.
const double unsure = 1e-5,
             unsure_floats = 4 * FLT_EPSILON; // the latter times the largest coordinate
const double slow = 3.0;                      // seconds: what takes longer is not run again

typedef std::pair<uint32_t, uint32_t> id_pair;
typedef std::vector<id_pair> id_pairs;

id_pair our_pair(const ours_pairs &pairs, size_t i)
{
    const ours_ids ids = ours_pair(&pairs, i);
    return id_pair(ids.a, ids.b);
}

bool quick()
{
    const char *text = std::getenv("QUICK");
    return text != nullptr && *text != '\0';
}

// ---- Boxes in each peer's form ------------------------------------------------------------------------------------

struct bounds {
    double low[3], high[3];
};

struct ode_box {
    dVector3 center, sides;
    dMatrix3 rotation;
};

struct bullet_box {
    btTransform turn;
    btAABB own;
};

// Each peer reads an array of its own and no more, as it would by itself.
struct boxes {
    std::vector<ours_box> plain;
    std::vector<bounds> around;
    std::vector<ode_box> ode;
    std::vector<fcl::OBB<double>> fcl;
    std::vector<bullet_box> bullet;

    size_t size() const { return plain.size(); }
    void resize(size_t n)
    {
        plain.resize(n);
        around.resize(n);
        ode.resize(n);
        fcl.resize(n);
        bullet.resize(n);
    }
    void set(size_t n, const ours_box &box)
    {
        plain[n] = box;
        fcl::Matrix3d turn;
        for (int k = 0; k < 3; k++) {
            double reach = 0;
            for (int i = 0; i < 3; i++) {
                reach += std::fabs(box.axis[i][k]) * box.half[i];
                turn(k, i) = box.axis[i][k];
                ode[n].rotation[4 * k + i] = box.axis[i][k];
            }
            ode[n].rotation[4 * k + 3] = 0;
            reach *= 1 + 1e-12;
            around[n].low[k] = box.center[k] - reach;
            around[n].high[k] = box.center[k] + reach;
            ode[n].center[k] = box.center[k];
            ode[n].sides[k] = 2 * box.half[k];
        }
        const double *c = box.center, *h = box.half;
        fcl[n] = fcl::OBB<double>(turn, fcl::Vector3d(c[0], c[1], c[2]),
                                  fcl::Vector3d(h[0], h[1], h[2]));
        btMatrix3x3 columns;
        for (int k = 0; k < 3; k++)
            columns[k].setValue(btScalar(box.axis[0][k]), btScalar(box.axis[1][k]),
                                btScalar(box.axis[2][k]));
        bullet[n].turn =
            btTransform(columns, btVector3(btScalar(c[0]), btScalar(c[1]), btScalar(c[2])));
        const btVector3 half{btScalar(h[0]), btScalar(h[1]), btScalar(h[2])};
        bullet[n].own.m_min = -half;
        bullet[n].own.m_max = half;
    }
};

bool ode_touch(const boxes &x, size_t i, const boxes &y, size_t k)
{
    const ode_box &a = x.ode[i], &b = y.ode[k];
    return dBoxTouchesBox(a.center, a.rotation, a.sides, b.center, b.rotation, b.sides) != 0;
}

bool fcl_touch(const boxes &x, size_t i, const boxes &y, size_t k)
{
    return x.fcl[i].overlap(y.fcl[k]);
}

bool bullet_touch(const boxes &x, size_t i, const boxes &y, size_t k)
{
    const bullet_box &a = x.bullet[i], &b = y.bullet[k];
    BT_BOX_BOX_TRANSFORM_CACHE cache;
    cache.calc_from_homogenic(a.turn, b.turn);
    return a.own.overlapping_trans_cache(b.own, cache, true);
}

boxes boxes_of(const ours_world *world)
{
    boxes all;
    all.resize(ours_world_count(world));
    for (size_t i = 0; i < all.size(); i++) {
        ours_box box;
        ours_world_box(world, i, &box);
        all.set(i, box);
    }
    return all;
}

void note(id_pairs &out, size_t a, size_t b)
{
    const uint32_t x = uint32_t(a) + 1, y = uint32_t(b) + 1;
    out.push_back(x < y ? id_pair(x, y) : id_pair(y, x));
}

// ---- All pairs --------------------------------------------------------------------------------------------------------
// Each returns seconds from boxes to pairs.

// Embree rounds to floats; bounds go outwards.
void embree_bounds(const RTCBoundsFunctionArguments *args)
{
    const bounds &f = static_cast<const boxes *>(args->geometryUserPtr)->around[args->primID];
    RTCBounds *out = args->bounds_o;
    out->lower_x = std::nextafterf(float(f.low[0]), -FLT_MAX);
    out->lower_y = std::nextafterf(float(f.low[1]), -FLT_MAX);
    out->lower_z = std::nextafterf(float(f.low[2]), -FLT_MAX);
    out->upper_x = std::nextafterf(float(f.high[0]), FLT_MAX);
    out->upper_y = std::nextafterf(float(f.high[1]), FLT_MAX);
    out->upper_z = std::nextafterf(float(f.high[2]), FLT_MAX);
}

// The first box of our kind that the ray meets, as obb_ray_cast counts: from within at distance 0.
void embree_intersect(const RTCIntersectFunctionNArguments *args)
{
    if (args->N != 1 || args->valid[0] == 0)
        return;
    const ours_box &f = static_cast<const boxes *>(args->geometryUserPtr)->plain[args->primID];
    RTCRayHit *rayhit = reinterpret_cast<RTCRayHit *>(args->rayhit);
    RTCRay &ray = rayhit->ray;
    const double from[3] = {ray.org_x - f.center[0], ray.org_y - f.center[1],
                            ray.org_z - f.center[2]};
    const double way[3] = {ray.dir_x, ray.dir_y, ray.dir_z};
    double near = ray.tnear, far = ray.tfar;
    for (int i = 0; i < 3; i++) {
        const double *axis = f.axis[i];
        const double o = from[0] * axis[0] + from[1] * axis[1] + from[2] * axis[2];
        const double d = 1 / (way[0] * axis[0] + way[1] * axis[1] + way[2] * axis[2]);
        const double one = (-f.half[i] - o) * d, other = (f.half[i] - o) * d;
        near = std::max(near, std::min(one, other));
        far = std::min(far, std::max(one, other));
    }
    if (near > far)
        return;
    ray.tfar = float(near);
    rayhit->hit.geomID = args->geomID;
    rayhit->hit.primID = args->primID;
}

void embree_error(void *, RTCError code, const char *text)
{
    std::fprintf(stderr, "embree: %d %s\n", int(code), text);
    std::exit(1);
}

RTCDevice device()
{
    static RTCDevice only = nullptr;
    if (only == nullptr) {
        only = rtcNewDevice("threads=1,set_affinity=0");
        rtcSetDeviceErrorFunction(only, embree_error, nullptr);
    }
    return only;
}

struct embree_scene {
    RTCScene scene;
    RTCGeometry geometry;
    embree_scene(const boxes &all, RTCBuildQuality quality, bool dynamic)
    {
        scene = rtcNewScene(device());
        rtcSetSceneBuildQuality(scene, quality == RTC_BUILD_QUALITY_REFIT
                                           ? RTC_BUILD_QUALITY_LOW // a geometry's alone is refitted
                                           : quality);
        rtcSetSceneFlags(scene, dynamic ? RTC_SCENE_FLAG_DYNAMIC : RTC_SCENE_FLAG_NONE);
        geometry = rtcNewGeometry(device(), RTC_GEOMETRY_TYPE_USER);
        rtcSetGeometryBuildQuality(geometry, quality);
        rtcSetGeometryUserPrimitiveCount(geometry, unsigned(all.size()));
        rtcSetGeometryUserData(geometry, const_cast<boxes *>(&all));
        rtcSetGeometryBoundsFunction(geometry, embree_bounds, nullptr);
        rtcSetGeometryIntersectFunction(geometry, embree_intersect);
        rtcCommitGeometry(geometry);
        rtcAttachGeometry(scene, geometry);
        rtcCommitScene(scene);
    }
    embree_scene(const embree_scene &) = delete;
    embree_scene &operator=(const embree_scene &) = delete;
    ~embree_scene()
    {
        rtcReleaseGeometry(geometry);
        rtcReleaseScene(scene);
    }
};

struct embree_collide {
    const boxes *all;
    id_pairs *out;
};

void embree_self(void *context, RTCCollision *list, unsigned count)
{
    const embree_collide &c = *static_cast<embree_collide *>(context);
    for (unsigned i = 0; i < count; i++) {
        const unsigned a = list[i].primID0, b = list[i].primID1;
        if (a < b && ode_touch(*c.all, a, *c.all, b))
            note(*c.out, a, b);
    }
}

double embree_pairs_of(const boxes &all, id_pairs &out, RTCBuildQuality quality)
{
    const double begun = report_clock(1);
    embree_scene scene(all, quality, false);
    embree_collide context = {&all, &out};
    rtcCollide(scene.scene, scene.scene, embree_self, &context);
    return report_clock(1) - begun;
}

double embree_low(const boxes &all, id_pairs &out)
{
    return embree_pairs_of(all, out, RTC_BUILD_QUALITY_LOW);
}

double embree_medium(const boxes &all, id_pairs &out)
{
    return embree_pairs_of(all, out, RTC_BUILD_QUALITY_MEDIUM);
}

btDbvtVolume bullet_volume(const bounds &f)
{
    btVector3 low, high;
    for (int k = 0; k < 3; k++) {
        low[k] = std::nextafterf(float(f.low[k]), -FLT_MAX);
        high[k] = std::nextafterf(float(f.high[k]), FLT_MAX);
    }
    return btDbvtVolume::FromMM(low, high);
}

struct bullet_policy : btDbvt::ICollide {
    const boxes *all;
    id_pairs *out;
    void Process(const btDbvtNode *x, const btDbvtNode *y) override
    {
        const size_t a = size_t(x->dataAsInt), b = size_t(y->dataAsInt);
        if (bullet_touch(*all, a, *all, b))
            note(*out, a, b);
    }
};

void bullet_fill(btDbvt &tree, const boxes &all)
{
    for (size_t i = 0; i < all.size(); i++)
        tree.insert(bullet_volume(all.around[i]), nullptr)->dataAsInt = int(i);
}

// (optimizeTopDown costs four times what it saves.)
double bullet_tree(const boxes &all, id_pairs &out)
{
    const double begun = report_clock(1);
    btDbvt tree;
    bullet_fill(tree, all);
    bullet_policy policy;
    policy.all = &all;
    policy.out = &out;
    tree.collideTT(tree.m_root, tree.m_root, policy);
    return report_clock(1) - begun;
}

struct ode_context {
    const boxes *all;
    id_pairs *out;
};

void ode_near(void *context, dGeomID x, dGeomID y)
{
    const ode_context &c = *static_cast<ode_context *>(context);
    const size_t a = size_t(reinterpret_cast<uintptr_t>(dGeomGetData(x)));
    const size_t b = size_t(reinterpret_cast<uintptr_t>(dGeomGetData(y)));
    if (ode_touch(*c.all, a, *c.all, b))
        note(*c.out, a, b);
}

double ode_pairs_of(const boxes &all, id_pairs &out, dSpaceID space)
{
    std::vector<dGeomID> geoms(all.size());
    for (size_t i = 0; i < all.size(); i++) {
        const ode_box &f = all.ode[i];
        geoms[i] = dCreateBox(nullptr, f.sides[0], f.sides[1], f.sides[2]);
        dGeomSetPosition(geoms[i], f.center[0], f.center[1], f.center[2]);
        dGeomSetRotation(geoms[i], f.rotation);
        dGeomSetData(geoms[i], reinterpret_cast<void *>(uintptr_t(i)));
    }
    const double begun = report_clock(1);
    for (dGeomID geom : geoms)
        dSpaceAdd(space, geom);
    ode_context context = {&all, &out};
    dSpaceCollide(space, &context, ode_near);
    const double took = report_clock(1) - begun;
    dSpaceDestroy(space); // and its geoms
    return took;
}

// (Its hash and quadtree spaces take several times as long.)
double ode_sweep(const boxes &all, id_pairs &out)
{
    return ode_pairs_of(all, out, dSweepAndPruneSpaceCreate(nullptr, dSAP_AXES_XYZ));
}

struct fcl_objects {
    std::vector<std::unique_ptr<fcl::CollisionObject<double>>> own;
    std::vector<fcl::CollisionObject<double> *> list;
    explicit fcl_objects(const boxes &all)
    {
        for (size_t i = 0; i < all.size(); i++) {
            const double *half = all.plain[i].half;
            const auto shape = std::make_shared<fcl::Boxd>(2 * half[0], 2 * half[1], 2 * half[2]);
            own.emplace_back(
                new fcl::CollisionObject<double>(shape, all.fcl[i].axis, all.fcl[i].To));
            own.back()->setUserData(reinterpret_cast<void *>(uintptr_t(i)));
            list.push_back(own.back().get());
        }
    }
};

size_t number_of(const fcl::CollisionObject<double> *object)
{
    return size_t(reinterpret_cast<uintptr_t>(object->getUserData()));
}

bool fcl_near(fcl::CollisionObject<double> *x, fcl::CollisionObject<double> *y, void *context)
{
    const ode_context &c = *static_cast<ode_context *>(context);
    const size_t a = number_of(x), b = number_of(y);
    if (fcl_touch(*c.all, a, *c.all, b))
        note(*c.out, a, b);
    return false;
}

double fcl_tree(const boxes &all, id_pairs &out)
{
    fcl_objects objects(all);
    const double begun = report_clock(1);
    fcl::DynamicAABBTreeCollisionManager<double> manager;
    manager.registerObjects(objects.list);
    manager.setup();
    ode_context context = {&all, &out};
    manager.collide(&context, fcl_near);
    return report_clock(1) - begun;
}

double cgal_boxes(const boxes &all, id_pairs &out)
{
    typedef CGAL::Box_intersection_d::Box_with_info_d<double, 3, uint32_t> cgal_box;
    std::vector<cgal_box> list;
    list.reserve(all.size());
    const double begun = report_clock(1);
    for (size_t i = 0; i < all.size(); i++) {
        const double *l = all.around[i].low, *h = all.around[i].high;
        list.emplace_back(CGAL::Bbox_3(l[0], l[1], l[2], h[0], h[1], h[2]), uint32_t(i));
    }
    CGAL::box_self_intersection_d(list.begin(), list.end(),
                                  [&](const cgal_box &a, const cgal_box &b) {
                                      if (ode_touch(all, a.info(), all, b.info()))
                                          note(out, a.info(), b.info());
                                  });
    return report_clock(1) - begun;
}

struct way {
    const char *peer, *name;
    double (*pairs)(const boxes &all, id_pairs &out);
    size_t most; // boxes; more would take minutes
    bool floats; // its test of a pair computes in them
};

const way ways[] = {{"Embree", "Embree low", embree_low, 1000000, false},
                    {"Embree", "Embree medium", embree_medium, 1000000, false},
                    {"Bullet", "Bullet", bullet_tree, 100000, true},
                    {"FCL", "FCL", fcl_tree, 1000000, false},
                    {"CGAL", "CGAL", cgal_boxes, 1000000, false},
                    {"ODE", "ODE", ode_sweep, 100000, false}};

// ---- Judging ------------------------------------------------------------------------------------------------------------

size_t compared, differences;

// Holds a peer's pairs against ours; says how many differ. One without a cause is a failure.
void judge(const char *who, bool floats, const ours_world *world, const boxes &all,
           const ours_pairs &ours, id_pairs &theirs)
{
    std::sort(theirs.begin(), theirs.end());
    size_t differ = 0,
           unexplained =
               theirs.size() - size_t(std::unique(theirs.begin(), theirs.end()) - theirs.begin());
    size_t i = 0, k = 0;
    while (i < ours.count || k < theirs.size()) {
        const id_pair mine = i < ours.count ? our_pair(ours, i) : id_pair(UINT32_MAX, UINT32_MAX);
        const id_pair other = k < theirs.size() ? theirs[k] : id_pair(UINT32_MAX, UINT32_MAX);
        i += mine <= other;
        k += other <= mine;
        if (mine == other)
            continue;
        const id_pair odd = std::min(mine, other);
        differ++;
        double far = 0;
        for (int k = 0; floats && k < 3; k++)
            far = std::max(far, std::fabs(all.plain[odd.first - 1].center[k]));
        unexplained +=
            std::fabs(ours_gap(world, odd.first, odd.second)) > unsure + unsure_floats * far;
    }
    compared += ours.count;
    differences += differ;
    if (differ > 0)
        std::printf("  %s: %zu pairs, %zu differ, %zu of them by more than rounding\n", who,
                    theirs.size(), differ, unexplained);
    if (unexplained > 0)
        report_failure(who);
}

// ---- Goals ------------------------------------------------------------------------------------------------------------------

struct goal {
    std::string what;
    double must, aim, measured;
    bool at_most;
    const char *unit;
};
std::vector<goal> goals;

void add_goal(const std::string &what, double must, double aim, double measured,
              bool at_most = false, const char *unit = "x")
{
    goals.push_back({what, must, aim, measured, at_most, unit});
}

void print_goals()
{
    std::printf("\n%-72s %8s %8s %9s\n", "goal", "must", "aim", "measured");
    for (const goal &g : goals) {
        const bool must = g.at_most ? g.measured <= g.must : g.measured >= g.must;
        const bool aim = g.at_most ? g.measured <= g.aim : g.measured >= g.aim;
        std::printf("%-72s %7g%s %7g%s %8.2f%s  %s\n", g.what.c_str(), g.must, g.unit, g.aim,
                    g.unit, g.measured, g.unit,
                    aim    ? "aim reached"
                    : must ? "must reached"
                           : "NOT reached");
    }
}

// ---- All pairs of every scene -------------------------------------------------------------------------------------------

report_runs runs;

struct curve {
    std::vector<double> n, ms;
};
std::map<std::string, curve> curves; // of the uniform scenes

bool again() { return report_goes_on(&runs) && (runs.count == 0 || report_least(&runs) < slow); }

double best(double a, double b) { return a > 0 && a < b ? a : b; }

double run_ours(ours_world *world, const char *scene, const char *kernel, ours_pairs &found)
{
    report_begin(&runs);
    while (again()) {
        const double took = ours_all_pairs(world, kernel, 1, true, &found);
        report_add(&runs, took, ours_pairs_hash(&found));
    }
    const double least = report_least(&runs);
    report_row(scene, ours_world_count(world), kernel, 1, &runs, 1, "ms");
    return least;
}

void all_pairs(const ours_scene &scene)
{
    const size_t n = scene.count;
    const std::string name = std::string("all pairs ") + scene.name;
    ours_world *world = ours_world_make(&scene, 0, 0);
    const boxes all = boxes_of(world);
    ours_pairs found;
    std::map<std::string, double> ours, peers;
    for (const char *k = ours_next_kernel(nullptr); k != nullptr; k = ours_next_kernel(k))
        ours[k] = run_ours(world, name.c_str(), k, found);
    for (const way &w : ways) {
        if (n > w.most)
            continue;
        report_begin(&runs);
        id_pairs theirs;
        while (again()) {
            theirs.clear();
            const double took = w.pairs(all, theirs);
            report_add(&runs, took, theirs.size());
        }
        const double least = report_least(&runs);
        report_figure(name.c_str(), n, w.name, least * 1e3, "ms");
        judge(w.name, w.floats, world, all, found, theirs);
        peers[w.peer] = best(peers[w.peer], least);
    }
    std::string leader = "Embree";
    for (const auto &p : peers)
        if (p.second < peers[leader])
            leader = p.first;
    if (std::strcmp(scene.name, "uniform") == 0) {
        curves["obbd"].n.push_back(double(n));
        curves["obbd"].ms.push_back(ours[ours_widest_kernel()] * 1e3);
        for (const auto &p : peers) {
            curves[p.first].n.push_back(double(n));
            curves[p.first].ms.push_back(p.second * 1e3);
        }
    }
    const std::string of = std::string(scene.name) + " of " + std::to_string(n);
    if (std::strcmp(scene.name, "uniform") == 0 && n >= 10000) {
        for (const auto &k : ours)
            if (k.first != "scalar")
                add_goal("all pairs, " + of + ", " + k.first + ", against Embree",
                         k.first == "avx512" ? 10 : 7, k.first == "avx512" ? 14 : 9,
                         peers["Embree"] / k.second);
    } else if (n == 100000) {
        static const struct {
            const char *name;
            double must, aim;
        } others[] = {{"clustered", 10, 13}, {"sizes", 6, 9}, {"city", 20, 30}, {"sticks", 13, 17}};
        for (const auto &o : others)
            if (std::strcmp(o.name, scene.name) == 0)
                add_goal("all pairs, " + of + ", against the best (" + leader + ")", o.must, o.aim,
                         peers[leader] / ours[ours_widest_kernel()]);
    }
    ours_world_free(world);
}

// ---- Beside the yardstick ---------------------------------------------------------------------------------------------------

// The yardstick and core take turns, so that both see the same machine: in each round both run TURNS times.
enum { ROUNDS = 3, TURNS = 9 };

// All pairs with the index there, counted, and from nothing, as multiples of what the search alone takes.
void beside_yardstick(const ours_scene &scene)
{
    const size_t n = scene.count;
    ours_world *world = ours_world_make(&scene, 0, 0);
    double search = 0, listed = 0, counted = 0, nothing = 0;
    for (int turn = 0; turn < ROUNDS * TURNS; turn++) {
        if (turn % TURNS == 0)
            search = best(search, yardstick_run(world, TURNS));
        ours_pairs found;
        size_t count;
        nothing = best(nothing, ours_all_pairs(world, nullptr, 1, true, &found));
        listed = best(listed, found.join);
        counted = best(counted, ours_count_pairs(world, &count));
        if (count != found.count)
            report_failure("a count of pairs");
    }
    const std::string what = std::string("beside the yardstick: ") + scene.name;
    report_figure(what.c_str(), n, "yardstick", search * 1e3, "ms");
    report_figure(what.c_str(), n, "listed", listed * 1e3, "ms");
    report_figure(what.c_str(), n, "counted", counted * 1e3, "ms");
    report_figure(what.c_str(), n, "from nothing", nothing * 1e3, "ms");
    const bool million = n == 1000000;
    const std::string of = std::string(scene.name) + " of " + std::to_string(n);
    add_goal("all pairs, " + of + ", index there, against the yardstick", 1, million ? 0.7 : 0.6,
             listed / search, true);
    add_goal("counted, " + of + ", index there, against the yardstick", 0.8, 0.5, counted / search,
             true);
    add_goal("from nothing, " + of + ", against the yardstick", million ? 1.5 : 1.25,
             million ? 1.2 : 1, nothing / search, true);
    ours_world_free(world);
}

// ---- A tenth moves ----------------------------------------------------------------------------------------------------------

struct cache_context {
    const boxes *all, *moved;
    const uint32_t *numbers; // of the moved
    const std::vector<char> *is_moved;
    id_pairs *out;
};

void embree_moved(void *context, RTCCollision *list, unsigned count)
{
    const cache_context &c = *static_cast<cache_context *>(context);
    for (unsigned i = 0; i < count; i++) {
        const size_t a = c.numbers[list[i].primID0], b = list[i].primID1;
        if (a == b || ((*c.is_moved)[b] && a > b))
            continue;
        if (ode_touch(*c.all, a, *c.all, b))
            note(*c.out, a, b);
    }
}

// Embree with a list of pairs: those of moved boxes leave it and are found again; one step.
double embree_cached(embree_scene &whole, const boxes &all, const boxes &moved,
                     const uint32_t *numbers, id_pairs &pairs)
{
    const double begun = report_clock(1);
    rtcCommitGeometry(whole.geometry);
    rtcCommitScene(whole.scene);
    std::vector<char> is_moved(all.size(), 0);
    for (size_t i = 0; i < moved.size(); i++)
        is_moved[numbers[i]] = 1;
    pairs.erase(std::remove_if(pairs.begin(), pairs.end(),
                               [&](const id_pair &p) {
                                   return is_moved[p.first - 1] || is_moved[p.second - 1];
                               }),
                pairs.end());
    embree_scene part(moved, RTC_BUILD_QUALITY_LOW, false);
    cache_context context = {&all, &moved, numbers, &is_moved, &pairs};
    rtcCollide(part.scene, whole.scene, embree_moved, &context);
    return report_clock(1) - begun;
}

// A tenth of a scene moves in each step. Core is fastest in a step after a rebuild, about one in four, so it takes four times as
// many steps as it takes turns elsewhere, and the yardstick as many turns. No peer runs between its steps.
enum { STEPS = 4 * ROUNDS * TURNS };

struct moved_times {
    double mean, least, contacts, commit;
    double yardstick[2]; // between the steps of the pairs, and of the contact set
};

// Commit and all pairs again.
void moving_pairs(const ours_scene &scene, moved_times &times)
{
    ours_world *world = ours_world_make(&scene, STEPS, scene.count / 10);
    ours_pairs found;
    (void)ours_all_pairs(world, nullptr, 1, true, &found);
    for (int step = 0; step < STEPS; step++) {
        const uint32_t *numbers;
        (void)ours_world_move(world, &numbers);
        const double took = ours_pairs_again(world, &found);
        times.mean += took / STEPS; // now and then the index is built anew
        times.least = best(times.least, took);
        if (yardstick_given() && step % TURNS == 0)
            times.yardstick[0] = best(times.yardstick[0], yardstick_run(world, TURNS));
    }
    ours_world_free(world);
}

// Commit and contact set.
void moving_contacts(const ours_scene &scene, moved_times &times)
{
    ours_world *world = ours_world_make(&scene, STEPS, scene.count / 10);
    ours_pairs found;
    (void)ours_all_pairs(world, nullptr, 1, true, &found);
    ours_contacts *contacts = ours_contacts_make(world);
    for (int step = 0; step < STEPS; step++) {
        const uint32_t *numbers;
        (void)ours_world_move(world, &numbers);
        const double mended = ours_mend(world);
        double committed;
        times.contacts = best(times.contacts, mended + ours_contacts_again(contacts, &committed));
        times.commit = best(times.commit, committed);
        if (yardstick_given() && step % TURNS == 0)
            times.yardstick[1] = best(times.yardstick[1], yardstick_run(world, TURNS));
    }
    (void)ours_all_pairs(world, nullptr, 1, true, &found);
    ours_contacts_check(contacts, &found);
    ours_contacts_free(contacts);
    ours_world_free(world);
}

void moving(size_t n)
{
    enum { PEER_STEPS = ROUNDS * TURNS };
    const ours_scene scene = {"uniform", n};
    moved_times times = {};
    moving_pairs(scene, times);
    moving_contacts(scene, times);
    ours_world *world = ours_world_make(&scene, PEER_STEPS, n / 10);
    boxes all = boxes_of(world);
    ours_pairs found;
    (void)ours_all_pairs(world, nullptr, 1, true, &found);
    id_pairs cached[2], full;
    for (size_t i = 0; i < found.count; i++)
        cached[0].push_back(our_pair(found, i));
    cached[1] = cached[0];
    embree_scene low(all, RTC_BUILD_QUALITY_LOW, true), refit(all, RTC_BUILD_QUALITY_REFIT, true);
    double peer_full = 0, peer_cached[2] = {0, 0};
    for (size_t step = 0; step < PEER_STEPS; step++) {
        const uint32_t *numbers;
        const size_t count = ours_world_move(world, &numbers);
        boxes moved;
        moved.resize(count);
        for (size_t i = 0; i < count; i++) {
            ours_box box;
            ours_world_box(world, numbers[i], &box);
            all.set(numbers[i], box);
            moved.set(i, box);
        }
        (void)ours_pairs_again(world, &found);
        full.clear();
        peer_full = best(peer_full, embree_low(all, full));
        peer_cached[0] = best(peer_cached[0], embree_cached(low, all, moved, numbers, cached[0]));
        peer_cached[1] = best(peer_cached[1], embree_cached(refit, all, moved, numbers, cached[1]));
        judge("Embree, moved", false, world, all, found, full);
        for (id_pairs &list : cached)
            judge("Embree with a list of pairs", false, world, all, found, list);
    }
    if (yardstick_given()) {
        add_goal("a tenth moved, against the yardstick anew", 1, 0.5, times.least / times.yardstick[0], true);
        add_goal("a tenth moved, contact set, against the yardstick anew", 0.6, 0.3,
                 times.contacts / times.yardstick[1], true);
    }
    const char *what = "a tenth moved";
    report_figure(what, n, "obbd", times.mean * 1e3, "ms");
    report_figure("a tenth moved: contact set", n, "obbd", times.contacts * 1e3, "ms");
    report_figure("a tenth moved: commit of a scene", n, "obbd", times.commit * 1e3, "ms");
    report_figure(what, n, "Embree low", peer_full * 1e3, "ms");
    report_figure("a tenth moved: list of pairs", n, "Embree low", peer_cached[0] * 1e3, "ms");
    report_figure("a tenth moved: list of pairs", n, "Embree refit", peer_cached[1] * 1e3, "ms");
    add_goal("a tenth moved, against a full recomputation (Embree)", 15, 22, peer_full / times.mean);
    add_goal("a tenth moved, against a list of pairs (Embree)", 6, 12,
             best(peer_cached[0], peer_cached[1]) / times.mean);
    ours_world_free(world);
}

// ---- Single queries ---------------------------------------------------------------------------------------------------------

struct bullet_query : btDbvt::ICollide {
    const boxes *all, *asked;
    size_t which, hits;
    void Process(const btDbvtNode *node) override
    {
        hits += bullet_touch(*all, size_t(node->dataAsInt), *asked, which);
    }
};

struct fcl_query {
    const boxes *all, *asked;
    size_t which, hits;
};

bool fcl_asked(fcl::CollisionObject<double> *x, fcl::CollisionObject<double> *y, void *context)
{
    fcl_query &q = *static_cast<fcl_query *>(context);
    const size_t a = number_of(x), b = number_of(y);
    q.hits += fcl_touch(*q.all, a < q.all->size() ? a : b, *q.asked, q.which);
    return false;
}

void single_queries(size_t n)
{
    enum { COUNT = 10000 };
    const ours_scene scene = {"uniform", n};
    ours_world *world = ours_world_make(&scene, 0, 0);
    const boxes all = boxes_of(world);
    ours_pairs found;
    (void)ours_all_pairs(world, nullptr, 1, true, &found);

    boxes asked;
    asked.resize(COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        ours_box box;
        ours_query_box(world, i, &box);
        asked.set(i, box);
    }
    size_t hits = 0, theirs = 0;
    double ours = 0, bullet = 0, fcl = 0;
    btDbvt tree;
    bullet_fill(tree, all);
    tree.optimizeTopDown();
    fcl_objects objects(all), questions(asked);
    fcl::DynamicAABBTreeCollisionManager<double> manager;
    manager.registerObjects(objects.list);
    manager.setup();
    for (auto &question : questions.own)
        question->setUserData(reinterpret_cast<void *>(uintptr_t(n)));
    for (int round = 0; round < 5; round++) {
        uint64_t hash = 0;
        ours = best(ours, ours_overlaps(world, COUNT, &hash, &hits));
        bullet_query policy;
        policy.all = &all;
        policy.asked = &asked;
        policy.hits = 0;
        double begun = report_clock(1);
        for (policy.which = 0; policy.which < COUNT; policy.which++)
            tree.collideTV(tree.m_root, bullet_volume(asked.around[policy.which]), policy);
        bullet = best(bullet, report_clock(1) - begun);
        theirs = policy.hits;
        fcl_query query = {&all, &asked, 0, 0};
        begun = report_clock(1);
        for (query.which = 0; query.which < COUNT; query.which++)
            manager.collide(questions.list[query.which], &query, fcl_asked);
        fcl = best(fcl, report_clock(1) - begun);
        if (policy.hits > hits + hits / 1000 || query.hits > hits + hits / 1000 ||
            policy.hits + hits / 1000 < hits || query.hits + hits / 1000 < hits)
            report_failure("overlaps of a box: another number of hits");
    }
    const double per = 1e9 / COUNT;
    report_figure("overlap of a box", n, "obbd", ours * per, "ns");
    report_figure("overlap of a box", n, "Bullet", bullet * per, "ns");
    report_figure("overlap of a box", n, "FCL", fcl * per, "ns");
    std::printf("  %zu hits, Bullet %zu\n", hits, theirs);
    add_goal(std::string("one box against 100000, against the best of Debian (") +
                 (bullet < fcl ? "Bullet" : "FCL") + "; the goal names Jolt)",
             3, 5, std::min(bullet, fcl) / ours);

    double embree = 0;
    size_t same = 0;
    ours = 0;
    std::vector<uint32_t> first(COUNT);
    std::vector<ours_ray> rays(COUNT);
    for (size_t i = 0; i < COUNT; i++)
        ours_query_ray(world, i, &rays[i]);
    embree_scene tree_of_rays(all, RTC_BUILD_QUALITY_HIGH, false);
    for (int round = 0; round < TURNS; round++) {
        uint64_t hash = 0;
        ours = best(ours, ours_rays(world, COUNT, &hash, &hits, first.data()));
        RTCIntersectContext context;
        rtcInitIntersectContext(&context);
        same = 0;
        const double begun = report_clock(1);
        for (size_t i = 0; i < COUNT; i++) {
            RTCRayHit ray;
            ray.ray.org_x = float(rays[i].origin[0]);
            ray.ray.org_y = float(rays[i].origin[1]);
            ray.ray.org_z = float(rays[i].origin[2]);
            ray.ray.dir_x = float(rays[i].direction[0]);
            ray.ray.dir_y = float(rays[i].direction[1]);
            ray.ray.dir_z = float(rays[i].direction[2]);
            ray.ray.tnear = 0;
            ray.ray.tfar = FLT_MAX;
            ray.ray.time = 0;
            ray.ray.mask = UINT32_MAX;
            ray.ray.flags = 0;
            ray.hit.geomID = RTC_INVALID_GEOMETRY_ID;
            ray.hit.primID = RTC_INVALID_GEOMETRY_ID;
            ray.hit.instID[0] = RTC_INVALID_GEOMETRY_ID;
            rtcIntersect1(tree_of_rays.scene, &context, &ray);
            same += ray.hit.primID + 1 == first[i]; // none is the largest number, and 0 of ours
        }
        embree = best(embree, report_clock(1) - begun);
    }
    report_figure("closest ray", n, "obbd", ours * per, "ns");
    report_figure("closest ray", n, "Embree", embree * per, "ns");
    std::printf("  %zu of %d rays hit, %zu answers of Embree the same\n", hits, int(COUNT), same);
    // Rays that start in several boxes hit all of them at 0: Embree names any.
    if (same < COUNT * 95 / 100)
        report_failure("closest rays: other answers");
    add_goal("closest ray among 100000, against Embree", 1, 1.5, embree / ours);
    ours_world_free(world);
}

// ---- Tests of one pair ------------------------------------------------------------------------------------------------------

void kernels(const char *what, size_t count)
{
    ours_kernel_pairs *pairs = ours_kernel_pairs_make(count);
    const size_t rounds = count < 100000 ? 50 : 1;
    boxes a, b;
    a.resize(count);
    b.resize(count);
    for (size_t i = 0; i < count; i++) {
        ours_box x, y;
        ours_kernel_pair(pairs, i, &x, &y);
        a.set(i, x);
        b.set(i, y);
    }
    const struct {
        const char *name;
        bool (*touch)(const boxes &x, size_t i, const boxes &y, size_t k);
    } tests[] = {{"ODE", ode_touch}, {"Bullet", bullet_touch}, {"FCL", fcl_touch}};
    size_t hits = 0;
    uint64_t hash = 0;
    (void)ours_kernel_run(pairs, "double", &hash, &hits);
    std::string leader;
    double least = 0;
    for (const auto &test : tests) {
        double took = 0;
        for (int round = 0; round < 10; round++) {
            size_t theirs = 0;
            const double begun = report_clock(1);
            for (size_t r = 0; r < rounds; r++)
                for (size_t i = 0; i < count; i++)
                    theirs += test.touch(a, i, b, i);
            took = best(took, report_clock(1) - begun);
            if (theirs > (hits + count / 1000) * rounds ||
                (theirs + count / 1000 * rounds) < hits * rounds)
                report_failure("tests of a pair: another number of hits");
        }
        report_figure(what, count, test.name, took * 1e9 / double(count * rounds), "ns");
        if (leader.empty() || took < least) {
            leader = test.name;
            least = took;
        }
    }
    static const std::map<std::string, std::pair<double, double>> bars = {
        {"avx512", {8, 10}}, {"avx2", {3.3, 4}}, {"scalar", {0.85, 1}}};
    for (const char *k = ours_next_kernel(nullptr); k != nullptr; k = ours_next_kernel(k)) {
        double took = 0;
        for (int round = 0; round < 10; round++) {
            double sum = 0;
            for (size_t r = 0; r < rounds; r++)
                sum += ours_kernel_run(pairs, k, &hash, &hits);
            took = best(took, sum);
        }
        report_figure(what, count, k, took * 1e9 / double(count * rounds), "ns");
        const auto bar = bars.find(k);
        if (bar != bars.end() && rounds > 1)
            add_goal(std::string("kernel ") + k + ", against the best of Debian (" + leader +
                         "; the goal names Jolt)",
                     bar->second.first, bar->second.second, least / took);
    }
    ours_kernel_pairs_free(pairs);
}

// ---- Two workers, and exactness ----------------------------------------------------------------------------------------------

void ours_alone(size_t n)
{
    const ours_scene scene = {"uniform", n};
    ours_world *world = ours_world_make(&scene, 0, 0);
    ours_pairs found;
    double wall[2] = {0, 0}, exact = 0, floats = 0;
    for (int turn = 0; turn < ROUNDS * TURNS; turn++) {
        for (unsigned workers = 1; workers <= 2; workers++) {
            (void)ours_all_pairs(world, nullptr, workers, true, &found);
            wall[workers - 1] = best(wall[workers - 1], found.wall);
        }
        exact = best(exact, ours_all_pairs(world, nullptr, 1, true, &found));
        if (ours_has_floats())
            floats = best(floats, ours_all_pairs(world, "floats", 1, false, &found));
    }
    add_goal("two workers against one, all pairs of 100000", 1.8, 1.95, wall[0] / wall[1]);
    if (ours_has_floats())
        add_goal("what exactness costs, all pairs of 100000", 15, 5, 100 * (exact / floats - 1),
                 true, "%");
    ours_world_free(world);
}

// ---- The chart ------------------------------------------------------------------------------------------------------------------

void draw(const char *path)
{
    FILE *f = std::fopen(path, "w");
    if (f == nullptr) {
        std::perror(path);
        std::exit(1);
    }
    const double left = 70, right = 590, top = 40, bottom = 380;
    const auto x = [&](double n) { return left + (std::log10(n) - 3) / 3 * (right - left); };
    const auto y = [&](double ms) {
        return bottom - (std::log10(ms) + 2) / 6 * (bottom - top); // 0.01 to 10,000 ms
    };
    std::fprintf(f,
                 "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 700 430\" "
                 "font-family=\"sans-serif\" font-size=\"13\">\n"
                 "<rect width=\"700\" height=\"430\" fill=\"#fff\"/>\n"
                 "<text x=\"%g\" y=\"22\" font-size=\"15\">All pairs of N boxes, from boxes to "
                 "pairs, one thread: milliseconds</text>\n",
                 left);
    static const char *const times[] = {"0.01", "0.1", "1", "10", "100", "1,000", "10,000"};
    for (int i = 0; i <= 6; i++) {
        const double at = y(std::pow(10.0, i - 2));
        std::fprintf(f,
                     "<path d=\"M%g %.1fH%g\" stroke=\"#ddd\"/>"
                     "<text x=\"%g\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
                     left, at, right, left - 8, at + 4, times[i]);
    }
    static const char *const numbers[] = {"1,000", "10,000", "100,000", "1,000,000"};
    for (int i = 0; i <= 3; i++) {
        const double at = x(std::pow(10.0, i + 3));
        std::fprintf(f,
                     "<path d=\"M%.1f %gV%g\" stroke=\"#ddd\"/>"
                     "<text x=\"%.1f\" y=\"%g\" text-anchor=\"middle\">%s</text>\n",
                     at, top, bottom, at, bottom + 20, numbers[i]);
    }
    static const std::map<std::string, const char *> colours = {
        {"obbd", "#d33"},   {"Embree", "#1668b8"}, {"Bullet", "#888"},
        {"FCL", "#2a9d5c"}, {"CGAL", "#8a4fbe"},   {"ODE", "#c78a00"}};
    std::vector<std::pair<double, std::string>> ends; // labels beside the last points, kept apart
    for (const auto &c : curves)
        ends.emplace_back(y(c.second.ms.back()), c.first);
    std::sort(ends.begin(), ends.end());
    std::map<std::string, double> last; // of labels at one N
    for (const auto &end : ends) {
        const curve &c = curves[end.second];
        const char *colour = colours.at(end.second);
        std::fprintf(f, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"%s\" d=\"", colour,
                     end.second == "obbd" ? "3" : "1.6");
        for (size_t i = 0; i < c.n.size(); i++)
            std::fprintf(f, "%c%.1f %.1f", i == 0 ? 'M' : 'L', x(c.n[i]), y(c.ms[i]));
        std::fprintf(f, "\"/>\n");
        for (size_t i = 0; i < c.n.size(); i++)
            std::fprintf(f, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"/>\n", x(c.n[i]),
                         y(c.ms[i]), colour);
        double &taken = last[std::to_string(c.n.back())];
        const double at = taken > 0 ? std::max(end.first, taken + 15) : end.first;
        taken = at;
        std::fprintf(f, "<text x=\"%.1f\" y=\"%.1f\" fill=\"%s\">%s</text>\n", x(c.n.back()) + 10,
                     at + 4, colour, end.second.c_str());
    }
    std::fprintf(f, "</svg>\n");
    std::fclose(f);
}

} // namespace

int main(int argc, char **argv)
{
    if (argc != 3) {
        std::fprintf(stderr, "usage: %s OUT.csv CHART.svg\n", argv[0]);
        return 1;
    }
    const double begun = report_clock(0);
    report_open(argv[1], nullptr, nullptr, false);
    dInitODE2(0);
    dAllocateODEDataForThread(dAllocateMaskAll);
    std::printf("Embree %s, Bullet %d.%02d, FCL %s, CGAL %s, ODE (%s)\n"
                "Jolt, DirectXMath and Box3D are not in Debian: goals stated against Jolt are held "
                "against the best kernel or tree that is.\n",
                RTC_VERSION_STRING, BT_BULLET_VERSION / 100, BT_BULLET_VERSION % 100, FCL_VERSION,
                CGAL_VERSION_STR, dGetConfiguration());
    report_title("tests of a pair");
    kernels("the same pairs", 2048);
    kernels("pairs from memory", 200000);
    report_title("all pairs");
    for (const ours_scene &scene : ours_scenes)
        if (scene.count < 1000000 || !quick())
            all_pairs(scene);
    draw(argv[2]);
    report_title("beside the yardstick");
    for (const ours_scene &scene : ours_scenes)
        if (yardstick_given() && scene.count >= 100000 && (scene.count < 1000000 || !quick()))
            beside_yardstick(scene);
    if (!yardstick_given())
        std::printf("no YARDSTICK is given: its goals are left out\n");
    report_title("a tenth moved");
    moving(100000);
    report_title("single queries");
    single_queries(100000);
    ours_alone(100000);
    print_goals();
    std::printf("\n%zu pairs compared with peers', %zu differ\n", compared, differences);
    const int failed = report_close();
    std::printf("%.0f seconds\n", report_clock(0) - begun);
    return failed;
}
