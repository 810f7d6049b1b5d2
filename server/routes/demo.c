#include "server/routes/demo.h"

#include "server/routes/demo_motion.h"

#include <assert.h>
#include <stdarg.h>
#include <string.h>

enum {
    ROOM = 256, /* boxes */
    NAME = 32,  /* bytes */
    WORLD = 1,  /* category of boxes that stand still */
    CRATE = 2,  /* category of boxes that can be pushed */
    PLAYER = 4, /* category of boxes that run about */
    DOOR = 8,   /* category of doors that turn */
    PARTS = 6,  /* hitboxes of a player */
    YARD = -100 /* group of all that is no player, where players run: its pairs do not count */
};

struct demo {
    obb_put puts[ROOM];
    obb_pose frames[SRV_DEMO_FRAMES];
    size_t frame_count;
    char names[ROOM][NAME];
    char entities[ROOM][NAME];
    size_t count;
};

/* Adds an upright box, turned by `degrees` about y, and returns it. The caller sets its
 * attributes. */
__attribute__((format(printf, 5, 6))) static obb_put *add(struct demo *demo, obb_vec3 center,
                                                          obb_vec3 half_extents, double degrees,
                                                          const char *format, ...)
{
    assert(demo->count < ROOM);
    obb_put *put = &demo->puts[demo->count];
    char *name = demo->names[demo->count++];
    va_list values;
    va_start(values, format);
    (void)vsnprintf(name, NAME, format, values);
    va_end(values);
    *put = (obb_put){.target = {.name = obb_str_of(name)},
                     .parts = OBB_PUT_ALL,
                     .attributes = {.category = WORLD, .mask = UINT32_MAX}};
    obb_quat rotation;
    obb_status status = obb_quat_from_axis_angle((obb_vec3){0, 1, 0}, degrees, &rotation);
    if (status == OBB_OK)
        status = obb_box_from_pose(center, half_extents, rotation, 0, 3, &put->box);
    assert(status == OBB_OK); /* all numbers are in this file */
    return put;
}

static void add_walls(struct demo *demo)
{
    add(demo, (obb_vec3){0, -0.5, 0}, (obb_vec3){20, 0.5, 20}, 0, "floor");
    add(demo, (obb_vec3){0, 2, -20}, (obb_vec3){20, 2, 0.25}, 0, "wall-north");
    add(demo, (obb_vec3){0, 2, 20}, (obb_vec3){20, 2, 0.25}, 0, "wall-south");
    add(demo, (obb_vec3){-20, 2, 0}, (obb_vec3){0.25, 2, 20}, 0, "wall-west");
    add(demo, (obb_vec3){20, 2, 0}, (obb_vec3){0.25, 2, 20}, 0, "wall-east");
    static const struct {
        double x, z, length, degrees;
    } inner[] = {{-12, -12, 4, 30}, {-12, 12, 4, -30}, {12, -12, 4, 150}, {12, 12, 4, -150},
                 {-6, 0, 3, 75},    {6, 0, 3, 105},    {0, -9, 3, 10},    {0, 9, 3, -10}};
    for (int i = 0; i < 8; i++)
        add(demo, (obb_vec3){inner[i].x, 1.25, inner[i].z}, (obb_vec3){inner[i].length, 1.25, 0.2},
            inner[i].degrees, "wall-%d", i + 1);
    for (int i = 0; i < 16; i++) {
        const int row = i / 4, column = i % 4;
        const obb_vec3 at = {-15 + 10 * column, 2, -15 + 10 * row};
        add(demo, at, (obb_vec3){0.4, 2, 0.4}, i * 11.25, "pillar-%d", i + 1);
    }
}

/* A gate in the middle of the yard, without its door. */
static void add_gate(struct demo *demo)
{
    add(demo, (obb_vec3){-1.2, 1.25, 0}, (obb_vec3){0.2, 1.25, 0.2}, 0, "post-left");
    add(demo, (obb_vec3){1.2, 1.25, 0}, (obb_vec3){0.2, 1.25, 0.2}, 0, "post-right");
    add(demo, (obb_vec3){0, 2.65, 0}, (obb_vec3){1.4, 0.15, 0.2}, 0, "lintel");
}

