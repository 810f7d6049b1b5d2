#include "server/access/auth.h"
#include "server/base/log.h"
#include "server/data.h"
#include "server/journal/backup.h"
#include "server/log/verify.h"
#include "server/probe.h"
#include "server/server.h"

#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

extern char **environ; /* POSIX has it in no header */

/* Prints the error as one line, whatever bytes the texts that it quotes hold. */
static int fail(char *error)
{
    srv_log_one_line(error);
    (void)fprintf(stderr, "obbd: %s\n", error);
    return EXIT_FAILURE;
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
    return verdict == SRV_VERIFY_EQUAL ? EXIT_SUCCESS : EXIT_FAILURE;
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
    return EXIT_SUCCESS;
}

/* Copies the folder of --data and prints the one line about it. */
static int backup(const srv_config *config)
{
    char line[600];
    if (!srv_backup(config->data, config->backup, line, sizeof line))
        return fail(line);
    srv_log_one_line(line);
    (void)printf("obbd: %s\n", line);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    tune_heap();
    char error[512];
    srv_config config;
    if (!srv_config_read(argc, argv, environ, &config, error, sizeof error))
        return fail(error);
    if (config.help || config.version) {
        if (config.help)
            srv_config_help(stdout);
        else
            srv_server_version(stdout);
        srv_config_fini(&config);
        return EXIT_SUCCESS;
    }

    if (config.verify != NULL || config.check_data != NULL || config.backup != NULL) {
        const int result = config.verify != NULL       ? verify(&config)
                           : config.check_data != NULL ? check_data(&config)
                                                       : backup(&config);
        srv_config_fini(&config);
        return result;
    }
    if (config.probe || config.new_token != NULL) {
        const bool good =
            config.probe
                ? srv_probe(&config, error, sizeof error)
                : srv_auth_new(config.new_token, config.scopes != NULL ? config.scopes : "read",
                               config.scenes != NULL ? config.scenes : "*", stdout, error,
                               sizeof error);
        srv_config_fini(&config);
        return good ? EXIT_SUCCESS : fail(error);
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
