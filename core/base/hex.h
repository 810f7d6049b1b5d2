/* The value of a hexadecimal digit. */
#ifndef OBB_HEX_H
#define OBB_HEX_H

/* Returns the value of a digit in either case, 0 to 15, or -1 if `c` is not a hexadecimal digit. */
static inline int obb_hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

#endif
