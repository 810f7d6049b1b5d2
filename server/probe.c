#include "server/probe.h"

#include "server/http/listen.h"

#include <errno.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum { PATIENCE_S = 3 };

/* Replaces a wildcard address, to which nobody can connect, by loopback. */
static void reachable(srv_address *address)
{
    if (address->as.any.sa_family == AF_INET && address->as.v4.sin_addr.s_addr == INADDR_ANY)
        address->as.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    else if (address->as.any.sa_family == AF_INET6 &&
             IN6_IS_ADDR_UNSPECIFIED(&address->as.v6.sin6_addr))
        address->as.v6.sin6_addr = in6addr_loopback;
}

bool srv_probe(const srv_config *config, char *error, size_t error_size)
{
    static const char request[] =
        "GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    srv_address address;
    if (!srv_address_read(config->listen.items[0], &address, error, error_size))
        return false;
    reachable(&address);
    const bool secure = config->tls_cert != NULL && !address.is_unix;
    const struct timeval patience = {.tv_sec = PATIENCE_S};
    const int s = socket(address.as.any.sa_family, SOCK_STREAM, 0);
    char answer[16] = "";
    ssize_t got = -1;
    if (s >= 0 && setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0 &&
        setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) == 0 &&
        connect(s, &address.as.any, address.length) == 0 &&
        send(s, request, sizeof request - 1, MSG_NOSIGNAL) == (ssize_t)(sizeof request - 1))
        got = recv(s, answer, sizeof answer - 1, MSG_WAITALL);
    const int reason = errno;
    if (s >= 0)
        (void)close(s);
    if (got >= 0 && (secure || strncmp(answer, "HTTP/1.1 200", 12) == 0))
        return true;
    (void)snprintf(error, error_size, "--probe: %s: %s", config->listen.items[0],
                   got >= 0 ? "it is not ready" : strerror(reason));
    return false;
}
