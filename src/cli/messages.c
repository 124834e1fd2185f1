/* What the command line prints: text of which a terminal sees no control characters, messages, and progress. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"

/* ---- text ---- */

/* Of several lines, or all in one. */
static void print_clean(FILE *to, const char *text, bool lines)
{
    const unsigned char *p = (const unsigned char *)text, *plain = p; /* from there on nothing is to be changed */
    size_t bytes;

    for (; *p != '\0'; p += bytes == 0 ? 1 : bytes) {
        uint32_t c = nuc_text_character((const char *)p, &bytes);
        if (bytes != 0 && (!nuc_is_control_character(c) || (lines && (c == '\n' || c == '\t'))))
            continue;
        fwrite(plain, 1, (size_t)(p - plain), to);
        plain = p + (bytes == 0 ? 1 : bytes);
        if (!lines && bytes == 1 && strchr("\n\r\t", (int)c) != NULL)
            fputc(' ', to);
        else if (bytes < 2)
            fprintf(to, "\\x%02x", p[0]);
        else
            fprintf(to, "\\u%04x", (unsigned)c);
    }
    fwrite(plain, 1, (size_t)(p - plain), to);
}

void cli_put(const char *text)
{
    print_clean(stdout, text, true);
}

/* There was no memory for the whole of a text. */
static bool is_cut;

void cli_printf(const char *format, ...)
{
    char buffer[512], *text = buffer;
    va_list args;

    va_start(args, format);
    int length = vsnprintf(buffer, sizeof buffer, format, args);
    va_end(args);
    if (length >= (int)sizeof buffer && (text = malloc((size_t)length + 1)) != NULL) {
        va_start(args, format);
        vsnprintf(text, (size_t)length + 1, format, args);
        va_end(args);
    }
    is_cut |= text == NULL;
    cli_put(text != NULL ? text : buffer); /* without memory, the beginning: cli_finish() says so */
    if (text != buffer)
        free(text);
}

void cli_print_json_string(const char *text)
{
    const unsigned char *p = (const unsigned char *)text;
    size_t bytes;

    putchar('"');
    for (; *p != '\0'; p += bytes == 0 ? 1 : bytes) {
        uint32_t c = nuc_text_character((const char *)p, &bytes);
        if (c == '"' || c == '\\')
            printf("\\%c", (int)c);
        else if (bytes == 0)
            printf("\\ufffd");
        else if (c > 0xffff)
            printf("\\u%04x\\u%04x", (unsigned)(0xd800 + ((c - 0x10000) >> 10)), (unsigned)(0xdc00 + (c & 0x3ff)));
        else if (c == '\n')
            putchar(' ');
        else if (bytes > 1 || nuc_is_control_character(c))
            printf("\\u%04x", (unsigned)c);
        else
            putchar((int)c);
    }
    putchar('"');
}

/* ---- the streams ---- */

/* What the command opens must not become its standard output: closed ones are opened so that using them fails. */
void cli_hold_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) >= 0 || errno != EBADF)
            continue;
        if (open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) != fd)
            return;
    }
}

int cli_finish(int code)
{
    bool was_short = is_cut && code == CLI_OK, bad = ferror(stdout) != 0 || was_short;
    int error = was_short ? ENOMEM : 0;

    errno = 0;
    if (fclose(stdout) != 0) {
        error = errno;
        bad = true;
    }
    if (bad) {
        fprintf(stderr, "nucleon: standard output: cannot be written%s%s: write to another file\n",
                error != 0 ? ": " : "", error != 0 ? strerror(error) : "");
        code = code == CLI_OK ? CLI_BAD_INPUT : code;
    }
    return (ferror(stderr) != 0 || fclose(stderr) != 0) && code == CLI_OK ? CLI_BAD_INPUT : code;
}

/* ---- messages ---- */

static void print_line(const char *prefix, const char *text)
{
    fputs(prefix, stderr);
    print_clean(stderr, text, false);
    fputc('\n', stderr);
}

int cli_report(enum nuc_status status, const char *message)
{
    print_line("nucleon: ", message != NULL && *message != '\0' ? message : nuc_status_name(status));
    if (status == NUC_BAD_USAGE)
        return CLI_BAD_USAGE;
    return status == NUC_PROPERTY ? CLI_PROPERTY : CLI_BAD_INPUT;
}

__attribute__((format(printf, 2, 0))) static int report(enum nuc_status status, const char *format, va_list args)
{
    char text[CLI_MESSAGE];

    vsnprintf(text, sizeof text, format, args);
    return cli_report(status, text);
}

int cli_usage(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    int code = report(NUC_BAD_USAGE, format, args);
    va_end(args);
    return code;
}

int cli_bad(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    int code = report(NUC_IO, format, args);
    va_end(args);
    return code;
}

void cli_say(const char *line)
{
    print_line("", line);
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
