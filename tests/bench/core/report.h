/* What a benchmark says: rows on the screen and in a CSV file, beside the rows of an earlier file, each result held against what
 * is known to be right. C and C++; one thread. */
#ifndef BENCH_CORE_REPORT_H
#define BENCH_CORE_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Seconds: of one worker those that the process spent on processors, which other programs lengthen little; else those of the wall. */
double report_clock(unsigned workers);

/* Runs of one thing. */
enum { REPORT_RUNS = 1000 };
typedef struct report_runs {
    double seconds[REPORT_RUNS];
    size_t count;
    double begun;
    uint64_t hash; /* of the result of every run; see report_run_of */
    bool differ;   /* runs gave different results */
} report_runs;

void report_begin(report_runs *runs);

/* Five runs at least, and more for half a second; of slow things (2 s and more in all) three. */
bool report_goes_on(const report_runs *runs);

/* A run that took so long, and its result. */
void report_add(report_runs *runs, double seconds, uint64_t hash);

double report_least(const report_runs *runs);
double report_median(report_runs *runs); /* puts the runs in order */

/* Results become one number, by (hash, next value) -> hash; begins with any, such as the number of values. */
uint64_t report_mix(uint64_t hash, uint64_t value);
uint64_t report_mix_double(uint64_t hash, double value); /* its bits */

/* Opens the CSV file to be written; `base` (an earlier one) and `golden` (lines of scene, n, hash) are read; each may be NULL.
 * With `learn`, report_close writes the golden file instead of comparing with it. */
void report_open(const char *csv, const char *base, const char *golden, bool learn);

/* Scenes are named without commas. A row: times are divided by `per` (things done in a run) and shown in the unit, ms or ns. A scene and n have one hash for all
 * kernels and workers; a run whose hash is another, or whose golden one is missing, is a failure. */
void report_row(const char *scene, size_t n, const char *kernel, unsigned workers,
                report_runs *runs, double per, const char *unit);

/* A row that is no time: a count, bytes, or a share. No hash. */
void report_figure(const char *scene, size_t n, const char *kernel, double value, const char *unit);

void report_title(
    const char *title); /* a line above the rows that follow; NULL: the table's head alone */
void report_failure(const char *what);

/* Says how much was looked at; the exit status of main: failures, or nothing looked at, are 1. */
int report_close(void);

#ifdef __cplusplus
}
#endif

#endif
