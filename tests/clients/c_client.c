/* c_client.c URL SOCKET GUARDED TOKEN HTTPS CA - tests of the C client against daemons at these
 * addresses: on loopback, on a unix socket, with a token file, and with a certificate. With ONLY in
 * the environment it runs the tests whose names contain that word. */
#include <arpa/inet.h>
#include <math.h>
#include <netinet/in.h>
#include <obbd.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static const char *url, *socket_url, *guarded, *token, *https, *ca_file;
static jmp_buf failed;

/* Ends the test if `is` does not hold. */
#define CHECK(is)                                                         \
    do {                                                                  \
        if (!(is)) {                                                      \
            (void)printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #is); \
            longjmp(failed, 1);                                           \
        }                                                                 \
    } while (0)

/* ---- Allocations that fail: the linker lets these three stand before those of the library ---- */

static long allocations_left = -1; /* below 0: none fails */
static bool allocation_failed;
static long allocations;

static bool allocation_fails(void)
{
    allocations++;
    if (allocations_left < 0 || allocations_left-- > 0)
        return false;
    allocations_left = 0; /* all later ones, too */
    return allocation_failed = true;
}

/* These names are the linker's (--wrap=malloc).
 * NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming) */
void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *block, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *block, size_t size);

void *__wrap_malloc(size_t size) { return allocation_fails() ? NULL : __real_malloc(size); }
void *__wrap_calloc(size_t n, size_t size)
{
    return allocation_fails() ? NULL : __real_calloc(n, size);
}
void *__wrap_realloc(void *block, size_t size)
{
    return allocation_fails() ? NULL : __real_realloc(block, size);
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming) */

/* ---- Scenes of the tests --------------------------------------------------------------------- */

static obbd *o;
static char scene_name[64], scene_path[100];
static int scenes;

/* A builder for a scene of its own. */
static obbd_tick *fresh(void)
{
    (void)snprintf(scene_name, sizeof scene_name, "c %d %d/\xc3\xa4", (int)getpid(), ++scenes);
    (void)snprintf(scene_path, sizeof scene_path, "/v1/scenes/c%%20%d%%20%d%%2F%%C3%%A4",
                   (int)getpid(), scenes);
    return obbd_tick_new(o, scene_name);
}

static obbd_box cube(double x) { return (obbd_box){.center = {x, 0, 0}, .half = {1, 1, 1}}; }

static void put_cube(obbd_tick *t, const char *name, double x)
{
    const obbd_box box = cube(x);
    obbd_tick_put(t, name, &box);
}

/* Commits what must not fail. */
static const obbd_answer *committed(obbd_tick *t)
{
    const obbd_answer *a = obbd_commit(t);
    if (a == NULL)
        (void)printf("%s: %s\n", obbd_error_name(obbd_why(o)->error), obbd_why(o)->text);
    CHECK(a != NULL && obbd_why(o)->error == OBBD_FINE);
    return a;
}

static bool fails_with(obbd_error error, const char *text)
{
    const obbd_problem *why = obbd_why(o);
    const bool is = why->error == error && strstr(why->text, text) != NULL;
    if (!is)
        (void)printf("%s: %s\n", obbd_error_name(why->error), why->text);
    return is;
}

/* The box as the daemon has it. Its name has no mark that a path must escape. */
static obbd_value box_of(const char *name)
{
    char path[200];
    (void)snprintf(path, sizeof path, "%s/boxes/%s", scene_path, name);
    const obbd_reply *reply = obbd_request(o, "GET", path, NULL, NULL);
    CHECK(reply != NULL);
    return reply->value;
}

static bool has_numbers(obbd_value value, const char *name, size_t n, const double *wanted)
{
    double found[16];
    if (obbd_numbers(obbd_get(value, name), 16, found) != n)
        return false;
    for (size_t i = 0; i < n; i++)
        if (fabs(found[i] - wanted[i]) > 1e-12)
            return false;
    return true;
}

#define NUMBERS(value, name, ...)                                                    \
    has_numbers(value, name, sizeof((const double[]){__VA_ARGS__}) / sizeof(double), \
                (const double[]){__VA_ARGS__})

/* ---- Commits --------------------------------------------------------------------------------- */

static void boxes_are_put_moved_turned_and_removed(void)
{
    obbd_tick *t = fresh();
    obbd_box box = {.center = {1, 2, 3},
                    .half = {1, 2, 3},
                    .rotation = {0, 1, 0, 0},
                    .entity = "ann",
                    .data = "{\"hp\":18446744073709551616000}",
                    .category = 4,
                    .mask = 6,
                    .group = -7,
                    .ttl = 500};
    obbd_tick_put(t, "a", &box);
    put_cube(t, "b", 50);
    obbd_tick_time(t, 10);
    const obbd_answer *a = committed(t);
    CHECK(a->put == 2 && a->revision == 1 && a->time == 10 && !a->repeated);
    obbd_value is = box_of("a");
    CHECK(NUMBERS(is, "center", 1, 2, 3) && NUMBERS(is, "half_extents", 1, 2, 3));
    CHECK(NUMBERS(is, "rotation", 0, 1, 0, 0) && obbd_number(obbd_get(is, "group")) == -7);
    CHECK(obbd_number(obbd_get(is, "category")) == 4 && obbd_number(obbd_get(is, "mask")) == 6);
    CHECK(obbd_is(obbd_text_of(obbd_get(is, "entity")), "ann") &&
          obbd_number(obbd_get(is, "ttl")) == 500);
    CHECK(strstr(obbd_last(o)->body, "{\"hp\":18446744073709551616000}") != NULL);

    const obbd_pose pose = {.center = {5, 0, 0}, .rotation = {0, 0, 0, 1}, .teleport = true};
    const obbd_transform turn = {
        .translate = {1, 0, 0}, .axis = {0, 0, 1}, .degrees = 90, .local = true};
    const obbd_transform wide = {.scale = {2, 1, 1}};
    obbd_tick_move(t, "a", &pose);
    obbd_tick_transform(t, "b", &turn);
    a = committed(t);
    CHECK(a->posed == 1 && a->transformed == 1);
    CHECK(NUMBERS(box_of("a"), "center", 5, 0, 0));
    CHECK(NUMBERS(box_of("b"), "center", 51, 0, 0));
    CHECK(NUMBERS(box_of("b"), "rotation", 0, 0, sqrt(0.5), sqrt(0.5)));
    obbd_tick_transform(t, "a", &wide);
    obbd_tick_remove(t, "b");
    obbd_tick_remove(t, "nobody");
    a = committed(t);
    CHECK(a->removed == 1 && a->transformed == 1);
    CHECK(NUMBERS(box_of("a"), "half_extents", 2, 2, 3) &&
          NUMBERS(box_of("a"), "center", 10, 0, 0));
    CHECK(obbd_id(t, "a") == 1 && obbd_id(t, "b") == 0);
}

static void poses_go_by_id_as_floats_and_doubles_in_several_pieces(void)
{
    obbd_tick *t = fresh();
    put_cube(t, "a", 0);
    put_cube(t, "b", 10);
    put_cube(t, "c", 20);
    committed(t);
    const uint32_t ids[3] = {obbd_id(t, "a"), obbd_id(t, "b"), obbd_id(t, "c")};
    const float floats[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    const double doubles[9] = {0.1, 0, 0, 0.2, 0, 0, 0.3, 0, 0};
    const double rotations[12] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};
    obbd_tick_pose(t, 2, ids, floats, NULL);
    obbd_tick_pose(t, 1, ids + 2, floats + 6, NULL);
    CHECK(committed(t)->posed == 3);
    CHECK(NUMBERS(box_of("b"), "center", 4, 5, 6) && NUMBERS(box_of("c"), "center", 7, 8, 9));
    obbd_tick_pose64(t, 1, ids, doubles, rotations);
    obbd_tick_pose64(t, 2, ids + 1, doubles + 3, rotations + 4);
    CHECK(committed(t)->posed == 3);
    CHECK(NUMBERS(box_of("c"), "center", 0.3, 0, 0) &&
          NUMBERS(box_of("c"), "rotation", 0, 0, 1, 0));
    CHECK(NUMBERS(box_of("b"), "rotation", 0, 1, 0, 0));
    obbd_tick_pose(t, 0, NULL, NULL, NULL);
    CHECK(committed(t)->posed == 0);
}

