#include "server/probe.h"

#include "server/http/listen.h"

#include <errno.h>
#include <gnutls/gnutls.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_S = 3, STATUS_LINE = 12 /* bytes of it that matter */ };

static const char request[] =
    "GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
enum { REQUEST = sizeof request - 1 };

/* Replaces a wildcard address, to which nobody can connect, by loopback. */
static void reachable(srv_address *address)
{
    if (address->as.any.sa_family == AF_INET && address->as.v4.sin_addr.s_addr == INADDR_ANY)
        address->as.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    else if (address->as.any.sa_family == AF_INET6 &&
             IN6_IS_ADDR_UNSPECIFIED(&address->as.v6.sin6_addr))
        address->as.v6.sin6_addr = in6addr_loopback;
}

/* Connects to the address. Each wait ends after PATIENCE_S. Returns -1 on failure, with the reason
 * in errno. */
static int reach(const srv_address *address)
{
    const struct timeval patience = {.tv_sec = PATIENCE_S};
    const int s = socket(address->as.any.sa_family, SOCK_STREAM, 0);
    if (s >= 0 && setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience) == 0 &&
        setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) == 0 &&
        connect(s, &address->as.any, address->length) == 0)
        return s;
    const int reason = errno;
    if (s >= 0)
        (void)close(s);
    errno = reason;
    return -1;
}

/* Both functions ask for /readyz, and write the beginning of the answer, terminated, which is empty
 * if the other side has closed. They return NULL, or the reason why they failed. */
static const char *ask_plainly(int s, char answer[static STATUS_LINE + 1])
{
    if (send(s, request, REQUEST, MSG_NOSIGNAL) != REQUEST)
        return strerror(errno);
    const ssize_t got = recv(s, answer, STATUS_LINE, MSG_WAITALL);
    if (got < 0)
        return strerror(errno);
    answer[got] = '\0';
    return NULL;
}

/* Is it worth to call GnuTLS again? It asks for that after messages of its own, too. */
static bool go_on(ssize_t status, time_t start)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return status < 0 && gnutls_error_is_fatal((int)status) == 0 && now.tv_sec - start < PATIENCE_S;
}

static const char *talk(gnutls_session_t session, char answer[static STATUS_LINE + 1])
{
    struct timespec start;
    (void)clock_gettime(CLOCK_MONOTONIC, &start);
    ssize_t status;
    do
        status = gnutls_handshake(session);
    while (go_on(status, start.tv_sec));
    if (status == GNUTLS_E_SUCCESS)
        do
            status = gnutls_record_send(session, request, REQUEST);
        while (go_on(status, start.tv_sec));
    size_t length = 0;
    while (status > 0 && length < STATUS_LINE) {
        do
            status = gnutls_record_recv(session, answer + length, STATUS_LINE - length);
        while (go_on(status, start.tv_sec));
        length += status > 0 ? (size_t)status : 0;
    }
    answer[length] = '\0';
    return status < 0 ? gnutls_strerror((int)status) : NULL;
}

/* The certificate is not verified: the daemon is asked at an address of its own machine, for which
 * it need not be issued. */
static const char *ask_secretly(int s, char answer[static STATUS_LINE + 1])
{
    gnutls_session_t session;
    gnutls_certificate_credentials_t nobody;
    int status = gnutls_init(&session, GNUTLS_CLIENT | GNUTLS_NO_SIGNAL);
    if (status < 0)
        return gnutls_strerror(status);
    status = gnutls_certificate_allocate_credentials(&nobody);
    if (status < 0) {
        gnutls_deinit(session);
        return gnutls_strerror(status);
    }
    const char *reason = NULL;
    status = gnutls_set_default_priority(session);
    if (status >= 0)
        status = gnutls_credentials_set(session, GNUTLS_CRD_CERTIFICATE, nobody);
    if (status < 0) {
        reason = gnutls_strerror(status);
    } else {
        gnutls_transport_set_int(session, s);
        reason = talk(session, answer);
    }
    gnutls_deinit(session);
    gnutls_certificate_free_credentials(nobody);
    return reason;
}

bool srv_probe(const srv_config *config, char *error, size_t error_size)
{
    const char *where = config->listen.items[0];
    srv_address address;
    if (!srv_address_read(where, &address, error, error_size))
        return false;
    reachable(&address);
    const bool secure = config->tls_cert != NULL && !address.is_unix;
    char answer[STATUS_LINE + 1] = "";
    const int s = reach(&address);
    const char *reason;
    if (s < 0)
        reason = strerror(errno);
    else
        reason = (secure ? ask_secretly : ask_plainly)(s, answer);
    if (s >= 0)
        (void)close(s);
    if (reason == NULL && strcmp(answer, "HTTP/1.1 200") == 0)
        return true;
    (void)snprintf(error, error_size, "--probe: %s: %s", where,
                   reason == NULL ? "it is not ready" : reason);
    return false;
}
