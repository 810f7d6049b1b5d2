/* Details: the facts about a pair that `want` adds to an answer. Internal to core. */
#ifndef OBB_DETAILS_H
#define OBB_DETAILS_H

#include "core/query/query.h"

/* Returns the wanted details of a pair (bits OBB_WANT_…); all other members are 0. */
obb_details obb_details_of(unsigned want, const obb_solid *a, const obb_solid *b);

#endif
