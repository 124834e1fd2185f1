#include "firmware/runner/print.h"

#include <stddef.h>

#include "firmware/port.h"

static void print_number(int64_t value)
{
    char text[24];
    size_t at = sizeof text;
    uint64_t rest = value < 0 ? -(uint64_t)value : (uint64_t)value;

    text[--at] = '\0';
    do {
        text[--at] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (value < 0)
        text[--at] = '-';
    nuc_port_print(text + at);
}

void nuc_print_line(const char *before, int64_t value, const char *after)
{
    nuc_port_print(before);
    print_number(value);
    nuc_port_print(after);
}
