/* Decimal text to the nearest double. */
#ifndef WIRE_NUMBER_H
#define WIRE_NUMBER_H

/* Reads a number of JSON's grammar (RFC 8259, 6) from the start of [at, end), as much as belongs to it.
 *
 * returns  where the number ends, or NULL when there is none here.
 * *out     always the nearest double, ties to even; -0.0 for "-0"; infinite when it is out of range. Independent of
 *          the locale.
 * Cost     about 5 ns for short numbers and 15 ns for 17 digits; those that lie near a tie of two doubles are compared
 *          with it in integers of up to 2,800 bits, at most about 10 us.
 * Source   W. Clinger, "How to Read Floating Point Numbers Accurately", PLDI 1990 (exact powers); D. Lemire, "Number
 *          Parsing at a Gigabyte per Second", 2021 (one 128-bit product). */
const char *wire_number_read(const char *at, const char *end, double *out);

#endif