static void other_members_and_queries_are_given_in_json(void)
{
    obbd_tick *t = fresh();
    obbd_tick_set(t, "frames", "{\"rig\":{\"center\":[0,5,0]}}");
    const obbd_box head = {.half = {1, 1, 1}, .frame = "rig"};
    obbd_tick_put(t, "head", &head);
    const int query =
        obbd_tick_query(t, "{\"kind\":\"point\",\"points\":[[0,5,0]],\"want\":[\"pose\"]}");
    const obbd_answer *a = committed(t);
    const obbd_hit *hit = obbd_first_hit(a, query, 0);
    CHECK(hit != NULL && obbd_is(hit->name, "head"));
    CHECK(NUMBERS(obbd_get(hit->value, "pose"), "center", 0, 5, 0));
    obbd_tick_set(t, "dry_run", "true");
    obbd_tick_remove(t, "head");
    CHECK(committed(t)->removed == 1 && obbd_id(t, "head") == 1);
    obbd_tick_set(t, "if_revision", "7");
    obbd_tick_remove(t, "head");
    CHECK(obbd_commit(t) == NULL && fails_with(OBBD_PROBLEM, "/if_revision") &&
          obbd_why(o)->status == 412);
}

static void a_plane_has_two_numbers_and_angles(void)
{
    obbd_tick *t = fresh();
    obbd_tick_plane(t);
    CHECK(obbd_request(o, "PUT", scene_path, "{\"dimensions\":2}", NULL) != NULL);
    const obbd_box box = {.center = {0, 0, 99}, .half = {2, 1, 99}, .degrees = 90};
    obbd_tick_put(t, "a", &box);
    committed(t);
    CHECK(NUMBERS(box_of("a"), "center", 0, 0) &&
          obbd_number(obbd_get(box_of("a"), "angle")) == 90);
    const char *const names[2] = {"b", "c"};
    const double centers[4] = {10, 0, 20, 0}, half[2] = {1, 1}, angles[2] = {45, 0};
    obbd_tick_load(t, &(obbd_load){.n = 2,
                                   .names = names,
                                   .centers = centers,
                                   .half = half,
                                   .one_half = true,
                                   .rotations = angles});
    const obbd_pose pose = {.center = {3, 0, 99}, .degrees = 0, .turned = true};
    obbd_tick_move(t, "a", &pose);
    const obbd_transform turn = {.degrees = 30};
    obbd_tick_transform(t, "c", &turn);
    committed(t);
    CHECK(obbd_number(obbd_get(box_of("b"), "angle")) == 45 &&
          obbd_number(obbd_get(box_of("a"), "angle")) == 0);
    const uint32_t ids[2] = {obbd_id(t, "b"), obbd_id(t, "c")};
    obbd_tick_pose64(t, 2, ids, centers, angles);
    const obbd_ray ray = {.origin = {10, -5}, .direction = {0, 1}};
    const double at[2] = {20, 0};
    const int shot = obbd_tick_rays(t, 1, &ray, NULL), point = obbd_tick_points(t, 1, at, NULL);
    const obbd_answer *a = committed(t);
    const obbd_hit *hit = obbd_first_hit(a, shot, 0);
    CHECK(hit != NULL && hit->id == ids[0] && fabs(hit->distance - (5 - sqrt(2))) < 1e-9);
    CHECK(fabs(hit->point[1] + sqrt(2)) < 1e-9 && hit->point[2] == 0);
    CHECK(obbd_first_hit(a, point, 0)->id == ids[1]);
}

static void what_cannot_be_sent_is_told_and_the_builder_is_empty_then(void)
{
    static const uint32_t ids[1] = {1};
    static const float floats[4] = {0};
    static const double doubles[4] = {0};
    static const char *const names[1] = {"a"};
    const obbd_load load = {.n = 1, .names = names, .centers = doubles, .half = doubles};
    const obbd_pose pose = {.teleport = false};
    obbd_tick *t = fresh();
    for (int i = 0; i < 12; i++) {
        const char *text = NULL;
        if (i == 0 || i == 1) {
            obbd_tick_pose(t, 1, ids, floats, NULL);
            if (i == 0)
                obbd_tick_pose64(t, 1, ids, doubles, NULL);
            else
                obbd_tick_pose(t, 1, ids, floats, floats);
            text = "all poses of a commit have numbers of one type";
        } else if (i == 2 || i == 3) {
            if (i == 2)
                obbd_tick_pose(t, 1, ids, floats, NULL);
            obbd_tick_move(t, "a", &pose);
            if (i == 3)
                obbd_tick_pose(t, 1, ids, floats, NULL);
            text = "by name or by id, not both";
        } else if (i == 4 || i == 5) {
            if (i == 4)
                obbd_tick_load(t, &load);
            put_cube(t, "b", 0);
            if (i == 5)
                obbd_tick_load(t, &load);
            text = "by name or loads columns, not both";
        } else if (i == 6) {
            obbd_tick_set(t, "if_revision", "41,");
            text = "obbd_tick_set is no JSON";
        } else if (i == 7) {
            CHECK(obbd_tick_query(t, "{") == -1);
            text = "obbd_tick_query is no JSON";
        } else if (i == 8) {
            const obbd_ray rays[2] = {{.direction = {1, 0, 0}, .max_distance = 1},
                                      {.direction = {1, 0, 0}}};
            CHECK(obbd_tick_rays(t, 2, rays, &(obbd_ask){.times = doubles}) == -1);
            text = "rays with times all have a max_distance, or none has";
        } else if (i == 9) {
            obbd_tick_all_pairs(t, &(obbd_ask){.more = "[1]"});
            text = "`more` of a query is no JSON object";
        } else if (i == 10) {
            obbd_tick_shapes(t, 1, &(obbd_shape){.name = NULL}, NULL);
            text = "neither a name nor a box";
        } else {
            obbd_tick_put(t, "a", &(obbd_box){.half = {1, 1, 1}, .data = "nope"});
            text = "the data of a box is no JSON";
        }
        CHECK(obbd_commit(t) == NULL && fails_with(OBBD_MISUSED, text));
    }
    put_cube(t, "a", 0);
    CHECK(obbd_query(t) == NULL && fails_with(OBBD_MISUSED, "one query and nothing else"));
    put_cube(t, "b", 0);
    CHECK(committed(t)->put == 1);
    CHECK(obbd_first_hit(NULL, 0, 0) == NULL && obbd_result(NULL, 0).at == NULL);
}

static void numbers_arrive_as_they_are_and_a_problem_says_where(void)
{
    obbd_tick *t = fresh();
    put_cube(t, "a", -0.0);
    committed(t);
    double x[3];
    CHECK(obbd_numbers(obbd_get(box_of("a"), "center"), 3, x) == 3 && x[0] == 0 && signbit(x[0]));
    put_cube(t, "a", NAN);
    CHECK(obbd_commit(t) == NULL && fails_with(OBBD_PROBLEM, "(/put/a/center/0)"));
    const obbd_problem *why = obbd_why(o);
    CHECK(why->status == 422 && strcmp(why->type, "/problems/bad-number") == 0);
    CHECK(strcmp(why->pointer, "/put/a/center/0") == 0 && strstr(why->detail, "(/put") == NULL);
    put_cube(t, "a", 1.0 / 3);
    committed(t);
    CHECK(obbd_numbers(obbd_get(box_of("a"), "center"), 3, x) == 3 && x[0] == 1.0 / 3);
}

/* ---- Queries --------------------------------------------------------------------------------- */

