#include "tools/cli/terminal/json_output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/cli/terminal/cli.h"

/* Text of JSON that grows while the command works. */
struct growing {
    char *text;
    size_t size;
    FILE *to; /* NULL: nothing was added */
};

static struct {
    bool on, failed;
    int argc;
    char *const *argv;
    struct growing members, files, timings, warnings, error;
    char *whole;
} json;

void cli_json_begin(int argc, char *const *argv)
{
    json.on = true;
    json.argc = argc;
    json.argv = argv;
}

bool cli_is_json(void)
{
    return json.on;
}

/* ---- text ---- */

/* Where the next item goes, a comma before it; NULL: memory is exhausted. */
static FILE *next_item(struct growing *g)
{
    if (g->to == NULL)
        g->to = open_memstream(&g->text, &g->size);
    else
        fputs(",\n", g->to);
    json.failed = json.failed || g->to == NULL;
    return g->to;
}

/* In ASCII; bytes that are no character become \xHH, as elsewhere. */
static void put_string(FILE *to, const char *text)
{
    size_t bytes;

    fputc('"', to);
    for (const char *p = text; *p != '\0'; p += bytes == 0 ? 1 : bytes) {
        uint32_t c = nuc_text_character(p, &bytes);
        if (bytes == 0)
            fprintf(to, "\\\\x%02x", (unsigned)(unsigned char)*p);
        else if (c > 0xffff)
            fprintf(to, "\\u%04x\\u%04x", (unsigned)(0xd800 + ((c - 0x10000) >> 10)), (unsigned)(0xdc00 + (c & 0x3ff)));
        else if (c > 0x7e || c < 0x20)
            fprintf(to, "\\u%04x", (unsigned)c);
        else
            fprintf(to, "%s%c", c == '"' || c == '\\' ? "\\" : "", (int)c);
    }
    fputc('"', to);
}

/* ---- members ---- */

/* What stands between the outermost brackets of an object; an empty one has nothing. */
void cli_json_members(const char *text)
{
    const char *end = text + strlen(text);

    while (end > text && *end != '}')
        end--;
    text += strcspn(text, "{") + 1;
    text += strspn(text, "\n");
    while (end > text && (end[-1] == '\n' || end[-1] == ' '))
        end--;
    FILE *to = end > text ? next_item(&json.members) : NULL;
    if (to != NULL)
        fwrite(text, 1, (size_t)(end - text), to);
}

void cli_json_member(const char *name, const char *text)
{
    FILE *to = next_item(&json.members);

    if (to != NULL)
        fprintf(to, " \"%s\": %.*s", name, (int)(strrchr(text, '}') + 1 - text), text);
}

void cli_json_number(const char *name, uint64_t value)
{
    FILE *to = json.on ? next_item(&json.members) : NULL;

    if (to != NULL)
        fprintf(to, " \"%s\": %llu", name, (unsigned long long)value);
}

void cli_json_whole(const char *text)
{
    free(json.whole);
    json.whole = strdup(text);
    json.failed = json.failed || json.whole == NULL;
}

/* ---- of every command ---- */

static void take_files(const struct nuc_compiler *c)
{
    const char *path;
    size_t bytes;

    for (size_t i = 0; nuc_written_file(c, i, &path, &bytes); i++) {
        FILE *to = next_item(&json.files);
        if (to == NULL)
            return;
        fputs("  {\"path\": ", to);
        put_string(to, path);
        fprintf(to, ", \"bytes\": %zu}", bytes);
    }
}

void cli_json_take(const struct nuc_compiler *c, bool timings)
{
    struct nuc_timing rows[64];
    size_t room = sizeof rows / sizeof rows[0], count = nuc_timings(c, rows, room);

    if (!json.on)
        return;
    take_files(c);
    for (size_t i = 0; timings && i < count && i < room; i++) {
        FILE *to = next_item(&json.timings);
        if (to == NULL)
            return;
        fprintf(to, "  {\"stage\": \"%s\", \"seconds\": %.6f}", rows[i].stage, rows[i].seconds);
    }
}

void cli_json_warning(const char *text)
{
    FILE *to = next_item(&json.warnings);

    if (to == NULL)
        return;
    fputs("  ", to);
    put_string(to, text);
}

void cli_json_error(const char *text)
{
    FILE *to = json.error.to == NULL ? next_item(&json.error) : NULL; /* the first one: others follow from it */

    if (to != NULL)
        put_string(to, text);
}

/* ---- the object ---- */

/* What was added, which is closed with that. */
static const char *text_of(struct growing *g)
{
    if (g->to == NULL)
        return "";
    json.failed = fclose(g->to) != 0 || g->text == NULL || json.failed; /* NULL: no memory for the text as a whole */
    g->to = NULL;
    return g->text != NULL ? g->text : "";
}

static void print_list(const char *name, struct growing *g)
{
    const char *items = text_of(g);

    printf(",\n \"%s\": [%s%s%s]", name, *items != '\0' ? "\n" : "", items, *items != '\0' ? "\n " : "");
}

static void release(struct growing *g)
{
    if (g->to != NULL)
        fclose(g->to);
    free(g->text);
}

bool cli_json_end(int code)
{
    if (json.on && json.whole != NULL && code != CLI_BAD_INPUT && code != CLI_BAD_USAGE)
        fputs(json.whole, stdout);
    else if (json.on) {
        printf("{\n \"schema\": 1,\n \"command\": ");
        put_string(stdout, json.argc > 0 ? json.argv[0] : "");
        printf(",\n \"nucleon\": \"%s\",\n \"invocation\": ", nuc_version());
        char *text = cli_invocation_text(json.argc, json.argv);
        json.failed = json.failed || text == NULL;
        put_string(stdout, text != NULL ? text : "");
        free(text);
        const char *members = text_of(&json.members), *error = text_of(&json.error);
        printf("%s%s", *members != '\0' ? ",\n" : "", members);
        print_list("files", &json.files);
        if (json.timings.to != NULL)
            print_list("timings", &json.timings);
        print_list("warnings", &json.warnings);
        if (code != CLI_OK)
            printf(",\n \"error\": {\"code\": %d, \"message\": %s}\n}\n", code, *error != '\0' ? error : "\"\"");
        else
            printf(",\n \"error\": null\n}\n");
    }
    release(&json.members);
    release(&json.files);
    release(&json.timings);
    release(&json.warnings);
    release(&json.error);
    free(json.whole);
    return !json.failed;
}
