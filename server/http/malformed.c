#include "server/http/malformed.h"

#include "server/http/exchange.h"

#include <microhttpd.h>
#include <stdio.h>
#include <string.h>

bool srv_malformed_is_told(const char *format) { return strstr(format, "Content-Length") != NULL; }

void srv_malformed_answer(struct srv_connections *connections, struct srv_lingerers *lingerers)
{
    static const char body[] =
        "{\"type\":\"/problems/bad-request\",\"title\":\"the request is not valid\",\"status\":400,"
        "\"detail\":\"a header field is malformed\"}";
    char answer[512];
    const int length = snprintf(
        answer, sizeof answer,
        "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n"
        "Content-Type: %s\r\nX-Content-Type-Options: nosniff\r\nContent-Length: %zu\r\n\r\n%s",
        wire_media_type(WIRE_PROBLEM), sizeof body - 1, body);
    for (struct srv_connection *c = connections->newest; c != NULL; c = c->older) {
        struct srv_exchange *x = c->exchange;
        if (x == NULL || x->headers_seen || x->malformed ||
            MHD_get_connection_info(c->mhd, MHD_CONNECTION_INFO_REQUEST_HEADER_SIZE) == NULL)
            continue;
        x->malformed = true;
        srv_linger(lingerers, c->descriptor);
        if (!c->secure) /* a TLS client could not read plain text */
            (void)send(c->descriptor, answer, (size_t)length, MSG_NOSIGNAL | MSG_DONTWAIT);
        (void)shutdown(c->descriptor, SHUT_WR);
        return;
    }
}
