/* What commands say of the files they made, in lines of 80 columns. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "tools/cli/commands/commands.h"

enum { LABEL = 12, COLUMNS = 79 };

const char *cli_file_text(const char *path, char *text, size_t size)
{
    struct stat st;
    size_t room = 40, length = strlen(path);
    int n = snprintf(text, size, "%s%s", length > room ? ".." : "", length > room ? path + length - (room - 2) : path);

    if (stat(path, &st) == 0 && S_ISREG(st.st_mode) && n > 0 && (size_t)n < size)
        snprintf(text + n, size - (size_t)n, ": %s bytes", cli_commas((uint64_t)st.st_size));
    return text;
}

void cli_print_row(const char *label, const char *format, ...)
{
    char first[LABEL + 1], text[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    snprintf(first, sizeof first, "  %-*s", LABEL - 2, label);
    cli_print_wrapped(first, LABEL, text);
}

const char *cli_time_text(uint64_t cycles, double clock_hz, char *text, size_t size)
{
    static const char *const units[] = {"us", "ms", "s"};
    double value = (double)cycles / clock_hz * 1e6;
    size_t unit = 0;

    for (; value >= 999.5 && unit < 2; unit++)
        value *= 1e-3;
    snprintf(text, size, "%.*f %s", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value, units[unit]);
    return text;
}

void cli_print_timings(const struct nuc_compiler *c)
{
    struct nuc_timing rows[64];
    size_t count = nuc_timings(c, rows, sizeof rows / sizeof rows[0]);
    double total = 0;

    for (size_t i = 0; i < count && i < sizeof rows / sizeof rows[0]; i++) {
        cli_printf("%-14s %9.4f s\n", rows[i].stage, rows[i].seconds);
        total += rows[i].seconds;
    }
    cli_printf("%-14s %9.4f s\n", "total", total);
}
