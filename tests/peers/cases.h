/* The pairs of tests/support/pairs.h with their true measures, in plain types that C++ can read. */
#ifndef TEST_PEERS_CASES_H
#define TEST_PEERS_CASES_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct peer_box {
    double center[3], half[3];
    double axis[3][3]; /* unit vectors */
};

struct peer_case {
    struct peer_box box[2];
    int ours;            /* obb_sat_overlap */
    double our_distance; /* obb_closest_boxes */
    /* By exact arithmetic. */
    double gap;    /* the largest over the axes: <= 0 overlap */
    double extent; /* of the pair */
    double blur;   /* the least e such that |R| + e in place of |R| makes an overlap of the pair */
    double alike;  /* length of the shortest cross product of two edges */
};

int peer_classes(void);
const char *peer_class_name(int kind);

/* Writes case `index` of a class. The caller asks for the indices of a class in turn, from 0. */
void peer_case_make(int kind, size_t index, struct peer_case *out);

/* Returns the true distance of that pair. */
double peer_case_distance(int kind, size_t index);

#ifdef __cplusplus
}
#endif

#endif
