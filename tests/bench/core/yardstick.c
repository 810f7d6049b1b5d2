#include "tests/bench/core/yardstick.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BOXES "build/bench/yardstick.bin"

struct head {
    char magic[4];
    uint32_t count, kind, more;
};

struct record {
    float center[3], half[3], axes[9], rotation[4], none;
};

static void require(bool good, const char *what)
{
    if (good)
        return;
    perror(what);
    exit(EXIT_FAILURE);
}

static const char *program(void)
{
    const char *name = getenv("YARDSTICK");
    return name != NULL && *name != '\0' ? name : NULL;
}

bool yardstick_given(void) { return program() != NULL; }

static void write_boxes(const struct ours_world *world)
{
    const size_t count = ours_world_count(world);
    FILE *file = fopen(BOXES, "wb");
    require(file != NULL, BOXES);
    const struct head head = {.magic = {'O', 'B', 'B', '1'}, .count = (uint32_t)count};
    require(fwrite(&head, sizeof head, 1, file) == 1, BOXES);
    for (size_t i = 0; i < count; i++) {
        ours_box box;
        struct record record = {.none = 0};
        ours_world_box(world, i, &box);
        for (int k = 0; k < 3; k++) {
            record.center[k] = (float)box.center[k];
            record.half[k] = (float)box.half[k];
            for (int axis = 0; axis < 3; axis++)
                record.axes[3 * k + axis] = (float)box.axis[axis][k];
        }
        for (int k = 0; k < 4; k++)
            record.rotation[k] = (float)box.rotation[k];
        require(fwrite(&record, sizeof record, 1, file) == 1, BOXES);
    }
    require(fclose(file) == 0, BOXES);
}

double yardstick_run(const struct ours_world *world, unsigned turns)
{
    char command[4096], line[1024];
    write_boxes(world);
    const int length = snprintf(command, sizeof command, "%s %s %u", program(), BOXES, turns);
    require(length > 0 && (size_t)length < sizeof command, "the yardstick");
    /* The program is chosen by whoever runs the benchmark. NOLINTNEXTLINE(cert-env33-c) */
    FILE *out = popen(command, "r");
    require(out != NULL, command);
    double ms = 0;
    while (fgets(line, sizeof line, out) != NULL) {
        const char *found = strstr(line, "total min ");
        if (found != NULL && ms == 0)
            ms = strtod(found + strlen("total min "), NULL);
    }
    require(pclose(out) == 0 && ms > 0, command);
    require(remove(BOXES) == 0, BOXES);
    return ms * 1e-3;
}
