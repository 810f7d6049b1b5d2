/* A file that holds the log of a scene, read line by line. Reading waits for the disk: not for the
 * loop, except before it runs. */
#ifndef SRV_LOG_FILE_H
#define SRV_LOG_FILE_H

#include "proto/wire.h"

#include <stdio.h>

/* Zeroed except for the first group. */
struct srv_log_file {
    const char *path; /* must outlive it */

    FILE *file;
    size_t line;     /* the number of the line read last, from 1 */
    char error[300]; /* once a call has failed: why, as one line */
    bool began;      /* it is a log: its first line was read */
};

/* Opens the file and reads the state that the log begins with. The effects load it into a scene
 * that was made with head->settings (obb_effects_prepare, begins); their list is in the arena,
 * which must outlive them. Returns false if the file cannot be read or is no log; file->error then
 * says why. The file must be closed in any case. */
bool srv_log_file_open(struct srv_log_file *file, struct obb_arena *arena, wire_log_head *out_head,
                       obb_effects *out_effects);

/* Writes "PATH, line N: why" of a call that failed. */
void srv_log_file_explain(const struct srv_log_file *file, char *out, size_t out_size);

/* Closes the file, also if it could not be opened or is closed already. */
void srv_log_file_close(struct srv_log_file *file);

typedef enum srv_log_read {
    SRV_LOG_COMMIT,
    SRV_LOG_END,
    SRV_LOG_BROKEN /* the line cannot be read, or does not follow */
} srv_log_read;

/* Reads the line of the next commit. now: the scene after the commits before it. The commit is in
 * the arena. SRV_LOG_BROKEN: file->error says why. */
srv_log_read srv_log_file_next(struct srv_log_file *file, const obb_scene_info *now,
                               struct obb_arena *arena, wire_log_commit *out);

#endif
