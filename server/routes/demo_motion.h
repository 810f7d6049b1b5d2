/* Where everything that moves in the scene of --demo is at a time: eight players that run, the door
 * of the gate, which opens for them, and two doors that turn. A pure function of the time: whoever
 * asks for the same second gets the same poses. */
#ifndef SRV_DEMO_MOTION_H
#define SRV_DEMO_MOTION_H

#include "core/obb.h"

enum {
    SRV_DEMO_PLAYERS = 8,
    SRV_DEMO_LIMBS = 4, /* of a player: both arms and both legs */
    SRV_DEMO_DOORS = 3,
    SRV_DEMO_FRAMES = SRV_DEMO_PLAYERS + SRV_DEMO_DOORS,
    SRV_DEMO_SWINGS = SRV_DEMO_PLAYERS * SRV_DEMO_LIMBS
};

/* Writes the poses of the frames, first those of the players, whose feet are at the origin of the
 * frame and who look along +z in it, then those of the doors, which turn about the y axis of the
 * frame and lie along its x axis. The leaf of the gate reaches from the origin along +x. Their
 * names are "player-1" to "player-8", "gate-leaf", "turning-west" and "turning-east". seconds: any
 * finite number. */
void srv_demo_frames(double seconds, obb_pose out[static SRV_DEMO_FRAMES]);

/* Writes the poses of the arms and legs in the frames of their players, four for each player in the
 * order arm-left, arm-right, leg-left, leg-right. Their names are "player-1-arm-left" and so on. */
void srv_demo_limbs(double seconds, obb_pose out[static SRV_DEMO_SWINGS]);

#endif
