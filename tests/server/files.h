/* Files that the service reads: tokens, certificate and key, in a folder of their own. And requests
 * with further header lines. For the programs of this folder and below: each includes it once. */
#ifndef TEST_SERVER_FILES_H
#define TEST_SERVER_FILES_H

#include "tests/server/service.h"

#include <stdlib.h>
#include <sys/stat.h>

static char folder[64], tokens[128], certificate[128], key[128], trust[2][128];
static char local[100], listen_local[160];

static inline void name_files(void)
{
    (void)snprintf(folder, sizeof folder, "%s/obbd-service-XXXXXX", test_folder());
    ck_assert_ptr_nonnull(mkdtemp(folder));
    (void)snprintf(tokens, sizeof tokens, "%s/tokens", folder);
    (void)snprintf(certificate, sizeof certificate, "%s/certificate", folder);
    (void)snprintf(key, sizeof key, "%s/key", folder);
    for (int i = 0; i < 2; i++)
        (void)snprintf(trust[i], sizeof trust[i], "%s/trust-%d", folder, i);
    (void)snprintf(local, sizeof local, "%s/socket", folder);
    (void)snprintf(listen_local, sizeof listen_local, "unix:%s", local);
}

static inline void remove_files(void)
{
    (void)unlink(tokens);
    (void)unlink(certificate);
    (void)unlink(key);
    for (int i = 0; i < 2; i++)
        (void)unlink(trust[i]);
    ck_assert_int_eq(rmdir(folder), 0); /* so the socket is gone, too */
}

static inline void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

__attribute__((format(printf, 4, 5))) static inline int
ask_with(const char *fields, const char *method, const char *path, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    const int answer = ask_v(fields, method, path, format, values);
    va_end(values);
    return answer;
}

static inline void stop_and_remove(void)
{
    service_stop();
    remove_files();
}

/* Hashes of "reader", "writer", "admin", "late" and "pen", which may write and not read. */
__attribute__((unused)) static const char token_file[] =
    "{\"tokens\":["
    "{\"name\":\"r\",\"sha256\":"
    "\"3d0941964aa3ebdcb00ccef58b1bb399f9f898465e9886d5aec7f31090a0fb30\","
    "\"scopes\":[\"read\"],\"scenes\":[\"*\"]},"
    "{\"name\":\"w\",\"sha256\":"
    "\"b93006774cbdd4b299389a03ac3d88c3a76b460d538795bc12718011a909fba5\","
    "\"scopes\":[\"read\",\"write\"],\"scenes\":[\"match-*\"]},"
    "{\"name\":\"a\",\"sha256\":"
    "\"8c6976e5b5410415bde908bd4dee15dfb167a9c873fc4bb8a81f6f2ab448a918\","
    "\"scopes\":[\"read\",\"write\",\"admin\"],\"scenes\":[\"*\"]},"
    "{\"name\":\"l\",\"sha256\":"
    "\"089001a35679a33ef3db0ca350db9b9a2f0136e0e327577b04b3b98127470961\","
    "\"scopes\":[\"read\"],\"scenes\":[\"*\"],\"expires\":\"2020-01-01T00:00:00Z\"},"
    "{\"name\":\"p\",\"sha256\":"
    "\"e21a6b0cb193057e06ac16b813443b3e6abae0db22762c6956a78ea049453058\","
    "\"scopes\":[\"write\"],\"scenes\":[\"*\"]}]}";

#define READER "Authorization: Bearer reader\r\n"
#define WRITER "Authorization: Bearer writer\r\n"
#define ADMIN  "Authorization: Bearer admin\r\n"
#define PEN    "Authorization: Bearer pen\r\n"
#define BOX    "{\"center\":[0,0,0],\"half_extents\":[1,1,1]}"

/* Starts the service with these tokens, and makes two scenes with a box each. */
static inline void setup_tokens(void)
{
    name_files();
    write_file(tokens, token_file);
    service_start((const char *[]){"--token-file", tokens, NULL});
    ck_assert_int_eq(ask_with(ADMIN, "PUT", "/v1/scenes/match-1/boxes/a", BOX), 201);
    ck_assert_int_eq(ask_with(ADMIN, "PUT", "/v1/scenes/other/boxes/a", BOX), 201);
}

#endif
