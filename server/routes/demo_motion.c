#include "server/routes/demo_motion.h"

#include <assert.h>
#include <math.h>

static const double pi = 3.14159265358979323846;

/* ---- Tracks ---------------------------------------------------------------------------------- */

/* The closed way of a player: a rectangle whose corners are quarters of a circle. Metres, and
 * metres a second. Tracks keep clear of walls, crates and pillars. Two lead through the gate, where
 * their players take turns. About twice in half a minute two players run into each other: the first
 * into the last one, after 2.6 s for the first time, and the seventh into the fifth, after 4 s. */
static const struct track {
    double x, z;           /* of the middle */
    double half_x, half_z; /* as far as the track reaches from there */
    double radius;         /* of the corners */
    double speed;          /* below 0: the other way round */
    double start;          /* how much of the track lies behind the player at second 0, 0 to 1 */
} tracks[SRV_DEMO_PLAYERS] = {{0, 0, 17.4, 17.4, 4, 5, 0.05},
                              {0, 0, 18.6, 18.6, 4, -5.5, 0.4},
                              {1.7, 0, 1.7, 2.7, 1.3, 2.6, 0},
                              {-1.7, 0, 1.7, 2.7, 1.3, -2.6, 0.818},
                              {10.3, 3.8, 2.4, 3.9, 1.3, 3.4, 0.0447},
                              {-10, 0, 2.4, 7.6, 1.4, 4.5, 0.7},
                              {10.2, -3.8, 2.4, 3.9, 1.3, -4.25, 0.8769},
                              {0, 14.8, 2.6, 2.55, 1.3, 2.776, 0.7874}};
enum { AT_GATE = 2, AT_GATE_TOO = 3 }; /* the players whose tracks lead through the gate */

static double track_length(const struct track *track)
{
    return 4.0 * (track->half_x - track->radius) + 4.0 * (track->half_z - track->radius) +
           2.0 * pi * track->radius;
}

/* Returns the remainder of a division, from 0 on and below the divisor. */
static double wrapped(double value, double divisor)
{
    const double rest = fmod(value, divisor);
    return rest < 0.0 ? rest + divisor : rest;
}

/* Returns how far the player has come on the track, in metres from its first corner. */
static double way_of(const struct track *track, double seconds)
{
    const double length = track_length(track);
    return wrapped(track->start * length + track->speed * seconds, length);
}

/* Writes the place on the track after `way` metres, and the degrees about y from +z to its
 * direction. The track begins at the end of the side at -x, where that meets the corner at -x and
 * +z, and goes round by +x. */
static void place_on(const struct track *track, double way, obb_vec3 *out_place,
                     double *out_degrees)
{
    const double corner = 0.5 * pi * track->radius;
    double x = -track->half_x, z = track->half_z - track->radius;
    double heading = 0.0; /* radians from +z towards +x */
    for (int side = 0; side < 4; side++) {
        const double angle = fmin(way, corner) / track->radius;
        /* towards the middle of the corner's circle: 90 degrees to the right of the heading */
        const double ahead = track->radius * sin(angle),
                     inwards = track->radius * (1.0 - cos(angle));
        x += ahead * sin(heading) + inwards * cos(heading);
        z += ahead * cos(heading) - inwards * sin(heading);
        heading += angle;
        way -= fmin(way, corner);
        const double half = side % 2 == 0 ? track->half_x : track->half_z;
        const double straight = fmin(way, 2.0 * (half - track->radius));
        x += straight * sin(heading);
        z += straight * cos(heading);
        way -= straight;
        if (way <= 0.0)
            break;
    }
    *out_place = (obb_vec3){track->x + x, 0.0, track->z + z};
    *out_degrees = heading * 180.0 / pi;
}

/* ---- Poses ----------------------------------------------------------------------------------- */

static obb_pose pose_of(const char *name, obb_vec3 center, obb_vec3 axis, double degrees)
{
    obb_pose pose = {.target = {.name = obb_str_of(name)},
                     .center = center,
                     .has_center = true,
                     .has_rotation = true};
    const obb_status status = obb_quat_from_axis_angle(axis, degrees, &pose.rotation);
    assert(status == OBB_OK); /* the axes stand in this file, and the degrees are finite */
    (void)status;
    return pose;
}