/* The door of the gate: a little open, and it reaches into the post that it hangs on. */
static void add_still_door(struct demo *demo)
{
    obb_put *door = add(demo, (obb_vec3){-0.1, 1.2, 0.3}, (obb_vec3){1, 1.2, 0.05}, -20, "door");
    door->attributes.data = obb_str_of("{\"open\":true}");
}

/* Doors that turn, each in a frame of its own. They end a little above the floor. */
static void add_turning_doors(struct demo *demo)
{
    static const struct {
        const char *name;
        obb_vec3 at, half_extents; /* in its frame */
    } leaves[SRV_DEMO_DOORS] = {{"door", {0.94, 1.21, 0}, {0.94, 1.19, 0.05}},
                                {"door-west", {0, 1.21, 0}, {1.4, 1.19, 0.05}},
                                {"door-east", {0, 1.21, 0}, {1.4, 1.19, 0.05}}};
    for (size_t i = 0; i < SRV_DEMO_DOORS; i++) {
        obb_put *leaf = add(demo, leaves[i].at, leaves[i].half_extents, 0, "%s", leaves[i].name);
        leaf->frame = demo->frames[SRV_DEMO_PLAYERS + i].target.name;
        leaf->attributes.category = DOOR;
    }
}

/* Nine piles of crates: three levels of four crates each, each level turned a little further. */
static void add_crates(struct demo *demo)
{
    int number = 0;
    for (int pile = 0; pile < 9; pile++)
        for (int i = 0; i < 12; i++) {
            const int level = i / 4, corner = i % 4; /* four a level */
            const int row = pile / 3, column = pile % 3;
            const double x = -10 + 10 * column + (corner % 2 == 1 ? 0.55 : -0.55);
            const double z = -5 + 10 * row + (corner >= 2 ? 0.55 : -0.55);
            obb_put *crate = add(demo, (obb_vec3){x, 0.5 + level, z}, (obb_vec3){0.5, 0.5, 0.5},
                                 pile * 7 + level * 5, "crate-%d", ++number);
            crate->attributes.category = CRATE;
            crate->attributes.data = obb_str_of("{\"hp\":50}");
        }
}

/* The hitboxes of a player in his frame: feet at the origin, looking along +z. */
static const struct {
    const char *name;
    obb_vec3 at, half_extents;
} body[PARTS] = {{"head", {0, 1.65, 0}, {0.12, 0.15, 0.14}},
                 {"torso", {0, 1.15, 0}, {0.25, 0.35, 0.15}},
                 {"arm-left", {0.33, 1.15, 0}, {0.08, 0.33, 0.08}},
                 {"arm-right", {-0.33, 1.15, 0}, {0.08, 0.33, 0.08}},
                 {"leg-left", {0.13, 0.4, 0}, {0.1, 0.4, 0.11}},
                 {"leg-right", {-0.13, 0.4, 0}, {0.1, 0.4, 0.11}}};

/* Adds hitbox `part` of player p, counted from 0. */
static obb_put *add_part(struct demo *demo, int p, int part, obb_vec3 center, obb_vec3 half_extents,
                         double degrees)
{
    obb_put *put = add(demo, center, half_extents, degrees, "player-%d-%s", p + 1, body[part].name);
    char *entity = demo->entities[demo->count - 1];
    (void)snprintf(entity, NAME, "player-%d", p + 1);
    put->attributes.entity = obb_str_of(entity);
    put->attributes.category = PLAYER;
    put->attributes.group = -(p + 1); /* parts of one player never count as colliding */
    return put;
}

static void add_standing_players(struct demo *demo)
{
    static const struct {
        double x, z, cosine, sine, degrees;
    } stands[SRV_DEMO_PLAYERS] = {{-17, 0, 0, 1, 90},   {17, 0, 0, -1, -90},  {0, -17, 1, 0, 0},
                                  {0, 17, -1, 0, 180},  {0.2, 0.4, 1, 0, 0}, /* in the door */
                                  {-8.8, -5, 0, 1, 90}, /* against a pile of crates */
                                  {9, 2.5, 0, -1, -90}, {8.75, 2.7, 0, 1, 90}}; /* face to face */
    for (int p = 0; p < SRV_DEMO_PLAYERS; p++)
        for (int b = 0; b < PARTS; b++) {
            const obb_vec3 at = body[b].at; /* turned about y with the player */
            const obb_vec3 center = {stands[p].x + stands[p].cosine * at.x + stands[p].sine * at.z,
                                     at.y,
                                     stands[p].z - stands[p].sine * at.x + stands[p].cosine * at.z};
            add_part(demo, p, b, center, body[b].half_extents, stands[p].degrees);
        }
}

