/* What `want` adds about a pair. Internal to core. */
#ifndef OBB_DETAILS_H
#define OBB_DETAILS_H

#include "core/query/query.h"

obb_details obb_details_of(unsigned want, const obb_solid *a, const obb_solid *b);

#endif
