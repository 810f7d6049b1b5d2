/* What the command line and the environment say. One table, config.def, drives all of it. */
#ifndef SRV_CONFIG_H
#define SRV_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct srv_list {
    const char *
        *items; /* owned array of texts that belong to argv, the environment or the config */
    size_t count;
} srv_list;

typedef struct srv_config {
#define SRV_TYPE_LIST                                                      srv_list
#define SRV_TYPE_HOSTS                                                     srv_list
#define SRV_TYPE_ORIGINS                                                   srv_list
#define SRV_TYPE_COUNT                                                     uint64_t /* 0 where there is no default and nothing was given */
#define SRV_TYPE_SIZE                                                      uint64_t /* bytes */
#define SRV_TYPE_NUMBER                                                    double
#define SRV_TYPE_FLAG                                                      bool
#define SRV_TYPE_CHOICE                                                    int /* index of the word */
#define SRV_TYPE_TEXT                                                      const char * /* NULL: none */
#define SRV_OPTION(kind, flag, field, fallback, low, high, argument, help) SRV_TYPE_##kind field;
#define SRV_COMMAND(kind, flag, field, argument, help)                     SRV_TYPE_##kind field;
#include "server/base/config.def"
#undef SRV_OPTION
#undef SRV_COMMAND
    bool help, version; /* asked for: print it and end */
    char *split;        /* owned: what the environment's lists were cut from */
} srv_config;

typedef const char *srv_getenv(void *context, const char *name);

/* Reads arguments (argv[0] is skipped), what they leave open from the environment, and the rest from the defaults.
 * false: *out is finished already and error says in one line what is wrong and why; a value that it quotes is as it was given.
 * The texts of argv and the environment must live as long as the config. */
bool srv_config_read(int argc, char **argv, srv_getenv *environment, void *context, srv_config *out,
                     char *error, size_t error_size);
void srv_config_fini(srv_config *config);

/* The text of --help. */
void srv_config_help(FILE *out);

#endif
