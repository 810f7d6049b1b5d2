/* Two boxes of a state, as lists of pairs have them. */
#ifndef OBB_BOX_PAIR_H
#define OBB_BOX_PAIR_H

#include <stdint.h>

struct obb_version;

typedef struct obb_box_pair {
    const struct obb_version *a, *b; /* a has the smaller id */
} obb_box_pair;

/* A pair with its ids, for those who compare many pairs: the id in a version is a cache miss. */
typedef struct obb_id_pair {
    uint64_t id[2]; /* of boxes.a and boxes.b */
    obb_box_pair boxes;
} obb_id_pair;

#endif
