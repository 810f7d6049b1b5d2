#include "tests/bench/core/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SCENE = 48, ROWS = 1000, LINE = 512, FIELDS = 12 };

/* A line of an earlier CSV file, or of the golden file. */
struct known {
    char scene[SCENE], kernel[16], unit[16];
    size_t n;
    unsigned workers;
    double least;
    uint64_t hash;
};

/* The table that is being written: there is one in a process. */
static struct report {
    FILE *csv;
    const char *golden_path;
    bool learn;
    struct known base[ROWS], golden[ROWS];
    size_t base_count, golden_count, rows, hashes, failures;
    char compiler[64], cpu[128];
    const char *commit;
} report;

double report_clock(unsigned workers)
{
    struct timespec now;
    (void)clock_gettime(workers == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- Runs ------------------------------------------------------------------------------------ */

void report_begin(report_runs *runs)
{
    runs->count = 0;
    runs->differ = false;
    runs->begun = report_clock(0);
}

bool report_goes_on(const report_runs *runs)
{
    const double passed = report_clock(0) - runs->begun;
    return runs->count < 3 || (runs->count < 5 && passed < 2.0) ||
           (runs->count < REPORT_RUNS && passed < 0.5);
}

void report_add(report_runs *runs, double seconds, uint64_t hash)
{
    runs->differ = runs->differ || (runs->count > 0 && hash != runs->hash);
    runs->hash = hash;
    runs->seconds[runs->count++] = seconds;
}

double report_least(const report_runs *runs)
{
    double least = runs->seconds[0];
    for (size_t i = 1; i < runs->count; i++)
        least = runs->seconds[i] < least ? runs->seconds[i] : least;
    return least;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double report_median(report_runs *runs)
{
    qsort(runs->seconds, runs->count, sizeof runs->seconds[0], by_value);
    return runs->seconds[runs->count / 2];
}

uint64_t report_mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

uint64_t report_mix_double(uint64_t hash, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return report_mix(hash, bits);
}

/* ---- Files ----------------------------------------------------------------------------------- */

static FILE *must_open(const char *path, const char *mode)
{
    FILE *file = fopen(path, mode);
    if (file == NULL) {
        perror(path);
        exit(EXIT_FAILURE);
    }
    return file;
}

/* Cuts a line at its commas; how many fields it has, the rest of them empty. */
static size_t split(char *line, const char *fields[FIELDS])
{
    size_t count = 0;
    line[strcspn(line, "\n")] = '\0';
    for (size_t i = 0; i < FIELDS; i++)
        fields[i] = "";
    while (count < FIELDS && line != NULL) {
        fields[count++] = line;
        line = strchr(line, ',');
        if (line != NULL)
            *line++ = '\0';
    }
    return count;
}

/* The lines of a file: scene, n, and then the hash (golden results), or kernel, workers, min,
 * median, unit, hash and more. */
static size_t read_rows(const char *path, bool golden, struct known rows[ROWS])
{
    FILE *file = must_open(path, "r");
    char line[LINE];
    const char *fields[FIELDS];
    size_t count = 0;
    while (count < ROWS && fgets(line, sizeof line, file) != NULL) {
        if (split(line, fields) < (golden ? 3 : 8))
            continue;
        struct known *row = &rows[count++];
        (void)snprintf(row->scene, sizeof row->scene, "%s", fields[0]);
        row->n = (size_t)strtoull(fields[1], NULL, 10);
        if (!golden) {
            (void)snprintf(row->kernel, sizeof row->kernel, "%s", fields[2]);
            row->workers = (unsigned)strtoul(fields[3], NULL, 10);
            row->least = strtod(fields[4], NULL);
        }
        row->hash = strtoull(fields[golden ? 2 : 7], NULL, 16);
    }
    (void)fclose(file);
    return count;
}

static void look_at_cpu(char *out, size_t room)
{
    FILE *file = fopen("/proc/cpuinfo", "r");
    char line[LINE];
    (void)snprintf(out, room, "unknown");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (strncmp(line, "model name", 10) == 0 && strchr(line, ':') != NULL) {
            (void)snprintf(out, room, "%s", strchr(line, ':') + 2);
            out[strcspn(out, "\n,")] = '\0';
            break;
        }
    if (file != NULL)
        (void)fclose(file);
}

void report_open(const char *csv, const char *base, const char *golden, bool learn)
{
    memset(&report, 0, sizeof report);
    report.csv = must_open(csv, "w");
    report.golden_path = golden;
    report.learn = learn;
    if (base != NULL && *base != '\0')
        report.base_count = read_rows(base, false, report.base);
    if (golden != NULL && !learn)
        report.golden_count = read_rows(golden, true, report.golden);
#if defined __clang__
    (void)snprintf(report.compiler, sizeof report.compiler, "clang %s", __clang_version__);
#else
    (void)snprintf(report.compiler, sizeof report.compiler, "gcc %s", __VERSION__);
#endif
    look_at_cpu(report.cpu, sizeof report.cpu);
    report.commit = getenv("COMMIT");
    report.commit = report.commit != NULL ? report.commit : "unknown";
    (void)fprintf(report.csv, "scene,n,kernel,workers,min,median,unit,hash,commit,compiler,cpu\n");
    (void)printf("%s, %s, commit %s\n", report.cpu, report.compiler, report.commit);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

void report_title(const char *title)
{
    (void)printf("\n%-42s %8s %-8s %2s %10s %10s %-4s%s\n", title, "n", "kernel", "w", "min",
                 "median", "unit", report.base_count > 0 ? "   of base" : "");
}

void report_failure(const char *what)
{
    report.failures++;
    (void)printf("FAILED: %s\n", what);
}

static void write_row(const struct known *row, double median, const char *hash)
{
    (void)printf("%-42s %8zu %-8s %2u %10.4g %10.4g %-4s", row->scene, row->n, row->kernel,
                 row->workers, row->least, median, row->unit);
    for (size_t i = 0; i < report.base_count; i++) {
        const struct known *base = &report.base[i];
        if (strcmp(base->scene, row->scene) == 0 && base->n == row->n &&
            strcmp(base->kernel, row->kernel) == 0 && base->workers == row->workers &&
            base->least > 0)
            (void)printf(" %9.2fx", row->least / base->least);
    }
    (void)putchar('\n');
    (void)fflush(stdout);
    (void)fprintf(report.csv, "%s,%zu,%s,%u,%.6g,%.6g,%s,%s,%s,%s,%s\n", row->scene, row->n,
                  row->kernel, row->workers, row->least, median, row->unit, hash, report.commit,
                  report.compiler, report.cpu);
    (void)fflush(report.csv);
    report.rows++;
}

static void judge(const struct known *row, bool differ)
{
    char text[160];
    const struct known *golden = NULL;
    for (size_t i = 0; i < report.golden_count && golden == NULL; i++)
        if (strcmp(report.golden[i].scene, row->scene) == 0 && report.golden[i].n == row->n)
            golden = &report.golden[i];
    if (golden == NULL && (report.learn || report.golden_path == NULL) &&
        report.golden_count < ROWS) {
        report.golden[report.golden_count++] = *row; /* what the next kernel must agree with */
        golden = row;
    }
    report.hashes++;
    if (golden == NULL || golden->hash != row->hash || differ) {
        (void)snprintf(text, sizeof text, "%s of %zu, %s, %u workers: %s", row->scene, row->n,
                       row->kernel, row->workers,
                       golden == NULL ? "no golden result"
                       : differ       ? "results differ from run to run"
                                      : "a wrong result");
        report_failure(text);
    }
}

void report_row(const char *scene, size_t n, const char *kernel, unsigned workers,
                report_runs *runs, double per, const char *unit)
{
    const double scale = (strcmp(unit, "ns") == 0 ? 1e9 : 1e3) / per;
    struct known row = {
        .n = n, .workers = workers, .least = report_least(runs) * scale, .hash = runs->hash};
    (void)snprintf(row.scene, sizeof row.scene, "%s", scene);
    (void)snprintf(row.kernel, sizeof row.kernel, "%s", kernel);
    (void)snprintf(row.unit, sizeof row.unit, "%s", unit);
    char hash[24];
    (void)snprintf(hash, sizeof hash, "%016llx", (unsigned long long)row.hash);
    write_row(&row, report_median(runs) * scale, hash);
    judge(&row, runs->differ);
}

void report_figure(const char *scene, size_t n, const char *kernel, double value, const char *unit)
{
    struct known row = {.n = n, .workers = 1, .least = value};
    (void)snprintf(row.scene, sizeof row.scene, "%s", scene);
    (void)snprintf(row.kernel, sizeof row.kernel, "%s", kernel);
    (void)snprintf(row.unit, sizeof row.unit, "%s", unit);
    write_row(&row, value, "");
}

int report_close(void)
{
    (void)fclose(report.csv);
    if (report.learn && report.golden_path != NULL) {
        FILE *file = must_open(report.golden_path, "w");
        for (size_t i = 0; i < report.golden_count; i++)
            (void)fprintf(file, "%s,%zu,%016llx\n", report.golden[i].scene, report.golden[i].n,
                          (unsigned long long)report.golden[i].hash);
        (void)fclose(file);
    }
    (void)printf("\n%zu rows, %zu results looked at, %zu failures\n", report.rows, report.hashes,
                 report.failures);
    return report.failures > 0 || report.hashes == 0;
}
