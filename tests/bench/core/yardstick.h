/* The yardstick of all pairs: a program of its own that does the search alone, given on the command
 * line of `make bench-peers`. It is run in the same minutes as core, on the same boxes. */
#ifndef BENCH_CORE_YARDSTICK_H
#define BENCH_CORE_YARDSTICK_H

#include "tests/bench/core/ours.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Is there a yardstick? It is the program that the environment variable YARDSTICK names. */
bool yardstick_given(void);

/* Writes the boxes of the world to the file build/bench/yardstick.bin, runs the yardstick on the
 * file, and deletes it. Returns the seconds of the fastest of `turns` turns: an index built and all
 * pairs found, on one thread. Ends the program if the yardstick fails.
 *
 * The program is called as `program FILE TURNS`. The file has a head of four 32-bit numbers
 * ("OBB1", the number of boxes, 0, 0) and 20 floats a box: centre, half extents, the three axes as
 * columns of a matrix written by rows, the rotation as x, y, z, w, and 0. The program prints "total
 * min " and milliseconds in its first line that has these words. */
double yardstick_run(const struct ours_world *world, unsigned turns);

#ifdef __cplusplus
}
#endif

#endif