static void rays_find_what_they_hit_however_the_answer_comes(void)
{
    obbd_tick *t = fresh();
    obbd_box box = cube(0);
    box.entity = "ann";
    obbd_tick_put(t, "a", &box);
    put_cube(t, "b", 5);
    box = cube(9);
    box.category = 2;
    box.entity = "ann";
    obbd_tick_put(t, "far", &box);
    const obbd_ray rays[2] = {{.origin = {-5, 0.5, 0}, .direction = {2, 0, 0}},
                              {.origin = {-5, 7, 0}, .direction = {1, 0, 0}}};
    const obbd_ray mixed[2] = {rays[0],
                               {.origin = {-5, 0, 0}, .direction = {1, 0, 0}, .max_distance = 3}};
    const obbd_ray bounded[2] = {{.origin = {-5, 0, 0}, .direction = {1, 0, 0}, .max_distance = 8},
                                 mixed[1]};
    const uint32_t except[2] = {1, 2};
    const int closest = obbd_tick_rays(t, 2, rays, NULL);
    const int all = obbd_tick_rays(t, 2, rays, &(obbd_ask){.mode = "all"});
    const int named = obbd_tick_rays(t, 2, rays, &(obbd_ask){.by_name = true});
    const int uneven = obbd_tick_rays(t, 2, mixed, NULL),
              even = obbd_tick_rays(t, 2, bounded, NULL);
    const int each = obbd_tick_rays(t, 1, rays, &(obbd_ask){.mode = "closest_per_entity"});
    const int without = obbd_tick_rays(t, 1, rays, &(obbd_ask){.except_entity = "ann"});
    const int last = obbd_tick_rays(t, 1, rays, &(obbd_ask){.except = except, .except_count = 2});
    const int prefix = obbd_tick_rays(t, 1, rays, &(obbd_ask){.prefix = "f", .tag = "shot"});
    const int masked = obbd_tick_rays(t, 1, rays, &(obbd_ask){.mask = 2});
    const int few = obbd_tick_rays(
        t, 1, rays, &(obbd_ask){.mode = "all", .limit = 1, .more = "{\"want\":[\"entity\"]}"});
    const int none = obbd_tick_rays(t, 0, rays, NULL);
    const obbd_answer *a = committed(t);
    const obbd_hit *hit = obbd_first_hit(a, closest, 0), *hits = NULL;
    CHECK(hit->id == 1 && hit->distance == 4 && hit->point[0] == -1 && hit->point[1] == 0.5);
    CHECK(hit->normal[0] == -1 && hit->normal[1] == 0 && hit->name.size == 0);
    CHECK(obbd_first_hit(a, closest, 1) == NULL && obbd_first_hit(a, closest, 2) == NULL);
    CHECK(obbd_get(obbd_result(a, closest), "columns").at !=
          NULL); /* the answer comes in columns */
    CHECK(obbd_hits(a, all, 0, &hits) == 3 && hits[1].id == 2 && hits[2].distance == 13);
    CHECK(obbd_hits(a, all, 1, &hits) == 0 && hits == NULL);
    hit = obbd_first_hit(a, named, 0);
    CHECK(obbd_is(hit->name, "a") && hit->id == 0 && hit->distance == 4 && hit->normal[0] == -1);
    CHECK(obbd_first_hit(a, uneven, 0)->id == 1 && obbd_first_hit(a, uneven, 1) == NULL);
    CHECK(obbd_first_hit(a, even, 0)->id == 1 && obbd_first_hit(a, even, 1) == NULL);
    CHECK(obbd_hits(a, each, 0, &hits) == 2 && hits[1].id == 2);
    CHECK(obbd_first_hit(a, without, 0)->id == 2 && obbd_first_hit(a, last, 0)->id == 3);
    CHECK(obbd_first_hit(a, prefix, 0)->id == 3 && obbd_first_hit(a, masked, 0)->id == 3);
    CHECK(obbd_is(obbd_text_of(obbd_get(obbd_result(a, prefix), "tag")), "shot"));
    CHECK(obbd_hits(a, few, 0, &hits) == 1 &&
          obbd_is(obbd_text_of(obbd_get(hits->value, "entity")), "ann"));
    CHECK(obbd_first_hit(a, none, 0) == NULL && obbd_first_hit(a, -1, 0) == NULL);
    CHECK(obbd_first_hit(a, none + 1, 0) == NULL);
}

static void a_ray_whose_length_is_none_is_refused_and_does_not_become_endless(void)
{
    static const double lengths[] = {-1, NAN, -INFINITY};
    static const double times[2] = {0, 0};
    obbd_tick *t = fresh();
    put_cube(t, "a", 0);
    committed(t);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        const obbd_ray ray = {
            .origin = {-5, 0, 0}, .direction = {1, 0, 0}, .max_distance = lengths[i]};
        const obbd_ray rays[2] = {{.origin = {-5, 0, 0}, .direction = {1, 0, 0}}, ray};
        const obbd_ray both[2] = {ray, ray};
        obbd_tick_rays(t, 1, &ray, NULL);
        CHECK(obbd_query(t) == NULL && fails_with(OBBD_PROBLEM, "(/rays/max_distances"));
        obbd_tick_rays(t, 2, both, &(obbd_ask){.times = times});
        CHECK(obbd_query(t) == NULL && fails_with(OBBD_PROBLEM, "(/rays/max_distances"));
        obbd_tick_rays(t, 2, rays, NULL);
        CHECK(obbd_query(t) == NULL && fails_with(OBBD_PROBLEM, "(/rays/1/max_distance)"));
        obbd_tick_rays(t, 1, &ray, &(obbd_ask){.by_name = true});
        CHECK(obbd_query(t) == NULL && fails_with(OBBD_PROBLEM, "(/rays/0/max_distance)"));
        obbd_tick_nearest(t, 1, rays->origin, &(obbd_ask){.max_distance = lengths[i]});
        CHECK(obbd_query(t) == NULL && fails_with(OBBD_PROBLEM, "(/max_distance)"));
    }
}

static void a_query_can_be_left_out_of_the_record(void)
{
    obbd_tick *t = fresh();
    CHECK(obbd_request(o, "PUT", scene_path, "{\"record\":9}", NULL) != NULL);
    put_cube(t, "a", 0);
    const double point[3] = {0, 0, 0};
    obbd_tick_points(t, 1, point, &(obbd_ask){.tag = "seen"});
    obbd_tick_points(t, 1, point, &(obbd_ask){.tag = "unseen", .unrecorded = true});
    committed(t);
    char path[sizeof scene_path + 16];
    (void)snprintf(path, sizeof path, "%s/queries", scene_path);
    const obbd_reply *reply = obbd_request(o, "GET", path, NULL, NULL);
    CHECK(reply != NULL && strstr(reply->body, "\"seen\"") != NULL);
    CHECK(strstr(reply->body, "unseen") == NULL);
}

static void shots_are_judged_at_the_time_that_was_seen(void)
{
    obbd_tick *t = fresh();
    obbd_state seen;
    put_cube(t, "bob", 0);
    obbd_tick_time(t, 0);
    committed(t);
    const uint32_t ids[1] = {obbd_id(t, "bob")};
    const float center[3] = {10, 0, 0};
    obbd_tick_time(t, 100);
    obbd_tick_pose(t, 1, ids, center, NULL);
    const obbd_ray rays[4] = {{.origin = {0, 0, -5}, .direction = {0, 0, 1}},
                              {.origin = {5, 0, -5}, .direction = {0, 0, 1}},
                              {.origin = {10, 0, -5}, .direction = {0, 0, 1}},
                              {.origin = {0, 0, -5}, .direction = {0, 0, 1}}};
    const double times[4] = {0, 50, 900, 100};
    const int each = obbd_tick_rays(t, 4, rays, &(obbd_ask){.times = times});
    const int named = obbd_tick_rays(t, 4, rays, &(obbd_ask){.times = times, .by_name = true});
    const int then = obbd_tick_rays(t, 1, rays + 1, &(obbd_ask){.at = obbd_at(50, 0)});
    const int whole = obbd_tick_rays(t, 1, rays, &(obbd_ask){.at = obbd_at(50, OBBD_WHOLE)});
    const int long_ago = obbd_tick_rays(t, 1, rays, &(obbd_ask){.at = obbd_ago(5000, 0)});
    const int first = obbd_tick_rays(t, 1, rays, &(obbd_ask){.at = obbd_at_revision(1)});
    const int now = obbd_tick_rays(t, 1, rays, NULL);
    const obbd_answer *a = committed(t);
    for (size_t i = 0; i < 4; i++) {
        CHECK((obbd_first_hit(a, each, i) != NULL) == (i < 3));
        CHECK((obbd_first_hit(a, named, i) != NULL) == (i < 3));
        CHECK(obbd_seen(a, each, i, &seen) && seen.clamped == (i == 2) &&
              seen.time == (i == 2 ? 100 : times[i]));
        CHECK(obbd_seen(a, named, i, &seen) && seen.clamped == (i == 2) &&
              seen.revision == (i < 2 ? 1 : 2));
    }
    CHECK(!obbd_seen(a, each, 4, &seen) && !obbd_seen(a, now, 0, &seen));
    CHECK(obbd_first_hit(a, then, 0)->distance == 4 && obbd_seen(a, then, 0, &seen) &&
          seen.time == 50);
    CHECK(obbd_first_hit(a, whole, 0)->id == 1 && obbd_first_hit(a, now, 0) == NULL);
    CHECK(obbd_first_hit(a, long_ago, 0)->id == 1 && obbd_seen(a, long_ago, 0, &seen) &&
          seen.clamped);
    CHECK(obbd_first_hit(a, first, 0)->id == 1 && obbd_seen(a, first, 0, &seen) &&
          seen.revision == 1);
    obbd_tick_rays(t, 1, rays, &(obbd_ask){.at = obbd_at(-900, OBBD_EXACT)});
    CHECK(obbd_query(t) == NULL && obbd_why(o)->status == 410);
}

