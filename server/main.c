#include "server/access/auth.h"
#include "server/base/log.h"
#include "server/data.h"
#include "server/journal/backup.h"
#include "server/log/verify.h"
#include "server/probe.h"
#include "server/server.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

extern char **environ; /* POSIX has it in no header */

/* Prints the error as one line, whatever bytes the texts that it quotes hold. */
static int fail(char *error)
{
    srv_log_one_line(error);
    (void)fprintf(stderr, "obbd: %s\n", error);
    return EXIT_FAILURE;
}

/* Opens /dev/null for reading in place of each of stdin, stdout and stderr that is closed.
 * Otherwise a socket or a file of the service would get that number: output and log lines would go
 * there, and libuv would abort when it closes it. Writing to such a descriptor fails, as to a
 * closed one. */
static void open_standard(void)
{
    int descriptor;
    do
        descriptor = open("/dev/null", O_RDONLY);
    while (descriptor >= 0 && descriptor <= STDERR_FILENO);
    if (descriptor >= 0)
        (void)close(descriptor);
}

/* Ends what was printed. Returns `status`, or says why it did not arrive and returns 1. */
static int end_output(int status)
{
    char error[128];
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    (void)snprintf(error, sizeof error, "stdout: %s", strerror(errno));
    return fail(error);
}

/* Raises the limit of descriptors to what --connection-limit needs, as far as the system allows:
 * each connection is a descriptor. */
static void raise_descriptors(const srv_config *config)
{
    enum { OTHERS = 256 }; /* listeners, libuv's own, files */
    const rlim_t wanted = (rlim_t)config->connection_limit + OTHERS;
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted)
        return;
    limit.rlim_cur = wanted < limit.rlim_max ? wanted : limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit); /* if refused, clients wait at the old limit */
}

/* Lets all threads use one heap, and gives large blocks back to the system as soon as they are
 * freed, except those that are kept in stock (core/base/stock.h).
 *
 * With the heaps that glibc gives to threads, workers leave memory behind that the loop frees later
 * and cannot use: a million boxes took 400 bytes each instead of 355, and their loading a system
 * call for every 128 KiB. glibc raises the size from which a block has pages of its own to that of
 * the largest block freed, up to 32 MiB. Then large bodies and results leave holes in the heap:
 * under the worst requests (make soak) the peak was 470 MiB beside the scenes with a memory limit
 * of 256 MiB, and is 262 MiB with this size fixed. */
static void tune_heap(void)
{
    enum { LARGE = 256 * 1024, KEPT = 1024 * 1024 }; /* bytes */
    (void)mallopt(M_ARENA_MAX, 1);
    (void)mallopt(M_MMAP_THRESHOLD, LARGE);
    (void)mallopt(M_TRIM_THRESHOLD, KEPT);
}

/* Verifies the log and prints the one line about it. */
static int verify(const srv_config *config)
{
    char line[600];
    const srv_verdict verdict = srv_verify(config->verify, line, sizeof line);
    if (verdict == SRV_VERIFY_UNREADABLE)
        return fail(line);
    srv_log_one_line(line);
    (void)printf("obbd: %s\n", line);
    return end_output(verdict == SRV_VERIFY_EQUAL ? EXIT_SUCCESS : EXIT_FAILURE);
}

/* Looks at a folder of --data and prints the one line about it. */
static int check_data(const srv_config *config)
{
    char line[600];
    const size_t threads = config->workers != 0 ? config->workers : srv_pool_default();
    if (!srv_data_check(config->check_data, threads, line, sizeof line))
        return fail(line);
    srv_log_one_line(line);
    (void)printf("obbd: %s\n", line);
    return end_output(EXIT_SUCCESS);
}

/* Copies the folder of --data and prints the one line about it. */
static int backup(const srv_config *config)
{
    char line[600];
    if (!srv_backup(config->data, config->backup, line, sizeof line))
        return fail(line);
    srv_log_one_line(line);
    (void)printf("obbd: %s\n", line);
    return end_output(EXIT_SUCCESS);
}

/* Makes a token and prints it. */
static int new_token(const srv_config *config)
{
    char error[512];
    if (!srv_auth_new(config->new_token, config->scopes != NULL ? config->scopes : "read",
                      config->scenes != NULL ? config->scenes : "*", stdout, error, sizeof error))
        return fail(error);
    return end_output(EXIT_SUCCESS);
}

/* Asks a daemon whether it is ready. */
static int probe(const srv_config *config)
{
    char error[512];
    return srv_probe(config, error, sizeof error) ? EXIT_SUCCESS : fail(error);
}

static int print_help(const srv_config *config)
{
    if (config->help)
        srv_config_help(stdout);
    else
        srv_server_version(stdout);
    return end_output(EXIT_SUCCESS);
}

/* Returns the command that stands in the options in place of the service, or NULL. */
static int (*command_of(const srv_config *config))(const srv_config *)
{
    return config->help || config->version ? print_help
           : config->verify != NULL        ? verify
           : config->check_data != NULL    ? check_data
           : config->backup != NULL        ? backup
           : config->probe                 ? probe
           : config->new_token != NULL     ? new_token
                                           : NULL;
}

int main(int argc, char **argv)
{
    open_standard();
    tune_heap();
    /* a file that is longer than the limit of the process (ulimit -f) is an error of write, too */
    (void)signal(SIGXFSZ, SIG_IGN);
    char error[512];
    srv_config config;
    if (!srv_config_read(argc, argv, environ, &config, error, sizeof error))
        return fail(error);
    int (*const command)(const srv_config *) = command_of(&config);
    if (command != NULL) {
        const int result = command(&config);
        srv_config_fini(&config);
        return result;
    }

    /* writing to a client that went is an error of write, and must not end the process */
    (void)signal(SIGPIPE, SIG_IGN);
    raise_descriptors(&config);
    struct srv_server *server;
    int status;
    if (srv_server_create(&config, &server, error, sizeof error)) {
        status = srv_server_run(server, stdout);
        srv_server_destroy(server);
    } else {
        status = fail(error);
    }
    srv_config_fini(&config);
    return status;
}
