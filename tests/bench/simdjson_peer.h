/* simdjson behind C, as a peer to measure against. */
#ifndef TEST_BENCH_SIMDJSON_PEER_H
#define TEST_BENCH_SIMDJSON_PEER_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Reads {"put":{name:{"center":[..],"half_extents":[..],"rotation":[..]},...}} on demand; the sum of all its numbers, so that none is left
 * unread. The bytes must be followed by 64 more. NaN on any fault. */
double simdjson_peer_sum(const char *bytes, size_t length);

/* The same document as a tree, all of it validated: how many boxes it has, 0 on any fault. */
size_t simdjson_peer_tree(const char *bytes, size_t length);

#ifdef __cplusplus
}
#endif
#endif