/* Returns 0 up to `from`, 1 from `to` on, and a smooth way between. */
static double rise(double value, double from, double to)
{
    const double t = fmin(fmax((value - from) / (to - from), 0.0), 1.0);
    return t * t * (3.0 - 2.0 * t);
}

/* Returns how far the gate is open for a player, 0 to 1. It swings away before the player is there,
 * and back when he is out of its reach. */
static double open_for(int player, double seconds)
{
    const struct track *track = &tracks[player];
    const double length = track_length(track);
    /* the gate is in the middle of a side along z: of that at -x, or of that at +x */
    const double gate = (track->x > 0.0 ? length : 0.5 * length) - (track->half_z - track->radius);
    const double way = way_of(track, seconds) - gate;
    const double past = wrapped((track->speed > 0.0 ? way : -way) + 0.5 * length, length);
    return rise(past - 0.5 * length, -1.6, -0.6) - rise(past - 0.5 * length, 2.4, 3.6);
}

void srv_demo_frames(double seconds, obb_pose out[static SRV_DEMO_FRAMES])
{
    static const char *const players[SRV_DEMO_PLAYERS] = {"player-1", "player-2", "player-3",
                                                          "player-4", "player-5", "player-6",
                                                          "player-7", "player-8"};
    const obb_vec3 up = {0, 1, 0};
    for (int i = 0; i < SRV_DEMO_PLAYERS; i++) {
        obb_vec3 place;
        double degrees;
        place_on(&tracks[i], way_of(&tracks[i], seconds), &place, &degrees);
        out[i] = pose_of(players[i], place, up, tracks[i].speed < 0.0 ? degrees + 180.0 : degrees);
    }
    const double open = fmax(open_for(AT_GATE, seconds), open_for(AT_GATE_TOO, seconds));
    const double turn = wrapped(40.0 * seconds, 360.0); /* degrees */
    obb_pose *doors = &out[SRV_DEMO_PLAYERS];
    doors[0] = pose_of("gate-leaf", (obb_vec3){-0.93, 0, 0}, up, -90.0 * open);
    doors[1] = pose_of("turning-west", (obb_vec3){-3, 0, -13.5}, up, turn);
    doors[2] = pose_of("turning-east", (obb_vec3){3, 0, -13.5}, up, -turn);
}

void srv_demo_limbs(double seconds, obb_pose out[static SRV_DEMO_SWINGS])
{
#define LIMBS(player)                                                                              \
    {                                                                                              \
        "player-" player "-arm-left", "player-" player "-arm-right", "player-" player "-leg-left", \
            "player-" player "-leg-right"                                                          \
    }
    static const char *const names[SRV_DEMO_PLAYERS][SRV_DEMO_LIMBS] = {
        LIMBS("1"), LIMBS("2"), LIMBS("3"), LIMBS("4"),
        LIMBS("5"), LIMBS("6"), LIMBS("7"), LIMBS("8")};
    static const struct {
        double x, joint, down; /* where the limb hangs, and how far below that its middle is */
        double swing;          /* degrees, when the stride is longest */
    } limbs[SRV_DEMO_LIMBS] = {{0.33, 1.46, 0.31, 34},
                               {-0.33, 1.46, 0.31, -34},
                               {0.13, 0.8, 0.4, -30},
                               {-0.13, 0.8, 0.4, 30}};
    const double stride = 2.4; /* metres that a player runs in two steps */
    for (int i = 0; i < SRV_DEMO_PLAYERS; i++) {
        const double phase = 2.0 * pi * wrapped(fabs(tracks[i].speed) * seconds / stride, 1.0);
        for (int k = 0; k < SRV_DEMO_LIMBS; k++) {
            const double degrees = limbs[k].swing * sin(phase), angle = degrees * pi / 180.0;
            const obb_vec3 center = {limbs[k].x, limbs[k].joint - limbs[k].down * cos(angle),
                                     -limbs[k].down * sin(angle)};
            out[i * SRV_DEMO_LIMBS + k] =
                pose_of(names[i][k], center, (obb_vec3){1, 0, 0}, degrees);
        }
    }
#undef LIMBS
}
