/* What the command line says on standard error, and progress. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

static void print_line(const char *prefix, const char *text)
{
    fputs(prefix, stderr);
    for (const char *p = text; *p != '\0'; p++)
        fputc((unsigned char)*p < ' ' ? ' ' : *p, stderr);
    fputc('\n', stderr);
}

int cli_report(enum nuc_status status, const char *message)
{
    print_line("nucleon: ", message != NULL && *message != '\0' ? message : nuc_status_name(status));
    if (status == NUC_BAD_USAGE)
        return CLI_BAD_USAGE;
    return status == NUC_PROPERTY ? CLI_PROPERTY : CLI_BAD_INPUT;
}

int cli_usage(const char *format, ...)
{
    char text[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    print_line("nucleon: ", text);
    return CLI_BAD_USAGE;
}

void cli_warn(void *user, const char *message)
{
    (void)user;
    print_line("nucleon: note: ", message);
}

#define BAR_WIDTH 30

void cli_progress(void *user, const char *what, size_t done, size_t total)
{
    (void)user;
    if (total == 0 || !isatty(STDERR_FILENO))
        return;
    size_t filled = done * BAR_WIDTH / total;
    fprintf(stderr, "\r%-12s [%.*s%.*s] %zu/%zu", what, (int)filled, "##############################",
            (int)(BAR_WIDTH - filled), "..............................", done, total);
    if (done == total)
        fputc('\n', stderr);
    fflush(stderr);
}