/* Players in frames. Their legs end a little above the floor, which they would meet at each
 * step. */
static void add_running_players(struct demo *demo)
{
    const double lifted = 0.02; /* metres */
    for (int p = 0; p < SRV_DEMO_PLAYERS; p++)
        for (int b = 0; b < PARTS; b++) {
            obb_vec3 half_extents = body[b].half_extents;
            if (body[b].at.y == half_extents.y)
                half_extents.y -= lifted;
            obb_put *part = add_part(demo, p, b, body[b].at, half_extents, 0);
            part->frame = demo->frames[p].target.name;
        }
}

static void on_done(struct srv_write *write) { (void)write; } /* the caller looks at the results */

obb_settings srv_demo_settings(obb_settings most)
{
    enum { SPAN_MS = 30000, COMMITS = 1024, SHOTS = 200 };
    return (obb_settings){.dimensions = 3,
                          .history_span = most.history_span < SPAN_MS ? most.history_span : SPAN_MS,
                          .history_commits =
                              most.history_commits < COMMITS ? most.history_commits : COMMITS,
                          .record = SHOTS};
}

obb_status srv_demo_create(struct srv_writer *writer, const obb_settings *settings, bool moves)
{
    struct demo *demo = obb_calloc(1, sizeof *demo);
    if (demo == NULL)
        return OBB_NO_MEMORY;
    if (moves) {
        srv_demo_frames(0.0, demo->frames);
        demo->frame_count = SRV_DEMO_FRAMES;
    }
    add_walls(demo);
    add_gate(demo);
    if (moves)
        add_turning_doors(demo);
    else
        add_still_door(demo);
    add_crates(demo);
    for (size_t i = 0; i < demo->count && moves; i++)
        demo->puts[i].attributes.group = YARD; /* crates rest on each other all the time */
    if (moves)
        add_running_players(demo);
    else
        add_standing_players(demo);

    struct obb_arena arena;
    obb_arena_init(&arena);
    const obb_edit edit = {.dimensions = 3,
                           .has_time = true,
                           .frames = demo->frames,
                           .frame_count = demo->frame_count,
                           .puts = demo->puts,
                           .put_count = demo->count};
    struct srv_write write = {.op = {.kind = SRV_OP_EDIT,
                                     .scene = obb_str_of(SRV_DEMO_SCENE),
                                     .settings = *settings,
                                     .edit = &edit},
                              .arena = &arena,
                              .at_once = true,
                              .done = on_done};
    srv_write(writer, &write);
    obb_arena_fini(&arena);
    obb_free(demo);
    return write.status;
}

void srv_demo_hints(FILE *out, const char *url, bool tokens, bool page)
{
    const bool local = strncmp(url, "unix:", 5) == 0;
    const char *token = tokens ? "-H \"Authorization: Bearer $TOKEN\" " : "";
    char base[256];
    if (local)
        (void)snprintf(base, sizeof base, "--unix-socket %s http://localhost", url + 5);
    else
        (void)snprintf(base, sizeof base, "%s", url);
    if (!page)
        (void)fputs("no web editor is built in; make page-deps run does that\n", out);
    else if (!local)
        (void)fprintf(out, "open:\n  %s/ for the web editor, %s/docs for the reference\n", url,
                      url);
    (void)fprintf(out, "try:\n  curl %s%s/v1/scenes/" SRV_DEMO_SCENE "\n", token, base);
    (void)fprintf(
        out,
        "  curl %s--json '{\"rays\":[{\"from\":[-19,1.2,0],\"to\":[19,1.2,0]}],\"mode\":\"all\"}' "
        "%s/v1/scenes/" SRV_DEMO_SCENE "/query/ray\n",
        token, base);
    (void)fprintf(out,
                  "  curl %s--json '{\"filter\":{\"mask\":4}}' "
                  "%s/v1/scenes/" SRV_DEMO_SCENE "/query/all-pairs\n",
                  token, base);
}
