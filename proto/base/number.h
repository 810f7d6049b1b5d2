/* Text to doubles: always the nearest double. */
#ifndef WIRE_NUMBER_H
#define WIRE_NUMBER_H

/* Reads the longest number of JSON's grammar (RFC 8259, 6) that [at, end) begins with. Does not
 * depend on the locale.
 *
 * returns  the end of the number, or NULL if there is none.
 * *out     the nearest double, ties to even; -0.0 for "-0"; infinite if the number is out of range.
 * Cost     about 5 ns for short numbers, 15 ns for 17 digits. A number near a tie of two doubles is
 *          compared with the tie in integers of up to 2,800 bits: at most about 10 us.
 * Source   W. Clinger, "How to Read Floating Point Numbers Accurately", PLDI 1990 (exact powers);
 *          D. Lemire, "Number Parsing at a Gigabyte per Second", 2021 (one 128-bit product). */
const char *wire_number_read(const char *at, const char *end, double *out);

#endif