static void the_other_kinds_of_queries(void)
{
    static const double points[6] = {0, 0, 0, 20, 0, 0};
    static const uint32_t pairs[4] = {1, 2, 1, 3};
    static const double view[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    obbd_tick *t = fresh();
    put_cube(t, "a", 0);
    put_cube(t, "b", 1.5);
    put_cube(t, "far", 9);
    const obbd_box near_far = {.center = {10.5, 0, 0}, .half = {1, 1, 1}};
    const obbd_shape shapes[] = {{.a = {9, 0, 0}, .radius = 1},
                                 {.a = {0, 5, 0}, .b = {9, 1.5, 0}, .radius = 1},
                                 {.name = "a"},
                                 {.box = &near_far},
                                 {.frustum = view},
                                 {.a = {0, 5, 0}, .radius = 1},
                                 {.a = {0, 5, 0}, .radius = 1, .capsule = true},
                                 {.b = {0, 5, 0}, .radius = 1},
                                 {.radius = 1, .capsule = true}};
    const obbd_sweep sweeps[] = {{.name = "a", .motion = {5, 0, 0}},
                                 {.box = &near_far, .motion = {-5, 0, 0}}};
    const int overlap = obbd_tick_shapes(t, sizeof shapes / sizeof *shapes, shapes, NULL);
    const int sweep = obbd_tick_sweeps(t, 2, sweeps, &(obbd_ask){.mode = "all"});
    const int point = obbd_tick_points(t, 2, points, NULL);
    const int nearest = obbd_tick_nearest(t, 2, points, &(obbd_ask){.k = 2, .max_distance = 12});
    const int pair = obbd_tick_pairs(t, 2, pairs, NULL);
    const int wide =
        obbd_tick_pairs(t, 2, pairs, &(obbd_ask){.margin = 7, .more = "{\"want\":[\"mtv\"]}"});
    const int every = obbd_tick_all_pairs(t, NULL);
    const int counted = obbd_tick_all_pairs(t, &(obbd_ask){.count_only = true, .margin = 7});
    const int named = obbd_tick_all_pairs(t, &(obbd_ask){.by_name = true});
    const obbd_answer *a = committed(t);
    const obbd_hit *hits;
    const uint32_t *ids;
    CHECK(obbd_hits(a, overlap, 0, &hits) == 1 && hits[0].id == 3);
    CHECK(obbd_hits(a, overlap, 1, &hits) == 1 && hits[0].id == 3);
    CHECK(obbd_hits(a, overlap, 2, &hits) == 1 && hits[0].id == 2);
    CHECK(obbd_hits(a, overlap, 3, &hits) == 1 && hits[0].id == 3);
    CHECK(obbd_hits(a, overlap, 4, &hits) == 2 && hits[1].id == 2);
    CHECK(obbd_hits(a, overlap, 5, &hits) == 0); /* a sphere */
    for (size_t i = 6; i < 9; i++)               /* capsules with an end at the origin */
        CHECK(obbd_hits(a, overlap, i, &hits) == 2 && hits[1].id == 2);
    CHECK(obbd_hits(a, sweep, 0, &hits) == 1 && hits[0].id == 2 && hits[0].fraction == 0);
    CHECK(obbd_hits(a, sweep, 1, &hits) == 1 && hits[0].id == 3);
    CHECK(obbd_hits(a, point, 0, &hits) == 1 && hits[0].id == 1 &&
          obbd_hits(a, point, 1, &hits) == 0);
    CHECK(obbd_hits(a, nearest, 0, &hits) == 2 && hits[0].id == 1 && hits[1].id == 2);
    CHECK(obbd_hits(a, nearest, 1, &hits) == 1 && hits[0].id == 3 && hits[0].distance == 10 &&
          hits[0].point[0] == 10);
    CHECK(obbd_overlap(a, pair, 0) && !obbd_overlap(a, pair, 1) && !obbd_overlap(a, pair, 2));
    CHECK(obbd_overlap(a, wide, 1));
    CHECK(obbd_pairs(a, every, &ids) == 1 && ids[0] == 1 && ids[1] == 2);
    CHECK(obbd_number(obbd_get(obbd_result(a, counted), "count")) == 3 &&
          obbd_pairs(a, counted, &ids) == 0);
    obbd_value one = {NULL, NULL}, name = {NULL, NULL};
    CHECK(obbd_next(obbd_get(obbd_result(a, named), "pairs"), &one) && obbd_next(one, &name));
    CHECK(obbd_is(obbd_text_of(name), "a"));
    obbd_tick_points(t, 1, points, NULL);
    a = obbd_query(t);
    CHECK(a != NULL && obbd_first_hit(a, 0, 0)->id == 1 && a->revision == 1);
    obbd_tick_all_pairs(t, NULL);
    a = obbd_query(t);
    CHECK(a != NULL && obbd_pairs(a, 0, &ids) == 1 && ids[1] == 2);
}

static void many_boxes_at_once(void)
{
    enum { N = 20000 };
    static double centers[3 * N], half[3] = {1, 1, 1};
    static float moved[3 * N], rotations[4 * N];
    static char names[N][8];
    static const char *list[N];
    obbd_tick *t = fresh();
    for (size_t i = 0; i < N; i++) {
        (void)snprintf(names[i], sizeof names[i], "b%u", (unsigned)i % 100000);
        list[i] = names[i];
        centers[3 * i] = 3.0 * (double)i;
        moved[3 * i] = 1.5F * (float)i;
        rotations[4 * i + 3] = 1;
    }
    obbd_tick_load(t, &(obbd_load){.n = N,
                                   .names = list,
                                   .centers = centers,
                                   .half = half,
                                   .one_half = true,
                                   .entity = "all",
                                   .category = 1,
                                   .mask = 1});
    CHECK(committed(t)->put == N && obbd_id(t, "b0") == 1 && obbd_id(t, "b19999") == N);
    const uint32_t *ids = obbd_ids(t, N, list), *pairs = NULL;
    CHECK(ids != NULL && ids[N - 1] == N);
    obbd_tick_pose(t, N, ids, moved, rotations);
    const int all = obbd_tick_all_pairs(t, NULL);
    const obbd_answer *a = committed(t);
    CHECK(a->posed == N && obbd_pairs(a, all, &pairs) == N - 1);
    for (size_t i = 0; i < N - 1; i++)
        CHECK(pairs[2 * i] == i + 1 && pairs[2 * i + 1] == i + 2);
    obbd_ids_free(t, ids);
    /* Another program learns them: all over several pages, or one. */
    obbd *other = obbd_open(url, NULL);
    obbd_tick *theirs = obbd_tick_new(other, scene_name);
    CHECK(obbd_id(theirs, "b7") == 0 && obbd_learn(theirs, "b7") == 8 &&
          obbd_id(theirs, "b7") == 8);
    CHECK(obbd_learn(theirs, "b7") == 8 && obbd_last(other) == NULL);
    CHECK(obbd_learn(theirs, "nobody") == 0 && obbd_why(other)->status == 404);
    CHECK(obbd_learn_all(theirs) && obbd_id(theirs, "b19999") == N && obbd_id(theirs, "b0") == 1);
    obbd_close(other);
}

static void ids_are_known_of_boxes_that_were_put(void)
{
    obbd_tick *t = fresh();
    const char *const names[2] = {"a", "wall"};
    put_cube(t, "a", 0);
    committed(t);
    CHECK(obbd_ids(t, 2, names) == NULL &&
          fails_with(OBBD_MISUSED, "the id of 'wall' is not known"));
    char name[16];
    for (int round = 0; round < 50; round++) { /* names that come and go take no memory for ever */
        for (int i = 0; i < 100; i++) {
            (void)snprintf(name, sizeof name, "shot %d", 100 * round + i);
            put_cube(t, name, 10.0 * i);
        }
        committed(t);
        CHECK(obbd_id(t, name) == (uint32_t)(100 * round + 101));
        for (int i = 0; i < 100; i++) {
            (void)snprintf(name, sizeof name, "shot %d", 100 * round + i);
            obbd_tick_remove(t, name);
        }
        committed(t);
        CHECK(obbd_id(t, name) == 0 && obbd_id(t, "a") == 1);
    }
}

static uint32_t lost_ids[1];
static int times_lost;

static void put_after_loss(void *context, obbd_tick *t)
{
    CHECK(strcmp(context, "mine") == 0);
    times_lost++;
    put_cube(t, "a", 0);
    if (times_lost == 1) { /* the second time it leaves the commit to the client */
        CHECK(obbd_commit(t) != NULL);
        lost_ids[0] = obbd_id(t, "a");
    }
}

static void a_scene_that_was_made_again_is_noticed_and_its_boxes_are_put_again(void)
{
    static const char *const names[1] = {"a"};
    const double moved[3] = {1, 0, 0};
    obbd_tick *t = fresh();
    times_lost = 0;
    obbd_on_lost(o, scene_name, put_after_loss, "mine");
    put_cube(t, "wall", 9);
    put_cube(t, "a", 0);
    committed(t);
    lost_ids[0] = obbd_id(t, "a");
    const uint32_t *array = obbd_ids(t, 1, names);
    obbd *elsewhere = obbd_open(url, NULL);
    obbd_tick *theirs = obbd_tick_new(elsewhere, scene_name);
    CHECK(obbd_delete(theirs));
    put_cube(theirs, "c", 3);
    put_cube(theirs, "d", 6);
    CHECK(obbd_commit(theirs) != NULL);

    obbd_tick_pose64(t, 1, lost_ids, moved, NULL);
    CHECK(obbd_commit(t) == NULL && fails_with(OBBD_LOST, "found") && times_lost == 1);
    CHECK(lost_ids[0] == 3 && obbd_id(t, "wall") == 0);
    CHECK(NUMBERS(box_of("d"), "center", 6, 0, 0)); /* the pose by an old id moved nothing */
    obbd_tick_pose64(t, 1, lost_ids, moved, NULL);
    CHECK(committed(t)->posed == 1);
    obbd_tick_pose64(t, 1, array, moved, NULL);
    CHECK(obbd_commit(t) == NULL && fails_with(OBBD_LOST, "") && times_lost == 1);
    /* Poses that were built before the loss was noticed, and sent after. */
    CHECK(obbd_delete(theirs));
    obbd_tick_pose64(t, 1, lost_ids, moved, NULL);
    obbd_tick *second = obbd_tick_new(o, scene_name);
    obbd_tick_all_pairs(second, NULL);
    CHECK(obbd_query(second) == NULL && fails_with(OBBD_LOST, "there is no scene") &&
          times_lost == 2);
    CHECK(obbd_id(second, "a") == 1);
    CHECK(obbd_commit(t) == NULL && fails_with(OBBD_LOST, "") && times_lost == 2);
    CHECK(NUMBERS(box_of("a"), "center", 0, 0, 0));
    obbd_close(elsewhere);
    CHECK(obbd_delete(t) && obbd_id(t, "a") == 0);
    put_cube(t, "a", 0);
    CHECK(committed(t)->put == 1 && times_lost == 2);
}

/* ---- Events ---------------------------------------------------------------------------------- */

static void events_from_the_present_set_on_until_the_scene_is_deleted(void)
{
    const float away[3] = {20, 0, 0};
    obbd_tick *t = fresh();
    put_cube(t, "a", 0);
    put_cube(t, "b", 1.5);
    put_cube(t, "c", 90);
    committed(t);
    const uint32_t ids[1] = {obbd_id(t, "a")};
    const obbd_follow_options options = {.prefix = "a", .poses = true, .rate = 500, .category = 1};
    obbd_events *e = obbd_follow_with(o, scene_name, OBBD_COLLISIONS | OBBD_BOXES, &options);
    obbd_event event;
    obbd_text one, other;
    CHECK(obbd_event_next(e, &event, 5000) && event.kind == OBBD_STATE && event.revision == 1);
    CHECK(obbd_event_pair(&event, &one, &other) && obbd_is(one, "a") && obbd_is(other, "b"));
    CHECK(!obbd_event_pair(&event, &one, &other));
    CHECK(!obbd_event_next(e, &event, 0) && event.kind == OBBD_NOTHING);
    CHECK(!obbd_event_next(e, &event, 50) && event.kind == OBBD_NOTHING &&
          obbd_why(o)->error == OBBD_FINE);
    obbd_tick_pose(t, 1, ids, away, NULL);
    obbd_tick_time(t, 5);
    committed(t);
    CHECK(obbd_event_next(e, &event, 5000) && event.kind == OBBD_END && event.time == 5);
    CHECK(obbd_event_pair(&event, &one, &other) && obbd_is(other, "b"));
    CHECK(obbd_event_next(e, &event, 5000) && event.kind == OBBD_CHANGED);
    CHECK(NUMBERS(obbd_get(event.value, "columns"), "centers", 20, 0, 0));
    CHECK(!obbd_event_pair(&event, &one, &other));
    obbd_tick_remove(t, "a");
    committed(t);
    CHECK(obbd_event_next(e, &event, 5000) && event.kind == OBBD_CHANGED);
    CHECK(obbd_delete(t));
    CHECK(obbd_event_next(e, &event, 5000) && event.kind == OBBD_GONE);
    CHECK(!obbd_event_next(e, &event, 5000) && event.kind == OBBD_NOTHING);
    obbd_unfollow(e);
    e = obbd_follow(o, "no such scene", OBBD_COMMITS);
    CHECK(!obbd_event_next(e, &event, 0) && event.kind == OBBD_FAILED &&
          obbd_why(o)->status == 404);
    CHECK(!obbd_event_next(e, &event, 0) && event.kind == OBBD_NOTHING);
}

/* ---- Ways to the daemon ---------------------------------------------------------------------- */

static int tokens_asked;

static const char *token_of(void *context, bool refused)
{
    tokens_asked++;
    return refused ? context : "an old one";
}

static void tokens_are_sent_asked_for_and_asked_for_again(void)
{
    char writable[100];
    obbd *client = obbd_open(guarded, &(obbd_options){.token = token});
    CHECK(obbd_request(client, "GET", "/v1/scenes", NULL, NULL) != NULL);
    obbd_close(client);
    CHECK(setenv("OBBD_TOKEN", token, 1) == 0);
    client = obbd_open(guarded, NULL);
    CHECK(obbd_request(client, "GET", "/v1/scenes", NULL, NULL) != NULL);
    obbd_close(client);
    client = obbd_open(guarded, &(obbd_options){.token = "wrong"});
    CHECK(obbd_request(client, "GET", "/v1/scenes", NULL, NULL) == NULL &&
          obbd_why(client)->status == 401);
    obbd_close(client);
    (void)snprintf(writable, sizeof writable, "%s", token);
    tokens_asked = 0;
    client = obbd_open(guarded, &(obbd_options){.token_of = token_of, .token_context = writable});
    obbd_tick *t = obbd_tick_new(client, "guarded");
    put_cube(t, "a", 0);
    CHECK(obbd_commit(t) != NULL && tokens_asked == 2);
    put_cube(t, "a", 1);
    CHECK(obbd_commit(t) != NULL && tokens_asked == 2);
    obbd_close(client);
}

static bool reaches(const char *address, const obbd_options *options)
{
    obbd *client = obbd_open(address, options);
    const obbd_reply *reply = obbd_request(client, "GET", "/healthz", NULL, NULL);
    const bool is = reply != NULL && strcmp(reply->body, "{\"status\":\"alive\"}") == 0 &&
                    obbd_is(obbd_header(reply, "content-type"), "application/json");
    if (!is)
        (void)printf("%s\n", obbd_why(client)->text);
    obbd_close(client);
    return is;
}

/* Returns whether a scene of a client at this address has this page; NULL for none. */
static bool has_page(const char *address, const char *scene, const char *page)
{
    obbd *client = obbd_open(address, NULL);
    const char *found = obbd_page(obbd_tick_new(client, scene));
    const bool is = page == NULL ? found == NULL : found != NULL && strcmp(found, page) == 0;
    obbd_close(client);
    return is;
}

static void the_page_of_a_scene_is_an_address_that_a_browser_takes(void)
{
    CHECK(unsetenv("OBBD_URL") == 0 && has_page(NULL, "x", "http://localhost:7480/#x"));
    CHECK(has_page("http://game-7:7480/", "it's", "http://game-7:7480/#it%27s"));
    CHECK(has_page("https://game-7", "x", "https://game-7/#x"));
    CHECK(has_page(socket_url, "x", NULL) && has_page("localhost", "x", NULL));
}

static void a_unix_socket_https_and_the_address_of_the_environment(void)
{
    static const char *const wrong[] = {"ftp://x", "http://", "http:///x", "localhost"};
    CHECK(reaches(url, NULL) && reaches(socket_url, NULL));
    CHECK(reaches(https, &(obbd_options){.ca_file = ca_file}));
    CHECK(!reaches(https, &(obbd_options){.retries = -1})); /* nobody vouches for it */
    CHECK(setenv("OBBD_URL", url, 1) == 0 && reaches(NULL, NULL));
    CHECK(setenv("OBBD_URL", "unix:/nowhere", 1) == 0 &&
          !reaches(NULL, &(obbd_options){.retries = -1}));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        obbd *client = obbd_open(wrong[i], NULL);
        CHECK(obbd_why(client)->error == OBBD_MISUSED &&
              strstr(obbd_why(client)->text, wrong[i]) != NULL);
        CHECK(obbd_commit(obbd_tick_new(client, "x")) == NULL &&
              obbd_why(client)->error == OBBD_MISUSED);
        obbd_close(client);
    }
    obbd *client = obbd_open("http://127.0.0.1:1", &(obbd_options){.retries = -1});
    obbd_tick *t = obbd_tick_new(client, "x");
    put_cube(t, "a", 0);
    CHECK(obbd_commit(t) == NULL && obbd_why(client)->error == OBBD_DISCONNECTED);
    CHECK(strstr(obbd_why(client)->text, "no connection to http://127.0.0.1:1") != NULL);
    obbd_close(client);
    obbd_close(NULL);
}

