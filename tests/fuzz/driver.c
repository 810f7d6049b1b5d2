/* Replays the corpus and the regressions of a fuzz target without a fuzzer: every file of
 * tests/fuzz/corpus/NAME and tests/fuzz/regress/NAME. The program is called fuzz_NAME. A finding
 * aborts and names the file. */
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LARGEST = 1 << 20 };

static char current[640]; /* the file being replayed, named on a finding */

static void name_current(int signal_number)
{
    (void)signal_number;
    (void)!write(STDERR_FILENO, current, strlen(current));
}

static void replay(const char *path)
{
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = malloc(LARGEST);
    if (file == NULL || bytes == NULL) {
        perror(path);
        exit(EXIT_FAILURE);
    }
    const size_t length = fread(bytes, 1, LARGEST, file);
    (void)fclose(file);
    uint8_t *exact =
        realloc(bytes, length > 0 ? length : 1); /* so that a sanitizer sees a read past the end */
    if (exact == NULL)
        exit(EXIT_FAILURE);
    (void)snprintf(current, sizeof current, "%s\n", path);
    (void)LLVMFuzzerTestOneInput(exact, length);
    free(exact);
}

static size_t replay_folder(const char *kind, const char *name)
{
    char folder[256], path[600];
    (void)snprintf(folder, sizeof folder, "tests/fuzz/%s/%s", kind, name);
    DIR *dir = opendir(folder);
    size_t count = 0;
    for (const struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        replay(path);
        count++;
    }
    if (dir != NULL)
        (void)closedir(dir);
    return count;
}

int main(int argc, char **argv)
{
    const char *own = strrchr(argc > 0 ? argv[0] : "", '/');
    own = own != NULL ? own + 1 : argv[0];
    const char *name = strncmp(own, "fuzz_", 5) == 0 ? own + 5 : own;
    (void)signal(SIGABRT, name_current);
    const size_t corpus = replay_folder("corpus", name), regress = replay_folder("regress", name);
    printf("%s: %zu inputs of the corpus, %zu regressions\n", name, corpus, regress);
    if (corpus == 0)
        printf("%s: the corpus is empty\n", name);
    /* the line of Check that run.sh reads */
    printf("%d%%: Checks: %zu, Failures: %d, Errors: 0\n", corpus > 0 ? 100 : 0, corpus + regress,
           corpus == 0);
    return corpus > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
