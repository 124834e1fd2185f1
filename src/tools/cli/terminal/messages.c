/* What the command line prints: text of which a terminal sees no control characters, and messages. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/cli/terminal/cli.h"
#include "tools/cli/terminal/json_output.h"

/* ---- text ---- */

/* Of several lines, or all in one. The text ends at a whole character. */
static void print_clean(FILE *to, const char *text, size_t length, bool lines)
{
    const unsigned char *p = (const unsigned char *)text, *plain = p; /* from there on nothing is to be changed */
    const unsigned char *end = p + length;
    size_t bytes;

    for (; p < end; p += bytes == 0 ? 1 : bytes) {
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
    if (cli_is_json())
        return;
    cli_hide_progress();
    print_clean(stdout, text, strlen(text), true);
}

void cli_heading(const char *text)
{
    cli_style(stdout, CLI_HEADING);
    cli_put(text);
    cli_style(stdout, CLI_PLAIN);
    cli_put("\n");
}

/* The style of the word that is here, after the character `before`, if it is one of those that have one. */
static enum cli_style style_of(const char *text, char before)
{
    if (isalnum((unsigned char)before) || strnlen(text, 3) < 3 || isalnum((unsigned char)text[3]))
        return CLI_PLAIN;
    return strncmp(text, "NPU", 3) == 0 ? CLI_NPU : strncmp(text, "CPU", 3) == 0 ? CLI_CPU : CLI_PLAIN;
}

void cli_put_placed(const char *text)
{
    const char *plain = text;

    if (cli_is_json())
        return;
    cli_hide_progress();
    for (char before = ' '; *text != '\0'; before = *text, text++) {
        enum cli_style style = style_of(text, before);
        if (style == CLI_PLAIN)
            continue;
        print_clean(stdout, plain, (size_t)(text - plain), true);
        cli_style(stdout, style);
        print_clean(stdout, text, 3, true);
        cli_style(stdout, CLI_PLAIN);
        text += 2;
        plain = text + 1;
    }
    print_clean(stdout, plain, (size_t)(text - plain), true);
}

/* There was no memory for the whole of a text. */
static bool is_cut;

__attribute__((format(printf, 2, 0))) static void put_formatted(void (*put)(const char *text), const char *format,
                                                                va_list args)
{
    char buffer[512], *text = buffer;
    va_list again;

    va_copy(again, args);
    int length = vsnprintf(buffer, sizeof buffer, format, args);
    if (length >= (int)sizeof buffer && (text = malloc((size_t)length + 1)) != NULL)
        vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    is_cut |= text == NULL;
    put(text != NULL ? text : buffer); /* without memory, the beginning: cli_finish() says so */
    if (text != buffer)
        free(text);
}

void cli_printf(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    put_formatted(cli_put, format, args);
    va_end(args);
}

void cli_print_placed(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    put_formatted(cli_put_placed, format, args);
    va_end(args);
}

const char *cli_commas(uint64_t number)
{
    static char texts[8][32];
    static unsigned next;
    char digits[24], *out = texts[next++ % 8];
    int length = snprintf(digits, sizeof digits, "%llu", (unsigned long long)number), n = 0;

    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0)
            out[n++] = ',';
        out[n++] = digits[i];
    }
    out[n] = '\0';
    return out;
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
    cli_hide_progress();
    bool was_short = (!cli_json_end(code) || is_cut) && code == CLI_OK, bad = ferror(stdout) != 0 || was_short;
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

/* "nucleon: " and "note: " in the style. */
static void print_line(enum cli_style style, const char *prefix, const char *text)
{
    cli_hide_progress();
    cli_style(stderr, style);
    fputs(prefix, stderr);
    cli_style(stderr, CLI_PLAIN);
    fputc(' ', stderr);
    print_clean(stderr, text, strlen(text), false);
    fputc('\n', stderr);
}

/* Of a word as long as a line of the library the beginning says enough. */
static void cut_words(char *text)
{
    const size_t most = 1000;

    for (char *end; *text != '\0'; text = end) {
        end = text + strcspn(text, " ");
        if ((size_t)(end - text) > most) {
            memmove(text + most, end, strlen(end) + 1);
            memcpy(text + most - 3, "...", 3);
            end = text + most;
        }
        end += strspn(end, " ");
    }
}

int cli_report(enum nuc_status status, const char *message)
{
    const char *whole = message != NULL && *message != '\0' ? message : nuc_status_name(status);
    char text[CLI_MESSAGE];

    snprintf(text, sizeof text, "%s", whole);
    cut_words(text);

    cli_json_error(text);
    print_line(CLI_ERROR, "nucleon:", text);
    if (status == NUC_BAD_USAGE)
        return CLI_BAD_USAGE;
    return status == NUC_PROPERTY ? CLI_PROPERTY : CLI_BAD_INPUT;
}

int cli_fail(enum nuc_status status, const char *format, ...)
{
    char text[CLI_MESSAGE];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return cli_report(status, text);
}

int cli_check(const struct nuc_compiler *c, enum nuc_status status)
{
    cli_end_progress();
    return status == NUC_OK ? CLI_OK : cli_report(status, nuc_compiler_message(c));
}

int cli_result(const struct nuc_compiler *c, enum nuc_status status, const char *const *text)
{
    int code = cli_check(c, status);

    if (code == CLI_OK && cli_is_json())
        cli_json_members(*text);
    else if (code == CLI_OK)
        cli_put(*text);
    return code;
}

void cli_say(const char *line)
{
    if (cli_is_quiet())
        return;
    cli_hide_progress();
    print_clean(stderr, line, strlen(line), false);
    fputc('\n', stderr);
}

static size_t n_warnings;

void cli_warn(void *user, const char *message)
{
    (void)user;
    n_warnings++;
    cli_json_warning(message);
    if (!cli_is_quiet())
        print_line(CLI_NOTE, "nucleon: note:", message);
}

size_t cli_warnings(void)
{
    return n_warnings;
}