static void large_bodies_over_https(void)
{
    enum { N = 20000 };
    static double centers[3 * N], half[3] = {1, 1, 1};
    static char names[N][8];
    static const char *list[N];
    obbd *client = obbd_open(https, &(obbd_options){.ca_file = ca_file});
    obbd_tick *t = obbd_tick_new(client, "large");
    for (size_t i = 0; i < N; i++) {
        (void)snprintf(names[i], sizeof names[i], "b%u", (unsigned)i % 100000);
        list[i] = names[i];
        centers[3 * i] = (double)i;
    }
    obbd_tick_load(
        t, &(obbd_load){.n = N, .names = list, .centers = centers, .half = half, .one_half = true});
    CHECK(obbd_commit(t) != NULL);
    const uint32_t *pairs;
    obbd_tick_all_pairs(t, NULL);
    const obbd_answer *a = obbd_query(t);
    CHECK(a != NULL && obbd_pairs(a, 0, &pairs) == 2 * N - 3 && pairs[0] == 1 && pairs[1] == 2);
    obbd_close(client);
}

/* ---- A transport of the program's own -------------------------------------------------------- */

static struct canned {
    const void *wanted[4]; /* where parts of the body must lie */
    bool found[4];
    const char *fields, *body;
    size_t at, sends;
    int status;
} canned;

