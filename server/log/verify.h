/* Verifying a log: --verify. Plays it into a scene of its own, and compares the hash of each
 * state, which is over what the state holds (obb_digest_content). It does not cover how a commit
 * leads to its state: teleports, and which ids its new boxes get. */
#ifndef SRV_VERIFY_H
#define SRV_VERIFY_H

#include <stddef.h>

typedef enum srv_verdict {
    SRV_VERIFY_EQUAL,     /* every state has the hash that the log says */
    SRV_VERIFY_DIFFERS,   /* one has not; the line names its revision */
    SRV_VERIFY_UNREADABLE /* the file cannot be read, or is no log; the line says where */
} srv_verdict;

/* Verifies the file and writes one line for people, without its newline. Takes the memory of the
 * scene and of the longest line. */
srv_verdict srv_verify(const char *path, char *line, size_t line_size);

#endif
