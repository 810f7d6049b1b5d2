#include "server/http/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_loopback(const srv_address *address)
{
    if (address->is_unix)
        return true;
    if (address->as.any.sa_family == AF_INET)
        return ntohl(address->as.v4.sin_addr.s_addr) >> 24 == 127;
    const struct in6_addr *v6 = &address->as.v6.sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(v6) || (IN6_IS_ADDR_V4MAPPED(v6) && v6->s6_addr[12] == 127);
}

bool srv_address_read(const char *text, srv_address *out, char *error, size_t error_size)
{
    *out = (srv_address){0};
    if (strncmp(text, "unix:", 5) == 0) {
        const char *path = text + 5;
        if (path[0] == '\0' || strlen(path) >= sizeof out->as.local.sun_path) {
            (void)snprintf(error, error_size,
                           "--listen: \"%.80s\": the path of a unix socket has 1 to %zu bytes",
                           text, sizeof out->as.local.sun_path - 1);
            return false;
        }
        out->as.local.sun_family = AF_UNIX;
        memcpy(out->as.local.sun_path, path, strlen(path) + 1);
        out->length = sizeof out->as.local;
        out->is_unix = out->loopback = true;
        return true;
    }

    char host[256];
    const char *colon = strrchr(text, ':');
    const char *from = text;
    size_t length = colon != NULL ? (size_t)(colon - text) : 0;
    if (length > 2 && text[0] == '[' && text[length - 1] == ']') {
        from++;
        length -= 2;
    } else if (memchr(text, ':', length) != NULL) {
        length = 0; /* a bare v6 address: where would its port start? */
    }
    char *end = NULL;
    errno = 0;
    const long port = colon != NULL ? strtol(colon + 1, &end, 10) : -1;
    if (length == 0 || length >= sizeof host || port < 0 || port > 65535 || errno != 0 ||
        end == NULL || colon[1] < '0' || colon[1] > '9' || *end != '\0') {
        (void)snprintf(error, error_size,
                       "--listen: \"%.80s\" is neither ADDR:PORT, [ADDR]:PORT nor unix:PATH", text);
        return false;
    }
    memcpy(host, from, length);
    host[length] = '\0';

    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    const int status = getaddrinfo(host, colon + 1, &hints, &found);
    if (status != 0) {
        (void)snprintf(error, error_size, "--listen: \"%.80s\": %s", text, gai_strerror(status));
        return false;
    }
    memcpy(&out->as, found->ai_addr, found->ai_addrlen);
    out->length = found->ai_addrlen;
    freeaddrinfo(found);
    out->loopback = is_loopback(out);
    return true;
}

/* Returns whether the file is a unix socket on which nobody listens. Does not wait: if the queue of
 * who listens there is full, connect says EAGAIN. */
static bool stale(const srv_address *address)
{
    struct stat file;
    if (lstat(address->as.local.sun_path, &file) != 0 || !S_ISSOCK(file.st_mode))
        return false;
    const int probe = socket(AF_UNIX, SOCK_STREAM, 0);
    if (probe < 0)
        return false;
    const bool refused = fcntl(probe, F_SETFL, O_NONBLOCK) == 0 &&
                         connect(probe, &address->as.any, address->length) != 0 &&
                         errno == ECONNREFUSED;
    (void)close(probe);
    return refused;
}

static void remember_file(srv_listener *listener)
{
    struct stat file;
    if (lstat(listener->address.as.local.sun_path, &file) != 0)
        return; /* somebody has removed it already */
    listener->device = file.st_dev;
    listener->inode = file.st_ino;
}

/* Called while the socket is open: until then no other file gets its inode. */
static void remove_file(const srv_listener *listener)
{
    const char *path = listener->address.as.local.sun_path;
    struct stat file;
    if (lstat(path, &file) == 0 && file.st_dev == listener->device &&
        file.st_ino == listener->inode)
        (void)unlink(path);
}

static bool bind_unix(int descriptor, srv_listener *listener)
{
    const srv_address *address = &listener->address;
    /* A chmod after bind would let others connect in between. The mask is the whole process's, but
     * only the main thread runs yet. */
    const mode_t before = umask(0117);
    int status = bind(descriptor, &address->as.any, address->length);
    int reason = errno;
    if (status != 0 && reason == EADDRINUSE && stale(address)) {
        (void)unlink(address->as.local.sun_path);
        status = bind(descriptor, &address->as.any, address->length);
        reason = errno;
    }
    (void)umask(before);
    if (status == 0)
        remember_file(listener);
    errno = reason;
    return status == 0;
}

static bool open_tcp(int descriptor, const srv_address *address)
{
    const int on = 1;
    if (setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0)
        return false;
    if (address->as.any.sa_family == AF_INET6 &&
        setsockopt(descriptor, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) != 0)
        return false;
    return bind(descriptor, &address->as.any, address->length) == 0;
}

static void describe(srv_listener *listener)
{
    srv_address *address = &listener->address;
    char host[INET6_ADDRSTRLEN] = "", port[8] = "";
    if (address->is_unix) {
        (void)snprintf(listener->url, sizeof listener->url, "unix:%s", address->as.local.sun_path);
        return;
    }
    (void)getnameinfo(&address->as.any, address->length, host, sizeof host, port, sizeof port,
                      NI_NUMERICHOST | NI_NUMERICSERV);
    const bool v6 = address->as.any.sa_family == AF_INET6;
    (void)snprintf(listener->host, sizeof listener->host, "%s%s%s", v6 ? "[" : "", host,
                   v6 ? "]" : "");
    (void)snprintf(listener->url, sizeof listener->url, "http%s://%s:%s",
                   address->secure ? "s" : "", listener->host, port);
}

bool srv_listener_open(const srv_address *address, srv_listener *out, char *error,
                       size_t error_size)
{
    *out = (srv_listener){.descriptor = -1, .address = *address};
    const int descriptor = socket(address->as.any.sa_family, SOCK_STREAM, 0);
    bool bound = false;
    if (descriptor >= 0 && fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0 &&
        fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0) {
        bound = address->is_unix ? bind_unix(descriptor, out) : open_tcp(descriptor, address);
        if (bound && listen(descriptor, SOMAXCONN) == 0) {
            out->descriptor = descriptor;
            if (!address->is_unix) /* the port, if 0 was asked for */
                (void)getsockname(descriptor, &out->address.as.any, &out->address.length);
            describe(out);
            return true;
        }
    }
    const int reason = errno;
    describe(out);
    (void)snprintf(error, error_size, "--listen: %s: %s", out->url, strerror(reason));
    if (bound && address->is_unix)
        remove_file(out);
    if (descriptor >= 0)
        (void)close(descriptor);
    return false;
}

void srv_listener_close(srv_listener *listener)
{
    if (listener->descriptor < 0)
        return;
    if (listener->address.is_unix)
        remove_file(listener);
    (void)close(listener->descriptor);
    listener->descriptor = -1;
}