static int canned_send(void *context, const obbd_http *request, int timeout_ms, obbd_head *head,
                       void **out_exchange)
{
    struct canned *c = context;
    size_t size = 0;
    for (size_t i = 0; i < request->part_count; i++) {
        size += request->parts[i].size;
        for (int k = 0; k < 4; k++)
            c->found[k] =
                c->found[k] || (c->wanted[k] != NULL && request->parts[i].bytes == c->wanted[k]);
    }
    CHECK(size == request->size && timeout_ms > 0 && request->has_body);
    c->at = 0;
    c->sends++;
    head->status = c->status;
    head->fields = c->fields;
    *out_exchange = c;
    return 0;
}

static long canned_read(void *context, void *exchange, void *bytes, size_t size, int timeout_ms)
{
    struct canned *c = exchange;
    const size_t left = strlen(c->body) - c->at;
    CHECK(context == exchange && timeout_ms >= 0);
    size = size < left ? size : left;
    memcpy(bytes, c->body + c->at, size);
    c->at += size;
    return (long)size;
}

static void canned_end(void *context, void *exchange) { CHECK(context == exchange); }

static void columns_are_sent_from_where_they_lie_over_any_transport(void)
{
    enum { N = 1000 };
    static uint32_t ids[N];
    static float centers[3 * N], rotations[4 * N];
    static double half[3 * N];
    static const char *names[N];
    const obbd_transport transport = {&canned, canned_send, canned_read, canned_end};
    obbd *client = obbd_open("http://engine", &(obbd_options){.transport = &transport});
    obbd_tick *t = obbd_tick_new(client, "any");
    canned =
        (struct canned){.wanted = {ids, centers, rotations},
                        .status = 200,
                        .fields = "Content-Type: application/json\nObbd-Epoch: 0123456789abcdef\n",
                        .body = "{\"revision\":3,\"time\":0,\"posed\":1000,\"results\":[]}"};
    obbd_tick_pose(t, N, ids, centers, rotations);
    const obbd_answer *a = obbd_commit(t);
    CHECK(a != NULL && a->revision == 3 && a->posed == N);
    CHECK(canned.found[0] && canned.found[1] && canned.found[2]);
    for (size_t i = 0; i < N; i++)
        names[i] = "x";
    canned.wanted[3] = half;
    obbd_tick_load(t, &(obbd_load){.n = N, .names = names, .centers = half, .half = half});
    CHECK(obbd_commit(t) != NULL && canned.found[3] && canned.sends == 2);
    /* An answer that is no JSON, and a refusal without a problem. */
    canned.body = "{\"revision\":";
    obbd_tick_retries(t, 0);
    obbd_tick_remove(t, "x");
    CHECK(obbd_commit(t) == NULL && obbd_why(client)->error == OBBD_UNKNOWN);
    canned.status = 502;
    canned.fields = "Content-Type: text/html\n";
    obbd_tick_remove(t, "x");
    CHECK(obbd_commit(t) == NULL && obbd_why(client)->error == OBBD_PROBLEM);
    CHECK(strstr(obbd_why(client)->text, "found the status 502 without a problem") != NULL);
    obbd_close(client);
}

static const char *token_of_a_file(void *context, bool refused)
{
    (void)refused;
    return context;
}

static void what_would_end_a_line_of_the_head_is_refused_before_anything_is_sent(void)
{
    static const struct {
        const char *method, *path, *header, *text;
    } calls[] = {
        {"GET", "/a b", NULL, "found the byte 0x20 in the path"},
        {"GET", "/a\n", NULL, "found the byte 0x0A in the path"},
        {"GET", "", NULL, "found the byte 0x00 in the path"},
        {"GET /x", "/", NULL, "found the byte 0x20 in the method"},
        {"GET", "/", "A: b\r\nC: d", "found the byte 0x0D in the header A"},
        {"GET", "/", "A: \x7f", "found the byte 0x7F in the header A"},
        {"GET", "/", "A\nB: c", "found the byte 0x0A in the name of a header"},
        {"GET", "/", ": c", "found the byte 0x00 in the name of a header"},
    };
    static const char *const wrong[] = {"http://x\n", "http://x y", "http://x/?a", "http://x/#a"};
    const obbd_transport transport = {&canned, canned_send, canned_read, canned_end};
    char ended[] = "of a file\n";
    obbd_options options = {.token = ended, .transport = &transport};
    canned = (struct canned){.status = 200, .fields = "", .body = ""};
    for (int i = 0; i < 2; i++) {
        obbd *client = obbd_open("http://engine", &options);
        obbd_tick *t = obbd_tick_new(client, "any");
        put_cube(t, "a", 0);
        CHECK(obbd_commit(t) == NULL && obbd_why(client)->error == OBBD_MISUSED);
        CHECK(strstr(obbd_why(client)->text, "found the byte 0x0A in the token") != NULL);
        CHECK(strstr(obbd_why(client)->text, "of a file") == NULL);
        obbd_events *e = obbd_follow(client, "any", OBBD_COLLISIONS);
        obbd_event event;
        CHECK(!obbd_event_next(e, &event, 0) && event.kind == OBBD_FAILED &&
              obbd_why(client)->error == OBBD_MISUSED);
        obbd_close(client);
        options = (obbd_options){
            .token_of = token_of_a_file, .token_context = ended, .transport = &transport};
    }
    obbd *client = obbd_open("http://engine", &(obbd_options){.transport = &transport});
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        const char *const headers[2] = {calls[i].header, NULL};
        const obbd_call call = {.headers = headers};
        CHECK(obbd_request(client, calls[i].method, calls[i].path, "{}", &call) == NULL);
        const obbd_problem *why = obbd_why(client);
        CHECK(why->error == OBBD_MISUSED && strstr(why->text, calls[i].text) != NULL);
    }
    CHECK(canned.sends == 0);
    const char *const plain[3] = {"A: b\tc \xc3\xa4", "B:", NULL};
    CHECK(obbd_request(client, "POST", "/\xc3\xa4", "", &(obbd_call){.headers = plain}) != NULL);
    CHECK(canned.sends == 1);
    obbd_close(client);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        client = obbd_open(wrong[i], NULL);
        CHECK(obbd_request(client, "GET", "/", NULL, NULL) == NULL);
        CHECK(obbd_why(client)->error == OBBD_MISUSED &&
              strstr(obbd_why(client)->text, "found the address") != NULL);
        obbd_close(client);
    }
}

static void a_builder_keeps_its_memory_from_commit_to_commit(void)
{
    enum { N = 100, SHOTS = 8 };
    static uint32_t ids[N];
    static float centers[3 * N], rotations[4 * N];
    obbd_ray rays[SHOTS];
    char name[8];
    obbd_tick *t = fresh();
    for (size_t i = 0; i < N; i++) {
        (void)snprintf(name, sizeof name, "b%u", (unsigned)i % 100);
        put_cube(t, name, 3.0 * (double)i);
        rotations[4 * i + 3] = 1;
    }
    committed(t);
    for (size_t i = 0; i < N; i++) {
        (void)snprintf(name, sizeof name, "b%u", (unsigned)i % 100);
        ids[i] = obbd_id(t, name);
        centers[3 * i] = 3.0F * (float)i;
    }
    for (size_t i = 0; i < SHOTS; i++)
        rays[i] = (obbd_ray){.origin = {3.0 * (double)i, 0, -5}, .direction = {0, 0, 1}};
    for (int time = 0; time < 110; time++) { /* the first ten take what there is to take */
        if (time == 10)
            allocations = 0;
        obbd_tick_time(t, time);
        obbd_tick_pose(t, N, ids, centers, rotations);
        const int shots = obbd_tick_rays(t, SHOTS, rays, &(obbd_ask){.at = obbd_at(time - 1, 0)});
        const int named = obbd_tick_rays(t, 1, rays, &(obbd_ask){.by_name = true});
        const obbd_answer *a = committed(t);
        CHECK(a->posed == N && obbd_is(obbd_first_hit(a, named, 0)->name, "b0"));
        for (size_t i = 0; i < SHOTS; i++)
            CHECK(obbd_first_hit(a, shots, i)->id == ids[i]);
    }
    CHECK(allocations == 0);
}

