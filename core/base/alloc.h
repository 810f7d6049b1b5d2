/* Memory from the heap, with products checked for overflow. Tests make the n-th call fail by wrapping
 * malloc, calloc and realloc at link time, so core keeps no state for it. */
#ifndef OBB_ALLOC_H
#define OBB_ALLOC_H

#include <stddef.h>

/* count * size bytes, or NULL when there is no memory or the product overflows. A count or size of 0 gives
 * a pointer that may be freed. obb_calloc zeroes. */
void *obb_malloc(size_t count, size_t size);
void *obb_calloc(size_t count, size_t size);

/* The block grown or shrunk to count * size bytes; on NULL the old block is untouched and still owned. */
void *obb_realloc(void *block, size_t count, size_t size);

void obb_free(void *block); /* NULL is fine */

#endif
