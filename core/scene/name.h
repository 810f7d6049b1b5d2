/* Names of scenes, boxes and entities. */
#ifndef OBB_NAME_H
#define OBB_NAME_H

#include "core/base/str.h"

#include <stdbool.h>

#define OBB_MAX_NAME 128 /* bytes */

/* Returns true for 1 to OBB_MAX_NAME bytes of UTF-8 without control characters (C0, DEL, C1),
 * except "." and "..". Safe from any thread. */
bool obb_name_valid(obb_str name);

#endif