static void a_builder_that_is_freed_leaves_the_others_of_its_scene_as_they_are(void)
{
    obbd_tick *first = fresh();
    obbd_tick *second = obbd_tick_new(o, scene_name);
    put_cube(first, "a", 0);
    put_cube(second, "b", 5);
    committed(first);
    const uint32_t id = obbd_id(first, "a");
    put_cube(first, "never", 9);
    obbd_tick_free(first);
    obbd_tick_free(NULL);
    CHECK(committed(second)->put == 1 && obbd_id(second, "a") == id && id != 0);
    const float center[3] = {1, 2, 3};
    obbd_tick_pose(second, 1, &id, center, NULL);
    CHECK(committed(second)->posed == 1 && NUMBERS(box_of("a"), "center", 1, 2, 3));
    obbd_tick *third = obbd_tick_new(o, scene_name);
    obbd_tick_remove(third, "b");
    CHECK(committed(third)->removed == 1);
}

static double seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void a_commit_that_nobody_answers_fails_after_its_time(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof at;
    const int silent = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(silent >= 0 && bind(silent, (struct sockaddr *)&at, size) == 0 && listen(silent, 9) == 0);
    CHECK(getsockname(silent, (struct sockaddr *)&at, &size) == 0);
    char address[64];
    (void)snprintf(address, sizeof address, "http://127.0.0.1:%u", (unsigned)ntohs(at.sin_port));
    obbd *client = obbd_open(address, &(obbd_options){.timeout_ms = 600000});
    obbd_tick *t = obbd_tick_new(client, "any");
    const double from = seconds();
    put_cube(t, "a", 0);
    obbd_tick_timeout(t, 300);
    CHECK(obbd_commit(t) == NULL && obbd_why(client)->error == OBBD_UNKNOWN);
    CHECK(strstr(obbd_why(client)->text, "no answer in time") != NULL);
    CHECK(seconds() - from >= 0.25);
    obbd_close(client);
    (void)close(silent);
}

/* ---- Answers that are broken ----------------------------------------------------------------- */

/* In CBOR: {"revision": 3, "time": 5.5, "removed": 0, "put": 1, "posed": 0, "transformed": 0,
 * "ids": {"a": 7}, "results": [
 *   {"columns": {"boxes": [1, 0], "distances": [4, 0], "points": [6 numbers], "normals": [6
 * numbers],
 *     "times": [1, 2], "revisions": [1, 1], "clamped": [0, 1]}},
 *   {"at": {"revision": 1, "time": 2, "clamped": true}, "results": [
 *     {"hits": [{"box": 3, "distance": 1.5, "fraction": 0.5, "point": [1, 2, 3], "normal": [0, 0,
 * 1]},
 *       {"box": "n", "distance": 2}]},
 *     {"boxes": [5, 6]}, {"boxes": [2, "far"]}, {"overlap": true}]},
 *   {"count": 2, "pairs": [1, 2, 1, 3]}]}; all but the second of `boxes` are typed arrays. */
static const unsigned char whole_answer[] = {
    0xa8, 0x68, 0x72, 0x65, 0x76, 0x69, 0x73, 0x69, 0x6f, 0x6e, 0x03, 0x64, 0x74, 0x69, 0x6d, 0x65,
    0xfb, 0x40, 0x16, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x67, 0x72, 0x65, 0x6d, 0x6f, 0x76, 0x65,
    0x64, 0x00, 0x63, 0x70, 0x75, 0x74, 0x01, 0x65, 0x70, 0x6f, 0x73, 0x65, 0x64, 0x00, 0x6b, 0x74,
    0x72, 0x61, 0x6e, 0x73, 0x66, 0x6f, 0x72, 0x6d, 0x65, 0x64, 0x00, 0x63, 0x69, 0x64, 0x73, 0xa1,
    0x61, 0x61, 0x07, 0x67, 0x72, 0x65, 0x73, 0x75, 0x6c, 0x74, 0x73, 0x83, 0xa1, 0x67, 0x63, 0x6f,
    0x6c, 0x75, 0x6d, 0x6e, 0x73, 0xa7, 0x65, 0x62, 0x6f, 0x78, 0x65, 0x73, 0xd8, 0x46, 0x48, 0x01,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x69, 0x64, 0x69, 0x73, 0x74, 0x61, 0x6e, 0x63, 0x65,
    0x73, 0xd8, 0x56, 0x50, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x10, 0x40, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x66, 0x70, 0x6f, 0x69, 0x6e, 0x74, 0x73, 0xd8, 0x56, 0x58, 0x30, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xf0, 0x3f, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x40, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x08, 0x40, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x10, 0x40, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x14, 0x40, 0x67,
    0x6e, 0x6f, 0x72, 0x6d, 0x61, 0x6c, 0x73, 0xd8, 0x56, 0x58, 0x30, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xf0, 0x3f, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x40, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x08, 0x40, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x10, 0x40, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x14, 0x40, 0x65, 0x74, 0x69, 0x6d, 0x65,
    0x73, 0xd8, 0x56, 0x50, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xf0, 0x3f, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x40, 0x69, 0x72, 0x65, 0x76, 0x69, 0x73, 0x69, 0x6f, 0x6e, 0x73, 0xd8, 0x46,
    0x48, 0x01, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x67, 0x63, 0x6c, 0x61, 0x6d, 0x70, 0x65,
    0x64, 0xd8, 0x40, 0x42, 0x00, 0x01, 0xa2, 0x62, 0x61, 0x74, 0xa3, 0x68, 0x72, 0x65, 0x76, 0x69,
    0x73, 0x69, 0x6f, 0x6e, 0x01, 0x64, 0x74, 0x69, 0x6d, 0x65, 0x02, 0x67, 0x63, 0x6c, 0x61, 0x6d,
    0x70, 0x65, 0x64, 0xf5, 0x67, 0x72, 0x65, 0x73, 0x75, 0x6c, 0x74, 0x73, 0x84, 0xa1, 0x64, 0x68,
    0x69, 0x74, 0x73, 0x82, 0xa5, 0x63, 0x62, 0x6f, 0x78, 0x03, 0x68, 0x64, 0x69, 0x73, 0x74, 0x61,
    0x6e, 0x63, 0x65, 0xfb, 0x3f, 0xf8, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x68, 0x66, 0x72, 0x61,
    0x63, 0x74, 0x69, 0x6f, 0x6e, 0xfb, 0x3f, 0xe0, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x65, 0x70,
    0x6f, 0x69, 0x6e, 0x74, 0x83, 0x01, 0x02, 0x03, 0x66, 0x6e, 0x6f, 0x72, 0x6d, 0x61, 0x6c, 0x83,
    0x00, 0x00, 0x01, 0xa2, 0x63, 0x62, 0x6f, 0x78, 0x61, 0x6e, 0x68, 0x64, 0x69, 0x73, 0x74, 0x61,
    0x6e, 0x63, 0x65, 0x02, 0xa1, 0x65, 0x62, 0x6f, 0x78, 0x65, 0x73, 0xd8, 0x46, 0x48, 0x05, 0x00,
    0x00, 0x00, 0x06, 0x00, 0x00, 0x00, 0xa1, 0x65, 0x62, 0x6f, 0x78, 0x65, 0x73, 0x82, 0x02, 0x63,
    0x66, 0x61, 0x72, 0xa1, 0x67, 0x6f, 0x76, 0x65, 0x72, 0x6c, 0x61, 0x70, 0xf5, 0xa2, 0x65, 0x63,
    0x6f, 0x75, 0x6e, 0x74, 0x02, 0x65, 0x70, 0x61, 0x69, 0x72, 0x73, 0xd8, 0x46, 0x50, 0x01, 0x00,
    0x00, 0x00, 0x02, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x03, 0x00, 0x00, 0x00,
};

/* A transport whose answer lies in a block of its size, so that the sanitizer sees a byte too
 * many. */
static struct broken {
    unsigned char *bytes;
    size_t size, at;
} broken;

static int broken_send(void *context, const obbd_http *request, int timeout_ms, obbd_head *head,
                       void **out_exchange)
{
    (void)request;
    (void)timeout_ms;
    broken.at = 0;
    head->status = 200;
    head->fields = "Content-Type: application/cbor\n";
    *out_exchange = context;
    return 0;
}

