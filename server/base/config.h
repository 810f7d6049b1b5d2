/* The options of the command line and the environment. One table, config.def, drives reading,
 * --help and the variables. */
#ifndef SRV_CONFIG_H
#define SRV_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

typedef struct srv_list {
    /* An owned array of texts that belong to argv, the environment or the config. */
    const char **items;
    size_t count;
} srv_list;

typedef struct srv_config {
/* COUNT: 0 is none. SIZE: bytes. MODE: 0 is off, 1 on, 2 the first word. CHOICE: the index of the
 * word. SYNC: ms, 0 is commit. TEXT: NULL is none. */
#define SRV_TYPE_LIST                                                      srv_list
#define SRV_TYPE_HOSTS                                                     srv_list
#define SRV_TYPE_ORIGINS                                                   srv_list
#define SRV_TYPE_COUNT                                                     uint64_t
#define SRV_TYPE_SIZE                                                      uint64_t
#define SRV_TYPE_NUMBER                                                    double
#define SRV_TYPE_FLAG                                                      bool
#define SRV_TYPE_MODE                                                      int
#define SRV_TYPE_CHOICE                                                    int
#define SRV_TYPE_SYNC                                                      uint64_t
#define SRV_TYPE_TEXT                                                      const char *
#define SRV_OPTION(kind, flag, field, fallback, low, high, argument, help) SRV_TYPE_##kind field;
#define SRV_COMMAND(kind, flag, field, argument, help)                     SRV_TYPE_##kind field;
#include "server/base/config.def"
#undef SRV_OPTION
#undef SRV_COMMAND
    bool help, version; /* --help, --version */
    char *split;        /* owned: the texts of lists from the environment */
} srv_config;

/* The values of --demo. */
enum { SRV_DEMO_OFF, SRV_DEMO_MOVES, SRV_DEMO_STILL };

/* Reads the options from the arguments (argv[0] is skipped), then the options still open from the
 * environment ("NAME=value" texts, then NULL), then the defaults. The texts of argv and the
 * environment must outlive the config. Returns false if an option is wrong, or if a variable that
 * begins with OBBD_ is no option: error then holds one line, which may quote a value as it was
 * given, and *out needs no srv_config_fini. */
bool srv_config_read(int argc, char **argv, char **environment, srv_config *out, char *error,
                     size_t error_size);
void srv_config_fini(srv_config *config);

/* Writes the text of --help. */
void srv_config_help(FILE *out);

#endif
