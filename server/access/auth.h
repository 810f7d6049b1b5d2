/* The tokens of the token file: their scopes and their scenes. */
#ifndef SRV_AUTH_H
#define SRV_AUTH_H

#include "proto/wire.h"

#include <stdio.h>

struct srv_auth; /* immutable once loaded */

/* Reads the file. Returns false if it cannot be read or is not valid: error then holds one line. */
bool srv_auth_load(const char *path, struct srv_auth **out, char *error, size_t error_size);

/* Reads the bytes of a file, likewise. Takes over `bytes` (obb_malloc), also if it fails. */
bool srv_auth_create(char *bytes, size_t length, struct srv_auth **out, char *error,
                     size_t error_size);
void srv_auth_destroy(struct srv_auth *auth); /* accepts NULL */

/* Returns the number of tokens. */
size_t srv_auth_count(const struct srv_auth *auth);

/* Finds the token of an Authorization field. authorization: "Bearer …", or NULL if none was sent.
 * now: seconds since 1970. Returns NULL if the token is not in the file or has expired. Takes the
 * same time for all texts of one length. */
const wire_token *srv_auth_find(const struct srv_auth *auth, const char *authorization,
                                int64_t now);

/* Finds a token by its hash, expired or not. sha256: SRV_TOKEN_HASH bytes. NULL: it is not in the
 * file. */
const wire_token *srv_auth_find_hash(const struct srv_auth *auth, const unsigned char *sha256);

/* Returns whether one of the token's patterns matches the scene's name. */
bool srv_auth_scene(const wire_token *token, obb_str scene);

/* Returns whether the pattern matches the whole name. * stands for any run of bytes. O(pattern *
 * name). */
bool srv_auth_match(obb_str pattern, obb_str name);

/* Makes a token for --new-token. Writes the token, and its entry for the token file, which holds
 * only its hash. scopes: a list, as "read,write". scenes: a list of patterns, as "match-*,lobby".
 * Returns false if a parameter is wrong or the system has no randomness: error then holds one
 * line. */
bool srv_auth_new(const char *name, const char *scopes, const char *scenes, FILE *out, char *error,
                  size_t error_size);

#endif