static long broken_read(void *context, void *exchange, void *bytes, size_t size, int timeout_ms)
{
    const size_t left = broken.size - broken.at;
    CHECK(context == exchange && timeout_ms >= 0);
    size = size < left ? size : left;
    memcpy(bytes, broken.bytes + broken.at, size);
    broken.at += size;
    return (long)size;
}

/* Looks at all that the answer can be asked for. Returns a sum, so that nothing is left out. */
static double looked_at(const obbd_answer *a)
{
    double sum = (double)a->revision + a->time;
    for (int query = 0; query < 4; query++) {
        const uint32_t *ids;
        for (size_t item = 0; item < 5; item++) {
            const obbd_hit *hits;
            obbd_state seen = {.time = 0};
            const size_t n = obbd_hits(a, query, item, &hits);
            for (size_t i = 0; i < n; i++)
                for (size_t k = 0; k < hits[i].name.size; k++)
                    sum += hits[i].name.bytes[k];
            for (size_t i = 0; i < n; i++)
                sum += hits[i].id + hits[i].distance + hits[i].point[2] + hits[i].normal[2];
            sum += obbd_seen(a, query, item, &seen) + seen.time + obbd_overlap(a, query, item);
        }
        const size_t pairs = obbd_pairs(a, query, &ids);
        for (size_t i = 0; i < 2 * pairs; i++)
            sum += ids[i];
    }
    char *json = obbd_json(a->value);
    sum += (double)strlen(json);
    free(json);
    return sum;
}

static void broken_answers_are_refused_or_read_without_harm(void)
{
    const obbd_transport transport = {NULL, broken_send, broken_read, canned_end};
    obbd *client =
        obbd_open("http://engine", &(obbd_options){.transport = &transport, .retries = -1});
    obbd_tick *t = obbd_tick_new(client, "broken");
    uint64_t random = 20261123;
    const char *effort = getenv("EFFORT");
    const int rounds = 20000 * (effort != NULL ? (int)strtol(effort, NULL, 10) : 1);
    int refused = 0, other = 0;
    double as_it_is = 0;
    for (int round = 0; round < rounds; round++) {
        const size_t size = sizeof whole_answer;
        random = random * 6364136223846793005U + 1442695040888963407U;
        const unsigned what = (unsigned)(random >> 60);
        broken.size = what == 0 ? (size_t)(random >> 33) % size : size;
        broken.bytes = malloc(broken.size + (broken.size == 0));
        memcpy(broken.bytes, whole_answer, broken.size);
        for (unsigned i = 0; round > 0 && broken.size > 0 && i <= what % 3; i++) {
            random = random * 6364136223846793005U + 1442695040888963407U;
            broken.bytes[(random >> 33) % broken.size] = (unsigned char)(random >> 50);
        }
        put_cube(t, "a", 0);
        const obbd_answer *a = obbd_commit(t);
        refused += a == NULL;
        const double sum = a == NULL ? 0 : looked_at(a);
        as_it_is = round == 0 ? sum : as_it_is;
        other += a != NULL && !(sum == as_it_is);
        free(broken.bytes);
    }
    (void)printf("%d refused, %d read as something else\n", refused, other);
    CHECK(as_it_is > 0 && refused > rounds / 10 && other > rounds / 10);
    obbd_close(client);
}

/* ---- No memory ------------------------------------------------------------------------------- */

/* One of everything, with the n-th allocation failing. Returns whether all of it went well. */
static bool everything(void)
{
    static const double doubles[6] = {0, 0, 0, 1, 0, 0};
    static const char *const names[2] = {"a", "b"};
    bool well = false;
    obbd *client = obbd_open(url, &(obbd_options){.token = "x", .retries = -1});
    obbd_tick *t = client == NULL ? NULL : obbd_tick_new(client, "memory");
    if (t != NULL) {
        obbd_tick_load(t,
                       &(obbd_load){.n = 2, .names = names, .centers = doubles, .half = doubles});
        const obbd_ray ray = {.origin = {-5, 0, 0}, .direction = {1, 0, 0}};
        const int shot = obbd_tick_rays(t, 1, &ray, &(obbd_ask){.by_name = true, .tag = "x"});
        const int all = obbd_tick_all_pairs(t, &(obbd_ask){.more = "{\"margin\":2}"});
        const obbd_answer *a = obbd_commit(t);
        const obbd_hit *hit = obbd_first_hit(a, shot, 0);
        const uint32_t *pairs;
        const bool asked =
            a != NULL && hit != NULL && obbd_is(hit->name, "a") && obbd_pairs(a, all, &pairs) == 1;
        const uint32_t *ids = obbd_ids(t, 2, names);
        if (ids != NULL)
            obbd_tick_pose64(t, 2, ids, doubles, NULL);
        put_cube(t, "c", 9);
        const bool posed = obbd_commit(t) != NULL && ids != NULL;
        const bool learned = obbd_learn(t, "a") != 0;
        obbd_events *e = obbd_follow(client, "memory", OBBD_COLLISIONS);
        obbd_event event;
        const bool followed =
            e != NULL && obbd_event_next(e, &event, 5000) && event.kind == OBBD_STATE;
        const obbd_reply *reply =
            obbd_request(client, "GET", "/v1/scenes", NULL, &(obbd_call){.cbor = true});
        char *json = reply == NULL ? NULL : obbd_json(reply->value);
        well = asked && posed && learned && followed && json != NULL;
        free(json);
        if (!well && !allocation_failed)
            (void)printf("%s\n", obbd_why(client)->text);
    }
    obbd_close(client);
    return well;
}

static void without_memory_calls_fail_and_nothing_is_lost(void)
{
    int failures = 0;
    CHECK(everything());
    for (long n = 0; n < 1000; n += 1 + n / 30) {
        allocation_failed = false;
        allocations_left = n;
        const bool well = everything();
        allocations_left = -1;
        failures += !well;
        if (!allocation_failed) {
            CHECK(well && failures > 20);
            (void)printf("%ld allocations, %d of which are needed\n", n, failures);
            return;
        }
    }
    CHECK(!"there is no end of allocations");
}

/* ---- All ------------------------------------------------------------------------------------- */

#define TEST(name)  \
    {               \
#name, name \
    }
static const struct {
    const char *name;
    void (*work)(void);
} tests[] = {
    TEST(boxes_are_put_moved_turned_and_removed),
    TEST(poses_go_by_id_as_floats_and_doubles_in_several_pieces),
    TEST(other_members_and_queries_are_given_in_json),
    TEST(a_plane_has_two_numbers_and_angles),
    TEST(what_cannot_be_sent_is_told_and_the_builder_is_empty_then),
    TEST(numbers_arrive_as_they_are_and_a_problem_says_where),
    TEST(rays_find_what_they_hit_however_the_answer_comes),
    TEST(a_ray_whose_length_is_none_is_refused_and_does_not_become_endless),
    TEST(a_query_can_be_left_out_of_the_record),
    TEST(shots_are_judged_at_the_time_that_was_seen),
    TEST(the_other_kinds_of_queries),
    TEST(many_boxes_at_once),
    TEST(ids_are_known_of_boxes_that_were_put),
    TEST(a_scene_that_was_made_again_is_noticed_and_its_boxes_are_put_again),
    TEST(events_from_the_present_set_on_until_the_scene_is_deleted),
    TEST(tokens_are_sent_asked_for_and_asked_for_again),
    TEST(the_page_of_a_scene_is_an_address_that_a_browser_takes),
    TEST(a_unix_socket_https_and_the_address_of_the_environment),
    TEST(large_bodies_over_https),
    TEST(columns_are_sent_from_where_they_lie_over_any_transport),
    TEST(what_would_end_a_line_of_the_head_is_refused_before_anything_is_sent),
    TEST(a_builder_keeps_its_memory_from_commit_to_commit),
    TEST(a_builder_that_is_freed_leaves_the_others_of_its_scene_as_they_are),
    TEST(a_commit_that_nobody_answers_fails_after_its_time),
    TEST(broken_answers_are_refused_or_read_without_harm),
    TEST(without_memory_calls_fail_and_nothing_is_lost),
};

int main(int argc, char **argv)
{
    const char *only = getenv("ONLY");
    volatile int run = 0, failures = 0;
    if (argc != 7)
        return 2;
    url = argv[1];
    socket_url = argv[2];
    guarded = argv[3];
    token = argv[4];
    https = argv[5];
    ca_file = argv[6];
    o = obbd_open(url, NULL);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        if (only != NULL && strstr(tests[i].name, only) == NULL)
            continue;
        run++;
        const bool well = setjmp(failed) == 0;
        if (well)
            tests[i].work();
        else
            failures++;
        allocations_left = -1;
        (void)printf("%s: %s\n", tests[i].name, well ? "ok" : "FAILED");
        (void)fflush(stdout);
    }
    obbd_close(o);
    (void)printf("%d tests, %d failed\n", run, failures);
    return failures != 0 || run == 0;
}
