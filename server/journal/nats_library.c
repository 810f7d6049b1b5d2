#include "server/journal/nats_library.h"

#include <dlfcn.h>
#include <nats/version.h>
#include <stdio.h>
#include <string.h>

#define TEXT_OF(number)       #number
#define FILE_OF(major, minor) "libnats.so." TEXT_OF(major) "." TEXT_OF(minor)

static const struct symbol {
    const char *name;
    size_t place; /* in struct srv_nats_library */
} symbols[] = {
#define SYMBOL(name) {#name, offsetof(struct srv_nats_library, name)},
    SRV_NATS_FUNCTIONS(SYMBOL)
#undef SYMBOL
};

bool srv_nats_library_open(struct srv_nats_library *out, char *error, size_t error_size)
{
    void *library = dlopen(FILE_OF(NATS_VERSION_MAJOR, NATS_VERSION_MINOR), RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        (void)snprintf(error, error_size, "the client library of NATS cannot be opened: %s",
                       dlerror());
        return false;
    }
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        void *found = dlsym(library, symbols[i].name);
        if (found == NULL) {
            (void)snprintf(error, error_size, "the client library of NATS has no %s",
                           symbols[i].name);
            return false;
        }
        memcpy((char *)out + symbols[i].place, (const void *)&found, sizeof found);
    }
    return true;
}
