/* The output of a benchmark: rows on the screen and in a CSV file, beside the rows of an earlier
 * file. Each result is compared with a known right one. For C and C++; one thread. */
#ifndef BENCH_CORE_REPORT_H
#define BENCH_CORE_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Returns seconds. For one worker they are processor time of the process, which other programs
 * lengthen little; for more workers they are time on the wall. */
double report_clock(unsigned workers);

/* The runs of one thing. */
enum { REPORT_RUNS = 1000 };
typedef struct report_runs {
    double seconds[REPORT_RUNS];
    size_t count;
    double begun;
    uint64_t hash; /* of the result of every run */
    bool differ;   /* runs gave different results */
} report_runs;

void report_begin(report_runs *runs);

/* Should there be another run? There are at least five, and more until half a second has passed. If
 * the runs took 2 s in all, three are enough. */
bool report_goes_on(const report_runs *runs);

/* Adds a run: its seconds, and the hash of its result. */
void report_add(report_runs *runs, double seconds, uint64_t hash);

double report_least(const report_runs *runs);
double report_median(report_runs *runs); /* sorts the runs */

/* Mixes the next value of a result into its hash. The first hash is any number, such as the number
 * of values. */
uint64_t report_mix(uint64_t hash, uint64_t value);
uint64_t report_mix_double(uint64_t hash, double value); /* its bits */

/* Opens the CSV file for writing. Reads `base`, an earlier CSV file, and `golden`, lines of scene,
 * n and hash. Each may be NULL. With `learn`, report_close writes the golden file and nothing is
 * compared with it. */
void report_open(const char *csv, const char *base, const char *golden, bool learn);

/* Writes a row. Times are divided by `per`, the number of things done in a run, and shown in the
 * unit, ms or ns. A scene and n have one hash for all kernels and workers. A run with another hash,
 * or without a golden one, is a failure. The name of a scene has no comma. */
void report_row(const char *scene, size_t n, const char *kernel, unsigned workers,
                report_runs *runs, double per, const char *unit);

/* Writes a row without times and hash: a count, bytes, or a share. */
void report_figure(const char *scene, size_t n, const char *kernel, double value, const char *unit);

void report_title(
    const char *title); /* a line above the rows that follow; NULL: only the head of the table */
void report_failure(const char *what);

/* Prints how much was looked at. Returns the exit status for main: 1 after a failure, or if nothing
 * was looked at. */
int report_close(void);

#ifdef __cplusplus
}
#endif

#endif
