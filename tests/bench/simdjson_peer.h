/* simdjson behind a C interface, as a peer to measure against. */
#ifndef TEST_BENCH_SIMDJSON_PEER_H
#define TEST_BENCH_SIMDJSON_PEER_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Reads {"put":{name:{"center":[..],"half_extents":[..],"rotation":[..]},...}} on demand. Returns
 * the sum of all its numbers, so that each is read. The caller provides 64 readable bytes behind
 * the document. NaN on any fault. */
double simdjson_peer_sum(const char *bytes, size_t length);

/* Reads the same document as a tree and validates all of it. Returns the number of boxes, 0 on any
 * fault. */
size_t simdjson_peer_tree(const char *bytes, size_t length);

#ifdef __cplusplus
}
#endif
#endif
