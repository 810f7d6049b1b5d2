/* The smallest possible HTTP server: one thread, epoll, and the same answer to every request. Any
 * further cost of another server is its own.
 *
 * Usage: fixed TCP UNIX BODY: the descriptors of two listening sockets, and the answer. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { EVENTS = 256, REQUEST = 4096, DESCRIPTORS = 4096 };

struct client {
    size_t length;
    char bytes[REQUEST];
};

static struct client *clients[DESCRIPTORS];

/* The length of the request at the start of the text, 0 while it is not all there. */
static size_t request_length(const char *text, size_t length)
{
    const char *end = strstr(text, "\r\n\r\n");
    if (end == NULL)
        return 0;
    size_t body = 0;
    for (const char *line = strstr(text, "\r\n"); line < end; line = strstr(line + 2, "\r\n"))
        if (strncasecmp(line + 2, "content-length:", 15) == 0)
            body = strtoul(line + 17, NULL, 10);
    const size_t total = (size_t)(end - text) + 4 + body;
    return total <= length ? total : 0;
}

static bool serve(int descriptor, const char *answer, size_t answer_length)
{
    struct client *c = clients[descriptor];
    const ssize_t n = read(descriptor, c->bytes + c->length, REQUEST - 1 - c->length);
    if (n <= 0)
        return n < 0 && errno == EAGAIN;
    c->length += (size_t)n;
    c->bytes[c->length] = '\0';
    const size_t request = request_length(c->bytes, c->length);
    if (request == 0)
        return c->length < REQUEST - 1;
    c->length -= request;
    memmove(c->bytes, c->bytes + request, c->length);
    return send(descriptor, answer, answer_length, MSG_NOSIGNAL) == (ssize_t)answer_length;
}

static void watch(int poll, int descriptor)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = descriptor};
    (void)fcntl(descriptor, F_SETFL, O_NONBLOCK);
    (void)epoll_ctl(poll, EPOLL_CTL_ADD, descriptor, &event);
}

static void welcome(int poll, int listener)
{
    const int descriptor = accept(listener, NULL, NULL), on = 1;
    if (descriptor < 0)
        return;
    if (descriptor >= DESCRIPTORS ||
        (clients[descriptor] = calloc(1, sizeof *clients[descriptor])) == NULL) {
        (void)close(descriptor);
        return;
    }
    (void)setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on,
                     sizeof on); /* not on a unix socket */
    watch(poll, descriptor);
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    char answer[2048];
    const int length = snprintf(answer, sizeof answer,
                                "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                                "Content-Length: %zu\r\n\r\n%s",
                                strlen(argv[3]), argv[3]);
    if (length < 0 || (size_t)length >= sizeof answer)
        return 2;
    const int tcp = (int)strtol(argv[1], NULL, 10), local = (int)strtol(argv[2], NULL, 10);
    const int poll = epoll_create1(0);
    watch(poll, tcp);
    watch(poll, local);
    for (;;) {
        struct epoll_event events[EVENTS];
        const int ready = epoll_wait(poll, events, EVENTS, -1);
        for (int i = 0; i < ready; i++) {
            const int descriptor = events[i].data.fd;
            if (descriptor == tcp || descriptor == local) {
                welcome(poll, descriptor);
            } else if (!serve(descriptor, answer, (size_t)length)) {
                free(clients[descriptor]);
                (void)close(descriptor);
            }
        }
    }
}
