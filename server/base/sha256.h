/* SHA-256 (FIPS 180-4), for short texts: tokens are kept as their hashes. */
#ifndef SRV_SHA256_H
#define SRV_SHA256_H

#include <stddef.h>

enum { SRV_SHA256 = 32 };

/* About 5 ns a byte; no allocation. */
void srv_sha256(const void *bytes, size_t length, unsigned char out[static SRV_SHA256]);

#endif
