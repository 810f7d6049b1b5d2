/* The worst requests of each kind that the contract allows. A request is a short list of parts,
 * each a text that is sent many times, so that bodies of 64 MiB take no memory here. */
#ifndef SOAK_WORST_H
#define SOAK_WORST_H

#include "tests/support/test.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What the scenes hold; bounds.c fills them. */
enum {
    WORST_BOXES = 10000, /* of each scene below but "heap" */
    WORST_HEAP = 3000,   /* of "heap", the pile that is followed */
    WORST_STATES = 32,   /* that "race" and "field" keep */
    WORST_STEP =
        50, /* milliseconds of the scene's clock between two commits of "race" and "field" */
    WORST_BODY_LIMIT = 64 << 20
};

/* The kinds, from 1. */
typedef enum worst_kind {
    WORST_OVERLAP = 1, /* 2,000 shapes, each of which finds 10,000 boxes */
    WORST_ALL_PAIRS,   /* 50 million pairs */
    WORST_PAIRS,       /* bodies near --body-limit */
    WORST_FITS,        /* inline boxes of 100,000 points */
    WORST_COMMITS,     /* of queries only */
    WORST_MERGES,      /* and bodies of scenes */
    WORST_RAYS,        /* through all boxes; sweeps, nearest */
    WORST_EVENTS,      /* of 4.5 million pairs, not read */
    WORST_EXPORTS,
    WORST_BODIES, /* imports, deep nesting, many keys, long names */
    WORST_PAST,   /* between two commits that moved all boxes */
    WORST_KINDS
} worst_kind;

extern const char *const worst_names[WORST_KINDS];

enum { WORST_PARTS = 6 };

/* A text that is sent `times` times. If digits > 0, the decimal digits at offset `slot` are
 * replaced by the number of the turn. */
struct worst_part {
    const char *text;
    size_t length, times, slot, digits;
};

struct worst_request {
    worst_kind kind;
    bool slow;     /* worth reading slowly: the answer is a stream */
    bool fleeting; /* the answer is longer than --request-timeout lasts, and its state goes: it is
                    * cut after that time, as the contract says */
    int also[3];   /* statuses that this request can cause beside 200, 413, 422, 503 */
    size_t length; /* of all bytes */
    struct worst_part parts[WORST_PARTS]; /* the first is the head */
    char head[512], own[1024];
};

/* Builds what the requests share. */
void worst_init(void);

/* Picks a request of this kind. newest: the time of the newest commit of "race". */
void worst_make(worst_kind kind, double newest, test_rng *rng, struct worst_request *out);

/* Writes the bytes of the request from offset `at` on into the room. Returns how many. */
size_t worst_bytes(const struct worst_request *request, size_t at, char *out, size_t room);

#endif
