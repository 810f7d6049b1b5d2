/* Who may do what: the tokens of the token file. */
#ifndef SRV_AUTH_H
#define SRV_AUTH_H

#include "proto/wire.h"

#include <stdio.h>

struct srv_auth; /* immutable once loaded */

/* Reads the file. false: error holds one line, and nothing of it is used. */
bool srv_auth_load(const char *path, struct srv_auth **out, char *error, size_t error_size);

/* The same from the bytes of a file, which are taken over (obb_malloc) whatever the answer. */
bool srv_auth_create(char *bytes, size_t length, struct srv_auth **out, char *error,
                     size_t error_size);
void srv_auth_destroy(struct srv_auth *auth); /* NULL is fine */
size_t srv_auth_count(const struct srv_auth *auth);

/* The token that an Authorization header ("Bearer …"; NULL: none was sent) shows, if it is one of them and has not expired
 * at `now` (seconds since 1970); else NULL. Takes the same time for any text of that length. */
const wire_token *srv_auth_find(const struct srv_auth *auth, const char *authorization,
                                int64_t now);

/* Does one of the token's patterns match the scene's name? */
bool srv_auth_scene(const wire_token *token, obb_str scene);

/* Does the pattern, in which * stands for any run of bytes, match the whole name? O(pattern * name). */
bool srv_auth_match(obb_str pattern, obb_str name);

/* For --new-token: makes a token, and writes it and the entry for the token file, which holds just its hash. scopes: as in "read,write";
 * scenes: patterns, as in "match-*,lobby". false: error holds one line. */
bool srv_auth_new(const char *name, const char *scopes, const char *scenes, FILE *out, char *error,
                  size_t error_size);

#endif
