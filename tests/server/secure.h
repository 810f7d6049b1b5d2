/* A service that speaks HTTPS, and clients for it. For the programs of this folder: each includes
 * it once. */
#ifndef TEST_SERVER_SECURE_H
#define TEST_SERVER_SECURE_H

#include "tests/server/certificates.h"
#include "tests/server/files.h"

#include <curl/curl.h>

static inline void setup_secure(void)
{
    name_files();
    write_file(certificate, first_certificate);
    write_file(key, first_key);
    service_start((const char *[]){"--tls-cert", certificate, "--tls-key", key, "--listen",
                                   listen_local, NULL});
}

struct heard_bytes {
    char bytes[65536];
    size_t length;
};

static inline size_t take(char *bytes, size_t size, size_t count, void *to)
{
    struct heard_bytes *out = to;
    const size_t length = size * count;
    if (length > sizeof out->bytes - 1 - out->length)
        return 0;
    memcpy(out->bytes + out->length, bytes, length);
    out->length += length;
    out->bytes[out->length] = '\0';
    return length;
}

/* A client that trusts the given certificate, for localhost whoever it is issued to. */
static inline CURL *secure_client(const char *trusted)
{
    const char *file = trust[trusted == second_certificate];
    CURL *curl = curl_easy_init();
    ck_assert_ptr_nonnull(curl);
    char url[64];
    (void)snprintf(url, sizeof url, "https://127.0.0.1:%d/v1/scenes", service_port);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    write_file(file, trusted);
    curl_easy_setopt(curl, CURLOPT_CAINFO, file);
    curl_easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 0L);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take);
    return curl;
}

static inline CURLcode fetch(CURL *curl, struct heard_bytes *out)
{
    out->length = 0;
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, out);
    return curl_easy_perform(curl);
}

#endif
