/* Two boxes of a state, as lists of pairs have them. */
#ifndef OBB_BOX_PAIR_H
#define OBB_BOX_PAIR_H

struct obb_version;

typedef struct obb_box_pair {
    const struct obb_version *a, *b; /* a has the smaller id */
} obb_box_pair;

#endif
